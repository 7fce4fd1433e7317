"""Threads that compute what they know the result of, until SIGTERM: a line with the number of rounds each
half second, and "right" at the end, or what was wrong."""
import hashlib
import itertools
import json
import re
import signal
import sys
import threading
import zlib


def work():
    data = [(f"k{i}", i * i % 997) for i in range(300)]
    text = json.dumps(sorted(dict(data).items(), key=lambda kv: (kv[1], kv[0])))
    digest = hashlib.sha256(zlib.compress(text.encode())).hexdigest()
    total = 0
    for word in re.findall(r"k(\d+)", text):
        try:
            total += int(word) if int(word) % 7 else int("x" + word)
        except ValueError:
            total -= 1
    return digest, total, list(itertools.accumulate(range(50)))[-1]


known = work()
rounds = [0] * 4
wrong = []
ended = threading.Event()
signal.signal(signal.SIGTERM, lambda *_: ended.set())


def run(i):
    while not ended.is_set():
        if work() != known:
            wrong.append(i)
        rounds[i] += 1


threads = [threading.Thread(target=run, args=(i,)) for i in range(len(rounds))]
for t in threads:
    t.start()
told = 0
while not ended.wait(0.5):
    done = sum(rounds)
    print("work", done - told, flush=True)
    told = done
for t in threads:
    t.join()
print(f"wrong in threads {wrong}" if wrong else "right", flush=True)
sys.exit(bool(wrong))
