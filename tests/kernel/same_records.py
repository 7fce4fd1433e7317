# SPDX-License-Identifier: MIT
"""same_records.py BRACE DIR NAME [twice]: DIR/NAME.dat is trace-cmd's recording of a program in the kernel, DIR/NAME.brace is brace's of
the same run; `twice`: of another run of the same program, compared from its sched_process_exec on.

They have the same records of each CPU, one by one: task, function or event with its fields, addresses of stacks, and to the
nanosecond the kernel's own durations. Stamps are each recorder's own, since each has a buffer: every record of one lies between its
neighbours of the other. trace-cmd reads the file that brace exports for it; brace's own text is compared besides.

Between CPUs records have no one order: a CPU may stop between the writes of one record into the two buffers."""
import re
import subprocess
import sys

brace, directory, name = sys.argv[1:4]
twice = "twice" in sys.argv[4:]
HZ = r"clock +x86-tsc, (\d+) Hz"
LINE = re.compile(r" *(.{1,16})-(\d+) +\[(\d+)\] *([\d.]+): (\w+): +(.*)")
GRAPH = re.compile(r"(?:[#@*!+$] )? *(?:([\d.]+) us)? *\|  (.*)")
BRACE_GRAPH = re.compile(r" *(\d+)\) (?:[#@*!+$] )? *(?:([\d.]+) us)? +\|  (.*)")
BRACE_CALL = re.compile(r" *.{1,16}-(\d+) +\[(\d+)\] \S+ +[\d.]+: (\w\S*) <-(\S+)$")


def run(*command):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    assert not done.returncode, done.stdout
    return done.stdout


def report(file):
    """The records of trace-cmd's text: (pid, cpu, stamp, event, text, duration)."""
    records = []
    for line in run("trace-cmd", "report", "-t", "-O", "parent=1", "-O", "indent=0", "-i", file).splitlines():
        match = LINE.match(line)
        if not match:
            # One has names beside the addresses of a stack, the other does not.
            if line.startswith("=> "):
                records[-1][4] += " " + re.search(r"[0-9a-f]{16}", line).group()
            continue
        _, pid, cpu, stamp, event, text = match.groups()
        duration = None
        if event.startswith("funcgraph"):
            duration, text = GRAPH.match(text).groups()
        # The last switch of a process may come after its end was waited for.
        if not re.search(r"\[\d+\] [XZ] ==> ", text):
            records.append([int(pid), int(cpu), int(stamp.replace(".", "")), event, text, duration])
    if twice:
        del records[:next(i for i, r in enumerate(records) if r[3] == "sched_process_exec")]
    assert len(records) > 10, len(records)
    return records if twice else sorted(records, key=lambda r: r[1])


def same(what, ours, theirs):
    for i, (a, b) in enumerate(zip(ours, theirs)):
        assert a == b, f"{what}: record {i} is {a}, trace-cmd's {b}"
    assert len(ours) == len(theirs), f"{what}: {len(ours)} records, trace-cmd has {len(theirs)}"
    return len(ours)


def function_of(record):
    """What both files say of a record. A call without its return is a call of no length in brace's."""
    _, _, _, event, text, _ = record
    if event == "function":
        return "call", text.split()[0]
    if event == "funcgraph_entry" and tracer == "function":
        return "call", text.removesuffix("();")
    return event, re.sub(r"pid=\d+", "", text) if twice else text


def column(duration):
    """The kernel's column has 8 characters at most, of which brace's text uses no more."""
    return duration and (duration.split(".")[0] if duration.index(".") >= 7 else duration[:8])


def unnamed(text):
    """The end of a call that began on another CPU has its name in brace's text, as in the kernel's, and has not in trace-cmd's."""
    return re.sub(r"^( *\}) /\* .* \*/$", r"\1", text)


def place_of(record):
    return () if twice else tuple(record[:2])


def interleaved(ours, theirs, hz):
    """Both stamp by the TSC, which brace's file has as nanoseconds since another zero: there is a difference by which every record lies
    between its neighbours in the other recording."""
    # An event and its stack are written to one buffer before the event comes to the other.
    ours, theirs = ([r for r in all_of if r[3] != "kernel_stack"] for all_of in (ours, theirs))
    stamps = [round(r[2] * hz / 1e9) for r in ours]
    neighbours = [i for i in range(1, len(theirs)) if theirs[i][1] == theirs[i - 1][1]]
    low = max(theirs[i - 1][2] - stamps[i] for i in neighbours)
    high = min(theirs[i][2] - stamps[i - 1] for i in neighbours)
    assert low < high, f"no difference of the stamps holds for all: from {low} to {high}"


def text_records(cpu_at):
    """brace's own text of its calls: (cpu, text, duration) of function_graph, (pid, cpu, function, caller) of function."""
    lines = run(brace, "replay", "--no-pager", f"{directory}/{name}.brace").splitlines()
    if twice:
        del lines[:next(i for i, line in enumerate(lines) if "sched_process_exec: " in line)]
    found = []
    for line in lines:
        match = BRACE_CALL.match(line) if tracer == "function" else BRACE_GRAPH.match(line)
        if match and not match.group(match.lastindex).lstrip().startswith("/* "):
            found.append(tuple(unnamed(g) if isinstance(g, str) else g for g in match.groups()))
    return found if twice else sorted(found, key=lambda c: int(c[cpu_at]))


theirs = report(f"{directory}/{name}.dat")
run(brace, "export", "--to", "trace.dat", "-o", f"{directory}/{name}.ours", f"{directory}/{name}.brace")
ours = report(f"{directory}/{name}.ours")
info = run(brace, "info", f"{directory}/{name}.brace")
tracer = re.search(r"tracer +(\w+)", info).group(1)
n = same("exported", [place_of(r) + function_of(r) for r in ours], [place_of(r) + function_of(r) for r in theirs])
if not twice:
    interleaved(ours, theirs, int(re.search(HZ, info).group(1)))
if tracer == "function":
    calls = [(str(r[0]), f"{r[1]:03}", *r[4].split(" <-- ")) for r in theirs if r[3] == "function"]
    same("printed", text_records(1), calls)
elif tracer == "function_graph":
    calls = [(str(r[1]), column(r[5]), unnamed(r[4])) for r in theirs if r[3].startswith("funcgraph")]
    kept = slice(2, 3) if twice else slice(0, 3)
    same("printed", [c[kept] for c in text_records(0)], [c[kept] for c in calls])
print(n)
