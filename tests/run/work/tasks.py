# Threads, children made in every way Python has, names, programs executed.
import ctypes, multiprocessing, os, subprocess, sys, threading

libc = ctypes.CDLL(None)


def rename(name):
    libc.prctl(15, name, 0, 0, 0)


def main():
    threads = [threading.Thread(target=rename, args=(b"thread-%d" % i,)) for i in range(20)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    rename(b"a name longer than fifteen")
    for i in range(4):
        pid = os.fork()
        if pid == 0:
            rename(b"child-%d" % i)
            os._exit(i)
        os.waitpid(pid, 0)
    subprocess.run(["/bin/true"], check=True)
    subprocess.run(["/bin/sh", "-c", "/bin/true; (exit 3)"])
    os.waitpid(os.posix_spawn("/bin/true", ["true"], {}), 0)
    multiprocessing.Process(target=rename, args=(b"of-a-pool",)).start()
    for p in multiprocessing.active_children():
        p.join()
    try:
        os.execv("/nowhere/at/all", ["x"])
    except FileNotFoundError:
        pass
    sys.stdout.flush()
    # A thread other than the first executes a program: that has the first one's number from then on.
    last = threading.Thread(target=os.execv, args=("/bin/sh", ["sh", "-c", "exit 0"]))
    last.start()
    last.join()


main()
