#!/usr/bin/python3
"""Compares brace's call counts of one module with callgrind's, function by function.

    callcounts.py MODULE CALLGRIND-FILE REPORT-JSON LIST
    callcounts.py --stable MODULE CALLGRIND-FILE CALLGRIND-FILE: do two runs agree?

What a call is, for both: an arrival at a function's first instruction from outside of it, by
a call or by a jump (a tail call). A jump to the entry from the function's own body is a loop.
Callgrind's own idea of a call cannot be used: in a stripped file it takes a tail call for a
part of its caller, and with symbols a loop to the entry for a call. But it counts how often
each instruction was executed and each jump was taken (--dump-instr=yes --collect-jumps=yes),
so the count by the definition above is exact:

    executions of the first instruction - jumps to it from the function's own range

Where the entry has a symbol, callgrind writes such a jump as a call: those calls of it count as
jumps whose instruction is one.

Ranges come from the FDEs as binutils reads them, names from nm. Brace is asked for its counts
and for LIST (`brace list -f FILE --json`): where its PLT entries are, and its word on functions
that it does not hook. Callgrind must be told not to skip the PLT, or it adds the PLT's
instructions to the caller's.

What is not compared, and why: functions that no table names. Callgrind sees crtstuff's
deregister_tm_clones called, but in a stripped file it has neither a symbol nor an FDE; that is
one or two calls in a run, and every other call target has to be in brace's listing.
"""
import collections
import functools
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


@functools.cache
def segments(path):
    """(vaddr, file offset, bytes in the file) of every loaded segment."""
    found = re.findall(r"LOAD +0x([0-9a-f]+) 0x([0-9a-f]+) 0x[0-9a-f]+ 0x([0-9a-f]+)", output("readelf", "-lW", path))
    return [(int(v, 16), int(o, 16), int(n, 16)) for o, v, n in found], open(path, "rb").read()


def instruction(path, at):
    """The first five bytes at a file address, fewer at a segment's end."""
    table, data = segments(path)
    for vaddr, offset, size in table:
        if vaddr <= at < vaddr + size:
            return data[offset + at - vaddr:offset + min(at - vaddr + 5, size)]
    return b""


def call_target(path, at):
    """Where the `call rel32` at a file address goes, or None if there is another instruction."""
    code = instruction(path, at)
    if len(code) < 5 or code[0] != 0xE8:
        return None
    return at + 5 + int.from_bytes(code[1:], "little", signed=True)


def is_jump(path, at):
    """Does a jmp rel8 or rel32, or a conditional one, stand at a file address?"""
    code = instruction(path, at)
    return len(code) > 1 and (code[0] in (0xEB, 0xE9) or code[0] & 0xF0 == 0x70 or
                              (code[0] == 0x0F and code[1] & 0xF0 == 0x80))


class Profile:
    """A callgrind file: executions by instruction, jumps and calls by target, of one module.

    Callgrind knows only .text as a module's: .plt, .init and .fini are in the object "???", by
    runtime address. The bias that leads back to the file comes from the calls into them: a
    `call rel32` in .text says where it goes in the file, callgrind where it went.
    """

    def __init__(self, path, module):
        self.executed, self.elsewhere = collections.Counter(), collections.Counter()
        self.jumps = collections.defaultdict(collections.Counter)  # target -> source -> times
        self.called = collections.Counter()
        self.outside = []  # (call instruction in the module, where it went in "???")
        self.read(path, module)
        for addr, n in self.elsewhere.items():
            self.executed[addr - self.bias(module)] += n

    def read(self, path, module):
        here = there = after = None  # the object, that of the callee; what the next cost line belongs to
        for line in open(path, errors="replace"):
            key, equals, value = line.rstrip("\n").partition("=")
            if line.startswith("0x"):
                addr, _, cost = (line + " 0").split()[:3]
                self.cost(module, here, int(addr, 16), int(cost), after)
                after = None
            elif key in ("ob", "cob"):
                there = "???" if value == "???" else os.path.realpath(value) == module
                here = there if key == "ob" else here
            elif key == "calls":
                count, addr = value.split()[:2]
                if there is True:
                    self.called[int(addr, 16)] += int(count)
                after, there = ("call", there, int(addr, 16), int(count)), here
            elif key in ("jump", "jcnd"):
                count, addr = value.split()[:2]
                after = ("jump", int(addr, 16), int(count.split("/")[0]))

    def cost(self, module, here, addr, cost, after):
        if here == "???" and not after:
            self.elsewhere[addr] += cost
        elif here is not True:
            return
        elif not after:
            self.executed[addr] += cost
        elif after[0] == "jump":
            self.jumps[after[1]][addr] += after[2]
        elif after[1] == "???":
            self.outside.append((addr, after[2]))
        elif after[1] is True and is_jump(module, addr):
            self.jumps[after[2]][addr] += after[3]

    def bias(self, module):
        if not hasattr(self, "known_bias"):
            votes = collections.Counter(went - target for at, went in self.outside
                                        for target in [call_target(module, at)] if target is not None)
            self.known_bias = votes.most_common(1)[0][0] if votes else 0
        return self.known_bias

    def arrivals(self, start, end):
        loops = sum(n for source, n in self.jumps[start].items() if start <= source < end)
        return self.executed[start] - loops


def listing(path):
    """The rows of `brace list --json`, by address."""
    rows = (json.loads(line) for line in open(path))
    return {row["address"]: row for row in rows if "address" in row}


def reported(path, module):
    """name -> calls of every row of this module, and the names other modules' rows have."""
    ours, others = collections.defaultdict(list), set()
    for line in open(path):
        row = json.loads(line)
        if "calls" in row and same_file(row["module"], module):
            ours[row["name"]].append(row["calls"])
        elif "calls" in row:
            others.add(row["name"])
    return ours, others


def addresses(module, listed):
    """name -> every address it stands for: functions by nm, PLT entries by the listing."""
    table = names(module)
    for addr, row in listed.items():
        if row["plt"]:
            table[row["name"]].add(addr)
    return table


def same_file(name, module):
    return os.path.basename(name or "") in (os.path.basename(module), module)


def expected(profile, starts, fdes):
    """address -> calls, of those that were entered at all."""
    counts = {start: profile.arrivals(start, fdes.get(start, start + 1)) for start in starts}
    return {start: n for start, n in counts.items() if n}


def conclude(wrong, counts):
    print("\n".join(wrong))
    print(f"{len(counts)} functions, {sum(counts.values())} calls, {len(wrong)} differ")
    sys.exit(bool(wrong) or not counts)


def stable(module, first, second):
    module = os.path.realpath(module)
    fdes = ranges(module)
    a, b = (expected(p, set(fdes) | set(p.called), fdes) for p in (Profile(first, module), Profile(second, module)))
    conclude([f"{s:#x}: {a.get(s, 0)}, {b.get(s, 0)}" for s in sorted(a.keys() | b.keys()) if a.get(s) != b.get(s)], a)


def compare(module, callgrind, report, list_file):
    """A name may stand for a function and for the PLT entry of the same name: then the counts of
    both are compared, as a set. A PLT entry that leads to a function that is traced itself is not
    hooked; that function's row stands for it."""
    module = os.path.realpath(module)
    fdes, listed, profile = ranges(module), listing(list_file), Profile(callgrind, module)
    got, others = reported(report, module)
    known = addresses(module, listed)
    named = {addr: name for name, addrs in known.items() for addr in addrs}
    want = expected(profile, (set(fdes) | set(listed)) - plt_starts(module), fdes)
    groups = collections.defaultdict(list)  # name -> (address, calls)
    for start, n in want.items():
        groups[named.get(start) or f"{os.path.basename(module)}+{start:#x}"].append((start, n))
    wrong = []
    for name in sorted(groups.keys() | got.keys()):
        hooked = [(start, n) for start, n in groups[name] if listed.get(start, NOWHERE)["hooked"]]
        right = [n for _, n in hooked]
        functions = [n for start, n in hooked if not (listed.get(start, NOWHERE)["plt"] and traced(name, others, known))]
        if sorted(got.get(name, [])) not in (sorted(right), sorted(functions)):
            wrong.append(f"{name}: callgrind {groups[name]}, brace {got.get(name)}")
    unnamed = [f"{t:#x}" for t, n in profile.called.items() if n and t not in listed and profile.executed[t]]
    if unnamed:
        print("called, but named by no table:", " ".join(unnamed))
    if len(unnamed) > 3:
        wrong.append("more functions without a name than crtstuff has")
    missed = sum(n for start, n in want.items() if not listed.get(start, NOWHERE)["hooked"] and not listed[start]["plt"])
    print(f"hooked: {100 - 100 * missed / max(sum(want.values()), 1):.4f} % of all calls")
    conclude(wrong, want)


NOWHERE = {"hooked": True, "plt": False}  # a function that the listing does not have


def traced(name, others, known):
    """Is the function behind this PLT entry traced itself, here or in another module?"""
    return name in others or len(known[name]) > 1


def plt_starts(module):
    """Where .plt begins stands the resolver's entry, which all others jump to."""
    return {int(addr, 16) for addr in re.findall(r" \.plt +PROGBITS +([0-9a-f]+)", output("readelf", "-SW", module))}


if sys.argv[1] == "--stable":
    stable(*sys.argv[2:])
else:
    compare(*sys.argv[1:])
