"""writes.py DIRECTORY GOLDEN: repeats single writes that a kernel answered, in a mounted tree, and compares.

A line is `FLAG FILE: open ok; write "TEXT" (N) -> RESULT; ... close ok`, FLAG t (O_TRUNC), a (O_APPEND) or w; the
files were opened as a shell's `>` opens them. Prints what differs and, at last, how many were compared.
"""
import errno
import os
import re
import sys

FLAGS = {'t': os.O_TRUNC, 'a': os.O_APPEND, 'w': 0}
LINE = re.compile(r'^([taw]) (\S+): open (ok|E\w+);?(.*?)(?: close ok)?$', re.M | re.S)
CALL = re.compile(r'write "(.*?)" \((\d+)\) -> (\w+);', re.S)


def entries(text):
    """Lines; a text with a newline in it makes one of two."""
    return re.split(r'\n(?=[taw] \S+: open )', text.strip())


def attempt(call):
    try:
        return str(call())
    except OSError as e:
        return errno.errorcode[e.errno]


def main():
    tree, golden = sys.argv[1:]
    compared = wrong = 0
    os.chdir(tree)
    for entry in entries(open(golden).read()):
        flag, path, opened, calls = LINE.match(entry).groups()
        known = os.path.exists(path) or (opened != 'ok' and os.path.isdir(os.path.dirname(path) or '.'))
        if not known or path.startswith('tracing_cpumask'):  # processors differ from machine to machine
            continue
        try:
            fd = os.open(path, os.O_WRONLY | os.O_CREAT | FLAGS[flag], 0o666)
        except OSError as e:
            compared += 1
            if errno.errorcode[e.errno] != opened:
                wrong += 1
                print(f'{path}: open gave {errno.errorcode[e.errno]}, the kernel {opened}')
            continue
        for text, _, want in CALL.findall(calls):
            # FUSE's kernel side answers writes of nothing itself; and as long as no program is
            # traced no function is known, none unknown, and there are no events
            if not text or (path.startswith('set_') and 'nosuch' in text and '\n' in text) or 'sched:' in text:
                continue
            # probes of the kernel's functions, which tests/oracle has over a program with such names
            if path == 'kprobe_events' and ('vfs_' in text or text == '-:x'):
                continue
            got = attempt(lambda: os.write(fd, text.encode()))
            compared += 1
            if got != want:
                wrong += 1
                print(f'{path}: write of {text!r} gave {got}, the kernel {want}')
        os.close(fd)
    print(f'{compared} compared')
    return wrong > 0 or compared < 25


sys.exit(main())
