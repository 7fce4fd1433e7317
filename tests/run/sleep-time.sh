#!/bin/bash
# The option sleep-time turned off: a function's time is what its thread ran, as the kernel itself
# counted it for the program (CLOCK_THREAD_CPUTIME_ID), on processors that others want too. Launched
# and attached, in files and in the tree, of one instance and not of another, in the function
# profile; and with it on, the time that went by.
. "$(dirname "$0")/lib.sh"
PYTHON=$(readlink -f /usr/bin/python3)
need "$PYTHON"
sleeps=$FIXTURES/sleeps
FUNCTIONS=(-l outer -l sleeps -l computes -l locks -l reads -l both)

# compare.py ACCOUNT cpu|wall LINES [FUNCTION...]: of lines of function_graph, a thread's times in a
# function against its account.
cat >"$T/near.py" <<'PY'
# Between the function's ends and its looks at the clocks it may be preempted, and the kernel counts
# a switch to either side: some tens of us. The time that went by is ten times as long. The kernel's
# count of what a thread ran leaves out what a hypervisor took from it; the trace, like ftrace's,
# knows of switches only.
import sys
def near(have, want, stolen):
    return want * 0.95 - 4000 <= have and (sys.argv[2] == "wall" or have <= (want + stolen) * 1.05 + 4000)
PY
cat >"$T/compare.py" <<'PY'
import collections, re, sys
from near import near
want, got, bad = {}, collections.defaultdict(lambda: [0, 0.0]), []
for line in open(sys.argv[1]):
    f = line.split()
    if len(f) == 6 and int(f[2]) and (len(sys.argv) < 5 or f[1] in sys.argv[4:]):
        want[f[0], f[1]] = [int(f[2]), int(f[3 if sys.argv[2] == "cpu" else 4]) / 1000, int(f[5]) / 1000]
for line in open(sys.argv[3]):
    m = re.match(r" *\d+\) +.*-(\d+) +\| +[$@*#!+]? *(-?[\d.]+) us +\| +(?:} /\* (\w+)|(\w+)\(\);)", line)
    if m:
        calls = got[m[1], m[3] or m[4]]
        calls[0] += 1
        calls[1] += float(m[2])
        if float(m[2]) < 0:
            bad.append("negative: " + line)
for key, (calls, us, stolen) in want.items():
    have = got[key]
    if have[0] != calls or not near(have[1], us, stolen):
        bad.append(f"{key}: {calls} calls, {us:.0f} us, {stolen:.0f} us stolen; in the trace {have[0]} calls, {have[1]:.0f} us")
print("\n".join(bad[:12]))
sys.exit(bool(bad) or not want)
PY
# profile.py ACCOUNT cpu|wall TABLES: the same of the function profile.
cat >"$T/profile.py" <<'PY'
import collections, sys
from near import near
want, got, bad = collections.defaultdict(lambda: [0, 0, 0]), collections.defaultdict(lambda: [0, 0]), []
for line in open(sys.argv[1]):
    f = line.split()
    if len(f) == 6 and int(f[2]):
        want[f[1]][0] += int(f[2])
        want[f[1]][1] += int(f[3 if sys.argv[2] == "cpu" else 4]) / 1000
        want[f[1]][2] += int(f[5]) / 1000
for line in open(sys.argv[3]):
    f = line.split()
    if len(f) == 8 and f[0] in want:
        got[f[0]][0] += int(f[1])
        got[f[0]][1] += float(f[2])
for name, (calls, us, stolen) in want.items():
    have = got[name]
    if have[0] != calls or not near(have[1], us, stolen):
        bad.append(f"{name}: {calls} calls, {us:.0f} us, {stolen:.0f} us stolen; in the profile {have[0]} calls, {have[1]:.0f} us")
print("\n".join(bad))
sys.exit(bool(bad) or not want)
PY

record() { timeout -k 5 "$LIMIT" "$BRACE" record -o "$T/t.brace" "$@" >"$T/out" 2>"$T/err" </dev/null; }
replayed() { "$BRACE" replay --no-pager -O funcgraph-proc,funcgraph-tail "$T/t.brace" >"$T/lines" 2>>"$T/err"; }
stolen() { awk -v hz="$(getconf CLK_TCK)" '$1 == "cpu" { printf "%d\n", $9 * 1000000 / hz }' /proc/stat; }
begin() { STOLEN=$(stolen); }
# only_stolen FILE PATTERN: the calls of FILE that match took together no longer than a hypervisor
# kept processors back since begin, as the kernel counts it, in ticks of each processor.
only_stolen() {
	grep -E "$2" "$1" | awk -v most=$(($(stolen) - STOLEN + 20000)) '
		{ for (i = 2; i <= NF; i++) if ($i == "us") { us += $(i - 1); break } }
		END { print us " us, at most " most; exit us > most }'
}
compare() { "$PYTHON" "$T/compare.py" "$T/out" "$1" "$T/lines" "${@:2}"; }

start() { # MODE
	rm -f "$T/to" "$T/from"
	mkfifo "$T/to" "$T/from"
	"$sleeps" "$1" <"$T/to" >"$T/from" &
	PID=$!
	exec {TO}>"$T/to" {FROM}<"$T/from"
	read -rt "$LIMIT" -u "$FROM" _
}
tell() { # one more time; what it says is in $T/out
	echo >&"$TO"
	: >"$T/out"
	while read -rt "$LIMIT" -u "$FROM" line && [ "$line" != done ]; do
		printf '%s\n' "$line" >>"$T/out"
	done
}
attached() { # brace, in the background, has hooked it and let it go
	until grep -q brace-code "/proc/$PID/maps" && grep -qE '^TracerPid:.0$' "/proc/$PID/status" || ! kill -0 "$BRACE_PID"; do
		read -rt 0.02 _ <> <(:)
	done
}
over() {
	exec {TO}>&- {FROM}<&-
	wait "$PID"
}

# --- not allowed
"$FIXTURES/filtered" no-perf "$BRACE" record -o "$T/t.brace" -O nosleep-time -- true >"$T/out" 2>"$T/err"
[ $? -ne 0 ] && grep -q 'perf_event_open, which .*nosleep-time need, is forbidden here: by a seccomp filter' "$T/err"
result "where it is forbidden, the rule is named" $? "$T/err"
"$FIXTURES/filtered" no-perf "$BRACE" record -o "$T/t.brace" -t function -O nosleep-time -- true >"$T/out" 2>"$T/err"
result "and the function tracer, which has no times, does not need it" $? "$T/err"
start later
D=$T/tree
mkdir "$D"
ON_EXIT+=("$BRACE umount --lazy $D")
if "$FIXTURES/filtered" no-perf "$BRACE" mount "$D" -p "$PID" 2>"$T/err"; then
	! echo 0 2>/dev/null >"$D/options/sleep-time" && [ "$(cat "$D/options/sleep-time")" = 1 ] &&
		grep -q 'error: perf_event_open, which .*nosleep-time need, is forbidden here' "$D/error_log"
	result "in the tree it stays on, and error_log says why" $? "$D/error_log"
	"$BRACE" umount "$D"
else
	skip "in the tree" "$(cut -d' ' -f2- "$T/err")"
fi
over

if ! "$BRACE" list --events | grep -q '^sched:sched_switch$'; then
	skip "all the rest" "perf events are not allowed here"
	finish
fi

# --- a program of its own, with others on all processors
for _ in $(seq "$(nproc)"); do
	(while :; do :; done) &
	LOOPS+=($!)
done
ON_EXIT+=("kill ${LOOPS[*]}")
record -O nosleep-time "${FUNCTIONS[@]}" -- "$sleeps"
replayed
check_that "a function's time is what its thread ran" compare cpu
"$BRACE" report --json "$T/t.brace" >"$T/report"
want=$(awk '$2 == "outer" { ns += $4 } END { printf "%d\n", ns }' "$T/out")
got=$(sed -n 's/.*"name":"outer",.*"total_ns":\([0-9]*\).*/\1/p' "$T/report")
stolen=$(awk '$2 == "outer" { ns += $6 } END { printf "%d\n", ns }' "$T/out")
check_that "brace report says so too ($want, $got, stolen $stolen)" \
	[ $((want * 95 / 100)) -lt "$got" -a "$got" -lt $(((want + stolen) * 105 / 100 + 4000000)) ]
timeout -k 5 "$LIMIT" "$BRACE" graph --no-pager -O nosleep-time,funcgraph-proc,funcgraph-tail "${FUNCTIONS[@]}" -o "$T/lines" -- "$sleeps" >"$T/out" 2>"$T/err" </dev/null
check_that "brace graph" compare cpu
kill "${LOOPS[@]}"
record "${FUNCTIONS[@]}" -- "$sleeps"
replayed
check_that "as usual: the time that went by" compare wall
"$BRACE" replay --no-pager -O nosleep-time "$T/t.brace" >"$T/lines" 2>"$T/err"
[ $? -ne 0 ] && grep -q 'it has to be recorded with -O nosleep-time' "$T/err"
result "a file without cannot be shown with it" $? "$T/err"
record -O nosleep-time --mode overwrite -b 64K "${FUNCTIONS[@]}" -- "$sleeps"
replayed
check_that "in mode overwrite" compare cpu

# --- tracing_thresh
begin
record -O nosleep-time --threshold 1ms "${FUNCTIONS[@]}" -- "$sleeps"
replayed
check_that "tracing_thresh: what ran for so long" compare cpu outer computes both
check_that "and nothing that only lasted so long" only_stolen "$T/lines" ' us .*(sleeps \*|sleeps\(|locks|reads)'

cat >"$T/nap.py" <<'PY'
import sys, threading, time
def nap():
    for i in range(5):
        time.sleep(0.01)
threads = [threading.Thread(target=nap) for i in range(3)]
for t in threads:
    t.start()
for t in threads:
    t.join()
PY
begin
record -O nosleep-time -l clock_nanosleep -- "$PYTHON" "$T/nap.py"
replayed
[ "$(grep -c ' us .* clock_nanosleep' "$T/lines")" = 15 ] && only_stolen "$T/lines" ' us .* clock_nanosleep' >"$T/check.log"
result "python's time.sleep, in threads: 15 of 10 ms that took none of it" $? "$T/lines"
record -l clock_nanosleep -- "$PYTHON" "$T/nap.py"
replayed
[ "$(grep -c '[#*] .* us .* clock_nanosleep' "$T/lines")" = 15 ]
result "and 10 as usual" $? "$T/lines"
if command -v trace-cmd >/dev/null; then
	start later
	export T FIXTURES TO FROM
	cat >"$T/tc.sh" <<'SH'
trace-cmd record -q -o "$T/t.dat" -p function_graph -O nosleep-time -l sleeps bash -c "echo >&$TO; while read -ru $FROM line && [ \"\$line\" != done ]; do echo \$line; done >$T/out"
SH
	begin
	timeout -k 5 "$LIMIT" "$BRACE" shell -p "$PID" -- bash "$T/tc.sh" >"$T/check.log" 2>&1
	timeout 60 trace-cmd report "$T/t.dat" >"$T/lines" 2>>"$T/check.log"
	over
	[ "$(grep -c ' us ' "$T/lines")" = 96 ] && only_stolen "$T/lines" ' us ' >>"$T/check.log"
	result "trace-cmd record -O nosleep-time: the sleeps took none of it" $? "$T/check.log"
else
	skip "trace-cmd" "not installed"
fi

# --- attached, in the tree
start later
"$BRACE" record -o "$T/t.brace" -O nosleep-time "${FUNCTIONS[@]}" -p "$PID" 2>"$T/err" &
BRACE_PID=$!
attached
tell
kill -TERM "$BRACE_PID"
wait "$BRACE_PID"
replayed
check_that "attached" compare cpu
over

# --- what the kernel has no room for: brace stands still while two threads wait for each other
start storm
"$BRACE" record -o "$T/t.brace" -O nosleep-time -l storms -l sleeps -p "$PID" 2>"$T/err" &
BRACE_PID=$!
attached
kill -STOP "$BRACE_PID"
tell
kill -CONT "$BRACE_PID"
kill -TERM "$BRACE_PID"
wait "$BRACE_PID"
grep -qE '^brace: the kernel had no room for [1-9][0-9]* or more of the threads. switches \(nosleep-time\): durations may hold time slept$' "$T/err"
result "what the kernel had no room for is told" $? "$T/err"
replayed
"$PYTHON" - "$T/out" "$T/lines" >"$T/check.log" 2>&1 <<'PY'
import re, sys
cpu, wall = next([int(n) / 1000 for n in l.split()[3:5]] for l in open(sys.argv[1]) if " storms " in l)
got = [float(m[1]) for m in re.finditer(r" (-?[\d.]+) us .*storms", open(sys.argv[2]).read())]
print(cpu, wall, got)
sys.exit(not (len(got) == 1 and 0 < got[0] < 1.1 * wall + 4000))
PY
result "and the time is none that cannot be" $? "$T/check.log"
"$BRACE" info "$T/t.brace" >"$T/out" 2>&1
grep -q '^note .*the kernel had no room' "$T/out"
result "the file says so too" $? "$T/out"
over

start later
"$BRACE" mount "$D" -p "$PID" 2>"$T/err" || { over; no_mount; }
printf '%s\n' outer sleeps computes locks reads both >"$D/set_ftrace_filter"
echo 1 >"$D/options/funcgraph-proc"
echo 1 >"$D/options/funcgraph-tail"
mkdir "$D/instances/whole" "$D/instances/less"
for i in whole less; do
	cat "$D/set_ftrace_filter" >"$D/instances/$i/set_ftrace_filter"
	echo 1 >"$D/instances/$i/options/funcgraph-proc"
	echo 1 >"$D/instances/$i/options/funcgraph-tail"
	echo function_graph >"$D/instances/$i/current_tracer"
done
echo nosleep-time >"$D/instances/less/trace_options"
check_that "options/sleep-time says so" [ "$(cat "$D/options/sleep-time" "$D/instances/less/options/sleep-time" | tr '\n' ' ')" = "1 0 " ]
echo 0 >"$D/options/sleep-time"
echo function_graph >"$D/current_tracer"
echo 1 >"$D/function_profile_enabled"
tell
cat "$D/trace" >"$T/lines"
check_that "in the tree" compare cpu
cat "$D/instances/less/trace" >"$T/lines"
check_that "in an instance" compare cpu
cat "$D/instances/whole/trace" >"$T/lines"
check_that "and not in another one" compare wall
cat "$D"/trace_stat/function* >"$T/tables"
check "in the function profile" "$PYTHON" "$T/profile.py" "$T/out" cpu "$T/tables"
cp "$T/out" "$T/out.before"
echo 1 >"$D/options/sleep-time"
cat "$D/trace" >"$T/lines"
check_that "what was recorded stays as it was when the option is turned" compare cpu
echo >"$D/trace"
echo 0 >"$D/function_profile_enabled"
echo 1 >"$D/function_profile_enabled"
tell
cat "$D/trace" >"$T/lines"
check_that "and what comes then has the time that went by" compare wall
cat "$D"/trace_stat/function* >"$T/tables"
check "in the profile too" "$PYTHON" "$T/profile.py" "$T/out" wall "$T/tables"
echo 0 >"$D/options/sleep-time"
echo 1000 >"$D/tracing_thresh"
echo >"$D/trace"
begin
tell
cat "$D/trace" >"$T/lines"
check_that "tracing_thresh" compare cpu outer computes both
check_that "and nothing that only lasted so long" only_stolen "$T/lines" ' us .*(sleeps \*|sleeps\(|locks|reads)'
check "umount" "$BRACE" umount "$D"
over
finish
