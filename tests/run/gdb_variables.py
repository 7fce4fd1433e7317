# SPDX-License-Identifier: MIT
"""Runs within gdb: at each address of the file POINTS ("NAME 0xADDRESS" lines) prints "NAME variable=value ..." whenever
the program comes there, with all variables of the blocks around: whole numbers in decimal, strings in quotes. Addresses are the
file's: where the loader moves it, they move by what main moved. ELSEWHERE: it moves at random, and so does what is in memory that nobody
has written; and the room that a function finds below its stack is overwritten, so that a variable of it has another value until the function
has set it.
"""
import os

import gdb

WHOLE = (gdb.TYPE_CODE_INT, gdb.TYPE_CODE_ENUM, gdb.TYPE_CODE_BOOL, gdb.TYPE_CODE_CHAR)


def text_of(value):
    """None: it is neither a whole number nor a string."""
    kind = value.type.strip_typedefs()
    if value.is_optimized_out:
        return None
    if kind.code in WHOLE:
        return str(int(value))
    if kind.code == gdb.TYPE_CODE_PTR and str(kind.target().unqualified().strip_typedefs()) == 'char':
        # a line of a trace has no newline of its own
        return '"' + value.string('latin-1', length=-1)[:200].replace('\n', ' ') + '"'
    return None


class Point(gdb.Breakpoint):
    def __init__(self, name, address):
        super().__init__(f'*{address:#x}', internal=True)
        self.silent = True
        self.point, self.address = name, address

    def stop(self):
        frame, seen, out = gdb.newest_frame(), set(), []
        block = gdb.block_for_pc(self.address)
        while block is not None and not block.is_static and not block.is_global:
            for symbol in block:
                if symbol.name in seen or not (symbol.is_variable or symbol.is_argument):
                    continue
                seen.add(symbol.name)
                try:
                    text = text_of(symbol.value(frame))
                except (gdb.error, gdb.MemoryError, UnicodeError):
                    continue
                if text is not None:
                    out.append(f'{symbol.name}={text}')
            block = block.superblock
        print(self.point, '\x1f'.join(out), flush=True)
        return False


class Begin(gdb.Breakpoint):
    """Where a function begins nobody uses what lies below the stack pointer."""
    def __init__(self, address):
        super().__init__(f'*{address:#x}', internal=True)
        self.silent = True

    def stop(self):
        below = int(gdb.newest_frame().read_register('rsp')) - 512
        gdb.selected_inferior().write_memory(below, b'\x5a' * 512)
        return False


def begin_of(address):
    block, begin = gdb.block_for_pc(address), None
    while block is not None and not block.is_static and not block.is_global:
        begin = block.start if block.function else begin
        block = block.superblock
    return begin


gdb.execute('set pagination off')
gdb.execute('set confirm off')
gdb.execute('set print elements 200')
if os.environ.get('ELSEWHERE'):
    gdb.execute('set disable-randomization off')
linked = int(gdb.parse_and_eval('(long)&main'))
gdb.execute('starti ' + os.environ['ARGS'] + ' > /dev/null')
moved = int(gdb.parse_and_eval('(long)&main')) - linked
begins = set()
for line in open(os.environ['POINTS']):
    Point(line.split()[0], int(line.split()[1], 16) + moved)
    begins.add(begin_of(int(line.split()[1], 16) + moved))
for begin in begins if os.environ.get('ELSEWHERE') else ():
    if begin is not None:
        Begin(begin)
gdb.execute('continue')
