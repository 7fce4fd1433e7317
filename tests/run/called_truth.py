#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""called_truth.py ORIGINAL LIST LEAST: what brace found in a program without its symbols and unwind tables, against
those that readelf reads of the original.

LIST is of `brace list --why` of the bare program. No function that is hooked may begin inside of one of the original's
(its own begin excepted), and at least LEAST per cent of those must be found."""
import bisect
import re
import subprocess
import sys


def read(*options):
    return subprocess.run(['readelf', '-W', *options, sys.argv[1]], stdout=subprocess.PIPE, text=True, check=True).stdout


def ranges():
    """Begin and end of the original's functions: by its unwind tables, or, without those, by its symbols."""
    tables = [(int(a, 16), int(b, 16)) for a, b in re.findall(r' pc=(\w+)\.\.(\w+)', read('--debug-dump=frames'))]
    symbols = [(int(a, 16), int(a, 16) + int(n)) for a, n in re.findall(r': (\w+) +(\d+) FUNC ', read('-s')) if int(n)]
    return sorted(symbols if len(symbols) > 2 * len(tables) else tables)


def main():
    known = ranges()
    starts = {a for a, _ in known}
    text = next((int(a, 16), int(a, 16) + int(n, 16))
                for a, n in re.findall(r' \.text +PROGBITS +(\w+) \w+ (\w+)', read('-S')))
    with open(sys.argv[2]) as lines:
        hooked = {int(m[1], 16) for m in (re.match(r'0x(\w+) (?!none)\S+ ', line) for line in lines) if m}
    hooked = {a for a in hooked if text[0] <= a < text[1]}
    within = [a for a in hooked - starts for i in [bisect.bisect(known, (a, 1 << 63)) - 1] if i >= 0 and a < known[i][1]]
    found = 100 * len(hooked & starts) / len(starts)
    print(f'{len(starts)} functions, {found:.1f} % of them found; false: {[hex(a) for a in within]}')
    sys.exit(bool(within) or found < float(sys.argv[3]))


main()
