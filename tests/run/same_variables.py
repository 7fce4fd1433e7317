#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""same_variables.py GDB BRACE [PER_MILLE [GDB2]]: holds what probes fetched by the names of variables against gdb's values.

GDB: what gdb_variables.py printed. BRACE: "NAME: (0x...) variable=value ..." lines of a trace. Values of one point come in
the same order. Prints differences, then the counts of points and values; exit status 1 if there are differences (more than PER_MILLE of the
values, 0 if it is not given: variables that are not set yet have whatever is in their memory) or nothing was compared. Of values that
differ, those are explained that another run in gdb, GDB2, has not either: nobody has set them.
"""
import re
import sys

FIELD = re.compile(r'(\w+)=("(?:[^"]|"(?! \w+=|$))*"|\'(?:.|\\[0-7]{3}|\\.)\'|\(fault\)|\{[^}]*\}|[^ ]+)')


def of_gdb(path):
    points = {}
    # Python writes gdb's letters, one for each byte, as UTF-8.
    for line in open(path, encoding='utf-8', errors='replace'):
        name, _, rest = line.rstrip('\n').partition(' ')
        if re.fullmatch(r'v\d+', name):
            points.setdefault(name, []).append(dict(f.split('=', 1) for f in rest.split('\x1f') if '=' in f))
    return points


def of_brace(path):
    points = {}
    for line in open(path, encoding='latin-1'):
        if match := re.search(r' (v\d+): \(0x[0-9a-f]+\) ?(.*)$', line):
            points.setdefault(match[1], []).append(dict(FIELD.findall(match[2])))
    return points


def unescaped(text):
    """What C's escapes stand for, which brace writes for bytes that are no letters; a newline is gdb_variables.py's blank."""
    letters = {'n': ' ', 't': '\t', 'r': '\r', 'a': '\a', 'b': '\b', 'f': '\f', 'v': '\v'}
    return re.sub(r'\\([0-7]{3}|.)', lambda m: chr(int(m[1], 8)) if len(m[1]) == 3 else letters.get(m[1], m[1]), text)


def same(gdb, brace):
    if gdb == brace:
        return True
    if brace.startswith("'"):
        code = ord(unescaped(brace[1:-1]))
        return gdb in (str(code), str(code - 256))
    if brace.startswith('"'):
        brace = unescaped(brace)
    # a record has room for a part of a long string, and so has what is asked of gdb
    if gdb.startswith('"') and brace.startswith('"') and len(gdb) > 64 and len(brace) > 64:
        return gdb[:-1].startswith(brace[:-1]) or brace[:-1].startswith(gdb[:-1])
    if brace == '(fault)':
        return gdb.startswith('"') is False or gdb == '""'
    # gdb's enumerations and bool; a number of brace's may be unsigned where gdb's has a sign
    if re.fullmatch(r'-?\d+', gdb) and re.fullmatch(r'-?\d+', brace):
        return (int(gdb) - int(brace)) % (1 << 32) == 0 and (int(gdb) < 0 or int(brace) < 0)
    return False


def main():
    gdb, brace = of_gdb(sys.argv[1]), of_brace(sys.argv[2])
    again = of_gdb(sys.argv[4]) if sys.argv[4:] else {}
    points = values = unset = 0
    bad = []
    for name, hits in sorted(brace.items()):
        theirs = gdb.get(name, [])
        if len(hits) != len(theirs):
            bad.append(f'{name}: {len(hits)} hits, gdb has {len(theirs)}')
            continue
        points += 1
        for i, (ours, their) in enumerate(zip(hits, theirs)):
            for variable, value in ours.items():
                if variable in their:
                    values += 1
                    if same(their[variable], value):
                        continue
                    other = again.get(name, [])
                    if i < len(other) and other[i].get(variable) != their[variable]:
                        unset += 1
                    else:
                        bad.append(f'{name} hit {i}: {variable} is {value}, gdb says {their[variable]}')
    for line in bad[:20]:
        print(line)
    print(f'{points} points, {values} values, {len(bad)} differences' + (f', {unset} unset' if unset else ''))
    sys.exit(len(bad) * 1000 > values * int((sys.argv[3:] or ['0'])[0]) or not values)


main()
