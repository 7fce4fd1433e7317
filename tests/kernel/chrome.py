# SPDX-License-Identifier: MIT
"""Trace events of a program and the kernel: calls are balanced on each track, and each vfs_read of process 0, the
kernel, that a thread of the program made lies in a one_read of that thread."""
import json
import sys

calls, open_calls = {}, {}
for event in json.load(open(sys.argv[1]))["traceEvents"]:
    track = event["pid"], event["tid"]
    if event["ph"] == "B":
        open_calls.setdefault(track, []).append(event)
    elif event["ph"] == "E":
        began = open_calls[track].pop()
        calls.setdefault(began["name"], []).append((track, began["ts"], event["ts"]))
for track, left in open_calls.items():
    assert not left, (track, left)
reads = {}
for (pid, tid), begin, end in calls["one_read"]:
    assert pid
    reads.setdefault(tid, []).append((begin, end))
inside = 0
for (pid, tid), begin, end in calls["vfs_read"]:
    assert not pid
    inside += any(b <= begin and end <= e for b, e in reads.get(tid, []))
assert inside == sum(map(len, reads.values())), (inside, len(calls["one_read"]))
