"""Runs brace with a terminal as standard error, and looks at the line that shows how far it is.
meter.py BRACE TRACE. Prints TAP lines without numbers."""
import fcntl
import os
import pty
import re
import select
import signal
import subprocess
import sys
import termios
import time

BRACE, TRACE = sys.argv[1:]
LIMIT = 100
CLEAR = b"\r\x1b[K"
LINE = re.compile(rb"trace \[#*\.*\] +\d+ %  (\d+:\d\d left|once more|all is read)?")


def check(what, good, *why):
    print("ok -" if good else "not ok -", what)
    if not good:
        print("#", *why)


class Run:
    """A command whose output nobody reads yet."""

    def __init__(self, *args, terminal=True, out=None, term="xterm"):
        self.master, slave = pty.openpty()
        self.seen = b""
        read, write = os.pipe()
        self.out = os.fdopen(read, "rb")
        error = slave if terminal else subprocess.PIPE

        def own_terminal():
            os.setsid()
            if terminal:
                fcntl.ioctl(2, termios.TIOCSCTTY, 0)

        self.process = subprocess.Popen([BRACE, *args], stdin=subprocess.DEVNULL, stdout=out or write, stderr=error,
                                        env={**os.environ, "TERM": term}, preexec_fn=own_terminal)
        os.close(slave)
        os.close(write)

    def look(self, seconds):
        """What has come on the terminal; False: it is closed."""
        if not select.select([self.master], [], [], seconds)[0]:
            return True
        try:
            got = os.read(self.master, 65536)
        except OSError:
            return False
        self.seen += got
        return bool(got)

    def until_line(self):
        end = time.monotonic() + LIMIT
        while not LINE.search(self.seen) and time.monotonic() < end and self.look(0.5):
            pass
        return bool(LINE.search(self.seen))

    def finish(self):
        text = self.out.read()
        while self.look(1):
            pass
        self.process.wait()
        os.close(self.master)
        return text


def last_is_clear(seen):
    return seen.endswith(CLEAR) and LINE.search(seen.split(CLEAR)[-2])


plain = subprocess.run([BRACE, "replay", TRACE], stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=True)
assert len(plain.stdout) > 1 << 20

# The ones without a terminal begin first: they would have had more time for a line.
silent = Run("replay", TRACE, terminal=False)
dumb = Run("replay", TRACE, term="dumb")
shown = Run("replay", TRACE)
check("replay into a pipe that nobody reads shows how far it is", shown.until_line(), shown.seen)
check("the text is what it is without the line", shown.finish() == plain.stdout)
check("when all is printed the line is clear, and brace has ended well",
      last_is_clear(shown.seen) and shown.process.returncode == 0, shown.seen[-200:], shown.process.returncode)
silent.out.read()
check("no line where standard error is no terminal", silent.process.stderr.read() == b"")
silent.process.wait()
dumb.finish()
check("no line on a terminal that cannot clear one", dumb.seen == b"", dumb.seen)

stopped = Run("replay", TRACE)
check("the line is there", stopped.until_line(), stopped.seen)
stopped.process.send_signal(signal.SIGINT)
stopped.process.wait()
stopped.finish()
check("an interrupt ends brace as it does without the line, and clears it",
      stopped.process.returncode == -signal.SIGINT and stopped.seen.endswith(CLEAR), stopped.process.returncode, stopped.seen[-99:])

export = Run("export", "--to", "csv", TRACE)
check("an export shows the line", export.until_line(), export.seen)
export.process.send_signal(signal.SIGTERM)
text = export.finish()
check("an interrupted export says so on a line of its own",
      export.process.returncode == 125 and re.search(rb"\x1b\[Kbrace: [^\r]*interrupted", export.seen), export.process.returncode, export.seen[-200:])
