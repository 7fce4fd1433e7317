#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""variable_points.py BINARY LEAST VARIABLES FUNCTION...: a line for each instruction of the functions, from LEAST bytes behind
their begin on: "vN 0xADDRESS vN=FUNCTION+OFFSET VARIABLES". Repeated instructions are left out, at which a debugger stops more
than once.
"""
import re
import subprocess
import sys

binary, least, variables, functions = sys.argv[1], int(sys.argv[2]), sys.argv[3], sys.argv[4:]
n = 0
for function in functions:
    text = subprocess.run(['objdump', '-d', '--no-show-raw-insn', f'--disassemble={function}', binary],
                          check=True, capture_output=True, text=True).stdout
    begin = None
    for line in text.splitlines():
        if match := re.match(r' *([0-9a-f]+):\s+(.*)', line):
            address = int(match[1], 16)
            begin = address if begin is None else begin
            if address - begin >= least and not match[2].startswith('rep'):
                n += 1
                print(f'v{n} {address:#x} v{n}={function}+{address - begin} {variables}')
