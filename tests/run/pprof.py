#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""pprof.py DECODED REPORT: holds samples of a profile, as protoc prints them, against `brace report --json`."""
import ast
import collections
import json
import re
import sys

text = open(sys.argv[1]).read()
strings = [ast.literal_eval('b' + s).decode() for s in re.findall(r'^string_table: ("(?:[^"\\]|\\.)*")', text, re.M)]
functions = {}
for body in re.findall(r'^function \{\n(.*?)^\}', text, re.M | re.S):
    f = dict(re.findall(r'(\w+): (\d+)', body))
    functions[int(f['id'])] = strings[int(f['name'])]
calls, own = collections.Counter(), collections.Counter()
for body in re.findall(r'^sample \{\n(.*?)^\}', text, re.M | re.S):
    leaf = functions[int(re.search(r'location_id: (\d+)', body)[1])]
    count, ns = map(int, re.findall(r'^  value: (\d+)', body, re.M))
    calls[leaf] += count
    own[leaf] += ns
    assert strings[int(re.search(r'str: (\d+)', body)[1])]
assert strings[0] == ''
report = collections.Counter()
for r in [json.loads(line) for line in open(sys.argv[2])][1:]:
    report[r['name']] += r['calls']
    assert abs(own[r['name']] - r['self_ns']) <= 100, r
assert calls == report, (calls, report)
