# Runs a program under strace that counts its own system calls, and compares: every number, as
# often, with the same arguments and the same results.
#
#     syscalls_truth.py PROGRAM
import collections, os, re, shutil, subprocess, sys, tempfile

MARK = 0x7eadbeef
# Not led: the last call of a handler (hook/syscalls.h).
NOT_LED = {"rt_sigreturn"}
# Two of libc's 526 calls have no room for a jump behind them: pthread_create and pthread_kill mask
# signals there.
NO_RETURN = {"rt_sigprocmask"}


def numbers():
    text = subprocess.run(["cc", "-E", "-dM", "-xc", "-"], input="#include <asm/unistd_64.h>\n", capture_output=True, text=True, check=True).stdout
    return {m[1]: int(m[2]) for m in re.finditer(r"#define __NR_(\w+) (\d+)", text)}


class Seen:
    def __init__(self):
        self.enters = self.returns = self.errors = self.sum = 0
        self.args = []


def value(text):
    return int(text, 0) & (1 << 64) - 1


def add_enter(seen, args):
    args = [value(a) for a in args.split(", ")] if args else []
    seen.enters += 1
    seen.args = [(a + b) & (1 << 64) - 1 for a, b in zip(seen.args or [0] * 6, args + [0] * 6)][: len(args)]


def add_return(seen, text):
    seen.returns += 1
    if text.startswith("-1 "):
        seen.errors += 1
    else:
        seen.sum += int(text.split()[0], 0)


class Thread:
    def __init__(self):
        self.gone = False  # executes something else: that is not led
        self.name = None  # what it is in
        self.interrupted = None  # what a handler came into
        self.again = None  # what it makes again behind the handler


LINE = re.compile(r"(\d+) +(?:<\.\.\. (\w+) resumed>(.*)|(\w+)\((.*))$")
BEGUN = re.compile(r"(.*?)(?: <unfinished \.\.\.>|\) += (.*))$")


def leave(seen, t, result):
    if "ERESTART" in result:
        t.interrupted = t.name
    elif t.name == "rt_sigreturn":
        if result.startswith("-1 EINTR"):
            add_return(seen[t.interrupted], result)
        else:
            t.again = t.interrupted
        t.interrupted = None
    elif t.name == "execve" and result == "0":
        t.gone = True
    elif result[0] != "?":
        add_return(seen[t.name], result)


def read_strace(path):
    """The calls between the marks. One that a signal interrupted and that was made again was made once."""
    seen, threads, on = collections.defaultdict(Seen), collections.defaultdict(Thread), False
    for line in open(path):
        m = LINE.match(line)
        if not m:
            continue
        pid, resumed, rest, name, text = m.groups()
        t = threads[pid]
        if name == "getpgid" and int(text.split(")")[0], 0) == MARK:
            on = not on
        elif on and not t.gone:
            if name:
                args, result = BEGUN.match(text).groups()
                if t.again != name:
                    add_enter(seen[name], args)
                t.name, t.again = name, None
            else:
                result = re.search(r"\) += (.*)$", rest)[1]
            if result is not None:
                leave(seen, t, result)
    return seen


def compare(seen, counted, number):
    wrong = []
    for name in sorted(set(seen) - NOT_LED):
        s, c = seen[name], counted.pop(number[name], [0] * 10)
        if s.enters != c[0]:
            wrong.append(f"{name}: made {s.enters} times, counted {c[0]}")
        elif s.args != c[4 : 4 + len(s.args)]:
            wrong.append(f"{name}: other arguments: {s.args} {c[4:]}")
        if name not in NO_RETURN and [s.returns, s.errors, s.sum] != c[1:4]:
            wrong.append(f"{name}: returned {[s.returns, s.errors, s.sum]}, counted {c[1:4]}")
    wrong += [f"{n}: counted, never made" for n in counted]
    return wrong


def main():
    if not shutil.which("strace"):
        print("strace is not installed")
        sys.exit(77)
    with tempfile.TemporaryDirectory() as d:
        log, out = os.path.join(d, "strace"), os.path.join(d, "counts")
        subprocess.run(["strace", "-f", "-qq", "-e", "raw=all", "-o", log, sys.argv[1], out], check=True, timeout=100)
        counted = {}
        for line in open(out):
            n, *rest = map(int, line.split())
            counted[n] = rest
        seen = read_strace(log)
        if os.environ.get("KEEP"):
            shutil.copy(log, os.environ["KEEP"])
    wrong = compare(seen, counted, numbers())
    print("\n".join(wrong))
    total = sum(s.enters for n, s in seen.items() if n not in NOT_LED)
    print(f"{total} calls of {len(seen)} kinds, {len(wrong)} wrong")
    sys.exit(bool(wrong) or total < 3000)


main()
