#!/usr/bin/python3
"""golden_definitions.py GOLDEN CAT: over ftrace's tree at /sys/kernel/tracing, writes what the
kernel's golden files were made by, and prints TAP: each faulty definition of the error_log files is
answered with the kernel's sentence, command and caret, but for DIFFERENCES; each list of definitions
is listed again as the kernel lists it. CAT is PATH:OFFSET of a function, in place of the kernel
machine's cat, and of its libc's write."""
import re
import sys

from golden_tree import TREE, await_program, finish, golden, ok, read, write

GOLDEN, CAT = sys.argv[1:3]
FILES = {"kprobe": "kprobe_events", "synth": "synthetic_events", "uprobe": "uprobe_events"}

# What brace says instead of the kernel's sentence; None: it takes the definition.
DIFFERENCES = {
    # The fixture's functions take void *, of which there is no field; the kernel's a struct file *.
    "f vfs_read%return $retval->foo": "retval is no structure",
    "f vfs_read file->foo": "file is no structure",
    # brace's expressions are C's, with more operators than the kernel's.
    "f vfs_read file-.foo": "this does not belong to an expression",
    # Any pointer may lead to a string.
    "f vfs_read file:string": None,
    # The kernel's caret counts in a text that has names in place of $arg*, and stands behind the end.
    "f vfs_read%return $arg*": "Argument type or name is different from existing probe",
    # The kernel logs two sentences for one fault.
    "t kfree %rax": "Invalid $-variable specified",
    "e .b": "Group name is not specified",
}
# What the kernel had defined before, as the place of the caret tells: an event of the same name.
BEFORE = {"f vfs_read%return $arg*": "f vfs_read%return $arg1", "f vfs_read $arg*": "f vfs_read"}

PROFILES = {"kprobe_events.list": "kprobe_profile", "uprobe_events.list": "uprobe_profile"}


def clear(name):
    open(TREE + name, "w").close()


def entries(text):
    found = []
    for line in text.split("\n"):
        m = re.match(r"\[ *[\d.]+\] (.*)", line)
        if m:
            found.append([m[1].rstrip()])
        elif found and line:
            found[-1].append(line.rstrip())
    return found


def errors(kind):
    """By command: one that the kernel has two sentences for is written once."""
    by, wrong, differ = {}, [], 0
    for e in entries(golden(GOLDEN + "/../../tree/golden", "error_log." + kind)):
        command = next(l for l in e if l.startswith("  Command: "))[len("  Command: "):]
        by.setdefault(command, []).append(e)
    for command, want in by.items():
        if command in BEFORE:
            write("dynamic_events", BEFORE[command])
        clear("error_log")
        name = "dynamic_events" if command.startswith("s:") else FILES.get(kind, "dynamic_events")
        taken = write(name, command)
        got = entries(read("error_log"))
        if taken or command in BEFORE:
            clear("dynamic_events")
        if command in DIFFERENCES:
            differ += 1
            said = DIFFERENCES[command]
            if taken != (said is None) or (said and not got[0][0].endswith(": " + said)) or got == want:
                wrong.append("%s: the listed difference is another: %s" % (command, got))
        elif got != [want[0]] or taken:
            wrong.append("%s: %s, wanted %s" % (command, got, want))
    ok(not wrong and len(by) > differ + 9, "error_log of %d definitions of %s, %d listed as different" %
       (len(by), kind, differ), wrong)


def lists(of, name):
    text = golden(GOLDEN, of)
    text = re.sub(r"/usr/bin/cat:0x0*3000|/usr/lib/x86_64-linux-gnu/libc.so.6:0x0*f8340", CAT, text)
    clear("dynamic_events")
    refused = [l for l in text.splitlines() if not write(name, l.replace("\t", " "))]
    got = read(name)
    ok(got == text and not refused, "%s is as written" % of,
       refused + sorted(set(text.splitlines()) ^ set(got.splitlines())))
    if of in PROFILES:
        profile(PROFILES[of])
    clear("dynamic_events")


def profile(name):
    """The kernel's lines, but for the program's path and for hits: nothing is enabled here."""
    text = golden(GOLDEN, name)
    if name == "kprobe_profile":
        text = re.sub(r"^(.{47}).{15}", r"\1" + "%15d" % 0, text, flags=re.M)
    text = text.replace("/usr/bin/cat", CAT.rpartition(":")[0])
    got = read(name)
    ok(got == text, "%s is the kernel's" % name, sorted(set(text.splitlines()) ^ set(got.splitlines())))


def triggers():
    """The pair of histograms that makes a synthetic event is listed as the kernel lists it; the event is busy
    as long as one of them names it. The kernel's error_log (synthetic.busy.error_log) is empty then; brace's says why."""
    wanted = {e: golden(GOLDEN, "synthetic.onmatch.%s-trigger" % e)
              for e in ("sched_waking", "sched_switch")}
    write("synthetic_events", "wakeup_latency u64 lat; pid_t pid; char comm[16]")
    refused = [e for e, text in wanted.items() if not write("events/sched/%s/trigger" % e, text.replace(" [active]", ""))]
    got = {e: read("events/sched/%s/trigger" % e) for e in wanted}
    ok(got == wanted and not refused, "synthetic.onmatch: the triggers are as written", [refused, got])
    clear("error_log")
    taken = write("synthetic_events", "!wakeup_latency u64 lat; pid_t pid; char comm[16]")
    log = entries(read("error_log"))
    ok(not taken and len(log) == 1 and log[0][0].endswith("wakeup_latency is in use: disable it first") and
       read("synthetic_events").startswith("wakeup_latency"), "synthetic.busy: it stays, and the error says why", [taken, log])
    for e in reversed(wanted):
        write("events/sched/%s/trigger" % e, "!" + wanted[e].replace(" [active]", ""))
    ok(write("synthetic_events", "!wakeup_latency u64 lat; pid_t pid; char comm[16]"), "without its triggers it goes")


await_program()
for one in ("kprobe", "uprobe", "fprobe", "tprobe", "eprobes", "synth"):
    errors(one)
for one in ("synthetic_events.three", "kprobe_events.list", "uprobe_events.list",
            "uprobe_events.list-libc-write"):
    lists(one, one.split(".")[0])
for one in ("synthetic.dynamic_events", "kprobe_events.dynamic_events", "dynamic_events.list"):
    lists(one, "dynamic_events")
triggers()
finish()
