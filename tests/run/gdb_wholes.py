#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""gdb_wholes.py GDB BRACE [LOST]: holds what brace shows of returned structures against gdb's `finish`.

GDB: gdb's output, with "Breakpoint N, FUNCTION (...)", "Value returned is ..." and "REGISTERS rax rdx xmm0 xmm0" lines: gdb 13 prints
numbers of 16 bytes as 0, and vectors from the wrong registers. BRACE: "FUNCTION() = VALUE" lines, of
the same calls in the same order. Prints the differences, and how many values and members are equal; exit status 1 if any differ.
LOST: then both files have arguments, "Breakpoint N, FUNCTION (NAME=VALUE, ...) at" and "FUNCTION(NAME=VALUE, ...);"
lines; so many calls may show none.
"""
import decimal
import re
import struct
import sys

decimal.getcontext().prec = 40
TOKEN = re.compile(r"""\s*(?P<token>[{},=]|"(?:[^"\\]|\\.)*"(?:\.\.\.)?|'(?:[^'\\]|\\.)*'|[^{},="']+)""")


class Values:
    """A recursive reader of "{a = 1, b = {2, 3}}": a dictionary, a list, or a text."""

    def __init__(self, text):
        self.tokens = [m['token'].strip() for m in TOKEN.finditer(text)]
        self.at = 0

    def peek(self):
        return self.tokens[self.at] if self.at < len(self.tokens) else ''

    def take(self):
        self.at += 1
        return self.tokens[self.at - 1]

    def value(self):
        if self.peek() != '{':
            text = [self.take()]
            while self.peek() not in ('', ',', '}'):
                text.append(self.take())
            return ' '.join(text)
        self.take()
        named, listed = {}, []
        while self.peek() != '}':
            if self.at + 1 < len(self.tokens) and self.tokens[self.at + 1] == '=':
                name = self.take()
                self.take()
                named[name] = self.value()
            else:
                listed.append(self.value())
            if self.peek() == ',':
                self.take()
        self.take()
        if not named:
            return listed
        # Members of a part without a name are the structure's own.
        for k, v in enumerate(listed):
            named.update(v if isinstance(v, dict) else {f'[{k}]': v})
        return named


def plain(text):
    """Without what one of the two adds: a character's number, a pointer's symbol and string."""
    text = re.sub(r"^-?\d+ (?=')", '', text)
    text = re.sub(r"' <repeats \d+ times>|, '\\000'.*$", '', text)
    text = re.sub(r'(\\000)+.*"$', '"', text)
    text = re.sub(r'^(?:\(.*\) )?(0x[0-9a-f]+)(?: .*)?$', r'\1', text)
    return re.sub(r'^[\w:]+::(?=\w+$)', '', text)


def number(text):
    try:
        return decimal.Decimal(int(text, 0))
    except ValueError:
        try:
            return decimal.Decimal(text)
        except decimal.InvalidOperation:
            return None


def same_scalar(theirs, ours, single):
    theirs, ours = plain(theirs), plain(ours)
    if theirs == ours:
        return True
    if theirs.endswith('i') and ours.endswith('i'):
        return all(same_scalar(a, b, single) for a, b in zip(theirs[:-1].split(' + '), ours[:-1].split(' + ')))
    a, b = number(theirs), number(ours)
    if a is None or b is None:
        return False
    # Of a float both print digits enough to tell it from others, not the same ones.
    return abs(a - b) <= abs(a) * decimal.Decimal('1e-16') or (single and struct.pack('f', a) == struct.pack('f', b))


def compare(theirs, ours, single, count):
    """Members that brace does not show are not compared, but there has to be one that is."""
    if isinstance(ours, str):
        count[0] += 1
        return isinstance(theirs, str) and same_scalar(theirs, ours, single)
    if isinstance(ours, list):
        return isinstance(theirs, list) and all(compare(a, b, single, count) for a, b in zip(theirs, ours) if b != '...')
    shown = {name: v for name, v in ours.items() if v not in ('?', '...')}
    return bool(shown) and isinstance(theirs, dict) and all(name in theirs and compare(theirs[name], v, single, count) for name, v in shown.items())


def quad(low, high):
    """IEEE's binary128."""
    exponent = (high >> 48 & 0x7fff) - 0x3fff
    fraction = decimal.Decimal((1 << 112) | (high & (1 << 48) - 1) << 64 | low) / (1 << 112)
    value = fraction * decimal.Decimal(2) ** exponent if high << 1 & (1 << 64) - 1 | low else decimal.Decimal(0)
    return str(-value if high >> 63 else value)


VECTORS = {'ret_float4': '4f', 'ret_float2': '2f', 'ret_long2': '2q', 'ret_double2': '2d', 'ret_short4': '4H'}


def wide(name, low, high, vector):
    """What gdb does not print, or prints wrongly; None: it does well."""
    if name == 'ret_quad':
        return quad(*vector)
    if name in VECTORS:
        parts = struct.unpack_from('<' + VECTORS[name], struct.pack('<2Q', *vector))
        return '{' + ', '.join(f'{part:.17g}' if isinstance(part, float) else str(part) for part in parts) + '}'
    value = high << 64 | low
    signed = value - (1 << 128 if value >> 127 else 0)
    return {'ret_int128': str(signed), 'ret_uint128': str(value), 'ret_wide': f'{{n = {signed}}}'}.get(name)


def calls_of_gdb(path):
    text = open(path).read()
    found = re.findall(r'^Breakpoint \d+, (ret_\w+) \(.*?^Value returned is \$\d+ = (.*?)$.*?^REGISTERS (\w+) (\w+) (\w+) (\w+)$', text, re.M | re.S)
    return [(name, wide(name, *(int(r, 16) for r in registers[:2]), [int(r, 16) for r in registers[2:]]) or value)
            for name, value, *registers in found]


def calls_of_brace(path):
    return [m.groups() for m in (re.match(r'(ret_\w+)\(\)(?: = (.*))?$', line) for line in open(path)) if m]


def arguments_of(path, pattern):
    """The functions, and a dictionary of the arguments for each call; None: "..."."""
    found = [m.groups() for m in (re.search(pattern, line) for line in open(path)) if m]
    return [(name, None if text == '...' else Values('{' + text + '}').value()) for name, text in found]


def same_arguments(theirs, ours, count):
    """All but the one that is called f are numbers; that one has no members to show, is passed by its address, or is equal."""
    f, also = ours.pop('f', '?'), theirs.pop('f', {})
    if isinstance(also, dict):
        also = {name: v for name, v in also.items() if not str(v).startswith('@')}
    if isinstance(f, dict):
        f = {name: v for name, v in f.items() if name in also and v not in ('?', '...')}
    by_address = isinstance(f, str) and (f == '?' or (f.startswith('0x') and int(f, 16) > 1 << 12))
    return ours.keys() == theirs.keys() and compare(theirs, ours, False, count) and (by_address or not f or compare(also, f, True, count))


def compare_arguments(gdb_path, brace_path, lost):
    gdb = arguments_of(gdb_path, r'^Breakpoint [\d.]+, (arg_\w+).*? \((i=.*)\) at ')
    brace = arguments_of(brace_path, r'\|  (arg_\w+).*?\((i=.*?|\.\.\.)\)(?:;| \{)')
    count = [0]
    wrong = [f'{name}: gdb: {theirs}, brace: {also}: {ours}' for (name, theirs), (also, ours) in zip(gdb, brace)
             if name != also or (ours is not None and not same_arguments(dict(theirs), dict(ours), count))]
    print(*wrong, sep='\n')
    print(f'{len(gdb)} calls, {count[0]} arguments and members')
    return wrong or not gdb or len(gdb) != len(brace) or sum(ours is None for _, ours in brace) > lost


def main():
    if len(sys.argv) > 3:
        sys.exit(bool(compare_arguments(sys.argv[1], sys.argv[2], int(sys.argv[3]))))
    gdb, brace = calls_of_gdb(sys.argv[1]), calls_of_brace(sys.argv[2])
    wrong, count = [], [0]
    for (name, theirs), (also, ours) in zip(gdb, brace):
        if name == 'ret_owner':
            # gdb shows a class around the pointer to memory that another run has elsewhere.
            good = also == name and ours is not None and ('0x0' in theirs) == (ours == '0x0')
        elif 'hidden' in name:
            good = name == also and ours == '{...}'
        else:
            good = name == also and ours is not None and compare(Values(theirs).value(), Values(ours).value(), 'float' in name, count)
        if not good:
            wrong.append(f'{name}: gdb: {theirs}, brace: {also}: {ours}')
    print(*wrong, sep='\n')
    print(f'{len(gdb)} calls, {count[0]} members and numbers')
    sys.exit(bool(wrong) or not gdb or len(gdb) != len(brace))


if __name__ == '__main__':
    main()
