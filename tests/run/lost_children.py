"""Makes children as it is told, which work as they are told. ARGUMENTS: library, commands, answers."""
import ctypes
import os
import sys

CLONE3, SIGCHLD = 435, 17
library = ctypes.CDLL(sys.argv[1])
libc = ctypes.CDLL(None, use_errno=True)
commands = open(sys.argv[2])
answers = open(sys.argv[3], "w")
ends = {}


def clone3(wanted):
    """A child of that number; 0: of any."""
    tid = (ctypes.c_int * 1)(wanted)
    at, n = (ctypes.addressof(tid), 1) if wanted else (0, 0)
    args = (ctypes.c_uint64 * 11)(0, 0, 0, 0, SIGCHLD, 0, 0, 0, at, n, 0)
    return libc.syscall(CLONE3, args, ctypes.sizeof(args))


def work(n=100):
    for _ in range(n):
        library.write(answers.fileno(), b"", 0)


def child(told, done):
    """Works when it is told to, until nobody is left who would."""
    os.close(told[1])
    os.close(done[0])
    while os.read(told[0], 1):
        work()
        os.write(done[1], b".")
    os._exit(3)


def make(way, wanted):
    """Its number, or 0."""
    told, done = os.pipe(), os.pipe()
    pid = os.fork() if way == "orphan" else clone3(wanted)
    if pid == 0 and way == "orphan":
        pid = os.fork()
        if pid:
            os.write(done[1], b"%d" % pid)
            os._exit(0)
    if pid == 0:
        child(told, done)
    os.close(told[0])
    os.close(done[1])
    if way == "orphan":
        os.waitpid(pid, 0)
        pid = int(os.read(done[0], 20))
    if pid > 0:
        ends[pid] = (told[1], done[0])
    return max(pid, 0)


def answer(words):
    what, n = words[0], int(words[1])
    if what in ("clone", "orphan"):
        return make(what, n)
    if what == "work":
        try:
            os.write(ends[n][0], b".")
        except BrokenPipeError:
            pass
        return "worked" if os.read(ends[n][1], 1) else "died"
    for fd in ends.pop(n):
        os.close(fd)
    return os.waitstatus_to_exitcode(os.waitpid(n, 0)[1]) if what == "end" else "left"


print("ready", file=answers, flush=True)
for words in map(str.split, commands):
    print(0 if words[0] == "stop" else answer(words), file=answers, flush=True)
    if words[0] == "stop":
        break
