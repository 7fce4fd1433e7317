"""retaddr.py PROGRAM GRAPH: each `<-caller+0x2e/0x80` of a graph with funcgraph-proc, against objdump's disassembly of the program.

Behind a call instruction of just that function, of that size, the address must lie; a direct call must go to the function whose line
it is, or to one that goes on to it by a jump. Prints what is not so, and last how many lines have an address, how many have
none though their call returned, and how many calls of the program's own functions were direct.
"""
import collections
import re
import subprocess
import sys


class Function:
    def __init__(self, begin):
        self.begin, self.returns, self.jumps = begin, {}, set()


def disassembled(program):
    functions, now, before = {}, None, None
    text = subprocess.run(['objdump', '-d', '--no-show-raw-insn', '-M', 'intel', program], stdout=subprocess.PIPE, text=True, check=True).stdout
    for line in text.split('\n'):
        head = re.match(r'([0-9a-f]+) <([^>]+)>:$', line)
        step = re.match(r' *([0-9a-f]+):\t(?:bnd )?(\w+)\s*(.*)', line)
        if head:
            now = functions[head[2]] = Function(int(head[1], 16))
            before = None
        elif step and now:
            if before is not None:
                now.returns[int(step[1], 16) - now.begin] = before
            target = re.search(r'<([^>+]+)>', step[3])
            target = target[1].replace('@plt', '') if target else ''
            before = target if step[2] == 'call' else None
            if step[2].startswith('j'):
                now.jumps.add(target)
    return functions


def sizes(program):
    text = subprocess.run(['nm', '-S', program], stdout=subprocess.PIPE, text=True, check=True).stdout
    return {m[2]: int(m[1], 16) for m in re.finditer(r'^[0-9a-f]+ ([0-9a-f]+) [tTwW] (\S+)$', text, re.M)}


def reaches(functions, name, callee):
    """By jumps alone."""
    seen, todo = set(), [name]
    while todo:
        at = todo.pop()
        if at == callee:
            return True
        if at not in seen and at in functions:
            seen.add(at)
            todo += functions[at].jumps
    return False


LINE = re.compile(r'^ *\d+\) +(\S+) +\|[^|]*\|  ( *)(?:([\w.@+]+)\(\)( \{|;)|(\})( /\* \w+ unwound \*/)?)(?: /\*( <-([^\s+*]+)(?:\+0x([0-9a-f]+)(?:/0x([0-9a-f]+))?)?)?[^<]*\*/)?$')


def main():
    functions, lengths = disassembled(sys.argv[1]), sizes(sys.argv[1])
    count, wrong, open_lines = collections.Counter(), 0, collections.defaultdict(list)
    for line in open(sys.argv[2]):
        m = LINE.match(line.rstrip('\n'))
        if not m:
            continue
        _, thread, depth, callee, begins, ends, unwound, address, caller, offset, size = m.group(*range(11))
        if ends:
            begun = open_lines[thread, depth].pop() if open_lines[thread, depth] else True
            count['missing'] += not begun and not unwound
            continue
        if begins == ' {':
            open_lines[thread, depth].append(bool(address))
        count['with' if address else 'without'] += 1
        if not address or not size or caller not in functions:
            continue
        to = functions[caller].returns.get(int(offset, 16))
        ok = to is not None and int(size, 16) == lengths.get(caller, int(size, 16)) and (not to or reaches(functions, to, callee))
        count['direct'] += bool(to)
        if not ok:
            wrong += 1
            print(f'{line.rstrip()}: behind {to!r}')
    print(f'{count["with"]} with an address, {count["missing"]} missing, {count["direct"]} direct, {wrong} wrong')
    return wrong > 0 or count['missing'] > 0 or count['direct'] < 1000


sys.exit(main())
