#!/bin/bash
# The commands in which brace has threads that no other test with a sanitizer runs: the holder of stopped processes, planners, a session
# in the background with several clients, groups of a query, the line of progress. In a build with ThreadSanitizer a race ends brace with a status of its own.
. "$(dirname "$0")/../run/lib.sh"
: "${THREADED:?is the program of threaded.c}"
export XDG_RUNTIME_DIR=$T/run-dir XDG_CACHE_HOME=$T/cache
mkdir -m 700 "$XDG_RUNTIME_DIR"
brace() { timeout -k 5 "$LIMIT" "$BRACE" "$@" 2>"$T/err" </dev/null; }

mkfifo "$T/in"
"$THREADED" <"$T/in" >"$T/said" &
pid=$!
exec 7>"$T/in"
ON_EXIT+=("kill $pid")
until_is grep -q ready "$T/said"

brace stack --json -p "$pid" >"$T/out"
result "stack looks at a process" $? "$T/err"
[ "$(grep -c '"tid":' "$T/out")" = 4 ] && grep -q '"function":"work"' "$T/out"
result "and finds its four threads" $? "$T/out"
brace record -q -o "$T/trace" -p "$pid" --duration 300ms
result "record attaches, and leaves" $? "$T/err"
brace report --json "$T/trace" >"$T/out" && grep -q '"name":"leaf"' "$T/out"
result "what it recorded is read" $? "$T/err"

# --- a session with several clients
if brace start -p "$pid" -l leaf; then
	ON_EXIT+=("$BRACE reset")
	shown() { brace show | grep -q 'leaf()'; }
	until_is shown
	clients=()
	for i in 1 2 3 4; do
		{ timeout -k 5 "$LIMIT" "$BRACE" show && timeout -k 5 "$LIMIT" "$BRACE" stat && timeout -k 5 "$LIMIT" "$BRACE" sessions --long; } >"$T/client.$i" 2>&1 &
		clients+=($!)
	done
	for line in 'set -l *' 'set -t function' 'set -t function_graph -l leaf' stop restart; do
		read -ra words <<<"$line"
		brace "${words[@]}"
		result "$line, while four clients ask" $? "$T/err"
	done
	bad=0
	for client in "${clients[@]}"; do
		wait "$client" || bad=1
	done
	[ $bad = 0 ]
	result "which are answered" $? "$T/client.1"
	brace reset
	result "reset" $? "$T/err"
else
	grep -q ptrace "$T/err" || not_ok "start" "$T/err"
	skip "a session with several clients" "ptrace is not allowed here"
fi
exec 7>&-
wait "$pid"
[ $? = 7 ]
result "the program goes on, and ends as it would have" $?

# --- what the kernel tells, by perf's rings
if brace list --events | grep -qx sched:sched_switch; then
	brace record -q -o "$T/trace" -e sched:sched_switch -- "$THREADED" 10 >/dev/null
	[ $? = 7 ] && "$BRACE" replay --no-pager "$T/trace" | grep -q ' sched_switch: '
	result "switches of threads are recorded" $? "$T/err"
else
	skip "switches of threads are recorded" "perf is not allowed here"
fi

# --- many records of several processes
brace record -q --mode block -o "$T/trace" -- sh -c '"$1" 60000 & "$1" 60000 & "$1" 60000; wait' - "$THREADED" >/dev/null
result "three processes are planned at once" $? "$T/err"
[ "$(brace report --json "$T/trace" | sed -nE 's/.*"name":"leaf".*"calls":([0-9]+).*/\1/p' | awk '{ n += $1 } END { print n }')" = 540000 ]
result "report, by its workers, has every call" $? "$T/err"
brace query --csv "$T/trace" 'SELECT name, count(*), sum(dur) FROM slice GROUP BY name' >"$T/out" && grep -q '^"*leaf"*,540000,' "$T/out"
result "query, by its workers, too" $? "$T/out"

# --- the line that shows how far a reading is, by a thread of its own, after a second
brace record -q --mode block -o "$T/trace" -- "$THREADED" 12000000 1 >/dev/null
TERM=xterm timeout -k 5 "$LIMIT" script -qec "$BRACE report --no-pager $T/trace" /dev/null >"$T/out" </dev/null
[ $? = 0 ] && grep -q '^ *12000000 .* leaf ' "$T/out"
result "report on a terminal, of what takes long to read" $? "$T/out"
finish
