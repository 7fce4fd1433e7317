#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""left_out.py KINDS NAME: what `brace export` says of the formats on standard input, in NAME.FORMAT.said.

folded has no place for anything, so that what it leaves out is what the trace has. Each other format leaves out those of the kinds that it
does not hold, as many, and no others.
"""
import re
import sys

KINDS = {
    'events': 'events?',
    'losses': 'marks? of lost records',
    'arguments': "(?:call's|calls') arguments",
    'values': 'returned values?',
    'ends': 'marks? of (?:a call|calls) that did not return',
}
HOLDS = {
    'chrome': 'events losses arguments values ends',
    'perfetto': 'events losses arguments values ends',
    'firefox': 'events losses',
    'ctf': 'events losses',
    'uftrace': 'losses',
    'trace.dat': 'events losses values',
    'trace.dat.v7': 'events losses arguments values',
    'sqlite': 'events losses arguments values ends',
    'csv': 'arguments values ends',
    'parquet': 'arguments values ends',
}


def left_out(name, form):
    """How many of each kind."""
    text = open(f'{name}.{form}.said').read()
    m = re.search(rf'^brace: {re.escape(form)} has no place for some of the trace, which is left out: (.*)$', text, re.M)
    items = m[1].split(', ') if m else []
    return {kind: item.split()[0] for kind in KINDS for item in items if re.fullmatch(rf'\d+ {KINDS[kind]}', item)}


def main():
    kinds, name = sys.argv[1].split(), sys.argv[2]
    there = left_out(name, 'folded')
    assert set(kinds) <= set(there), (kinds, there)
    for form in sys.stdin.read().split():
        missing = left_out(name, form)
        for kind in kinds:
            want = None if kind in HOLDS.get(form, '').split() else there[kind]
            assert missing.get(kind) == want, (form, kind, missing, there)


main()
