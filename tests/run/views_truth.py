#!/usr/bin/python3
"""views_truth.py FULL VIEWS CALLGRIND-FILE: recounts what `brace report` prints besides functions.

FULL is the text of the whole trace (excerpt_truth.py). VIEWS is a directory with the JSON of
`brace report`: function, module, process, thread, tree, callers.NAME, callees.NAME and histogram.NAME.
Counts are compared with those of the text, times with its durations (each is printed in whole
nanoseconds, so that a sum of n of them may be n too small), and the counts of callers and callees with
callgrind's of another run. Prints TAP lines.
"""
import collections
import json
import os
import re
import sys

import excerpt_truth

FULL, VIEWS, CALLGRIND = sys.argv[1:4]


def rows(name):
    with open(os.path.join(VIEWS, name)) as text:
        return [json.loads(line) for line in text][1:]


def say(holds, name, *why):
    print(f"{'ok' if holds else 'not ok'} - {name}")
    for line in why if not holds else ():
        print(f'#   {line}'[:300])


def calls_of(outer):
    for calls in outer.values():
        for call in calls:
            yield from call.inner()


def outermost(call):
    """Not in a call of the same function that the same one made."""
    above = call.above.name if call.above else None
    return not any(c.name == call.name and (c.above.name if c.above else None) == above for c in call.parents())


def near(ns, sums):
    """ns is a sum of times that are exact, sums one of as many that are cut."""
    return sums['ns'] <= ns <= sums['ns'] + sums['n']


def arcs_of_callgrind():
    """Calls by (caller, callee), and what it costs to know: names are given once, then by number."""
    names, arcs, caller, callee = {}, collections.Counter(), None, None

    def name(text):
        number, _, rest = text.partition(' ')
        if rest:
            names[number] = re.sub(r"'\d+$", '', rest)
        return names[number]

    with open(CALLGRIND) as text:
        for line in text:
            key, _, value = line.rstrip('\n').partition('=')
            if key == 'fn':
                caller = name(value)
            elif key == 'cfn':
                callee = name(value)
            elif key == 'calls':
                arcs[caller, callee] += int(value.split()[0])
    return arcs


def compare_arcs(view, key, count, arcs):
    """A view of callers or callees of one function."""
    got = {row['name']: row for row in rows(view)}
    same = {name: row['calls'] for name, row in got.items()} == {name: sums['n'] for name, sums in count.items()}
    say(same, f'{view}: calls of each are those of the trace', got, count)
    late = [name for name, sums in count.items() if name in got and not near(got[name]['total_ns'], sums['outer'])]
    say(not late, f'{view}: and their times', late, got, count)
    other = {name: arcs[key(name)] for name in got}
    say(other == {name: row['calls'] for name, row in got.items()}, f'{view}: and callgrind counts the same', other, got)


def main():
    outer, _ = excerpt_truth.read(FULL)
    calls = list(calls_of(outer))
    functions = {(row['name'], row['module']): row for row in rows('function')}
    arcs = arcs_of_callgrind()

    def sums(wanted):
        found = collections.defaultdict(lambda: {'n': 0, 'outer': {'n': 0, 'ns': 0}})
        for call in calls:
            name = wanted(call)
            if not name:
                continue
            found[name]['n'] += 1
            if outermost(call):
                found[name]['outer']['n'] += 1
                found[name]['outer']['ns'] += call.ns or 0
        return found

    for view in sorted(os.listdir(VIEWS)):
        kind, _, name = view.partition('.')
        if kind == 'callers':
            compare_arcs(view, lambda other, name=name: (other, name), sums(
                lambda call, name=name: call.name == name and call.above and call.above.name), arcs)
        elif kind == 'callees':
            compare_arcs(view, lambda other, name=name: (name, other), sums(
                lambda call, name=name: call.above and call.above.name == name and call.name), arcs)
        elif kind == 'histogram':
            row = rows(view)[0]
            whole = functions[row['function'], row['module']]
            say(row['calls'] == sum(power['calls'] for power in row['powers']) == whole['calls'] and
                all(row[key] == whole[key] for key in ('min_ns', 'p50_ns', 'p99_ns', 'max_ns')),
                f'{view}: calls and times are those of its row', row, whole)
    for view in ('module', 'process', 'thread'):
        found = rows(view)
        say(sum(row['calls'] for row in found) == sum(row['calls'] for row in functions.values()) and
            abs(sum(row['self_ns'] for row in found) - sum(row['self_ns'] for row in functions.values())) <= len(functions),
            f'{view}: rows sum up to those of functions', found)
    modules = collections.Counter()
    for (_, module), row in functions.items():
        modules[module] += row['calls']
    say({row['name']: row['calls'] for row in rows('module')} == modules, 'module: calls of each', modules)
    compare_tree(functions, calls)


def compare_tree(functions, calls):
    tree = rows('tree')
    sums = collections.defaultdict(lambda: collections.Counter())
    for row in tree:
        for key in ('calls', 'self_ns'):
            sums[row['name'], row['module']][key] += row[key]
    say({key: s['calls'] for key, s in sums.items()} == {key: row['calls'] for key, row in functions.items()},
        'tree: its nodes sum up to the calls of functions', sums)
    say(all(abs(sums[key]['self_ns'] - row['self_ns']) <= len(tree) for key, row in functions.items()),
        'tree: and to their own times')
    want = collections.Counter('/'.join([c.name for c in call.parents()][::-1] + [call.name]) for call in calls)
    got, path = {}, []
    for row in tree:
        path[row['depth']:] = [row['name']]
        got['/'.join(path)] = row['calls']
    say(got == want, f'tree: each of its {len(tree)} paths has its calls', got, want)
    roots = [row for row in tree if row['depth'] == 0]
    say(abs(sum(row['total_percent'] for row in roots) - 100) < 0.01 * len(roots) + 0.01, 'tree: 100 % are all roots', roots)
    say(all(row['total_ns'] >= row['self_ns'] for row in tree), 'tree: nobody is longer in himself than in all')


main()
