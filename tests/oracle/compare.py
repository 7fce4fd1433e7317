"""compare.py KERNEL BRACE [DIFFERENCES]: a kernel's answers to the operations, and brace's, line by line.

What must differ from run to run (times, process numbers, processors) is masked in both. brace writes an entry into
error_log for every write that it refuses, the kernel only for some: where the kernel has none, there must be one, and
its text is not compared; where the kernel has several for one write, brace has the first. Options that brace says it does not have are not compared, nor are those of newer kernels and brace's own. Every other difference must be listed in DIFFERENCES with what brace answers, and every one
that is listed must be there: prints what is not so, as the list would have it, and how many were compared. Without a
list both are kernels.
"""
import re
import sys

MASKS = [
    (re.compile(r'^([!|]) \[ *\d+\.\d+\]'), r'\1 [TIME]'),
    (re.compile(r'^(\|)? *\S.{0,15}-\d+ +\[\d+\] \S{5} +\d+\.\d+: '), r'\1 TASK: '),
    (re.compile(r'#P:\d+'), '#P:N'),
    (re.compile(r'^(\| ID:) [1-9]\d\d+$'), r'\1 N'),
    (re.compile(r'^(\| (?:oldest event|now) ts:) +[\d.]+'), r'\1 TIME'),
]


def masked(line):
    for pattern, instead in MASKS:
        line = pattern.sub(instead, line)
    return line


def blocks(path):
    """(operation, which of its like it is): its lines"""
    found, seen, lines = {}, {}, []
    for line in open(path, errors='backslashreplace').read().split('\n'):
        if line.startswith('> '):
            seen[line] = seen.get(line, 0) + 1
            lines = found[line, seen[line]] = []
        elif line and not line.startswith('# '):
            lines.append(masked(line))
    return found


def listed(path):
    """The same of the list, in which an operation that is not the first of its like has @N behind it."""
    found, lines = {}, []
    for line in open(path).read().split('\n'):
        if line.startswith('> '):
            operation, _, which = line.partition('  @')
            lines = found[operation, int(which or 1)] = []
        elif line and not line.startswith('='):
            lines.append(line)
    return found


LISTS = re.compile(r'^> [trawn] (instances/one/)?(set_event|set_graph_function|set_graph_notrace|set_ftrace_filter|set_ftrace_notrace)\b')
CHECKED = re.compile(r'^> ([taw] (?!instances/)|T (trace_options|set_ftrace_filter) )')
NEWER = re.compile(r'^\| (no)?(copy_trace_marker|funcgraph-retaddr|funcgraph-args|func-args|causal-order)$')
NO_EFFECT = re.compile(r'brace does not have this option')


def sorted_list(lines):
    """Which order functions, events and commands are listed in is nobody's promise."""
    return [line for line in lines if not line.startswith('|')] + sorted(line for line in lines if line.startswith('|'))


SHAPE = [
    (r'<\.\.\.>|operate', 'TASK'),
    (r'trace v1.1.5 on .*', 'trace v1.1.5 on KERNEL'),
    (r'\(M:\w+ ', '(M:MODEL '),
    (r'\((-+| *\d+)\)', '(TGID)'),
    (r'\d+us[ +!#*@$]:', 'Nus:'),
    (r'\b(0x)?(?=[0-9a-f]*[0-9])[0-9a-f]+(?=\b|ms)', 'N'),
    (r'[ .]+', ' '),
    (r'buf:( N)+', 'buf: N'),
]


def shape(line):
    """Its words: no numbers, and nothing of how long they are."""
    for pattern, instead in SHAPE:
        line = re.sub(pattern, instead, line)
    return line


def plain(operation, lines):
    if re.match(r'> s(read)? ', operation):
        lines = [shape(line) for line in lines]
    if 'tracing_cpumask' in operation:
        lines = [re.sub(r'^\| [0,]+(?=[0-9a-f])', '| ', line) for line in lines]
    if '%{' in operation:  # as long as the number is
        lines = [re.sub(r'write \d+', 'write N', line) for line in lines]
    return sorted_list(lines) if LISTS.match(operation) else lines


def first_entry(kernel, brace):
    """The kernel logs several sentences for some faults, and one for some writes that it takes; brace logs the first,
    and none."""
    entries = [i for i, line in enumerate(kernel) if re.match('! .*error: ', line)]
    logged = sum(bool(re.match('! .*error: ', line)) for line in brace)
    if len(entries) > 1 and logged == 1:
        return kernel[:entries[1]]
    if entries and not logged and re.search(r'\bwrite \d', kernel[0]):
        return [line for line in kernel if not line.startswith('!')]
    return kernel


def alike(operation, kernel, brace, two_kernels=False):
    """The two blocks as they are compared."""
    if two_kernels:  # what stands behind a raw marker's end is left from others
        kernel, brace = [[re.sub(r'( buf:( ..){27}).*', r'\1', line) for line in lines] for lines in (kernel, brace)]
        return plain(operation, kernel), plain(operation, brace)
    brace = [line for line in brace if not NEWER.match(line)]
    kernel = first_entry(kernel, brace)
    if any(NO_EFFECT.search(line) for line in brace):
        return [], []
    if not any(line.startswith('!') for line in kernel):
        failed = any(re.search(r'\bwrite E', line) for line in brace[:1])
        logged = any(line.startswith('!') for line in brace)
        brace = [line for line in brace if not line.startswith('!')]
        if failed and not logged and CHECKED.match(operation):
            brace.append('! nothing')
    return plain(operation, kernel), plain(operation, brace)


def entry(key, lines):
    operation, which = key
    return '\n'.join([operation + (f'  @{which}' if which > 1 else '')] + lines)


def main():
    kernel, brace, two_kernels = blocks(sys.argv[1]), blocks(sys.argv[2]), len(sys.argv) == 3
    known = {} if two_kernels else listed(sys.argv[3])
    wrong = 0
    for key in kernel:
        a, b = alike(key[0], kernel[key], brace.get(key, ['nothing']), two_kernels)
        if a == b:
            if key in known:
                wrong += 1
                print(f'no longer differs, but is listed:\n{entry(key, b)}')
        elif known.get(key) != b:
            wrong += 1
            print(f'{entry(key, b)}\nthe kernel:\n' + '\n'.join(a) + '\n')
    for key in [key for key in known if key not in kernel] + [key for key in brace if key not in kernel]:
        wrong += 1
        print(f'is not among the kernel\'s:\n{entry(key, [])}')
    print(f'{len(kernel)} compared, {len(known)} differences known, {wrong} wrong')
    return wrong > 0 or len(kernel) < 1000


if __name__ == '__main__':
    sys.exit(main())
