#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""exports.py FORMAT REPORT EXPORT [WEIGHT]: holds an export against `brace report --json` of the same trace.

Each reader keeps the strict rules of its format, and gives calls and times by function; report is the truth. Times are
rounded to nanoseconds once by report, and once for each call or stack by a format.
"""
import collections
import json
import os
import re
import sys
import xml.etree.ElementTree
from csv import DictReader

from wire import fields


class Sums:
    """What a format says of each function: calls, and times in ns or None."""
    def __init__(self):
        self.calls = collections.Counter()
        self.total = collections.Counter()
        self.self = collections.Counter()
        self.rounded = collections.Counter()  # ns that its times may be apart
        self.events = 0


def underscored(name):
    return name.replace(' ', '_')


# How formats write names that they have no place for.
WRITTEN = {'folded': lambda name: name.replace(';', ':'), 'trace.dat': underscored, 'trace.dat.v7': underscored}


class Stack:
    """One thread's calls, by pairs in order."""
    def __init__(self, sums):
        self.sums, self.open, self.at = sums, [], -1
        self.active = collections.Counter()

    def begin(self, name, ns):
        assert ns >= self.at, 'time goes back'
        self.at = ns
        self.open.append([name, ns, 0])
        self.active[name] += 1

    def end(self, ns, name=None):
        assert ns >= self.at, 'time goes back'
        self.at = ns
        began, begin, inside = self.open.pop()
        assert name is None or name == began, (name, began)
        self.sums.calls[began] += 1
        self.sums.rounded[began] += 2
        self.sums.self[began] += ns - begin - inside
        self.active[began] -= 1
        if not self.active[began]:
            self.sums.total[began] += ns - begin
        if self.open:
            self.open[-1][2] += ns - begin
            self.sums.rounded[self.open[-1][0]] += 2


def folded(path, weight):
    sums = Sums()
    for line in open(path):
        stack, n = re.fullmatch(r'(.+) (\d+)\n', line).groups()
        frames, n = stack.split(';'), int(n)
        name = frames[-1]
        assert len(frames) > 1 and n > 0, line
        if weight == 'calls':
            sums.calls[name] += n
        elif weight == 'self':
            sums.self[name] += n
        elif name not in frames[1:-1]:
            sums.total[name] += n
        sums.rounded[name] += 1
    return sums


def chrome(path, _):
    sums, stacks, names = Sums(), {}, set()
    trace = json.load(open(path))
    for e in trace['traceEvents']:
        key = e['pid'], e['tid']
        stack = stacks.setdefault(key, Stack(sums))
        if e['ph'] == 'M':
            names.add((key, e['name']))
            continue
        ns = round(e['ts'] * 1000)
        if e['ph'] == 'B':
            stack.begin(e['name'], ns)
        elif e['ph'] == 'E':
            stack.end(ns)
        else:
            assert e['ph'] == 'i' and e['s'] == 't', e
            sums.events += 1
    for key, stack in stacks.items():
        assert not stack.open, 'a call is open at the end'
        assert (key, 'thread_name') in names, key
    return sums


def speedscope(path, _):
    sums = Sums()
    file = json.load(open(path))
    frames = [f['name'] for f in file['shared']['frames']]
    for p in file['profiles']:
        assert p['type'] == 'evented' and p['unit'] == 'nanoseconds' and p['name']
        stack = Stack(sums)
        for e in p['events']:
            if e['type'] == 'O':
                stack.begin(frames[e['frame']], e['at'])
            else:
                assert e['type'] == 'C'
                stack.end(e['at'], frames[e['frame']])
        assert not stack.open
        assert p['startValue'] <= p['events'][0]['at'] and p['endValue'] >= stack.at
    return sums


FIREFOX_TABLES = {  # of each thread, as the profiler's src/types/profile.ts has them in version 48
    'samples': 'stack time weight',
    'markers': 'data name startTime endTime phase category',
    'stackTable': 'frame prefix category subcategory',
    'frameTable': 'address inlineDepth category subcategory func nativeSymbol innerWindowID implementation line column',
    'funcTable': 'name isJS relevantForJS resource fileName lineNumber columnNumber',
    'resourceTable': 'lib name host type',
    'nativeSymbols': 'libIndex address name functionSize',
}


def firefox_thread(t, categories, schemas):
    """The rules of one thread's tables. Returns its functions' names."""
    strings = t['stringArray']
    assert all(isinstance(s, str) for s in strings)
    for table, columns in FIREFOX_TABLES.items():
        for column in columns.split():
            assert len(t[table][column]) == t[table]['length'], (table, column)

    def within(table, column, n, empty=()):
        for v in t[table][column]:
            assert v in empty or (isinstance(v, int) and 0 <= v < n), (table, column, v)

    within('samples', 'stack', t['stackTable']['length'], (None,))
    within('stackTable', 'frame', t['frameTable']['length'])
    within('frameTable', 'func', t['funcTable']['length'])
    within('funcTable', 'name', len(strings))
    within('funcTable', 'resource', t['resourceTable']['length'], (-1,))
    within('resourceTable', 'name', len(strings))
    within('markers', 'name', len(strings))
    for table in 'stackTable', 'frameTable', 'markers':
        within(table, 'category', categories)
    for i, prefix in enumerate(t['stackTable']['prefix']):
        assert prefix is None or 0 <= prefix < i, 'a stack stands before its caller'
    for data, phase in zip(t['markers']['data'], t['markers']['phase']):
        assert phase == 0 and data['type'] in schemas, (data, phase)
    for key in 'name processName processType registerTime unregisterTime pausedRanges isMainThread processStartupTime'.split():
        assert key in t, key
    assert isinstance(t['pid'], str) and t['samples']['weightType'] == 'tracing-ms'
    assert t['samples']['time'] == sorted(t['samples']['time']), 'time goes back'
    return [strings[i] for i in t['funcTable']['name']]


def firefox(path, _):
    """A processed profile of version 48: times by stacks."""
    sums = Sums()
    profile = json.load(open(path))
    meta = profile['meta']
    assert meta['preprocessedProfileVersion'] == 48 and profile['libs'] == []
    assert any(c['color'] == 'grey' for c in meta['categories'])
    for t in profile['threads']:
        names = firefox_thread(t, len(meta['categories']), {s['name'] for s in meta['markerSchema']})
        stacks = t['stackTable']
        for stack, weight in zip(t['samples']['stack'], t['samples']['weight']):
            ns = round(weight * 1e6)
            if stack is None:
                assert ns == 0
                continue
            seen = set()
            sums.self[names[t['frameTable']['func'][stacks['frame'][stack]]]] += ns
            while stack is not None:
                seen.add(names[t['frameTable']['func'][stacks['frame'][stack]]])
                stack = stacks['prefix'][stack]
            for name in seen:
                sums.total[name] += ns
                sums.rounded[name] += 2
        sums.events += t['markers']['length']
    return sums


def callgrind(path, _):
    """What callgrind_annotate --tree=caller --inclusive=yes --show-percs=no --threshold=100 prints."""
    sums = Sums()
    for line in open(path):
        m = re.match(r' *([\d,]+) +([<*]) +(?:\[\S*?\]|[^:\s]+):(.*?)(?: \(([\d,]+)x\))? \[.*\]$', line)
        if not m:
            continue
        ns, name = int(m[1].replace(',', '')), m[3]
        if m[2] == '<':
            calls = int(m[4].replace(',', ''))
            pending = calls if 'pending' not in locals() else pending + calls
            edges = 1 if 'edges' not in locals() else edges + 1
        else:
            if 'pending' in locals():
                sums.calls[name] += pending
                sums.total[name] += ns
                sums.rounded[name] += edges + 64
                del pending, edges
    return sums


def uftrace(path, _):
    """What uftrace report -f total,self,call prints; -s call."""
    sums = Sums()
    units = {'us': 1e3, 'ms': 1e6, 's': 1e9, 'm': 60e9}
    for line in open(path):
        m = re.match(r' *(?:([\d.]+) +(us|ms|s|m))? +(?:([\d.]+) +(us|ms|s|m))? +(\d+)  (.*)\n', line)
        if m:
            name = m[6]
            sums.calls[name] += int(m[5])
            for of, n, unit in ((sums.total, m[1], m[2]), (sums.self, m[3], m[4])):
                if n: # it prints no 0, and three decimals of the unit
                    of[name] += round(float(n) * units[unit])
                    sums.rounded[name] += round(units[unit] / 1000) + 2 * int(m[5])
    return sums


def ctf(path, functions):
    """What babeltrace2 prints of func_entry and func_exit, named by the map beside the trace."""
    names = {}
    for line in open(functions):
        address, _, name = line.rstrip('\n').split(' ', 2)
        names[int(address, 16)] = name
    sums, stacks = Sums(), {}
    for line in open(path):
        m = re.match(r'\[(\d+)\.(\d{9})\] .*?(func_entry|func_exit|brace:\w+): .*vpid = (\d+), vtid = (\d+),', line)
        if not m:
            continue
        stack = stacks.setdefault((m[4], m[5]), Stack(sums))
        ns = int(m[1]) * 1000000000 + int(m[2])
        if m[3].startswith('brace'):
            sums.events += 1
            continue
        name = names[int(re.search(r' addr = 0x([0-9A-F]+)', line)[1], 16)]
        if m[3] == 'func_entry':
            stack.begin(name, ns)
        else:
            stack.end(ns, name)
    assert not any(stack.open for stack in stacks.values())
    return sums


def perfetto(path, _):
    """A checker of the wire: names are interned before they are used, tracks described, slices balanced."""
    data = open(path, 'rb').read()

    def one(b):
        return dict(fields(b))
    sums, names, stacks, counted = Sums(), {}, {}, {}
    for i, (field, packet) in enumerate(fields(data)):
        assert field == 1
        p = one(packet)
        assert p[10] == 1 and p[13] == (2 if i else 1), 'the first packet clears the state, all others need it'
        if 60 in p:
            track = one(p[60])
            assert track[1] not in stacks and track[1] not in counted
            if 8 in track:
                assert track[5] in stacks and one(track[8]) == {3: 2}
                counted[track[1]] = 0
                continue
            stacks[track[1]] = Stack(sums)
            assert 5 not in track or track[5] in stacks, 'a parent comes first'
        if 12 in p:
            name = one(one(p[12])[2])
            names[name[1]] = name[2].decode()
        if 11 not in p:
            continue
        e = one(p[11])
        if e[9] == 4:
            counted[e[11]] += 1
            assert e[30] == counted[e[11]]
            continue
        stack = stacks[e[11]]
        if e[9] == 1:
            stack.begin(names[e[10]], p[8])
        elif e[9] == 2:
            stack.end(p[8])
        else:
            assert e[9] == 3 and e[23]
            sums.events += 1
    assert not any(stack.open for stack in stacks.values())
    return sums


def rows(path, _):
    """A table of calls, as sqlite3 prints it or as it is exported."""
    sums = Sums()
    for r in DictReader(open(path, newline='')):
        name = r['function']
        sums.calls[name] += 1
        sums.self[name] += int(r['self_ns'])
        sums.rounded[name] += 1
    return sums


csv = sqlite = rows


def trace_dat(path, _):
    """What trace-cmd report prints: a call is a beginning with its end on the same line, or on one of its own."""
    sums, open_calls = Sums(), collections.Counter()
    for line in open(path):
        m = re.match(r' *.*-(\d+) +\[\d+\] +[\d.]+: funcgraph_(entry|exit): +.*?\|  ( *)(.*?)$', line)
        if not m:
            continue
        thread, end = m[1], m[2] == 'exit'
        open_calls[thread] += -1 if end else m[4].endswith('{')
        assert open_calls[thread] >= 0 and m[4].startswith('}') == end, line
        if not end:
            assert m[4].endswith((') {', ');')), line
            sums.calls[m[4][:m[4].rindex('(')]] += 1
    assert not any(open_calls.values()), open_calls
    return sums


trace_dat_v7 = trace_dat


def flamegraph(path, weight):
    """The widths of frames: those of the outermost ones add up to the picture, and inner ones lie in outer ones."""
    ns = '{http://www.w3.org/2000/svg}'
    root = xml.etree.ElementTree.parse(path).getroot()
    sums = Sums()
    rows = collections.defaultdict(list)
    for g in root.findall(f'{ns}g'):
        box = g.find(f'{ns}rect')
        rows[float(box.get('y'))].append((float(box.get('x')), float(box.get('x')) + float(box.get('width'))))
        title = g.find(f'{ns}title').text
        assert title.startswith(g.get('data-name') + ' ('), title
        if weight != 'calls':
            m = re.search(r' \(([\d.]+) us, [\d.]+ %(?:, calls: (\d+))?\)$', title)
            if m[2]:
                sums.calls[g.get('data-name')] += int(m[2])
    order = sorted(rows, reverse=True)
    assert order, 'no frames'
    assert abs(sum(b - a for a, b in rows[order[0]]) - float(root.get('data-width'))) < 1
    for below, above in zip(order, order[1:]):
        for a, b in rows[above]:
            assert any(x - 0.02 <= a and b <= y + 0.02 for x, y in rows[below]), (below, above, a, b)
    return sums


def compare(sums, report, partly, plain):
    """partly: narrow frames are left out. plain: how the format writes a name."""
    rows = [json.loads(line) for line in open(report)][1:]
    calls, total, self = collections.Counter(), collections.Counter(), collections.Counter()
    for r in rows:
        name = plain(r['name'])
        if not r['total_ns'] and ':' in r['name'] and not r['module']:
            continue
        calls[name] += r['calls']
        total[name] += r['total_ns'] or 0
        self[name] += r['self_ns'] or 0
    assert sum(calls.values()) > 0
    done = 0
    if 'CALLS_ONLY' in os.environ and not sums.calls:
        # Times alone, and a call of no time is not in them.
        assert set(sums.self) | set(sums.total) <= set(calls) and sums.self, (sums.self, calls)
        done += 1
    for what, ours, theirs in (('calls', sums.calls, calls), ('total', sums.total, total), ('self', sums.self, self)):
        ours = collections.Counter({plain(k): v for k, v in ours.items()})
        if not ours or (what != 'calls' and 'CALLS_ONLY' in os.environ):
            continue
        done += 1
        for name in set(ours) | set(theirs):
            apart = 0 if what == 'calls' else sums.rounded.get(name, 0) + 2 * calls[name] + 2
            if partly:
                assert ours[name] <= theirs[name], (what, name, ours[name], theirs[name])
            else:
                assert abs(ours[name] - theirs[name]) <= apart, (what, name, ours[name], theirs[name])
    assert done or partly, 'nothing was compared'
    print(f'{done} columns of {len(calls)} functions, {sum(calls.values())} calls, {sums.events} events')


def main():
    form, report, export = sys.argv[1:4]
    weight = sys.argv[4] if len(sys.argv) > 4 else 'self'
    sums = globals()[form.replace('.', '_')](export, weight)
    compare(sums, report, form == 'flamegraph', WRITTEN.get(form, WRITTEN['folded']))


main()
