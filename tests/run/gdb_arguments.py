#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""gdb_arguments.py GDB BRACE: holds brace's arguments against gdb's at the same calls.

GDB: gdb's "CALL name" lines, and behind each what `info args` prints. BRACE: "name(a=1, b=2) = 3" lines. Prints the
differences; exit status 1 if there are any, or no values.
"""
import re
import sys

ARGUMENT = re.compile(r"""(?P<name>\w+)=(?P<value>\{(?:[^}"]|"[^"]*")*\}|"(?:[^"\\]|\\.)*"(?:\.\.\.)?|'(?:[^'\\]|\\.)*'|\(fault\)|[^,)]+)""")


def members(text):
    """A structure's members and their values, as far as they are shown; of a character its letter."""
    text = re.sub(r"'\\000' <repeats \d+ times>", '""', text)
    pairs = re.findall(r"(\w+) ?= ?(\{[^}]*\}|\"[^\"]*\"(?:\.\.\.)?|0x[0-9a-f]+ \"[^\"]*\"(?:\.\.\.)?|-?\d+ '[^']*'|[^,}]+)",
                       text[1:-1])
    shown = {}
    for name, value in pairs:
        value = re.sub(r'^0x[0-9a-f]+ (?=")', '', value)
        value = re.sub(r'\\000.*"', '"', value)
        value = re.sub(r"^-?\d+ (?=')", '', value)
        if not value.startswith('{') and value != '?':
            shown[name] = value
    return shown


def same_members(gdb, brace):
    theirs, ours = members(gdb), members(brace)
    for name in ours.keys():
        a, b = theirs.get(name, 'no member'), ours[name]
        if a != b and not (b.endswith('...') and a.startswith(b[:-4])) and not (b[0] in '-0123456789.' and float(a) == float(b)):
            return False
    return bool(ours)


def of_gdb(text):
    """A value of gdb's, in a form that both have."""
    if match := re.fullmatch(r'0x[0-9a-f]+ (?:<\w+> )?(".*"(?:\.\.\.)?)', text):
        return match[1]
    if text.startswith('(') and text.endswith(')') and ' | ' in text:
        return text[1:-1].replace(' ', '').replace('(', '').replace(')', '')
    if match := re.fullmatch(r'\((\w+)\)', text):
        return match[1]
    if match := re.fullmatch(r'\([\w ]+\*\) (0x[0-9a-f]+)(?: <.*>)?', text):
        return str(int(match[1], 16))
    if match := re.fullmatch(r'(0x[0-9a-f]+)(?: <.*>)?', text):
        return str(int(match[1], 16))
    return text


def of_brace(text):
    if match := re.fullmatch(r'(0x[0-9a-f]+)(?: <.*>)?', text):
        return str(int(match[1], 16))
    return text


def calls_of_gdb(path):
    calls = []
    for line in open(path):
        line = line.rstrip('\n')
        if line.startswith('CALL '):
            calls.append((line[5:], {}))
        elif calls and (match := re.match(r'(\w+) = (.*)', line)):
            calls[-1][1][match[1]] = of_gdb(match[2])
    return calls


def calls_of_brace(path):
    calls = []
    for line in open(path):
        if match := re.match(r'(\w+)\((.*)\)(?: = .*)?$', line.rstrip('\n')):
            calls.append((match[1], {m['name']: of_brace(m['value']) for m in ARGUMENT.finditer(match[2])}))
    return calls


def same_value(gdb, brace):
    if gdb == brace:
        return True
    if gdb.startswith('{') and brace.startswith('{'):
        return same_members(gdb, brace)
    if match := re.fullmatch(r"(-?\d+) ('.*')", gdb): # a char; or a number of one byte
        return brace in (match[1], match[2])
    if brace == '(fault)':
        return gdb == '8' or 'error: Cannot access memory' in gdb or gdb.startswith('0x8 ')
    if brace.startswith('"') and brace.endswith('...'): # gdb shows more of a string
        return gdb.startswith(brace[:-4])
    try:
        return float(gdb) == float(brace)
    except ValueError:
        return False


def main():
    gdb, brace = calls_of_gdb(sys.argv[1]), calls_of_brace(sys.argv[2])
    values, wrong = 0, 0
    if len(gdb) != len(brace):
        print(f'{len(gdb)} calls of gdb, {len(brace)} of brace')
        wrong += 1
    for (name, theirs), (our_name, ours) in zip(gdb, brace):
        if name != our_name or set(theirs) != set(ours):
            print(f'{name} {theirs} in gdb, {our_name} {ours} in brace')
            wrong += 1
            continue
        for key, value in theirs.items():
            values += 1
            if not same_value(value, ours[key]):
                print(f'{name}: {key} is {value} in gdb, {ours[key]} in brace')
                wrong += 1
    print(f'{values} values')
    sys.exit(wrong > 0 or not values)


main()
