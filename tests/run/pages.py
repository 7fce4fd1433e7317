#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""pages.py PAGE REPORT THREADS [SELFTEST]: holds a page of `brace html` against `brace report --json` of the same trace.

Reads the page by docs/html.md alone. REPORT is by function, THREADS by thread; SELFTEST is a document that a browser made of
the page with #selftest, whose own figures must be the same.
"""
import base64
import collections
import html
import json
import os
import math
import re
import sys
import zlib

LOW, HIGH, WHAT, MARKS, NOTES, EVENTS, STATES = range(7)


class Bytes:
    """Numbers of seven bits a byte, and texts."""
    def __init__(self, data):
        self.data, self.at = data, 0

    def number(self):
        value = shift = 0
        while True:
            byte = self.data[self.at]
            self.at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    def signed(self):
        value = self.number()
        return -(value >> 1) if value & 1 else value >> 1

    def text(self):
        n = self.number()
        self.at += n
        return self.data[self.at - n:self.at].decode(errors='replace')

    def more(self):
        return self.at < len(self.data)


class Page:
    """about, and columns by lane."""
    def __init__(self, path):
        with open(path, encoding='utf-8') as f:
            self.text = f.read()
        element = re.compile(r'<script([^>]*)>(.*?)</script>', re.S)
        found = element.findall(self.text)
        assert len(found) == 3, f'{len(found)} scripts'
        assert [re.search('type="([^"]*)"', a) is None for a, _ in found] == [False, False, True]
        self.about = json.loads(found[0][1])
        data = zlib.decompress(base64.b64decode(found[1][1]))
        self.columns = [[] for _ in self.about['lanes']]
        at = 0
        for column in range(7):
            for i, lane in enumerate(self.about['lanes']):
                n = lane['bytes'][column]
                self.columns[i].append(data[at:at + n])
                at += n
        assert at == len(data), 'bytes are left'

    def ns(self, ticks):
        return ticks * 10**9 // int(self.about['hz'])


class Row:
    """Sums of a function or a thread."""
    def __init__(self):
        self.calls = self.total = self.self = 0
        self.durations = []


class Lane:
    """Decodes the calls of one lane into rows by function, and one of the lane."""
    def __init__(self, page, i, rows):
        self.page, self.columns, self.rows = page, page.columns[i], rows
        self.all, self.open, self.active = Row(), [], collections.Counter()
        self.adjusted = False  # by the time of signals' handlers, or of sleeps
        self.marks, self.now, self.calls, self.losses, self.lost = Bytes(self.columns[MARKS]), 0, 0, 0, 0
        self.decode()

    def decode(self):
        high, what = Bytes(self.columns[HIGH]), Bytes(self.columns[WHAT])
        for low in self.columns[LOW]:
            self.now += high.number() * 256 + low
            self.step(what.number())
        assert not high.more() and not what.more() and not self.marks.more(), 'columns differ in length'
        assert not self.open, 'calls are open'

    def step(self, code):
        if code >= 4:
            function = self.page.about['rows'][code - 4]
            self.active[function] += 1
            self.calls += 1
            row = self.rows[function]
            row.calls += 1
            self.all.calls += 1
            self.open.append([function, self.now, 0])
        elif code == 3:
            self.losses += 1
            self.lost += self.marks.number()
        else:
            self.end(code)

    def end(self, code):
        function, begin, inside = self.open.pop()
        self.active[function] -= 1
        if code == 2:
            return
        ticks = self.now - begin
        own = max(0, ticks - inside)
        if code == 1 and self.marks.number() & 4:
            ticks, own = self.marks.number(), self.marks.number()
            self.adjusted = True
        row = self.rows[function]
        row.durations.append(ticks)
        row.self += own
        self.all.durations.append(ticks)
        self.all.self += own
        if not self.active[function]:
            row.total += ticks
        if self.open:
            self.open[-1][2] += ticks
        else:
            self.all.total += ticks

    def notes(self):
        """(call, has, texts)"""
        notes, call = Bytes(self.columns[NOTES]), 0
        while notes.more():
            call += notes.signed()
            has = notes.number()
            yield call, has, [notes.text() for _ in range(bin(has).count('1'))]

    def events(self):
        events, now = Bytes(self.columns[EVENTS]), 0
        while events.more():
            now += events.number()
            yield now, events.number(), events.number(), events.text()

    def states(self):
        states, now = Bytes(self.columns[STATES]), 0
        while states.more():
            now += states.signed()
            yield now, states.number(), states.number()


def lines(path):
    with open(path, encoding='utf-8') as f:
        return [json.loads(line) for line in f]


def rank(durations, share):
    return sorted(durations)[max(0, math.ceil(len(durations) * share) - 1)]


def near(page, ticks, want):
    """Percentiles of report are within 1 %, and its times are rounded."""
    return abs(page.ns(ticks) - want) <= max(2, want / 50)


def compare_functions(page, rows, report, cut):
    events = {f"{e['system']}:{e['name']}" for e in page.about['events']}
    want = collections.Counter()
    for line in report:
        if line['name'] not in events:
            want[(line['name'], line['module'])] += 1
    have = collections.Counter(tuple(page.about['functions'][f][:2]) for f, r in rows.items() if r.calls)
    assert want == have, f'other functions: {want - have}, {have - want}'
    # Functions of one name and file are told apart by their figures.
    todo = collections.defaultdict(list)
    for f, row in rows.items():
        todo[tuple(page.about['functions'][f][:2])].append(row)
    for line in report:
        if line['name'] in events:
            continue
        same = todo[(line['name'], line['module'])]
        fits = [row for row in same if fits_line(page, row, line, cut)]
        assert fits, f"{line} is not {[(r.calls, page.ns(r.total), page.ns(r.self)) for r in same]}"
        same.remove(fits[0])


def fits_line(page, row, line, cut):
    if row.calls != line['calls']:
        return False
    if not row.durations:
        return not line['total_ns']
    exact = page.ns(row.total) == line['total_ns'] and (cut or page.ns(row.self) == line['self_ns'])
    ends = page.ns(min(row.durations)) == line['min_ns'] and page.ns(max(row.durations)) == line['max_ns']
    middle = near(page, rank(row.durations, .5), line['p50_ns']) and near(page, rank(row.durations, .99), line['p99_ns'])
    return exact and ends and middle


def compare_threads(page, lanes, report, cut):
    have = collections.defaultdict(lambda: [0, 0, 0])
    adjusted = {(a['pid'], a['tid']) for a, lane in zip(page.about['lanes'], lanes) if lane.adjusted}
    for about, lane in zip(page.about['lanes'], lanes):
        sums = have[about['pid'], about['tid']]
        sums[0] += lane.all.calls
        sums[1] += lane.all.total
        sums[2] += lane.all.self
    want, rows = collections.Counter(), collections.Counter()
    total, own = collections.Counter(), collections.Counter()
    for line in report:
        key = line['pid'], line['tid']
        want[key] += line['calls']
        rows[key] += 1
        total[key] += line['total_ns'] or 0
        own[key] += line['self_ns'] or 0
    assert {k: v[0] for k, v in have.items() if v[0]} == dict(want), 'calls by thread'
    for key, sums in have.items():
        if sums[0] and not cut and key not in adjusted:
            # An exec makes two rows of one thread, and each is rounded.
            apart = page.ns(sums[1]) - total[key], page.ns(sums[2]) - own[key]
            assert all(0 <= x < rows[key] for x in apart), f'times of thread {key}: {apart}'


def compare_events(page, lanes, report):
    names = {e['index']: f"{e['system']}:{e['name']}" for e in page.about['events']}
    have = collections.Counter(names[index] for lane in lanes for _, index, _, _ in lane.events())
    want = {line['name']: line['calls'] for line in report if line['name'] in names.values()}
    assert have == want, f'events: {have} and {want}'


def compare_tree(have):
    """$TREE: what `brace report --tree --json` prints. Calls are equal; each sum is rounded once by both."""
    if 'TREE' not in os.environ:
        return
    sides = []
    for nodes in have, lines(os.environ['TREE'])[1:]:
        sums = collections.defaultdict(lambda: [0, 0, 0, 0])
        for n in nodes:
            for i, v in enumerate((n['calls'], n['total_ns'], n['self_ns'], 1)):
                sums[n['depth'], n['name'], n['module']][i] += v
        sides.append(sums)
    assert sides[0].keys() == sides[1].keys() and sides[0], set(sides[0]) ^ set(sides[1])
    for key, a in sides[0].items():
        b = sides[1][key]
        assert (a[0], a[3]) == (b[0], b[3]), f'calls in the tree: {key}: {a} and {b}'
        assert abs(a[1] - b[1]) <= a[3] + 1 and abs(a[2] - b[2]) <= a[3] + 1, f'times in the tree: {key}: {a} and {b}'


def compare_selftest(page, rows, path):
    with open(path, encoding='utf-8') as f:
        found = re.search('<pre id="selftest">(.*?)</pre>', f.read(), re.S)
    assert found, 'the page did not come to its end'
    told = json.loads(html.unescape(found.group(1)))
    wrong = [name for name, good in told['results'].items() if good is not True]
    assert not wrong and len(told["results"]) >= 11, f'in the browser: {wrong}'

    def sums(name, module, calls, total, own, durations):
        return name, module, calls, total, own, *durations

    def of_row(f, row):
        d = row.durations or [0]
        return sums(*page.about['functions'][f][:2], row.calls, page.ns(row.total), page.ns(row.self),
                    [page.ns(x) for x in (min(d), max(d), rank(d, .5), rank(d, .99))])
    have = sorted(sums(s['name'], s['module'], s['calls'], s['total_ns'], s['self_ns'], [s['min_ns'], s['max_ns'], s['p50_ns'], s['p99_ns']])
                  for s in told['figures'])
    want = sorted(of_row(f, row) for f, row in rows.items() if row.calls)
    assert have == want, f'the browser counts {[x for x in have if x not in want][:3]}, not {[x for x in want if x not in have][:3]}'
    compare_tree(told['tree'])
    print(f"ready after {told['ready']:.0f} ms, drawn in {told['draw']:.1f} ms")


def main(page_path, report_path, threads_path, *selftest):
    page, report, threads = Page(page_path), lines(report_path), lines(threads_path)
    head = report[0]
    rows = collections.defaultdict(Row)
    lanes = [Lane(page, i, rows) for i in range(len(page.about['lanes']))]
    cut = int(page.about['thresh_ns']) > 0
    for about, lane in zip(page.about['lanes'], lanes):
        assert about['calls'] == lane.calls and about['losses'] == lane.losses
        assert about['events'] == len(list(lane.events())) and about['states'] == len(list(lane.states()))
        assert all(0 <= call < lane.calls and has in (1, 2, 3) for call, has, _ in lane.notes())
    assert sum(lane.calls for lane in lanes) == page.about['calls']
    assert (int(page.about['records']), int(page.about['lost'])) == (head['records'], head['lost'])
    if not any(line.get('total_ns') is None for line in report[1:]):
        compare_functions(page, rows, report[1:], cut)
        compare_threads(page, lanes, threads[1:], cut)
    compare_events(page, lanes, report[1:])
    for path in selftest:
        compare_selftest(page, rows, path)
    print(f"{page.about['calls']} calls, {len(lanes)} lanes, {sum(len(list(x.notes())) for x in lanes)} notes, "
          f"{sum(a['states'] for a in page.about['lanes'])} states, {sum(x.losses for x in lanes)} losses")


if __name__ == '__main__':
    main(*sys.argv[1:])
