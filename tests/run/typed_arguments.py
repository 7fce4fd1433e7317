#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""typed_arguments.py ACCOUNT CHROME PERFETTO: arguments and values in the two formats, with their types, are those of the program's
account, `price(cents=4, item={name="x1"}) = 6` lines; both read by their own parsers."""
import json
import re
import struct
import sys

import wire


class Text:
    """One line of an account."""

    def __init__(self, line):
        self.s, self.at = line, 0

    def take(self, pattern):
        m = re.compile(pattern).match(self.s, self.at)
        if m:
            self.at = m.end()
        return m

    def members(self, close):
        found = {}
        while not self.take(re.escape(close)):
            self.take(', ')
            if self.take(r'\.\.\.'):
                continue
            name = self.take(r'(\w+)=').group(1)
            found[name] = self.value()
        return found

    def elements(self):
        found = []
        while not self.take('}'):
            self.take(', ')
            found.append('...' if self.take(r'\.\.\.') else self.value())
        return found

    def value(self):
        if self.take(r'&?\{(?=\w+=|\.\.\.|})'):
            return self.members('}')
        if self.take(r'\{'):
            return self.elements()
        m = self.take(r'"([^"]*)"(\.\.\.)?') or self.take(r"'(.)'()")
        if m:
            return m.group(1) + (m.group(2) or '')
        word = self.take(r'\(fault\)|[^,)} ]+').group(0)
        return {'0x0': None, '?': None, 'true': True, 'false': False}.get(word, word)

    def call(self):
        name = self.take(r'(\w+)\(').group(1)
        arguments = self.members(')')
        return name, arguments, self.value() if self.take(' = ') else None


def same(told, value, pointer=False):
    """told: of the account, where numbers and words are text."""
    if isinstance(told, dict):
        return isinstance(value, dict) and told.keys() == value.keys() and all(same(told[k], value[k]) for k in told)
    if isinstance(told, list):
        return isinstance(value, list) and len(told) == len(value) and all(map(same, told, value))
    if isinstance(value, bool) or told is None:
        return told is value or (told is None and value in ('?', 0))
    if isinstance(value, (int, float)):
        number = int(told, 0) if re.fullmatch(r'-?(0x)?[0-9a-f]+', told) else float(told)
        return number == value or struct.pack('f', number) == struct.pack('f', value)
    return told == value


def chrome(path):
    open_calls, calls = {}, []
    for e in json.load(open(path))['traceEvents']:
        if e['ph'] == 'B':
            open_calls.setdefault(e['tid'], []).append((e['name'], e.get('args', {}).get('arguments', {})))
        elif e['ph'] == 'E':
            if e.get('args', {}).get('ended') != 'unwound':
                calls.append((*open_calls[e['tid']].pop(), e.get('args', {}).get('returned')))
            else:
                open_calls[e['tid']].pop()
    return calls


def fields(b):
    return wire.fields(b, doubles=True)


def annotation(b):
    name, value = None, {}
    for field, content in fields(b):
        if field == 10:
            name = content.decode()
        elif field == 11:
            k, v = annotation(content)
            value[k] = v
        elif field == 12:
            value = (value or []) + [annotation(content)[1]]
        else:
            value = {2: bool, 3: int, 4: lambda n: n - (n >> 63 << 64), 5: lambda d: struct.unpack('<d', d)[0], 6: bytes.decode,
                     7: lambda n: hex(n) if n else None}[field](content)
    return name, value


def perfetto(path):
    names, stacks, calls = {}, {}, []
    for _, packet in fields(open(path, 'rb').read()):
        p = dict(fields(packet))
        if 12 in p:
            name = dict(fields(dict(fields(p[12]))[2]))
            names[name[1]] = name[2].decode()
        if 11 not in p:
            continue
        e = list(fields(p[11]))
        one, notes = dict(e), dict(annotation(c) for f, c in e if f == 4)
        stack = stacks.setdefault(one[11], [])
        if one[9] == 1:
            stack.append((names[one[10]], notes.get('arguments', {})))
        elif one[9] == 2:
            call = stack.pop()
            if notes.get('ended') != 'unwound':
                calls.append((*call, notes.get('returned')))
    return calls


# These formats have a pointer's number, without the name that text has beside it.
account = [Text(re.sub(r'(0x[0-9a-f]+) <[^>]*>', r'\1', line.rstrip('\n'))).call() for line in open(sys.argv[1])]
wrong = 0
for calls in chrome(sys.argv[2]), perfetto(sys.argv[3]):
    for told, call in zip(account, calls):
        if told[0] != call[0] or not same(told[1], call[1]) or not same(told[2], call[2]):
            wrong += 1
            if wrong < 10:
                print(told, call)
    wrong += not len(account) <= len(calls) <= len(account) + 1
print(f'{len(account)} calls, {wrong} wrong')
sys.exit(wrong != 0)
