#!/bin/bash
# The tracers osnoise, timerlat and hwlat over the tree: headers and lines as the kernel's, to the byte; the files of osnoise/ with their
# limits; figures beside those of /proc; recording that stops; rtla of the distribution, unmodified.
. "$(dirname "$0")/lib.sh"
need /usr/bin/python3
GOLDEN=$HERE/../tree/golden
# The program goes on behind the shell's end, and ends soon after this script.
in_shell() { timeout "$LIMIT" "$BRACE" shell --run "tail --pid=$$ -f /dev/null" -- "$@" <"$STDIN"; }

in_shell true >"$T/out" 2>"$T/err"
skip_without_shell $?

# --- files
cat >"$T/files.py" <<'P'
import errno, os
os.chdir("/sys/kernel/tracing")
def read(name): return open(name).read()
def write(name, text):
    try:
        fd = os.open(name, os.O_WRONLY | os.O_TRUNC)
        try: os.write(fd, text.encode())
        finally: os.close(fd)
        return 0
    except OSError as e: return e.errno
cpus = read("osnoise/cpus")
assert cpus[0] == "0", cpus
assert read("osnoise/options") == "DEFAULTS OSNOISE_WORKLOAD NO_PANIC_ON_STOP NO_OSNOISE_PREEMPT_DISABLE NO_OSNOISE_IRQ_DISABLE\n"
usual = {"period_us": 1000000, "runtime_us": 1000000, "stop_tracing_us": 0, "stop_tracing_total_us": 0, "print_stack": 0, "timerlat_period_us": 1000}
for name, value in usual.items(): assert read("osnoise/" + name) == f"{value}\n", name
assert sorted(os.listdir("osnoise")) == sorted([*usual, "cpus", "options"]), os.listdir("osnoise")
for name, text, error, after in (
        ("period_us", "999999", errno.EINVAL, "1000000"), ("runtime_us", "1000001", errno.EINVAL, "1000000"),
        ("runtime_us", "500000\n", 0, "500000"), ("period_us", "600000", 0, "600000"), ("runtime_us", "600001", errno.EINVAL, "500000"),
        ("period_us", "499999", errno.EINVAL, "600000"), ("timerlat_period_us", "99", errno.EINVAL, "1000"),
        ("timerlat_period_us", "1000001", errno.EINVAL, "1000"), ("timerlat_period_us", "100", 0, "100"),
        ("timerlat_period_us", "1000000", 0, "1000000"), ("stop_tracing_us", "-1", errno.EINVAL, "0"), ("stop_tracing_us", "7", 0, "7"),
        ("stop_tracing_total_us", "x", errno.EINVAL, "0"), ("print_stack", "1", 0, "1"), ("cpus", "x", errno.EINVAL, cpus[:-1]),
        ("cpus", "100000", errno.EINVAL, cpus[:-1]), ("cpus", "0", 0, "0"), ("cpus", cpus, 0, cpus[:-1]),
        ("options", "NOSUCH", errno.EINVAL, read("osnoise/options")[:-1]),
        ("options", "NO_OSNOISE_WORKLOAD", 0, "NO_DEFAULTS NO_OSNOISE_WORKLOAD NO_PANIC_ON_STOP NO_OSNOISE_PREEMPT_DISABLE NO_OSNOISE_IRQ_DISABLE"),
        ("options", "DEFAULTS", 0, "DEFAULTS OSNOISE_WORKLOAD NO_PANIC_ON_STOP NO_OSNOISE_PREEMPT_DISABLE NO_OSNOISE_IRQ_DISABLE"),
        ("options", "PANIC_ON_STOP\n", 0, "NO_DEFAULTS OSNOISE_WORKLOAD PANIC_ON_STOP NO_OSNOISE_PREEMPT_DISABLE NO_OSNOISE_IRQ_DISABLE")):
    assert write("osnoise/" + name, text) == error, (name, text)
    assert read("osnoise/" + name) == after + "\n", (name, text, read("osnoise/" + name))
assert sorted(os.listdir("hwlat_detector")) == ["mode", "width", "window"], os.listdir("hwlat_detector")
assert read("hwlat_detector/mode") == "none [round-robin] per-cpu\n"
for name, text, error, after in (
        ("width", "500000", 0, "500000"), ("window", "499999", errno.EINVAL, "1000000"), ("window", "600000", 0, "600000"),
        ("width", "600001", errno.EINVAL, "500000"), ("width", "600000\n", 0, "600000"), ("window", "x", errno.EINVAL, "600000"),
        ("mode", "per-cpu\n", 0, "none round-robin [per-cpu]"), ("mode", "each", errno.EINVAL, "none round-robin [per-cpu]"),
        ("mode", "none", 0, "[none] round-robin per-cpu")):
    assert write("hwlat_detector/" + name, text) == error, (name, text)
    assert read("hwlat_detector/" + name) == after + "\n", (name, text, read("hwlat_detector/" + name))
os.mkdir("instances/a"); os.mkdir("instances/b")
assert write("instances/a/current_tracer", "osnoise") == 0 and write("instances/b/current_tracer", "timerlat") == errno.EBUSY
assert read("instances/b/current_tracer") == "nop\n"
assert write("instances/b/current_tracer", "osnoise") == 0
os.rmdir("instances/a"); os.rmdir("instances/b")
P
in_shell /usr/bin/python3 "$T/files.py" >"$T/out" 2>&1
result "the files of osnoise/, their limits and errors; one tracer measures at a time" $? "$T/out"

# --- lines, figures
cat >"$T/lines.py" <<'P'
import os, re, sys, time
golden = sys.argv[1]
os.chdir("/sys/kernel/tracing")
cpu = min(os.sched_getaffinity(0))
def read(name): return open(name).read()
def write(name, text): open(name, "w").write(text)
def interrupts():
    head, *rows = open("/proc/interrupts").read().splitlines()
    column = head.split().index(f"CPU{cpu}")
    return sum(int(row.split()[1 + column]) for row in rows if row.split()[0] != "NMI:" and len(row.split()) > 1 + column and row.split()[1 + column].isdigit())
def wait(what, want):
    end = time.monotonic() + 60
    while not (got := what()):
        assert time.monotonic() < end, want
        time.sleep(0.005)
    return got
def shape(line): # a line behind its context, as wide as the kernel's: numbers, and blanks before them, may differ
    text = re.sub(r"^.{16}-\d+ +\[\d{3}\] .{5} +\d+\.\d{6}: ", "", line)
    return re.sub(r" +", " ", re.sub(r" *\d+(\.\d+)?", " N", text)), len(text) if text[0] == "#" else len(text[text.index(" "):])
def compare(tracer, least):
    lines = wait(lambda: (lines := read("trace").splitlines()) and len([l for l in lines if l[0] != "#"]) >= least and lines, tracer)
    own, kernel = [[l for l in text if l[0] == "#"] for text in (lines, read(f"{golden}/k6.12-own.{tracer}.txt").splitlines())]
    assert own == kernel, own
    rows = [l for l in lines if l[0] != "#"]
    shapes = {shape(l) for l in read(f"{golden}/k6.12-own.{tracer}.txt").splitlines() if l[0] != "#"}
    assert {shape(l) for l in rows} == shapes, {shape(l) for l in rows} ^ shapes
    return rows
def compare_events(): # those of three samples at least, when recording is off
    wait(lambda: len([l for l in read("trace").splitlines() if l[0] != "#" and "noise: " not in l and "threshold: " not in l]) >= 3, "samples")
    write("tracing_on", "0")
    return [l for l in read("trace").splitlines() if l[0] != "#"]
def tid_of(line): return int(re.match(r".{16}-(\d+)", line)[1])

parent, hog = os.getpid(), os.fork()
if not hog:
    while os.getppid() == parent: pass
    os._exit(0)
os.sched_setaffinity(hog, {cpu})
used = lambda: int(read(f"/proc/{hog}/schedstat").split()[0])
begun = used()
wait(lambda: used() > begun + 10000000, "the process beside runs")
write("osnoise/cpus", str(cpu))
write("osnoise/runtime_us", "50000"); write("osnoise/period_us", "50000")
before = interrupts()
write("current_tracer", "osnoise")
rows = compare("osnoise", 4)
server = int(re.search(r"^Tgid:\s+(\d+)", open(f"/proc/{tid_of(rows[0])}/status").read(), re.M)[1])
write("tracing_on", "0")
rows = [l for l in read("trace").splitlines() if l[0] != "#"]
after = interrupts()
irqs = 0
for line in rows:
    assert line.startswith(f"osnoise/{cpu}-".rjust(17)), line
    runtime, noise, part, most, hw, nmi, irq, softirq, thread = line.split(": ")[1].split()
    assert int(runtime) >= 50000 and int(most) <= int(noise) <= int(runtime), line
    assert abs(float(part) - 100 * (1 - int(noise) / int(runtime))) < 0.001, line
    # A process of the usual class is on this processor all the time: it is thread noise for one of the class SCHED_IDLE.
    assert int(thread) >= 1 and 2 * int(noise) > int(runtime), line
    irqs += int(irq)
assert 0 < irqs <= after - before, (irqs, before, after)

write("tracing_on", "0"); write("trace", "")
write("events/osnoise/enable", "1")
write("events/osnoise/sample_threshold/trigger", "hist:keys=cpu:vals=duration")
write("tracing_on", "1")
rows = compare_events()
gaps = [int(re.search(r" duration (\d+) ns interference [01]$", r)[1]) for r in rows if ": sample_threshold: " in r]
threads = [int(re.search(r": <\.\.\.>:-1 start \d+\.\d{9} duration (\d+) ns$", r.replace("   <", "<"))[1]) for r in rows if ": thread_noise: " in r]
assert min(gaps) >= 1000 and threads and set(threads) <= set(gaps), (min(gaps), len(threads), len(gaps))
# The noise of a sample is the sum of the gaps since the sample before, in whole microseconds. The first one may have begun earlier.
samples, ns, n = [], 0, 0
for r in rows:
    if ": sample_threshold: " in r:
        ns, n = ns + int(re.search(r" duration (\d+) ns", r)[1]), n + 1
    elif ": thread_noise: " not in r:
        samples.append((1000 * int(r.split(": ")[1].split()[1]), ns, n))
        ns = n = 0
assert len(samples) >= 3 and all(abs(noise - ns) <= 1000 + n for noise, ns, n in samples[1:]), samples
write("events/osnoise/enable", "0")
wait(lambda: re.search(r"hitcount: +[1-9]\d* +duration: +[1-9]", read("events/osnoise/sample_threshold/hist")), "the histogram counts")
write("events/osnoise/sample_threshold/trigger", "!hist:keys=cpu:vals=duration")
write("osnoise/stop_tracing_us", "100")
write("tracing_on", "1")
wait(lambda: read("tracing_on") == "0\n", "recording stops at a gap of over 100 us")
write("osnoise/stop_tracing_us", "0")

write("tracing_on", "1")
write("osnoise/timerlat_period_us", "500")
write("current_tracer", "timerlat")
wait(lambda: not os.path.exists(f"/proc/{tid_of(rows[0])}"), "the threads of the tracer before are gone")
rows = compare("timerlat", 100)
write("tracing_on", "0")
rows = [l for l in read("trace").splitlines() if l[0] != "#"]
delay = int(open(f"/proc/{tid_of(rows[0])}/schedstat").read().split()[1])
pairs = [re.search(r"#(\d+) +context +(\w+) timer_latency +(\d+) ns$", l).groups() for l in rows]
pairs = pairs[:len(pairs) // 2 * 2] # recording may end between two
assert [p[0] for p in pairs[::2]] == [p[0] for p in pairs[1::2]] == [str(1 + i) for i in range(len(pairs) // 2)], pairs[:6]
assert {p[1] for p in pairs[::2]} == {"irq"} and {p[1] for p in pairs[1::2]} == {"thread"}
waits = sum(int(b[2]) - int(a[2]) for a, b in zip(pairs[::2], pairs[1::2]))
assert all(int(a[2]) <= int(b[2]) for a, b in zip(pairs[::2], pairs[1::2])) and waits <= delay, (waits, delay)

write("osnoise/stop_tracing_total_us", "1")
write("tracing_on", "1")
wait(lambda: read("tracing_on") == "0\n", "recording stops at a late thread")
last = [l for l in read("trace").splitlines()][-1]
assert "context thread" in last and int(last.split()[-2]) > 1000, last
write("osnoise/options", "NO_OSNOISE_WORKLOAD")
wait(lambda: not os.path.exists(f"/proc/{tid_of(rows[0])}"), "no thread measures without OSNOISE_WORKLOAD")

os.kill(hog, 9)
# hwlat: no gap of a second; with a threshold of 1 us each processor has some soon.
write("tracing_on", "1"); write("tracing_cpumask", f"{1 << cpu | 1 << max(os.sched_getaffinity(0)):x}")
write("hwlat_detector/width", "20000"); write("hwlat_detector/window", "20000")
write("tracing_thresh", "100000000"); write("current_tracer", "hwlat")
def comm(tid): # of a thread that may have ended meanwhile
    try: return open(f"/proc/{server}/task/{tid}/comm").read()
    except OSError: return ""
wait(lambda: "hwlatd\n" in map(comm, os.listdir(f"/proc/{server}/task")), "its thread")
began = time.time()
assert not [l for l in read("trace").splitlines() if l[0] != "#"]
write("tracing_thresh", "1")
own = lambda: [l for l in read("trace").splitlines() if l[0] != "#"]
wait(lambda: {re.search(r"\[(\d+)\]", l)[1] for l in own()} == {f"{c:03}" for c in (cpu, max(os.sched_getaffinity(0)))} and len(own()) > 3, "gaps on each processor")
write("tracing_on", "0")
assert [l for l in read("trace").splitlines() if l[0] == "#" and "entries" not in l] == \
    [l for l in open(f"{golden}/k7.2-own.hwlat.txt").read().splitlines() if l[0] == "#" and "entries" not in l]
for i, line in enumerate(own()):
    seq, inner, outer, stamp, count = re.match(r" +hwlatd-\d+ +\[\d{3}\] .{5} +\d+\.\d{6}: #(\d+) +inner/outer\(us\): +(\d+)/(\d+) +ts:(\d+\.\d{9}) count:(\d+)( nmi-count:\d+)?$", line).groups()[:5]
    assert int(seq) == i + 1 and int(count) >= 1 and max(int(inner), int(outer)) >= 1 and began - 1 <= float(stamp) <= time.time() + 1, line
write("current_tracer", "nop")
P
in_shell /usr/bin/python3 "$T/lines.py" "$GOLDEN" >"$T/out" 2>&1
result "headers and lines are the kernel's; noise of a process beside; latencies beside the run delay; recording stops" $? "$T/out"

# --- into a file, and as lines
# noise_of FILE: for each sample but a thread's first its noise, the sum of its gaps and their number
noise_of() {
	"$BRACE" replay "$1" | awk '
		/: sample_threshold: / { for (i = 1; i < NF; i++) if ($i == "duration") { sum[$1] += $(i + 1); gaps[$1]++ } ; next }
		/^ *osnoise\// && !/thread_noise: / { if (samples[$1]++) print $6, sum[$1], gaps[$1]; sum[$1] = gaps[$1] = 0 }'
}
# A sample of a second lasts longer on a machine that is busy.
for seconds in 5 40; do
	"$BRACE" record -t osnoise -e 'osnoise:*' -o "$T/noise" -- sleep $seconds >"$T/out" 2>&1
	noise_of "$T/noise" >"$T/samples" 2>>"$T/out"
	[ ! -s "$T/samples" ] || break
done
[ -s "$T/samples" ] && awk '{ off = 1000 * $1 - $2; if (off < 0) off = -off; bad += !($3 > 0 && off <= 1000 + $3) } END { exit bad > 0 }' "$T/samples"
result "record -t osnoise: each sample's noise in the file is the sum of its gaps" $? "$T/out"
! grep -q warning "$T/out"
result "without a warning" $? "$T/out"
"$BRACE" record -t timerlat -e 'osnoise:*' -o "$T/late" -- sleep 1 >"$T/out" 2>&1
"$BRACE" replay "$T/late" >"$T/lines" 2>&1
[ "$(grep -c '#1 .*context    irq timer_latency' "$T/lines")" -ge 1 ] &&
	grep -qx "brace: warning: -e osnoise:\*: the tracer timerlat makes no events of the system osnoise: -t osnoise does" "$T/out"
result "record -t timerlat has its lines, and says that it makes no such events" $? "$T/out"
"$BRACE" graph -t timerlat -- sleep 1 >"$T/lines" 2>"$T/out"
[ "$(grep -c 'context thread timer_latency' "$T/lines")" -ge 1 ]
result "graph -t timerlat prints them" $? "$T/out"
"$BRACE" record -k -t timerlat -o "$T/none" -- true >"$T/out" 2>&1
[ $? -eq 125 ] && grep -q 'does not go with .*timerlat' "$T/out"
result "-k beside them is refused" $? "$T/out"

# --- rtla
for run in 'osnoise top' 'osnoise hist -E 20 -b 1000' 'timerlat top' 'timerlat hist -E 20 -b 1000'; do
	name="rtla $run"
	command -v rtla >/dev/null || { skip "$name" "rtla is not installed"; continue; }
	[ "$(id -u)" -eq 0 ] || { skip "$name" "rtla wants root"; continue; }
	# A sample of a second lasts longer on a machine that is busy.
	for seconds in 2 30; do
		# shellcheck disable=SC2086 # words of a command
		in_shell timeout 60 rtla $run -d ${seconds}s >"$T/out" 2>"$T/err"
		[ $? -eq 0 ] && grep -qE '^ *0 #?[1-9][0-9]* |^count: +[1-9]' "$T/out"
		status=$?
		[ $status -ne 0 ] || break
	done
	result "$name" $status "$T/out"
done
finish
