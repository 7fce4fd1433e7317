#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""drawn.py DRAWN REPORT: what graphviz drew, as `dot -Tplain` lists it: a box for each function, an edge for each caller and callee."""
import collections, json, re, sys
boxes, into, number = {}, collections.Counter(), r"(\d+) calls, (\d+\.\d{3}) us"
label = r'(?:"((?:[^"\\]|\\.)*)"|(\S+))'
# A long line goes on behind a backslash.
for line in open(sys.argv[1], encoding="utf-8", errors="replace").read().replace("\\\n", "").splitlines():
    node = re.match(r"node (\S+) \S+ \S+ \S+ \S+ " + label, line)
    edge = re.match(r"edge \S+ (\S+) .* \"(\d+)\\n", line)
    if edge:
        into[edge[1]] += int(edge[2])
    elif node and "\\n" in (node[2] or ""):
        name, file, sums = node[2].replace('\\"', '"').rsplit("\\n", 2)
        calls, us = re.fullmatch(number, sums).groups()
        boxes[node[1]] = name, file, int(calls), round(float(us) * 1000)
report = [json.loads(l) for l in open(sys.argv[2])][1:]
want = {(r["name"], r["module"]): r for r in report if r["module"] or ":" not in r["name"]}
assert boxes and len(boxes) == len(want), (len(boxes), len(want))
for node, (name, file, calls, ns) in boxes.items():
    row = want[name, file]
    assert calls == row["calls"] == into[node] and abs(ns - (row["self_ns"] or 0)) <= 1, (name, calls, into[node], ns, row)
