#!/bin/bash
# What leads a user on: the index "I want to ...", whose commands are typed as they stand there,
# `brace help --search`, and the line at the end of a command on a terminal.
. "$(dirname "$0")/../run/lib.sh"
: "${SOURCE:?is the top of the source tree}" "${WANTED:?is the program to be traced}"
PATH=$T/bin:$PATH
mkdir "$T/bin" "$T/in" "$T/tree"
ln -s "$BRACE" "$T/bin/brace"
cd "$T/in" || exit 1
echo 'ftrace.tracer = function_graph' >"$T/settings.bconf"
cp "$SOURCE"/docs/models/*.dot .

# --- the index: three places, one text
brace help --search >"$T/index"
sed -n 's/^    //p' "$T/index" >"$T/commands"
sed -n '/^    /d; 3,$p' "$T/index" >"$T/questions"
n=$(wc -l <"$T/questions")
[ "$n" -ge 40 ] && [ "$n" -eq "$(wc -l <"$T/commands")" ]
result "the index has $n questions, and a command for each" $? "$T/index"
paste -d '\t' "$T/questions" "$T/commands" | sed 's/^\(.*\)\t\(.*\)$/| \1 | `\2` |/' >"$T/rows"
sed -n '/^## I want to/,/^## A quick/p' "$SOURCE/README.md" | grep '^| .* | `' | diff "$T/rows" - >"$T/differences"
result "the README has the same" $? "$T/differences"
mandoc -T utf8 -O width=200 "$SOURCE/man/brace.1" | sed 's/.\x08//g' |
	sed -n '/^I WANT TO/,/^     help --search/p' | sed '1d; $d; s/^ *//; /^$/d' >"$T/page"
paste -d '\n' "$T/questions" "$T/commands" | diff - "$T/page" >"$T/differences"
result "brace(1) has the same" $? "$T/differences"

# --- each command of it: its options exist, and it does what it is there for
mkfifo "$T/wait"
"$WANTED" wait <"$T/wait" &
pid=$!
exec 9>"$T/wait"
ON_EXIT+=("kill $pid")

# typed COMMAND: the command with the user's own words
typed() {
	sed -e "s|PROGRAM|$WANTED|g; s|FUNCTION|price|g; s|ARGUMENT|count|g; s|EVENT|task:task_exit|g; s|MODEL|heap|g" \
		-e "s|PID|$pid|g; s|FILE|$T/settings.bconf|g; s|DIRECTORY|$T/tree|g" \
		-e 's|COMMAND|cat /sys/kernel/tracing/current_tracer|g' \
		-e 's|^brace top.*|& -n 1 -d 100ms|; s|--duration 2s|--duration 100ms|' <<<"$1"
}

unknown_options() { # COMMAND: of brace, those that its help does not have
	local name=${1#brace } word
	name=${name%% *}
	"$BRACE" "$name" --help >"$T/help" || echo "no command $name"
	for word in $(sed "s/'[^']*'//g; s/;.*//; s/ -- .*//" <<<"$1"); do
		[[ $word != -?* ]] || grep -qE -- "^ +(-[a-zA-Z], )?$word([=[, ]|\$)" "$T/help" || echo "$word"
	done
}

brace record -o before.brace -- "$WANTED" 2>"$T/err" && cp before.brace after.brace && cp before.brace trace.brace
result "a trace to ask" $? "$T/err"
while read -r command; do
	unknown_options "$command" >"$T/unknown"
	[ ! -s "$T/unknown" ]
	result "known to brace: $command" $? "$T/unknown"
	case $command in
	*' -k '* | 'brace tui'* | 'brace push'*) continue ;; # root, a terminal, servers: tests/vm, tui.sh and fleet.sh of tests/run
	esac
	cp before.brace trace.brace
	[[ $command != 'brace recover'* ]] || truncate -s -100 trace.brace
	timeout -k 5 "$LIMIT" bash -c "$(typed "$command")" >"$T/out" 2>"$T/err" </dev/null
	status=$?
	if [ $status -ne 0 ] && grep -qE '/dev/fuse|cannot mount|namespace|perf_event|cannot hold a ring' "$T/err"; then
		skip "$command" "$(head -n 1 "$T/err")"
		continue
	fi
	result "$command" $status "$T/err"
	[[ $command != 'brace mount'* ]] || brace umount "$T/tree"
done <"$T/commands"

# --- the search: the first answer
finds() { # COMMAND WORD...
	local want=$1
	shift
	brace help --search "$@" >"$T/out" 2>"$T/err" && grep -qxE -- "$want +# .*" <(head -n 1 "$T/out")
	result "help --search $*: $want" $? "$T/out"
}
finds 'brace report --callers FUNCTION' who calls malloc
finds 'brace record --threshold 1ms -- PROGRAM' slow calls
finds 'brace syscalls --lines -- PROGRAM' strace
finds 'brace list -f PROGRAM --why' 'why is my function missing'
finds 'brace export --to flamegraph -o graph.svg' FLAME GRAPHS
finds 'brace replay --min-size=BYTES' -- --min-size
brace help --search one session memory a user >"$T/out" && grep -q '^\(less\|man\) ' "$T/out"
result "what only the documentation has" $? "$T/out"
brace help --search xyzzy >"$T/out" 2>"$T/err"
[ $? -eq 125 ] && [ ! -s "$T/out" ] && grep -q '^brace: nothing .* has these words' "$T/err"
result "words that nothing has" $? "$T/err"
brace help --search $'\033[31mtime' "$(printf 'time%.0s' {1..200})" >"$T/out" 2>&1
! grep -q $'\033' "$T/out" && [ -s "$T/out" ]
result "words of any length, with any bytes" $? "$T/out"
brace help record report 2>"$T/err"
[ $? -eq 125 ] && grep -q 'unexpected argument: report' "$T/err"
result "two commands without --search" $? "$T/err"

# --- the line at the end
on_terminal() { # COMMAND
	TERM=xterm PAGER='' script -qec "$1" /dev/null </dev/null | tr -d '\r' >"$T/screen"
}
cp before.brace trace.brace
unset BRACE_HINTS
hinted=0
while read -r what; do
	on_terminal "brace $(typed "$what")"
	# The rows of report begin with blanks; sentences before the last line are the command's own.
	next=$(tail -n 1 "$T/screen" | sed -n 's/^brace: [^:]*: \(.*\)$/\1/p')
	[ -n "$next" ] && PAGER='' timeout -k 5 "$LIMIT" bash -c "$(typed "$next")" >"$T/out" 2>"$T/err" </dev/null
	result "behind $what: $next" $? "$T/screen"
	hinted=$((hinted + 1))
done <<'END'
report
report before.brace
report --histogram FUNCTION
report --tree
report --callers FUNCTION
report --callees FUNCTION
replay
info
query 'SELECT 1'
graph -- PROGRAM
start -p PID
stop
extract -o trace.brace
END
brace reset
on_terminal "BRACE_HINTS=0 brace info"
! grep -q '^brace: ' "$T/screen"
result "BRACE_HINTS=0: no such line" $? "$T/screen"
on_terminal "brace graph -q -- $WANTED"
! grep -q '^brace: ' "$T/screen"
result "--quiet: no such line" $? "$T/screen"
brace info >"$T/out" 2>"$T/err" && [ ! -s "$T/err" ]
result "none but on a terminal" $? "$T/err"
on_terminal "brace report --json"
! grep -q '^brace: ' "$T/screen"
result "none behind JSON" $? "$T/screen"
finish
