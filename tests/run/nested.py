#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""nested.py CSV FOLDED CALLS DOT PLAIN MARKED: the stacks of a trace of a program and the kernel.

The rows of CSV have the program's calls and the kernel's side by side. Here each outermost call of the kernel's is put into the innermost
call that its thread had open in the program, whose own time it takes. FOLDED (own times) and CALLS (`--weight calls`) have to have these
stacks and no other, DOT these edges. PLAIN and MARKED become reports of what functions have then, for exports.py: MARKED has the names of
stacks, in which `_[k]` marks the kernel's.
"""
import collections
import csv
import json
import re
import sys


class Call:
    """A row: its path, and the time that is its own."""
    def __init__(self, row):
        self.begin = int(row['begin_ns'])
        self.ns = int(row['duration_ns'])
        self.own = int(row['self_ns'])
        self.depth = int(row['depth'])
        self.kernel = row['pid'] == '0'
        self.thread = row['thread']
        self.name = row['function']
        if self.kernel:
            self.thread = self.thread[:-len('-' + row['tid'])]
            self.name += '_[k]'
        self.path = ()


def paths(calls, below):
    """Calls of one side of a thread, in the order of their beginnings. below(call): the path that outermost ones lie in."""
    stack = []
    for call in sorted(calls, key=lambda c: (c.begin, c.depth)):
        del stack[call.depth:]
        assert len(stack) == call.depth, (call.name, call.begin)
        call.path = (stack[-1].path if stack else below(call)) + (call.name,)
        stack.append(call)


def nest(calls):
    """The calls of one thread."""
    program = [c for c in calls if not c.kernel]
    kernel = [c for c in calls if c.kernel]
    paths(program, lambda call: (call.thread,))

    def below(call):
        around = [c for c in program if c.begin <= call.begin < c.begin + c.ns]
        if not around:
            return (call.thread,)
        inner = max(around, key=lambda c: c.depth)
        inner.own -= call.ns
        return inner.path
    paths(kernel, below)


def read_folded(path):
    return {tuple(stack.split(';')): int(n) for stack, n in (re.fullmatch(r'(.+) (\d+)\n', line).groups() for line in open(path))}


def read_dot(path):
    """Calls by caller and callee. A name of two files is one here."""
    text = open(path).read()
    names = {n: label.split('\\n')[0] for n, label in re.findall(r'^\t(n\d+) \[label="([^"]*)"', text, re.M)}
    edges = collections.Counter()
    for caller, callee, calls in re.findall(r'^\t(n\d+) -> (n\d+) \[label="(\d+)\\n', text, re.M):
        edges[names[caller], names[callee]] += int(calls)
    return edges


def write_report(path, calls, marked):
    rows = collections.defaultdict(collections.Counter)
    for call in calls:
        name = call.name if marked else call.name.removesuffix('_[k]')
        rows[name] += collections.Counter(calls=1, self_ns=max(call.own, 0), total_ns=call.ns if call.name not in call.path[1:-1] else 0)
    with open(path, 'w') as out:
        print('{}', file=out)
        for name, row in rows.items():
            print(json.dumps({'name': name, 'module': 'x', 'calls': row['calls'], 'total_ns': row['total_ns'], 'self_ns': row['self_ns']}), file=out)


def main():
    rows, folded, counted, dot, plain, marked = sys.argv[1:]
    threads = collections.defaultdict(list)
    for row in csv.DictReader(open(rows, newline='')):
        threads[row['tid']].append(Call(row))
    own, calls, edges = collections.Counter(), collections.Counter(), collections.Counter()
    for of_thread in threads.values():
        nest(of_thread)
        for call in of_thread:
            own[call.path] += call.own
            calls[call.path] += 1
            caller = call.path[-2] if len(call.path) > 2 else f'thread {call.thread}'
            edges[caller.removesuffix('_[k]'), call.name.removesuffix('_[k]')] += 1
    assert any(p[-1].endswith('_[k]') and not p[-2].endswith('_[k]') and len(p) > 2 for p in calls), 'no call of the kernel lies in one of the program'
    assert read_folded(counted) == calls, (read_folded(counted), calls)
    ours = read_folded(folded)
    for path in set(own) | set(ours):
        assert abs(ours.get(path, 0) - own[path]) <= 3 * calls[path] + 2, (path, ours.get(path), own[path])
    assert read_dot(dot) == edges, (read_dot(dot), edges)
    every = [call for of_thread in threads.values() for call in of_thread]
    write_report(plain, every, False)
    write_report(marked, every, True)
    print(f'{len(calls)} stacks of {sum(calls.values())} calls')


main()
