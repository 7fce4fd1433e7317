# Holds the events of threads and processes of a trace, as text, against what `strace -f` saw in the
# same run.
#
#     task_truth.py STRACE TRACE [WHAT...]
#
# `exit` is of those that ask for it, `end` of all.
# Prints a line for each kind: how many there were, and those that only one of the two has.
import collections, re, sys

FLAGS = {
    "CLONE_VM": 0x100, "CLONE_FS": 0x200, "CLONE_FILES": 0x400, "CLONE_SIGHAND": 0x800, "CLONE_PIDFD": 0x1000, "CLONE_PTRACE": 0x2000,
    "CLONE_VFORK": 0x4000, "CLONE_PARENT": 0x8000, "CLONE_THREAD": 0x10000, "CLONE_SYSVSEM": 0x40000, "CLONE_SETTLS": 0x80000,
    "CLONE_PARENT_SETTID": 0x100000, "CLONE_CHILD_CLEARTID": 0x200000, "CLONE_CHILD_SETTID": 0x1000000,
}  # fmt: skip
ENDS = ("exit", "exit_group")
LAST = re.compile(r"^(\d+) +\+\+\+ (exited|killed|superseded) ")
CALL = re.compile(r"^(\d+) +(\w+)\((.*)$")
RESUMED = re.compile(r"^(\d+) +<\.\.\. (\w+) resumed>(.*)$")
EVENT = re.compile(r"^ *(.*)-(\d+) +\[\d+\] \S+ +[\d.]+: (\w+): (.*)$")


# Numbers are given anew: where many tests run, the kernel has been round all of them within half a minute. A life is (number, how often it
# was given before): the Nth call that returns a number has made its Nth life, though a line of the child's may come before.
def lives(path):
    """The lines of the file, each as (line, the thread's life)."""
    ended = collections.Counter()
    for line in open(path, errors="replace"):
        tid = line.split(None, 1)[0]
        yield line, (tid, ended[tid])
        last, changed = LAST.match(line), re.search(r"<pid changed to \d+ \.\.\.>$", line)
        # The first thread's life goes on as that of the one which executes, and which ends without a word.
        if changed or (last and last[2] != "superseded"):
            ended[tid] += 1


def calls(path):
    """(life, name, arguments, result), in the order of their returns."""
    begun = {}
    for line, life in lives(path):
        m = CALL.match(line)
        if m:
            tid, name, rest = m.groups()
        else:
            m = RESUMED.match(line)
            if not m or m[1] not in begun:
                continue
            tid, name = m[1], m[2]
            rest = begun.pop(tid) + m[3]
        cut = re.search(r" *<(unfinished|pid changed to (\d+)) \.\.\.>$", rest)
        if cut and name not in ENDS:
            begun[cut[2] or tid] = rest[: cut.start()]  # of a thread that executes: from then on the first one
            continue
        head, _, result = rest.rpartition(" = ")
        yield life, name, head, result


def last_words(path):
    """Lives that end; the first thread's twice, if another executes a program and goes on as it."""
    return [life for line, life in lives(path) if LAST.match(line)]


def flags_of(name, args):
    if name == "vfork":
        return FLAGS["CLONE_VFORK"] | FLAGS["CLONE_VM"]
    m = re.search(r"flags=([^,}]*)", args)
    return sum(FLAGS.get(f, 0) for f in m[1].split("|")) if m else 0


def is_new(name, result):
    return name in ("clone", "clone3", "fork", "vfork") and result[0] not in "-?"


def program(seen):
    """Its threads, and its children's: the first program that is executed is brace, the second one is it."""
    parent, made = {}, collections.Counter()
    for life, name, _, result in seen:
        if is_new(name, result):
            child = result.split()[0]
            parent[child, made[child]] = life
            made[child] += 1
    first = [life for life, name, _, result in seen if name == "execve" and result == "0"][1]

    def is_ours(life):
        while life != first and life in parent:
            life = parent[life]
        return life == first

    return is_ours


def truth(path):
    all_calls = list(calls(path))
    seen, is_ours = collections.defaultdict(list), program(all_calls)
    for life, name, args, result in all_calls:
        if not is_ours(life):
            continue
        tid = life[0]
        if is_new(name, result):
            child = result.split()[0]
            seen["new"].append((child, flags_of(name, args)))
            seen["fork"].append((tid, child))
        elif name == "execve" and result == "0":
            seen["exec"].append(re.match(r'"(.*?)"', args)[1])
        elif name in ENDS:
            seen["exit"].append(tid)
        elif name == "prctl" and args.startswith("PR_SET_NAME") and result == "0":
            seen["rename"].append((tid, re.search(r'"(.*?)"', args)[1][:15]))
    seen["end"] = [life[0] for life in last_words(path) if is_ours(life)]
    return seen


def traced(path):
    seen = collections.defaultdict(list)
    for line in open(path, errors="replace"):
        m = EVENT.match(line)
        if not m:
            continue
        _, tid, name, text = m.groups()
        f = re.match
        if name == "task_newtask":
            g = f(r"pid=(\d+) comm=.* clone_flags=([0-9a-f]+) oom_score_adj=(-?\d+)$", text)
            seen["new"].append((g[1], int(g[2], 16)))
        elif name == "sched_process_fork":
            g = f(r"comm=.* pid=(\d+) child_comm=.* child_pid=(\d+)$", text)
            seen["fork"].append((g[1], g[2]))
        elif name == "task_rename":
            g = f(r"pid=(\d+) oldcomm=(.*) newcomm=(.*) oom_score_adj=(-?\d+)$", text)
            seen["rename"].append((g[1], g[3]))
        elif name == "sched_process_exec":
            g = f(r"filename=(.*) pid=(\d+) old_pid=(\d+)$", text)
            seen["exec"].append(g[1])
            seen["rename"].remove((g[2], g[1].split("/")[-1][:15]))  # execve's, not prctl's
        elif name == "sched_process_exit":
            seen["exit"].append(f(r"comm=.* pid=(\d+) prio=-?\d+$", text)[1])
            seen["end"].append(seen["exit"][-1])
    return seen


def main():
    want, got, bad = truth(sys.argv[1]), traced(sys.argv[2]), False
    for what in sys.argv[3:] or ("new", "fork", "exec", "exit", "rename"):
        w, g = collections.Counter(want[what]), collections.Counter(got[what])
        missing, extra = list((w - g).elements()), list((g - w).elements())
        print(what, len(want[what]), "missing", missing[:5], "too many", extra[:5])
        bad |= bool(missing or extra or not w)
    sys.exit(bad)


main()
