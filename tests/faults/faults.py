#!/usr/bin/python3
"""faults.py BRACE FAIL_ONCE VICTIM DIRECTORY [--most N] [--seconds S] [--only SCENARIO] [--workers N]

Each call that brace makes of the system fails once, and what comes of it is looked at. A scenario is a few commands of
brace's with a program (SCENARIOS). It runs once undisturbed, and all places in brace that call a function of fail_once.c
are noted; then each place fails in a run of its own, at its first call, and at later ones if it has more. Prints TAP.

What must hold, whatever fails:
  brace does what it would have done, or it ends with its own status and one sentence; it never ends by a signal;
  the program makes all its calls and ends as it would, or has not begun;
  of a trace that brace says is whole, kept + lost are the records that the program made;
  within LIMIT seconds all is over: no process is left, no mount, no file but those that were asked for.
"""
import argparse
import collections
import ctypes
import json
import mmap
import os
import random
import re
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time

LIMIT = 30  # seconds for any one thing: what takes longer is a hang
OWN_FAILURES = (125, 126, 127)
CODE = 7    # of the program
THREADS, CALLS = 2, 300
PR_SET_CHILD_SUBREAPER = 36

# --- the state shared with brace: fail_once.h -----------------------------------------------------

HEADER = struct.Struct('<QIIiI')
PLACE = struct.Struct('<QII32s24Q')
PLACES = 8192

Place = collections.namedtuple('Place', 'key calls name chain')


def state_make(path, key=0, nth=0):
    with open(path, 'wb') as f:
        f.write(HEADER.pack(key, nth, 0, 0, 0))
        f.truncate(HEADER.size + PLACES * PLACE.size)


def state_read(path):
    """(the process that saw the failure or 0, [Place])"""
    with open(path, 'rb') as f:
        data = f.read()
    failed, lost = HEADER.unpack_from(data)[3:5]
    assert not lost, 'fail_once.h has room for too few places'
    places = []
    for i in range(PLACES):
        key, calls, depth, name, *chain = PLACE.unpack_from(data, HEADER.size + i * PLACE.size)
        if key:
            places.append(Place(key, calls, name.rstrip(b'\0').decode(), tuple(chain[:depth])))
    return failed, places


# --- one run --------------------------------------------------------------------------------------

LEDGER_SIZE = 48 + 60 * 8 # struct ledger, as made() reads it


class Ledger:
    """What the program counts of its own deeds (tests/targets/ledger.h)."""
    def __init__(self, path):
        self.path = path

    def map(self):
        try:
            with open(self.path, 'r+b') as f:
                return mmap.mmap(f.fileno(), 0) if os.fstat(f.fileno()).st_size else None
        except FileNotFoundError:
            return None

    def begun(self):
        m = self.map()
        return bool(m) and struct.unpack_from('<i', m, 0)[0] != 0

    def pid(self):
        return struct.unpack_from('<i', self.map(), 0)[0]

    def waits(self):
        m = self.map()
        return bool(m) and struct.unpack_from('<i', m, 4)[0] == 1

    def let_go(self):
        """Makes the ledger where there is none: a program that a failed command let run begins only later."""
        with open(self.path, 'ab') as f:
            os.ftruncate(f.fileno(), LEDGER_SIZE)
        self.map()[8] = 1

    def made(self):
        return sum(struct.unpack_from('<60Q', self.map(), 48))


class Run:
    """One run of a scenario in a directory of its own. `faults` are the complaints about it."""
    def __init__(self, given, directory, key, nth):
        self.given, self.dir, self.victim = given, directory, given.victim
        self.faults, self.said, self.extra = [], [], set()
        self.state = self.path('state')
        self.ledger = Ledger(self.path('ledger'))
        self.refused = False
        self.children = {}     # pid: status, of all that ended
        self.env = {'PATH': os.environ['PATH'], 'LC_ALL': 'C', 'NO_COLOR': '1', 'HOME': self.dir, 'TMPDIR': self.path('tmp'),
                    'XDG_RUNTIME_DIR': self.path('run'), 'XDG_CACHE_HOME': self.path('cache')}
        for name in ('run', 'tmp', 'cache'):
            os.makedirs(self.path(name), 0o700, exist_ok=True)
        state_make(self.state, key, nth)

    def path(self, name):
        return os.path.join(self.dir, name)

    def fault(self, text):
        self.faults.append(text)

    # -- processes

    def begin(self, *argv, inject=True):
        env = dict(self.env)
        if inject:
            env.update(LD_PRELOAD=self.given.fail_once, FAIL_ONCE=self.state)
        out, err = tempfile.TemporaryFile(dir=self.given.directory), tempfile.TemporaryFile(dir=self.given.directory)
        p = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=out, stderr=err, cwd=self.dir, env=env)
        p.files = out, err
        p.name = os.path.basename(argv[0]) + ' ' + argv[1] if len(argv) > 1 else argv[0]
        return p

    def end(self, p, expected=0, seconds=LIMIT):
        """Waits for a command of brace's. True: it did what it should; False: it refused, with a sentence."""
        try:
            status = p.wait(seconds)
        except subprocess.TimeoutExpired:
            self.fault(f'hang: {p.name} has not ended after {seconds} s' + where(p.pid))
            p.kill()
            p.wait()
            return False
        texts = []
        for f in p.files:
            f.seek(0)
            texts.append(f.read().decode(errors='replace'))
            f.close()
        p.out, p.err = texts
        self.said.append((p.name, status, p.err))
        if status == expected:
            return True
        self.refused = True
        if status < 0:
            self.fault(f'crash: {p.name} ended by signal {-status}')
        elif status not in OWN_FAILURES:
            self.fault(f'status {status} of {p.name} is not its own, nor the expected {expected}')
        sentences = [line for line in p.err.splitlines() if line.startswith('brace: ') and shape(line) not in self.given.usual]
        if len(sentences) != 1:
            self.fault(f'{len(sentences)} sentences of {p.name}')
        return False

    def brace(self, *args, expected=0, inject=True):
        p = self.begin(self.given.brace, *args, inject=inject)
        done = self.end(p, expected)
        self.out = getattr(p, 'out', '')
        return done

    def until(self, condition, what, seconds=LIMIT):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if condition():
                return True
            time.sleep(0.002)
        self.fault(f'hang: {what} after {seconds} s')
        return False

    def program(self, ending='_exit'):
        return [self.victim, self.ledger.path, str(THREADS), str(CALLS), ending, str(CODE)]

    def reap_all(self):
        """Everything that a command left behind is our child now: what does not end by itself is left over."""
        end = time.monotonic() + LIMIT
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid:
                self.children[pid] = status
                killed = os.WIFSIGNALED(status) and os.WTERMSIG(status)
                # What has not begun is brace's to kill.
                if killed and (killed != signal.SIGKILL or self.ledger.begun()):
                    self.fault(f'crash: process {pid} ended by signal {os.WTERMSIG(status)}')
            elif time.monotonic() > end:
                break
            else:
                time.sleep(0.002)
        while (left := children()):
            for pid in left:
                self.fault(f'left over: process {pid}, {command(pid)}{where(pid)}')
                os.kill(pid, signal.SIGKILL)
                os.waitpid(pid, 0)

    # -- what is left

    def check_program(self):
        """It made all its calls, or never began; and if brace did not wait for it, its status came to us."""
        if not self.ledger.begun():
            if not self.refused:
                self.fault('the program never ran')
            return
        waited = self.ledger.waits()
        made, code = (MADE + THREADS * CALLS, 0) if waited else (MADE, CODE)
        if self.ledger.made() != made:
            self.fault(f'harm: the program made {self.ledger.made()} of {made} calls')
        status = self.children.get(self.ledger.pid())
        if status is not None and status != code << 8:
            self.fault(f'harm: the program ended with wait status {status:#x}')

    def check_trace(self, file, records):
        """kept + lost are so many."""
        if not self.brace('info', '--json', file, inject=False):
            return
        found = re.search(r'"type":"trace".*?"records":(\d+).*?"lost":(\d+)', self.out)
        if not found or int(found[1]) + int(found[2]) != records:
            self.fault(f'count: {found and found.groups()} are kept and lost of {records}')

    def check_files(self):
        known = {'state', 'ledger', 'run', 'tmp', 'cache', 'mnt'} | self.extra
        for name in os.listdir(self.dir):
            if name not in known:
                self.fault(f'left over: file {name}')
        for folder in ('run', 'tmp'):
            for at, _, files in os.walk(self.path(folder)):
                for name in files:
                    if not name.endswith('.lock'): # a session's name has it for good
                        self.fault(f'left over: file {os.path.join(at, name)[len(self.dir) + 1:]}')
        for at, _, files in os.walk(self.path('cache')):
            for name in files:
                if not re.fullmatch(r'[0-9a-f]+-[0-9a-f]+', name):
                    self.fault(f'left over: file {name} in the cache')
        for line in open('/proc/mounts'):
            if f' {self.dir}/' in line:
                self.fault(f'left over: mount {line.split()[1][len(self.dir) + 1:]}')
                subprocess.run(['umount', '-l', line.split()[1]], check=False)


def shape(line):
    """A sentence without its figures: what brace says of a run that went well is no refusal."""
    return re.sub(r'\b(no|\d[\d.,]*)( [mun]?s\b)?', 'N', line)


def children():
    with open(f'/proc/self/task/{os.getpid()}/children') as f:
        return [int(pid) for pid in f.read().split()]


def command(pid):
    try:
        with open(f'/proc/{pid}/cmdline') as f:
            return f.read().replace('\0', ' ')
    except OSError:
        return '?'


def where(pid):
    """The functions that its threads stand in, if there is a gdb to tell."""
    if not shutil.which('gdb') or 'FAULTS_WHERE' not in os.environ:
        return ''
    text = subprocess.run(['gdb', '-batch', '-ex', 'thread apply all bt 12', '-p', str(pid)],
                          capture_output=True, text=True, check=False).stdout
    return '\n' + '\n'.join(line for line in text.splitlines() if line.startswith(('#', 'Thread')))


# --- scenarios ------------------------------------------------------------------------------------

MADE = 1 + THREADS * CALLS


def launched(run, *command_line):
    """A command that starts the program and waits for it."""
    done = run.brace(*command_line, '--', *run.program(), expected=CODE)
    run.reap_all()
    run.check_program()
    return done


def record(run):
    run.extra.add('trace')
    if launched(run, 'record', '-l', 'step', '-o', run.path('trace')):
        run.check_trace(run.path('trace'), 2 * MADE)


RING_SIZE = ('--ring-size', '1M')


def holds_ring(directory):
    """Whether the file system is one of those that record --ring takes."""
    kind = subprocess.run(['stat', '-f', '-c', '%T', directory], capture_output=True, text=True, check=True).stdout.strip()
    return kind in ('tmpfs', 'ext2/ext3', 'xfs', 'f2fs')


def ring(run):
    """Records in a file of their own, which stays only if brace ends at once: what it has can be recovered."""
    run.extra.add('trace')
    if launched(run, 'record', '-l', 'step', '--ring', run.path('ring'), *RING_SIZE, '-o', run.path('trace')):
        run.check_trace(run.path('trace'), 2 * MADE)
    if any('out of memory' in err or 'cannot start a thread' in err for *_, err in run.said):
        run.extra.add('ring')


def ring_recover(run):
    """A program that stands still, whose tracer was killed, and whose records are in a file."""
    run.extra.update(('trace', 'whole', 'ring'))
    at = ('--ring', run.path('ring'))
    recovered(run, at + RING_SIZE, lambda pid: at)


def graph(run):
    if launched(run, 'graph', '-l', 'step') and (n := step_lines(run.out)) != MADE:
        run.fault(f'count: {n} lines of {MADE} calls')


def attach(run):
    run.extra.add('trace')
    program = run.begin(*run.program('wait'), inject=False)
    run.until(run.ledger.waits, 'the program does not wait')
    p = run.begin(run.given.brace, 'record', '-l', 'step', '-o', run.path('trace'), '-p', str(program.pid))
    run.until(lambda: p.poll() is not None or attached(program.pid), 'brace does not attach')
    run.ledger.let_go()
    done = run.end(p)
    if program.wait(LIMIT):
        run.fault(f'harm: the program ended with {program.returncode}')
    run.reap_all()
    run.check_program()
    if done:
        run.check_trace(run.path('trace'), 2 * THREADS * CALLS)


def stack(run):
    """A program that waits is looked at, and goes on."""
    program = run.begin(*run.program('wait'), inject=False)
    run.until(run.ledger.waits, 'the program does not wait')
    if run.brace('stack', '-p', str(program.pid)) and not run.out.startswith('thread '):
        run.fault('output: no thread is printed')
    run.ledger.let_go()
    if program.wait(LIMIT):
        run.fault(f'harm: the program ended with {program.returncode}')
    run.reap_all()
    run.check_program()


def attached(pid):
    """The agent is in, and nobody holds the process."""
    try:
        with open(f'/proc/{pid}/status') as status, open(f'/proc/{pid}/maps') as maps:
            return 'memfd:brace' in maps.read() and 'TracerPid:\t0\n' in status.read()
    except OSError:
        return True


def static(run):
    """A program without a loader: it is held at its first instruction."""
    run.extra.add('trace')
    run.victim = run.given.victim + '-static'
    record(run)


def events(run):
    run.extra.add('trace')
    launched(run, 'record', '-l', 'step', '-e', 'sched', '-e', 'syscalls:sys_enter_getppid', '-o',
             run.path('trace'))


def daemon(run):
    """start, show, stop, restart, extract and reset of a session in the background."""
    run.extra.add('trace')
    if run.brace('start', '-l', 'step', '--', *run.program('wait')) and \
            run.until(lambda: run.ledger.waits() or no_session(run), 'the program does not wait'):
        whole = run.brace('show') and step_lines(run.out)
        if whole is not False and whole != MADE:
            run.fault(f'count: {whole} lines of {MADE} calls')
        run.brace('stop')
        run.brace('restart')
        if run.brace('extract', '-o', run.path('trace')):
            run.check_trace(run.path('trace'), 2 * MADE)
    run.ledger.let_go()
    run.brace('reset')
    end_session(run)
    run.reap_all()
    run.check_program()


def daemon_attach(run):
    program = run.begin(*run.program('wait'), inject=False)
    run.until(run.ledger.waits, 'the program does not wait')
    started = run.brace('start', '-l', 'step', '-p', str(program.pid))
    run.ledger.let_go()
    if program.wait(LIMIT):
        run.fault(f'harm: the program ended with {program.returncode}')
    if started and run.brace('show') and (n := step_lines(run.out)) != THREADS * CALLS:
        run.fault(f'count: {n} lines of {THREADS * CALLS} calls')
    end_session(run)
    run.reap_all()
    run.check_program()


def step_lines(text):
    return len(re.findall(r'\bstep\(\)[ ;]', text))


def no_session(run):
    return not subprocess.run([run.given.brace, 'sessions'], env=run.env, capture_output=True, check=False).stdout


def end_session(run):
    """One that lives ends when it is asked undisturbed."""
    for _ in range(2): # the fault may be in the answer
        subprocess.run([run.given.brace, 'reset'], env=run.env, capture_output=True, check=False, timeout=LIMIT)
    if not no_session(run):
        run.fault('left over: a session that does not end')


def mount(run):
    at = run.path('mnt')
    os.mkdir(at)
    if run.brace('mount', '-t', 'function_graph', '-l', 'step', at, '--', *run.program('wait')):
        run.until(lambda: run.ledger.waits() or not is_mounted(at), 'the program does not wait')
        text = asked(run, 'cat', f'{at}/trace')
        if text is not None and step_lines(text) != MADE:
            run.fault(f'count: {step_lines(text)} lines of {MADE} calls')
        asked(run, 'sh', '-c', f'echo 0 >{at}/tracing_on; mkdir {at}/instances/i && rmdir {at}/instances/i; '
                               f'ls {at} {at}/events/sched')
    run.ledger.let_go()
    run.until(lambda: not run.ledger.begun() or run.ledger.made() == MADE + THREADS * CALLS, 'the program does not go on')
    run.brace('umount', at)
    if is_mounted(at):
        run.brace('umount', '--lazy', at, inject=False)
    run.reap_all()
    run.check_program()


def is_mounted(at):
    with open('/proc/mounts') as f:
        return any(line.split()[1] == at for line in f)


def asked(run, *argv):
    """What a program reads of the tree, None if it could not: it may be told of an error, not be kept waiting."""
    try:
        done = subprocess.run(argv, capture_output=True, text=True, timeout=LIMIT, check=False)
    except subprocess.TimeoutExpired:
        run.fault(f'hang: {argv} has not ended after {LIMIT} s')
        return None
    if done.returncode:
        run.refused = True
    return None if done.returncode else done.stdout


def asks(*words, lines):
    """A question about a program: its answer (the parts that match `lines`) is the undisturbed one, or brace tells
    what it lacks, or there is none."""
    def scenario(run):
        key = ' '.join(words)
        done = launched(run, *words)
        told = any('records lost: the answer lacks them' in err or 'is not traced' in err for *_, err in run.said)
        if done and not told:
            text = '\n'.join(re.findall(lines, run.out, re.M))
            if run.given.outputs.setdefault(key, text) != text:
                run.fault(f'output: {key} answers something else: {difference(run.given.outputs[key], text)}')
    return scenario


def reads(*words, behind=(), output=None):
    """A command that reads a trace: it prints, or writes into the file `output`, what it does undisturbed, or refuses."""
    def scenario(run):
        shutil.copy(run.given.trace, run.path('trace'))
        run.extra.add('trace')
        key = ' '.join(words)
        to = ('-o', run.path(output)) if output else ()
        if run.brace(*words, *to, run.path('trace'), *(w.replace('TRACE', run.path('trace')) for w in behind)):
            text = run.out.replace(run.dir, '')
            if output:
                run.extra.add(output)
                with open(run.path(output), encoding='utf-8') as f:
                    text += f.read().replace(run.dir, '')
            if run.given.outputs.setdefault(key, text) != text:
                run.fault(f'output: {key} prints something else: {difference(run.given.outputs[key], text)}')
    return scenario


def difference(a, b):
    a, b = a.splitlines() + [''], b.splitlines() + ['']
    return next((f'"{y}", not "{x}"' for x, y in zip(a, b) if x != y), '')


def recover(run):
    """A program that stands still, whose tracer was killed."""
    run.extra.update(('trace', 'whole'))
    recovered(run, (), lambda pid: ('-p', str(pid)))


def recovered(run, options, where):
    p = run.begin(run.given.brace, 'record', '-l', 'step', *options, '-o', run.path('trace'), '--', *run.program('wait'),
                  inject=False)
    run.until(run.ledger.waits, 'the program does not wait')
    p.kill()
    p.wait()
    if run.brace('recover', *where(run.ledger.pid()), '-o', run.path('whole'), run.path('trace')):
        run.check_trace(run.path('whole'), 2 * MADE)
    run.ledger.let_go()
    run.reap_all()
    run.check_program()


def imports(run):
    """Samples of perf script become a trace file."""
    run.extra.update(('samples', 'imported'))
    with open(run.path('samples'), 'w', encoding='utf-8') as f:
        for i in range(9):
            f.write(f'x 12/13 100.{i:06}: 1000 cpu-clock: \n\t401010 leaf+0x10 (/bin/x)\n\t402020 main+0x4 (/bin/x)\n\n')
    if run.brace('import', '-q', '-o', run.path('imported'), run.path('samples')):
        with open(run.path('imported'), 'rb') as f:
            if f.read(5) != b'brace':
                run.fault('output: import wrote no trace')


SCENARIOS = {
    'record': record, 'graph': graph, 'attach': attach, 'stack': stack, 'static': static, 'events': events, 'daemon': daemon,
    'daemon-attach': daemon_attach, 'mount': mount, 'recover': recover, 'ring': ring,
    'ring-recover': ring_recover, 'report': reads('report'),
    'report-json': reads('report', '--json'), 'replay': reads('replay'), 'info': reads('info'),
    'syscalls': reads('syscalls'), 'wakeup': reads('wakeup'), 'locks': reads('locks'),
    'rv': reads('rv', '--model', os.path.join(os.path.dirname(__file__), '../../docs/models/files.dot')), 'diff': reads('diff', behind=['TRACE']),
    'query': reads('query', behind=['SELECT name, count(*), sum(dur) FROM slice GROUP BY name']),
    'export': reads('export', '--to', 'folded', output='folded'), 'html': reads('html', '-q', output='page'),
    'import': imports,
}
QUESTIONS = { # nearly two thousand places each: left to the long version
    'hist': asks('hist', 'step', lines='Hits: .*'), 'durations': asks('hist', '--json', '-d', 'step', lines='"calls":\\d+,"open"'),
    'sql': asks('sql', 'SELECT count(*) FROM step', lines='^ *[0-9]+$'), 'probe': asks('probe', 'step', lines=': step:'),
}


# --- all runs -------------------------------------------------------------------------------------

class Given:
    """The command line, and the shapes of what brace says when nothing fails."""
    def __init__(self):
        self.usual, self.outputs, self.trace = set(), {}, None


def trial(given, name, key, nth):
    """In a process of its own, which inherits what brace leaves behind. (faults, said, failed, places)"""
    directory = tempfile.mkdtemp(dir=given.directory)
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(reader)
        ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
        run = Run(given, directory, key, nth)
        try:
            (SCENARIOS | QUESTIONS)[name](run)
            run.reap_all()
            run.check_files()
        except Exception as e:  # pylint: disable=broad-except
            run.fault(f'{type(e).__name__}: {e} (line {e.__traceback__.tb_next and e.__traceback__.tb_next.tb_lineno})')
            run.reap_all()
        failed, places = state_read(run.state) if not key else (state_failed(run.state), [])
        with os.fdopen(writer, 'w') as f:
            json.dump([run.faults, run.said, run.refused, failed, places, given.outputs], f)
        os._exit(0)
    os.close(writer)
    return pid, reader, directory


def state_failed(path):
    with open(path, 'rb') as f:
        return HEADER.unpack(f.read(HEADER.size))[3]


def finish(pid, reader, directory):
    with os.fdopen(reader) as f:
        text = f.read()
    os.waitpid(pid, 0)
    shutil.rmtree(directory, ignore_errors=True)
    faults, said, refused, failed, places, outputs = json.loads(text)
    return faults, said, refused, failed, [Place(*p) for p in places], outputs


def names(given, chain):
    """The functions of a chain, innermost first."""
    text = subprocess.run(['addr2line', '-f', '-e', given.brace] + [hex(a - 1) for a in chain],
                          capture_output=True, text=True, check=False).stdout
    lines = text.splitlines()
    return [f'{f}:{at.rsplit("/", 1)[-1].split(" ")[0]}' for f, at in zip(lines[::2], lines[1::2])]


def moments(place):
    """Which of its calls fail: the first, and if there are more the last and one between."""
    return sorted({1, max(1, place.calls // 2), place.calls})


def plan(given):
    """[(scenario, place, nth)], in an order in which any beginning is a fair sample."""
    todo = []
    for name in SCENARIOS | QUESTIONS:
        if given.only and name not in given.only or given.quick and name in QUESTIONS:
            continue
        if name.startswith('ring') and not holds_ring(given.directory):
            print(f'# {name}: left out, {given.directory} cannot have a ring')
            continue
        faults, said, refused, _, places, outputs = finish(*trial(given, name, 0, 0))
        given.outputs.update(outputs)
        print(f'# {name}: {len(places)} places call {sum(p.calls for p in places)} times', flush=True)
        if faults or refused:
            print(f'not ok - {name} runs undisturbed: {faults} {said}')
            sys.exit(1)
        given.usual.update(shape(line) for _, _, err in said for line in err.splitlines())
        todo += [(name, p, nth) for p in sorted(places) for nth in moments(p)
                 if not given.place or given.place in (p.name, f'{p.key:x}')]
    random.Random(given.seed).shuffle(todo)
    return todo[:given.most]


def run_all(given, todo):
    running, seen, end = [], collections.Counter(), time.monotonic() + given.seconds
    bad = []

    def collect(name, place, nth, handles):
        faults, said, refused, failed, *_ = finish(*handles)
        outcome = 'faults' if faults else 'not reached' if not failed else 'refused' if refused else 'as if nothing'
        seen[outcome] += 1
        if faults or given.verbose:
            bad.append(place)
            print(f'# {name}: {place.name} {place.key:x} call {nth} of {place.calls}: {outcome}')
            for text in faults:
                print('#   ' + text.replace('\n', '\n#     '))
            for what, status, err in said:
                print(f'#   {what}: {status} ' + ' | '.join(err.splitlines()[:6]))
            print('#   at ' + ' < '.join(names(given, place.chain)[:9]), flush=True)

    for name, place, nth in todo:
        if time.monotonic() > end:
            seen['left out'] += 1
            continue
        if len(running) >= given.workers:
            collect(*running.pop(0))
        running.append((name, place, nth, trial(given, name, place.key, nth)))
    for job in running:
        collect(*job)
    return seen, bad


def main():
    parser = argparse.ArgumentParser()
    for name in ('brace', 'fail_once', 'victim', 'directory'):
        parser.add_argument(name, type=os.path.realpath)
    parser.add_argument('--most', type=int, default=1 << 30)
    parser.add_argument('--seconds', type=float, default=1e9)
    parser.add_argument('--workers', type=int, default=2)
    parser.add_argument('--seed', type=int, default=1)
    parser.add_argument('--only', action='append')
    parser.add_argument('--place')
    parser.add_argument('--quick', action='store_true', help='leave QUESTIONS out')
    parser.add_argument('--verbose', action='store_true')
    given = parser.parse_args(namespace=Given())
    given.trace = os.path.join(given.directory, 'trace')
    subprocess.run([given.brace, 'record', '-q', '-o', given.trace, '--', given.victim,
                    os.path.join(given.directory, 'ledger'), '2', '300'], check=True, capture_output=True)
    todo = plan(given)
    seen, bad = run_all(given, todo)
    print('# ' + ', '.join(f'{n} {what}' for what, n in sorted(seen.items())))
    print(f"{'not ok' if bad else 'ok'} 1 - {sum(seen.values())} faults")
    print('1..1')
    return bool(bad)


if __name__ == '__main__':
    sys.exit(main())
