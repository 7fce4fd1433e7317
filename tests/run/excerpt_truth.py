#!/usr/bin/python3
"""excerpt_truth.py FULL: recounts excerpts of a trace from the text of the whole one.

FULL is `brace replay -O funcgraph-abstime -O funcgraph-proc FILE`. On standard input are lines
NAME|FILE|TIMES|OPTIONS of excerpts, where FILE has the text with OPTIONS, as a shell would split them.
TIMES may stand for `--from` and `--to`. Each excerpt is made here from the tree of calls, and compared
with what brace printed: for each thread the calls by depth, with their durations. Prints TAP lines.
"""
import collections
import fnmatch
import re
import shlex
import sys

LINE = re.compile(r'^\s*(\d+)\.(\d{6}) \|\s+(\d+)\)\s+(\S+)-(\d+)\s+\|\s*(?:[-+!#*@$] )?\s*(?:([\d.]+) us)?\s*\|  ( *)(.*)$')


class Call:
    def __init__(self, name, begin, cpu, thread, above):
        self.name, self.begin, self.cpu, self.thread, self.above = name, begin, cpu, thread, above
        self.ns = self.end = None
        self.calls = []

    def parents(self):
        call = self.above
        while call:
            yield call
            call = call.above

    def inner(self):
        yield self
        for call in self.calls:
            yield from call.inner()


def nanoseconds(text):
    whole, part = text.split('.')
    return int(whole) * 1000 + int(part)


def read(path):
    """Every call of each thread: those that nothing calls, in order."""
    outer, open_calls, names = collections.defaultdict(list), collections.defaultdict(list), {}
    with open(path) as text:
        for line in text:
            match = LINE.match(line)
            if not match:
                continue
            begin, cpu, thread = int(match[1]) * 1000000 + int(match[2]), int(match[3]), int(match[5])
            stack, what = open_calls[thread], match[8]
            names[thread] = match[4]
            if what.startswith('}'):
                call = stack.pop()
                call.ns, call.end = nanoseconds(match[6]), begin
                continue
            call = Call(what.split('(')[0], begin, cpu, thread, stack[-1] if stack else None)
            (stack[-1].calls if stack else outer[thread]).append(call)
            if what.endswith('{'):
                stack.append(call)
            elif match[6]:
                call.ns = nanoseconds(match[6])
                call.end = begin + call.ns // 1000
            else:
                call.end = begin
    return outer, names


def options_of(words):
    """Options by name: a list of values each."""
    found = collections.defaultdict(list)
    words = list(words)
    while words:
        word = words.pop(0)
        name, _, value = word.partition('=')
        found[name].append(value if value else words.pop(0))
    return found


def matches(name, globs):
    return any(fnmatch.fnmatchcase(name, glob) for glob in globs)


def chooser(options, names):
    """A function that tells whether a call is chosen, apart from depth."""
    tests = []

    def when(option, test):
        if options[option]:
            tests.append(lambda call: test(call, options[option]))

    when('-l', lambda call, globs: matches(call.name, globs))
    when('-n', lambda call, globs: not matches(call.name, globs))
    when('-g', lambda call, globs: any(matches(c.name, globs) for c in [call, *call.parents()]))
    when('--callers-of', lambda call, globs: any(matches(c.name, globs) for c in call.inner()))
    when('--min-duration', lambda call, ns: call.ns is not None and call.ns >= int(ns[0].removesuffix('ns')))
    when('--thread', lambda call, words: matches(names[call.thread], words) or str(call.thread) in words)
    when('--cpu', lambda call, cpus: str(call.cpu) in cpus)
    when('--from', lambda call, us: call.begin >= int(us[0].replace('.', '')) or call.end is None
         or call.end >= int(us[0].replace('.', '')))
    when('--to', lambda call, us: call.begin <= int(us[0].replace('.', '')))
    return lambda call: all(test(call) for test in tests)


def excerpt(outer, chosen, options):
    """[(depth, name, duration)] of each thread."""
    deepest = int(options['--max-graph-depth'][0]) if options['--max-graph-depth'] else 1 << 32
    end = int(options['--to'][0].replace('.', '')) if options['--to'] else 1 << 62
    found = collections.defaultdict(list)

    def add(call, depth):
        here = chosen(call) and depth < deepest
        if here:
            found[call.thread].append((depth, call.name, call.ns if call.end is not None and call.end <= end else None))
        for inner in call.calls:
            add(inner, depth + here)

    for calls in outer.values():
        for call in calls:
            add(call, 0)
    return found


def gap(outer):
    """Two times at which nothing happened, a microsecond before and after: printed times are cut."""
    times = sorted({t for calls in outer.values() for call in calls for c in call.inner() for t in (c.begin, c.end)
                    if t is not None})
    late = [b for a, b in zip(times, times[1:]) if b - a >= 3]
    return [late[len(late) * part // 4] - 1 for part in (1, 3)]


def main():
    sys.setrecursionlimit(10000)
    outer, names = read(sys.argv[1])
    begin, end = (f'{t // 1000000}.{t % 1000000:06}' for t in gap(outer))
    if sys.stdin.isatty() or len(sys.argv) > 2:
        print(begin, end)
        return
    for number, line in enumerate(sys.stdin, 1):
        name, path, words = line.rstrip('\n').split('|')
        options = options_of(shlex.split(words))
        want = excerpt(outer, chooser(options, names), options)
        got = excerpt(read(path)[0], lambda call: True, collections.defaultdict(list))
        same = want == got and sum(map(len, want.values())) > 0
        print(f"{'ok' if same else 'not ok'} - {name} ({sum(map(len, want.values()))} calls)")
        for thread in set(want) | set(got) if not same else ():
            for at, (x, y) in enumerate(zip(want[thread] + [None], got[thread] + [None])):
                if x != y:
                    print(f'#   {names.get(thread)}-{thread}, call {at}: {x} is expected, brace has {y}')
                    break


if __name__ == "__main__":
    main()
