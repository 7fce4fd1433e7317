#!/bin/bash
# The commands that ask one question, for programs of two users at once (tests/targets/neighbours.c):
# what they say of root's program is exact, whatever the other user's does to the memory that brace
# shares with it; and of root's programs and sessions the other user gets nothing.
. "$(dirname "$0")/attach-lib.sh"
[ "$(id -u)" -eq 0 ] || { echo '1..0 # SKIP only root has programs of several users'; exit 0; }
chmod 755 "$T" # other users execute what is here
program=$FIXTURES/neighbours
TIMES=1000
SUM=$((TIMES * (TIMES + 1) / 2)) # of 1 ... TIMES
OTHER=65534
AS_OTHER=(setpriv "--reuid=$OTHER" "--regid=$OTHER" --clear-groups)
export XDG_CACHE_HOME=$T/cache
PYTHON=/usr/bin/python3
need "$PYTHON" script

# memory_of PREFIX: the inode of the session memory that the program was in.
memory_of() { awk '/^uid/ { print $6 }' "$T/$1.out"; }

# two WATCH WHO: root's program ($ROOTS) and another user's ($OTHERS), both ready. WHO is `friend`,
# `spoiler`, which writes to all that it maps, or `forger`, which speaks to brace itself.
two() {
	start root "$program" "$1" $TIMES
	ROOTS=$PID
	case $2 in
	friend) start other "${AS_OTHER[@]}" "$program" "$1" $((TIMES / 2)) ;;
	spoiler) start other "${AS_OTHER[@]}" "$program" "$1" 0 "$ROOTS" ;;
	forger) start other "${AS_OTHER[@]}" "$FIXTURES/forger" anything 1 waits ;;
	esac
	OTHERS=$PID
}

# ask_by WORD COMMAND...: runs it until both programs have ended. WORD: what it says when it counts,
# for programs that wait to be told so; or empty. The forger only waits: it is ended.
ask_by() {
	local word=$1
	shift
	: >"$T/answer" # the answer before may have the word, too
	timeout -k 5 "$LIMIT" "$@" >"$T/answer" 2>"$T/said" </dev/null &
	local tracer=$!
	if [ -n "$word" ]; then
		until_is grep -q "$word" "$T/answer"
		: >"$T/go"
	fi
	timeout "$LIMIT" tail -f --pid="$ROOTS" /dev/null
	wait "$ROOTS"
	STATUS=$?
	kill -TERM "$OTHERS" 2>/dev/null
	wait "$OTHERS" 2>/dev/null
	wait "$tracer"
	ASKED=$?
	rm -f "$T/go"
}

ask() { ask_by "$1" "$BRACE" "${@:2}" -p "$ROOTS,$OTHERS"; }

# harmless NAME: root's program has its result, and brace has ended by itself.
harmless() {
	[ "$STATUS" = 0 ] && [ "$ASKED" -ne 124 ] && [ "$ASKED" -lt 126 ] && grep -q "^uid 0 sum $SUM memory [1-9]" "$T/root.out"
	result "$1: root's program is not harmed ($STATUS, brace $ASKED)" $? "$T/said"
}

# exact NAME NUMBER: so many of root's were told of.
exact() {
	[ "${2:-0}" = $TIMES ]
	result "$1: all that root's program did is told ($2)" $? "$T/answer"
}

lines() { grep -c "$1" "$T/answer"; }
entry() { sed -n "s/.*common_pid: *$ROOTS *} *hitcount: *//p" "$T/answer" | tail -1; }
column() { awk -v pid="$ROOTS" '$1 == pid { n = $2 } END { print n }' "$T/answer"; }
# member NAME WORD: a number of the last JSON object with the word; objects in it do not count.
member() { grep -o "{[^{}]*$2[^{}]*}" "$T/answer" | sed -n "s/.*\"$1\":\([0-9]*\).*/\1/p" | tail -1; }

for who in ${WHO:-friend spoiler forger}; do
	two "$T/go" "$who"
	ask '^# event histogram' hist --top 'step common_pid'
	harmless "hist, $who"
	exact "hist, $who" "$(entry)"

	two "$T/go" "$who"
	ask common_pid sql 'SELECT common_pid, count(*) FROM step GROUP BY common_pid EVERY 1s'
	harmless "sql, $who"
	exact "sql, $who" "$(column)"

	two step "$who"
	ask '' probe 'step n'
	harmless "probe, $who"
	exact "probe, $who" "$(lines "neighbours-$ROOTS .* step: (0x[0-9a-f]*) n=")"

	if [ $who != forger ]; then # it has no object of the kind: all programs that are named must
		two step "$who"
		ask '' follow 'account.owner==0' --show owner
		harmless "follow, $who"
		exact "follow, $who" "$(lines "neighbours-$ROOTS .* step(); .*owner=0")"
	fi

	two step "$who"
	ask '' top --batch --all --by thread -l step --json
	harmless "top, $who"
	exact "top, $who" "$(member calls "neighbours-$ROOTS")"

	two syscall "$who"
	ask '' syscalls --lines
	harmless "syscalls, $who"
	exact "syscalls, $who" "$(lines "^ *$ROOTS .*getpgid(0)")"

	two lock "$who"
	ask '' locks --json
	harmless "locks, $who"
	exact "locks, $who" "$(member acquired "\"pid\":$ROOTS,[^{}]*\"rounds+")"

	two step "$who"
	ask '' wakeup -l step
	harmless "wakeup, $who"

	[ $who = friend ] || continue
	a=$(memory_of root) b=$(memory_of other)
	[ "${a:-0}" -gt 0 ] && [ "${b:-0}" -gt 0 ] && [ "$a" -ne "$b" ]
	result "they map no memory in common" $? "$T/other.out"
done

# --- libbrace: a session over both programs
export PYTHONPATH=$HERE/../../python PYTHONDONTWRITEBYTECODE=1
BRACE_LIBRARY=$(dirname "$BRACE")/libbrace.so.0
export BRACE_LIBRARY
cat >"$T/session.py" <<'P'
import brace, os, sys
pids = [int(pid) for pid in sys.argv[1:]]
with brace.Session(pids=pids, name='both', brace=os.environ['BRACE'], filter='step', option='funcgraph-proc', buffer_size='4M') as session:
    print('counts', flush=True)
    session.wait()
    print(session['trace'])
P
for who in friend spoiler forger; do
	two "$T/go" "$who"
	ask_by counts "$PYTHON" "$T/session.py" "$ROOTS" "$OTHERS"
	harmless "libbrace, $who"
	exact "libbrace, $who" "$(lines "neighbo-$ROOTS .* step()")" # seven bytes of a name
done

# --- what the other user asks of root's program and session
start root "$program" "$T/go" $TIMES
ROOTS=$PID
state "$ROOTS" >"$T/before"
mkdir -m 700 "$T/others" && chown $OTHER:$OTHER "$T/others"
: >"$T/others/terminal" && chown $OTHER:$OTHER "$T/others/terminal"

# denied NAME COMMAND...: the other user's; it fails with a sentence, and root's program is as before.
denied() {
	local name=$1 status
	shift
	timeout -k 5 "$LIMIT" "${AS_OTHER[@]}" "$@" >"$T/said" 2>&1 </dev/null
	status=$?
	state "$ROOTS" >"$T/after"
	[ $status -ge 125 ] && [ $status -le 127 ] && grep -q '^brace: ' "$T/said" && ! grep -q 'step' "$T/said" &&
		cmp -s "$T/before" "$T/after" && ! grep -q brace- "/proc/$ROOTS/maps"
	result "the other user's $name is refused ($status)" $? "$T/said"
}

for command in 'hist common_pid' 'sql SELECT' 'probe -a main' follow top syscalls locks 'locks --now' wakeup 'graph' noise; do
	read -ra words <<<"$command"
	[ "$command" != follow ] || words+=('account.owner==0')
	[ "$command" != 'sql SELECT' ] || words=(sql 'SELECT common_pid FROM main')
	[ "$command" != 'hist common_pid' ] || words=(hist 'main common_pid')
	denied "$command" env XDG_RUNTIME_DIR="$T/others" XDG_CACHE_HOME="$T/others" "$BRACE" "${words[@]}" -p "$ROOTS"
done
# Not once may an empty screen come instead.
for round in 1 2 3 4 5 6 7 8 9 10; do
	denied "tui, $round" env XDG_RUNTIME_DIR="$T/others" XDG_CACHE_HOME="$T/others" TERM=xterm \
		script -qec "'$BRACE' tui -p $ROOTS" "$T/others/terminal"
done

"$BRACE" start --session roots -p "$ROOTS" -l step >"$T/said" 2>&1
result "root has a session" $? "$T/said"
: >"$T/go"
wait "$ROOTS"
shown() { [ "$("$BRACE" show --session roots 2>"$T/err" | grep -c 'step()')" = $TIMES ]; }
until_is shown
result "and sees its program in it" $? "$T/err"

# unseen NAME COMMAND...: the other user's: it ends without a word of the trace, and the session goes
# on. WAY: the mode of root's directory meanwhile.
unseen() {
	local name=$1 status
	shift
	chmod "${WAY:-700}" "$XDG_RUNTIME_DIR" "$XDG_RUNTIME_DIR/brace"
	timeout -k 5 "$LIMIT" "${AS_OTHER[@]}" "$@" >"$T/seen" 2>&1 </dev/null
	status=$?
	chmod 700 "$XDG_RUNTIME_DIR" "$XDG_RUNTIME_DIR/brace"
	[ $status -ne 0 ] && { [ $status -lt 124 ] || [ $status -eq 125 ]; } && ! grep -q 'step()' "$T/seen" && shown
	result "the other user's $name of it is refused ($status)" $? "$T/seen"
}
cat >"$T/connect.py" <<'P'
import brace
print(brace.Session.connect('roots')['trace'])
P
unseen "brace show" "$BRACE" show --session roots
unseen "brace set" "$BRACE" set --session roots -l main
unseen "brace reset" "$BRACE" reset --session roots
unseen "brace tui --session" env TERM=xterm script -qec "'$BRACE' tui --session roots" "$T/others/terminal"
unseen "libbrace's connect" "$PYTHON" "$T/connect.py"
# Root's socket, by a name in a directory of the other user's own: the session itself refuses.
WAY=711
chmod 666 "$XDG_RUNTIME_DIR/brace/roots"
mkdir -m 700 "$T/others/brace" && ln -s "$XDG_RUNTIME_DIR/brace/roots" "$T/others/brace/roots"
chown -Rh $OTHER:$OTHER "$T/others"
there=(env XDG_RUNTIME_DIR="$T/others" TERM=xterm)
unseen "brace show, by the socket," "${there[@]}" "$BRACE" show --session roots
unseen "brace reset, by the socket," "${there[@]}" "$BRACE" reset --session roots
unseen "brace tui, by the socket," "${there[@]}" script -qec "'$BRACE' tui --session roots" "$T/others/terminal"
unseen "libbrace's connect, by the socket," "${there[@]}" "$PYTHON" "$T/connect.py"
check "the session ends" "$BRACE" reset --session roots
finish
