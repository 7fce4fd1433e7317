#!/usr/bin/python3
"""tui_truth.py SCREEN FILE JSON: what a screen of brace tui shows is what `brace report --json` says."""
import json
import re
import sys

TIME = r'(?:\d+\.\d{3} (?:s|ms|us)|\d+ ns|-)'


def time_of(ns):
    for unit, word in ((10**9, 's'), (10**6, 'ms'), (10**3, 'us')):
        if ns >= unit:
            return f'{ns // unit}.{ns % unit // (unit // 1000):03d} {word}'
    return f'{ns} ns'


def seen(path):
    with open(path) as text:
        return text.read().splitlines()


def rows(path):
    with open(path) as text:
        return [json.loads(line) for line in text][1:]


def label(row):
    return f"{row['name']} [{row['module']}]" if row.get('module') else row['name']


def table(lines, names, rows, keys):
    """Each row of the report is a line; a column is empty (-) where a call has no duration."""
    shown = {}
    for line in lines:
        match = re.fullmatch(r' *(\d+)((?: +' + TIME + r')+)(?: +(\d+\.\d\d))?  (\S.*)', line)
        if match:
            shown[match[4]] = [int(match[1])] + re.findall(TIME, match[2])
    assert shown, lines
    for row in rows:
        name = names(row)
        assert name in shown, (name, sorted(shown))
        assert shown[name][0] == row['calls'], (name, shown[name], row)
        for text, key in zip(shown[name][1:], keys):
            assert text == '-' or text == time_of(row[key]), (name, key, text, row)
    assert len(shown) == len(rows), (len(shown), len(rows))


def main():
    what, lines = sys.argv[1], seen(sys.argv[2])
    report = rows(sys.argv[3])
    if what in ('functions', 'threads'):
        table(lines, label if what == 'functions' else lambda row: f"{row['comm']}-{row['tid']}", [row for row in report if 'calls' in row],
              ('total_ns', 'self_ns', 'min_ns', 'mean_ns', 'p50_ns', 'p99_ns', 'max_ns'))
    elif what in ('callers', 'callees'):
        half = next(i for i, line in enumerate(lines) if line.endswith('CALLEE')) - 1
        table(lines[:half] if what == 'callers' else lines[half + 1:], label, report, ('total_ns', 'self_ns'))
    elif what == 'tree':
        shown = [re.fullmatch(r' *([\d.]+) +(' + TIME + ') +(' + TIME + r') +(\d+) +[-+]? ?(\S.*)', line) for line in lines]
        shown = [(m[1], m[2], m[3], int(m[4]), m[5]) for m in shown if m]
        want = [(f"{row['total_percent']:.2f}", time_of(row['total_ns']), time_of(row['self_ns']), row['calls'], label(row)) for row in report]
        # one of the outermost calls is unfolded: what stands there is a run of the report's lines
        outermost = [i for i, row in enumerate(report) if row['depth'] == 0] + [len(report)]
        first = want[outermost[0]:outermost[1]]
        assert shown[:len(first)] == first and len(first) > 10, (shown[:len(first)], first)
        assert shown[len(first):] == [want[i] for i in outermost[1:-1]], shown[len(first):]
    elif what == 'histogram':
        row = report[0]
        assert any(line.startswith(f"{row['calls']} calls, the slowest {time_of(row['max_ns'])}") for line in lines), (lines, row)
        shown = {int(m[1]): int(m[2]) for m in (re.match(r' *(\d+) -> \d+ +: (\d+)', line) for line in lines) if m}
        powers = {int(p['from_ns']): p['calls'] for p in row['powers']}
        assert {k: v for k, v in shown.items() if v} == {k: v for k, v in powers.items() if v}, (shown, powers)
    elif what == 'slowest':
        row = next(row for row in report if row['name'] == 'leaf')
        assert any(re.match(r'\+\S+ \w+, ' + re.escape(time_of(row['max_ns'])) + ': leaf', line) for line in lines), (lines[-3:], row)
    else:
        raise SystemExit(f'no screen {what}')


main()
