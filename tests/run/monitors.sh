#!/bin/bash
# The files of rv/: the monitor ebadf finds each use and each second close of a descriptor that the program has closed, by whichever thread, and
# nothing in a program that has no such fault; its events have filters, triggers and stacks; each reactor does what it is named for.
. "$(dirname "$0")/lib.sh"
need /usr/bin/python3
mkfifo "$T/commands" "$T/answers"
cat >"$T/monitors.py" <<'P'
import errno, os, re, select, signal, sys, time
os.chdir("/sys/kernel/tracing")
commands, answers = open(sys.argv[1], "w"), open(sys.argv[2])
def read(name): return open(name).read()
def write(name, text, flags=os.O_TRUNC):
    try:
        fd = os.open(name, os.O_WRONLY | flags)
        try: os.write(fd, text.encode())
        finally: os.close(fd)
        return 0
    except OSError as e: return e.errno
def order(what): commands.write(what + "\n"); commands.flush()
def do(what): order(what); return int(answers.readline())
def ok(name): print("ok", name, flush=True)
LINE = r" +descriptors-(\d+) +\[\d+\] \S+ +[\d.]+: (event|error)_ebadf: (.*)$"
def shown(): return [(int(m[1]), m[2], m[3]) for l in read("trace").splitlines() if (m := re.match(LINE, l))]
def errors(): return [(tid, text) for tid, kind, text in shown() if kind == "error"]

assert read("rv/available_monitors") == "ebadf\n" and read("rv/enabled_monitors") == ""
assert read("rv/available_reactors") == "nop\nprintk\nsnapshot\nstop\ntraceoff\n"
assert read("rv/monitoring_on") == read("rv/reacting_on") == "1\n" and read("rv/monitors/ebadf/enable") == "0\n"
assert read("rv/monitors/ebadf/reactors") == "[nop]\nprintk\nsnapshot\nstop\ntraceoff\n" and read("rv/monitors/ebadf/desc").count("\n") == 1
assert write("rv/monitors/ebadf/desc", "x") in (errno.EACCES, errno.EINVAL, errno.EPERM) and write("rv/available_monitors", "x")
for name, text in (("rv/enabled_monitors", "nosuch"), ("rv/monitors/ebadf/reactors", "panic"), ("rv/monitoring_on", "2"), ("rv/monitors/ebadf/enable", " 1")):
    before = read(name)
    assert write(name, text) == errno.EINVAL and read(name) == before, name
assert re.search(r"available_reactors lists them\n  Command: panic", read("error_log")) or "available_reactors" in read("error_log"), read("error_log")
ok("the files as after boot, and what they refuse")
assert write("rv/enabled_monitors", "ebadf", os.O_APPEND) == 0 and read("rv/monitors/ebadf/enable") == "1\n"
assert write("rv/enabled_monitors", "!ebadf", os.O_APPEND) == 0 and read("rv/enabled_monitors") == ""
assert write("rv/monitors/ebadf/enable", "1") == 0 and read("rv/enabled_monitors") == "ebadf\n"
assert write("rv/enabled_monitors", "") == 0
ok("a monitor is enabled and disabled by either file, and by emptying the list")

assert write("events/rv/error_ebadf/enable", "1") == 0
do("twice")
assert not errors()
assert write("rv/enabled_monitors", "ebadf") == 0
for _ in range(3): do("clean")
assert not errors(), read("trace")
ok("nothing while it is off, and nothing in what has no fault")
WANT = {"twice": "close", "write": "use", "fsync": "use", "thread": "use"}
for what, event in WANT.items():
    assert write("trace", "") == 0
    fd = do(what)
    got = errors()
    assert [text for tid, text in got] == [f"{fd}: event {event} not expected in the state closed"], (what, fd, read("trace"))
ok("each fault once, with the descriptor: closed twice, written, synced, written after another thread's close")
pid = got[0][0]
assert write("events/rv/error_ebadf/filter", 'event == "close"') == 0 and write("trace", "") == 0
for what in WANT: do(what)
assert [text.split()[2] for tid, text in errors()] == ["close"], read("trace")
assert write("events/rv/error_ebadf/filter", "0") == 0
assert write("events/rv/error_ebadf/trigger", "hist:keys=event") == 0
for what in WANT: do(what)
hist = read("events/rv/error_ebadf/hist")
assert dict(re.findall(r"event: (\w+) +\} hitcount: +(\d+)", hist)) == {"close": "1", "use": "3"}, hist
assert write("events/rv/error_ebadf/trigger", "!hist:keys=event") == 0
ok("a filter, and a histogram of faults")
assert write("current_tracer", "function_graph") == 0 and write("events/rv/error_ebadf/trigger", "stacktrace") == 0
assert write("trace", "") == 0
do("twice")
assert re.search(r"error_ebadf: \d+: event close (?s:.*)<stack trace>(?s:.*)\n => twice\b", read("trace")), read("trace")[-2000:]
assert write("events/rv/error_ebadf/trigger", "!stacktrace") == 0 and write("current_tracer", "nop") == 0
ok("the stack of the fault")
assert write("events/rv/event_ebadf/enable", "1") == 0 and write("trace", "") == 0
fd = do("write")
steps = [(kind, text.strip()) for tid, kind, text in shown() if text.startswith(f"{fd}: ")]
assert steps == [("event", f"{fd}: closed x open -> open"), ("event", f"{fd}: open x close -> closed (final)"),
                 ("error", f"{fd}: event use not expected in the state closed")], steps
assert write("events/rv/event_ebadf/enable", "0") == 0
ok("the steps of the model")
assert write("rv/monitoring_on", "0") == 0 and write("trace", "") == 0
do("twice")
assert not errors() and read("rv/enabled_monitors") == "ebadf\n"
assert write("rv/monitoring_on", "1") == 0
do("twice")
assert len(errors()) == 1
ok("monitoring_on")

assert write("rv/monitors/ebadf/reactors", "printk") == 0 and "\n[printk]\n" in read("rv/monitors/ebadf/reactors")
before = read("dump")
do("twice"); do("write")
read("trace")
assert read("dump") == before + "rv: monitor ebadf does not allow event close on state closed\nrv: monitor ebadf does not allow event use on state closed\n", read("dump")
assert write("rv/reacting_on", "0") == 0
do("twice"); read("trace")
assert read("dump").count("rv: ") == 2 and write("rv/reacting_on", "1") == 0
ok("printk, and reacting_on")
# A flood: brace's memory has a bound while somebody reads, and what it could not look at is counted.
TRIGGERS = (("error", "hist:keys=event"), ("event", "hist:keys=common_pid,id,event,state,next_state"), ("event", "stacktrace"))
for kind, what in TRIGGERS: assert write(f"events/rv/{kind}_ebadf/trigger", what, os.O_APPEND) == 0
assert write("trace", "") == 0 and write("events/rv/event_ebadf/enable", "1") == 0
order("flood")
reads = 0
while not select.select([answers], [], [], 0)[0]: read("per_cpu/cpu0/stats"); reads += 1
assert answers.readline() == "0\n" and reads
peak = int(re.search(r"VmHWM:\s+(\d+)", read(f"/proc/{os.getppid()}/status"))[1]) // 1024
hist = read("events/rv/error_ebadf/hist")
told = int(re.search(r"event: close +\} hitcount: +(\d+)", hist)[1])
lost = sum(int(n) for c in os.listdir("per_cpu") for n in re.findall(r"dropped events: (\d+)", read(f"per_cpu/{c}/stats")))
print(f"# a flood: {told} faults told, {lost} records lost, {reads} reads, {peak} MiB", flush=True)
assert 0 < told <= 3 * 600000 <= told + 2 * lost, (told, lost)
assert peak < 512, peak
for kind, what in TRIGGERS: assert write(f"events/rv/{kind}_ebadf/trigger", "!" + what, os.O_APPEND) == 0
assert write("events/rv/event_ebadf/enable", "0") == 0
ok("a flood of faults with readers: brace needs less than 512 MiB, and counts what is lost")
assert write("rv/monitors/ebadf/reactors", "traceoff") == 0 and write("trace", "") == 0
do("twice"); do("twice")
assert read("tracing_on") == "0\n" and len(errors()) == 1, read("trace")
assert write("tracing_on", "1") == 0
ok("traceoff: the fault is the last record")
assert write("rv/monitors/ebadf/reactors", "snapshot") == 0 and write("trace", "") == 0
do("fsync")
read("trace")
assert "event use not expected" in read("snapshot"), read("snapshot")
ok("snapshot has the fault")
assert write("rv/monitors/ebadf/reactors", "stop") == 0
order("twice")
def state(): return re.search(r"\) (\S)", read(f"/proc/{pid}/stat"))[1]
while state() != "T": time.sleep(0.005)
assert write("rv/monitors/ebadf/reactors", "nop") == 0
os.kill(pid, signal.SIGCONT)
answers.readline()
assert do("clean")
ok("stop: the process stands still, and goes on by SIGCONT")
P
timeout "$LIMIT" "$BRACE" shell --run "$FIXTURES/descriptors $T/commands $T/answers" -- \
	/usr/bin/python3 "$T/monitors.py" "$T/commands" "$T/answers" >"$T/out" 2>"$T/err"
script_results $?

# --- a program that nobody has accused
cat >"$T/blameless.py" <<'P'
import os, socket, subprocess, sys, tempfile, threading
if len(sys.argv) > 1:
    open(sys.argv[1], "w").close()
    open(sys.argv[2]).read()
def work():
    for i in range(20):
        with tempfile.TemporaryFile() as f: f.write(b"x")
        a, b = socket.socketpair(); a.send(b"x"); b.recv(1); a.close(); b.close()
        r, w = os.pipe(); os.close(r); os.close(w)
        subprocess.run(["/bin/true"])
threads = [threading.Thread(target=work) for i in range(4)]
for t in threads: t.start()
for t in threads: t.join()
# And one that is not: the number of the end is no other thread's.
f = os.open("/dev/null", os.O_RDONLY)
os.close(f)
try: os.close(f)
except OSError: pass
if len(sys.argv) > 1: open(sys.argv[3], "w").close()
P
mkfifo "$T/go"
cat >"$T/watch" <<'P'
cd /sys/kernel/tracing
echo ebadf >rv/enabled_monitors
echo 1 >events/rv/error_ebadf/enable
until [ -e "$T/begun" ]; do sleep 0.01; done
: >"$T/go"
until [ -e "$T/done" ]; do sleep 0.01; done
grep error_ebadf trace >"$T/faults"
P
export T
timeout "$LIMIT" "$BRACE" shell --run "/usr/bin/python3 $T/blameless.py $T/begun $T/go $T/done" -- bash "$T/watch" >"$T/out" 2>"$T/err"
[ "$(wc -l <"$T/faults")" -eq 1 ] && grep -q 'event close not expected' "$T/faults"
result "a program of threads, sockets, pipes and children: its one fault, and no other" $? "$T/faults" "$T/err"

# --- numbers that are given anew by a way that the monitor does not see
# by_way COMMAND...: the faults that are told of the commands
by_way() {
	printf '%s\n' "$@" >"$T/commands.txt"
	record -e rv:error_ebadf -- "$FIXTURES/descriptors" "$T/commands.txt" "$T/answers.txt"
	"$BRACE" replay --no-pager "$T/trace" >"$T/shown" 2>"$T/err"
	FAULTS=$(grep -o 'error_ebadf: .*' "$T/shown" | sed -E 's/^[^:]*: [0-9]+: event (\w+) .*/\1/' | tr '\n' ' ')
}
for way in terminal fanotify; do
	by_way "$way" twice
	if [ "$(head -1 "$T/answers.txt")" = -1 ]; then
		skip "$way gives the number" "it is not allowed here"
		continue
	fi
	[ "$FAULTS" = "close " ]
	result "$way gives the number: its use is no fault, and a later one is told" $? "$T/shown" "$T/answers.txt"
done
by_way shared twice
[ "$FAULTS" = "" ] && [ "$(wc -l <"$T/answers.txt")" = 2 ]
result "a child with the same table gives the number: nothing is told of the process any more" $? "$T/shown" "$T/answers.txt"
by_way spawn twice thread
[ "$FAULTS" = "close use " ]
result "faults are told after a program was spawned, and with threads" $? "$T/shown" "$T/answers.txt"

# --- the pid that stop goes by is brace's own knowledge
cat >"$T/blamed" <<'P'
cd /sys/kernel/tracing
echo stop >rv/monitors/ebadf/reactors
echo ebadf >rv/enabled_monitors
echo 1 >events/rv/error_ebadf/enable
: >"$T/go"
until [ -s "$T/status" ]; do sleep 0.01; done
cat trace >"$T/faults"
cut -d')' -f2 "/proc/$1/stat" >"$T/state"
P
sleep 1000 &
victim=$!
disown
ON_EXIT+=("kill -KILL $victim")
timeout "$LIMIT" "$BRACE" shell --run "/bin/sh -c 'cat $T/go; $FIXTURES/forger blames $victim; echo \$? >$T/status'" -- bash "$T/blamed" $victim >"$T/out" 2>"$T/err"
{ echo "the forger: $(cat "$T/status"), the victim:$(cat "$T/state")"; cat "$T/err"; } >"$T/said"
[ "$(cat "$T/status")" = 3 ] && grep -q '^ S' "$T/state" && grep -q -- "-$victim *\[.*error_ebadf: [0-9]*: event close not expected" "$T/faults"
result "stop: a process that a hostile program names in its place goes on" $? "$T/said" "$T/faults"

# --- from a command
cat >"$T/twice.py" <<'P'
import os
f = os.open("/dev/null", os.O_RDONLY)
os.close(f)
try: os.close(f)
except OSError: pass
P
record -e rv:error_ebadf -- /usr/bin/python3 "$T/twice.py"
"$BRACE" replay --no-pager "$T/trace" >"$T/shown" 2>"$T/err" && [ "$(grep -c 'error_ebadf: [0-9]*: event close not expected in the state closed' "$T/shown")" -eq 1 ]
result "record -e rv:error_ebadf enables the monitor" $? "$T/shown" "$T/err"
finish
