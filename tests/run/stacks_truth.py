# stacks_truth.py TRUTH REPLAYED: does each stk:at have, behind it, the stack that the program's own
# backtrace() saw there? First stand the event's function and the one that it happens in. A stack
# has 62 calls and 8 KiB at most, and ends with the memory that the thread is on.
import re
import sys

truth, elsewhere = {}, set()
for line in open(sys.argv[1]):
    n, _, addresses = line.partition(":")
    truth[int(n.rstrip("+"))] = [int(a, 16) for a in addresses.split()]
    if n.endswith("+"):
        elsewhere.add(int(n[:-1]))

seen, n = {}, None
for line in open(sys.argv[2]):
    event = re.search(r"[:*] at: n=(\d+)", line)
    frame = re.match(r" => .* <([0-9a-f]{16})>", line)
    if event:
        n = int(event.group(1))
        seen[n] = []
    elif frame and n is not None:
        seen[n].append(int(frame.group(1), 16))

bad = 0
for n, wanted in sorted(truth.items()):
    got = seen.get(n, [])
    first = got.index(wanted[0]) if wanted[0] in got[:3] else 3
    calls = got[first:]
    if not calls or calls != wanted[:len(calls)] or (len(calls) < len(wanted) and n not in elsewhere):
        bad += 1
        print("%d: wanted %s, got %s" % (n, " ".join("%x" % a for a in wanted), " ".join("%x" % a for a in got)))
print("%d of %d stacks differ" % (bad, len(truth)))
sys.exit(bad != 0 or not truth)
