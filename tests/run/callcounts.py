#!/usr/bin/python3.11
"""Compares brace's call counts of one module with callgrind's, function by function.

    callcounts.py MODULE CALLGRIND-FILE REPORT-JSON [LIST]
    callcounts.py --stable MODULE CALLGRIND-FILE CALLGRIND-FILE: do two runs agree?

What a call is, for both: an arrival at a function's first instruction from outside of it, by
a call or by a jump (a tail call). A jump to the entry from the function's own body is a loop.
Callgrind's own idea of a call cannot be used: in a stripped file it takes a tail call for a
part of its caller, and with symbols a loop to the entry for a call. But it counts how often
each instruction was executed and each jump was taken (--dump-instr=yes --collect-jumps=yes),
so the count by the definition above is exact:

    executions of the first instruction - jumps to it from the function's own range

Ranges come from the FDEs as binutils reads them, names from nm; nothing here asks brace but
for its counts and, with LIST (`brace list -f --why`), for its word on functions it left out.
"""
import collections
import json
import os
import re
import subprocess
import sys


def output(*command):
    return subprocess.run(command, capture_output=True, text=True, errors="replace").stdout


def ranges(path):
    """start -> end of every FDE."""
    found = re.findall(r" FDE .*pc=([0-9a-f]+)\.\.([0-9a-f]+)", output("readelf", "-W", "--debug-dump=frames", path))
    return {int(a, 16): int(b, 16) for a, b in found}


def names(path):
    """name -> addresses it has, by .dynsym and .symtab."""
    table = collections.defaultdict(set)
    for flags in (["-D"], []):
        for line in output("nm", "--defined-only", *flags, path).splitlines():
            addr, kind, name = line.split(maxsplit=2)
            if kind in "tTwWiuV":
                table[name.split("@")[0]].add(int(addr, 16))
    return table


class Profile:
    """A callgrind file: executions by instruction, jumps and calls by target, of one object."""

    def __init__(self, path, module):
        self.executed = collections.Counter()
        self.jumps = collections.defaultdict(collections.Counter)  # target -> source -> times
        self.called = collections.Counter()
        here = target_object = None
        after = None  # what the next cost line belongs to
        for line in open(path, errors="replace"):
            key, equals, value = line.rstrip("\n").partition("=")
            if line.startswith("0x"):
                addr = int(line.split(None, 1)[0], 16)
                if after is None:
                    if here:
                        self.executed[addr] += int(line.split()[2])
                elif here and after[0] == "jump":
                    self.jumps[after[1]][addr] += after[2]
                after = None
            elif not equals:
                continue
            elif key == "ob":
                here = os.path.realpath(value) == module
                target_object = here
            elif key == "cob":
                target_object = os.path.realpath(value) == module
            elif key == "calls":
                count, addr = value.split()[:2]
                if target_object:
                    self.called[int(addr, 16)] += int(count)
                target_object = here
                after = ("call",)
            elif key in ("jump", "jcnd"):
                count, addr = value.split()[:2]
                after = ("jump", int(addr, 16), int(count.split("/")[0]))

    def arrivals(self, start, end):
        loops = sum(n for source, n in self.jumps[start].items() if start <= source < end)
        return self.executed[start] - loops


def reported(path, module):
    """address -> calls in brace's report, of this module's functions."""
    known, short = names(module), os.path.basename(module)
    counts = collections.Counter()
    for line in open(path):
        row = json.loads(line)
        if "calls" not in row or os.path.basename(row.get("module") or "") != short:
            continue
        nameless = re.fullmatch(r".*\+0x([0-9a-f]+)", row["name"])
        addrs = {int(nameless[1], 16)} if nameless else known.get(row["name"].split("@")[0], set())
        if len(addrs) == 1:
            counts[addrs.pop()] += row["calls"]
        elif not row["name"].endswith("@plt"):
            print(f"no single address for {row['name']}")
    return counts


def left_out(path):
    """Addresses `brace list` gives a reason for."""
    if not path:
        return {}
    return {int(m[1], 16): line.strip() for line in open(path) for m in [re.search(r"0x([0-9a-f]+)", line)] if m}


def expected(path, module, fdes):
    """address -> calls, of every function callgrind saw entered."""
    profile = Profile(path, module)
    starts = set(fdes) | set(profile.called)
    counts = {start: profile.arrivals(start, fdes.get(start, start + 1)) for start in starts}
    return {start: n for start, n in counts.items() if n}


def conclude(wrong, counts):
    print("\n".join(wrong))
    print(f"{len(counts)} functions, {sum(counts.values())} calls, {len(wrong)} differ")
    sys.exit(bool(wrong) or not counts)


def stable(module, first, second):
    module = os.path.realpath(module)
    a, b = (expected(path, module, ranges(module)) for path in (first, second))
    conclude([f"{s:#x}: {a.get(s, 0)}, {b.get(s, 0)}" for s in sorted(a.keys() | b.keys()) if a.get(s) != b.get(s)], a)


def compare(module, callgrind, report, listing=None):
    module = os.path.realpath(module)
    want, got = expected(callgrind, module, ranges(module)), reported(report, module)
    listed = left_out(listing)
    wrong = []
    for start in sorted(want.keys() | got.keys()):
        if want.get(start, 0) != got[start]:
            why = "" if got[start] else listed.get(start, "not in the listing")
            wrong.append(f"{start:#x}: callgrind {want.get(start, 0)}, brace {got[start]} {why}")
    conclude(wrong, want)


if sys.argv[1] == "--stable":
    stable(*sys.argv[2:])
else:
    compare(*sys.argv[1:])
