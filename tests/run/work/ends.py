# Threads that end in every way there is: by themselves, by another's exit_group, by a signal, by a program that another executes.
import os, signal, subprocess, threading


def wait():
    threading.Event().wait()


def many(n):
    for i in range(n):
        threading.Thread(target=wait, daemon=True).start()


def child(run):
    pid = os.fork()
    if pid == 0:
        run()
        os._exit(0)
    os.waitpid(pid, 0)


def killed(by):
    many(2)
    if by != signal.SIGKILL:
        signal.signal(by, signal.SIG_DFL)
    os.kill(os.getpid(), by)
    signal.pause()


def executes():
    many(3)
    threading.Thread(target=os.execv, args=("/bin/sh", ["sh", "-c", "exit 0"])).start()
    wait()


for i in range(3):
    child(lambda: many(5))
for by in (signal.SIGKILL, signal.SIGTERM, signal.SIGUSR2, signal.SIGALRM):
    child(lambda: killed(by))
for i in range(2):
    child(executes)
threads = [threading.Thread(target=int) for i in range(10)]
for t in threads:
    t.start()
for t in threads:
    t.join()
subprocess.run(["/bin/sh", "-c", "kill -9 $$"])
many(4)
