#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""depth.py AGENT NAME...: how deep these functions of the agent's go on the program's stack.

By its machine code. Prints NAME BYTES PATH for each, with the return addresses and without what
assembly pushed before it called. A path is the sum of its frames; a frame is what its function
pushes and subtracts. Exit status 1, with a sentence, for what has no depth: recursion, a call
through a pointer that THROUGH does not know, a frame of unknown size.
"""
import re
import subprocess
import sys
import tempfile

FUNCTION = re.compile(r'^[0-9a-f]+ <(?P<name>[^>]+)>:$')
CALL = re.compile(r'\b(?P<how>call|jmp|j\w+)\s+[0-9a-f]+ <(?P<name>[^>+]+)(?P<inside>\+0x[0-9a-f]+)?>')
FRAME = re.compile(r'\b(sub\s+\$0x(?P<sub>[0-9a-f]+),%rsp|(?P<push>push)\s|lea\s+-0x(?P<lea>[0-9a-f]+)\(%rsp\),%rsp)')
UNKNOWN = re.compile(r'\bcall\s+\*|\b(sub|and)\s+%\w+,%rsp')


# A block that is not moved yet is read from where it was, which asks for the block once more: it is
# marked as moved before (no_tls.c).
ONCE_MORE = 'agent_no_tls_block'

# Calls through a pointer: the only functions that it has in the agent.
READERS = ['read_memory', 'read_comm', 'read_caller', 'read_argument']
PIECES = ['read_ranges', 'read_strings']
THROUGH = {'fetch_run': READERS, 'read_waiting': READERS + PIECES, 'string': READERS, 'run_long_step': READERS, 'test': ['fetch_memory'],
           **dict.fromkeys(('call_copies_add', 'copy_iovecs', 'copy_message', 'copy_messages', 'add_part'), ['probe_read_anywhere'])}


class Function:
    def __init__(self):
        self.frame, self.calls, self.tails, self.unknown = 0, set(), set(), None


def disassembled(agent):
    """Without assembly's constants: objdump takes one for a function's name that has its address as value."""
    symbols = subprocess.run(['nm', agent], check=True, capture_output=True, text=True).stdout
    constants = {line.split()[2] for line in symbols.splitlines() if line.split()[1:2] == ['a']}
    with tempfile.NamedTemporaryFile() as copy:
        subprocess.run(['objcopy', *(f'--strip-symbol={name}' for name in constants), agent, copy.name], check=True)
        return subprocess.run(['objdump', '-d', '--no-show-raw-insn', copy.name], check=True, capture_output=True,
                              text=True).stdout


def functions_of(agent):
    """By name: the frame, and what it calls or continues in."""
    functions, name = {}, None
    for line in disassembled(agent).splitlines():
        if match := FUNCTION.match(line):
            name = match['name']
            functions[name] = Function()
            continue
        if not name or '\t' not in line:
            continue
        here = functions[name]
        if match := CALL.search(line):
            if match['how'] == 'call':
                here.calls.add(match['name'])
            elif not match['inside']:
                here.tails.add(match['name'])
        elif match := FRAME.search(line):
            here.frame += 8 if match['push'] else int(match['sub'] or match['lea'], 16)
        elif UNKNOWN.search(line):
            here.unknown = line.strip()
    for name, targets in THROUGH.items():
        functions[name].calls.update(targets)
        functions[name].unknown = None
    return functions


def base(name):
    """A function's cold part runs in its frame, and stands at another place."""
    return name.split('.cold')[0]


def depth(functions, name, above=()):
    """(bytes, path), without the call that enters it."""
    here = functions[name]
    if name in above and ONCE_MORE in above[above.index(name):]:
        if above.count(name) > 1:
            return 0, ()
    elif name in above:
        sys.exit(f'depth.py: recursion: {" < ".join((name, *reversed(above)))}')
    if here.unknown:
        sys.exit(f'depth.py: {name}: unknown depth behind `{here.unknown}`')
    deepest = (0, ())
    for other in here.calls | here.tails:
        if base(other) == base(name):
            continue
        bytes_there, path = depth(functions, other, (*above, name))
        deepest = max(deepest, (bytes_there + (8 if other in here.calls else 0), path))
    return deepest[0] + here.frame, ((name, here.frame), *deepest[1])


def main():
    agent, *names = sys.argv[1:]
    functions = functions_of(agent)
    for name in names:
        bytes_there, path = depth(functions, name)
        print(name, bytes_there + 8, *(f'{function}:{frame}' for function, frame in path))


main()
