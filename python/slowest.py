#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""slowest.py [FILE]: an example of brace.py: where the time of a trace went, and its ten slowest calls."""
import heapq
import sys

import brace

with brace.Trace(sys.argv[1] if sys.argv[1:] else 'trace.brace') as trace:
    print(f"{trace.info['command']}: {trace.info['calls']} calls, {trace.info['lost']} records lost")
    for row in trace.report(sort='self')[:10]:
        print(f"{(row['self'] or 0) / 1e6:12.3f} ms {row['calls']:10}  {row['name']}")
    slowest = []
    for batch in trace.columns('duration', 'time', 'function', kinds=brace.LEAVE | brace.WHOLE):
        slowest = heapq.nlargest(10, slowest + list(zip(*(batch[c] for c in ('duration', 'time', 'function')))))
    for duration, time, function in slowest:
        print(f"{duration / 1e6:12.3f} ms until {time / 1e9:.6f}  {trace.function(int(function))}")
