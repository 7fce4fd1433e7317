#!/usr/bin/python3
"""What a trace says was returned, held against what the program says (tests/targets/returns.c).

    returned.py NOTES HEX [PLAIN]

NOTES: the program's lines. HEX: brace's, with funcgraph-proc, funcgraph-retval and -hex. PLAIN: the same without -hex: its
values must be those of HEX as the kernel prints them. Prints what is different, at most ten lines; status 1 then."""
import collections
import re
import sys

LINE = re.compile(r"-(\d+) +\|.*\|  +(?:(\w+)\(\);(?: /\* = (\S+) \*/)?|\} /\* (\w+)(?: = (\S+))? \*/)$")


def told(path):
    """By thread: (function, value as text or None) of every line that ends a call."""
    by_thread = collections.defaultdict(list)
    for line in open(path):
        if m := LINE.search(line):
            by_thread[m[1]].append((m[2] or m[4], m[3] or m[5]))
    return by_thread


def as_the_kernel(value):
    """print_graph_retval: error codes are decimal, those of int's width too."""
    code = value - 2**64 if value >> 63 else value - 2**32 if value >> 31 == 1 else 0
    return str(code) if -4095 <= code < 0 else hex(value)


def main(notes, hexadecimal, plain=None):
    differ, compared = [], 0
    noted = collections.defaultdict(list)
    for line in open(notes):
        tid, name, bits, value = line.split()
        noted[tid].append((name, int(bits), int(value, 16)))
    ours = told(hexadecimal)
    for tid, want in noted.items():
        got = [g for g in ours[tid] if g[0].startswith("ret_")]
        if len(got) != len(want):
            differ.append(f"thread {tid}: {len(got)} lines, {len(want)} calls")
        for (name, bits, value), (function, text) in zip(want, got):
            mask = (1 << bits) - 1
            if name != function or text is None or (int(text, 16) ^ value) & mask:
                differ.append(f"thread {tid}: {function} = {text}, and it was {name} = {value & mask:#x} ({bits} bits)")
            compared += 1
    for tid, values in told(plain).items() if plain else ():
        for (function, text), (_, was) in zip(values, ours[tid], strict=True):
            if was is None or text != as_the_kernel(int(was, 16)):
                differ.append(f"thread {tid}: {function} = {text}, and hexadecimal {was}")
    print(compared, "compared")
    print("\n".join(differ[:10]))
    return bool(differ) or not compared


sys.exit(main(*sys.argv[1:]))
