#!/bin/bash
# The command line without a traced program: help, manual and completion agree; output that
# cannot be written, readers that go away, pagers and colour.
. "$(dirname "$0")/../run/lib.sh"
: "${SOURCE:?is the top of the source tree}"
commands=$("$BRACE" help | sed -n 's/^  \([a-z]*\)  *[A-Z].*/\1/p')

# says NAME STATUS WORD COMMAND...: ends so, with one sentence with the word, and prints nothing.
says() {
	local name=$1 status=$2 word=$3
	shift 3
	timeout "$LIMIT" "$@" >"$T/out" 2>"$T/err" </dev/null
	[ $? -eq "$status" ] && grep -q -- "$word" "$T/err" && [ ! -s "$T/out" ] &&
		[ "$(grep -c '^brace: ' "$T/err")" -eq 1 ]
	result "$name" $? "$T/err"
}

# --- help, manual, completion
[ "$(wc -w <<<"$commands")" -eq 45 ]
result "help lists 45 commands" $?
for command in $commands; do
	"$BRACE" "$command" --help >"$T/help" 2>"$T/err"
	[ $? -eq 0 ] && [ ! -s "$T/err" ] && head -n 1 "$T/help" | grep -q "^Usage: brace $command"
	result "$command --help" $? "$T/err"
	"$BRACE" help "$command" | cmp -s - "$T/help"
	result "help $command is the same" $?
	awk 'length > 80' "$T/help" >"$T/long"
	[ ! -s "$T/long" ]
	result "$command --help fits 80 columns" $? "$T/long"
done

options_of() { # COMMAND: its options, a line each
	"$BRACE" "$1" --help | grep -oE '^ +(-[a-zA-Z], )?--[a-z-]+' |
		grep -oE -- '--?[a-zA-Z][a-z-]*'
}

for command in record graph replay report diff query export push fleet html tui syscalls wakeup locks stack hist top noise sql latency follow probe list config info import recover mount umount shell start stop restart show stream extract snapshot clear set stat \
	reset sessions; do
	options_of "$command" >"$T/options"
	mandoc -T utf8 "$SOURCE/man/brace-$command.1" 2>"$T/err" | sed 's/.\x08//g' >"$T/page"
	while read -r option; do
		grep -qE -- "(^|[ ,])$option([[ =,]|\$)" "$T/page" || echo "$option"
	done <"$T/options" >"$T/missing"
	[ -s "$T/options" ] && [ ! -s "$T/missing" ]
	result "brace-$command(1) has every option" $? "$T/missing"
	grep -oE '^     -(-[a-z-]+|[a-zA-Z])(, --[a-z-]+)?' "$T/page" | grep -oE -- '--?[a-zA-Z][a-z-]*' |
		sort -u | comm -23 - <(sort -u "$T/options") >"$T/extra"
	[ ! -s "$T/extra" ]
	result "brace-$command(1) has no option more" $? "$T/extra"
done
# Each word that says how a function is hooked, or why not, is explained.
sed -nE 's/^\tX\([A-Z_]+, "([a-z+-]+)".*/\1/p' "$SOURCE/src/hook/plan.h" | sort >"$T/words"
sed -nE 's/^\.It ([a-z+-]+)$/\1/p' "$SOURCE/man/brace-list.1" | sort >"$T/explained"
[ "$(wc -l <"$T/words")" -gt 20 ] && comm -23 "$T/words" "$T/explained" >"$T/differences" && [ ! -s "$T/differences" ]
result "brace-list(1) explains every kind of hook and every reason" $? "$T/differences"
for page in "$SOURCE"/man/*.1; do
	check "$(basename "$page") is well-formed" mandoc -T lint -W warning "$page"
done
for command in $commands; do
	grep -q "$command" "$SOURCE/man/brace.1"
	result "brace(1) has $command" $?
done

# complete WORD...: what the completion offers for the last word, a line each.
complete() {
	bash --norc -c '
		. "$1"; shift
		COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1))
		_brace
		printf "%s\n" "${COMPREPLY[@]}"' - "$SOURCE/completion/brace" "$@"
}

offers() { # NAME WANTED-WORD WORD...
	local name=$1 want=$2
	shift 2
	complete "$@" >"$T/offers" 2>&1
	grep -qx -- "$want" "$T/offers"
	result "completion: $name" $? "$T/offers"
}

for command in $commands; do
	complete "$BRACE" "$command" - | sort >"$T/offers"
	[ "$command" = version ] || [ "$command" = help ] || {
		options_of "$command" | sort -u | diff - "$T/offers" >"$T/missing"
		result "completion has the options of $command, and no others" $? "$T/missing"
	}
done
offers "commands" replay "$BRACE" re
offers "values of --mode" block "$BRACE" record --mode b
offers "values of --mode=" overwrite "$BRACE" record --mode = o
offers "trace options" nofuncgraph-cpu "$BRACE" replay -O nofuncgraph-c
sleep 600 &
sleeper=$!
offers "processes by name" sleep "$BRACE" record -p slee
kill $sleeper
offers "columns" p99 "$BRACE" report -s p
COMP_BEHIND=$(bash --norc -c '
	. "$1"; COMP_WORDS=("$2" record -l mai -- "$3"); COMP_CWORD=3; _brace
	printf "%s\n" "${COMPREPLY[@]}"' - "$SOURCE/completion/brace" "$BRACE" "$FIXTURE")
[ "$COMP_BEHIND" = main ]
result "completion: -l offers functions ($COMP_BEHIND)" $?

# --- the closing summary
"$BRACE" record -o "$T/summary.brace" -- sh -c '/bin/true; /bin/true; exit 0' 2>"$T/err"
grep -q '; this is the first of 3 programs$' "$T/err"
result "hooked functions are the first program's, and it says so" $? "$T/err"
grep -qx "brace: trace in $T/summary.brace; brace report and brace replay read it" "$T/err"
result "what reads the trace" $? "$T/err"
"$BRACE" record -e raw_syscalls:sys_enter -o "$T/summary.brace" -- /bin/true 2>"$T/err"
grep -q '^brace: 0 calls, [1-9][0-9]* events\?, ' "$T/err"
result "events without calls are counted" $? "$T/err"

# --- the command line
says "no command" 125 'which command' "$BRACE"
says "an unknown command" 125 'did you mean record' "$BRACE" recrd
says "help of an unknown command" 125 'no command frob' "$BRACE" help frob
for word in trace live attach profile dump script; do
	says "another tool's command: $word" 125 'brace record\|brace graph\|brace report' "$BRACE" "$word"
done
says "a program without a command" 125 'brace record -- PROGRAM' "$BRACE" ./program
says "an option without a command" 125 'a command comes first' "$BRACE" -p 1
says "uftrace's -F" 125 'chosen by -l' "$BRACE" record -F main true
says "perf's --call-graph" 125 'brace replay' "$BRACE" record --call-graph dwarf true
says "report -i" 125 'brace report FILE' "$BRACE" report -i x
says "an option's name with a slip" 125 'did you mean funcgraph-tail?' "$BRACE" record -O funcgraph-tial true
says "and with no before it" 125 'did you mean nosleep-time?' "$BRACE" record -O nosleep_time true
says "a process by a name that none has" 125 'no process that you may see' "$BRACE" record -p nonesuch-at-all
says "no trace to report" 125 "brace record -- PROGRAM" env -C "$T" "$BRACE" report
says "an unknown option" 125 'did you mean --json' "$BRACE" report --jsn
says "an option without its value" 125 'needs an argument' "$BRACE" report -s
says "a column that is none" 125 'p99' "$BRACE" report -s weight
# refuses NAME WORDS ARGUMENT...: one sentence, whatever runs on this machine
refuses() {
	local name=$1 words=$2
	shift 2
	says "$name" 125 "$words" env XDG_RUNTIME_DIR="$T" "$BRACE" "$@"
}
mkdir -p -m 700 "$T/brace"
refuses "a process id that is none" 'a number from 1 on' start -p 0
refuses "a process named twice" 'named twice' graph -p 1,1
refuses "a program and a process" 'not both' record -p 1 true
refuses "a tracer that is none" "$TRACERS" graph -t nonesuch true
refuses "a time that is none" 'ns, us, ms or s' graph --threshold 5parsec true
refuses "no time at all" 'longer than 0' record --duration 0 true
refuses "a size that is none" 'kilobytes' record -b x true
refuses "a mode that is none" 'stream, overwrite or block' record --mode x true
refuses "a filter without an event" 'name one before it' record -f 'x == 1' true
refuses "a trigger without an event" 'name one before it' record -R traceoff true
refuses "a snapshot in a trace file" 'has no snapshot' record -e task:task_exit -R snapshot true
refuses "a histogram in a trace file" 'has no histogram' record -e task:task_exit -R hist:keys=pid true
refuses "a histogram beside a graph" 'brace show events/SYSTEM/EVENT/hist' graph -e task:task_exit -R hist:keys=pid true
refuses "an event that is not there" 'no event has this name' record -e nonesuch -R traceoff true
refuses "an argument too many" 'unexpected argument: x' stat x
refuses "an argument too few" 'needs DIRECTORY' mount
refuses "several of snapshot's" 'not several' snapshot -s -r
refuses "several of shell's" 'not several' shell -p 1 --run true -- true
refuses "-p without -e" 'goes with -e' list -p 1
refuses "-F without -e" 'go with -e' list -F
refuses "what is a session's, of a file" "a session's" list -t -f /bin/true
refuses "a session's name" 'letters, digits' show --session ../x
refuses "nothing to set" 'needs an option' set
for command in show stop restart stream extract snapshot clear "set -l x" stat reset "shell --session default -- true" "list -t"; do
	# shellcheck disable=SC2086 # words
	refuses "${command%% *} without a session" 'no session' $command
done

says "list without a binary" 125 '-f BINARY' "$BRACE" list
says "list of a glob that matches nothing" 125 'no function that matches' "$BRACE" list -f "$FIXTURE" 'nonesuch*'
"$BRACE" list -f "$FIXTURE" nonesuch main >"$T/out" 2>"$T/err"
[ $? -eq 125 ] && grep -qx main "$T/out" && [ "$(cat "$T/err")" = "brace: $FIXTURE has no function that matches nonesuch" ]
result "list of two names tells which one is none" $? "$T/err"
says "a replay of nothing" 125 'trace.brace' env -C "$T" "$BRACE" replay
"$BRACE" version | grep -qE '^brace [0-9]+\.[0-9]+'
result "version" $?
commit=$(git -C "$SOURCE" describe --always --dirty 2>/dev/null)
[ "$("$BRACE" version)" = "brace $(sed -nE "s/^  version: '(.*)',/\1/p" "$SOURCE/meson.build")${commit:+ ($commit)}" ]
result "it says the commit it was built from" $?
"$BRACE" --version | cmp -s - <("$BRACE" version)
result "--version" $?

# Each option that the help has is known to the parser, and takes a value or does not as the help
# says.
answers() { # PATTERN WORD ARGUMENT...: what it says is so, else WORD is printed
	local pattern=$1 word=$2 said
	shift 2
	said=$("$BRACE" "$@" 2>&1 </dev/null)
	# shellcheck disable=SC2053 # a pattern
	[[ $said == $pattern ]] || echo "$word: $said"
}
for command in $commands; do
	"$BRACE" "$command" --help >"$T/help"
	sed -nE 's/^ +(-[a-zA-Z], )?--([a-z-]+)(=[A-Z].*)?( .*)?$/\2\3/p' "$T/help" >"$T/options"
	sed -nE 's/^ +-([a-zA-Z]), --[a-z-]+=.*/\1/p' "$T/help" >"$T/letters"
	{
		while read -r option; do
			case $option in
			*=*) answers 'brace: --* needs an argument: *' "--$option" "$command" "--${option%%=*}" ;;
			*) answers 'brace: --* takes no argument' "--$option" "$command" "--$option=x" ;;
			esac
		done <"$T/options"
		while read -r letter; do
			answers "brace: -$letter needs an argument: *" "-$letter" "$command" "-$letter"
		done <"$T/letters"
		answers "brace: $command has no option --nonesuch*" --nonesuch "$command" --nonesuch
		answers "brace: $command has no option -%*" -% "$command" -%
	} >"$T/wrong"
	[ -s "$T/options" ] && [ ! -s "$T/wrong" ]
	result "the options of $command are those of its help" $? "$T/wrong"
done

# --- names
if [ -x /usr/bin/node ]; then
	"$BRACE" list -f /usr/bin/node 'node::Start' | uniq >"$T/out"
	[ "$(cat "$T/out")" = node::Start ]
	result "list knows C++ names" $? "$T/out"
else
	skip "list knows C++ names" "nodejs is not installed"
fi
if command -v rg >/dev/null; then
	"$BRACE" list -f "$(readlink -f "$(command -v rg)")" >"$T/out"
	[ -s "$T/out" ] && ! grep -q '^_ZN' "$T/out"
	result "list prints no mangled name" $? "$T/out"
fi

# --- output
for command in "help" "version" "record --help" "list -f $FIXTURE"; do
	$BRACE $command >/dev/full 2>"$T/err"
	[ $? -eq 125 ] && grep -q 'cannot write standard output: No space' "$T/err"
	result "a full disk under brace $command" $? "$T/err"
	$BRACE $command >&- 2>"$T/err"
	[ $? -eq 125 ] && grep -q '^brace: cannot write standard output' "$T/err"
	result "closed standard output under brace $command" $? "$T/err"
done
"$BRACE" list -f /usr/bin/python3 2>"$T/err" | head -n 1 >"$T/out"
[ "${PIPESTATUS[0]}" -eq 0 ] && [ ! -s "$T/err" ] && [ -s "$T/out" ]
result "a reader that goes away is no error" $? "$T/err"

# terminal COMMAND: runs it on a terminal, prints what the terminal shows.
terminal() { TERM=xterm script -qec "$1" /dev/null </dev/null | tr -d '\r'; }

terminal "PAGER='sed s/^/paged:/' $BRACE list -f $FIXTURE main" >"$T/out" 2>&1
grep -q '^paged:main$' "$T/out"
result "a terminal gets the pager" $? "$T/out"
terminal "PAGER='sed s/^/paged:/' $BRACE list --no-pager -f $FIXTURE main" >"$T/out" 2>&1
grep -q '^main$' "$T/out"
result "--no-pager" $? "$T/out"
terminal "PAGER= $BRACE list -f $FIXTURE main" >"$T/out" 2>&1
grep -q '^main$' "$T/out"
result "an empty PAGER is none" $? "$T/out"
terminal "PAGER=true $BRACE list -f /usr/bin/python3; echo status \$?" >"$T/out" 2>&1
[ "$(cat "$T/out")" = "status 0" ]
result "a pager that quits at once" $? "$T/out"
terminal "PAGER=/nonexistent $BRACE list -f $FIXTURE main" >"$T/out" 2>&1
grep -q '^main$' "$T/out"
result "a pager that is not there" $? "$T/out"
PAGER='sed s/^/paged:/' "$BRACE" list -f "$FIXTURE" main >"$T/out"
[ "$(cat "$T/out")" = main ]
result "no pager but on a terminal" $? "$T/out"
finish
