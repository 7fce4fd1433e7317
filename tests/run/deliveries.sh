#!/bin/bash
# signal:signal_deliver for an ordinary user, by the handlers' own entries: every delivery that the
# program counted itself, and no other, with the same numbers, codes and flags. Launched and
# attached, alone and beside function tracers.
. "$(dirname "$0")/lib.sh"
PYTHON=$(readlink -f /usr/bin/python3)
EVENT=signal:signal_deliver
export XDG_RUNTIME_DIR=$T/session

# Root would have another source (switches.sh): so root becomes nobody.
AS=()
mkdir -p "$T/bin" "$XDG_RUNTIME_DIR"
cp "$BRACE" "$T/bin/brace"
cp "${AGENT:-$(dirname "$BRACE")/libbrace-agent.so}" "$FIXTURES/deliveries" "$T/bin/"
chmod 700 "$XDG_RUNTIME_DIR"
if [ "$(id -u)" -eq 0 ]; then
	need setpriv
	AS=(setpriv --reuid 65534 --regid 65534 --clear-groups)
	chmod 755 "$T" "$T/bin"
	chown -R 65534:65534 "$T"
fi
user() { timeout -k 5 "$LIMIT" "${AS[@]}" env "HOME=$T" "$@"; }
BRACE=$T/bin/brace D=$T/bin/deliveries
ALL="shared changed once nesting queued stack jumps threads beside children others timer"

# Lines of the program, and of a trace, as "sig=10 code=-6 flags=4000004 TIMES".
account() { sed -E '/^ready$/d; s/^[a-z_]+ //' "$1" | awk '{ n = $NF; $NF = ""; all[$0] += n } END { for (k in all) print k all[k] }' | sort; }
deliveries() {
	sed -nE 's/.*signal_deliver: (sig=[0-9]+) errno=0 (code=-?[0-9]+) sa_handler=[0-9a-f]+ sa_flags=([0-9a-f]+).*/\1 \2 flags=\3/p' "$1" |
		sed 's/code=-2147483648 //' | sort | uniq -c | awk '{ n = $1; $1 = ""; sub(/^ /, ""); print $0, n }' | sort
}
compare() { # NAME: $T/out is what the program said, $T/lines the trace
	account "$T/out" >"$T/want"
	deliveries "$T/lines" >"$T/got"
	[ -s "$T/want" ] && diff "$T/want" "$T/got" >"$T/diff"
	result "$1" $? "$T/diff"
}
lines() { user "$BRACE" replay --no-pager "$T/t.brace" 2>>"$T/err" | grep -v '^#' >"$T/lines"; }
record() { # ARGUMENTS...
	rm -f "$T/t.brace"
	user "$BRACE" record -b 16M -o "$T/t.brace" "$@" >"$T/out" 2>"$T/err" </dev/null
	lines
}

# --- launched -----------------------------------------------------------------------------
record -e $EVENT -- "$D" $ALL
compare "every delivery that was counted: shared, changed, nested, queued handlers, threads, children, jumps, timers"
check_that "a thousand of them" [ "$(grep -c signal_deliver: "$T/lines")" -gt 1000 ]
grep -q 'no records lost' "$T/err"
result "none lost" $? "$T/err"
[ "$(sed -n 's/.*sa_handler=\([0-9a-f]*\) .*/\1/p' "$T/lines" | sort -u | wc -l)" -ge 10 ]
result "each by its handler's address" $?
record -e $EVENT -- "$D" load 100000
lost=$(sed -n 's/.* \([0-9,]*\) records\{0,1\} lost.*/\1/p' "$T/err" | tr -d ,)
check_that "100,000 signals: kept and lost are delivered" [ $(($(grep -c signal_deliver: "$T/lines") + ${lost:-0})) = 100000 ]
record -e $EVENT -- "$D" small
lost=$(sed -n 's/.* \([0-9,]*\) records\{0,1\} lost.*/\1/p' "$T/err" | tr -d ,)
[ "$(cat "$T/out")" = "$("$D" small)" ] && [ $(($(grep -c signal_deliver: "$T/lines") + ${lost:-0})) = 10 ]
result "a stack that may have no room for us is the program's: what was not kept is lost" $? "$T/err"
record -e $EVENT -- "$D" made shared
grep -q 'not told are signals that were delivered to 0x[0-9a-f]* (not-code)' "$T/err"
result "a handler that cannot be probed is named" $? "$T/err"
compare "and the others are told"
record -e $EVENT -t function_graph -- "$D" $ALL
compare "beside function_graph"
sed -n '/signal_deliver: sig=1 /{n;p;n;p;q}' "$T/lines" | sed -E 's/^ *[0-9]+\) *//' | tr -d '\n' | grep -q '^==========> ||  *plain() {$'
result "as a comment right before the handler, which interrupts" $? "$T/lines"
record -e $EVENT -t function -l 'plain' -e syscalls:sys_enter_rt_sigaction -- "$D" shared changed
compare "beside function and system calls"

# --- filters and triggers --------------------------------------------------------------------
record -e $EVENT -f 'sig == 12 && code == -6 && sa_flags & 4' -- "$D" nesting shared threads
check_that "a filter, in the program" [ "$(deliveries "$T/lines" | tr '\n' ' ')" = 'sig=12 code=-6 flags=4000004 310 ' ]
record -e $EVENT -R 'traceoff if sig == 12' -- "$D" shared
check_that "a trigger" [ "$(deliveries "$T/lines" | tr '\n' ' ')" = 'sig=10 flags=4000000 1 sig=12 flags=4000000 1 ' ]

# --- a process that runs: handlers of before, and what comes --------------------------------------
attached() { # NAME ARGUMENTS-OF-START...
	local name=$1 line
	shift
	mkfifo "$T/go"
	: >"$T/out" # before the shell of the next line empties it
	"${AS[@]}" "$D" later $ALL <"$T/go" >"$T/out" &
	PID=$!
	exec {GO}>"$T/go"
	until grep -q ready "$T/out"; do :; done
	if ! user "$BRACE" start -p "$PID" "$@" 2>"$T/err" >/dev/null; then
		result "$name" 1 "$T/err"
		return
	fi
	# Off and on again: what was installed meanwhile is learnt anew.
	[ "$name" != "in a session" ] || user "$BRACE" set -e $EVENT -f 'sig != 17' >/dev/null 2>"$T/err"
	echo >&"$GO"
	wait "$PID"
	exec {GO}>&-
	rm "$T/go"
	user "$BRACE" show >"$T/lines" 2>"$T/err"
	user "$BRACE" reset >/dev/null 2>&1
}
if [ "$(cat /proc/sys/kernel/yama/ptrace_scope 2>/dev/null || echo 0)" = 0 ]; then
	attached "attached" -e $EVENT
	compare "attached: handlers of before and after"
	attached "attached beside functions" --mode block -b 64M -t function_graph -e $EVENT # a slow brace loses no calls
	compare "attached, with function_graph"
	attached "in a session" -l plain
	sed -i '/sig=17 /d' "$T/out"
	compare "enabled, with a filter, in a session that runs"
else
	skip "attached" "kernel.yama.ptrace_scope lets an ordinary user attach to no other process"
fi

# --- programs of others ------------------------------------------------------------------------
cat >"$T/script.sh" <<'S'
trap 'n=$((n+1))' USR1
trap 'm=$((m+1))' USR2
for i in 1 2 3 4 5 6 7 8 9 10; do kill -USR1 $$; kill -USR2 $$; /bin/true; done
(trap 'echo child' TERM; kill -TERM $BASHPID)
echo $n $m
S
record -e $EVENT -- bash "$T/script.sh"
[ "$(tr '\n' ' ' <"$T/out")" = 'child 10 10 ' ] &&
	[ "$(for s in 10 12 15 17; do grep -c "signal_deliver: sig=$s " "$T/lines"; done | tr '\n' ' ')" = '10 10 1 11 ' ]
result "bash's traps, and its children's ends" $? "$T/lines"
cat >"$T/signals.py" <<'PY'
import os, signal, threading
handled = {signal.SIGUSR1: 0, signal.SIGRTMIN: 0}
def handler(number, frame):
    handled[number] += 1
for number in handled:
    signal.signal(number, handler)
for i in range(100):
    signal.pthread_kill(threading.get_ident(), signal.SIGUSR1)
    os.kill(os.getpid(), signal.SIGRTMIN)
print(*handled.values())
PY
if command -v $PYTHON >/dev/null; then
	record -e $EVENT -- $PYTHON "$T/signals.py"
	check_that "python's" [ "$(cat "$T/out") $(grep -c 'signal_deliver: sig=10 ' "$T/lines") $(grep -c 'signal_deliver: sig=34 ' "$T/lines")" = "100 100 100 100" ]
fi
if command -v redis-server >/dev/null; then
	cat >"$T/redis.sh" <<S
redis-server --port 0 --unixsocket $T/redis.sock --dir $T --save '' >/dev/null &
until redis-cli -s $T/redis.sock ping 2>/dev/null | grep -q PONG; do :; done
kill -TERM \$!
wait \$!
echo \$?
S
	record -e $EVENT -- bash "$T/redis.sh"
	[ "$(cat "$T/out")" = 0 ] && [ "$(grep -c 'redis-server.*signal_deliver: sig=15 ' "$T/lines")" = 1 ]
	result "redis's SIGTERM" $? "$T/lines"
fi
if command -v strace >/dev/null; then
	user strace -f -qq -e trace=none -o "$T/strace" "$BRACE" record -o "$T/t.brace" -e $EVENT -- "$D" shared >"$T/out" 2>"$T/err" </dev/null
	[ "$(cat "$T/out")" = "$("$D" shared)" ] && grep -q 'not told are .* (brace may not stop it)' "$T/err"
	result "in another tracer's hands: it runs, and what is not told is named" $? "$T/err"
fi
finish
