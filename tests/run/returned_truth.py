#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Which calls a graph with conditions on returned values shows, by the program's own account (tests/targets/returned.cc).

    returned_truth.py ACCOUNT 'FUNCTION=ARGUMENTS;RETURNED'...    both Python, over n and over retval; empty: any

Prints "DEPTH name(n=N) = VALUE" lines in the order of the calls; "unwound" for the value of one that did not return."""
import sys


class Call:
    def __init__(self, name, n):
        self.name, self.n, self.value, self.made = name, n, None, []


def roots(path):
    for thread in range(3):
        top = Call("", 0)
        open_calls = [top]
        for line in open(path):
            words = line.split()
            if int(words[0]) != thread:
                continue
            if words[1] == "+":
                call = Call(words[2], int(words[3]))
                open_calls[-1].made.append(call)
                open_calls.append(call)
            else:
                open_calls.pop().value = int(words[2]) if words[1] == "-" else None
        yield from top.made


def show(call, depth):
    print(f"{depth} {call.name}(n={call.n}) = {'unwound' if call.value is None else call.value}")
    for made in call.made:
        show(made, depth + 1)


def pick(call, conditions, waits=False):
    """waits: in a call whose return decides about it, so that nobody has looked at arguments of calls in it."""
    arguments, returned = conditions.get(call.name, (None, None))
    if returned is not None and (not arguments or (not waits and eval(arguments, {"n": call.n}))):
        if not returned or (call.value is not None and eval(returned, {"retval": call.value})):
            return show(call, 0)
        waits = True
    for made in call.made:
        pick(made, conditions, waits)
    return None


wanted = [word.split("=", 1) for word in sys.argv[2:]]
for root in roots(sys.argv[1]):
    pick(root, {name: condition.split(";") for name, condition in wanted})
