# Children by clone, clone3, fork and vfork as libc's syscall() makes them, beside those that libc makes itself.
import ctypes, os, signal

libc = ctypes.CDLL(None, use_errno=True)
CLONE, FORK, CLONE3 = 56, 57, 435
CLONE_VM, CLONE_VFORK, CLONE_PARENT_SETTID = 0x100, 0x4000, 0x100000


def made(pid):
    if pid == 0:
        os._exit(0)
    os.waitpid(pid, 0)


class Arguments(ctypes.Structure):
    _fields_ = [(name, ctypes.c_uint64) for name in "flags pidfd child parent signal stack size tls".split()]


where = ctypes.c_int()
for i in range(10):
    made(libc.syscall(CLONE, signal.SIGCHLD, 0, 0, 0, 0))
    made(libc.syscall(CLONE, signal.SIGCHLD | CLONE_PARENT_SETTID, 0, ctypes.byref(where), 0, 0))
    made(libc.syscall(FORK))
    three = Arguments(signal=signal.SIGCHLD)
    made(libc.syscall(CLONE3, ctypes.byref(three), ctypes.sizeof(three)))
    assert libc.syscall(CLONE, 0xFFFFFFFF, 0, 0, 0, 0) == -1 and ctypes.get_errno() != 0
    made(os.fork())
print("made", libc.syscall(39) == os.getpid())
