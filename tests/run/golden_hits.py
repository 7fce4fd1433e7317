#!/usr/bin/python3
"""golden_hits.py GOLDEN PROGRAM PIPE: over ftrace's tree at /sys/kernel/tracing, defines the probes of the kernel's
golden lists in a program that calls functions as the kernel's were called (tests/targets/hits.c; it begins when PIPE is
written to), and prints TAP: what the probes record is the kernel's golden trace, line by line. Left out of a line are
the thread's name (the kernel's is the last that it had), number, time, processor, flags, addresses and offsets in
functions. DIFFERENCES has where brace's lines are others by design. Probes at one place fire in the order in
which they were defined, the kernel's in the opposite one: such lines are sorted."""
import re
import subprocess
import sys

from golden_tree import TREE, await_program, finish, golden, ok, read, write

GOLDEN, PROGRAM, PIPE = sys.argv[1:4]
# Lines of the kernel that are not held against brace's, with the reason.
LEFT_OUT = {
    "tp1": "a probe of the kernel's tracepoint sched_switch, whose processor switches as it likes; tprobes.sh has them",
    "ep1": "a probe of the kernel's event of a fork; eprobes.sh has them",
}
# (event, what the kernel writes, what brace writes, why): each line of that event is changed so.
DIFFERENCES = [
    ("arr", r"d=vfs_read\+OFFSET", lambda m: "d=vfs_read", "%ip is the first instruction; the kernel's is behind its breakpoint"),
    ("w", r'(buf="[^"\n]*)(\n"|)$', lambda m: m[1] + ' "', "a control character in a string is a blank, so that a record is one line; "
     "the last string of the kernel's goes on with what the shell's buffer had"),
]


def shapes(text):
    """(event, rest) of each record; one that has a newline in a string goes over two lines."""
    records = re.findall(r"^ *[^\s#]+-\d+ +\[\d+\] \S{5} +[\d.]+: (\w+): (.*(?:\n\"$)?)", text, flags=re.M)
    found = []
    for event, rest in records:
        rest = re.sub(r"\+0x[0-9a-f]+(/0x[0-9a-f]+)?", "+OFFSET", rest)
        # an address, or one with its function; the lower byte of an address
        rest = re.sub(r"\b0x[0-9a-f]{6,16}\b|(?<=arg5=)\d+", "ADDRESS", rest)
        if event == "p_vfs_write_0": # 32 bits of a pointer
            rest = re.sub(r"fd=\d+", "fd=ADDRESS", rest)
        found.append((event, rest))
    return found


def in_order(records):
    """Those of one place, one behind another, are sorted."""
    groups = []
    for r in records:
        place = r[1].split(")")[0]
        if groups and groups[-1][0] == place and r[0] not in [g[0] for g in groups[-1][1]]:
            groups[-1][1].append(r)
        else:
            groups.append((place, [r]))
    return [r for _, group in groups for r in sorted(group)]


def define(name, line):
    assert write(name, line), line


def run_program(enables, last):
    """What is recorded up to the last line, which the kernel's trace has last, too: there tracing ended."""
    for e in enables:
        define("events/%s/enable" % e, "1")
    with open(PIPE, "w") as f:
        f.write("go\n")
    text = b""
    with open(TREE + "trace_pipe", "rb", 0) as f:
        while last not in text:
            text += f.read(65536)
    for e in enables:
        define("events/%s/enable" % e, "0")
    return text.decode(errors="surrogateescape")


def as_ours(record):
    event, rest = record
    for of, theirs, ours, _ in DIFFERENCES:
        if re.fullmatch(of, event):
            rest, changed = re.subn(theirs, ours, rest)
            assert changed == 1, record
    return event, rest


def compare(file, ours, begin=0):
    """From the begin-th of our records of these events on, as many as the kernel's trace has."""
    wanted = [as_ours(r) for r in shapes(golden(GOLDEN, file)) if r[0] not in LEFT_OUT]
    events = {r[0] for r in wanted}
    got = [r for r in ours if r[0] in events][begin:][:len(wanted)]
    wanted, got = in_order(wanted), in_order(got)
    ok(wanted == got and len(wanted) > 3, "%s: the %d lines of the kernel" % (file, len(wanted)),
       ["%s, the kernel: %s" % (b, a) for a, b in zip(wanted, got) if a != b] +
       ["%d lines, the kernel %d" % (len(got), len(wanted))])


def uprobes():
    lines = golden(GOLDEN, "uprobe_events.list-libc-write").splitlines()
    symbols = subprocess.run(["nm", PROGRAM], capture_output=True, text=True, check=True).stdout
    offset = int(re.search(r"^([0-9a-f]+) T written$", symbols, flags=re.M)[1], 16)
    return [re.sub(r"/usr/lib/\S+:0x[0-9a-f]+", "%s:0x%x" % (PROGRAM, offset), l) for l in lines]


await_program()
for line in golden(GOLDEN, "kprobe_events.list").splitlines():
    define("kprobe_events", line)
for line in golden(GOLDEN, "dynamic_events.list").splitlines():
    if re.match("f:", line):
        define("dynamic_events", line)
for line in uprobes():
    define("uprobe_events", line)
formats = [read("events/%s/format" % e) for e in ("kprobes/two", "fprobes/fp2")]
ok(all("\tfield:s64 arg1;" in f for f in formats), "$retval has the type that the function returns, as the kernel's", formats)
all_of = shapes(run_program(["kprobes", "grp", "fprobes", "uprobes"], b'name="tracing_on"\n'))
compare("kprobe_events.trace", all_of)
compare("dynamic_events.trace", all_of)
# The kernel's begins within a write, when the events were enabled.
compare("uprobe_events.trace", all_of, 1)
for event, _, _, reason in DIFFERENCES:
    print("# %s: %s" % (event, reason))
for event, reason in LEFT_OUT.items():
    print("# not reproduced: %s, %s" % (event, reason))
finish()
