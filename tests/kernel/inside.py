# SPDX-License-Identifier: MIT
"""Reads `brace export --to csv` of a trace of merged_program and the kernel: times as both sides stamped them, where replay shows
calls in calls. Prints of how many calls of one_read() the entry lies before the one system call that they make, and the return
after its return, and how many calls and system calls are left over."""
import csv
import sys

outer, inner = {}, {}
for row in csv.DictReader(open(sys.argv[1], newline="")):
    calls = {"one_read": outer, "__x64_sys_read": inner}.get(row["function"])
    if calls is not None and row["ended"] == "returned":
        begin = int(row["begin_ns"])
        calls.setdefault(row["tid"], []).append((begin, begin + int(row["duration_ns"])))
good = 0
for tid, calls in outer.items():
    system_calls = sorted(inner.get(tid, []), reverse=True)
    for begin, end in sorted(calls):
        while system_calls and system_calls[-1][1] < begin:  # of the loader, before main()
            system_calls.pop()
        # Nanoseconds are rounded.
        if system_calls and system_calls[-1][0] >= begin and system_calls[-1][1] <= end + 1:
            system_calls.pop()
            good += not system_calls or system_calls[-1][0] >= end - 1
print(f"{good} of {sum(map(len, outer.values()))}")
