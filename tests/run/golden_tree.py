"""The part that golden_definitions.py and golden_hits.py have in common: ftrace's tree at /sys/kernel/tracing, the
kernel's golden files, and TAP."""
import os
import time

TREE = "/sys/kernel/tracing/"
_results = []


def ok(passed, name, why=()):
    _results.append(passed)
    print("%s %d - %s" % ("ok" if passed else "not ok", len(_results), name))
    for line in why if not passed else ():
        print("#   %s" % (line,))


def finish():
    print("1..%d" % len(_results))


def golden(folder, name):
    with open("%s/k6.12-own.%s.txt" % (folder, name)) as f:
        return f.read()


def read(name):
    with open(TREE + name, errors="surrogateescape") as f:
        return f.read()


def write(name, text):
    """Returns whether it was taken. Not through Python's buffer, which writes again at the end."""
    fd = os.open(TREE + name, os.O_WRONLY | os.O_APPEND)
    try:
        os.write(fd, text.encode())
        return True
    except OSError:
        return False
    finally:
        os.close(fd)


def await_program():
    """The shell begins before the program is executed, whose functions are named here. Each read of the
    list waits for what programs have told."""
    end = time.monotonic() + 60
    while "vfs_read\n" not in read("available_filter_functions"):
        assert time.monotonic() < end, "the program has no vfs_read"
