#!/bin/bash
# sched:sched_waking and sched:sched_wakeup over the tree: the talk's wakeup_lat typed as on its slide, against the times that the program
# measures itself; filters, histograms, lists of threads and stacks of the two events; who wakes whom in every way, by the program's account.
. "$(dirname "$0")/lib.sh"
need /usr/bin/python3
[ "$(cat /proc/sys/kernel/perf_event_paranoid)" -le 2 ] || { printf '1..0 # SKIP perf tells no switches here\n'; exit 0; }
mkfifo "$T/commands" "$T/answers"
cat >"$T/events.py" <<'P'
import os, re, subprocess, sys
os.chdir("/sys/kernel/tracing")
commands, answers = open(sys.argv[1], "w"), open(sys.argv[2])
brace = sys.argv[3]
def read(name): return open(name).read()
def write(name, text, flags=os.O_TRUNC):
    fd = os.open(name, os.O_WRONLY | flags)
    try: os.write(fd, text.encode())
    finally: os.close(fd)
def append(name, text): write(name, text, os.O_APPEND)
# Waker, woken thread, and (time in us, whether nobody was preempted) of each wake-up.
def round():
    commands.write("e"); commands.flush()
    words = answers.readline().split()
    return int(words[0]), int(words[1]), [(int(w.strip("~")), w[0] != "~") for w in words[2:]]
def agree(told, own):
    """The longest, which is that of the round's long one, if nobody was preempted longer."""
    longest, sure = max(us for us, alone in own), max((us for us, alone in own if alone), default=0)
    assert 0.8 * sure - 100 <= max(told) <= longest + 50, (told, own)
def ok(name): print("ok", name, flush=True)
def shown(pattern): return [m for l in read("trace").splitlines() if (m := re.search(pattern, l))]
WOKEN = r" +woken-(\d+) +\[\d+\] \S+ +[\d.]+: sched_(waking|wakeup): comm=woken pid=(\d+) prio=(\d+) target_cpu=(\d+)$"

# The slide.
write("synthetic_events", "wakeup_lat char name[]; pid_t pid; u64 latency")
write("events/sched/sched_waking/trigger", "hist:keys=pid:ts1=common_timestamp.usecs")
SECOND = "hist:keys=next_pid:delta=common_timestamp.usecs-$ts1:onmatch(sched.sched_waking).trace(wakeup_lat,next_comm,next_pid,$delta)"
write("events/sched/sched_switch/trigger", SECOND)
write("events/synthetic/wakeup_lat/enable", "1")
write("events/synthetic/wakeup_lat/trigger", "hist:keys=name,latency.buckets=10:sort=name,latency")
waker, woken, own = round()
told = [int(m[1]) for m in shown(rf": wakeup_lat: name=woken pid={woken} latency=(\d+)$")]
print("# the program says", *[("" if sure else "~") + str(us) for us, sure in own])
print("# wakeup_lat says ", *told)
# A thread that had no time to sleep before its wake is not woken.
assert len(told) <= len(own) and len(told) >= len(own) // 2, read("trace")
if len(told) == len(own):
    for us, (says, sure) in zip(told, own):
        # Between are the two clock_gettime(), the events of two system calls, and the kernel's clock beside the processor's.
        assert us <= says + 50 and (not sure or us >= 0.8 * says - 100), (us, says, sure)
agree(told, own)
ok("wakeup_lat as on the slide, and the program's own times")
hist = read("events/synthetic/wakeup_lat/hist")
hits = [int(m) for m in re.findall(r"\{ name: woken +, latency: ~ \d+-\d+ +\} hitcount: +(\d+)", hist)]
assert sum(hits) >= len(told), hist
ok("its histogram")
write("events/sched/sched_switch/trigger", "!" + SECOND)
write("events/sched/sched_waking/trigger", "!hist:keys=pid:ts1=common_timestamp.usecs")
write("events/synthetic/wakeup_lat/trigger", "!hist:keys=name,latency.buckets=10:sort=name,latency")
write("events/synthetic/wakeup_lat/enable", "0")
write("synthetic_events", "")

# The events themselves.
def counts():
    """Of both events: {(name, waker, woken): N}"""
    found = {}
    for m in shown(WOKEN):
        key = m[2], int(m[1]), int(m[3])
        found[key] = found.get(key, 0) + 1
    return found
write("trace", "")
write("events/sched/sched_waking/enable", "1"); write("events/sched/sched_wakeup/enable", "1")
waker, woken, own = round()
found = counts()
there, back = (waker, woken), (woken, waker)
assert set(k[1:] for k in found) <= {there, back} and found["waking", waker, woken] >= len(own) // 2, found
assert all(found["wakeup", *pair] == found["waking", *pair] for pair in (there, back) if ("waking", *pair) in found), found
assert all(m[4] == "120" for m in shown(WOKEN)), read("trace")
ok("waker and woken thread of each record; sched_wakeup as often as sched_waking; no record of a sleep's end")
write("events/sched/sched_wakeup/enable", "0")
write("events/sched/sched_waking/filter", f"pid == {woken}")
write("trace", "")
round()
found = counts()
assert set(found) == {("waking", waker, woken)}, found
ok("a filter by a field")
write("events/sched/sched_waking/filter", "0")
write("set_event_pid", str(woken))
write("trace", "")
round()
found = counts()
# There is none if the waker never slept, being preempted by the woken thread.
assert set(found) <= {("waking", woken, waker)}, found
write("set_event_pid", "")
ok("set_event_pid chooses the wakers")
write("events/sched/sched_waking/enable", "0")
write("trace", "")
write("events/sched/sched_waking/trigger", "hist:keys=common_pid,pid")
round()
hist = read("events/sched/sched_waking/hist")
rows = {(int(a), int(b)): int(n) for a, b, n in re.findall(r"\{ common_pid: +(\d+), pid: +(\d+) \} hitcount: +(\d+)", hist)}
assert set(rows) <= {there, back} and len(own) // 2 <= rows[there] <= len(own), hist
assert not counts()
write("events/sched/sched_waking/trigger", "!hist:keys=common_pid,pid")
ok("a histogram of who wakes whom, without a record in the buffer")
write("trace", "")
write("set_ftrace_filter", "wake wait_for_wake")
write("current_tracer", "function_graph")
write("events/sched/sched_waking/trigger", f"stacktrace if pid == {woken}")
write("events/sched/sched_waking/enable", "1")
# There is none where the woken thread never slept, being preempted by the waker.
for tries in range(10):
    round()
    text = read("trace")
    if re.search(r"sched_waking: comm=woken pid=%d (?s:.{1,400}?)=> wake\b" % woken, text): break
else: raise AssertionError(text[:3000])
write("events/sched/sched_waking/trigger", "!stacktrace")
write("events/sched/sched_waking/enable", "0")
write("current_tracer", "nop")
write("set_ftrace_filter", "")
ok("the waker's stack, by a trigger")
sql = subprocess.run([brace, "sql", "-e", "-n", "lat", "SELECT end.next_comm AS name, start.pid, (end.TIMESTAMP_USECS - start.TIMESTAMP_USECS) "
    "AS latency FROM sched_waking AS start JOIN sched_switch AS end ON start.pid = end.next_pid"], capture_output=True, text=True)
assert sql.returncode == 0, sql.stderr
write("events/synthetic/lat/enable", "1")
write("trace", "")
waker, woken, own = round()
told = [int(m[1]) for m in shown(rf": lat: name=woken pid={woken} latency=(\d+)$")]
assert len(own) // 2 <= len(told) <= len(own) , (told, own)
agree(told, own)
ok("the same by sqlhist's statement")
commands.write("q"); commands.flush()
P
timeout "$LIMIT" "$BRACE" shell --run "$FIXTURES/woken $T/commands $T/answers" -- \
	/usr/bin/python3 "$T/events.py" "$T/commands" "$T/answers" "$BRACE" >"$T/out" 2>"$T/err"
script_results $?

# --- every way to wake
cat >"$T/partners.py" <<'P'
import collections, re, sys
said = dict(line.split() for line in open(sys.argv[1]) if re.match(r"w[tk]\.\w+ \d+$", line))
woken, last = collections.Counter(), 0.0
for line in open(sys.argv[2]):
    m = re.match(r" *(\S+)-(\d+) +\[\d+\] \S+ +([\d.]+): sched_waking: comm=(\S+) pid=(\d+) ", line)
    if not m: continue
    assert float(m[3]) >= last, line
    last = float(m[3])
    waker, wakee = m[1], m[4]
    if wakee == "waking": continue
    side, way = wakee.split(".")
    assert waker == ("wk." if side == "wt" else "wt.") + way, line
    woken[wakee] += 1
print(woken, said)
assert len(said) == 12, said
# A thread may also wait outside of system calls, and at its end after it has said so.
for name, waits in said.items(): assert int(waits) - 6 <= woken[name] <= int(waits) + 2, name
P
S=(--session "wakes$$")
ON_EXIT+=("$BRACE reset ${S[*]} >/dev/null 2>&1")
timeout "$LIMIT" "$BRACE" start "${S[@]}" -b 16M -e sched:sched_waking -e sched:sched_process_exit -- "$FIXTURES/waking" 60 >"$T/said" 2>"$T/err"
shown_all() { "$BRACE" show --no-pager "${S[@]}" >"$T/shown" 2>"$T/err" && [ "$(grep -c '^w[tk]' "$T/said")" -eq 12 ] && grep -q 'sched_process_exit: comm=waking ' "$T/shown"; }
until_is shown_all
/usr/bin/python3 "$T/partners.py" "$T/said" "$T/shown" >"$T/compared" 2>&1
result "semaphore, condition variable, pipe, epoll, poll, signal: each waker is the partner, as often as the kernel counts waits" $? "$T/compared" "$T/err"
"$BRACE" reset "${S[@]}" >"$T/out" 2>&1

# --- beside the kernel's own event
cat >"$T/kernel.py" <<'P'
import collections, re, sys
kernel, ours = collections.Counter(), collections.Counter()
for line in open(sys.argv[1]):
    m = re.match(r"\s*(w[tk]\.\w+)\s+\d+ .*sched:sched_waking: comm=(w[tk]\.\w+) ", line)
    if m: kernel[m[1], m[2]] += 1
for line in open(sys.argv[2]):
    m = re.match(r" *(\S+)-\d+ +\[.*: sched_waking: comm=(w[tk]\.\w+) ", line)
    if m: ours[m[1], m[2]] += 1
print("the kernel's:", sum(kernel.values()), "made:", sum(ours.values()), kernel - ours, ours - kernel)
# A wake that comes in an interrupt has another waker there; a thread may wait outside of system calls.
assert len(kernel) >= 12 and set(ours) <= set(kernel), (kernel, ours)
assert sum((kernel - ours).values()) + sum((ours - kernel).values()) <= 0.02 * sum(kernel.values())
P
cat >"$T/both" <<P
timeout $LIMIT "$BRACE" start ${S[*]} -b 16M -e sched:sched_waking -e sched:sched_process_exit -- "$FIXTURES/waking" 100 >"$T/said" 2>"$T/err"
ends() { "$BRACE" show --no-pager ${S[*]} >"$T/shown" 2>"$T/err" && [ "\$(grep -c '^w[tk]' "$T/said")" -eq 12 ] && grep -q 'sched_process_exit: comm=waking ' "$T/shown"; }
[ -s "$T/err" ] || for ((i = 0; i < 3000; i++)); do ends && break; sleep 0.01; done
P
if perf record -q -a -m 1024 -e sched:sched_waking -o "$T/perf" -- bash "$T/both" >"$T/out" 2>&1 && perf script -i "$T/perf" >"$T/script" 2>"$T/err"; then
	if grep -qi 'lost' "$T/out"; then
		skip "as the kernel's sched_waking" "perf has lost records"
	else
		/usr/bin/python3 "$T/kernel.py" "$T/script" "$T/shown" >"$T/compared" 2>&1
		result "as the kernel's sched_waking" $? "$T/compared"
	fi
else
	skip "as the kernel's sched_waking" "the kernel's tracepoints are not for this user"
fi
"$BRACE" reset "${S[@]}" >"$T/out" 2>&1

record -e sched:sched_waking -e sched:sched_switch -- "$FIXTURES/waking" 60
"$BRACE" replay --no-pager "$T/trace" >"$T/shown" 2>"$T/err" && sed -i 's|/\* *\(sched_waking: .*[^ ]\) *\*/|\1|' "$T/shown"
[ "$(grep -c 'sched_waking: comm=w[kt]' "$T/shown")" -gt 300 ]
result "a trace file has them, too" $? "$T/shown" "$T/err"
record -e 'sched_wak*' -- "$FIXTURES/waking" 60
"$BRACE" replay --no-pager "$T/trace" >"$T/shown" 2>"$T/err" && grep -q 'sched_waking: comm=w[kt]' "$T/shown" && grep -q 'sched_wakeup: comm=w[kt]' "$T/shown"
result "a pattern that names only these has them" $? "$T/shown" "$T/err"
# warned EVENTS SENTENCE: record and graph say it once; no SENTENCE: neither says anything.
warned() {
	local command
	for command in "record -q -o $T/trace" "graph -q -o $T/graph"; do
		# shellcheck disable=SC2086 # words
		"$BRACE" $command -e "$1" -- true >"$T/out" 2>"$T/err" || return 1
		[ "$(grep -cF "warning: -e $1: $2" "$T/err")" -eq "$3" ] || return 1
	done
}
warned 'sched:*' 'sched_waking and sched_wakeup are made only where they are named' 1 && warned sched 'sched_waking and' 1 &&
	warned 'rv:*' 'a monitor watches only where' 1 && warned 'osnoise:*' 'only the tracer osnoise makes' 1 &&
	warned 'osnoise:thread_noise' 'only the tracer osnoise' 1 && warned '*:*' 'events that brace makes are not among them' 1 &&
	warned '*' 'events that brace makes' 1 && warned 'sched:sched_switch' '' 0 && warned sched:sched_waking '' 0
result "a pattern that only happens to match them is told" $? "$T/err"
finish
