#!/usr/bin/python3
"""syscalls_structs.py FILE: the lines of strace -f -y -v, or of brace syscalls --lines, without what
two runs cannot have alike: processes, times, addresses, free space, names of sockets and pipes.
With --from NAME only those from mkdir(NAME) to rmdir(NAME)."""
import re
import sys

# Names that strace has and the kernel's own events have not.
NAMES = {"newstat": "stat", "newfstat": "fstat", "newlstat": "lstat", "newuname": "uname",
         "sendfile64": "sendfile"}
# brace does not see their returns in launched programs (docs/syscalls.md).
LED = ("execve", "execveat", "prctl", "prlimit64")
# The numbers of a run.
VOLATILE = re.compile(r"\bst_(?:ino|[amc]time(?:_nsec)?)=\d+|\bf_(?:bfree|bavail|ffree|files)=\d+|"
                      r"\bsi_[us]time=\d+|\bsi_pid=\d+|left \{[^}]*\}|it_value=\{tv_sec=999, [^}]*\}|"
                      r"stx_[acm]time=\{[^}]*\}|\btms_c?[us]time=\d+|0x[0-9a-f]{6,}|u64=\d{6,}|\bst_dev=makedev\(0, 0xf\)")


def entered(text):
    """strace's list of the environment as the number of its strings."""
    m = re.match(r'(.*\]), (\[".*"\])$', text)
    if not m:
        return text
    n = len(re.findall(r'"(?:[^"\\]|\\.)*"', m[2]))
    return "%s, ADDRESS /* %d var%s */" % (m[1], n, "" if n == 1 else "s")


def plain(text):
    text = re.sub(r"AT_FDCWD<.*?>", "AT_FDCWD", text)
    text = re.sub(r"\b(\d+)<(?:[^<>]|->|<[^<>]*>)*>", r"\1", text)
    text = re.sub(r" /\* \d\d\d\d-[^*]* \*/", "", text)
    text = VOLATILE.sub("VOLATILE", text)
    return re.sub(r"\\([0-7]{1,3})", lambda n: "\\%03o" % int(n[1], 8), text)


def line_of(call, arguments, result):
    arguments, result = plain(arguments), plain(re.sub(r" <\d+\.\d+>$", "", result))
    if call in LED:
        result = "?"
        if call.startswith("execve"):
            arguments = entered(arguments).replace("VOLATILE /*", "ADDRESS /*")
        if call == "prlimit64":
            arguments = arguments.rsplit(", ", 2)[0] if arguments.endswith("}") else arguments.rsplit(", ", 1)[0]
        if "PR_GET_" in arguments:
            arguments = arguments.split(",")[0]
    if call == "getdents64":  # a record has the first entries
        arguments = "}".join(arguments.split("}")[:2])
    if call in ("getrandom", "sysinfo", "getpid", "getppid", "kill", "clone", "wait4", "waitid",
                "getpgrp", "getpgid", "getsid", "setpgid", "times"):
        arguments, result = re.sub(r"^(P_PID, )?\d+\b", r"\1PID", re.sub(r'"(?:\\x..)*"|\{uptime.*\}', "DATA", arguments)), \
            re.sub(r"^\d{2,}$", "PID", result)
    return "%s(%s) = %s" % (NAMES.get(call, call), arguments, result)


def lines_of(path, name):
    begun, on = {}, name is None
    for line in open(path, errors="surrogateescape"):
        m = re.match(r"(\d+) +(.*) *<unfinished \.\.\.>$", line)
        if m:
            begun[m[1]] = m[2].rstrip()
            continue
        m = re.match(r"(\d+) +<\.\.\. \w+ resumed>(.*)", line)
        if m:
            # strace leaves the blank behind a comma out here
            before = begun.pop(m[1])
            line = m[1] + " " + before + (" " if before.endswith(",") and not m[2].startswith(" ") else "") + m[2]
        m = re.match(r"\d+ +(?:\d+\.\d+ )?(\w+)\((.*)\) += (.*)", line)
        if not m or m[1] in ("exit_group", "set_robust_list", "rt_sigreturn",
                             "gettid"):
            continue
        on = on or (m[1] == "mkdir" and '"%s"' % name in m[2])
        if on:
            print(line_of(m[1], m[2], m[3]))
        if m[1] == "rmdir" and name and '"%s"' % name in m[2]:
            break


lines_of(sys.argv[1], sys.argv[3] if len(sys.argv) > 2 else None)
