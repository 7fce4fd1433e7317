#!/bin/bash
# Events that programs register by the kernel's interface (user_events_data): what a program sees of it, what readers see of its records,
# who may, forks, execs and ends. Written after the kernel's user_events.rst; its own tests run in tests/soak/user-events.sh.
. "$(dirname "$0")/lib.sh"
need /usr/bin/python3
mkfifo "$T/stay"
cat >"$T/user_events.py" <<'P'
import ctypes, errno, os, re, signal, struct, subprocess, sys
os.chdir("/sys/kernel/tracing")
libc = ctypes.CDLL(None, use_errno=True)
REG, DEL, UNREG = 0xc0082a00, 0x40082a01, 0x40082a02
PERSIST, MULTI = 1, 2
def ok(name): print("ok", name, flush=True)
def read(name): return open(name).read()
def write(name, text, flags=os.O_TRUNC):
    try:
        fd = os.open(name, os.O_WRONLY | flags)
        try: os.write(fd, text.encode())
        finally: os.close(fd)
        return 0
    except OSError as e: return e.errno
def ioctl(fd, command, address):
    return 0 if libc.ioctl(fd, ctypes.c_ulong(command), ctypes.c_void_p(address)) == 0 else ctypes.get_errno()
def reg(fd, line, address, bit=0, size=4, flags=0, length=28, more=b""):
    """errno, and the index"""
    text = ctypes.create_string_buffer(line.encode())
    at = ctypes.create_string_buffer(struct.pack("<IBBHQQI", length, bit, size, flags, address, ctypes.addressof(text), 77) + more)
    e = ioctl(fd, REG, ctypes.addressof(at))
    return e, struct.unpack_from("<I", at, 24)[0]
def unreg(fd, address, bit=0, zeros=0):
    at = ctypes.create_string_buffer(struct.pack("<IBBHQ", 16, bit, 0, zeros, address))
    return ioctl(fd, UNREG, ctypes.addressof(at))
def delete(fd, name):
    text = ctypes.create_string_buffer(name.encode() + bytes(16))
    return ioctl(fd, DEL, ctypes.addressof(text))
def data(): return os.open("user_events_data", os.O_RDWR)
def put(fd, index, payload):
    try: return os.writev(fd, [struct.pack("<i", index), payload]) - 4
    except OSError as e: return -e.errno
def lines(name): return [l.split(": ", 1)[1] for l in read("trace").splitlines() if re.search(rf" {name}: ", l)]
def enable(name, on=1): return write(f"events/user_events/{name}/enable", str(on))

# --- programs of an exec of their own (`scene`), which have two words and no kin
if sys.argv[1:]:
    words = (ctypes.c_uint32 * 2)()
    at, wait = ctypes.addressof(words), os.pipe()
    def say(what): os.write(1, f"{what}\n".encode())
    def fork(body):
        pid = os.fork()
        if not pid: body(); os._exit(0)
        return pid
    def leaves(): # says its words when it is asked to; a line for each one
        os.close(wait[1]); say("there"); os.read(wait[0], 1); say(f"{words[0]}{words[1]}")
    def orphan(): os.waitpid(fork(lambda: fork(leaves)), 0)
    def has(n=0): assert reg(data(), "scene u32 a", at + 4 * n)[0] == 0
    def stays(): say("there"); sys.stdin.readline()
    if sys.argv[1] == "daemon": has(); os.dup2(0, wait[0]); fork(leaves); sys.exit()
    elif sys.argv[1] == "older": orphan(); has(); stays()
    elif sys.argv[1] in ("late", "later"): # a fork from before the registration forks after it, and may end
        go = os.pipe()
        old = fork(lambda: (os.read(go[0], 1), fork(leaves), os.close(wait[1]), sys.argv[1] == "late" and os.read(wait[0], 1)))
        has(); os.write(go[1], b".")
        if sys.argv[1] == "later": os.waitpid(old, 0)
        stays()
    elif sys.argv[1] in ("gave", "took"): # a fork gives the word up; a fork takes one more
        has()
        done = os.pipe()
        def other():
            if sys.argv[1] == "gave": assert unreg(data(), at) == 0
            else: has(1)
            os.close(wait[1]); os.write(done[1], b"."); os.read(wait[0], 1)
        fork(other); os.read(done[0], 1)
        orphan(); stays()
    elif sys.argv[1] == "full":
        has(); assert enable("scene") == 0 and words[0] == 1
        kids = [fork(lambda: (os.close(wait[1]), os.read(wait[0], 1), words[0] and say("on"))) for _ in range(300)]
        assert unreg(data(), at) == 0 and enable("scene", 0) == 0 and words[0] == 0
        os.close(wait[1])
        for k in kids: assert os.waitpid(k, 0)[1] == 0
        say("off"); sys.exit()
    os.close(wait[1]); sys.exit()
def scene(what, there):
    """What the leaves say after scene is enabled; where nobody is to be there, the program enables it."""
    p = subprocess.Popen([sys.executable, os.path.abspath(sys.argv[0]), what], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    for _ in range(there): assert p.stdout.readline() == "there\n", what
    if what == "daemon": p.wait()
    assert not there or enable("scene") == 0
    p.stdin.close()
    said = p.stdout.read().split()
    p.wait(); enable("scene", 0)
    return said

word = ctypes.c_uint32(0)
wide = ctypes.c_uint64(0)
at, wide_at = ctypes.addressof(word), ctypes.addressof(wide)
fd = data()
assert read("user_events_status") == "\nActive: 0\nBusy: 0\n", read("user_events_status")
assert reg(fd, "first u32 a; char[8] b;__rel_loc char[] c", at, 31) == (0, 0)
assert reg(fd, "second", wide_at, 40, 8) == (0, 1)
assert reg(fd, "first u32 a; char[8] b; __rel_loc char[] c", at, 3) == (0, 0)
assert read("user_events_status") == "first\nsecond\n\nActive: 2\nBusy: 0\n"
assert read("dynamic_events").splitlines() == ["u:first u32 a; char[8] b; __rel_loc char[] c", "u:second"], read("dynamic_events")
assert "\tfield:u32 a;\toffset:8;\tsize:4;\tsigned:0;\n\tfield:char b[8];\toffset:12;\tsize:8;\tsigned:1;\n\tfield:__rel_loc char c[];\toffset:20;\tsize:4;\tsigned:1;\n" \
    '\nprint fmt: "a=%u b=%s c=%s", REC->a, REC->b, __get_rel_str(c)\n' in read("events/user_events/first/format"), read("events/user_events/first/format")
ok("registered: the index, status, the format's file, dynamic_events")
other = data()
for e, *how in ((errno.EADDRINUSE, "first u32 a; char[8] b; __rel_loc char[] c", at, 31), (errno.EADDRINUSE, "first u32 a", at, 1), (errno.EINVAL, "bad", at, 32),
                (errno.EINVAL, "bad", at, 0, 2), (errno.EINVAL, "bad", at + 1, 0), (errno.EINVAL, "bad", wide_at + 4, 0, 8), (errno.EINVAL, "bad", at, 0, 4, 4),
                (errno.EINVAL, "bad", at, 0, 4, 0, 27), (errno.E2BIG, "bad", at, 0, 4, 0, 32, b"\1\0\0\0"), (errno.E2BIG, "bad", at, 0, 4, 0, 1 << 20),
                (errno.EFAULT, "bad", 8, 0), (errno.EINVAL, "bad:flag", at), (errno.EINVAL, "bad long a", at), (errno.EINVAL, "bad u32 a b", at), (errno.EINVAL, "bad u32", at),
                (errno.EINVAL, "bad u32  a", at), (errno.EINVAL, "bad struct x a", at), (errno.E2BIG, "bad char[505] a", at), (errno.EINVAL, "b" * 600, at), (errno.EINVAL, "a/b", at)):
    assert reg(other, *how)[0] == e, (how, errno.errorcode[e])
assert ioctl(fd, REG, 8) == errno.EFAULT and ioctl(fd, 0xc0082a09, at) == errno.ENOTTY
assert re.search(r"user_events: error: .*size behind the name\n  Command: bad struct x a\n +\^", read("error_log")), read("error_log")
long = "n" * 250
assert reg(other, long + " u32 a", at)[0] and re.search(rf"\n  Command: {long} u32.*\n {{11}}\^\n", read("error_log")), read("error_log")[-900:]
assert delete(fd, "bad") == errno.EBUSY # as in the kernel: the file has it, since only its word was bad
os.close(other); os.close(data())
assert not os.path.exists("events/user_events/bad")
page = libc.mmap; page.restype = ctypes.c_void_p
still = page(None, ctypes.c_size_t(4096), 1, 0x22, -1, ctypes.c_long(0)) # PROT_READ: the program could not write there either
assert reg(fd, "second", still)[0] == errno.EFAULT
ok("what is refused has the kernel's error, and a sentence in error_log")

assert (word.value, wide.value) == (0, 0)
assert put(fd, 0, b"x" * 16) == -errno.EBADF and put(fd, 0, b"x" * 15) == -errno.EINVAL and put(fd, 3, b"") == -errno.ENOENT and put(fd, -1, b"") == -errno.EINVAL
assert enable("first") == 0 and (word.value, wide.value) == (1 << 31 | 1 << 3, 0)
assert read("user_events_status") == "first # Used by ftrace\nsecond\n\nActive: 2\nBusy: 1\n"
wide.value = 1 << 41
assert enable("second") == 0 and wide.value == 1 << 41 | 1 << 40
assert enable("second", 0) == 0 and wide.value == 1 << 41
record = struct.pack("<I8sI6s", 7, b"eight\0\0\0", 6 << 16, b"hello\0")
assert put(fd, 0, record) == len(record)
assert lines("first") == ["first: a=0x7 (7) b=eight c=hello"] or lines("first") == ["a=0x7 (7) b=eight c=hello"], lines("first")
me = [l for l in read("trace").splitlines() if " first: " in l][0]
assert f"-{os.getpid()} " in me and "python" in me, me
for loc, text in ((6 << 16 | 1, b"hello\0"), (7 << 16, b"hello\0"), (6 << 16, b"hello!"), (1024, b"hello\0")):
    assert put(fd, 0, struct.pack("<I8sI6s", 7, b"", loc, text)) == -errno.EFAULT, (loc, text)
assert len(lines("first")) == 1
ok("bits go on and off; records are whole, and their own thread's; bad ones are refused")
# 504 bytes are a record's; more is refused, not cut.
assert put(fd, 0, record + bytes(504 - len(record))) == 504 and put(fd, 0, record + bytes(505 - len(record))) == -errno.E2BIG
assert write("trace", "") == 0
assert write("events/user_events/first/filter", "a > 2 && b == \"eight\"") == 0
for a in range(5): put(fd, 0, struct.pack("<I8sI6s", a, b"eight\0\0\0", 6 << 16, b"hello\0"))
put(fd, 0, struct.pack("<I8sI6s", 9, b"nine\0\0\0\0", 6 << 16, b"hello\0"))
assert [l.split()[-4] for l in lines("first")] == ["a=0x3", "a=0x4"], lines("first")
assert write("events/user_events/first/filter", "0") == 0
assert write("events/user_events/first/trigger", "hist:keys=b:vals=a") == 0 and enable("first", 0) == 0
assert word.value == 1 << 31 | 1 << 3 # a trigger wants it
for a in range(5): put(fd, 0, struct.pack("<I8sI6s", a, b"eight\0\0\0", 6 << 16, b"hello\0"))
assert re.search(r"\{ b: eight +\} hitcount: +5 +a: +10\n", read("events/user_events/first/hist")), read("events/user_events/first/hist")
assert write("events/user_events/first/trigger", "!hist:keys=b:vals=a") == 0 and word.value == 0
ok("filter and histogram, which alone turns the bit on")
os.mkdir("instances/other")
assert write("trace", "") == 0 and write("instances/other/events/user_events/first/enable", "1") == 0 and word.value == 1 << 31 | 1 << 3
assert put(fd, 0, record) == len(record) and not lines("first") and "first: a=0x7" in read("instances/other/trace")
assert "first: a=0x7" in read("instances/other/trace") and os.rmdir("instances/other") is None and word.value == 0
ok("an instance of its own, and the bit goes off with it")

# --- ends
assert delete(fd, "first") == errno.EBUSY and delete(fd, "nosuch") == errno.ENOENT
assert write("dynamic_events", "-:user_events/first", os.O_APPEND) == errno.EBUSY
assert unreg(fd, at, 5) == errno.ENOENT and unreg(fd, at, 31, 1) == errno.EINVAL
assert enable("first") == 0 and unreg(fd, at, 31) == 0 and word.value == 1 << 3
assert unreg(fd, at, 3) == 0 and word.value == 0 and unreg(fd, wide_at, 40) == 0
os.close(fd)
fd = data() # waits for the close
assert read("user_events_status") == "first # Used by ftrace\n\nActive: 1\nBusy: 1\n", read("user_events_status")
assert enable("first", 0) == 0 and not os.path.exists("events/user_events") and read("user_events_status") == "\nActive: 0\nBusy: 0\n"
ok("unregistered and closed it is gone, when nobody records it any more")
assert reg(fd, "kept u8 a", at, 0, 4, PERSIST)[0] == 0 and unreg(fd, at) == 0
os.close(fd); fd = data()
assert os.path.exists("events/user_events/kept") and delete(fd, "kept") == 0 and not os.path.exists("events/user_events/kept")
assert write("dynamic_events", "u:lined u32 a; unsigned char b", os.O_APPEND) == 0 and read("dynamic_events") == "u:lined u32 a; unsigned char b\n"
assert write("dynamic_events", "-:user_events/lined", os.O_APPEND) == 0 and read("dynamic_events") == ""
assert write("dynamic_events", "u:lined u32 a; what b", os.O_APPEND) == errno.EINVAL and read("error_log").endswith("Command: u:lined u32 a; what b\n" + " " * 26 + "^\n"), read("error_log")[-200:]
ok("a persistent one stays; a line of dynamic_events defines one, and removes it")
assert [reg(fd, f"many {f}", at, b, 4, MULTI)[0] for b, f in enumerate(("u32 a", "u64 a", "u64 a"))] == [0, 0, 0]
assert sorted(os.listdir("events/user_events_multi")) == ["enable", "filter", "many.0", "many.1"], os.listdir("events/user_events_multi")
assert write("events/user_events_multi/many.1/enable", "1") == 0 and word.value == 6
assert [unreg(fd, at, b) for b in range(3)] == [0, 0, 0] and word.value == 0
assert write("events/user_events_multi/many.1/enable", "0") == 0
os.close(fd); fd = data()
assert not os.path.exists("events/user_events_multi")
ok("several formats of one name")

# --- forks, execs, ends
def child(body):
    pid = os.fork()
    if not pid:
        try: os._exit(body() or 0)
        except BaseException as e: print("#", repr(e), flush=True); os._exit(9)
    return pid
def status(pid): return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
def pipes(): return os.pipe() + os.pipe()
# A child has the word, too, also one whose parent has ended; a sibling of the parent's has not.
mine = (ctypes.c_uint32 * 1024)()
here = ctypes.addressof(mine) + 2048
def value(): return ctypes.c_uint32.from_address(here).value
ready, go, answer, tell = pipes()
def waiting():
    os.write(go, b"."); os.read(answer, 1)
    return value()
def registers():
    assert reg(data(), "forked u32 a", here)[0] == 0 and value() == 0
    first = child(waiting); middle = child(lambda: child(waiting) and 0)
    assert status(middle) == 0
    os.write(go, b"."); os.read(answer, 1)
    assert value() == 1
    return status(first) * 10
sibling = child(waiting)
os.read(ready, 1)
parent = child(registers)
for _ in range(3): os.read(ready, 1)
later = child(waiting) # a fork of ours after the registration, but no child of it
os.read(ready, 1)
assert enable("forked") == 0
libc.prctl(36, 1, 0, 0, 0) # the orphan comes to us
os.write(tell, b"....."); codes = [status(parent)]
assert status(sibling) == 0 and status(later) == 0 and codes == [10], codes
ok("forks have the bit, siblings have not")
assert enable("forked", 0) == 0
while True:
    try:
        pid, s = os.wait()
    except ChildProcessError: break
os.close(fd); fd = data()
assert not os.path.exists("events/user_events/forked"), read("user_events_status")
ok("with the last process the event is gone")
libc.prctl(36, 0, 0, 0, 0)
assert scene("daemon", 1) == ["10"]
ok("a program that goes on as a child of itself, and ends")
for _ in range(4): assert scene("older", 2) == ["00"]
assert scene("late", 2) == ["00"]
assert scene("later", 2) == ["00"]
ok("forks from before the registration, and their forks, are left alone")
assert scene("gave", 2) == ["00"]
assert scene("took", 2) == ["10"]
ok("an orphan is no other fork's; in doubt it is left alone")
assert scene("full", 0) == ["off"]
assert re.search(r"user_events: error: 4[5-9] forks have their bits cleared for good: 256 programs have registered events already\n  Command: forks of process \d+\n", read("error_log")), read("error_log")[-300:]
ok("forks for which there is no room have their bits cleared")
# After an exec the address is another program's.
prog = "import ctypes,os,sys; b=(ctypes.c_uint8*4096)(); os.write(1,b'x'); os.read(0,1); sys.exit(any(b))"
p, q = os.pipe(), os.pipe()
def executes():
    assert reg(fd, "executed u32 a", here)[0] == 0
    os.dup2(p[0], 0); os.dup2(q[1], 1)
    os.execv("/usr/bin/python3", ["python3", "-c", prog])
pid = child(executes)
os.read(q[0], 1)
assert enable("executed") == 0
os.write(p[1], b".")
assert status(pid) == 0 and enable("executed", 0) == 0
os.close(fd); fd = data()
assert not os.path.exists("events/user_events/executed"), read("user_events_status")
ok("an exec drops it")

# --- hostile ones: a word that is gone, memory that never comes, too much
word_page = page(None, ctypes.c_size_t(4096), 3, 0x22, -1, ctypes.c_long(0))
assert reg(fd, "gone u32 a", word_page)[0] == 0
libc.munmap(ctypes.c_void_p(word_page), ctypes.c_size_t(4096))
assert enable("gone") == 0 and enable("gone", 0) == 0 and unreg(fd, word_page) == 0
ok("a word that was unmapped")
# Where the word was there is now what the program may not write, or may execute.
for protection in (1, 1 | 4, 1 | 2 | 4):
    assert page(ctypes.c_void_p(word_page), ctypes.c_size_t(4096), 3, 0x32, -1, ctypes.c_long(0)) == word_page
    assert reg(fd, "gone u32 a", word_page)[0] == 0
    code = os.open(sys.executable, os.O_RDONLY)
    assert page(ctypes.c_void_p(word_page), ctypes.c_size_t(4096), protection, 0x12, code, ctypes.c_long(0)) == word_page
    was = ctypes.string_at(word_page, 4096)
    assert was[0] == 0x7f # 1 is set, 0 is not: both would be seen
    assert enable("gone") == 0 and ctypes.string_at(word_page, 4096) == was
    assert enable("gone", 0) == 0 and ctypes.string_at(word_page, 4096) == was and unreg(fd, word_page) == 0
    assert ctypes.string_at(word_page, 4096) == was
    os.close(code)
able = page(None, ctypes.c_size_t(4096), 7, 0x22, -1, ctypes.c_long(0)) # all of it, as in a program with an executable stack
assert reg(fd, "gone u32 a", able)[0] == 0 and enable("gone") == 0 and ctypes.string_at(able, 1) == b"\1"
assert enable("gone", 0) == 0 and ctypes.string_at(able, 1) == b"\0" and unreg(fd, able) == 0
ok("code and read-only pages stay as they are")
# The kernel's 16 bytes for each exec are the program's to write.
libc.getauxval.restype = ctypes.c_ulong
assert reg(fd, "gone u32 a", at)[0] == 0
mark, drawn = libc.getauxval(ctypes.c_ulong(25)), ctypes.string_at(libc.getauxval(ctypes.c_ulong(25)), 16)
ctypes.memset(ctypes.c_void_p(mark), 1, 16)
assert reg(fd, "gone u32 a", at)[0] == errno.EADDRINUSE and enable("gone") == 0 and word.value == 1
assert enable("gone", 0) == 0 and unreg(fd, at) == 0
ctypes.memmove(ctypes.c_void_p(mark), drawn, 16)
ok("a program is told by what it cannot write")
# A page of userfaultfd that nobody fills: whoever touches it waits.
uffd = libc.syscall(323, 0)
if uffd >= 0:
    api = ctypes.create_string_buffer(struct.pack("<QQQ", 0xaa, 0, 0))
    never = page(None, ctypes.c_size_t(8192), 3, 0x22, -1, ctypes.c_long(0))
    area = ctypes.create_string_buffer(struct.pack("<QQQQ", never, 8192, 1, 0))
    assert ioctl(uffd, 0xc018aa3f, ctypes.addressof(api)) == 0 and ioctl(uffd, 0xc020aa00, ctypes.addressof(area)) == 0
    assert reg(fd, "never u32 a", never)[0] and reg(fd, "never u32 a", never + 4096)[0]
    assert reg(fd, "after u32 a", at)[0] == errno.ETIMEDOUT or unreg(fd, at) == 0
    other = child(lambda: reg(data(), "other u32 a", at)[0])
    assert status(other) == 0
    os.close(uffd)
    ok("a page that never comes holds up nobody else")
os.mkdir("instances/beside")
def again(fields="u32 a"):
    assert write("dynamic_events", f"u:again {fields}\n", os.O_APPEND) == 0
    where = "instances/beside/events/user_events/again"
    assert "again" in read(where + "/format") and read(where + "/id") == read("events/user_events/again/id")
    return int(read("events/user_events/again/id"))
first = again()
for n in range(3):
    assert delete(fd, "again") == 0 and not os.path.exists("events/user_events/again") and not os.path.exists("instances/beside/events/user_events/again")
    assert again() == first and "again u32 a" in read("dynamic_events")
assert delete(fd, "again") == 0 and again("u64 a") != first
assert delete(fd, "again") == 0 and again() == first
assert enable("again") == 0 and delete(fd, "again") == errno.EBUSY and enable("again", 0) == 0
ok("an event that is gone comes back with its id")
assert write("instances/beside/events/user_events/again/filter", "a > 3") == 0
assert delete(fd, "again") == 0 and again() != first and "none" in read("instances/beside/events/user_events/again/filter")
ok("but not where a filter of it stands")
os.close(fd)
os.rmdir("instances/beside")
done = 0
while done < 8400:
    text = "".join(f"u:greedy{n}\n" for n in range(done, done + 200))
    if (e := write("dynamic_events", text, os.O_APPEND)): break
    done += 200
assert e == errno.EMFILE and 7900 < done < 8400, (e, done)
assert "programs have registered 8192 events already" in read("error_log")
ok("more than 8192 events are refused")
P
timeout "$LIMIT" "$BRACE" shell --run "tail --pid=$$ -f /dev/null" -- /usr/bin/python3 "$T/user_events.py" >"$T/out" 2>"$T/err" <"$STDIN"
script_results $?

# --- without a tree there is nowhere to register, and it is said what to do
for name in user_events:request user_events_multi:request.0 user_events; do
	"$BRACE" record -q -e $name -o "$T/none" -- true >"$T/out" 2>&1
	[ $? -eq 125 ] && grep -q 'programs register the events of user_events while they run, in a tree: brace shell --run PROGRAM' "$T/out" && [ ! -e "$T/none" ]
	result "record -e $name: it takes a tree" $? "$T/out"
done
XDG_RUNTIME_DIR=$T "$BRACE" start -e user_events:request -- sleep 1 >"$T/out" 2>&1
[ $? -eq 125 ] && grep -q 'programs register the events of user_events while they run, in a tree: brace shell --run PROGRAM' "$T/out"
result "start -e too" $? "$T/out"
"$BRACE" record -q -e 'user_events:*' -o "$T/some" -- true >"$T/out" 2>&1
[ $? -eq 0 ] && grep -q 'warning: -e user_events:\*: programs register' "$T/out"
result "record -e with a pattern of them: a warning says so" $? "$T/out"
"$BRACE" record -q -e 'user_eventful:*' -o "$T/some" -- true >"$T/out" 2>&1
[ $? -eq 0 ] && grep -q 'no event that the program has now matches user_eventful' "$T/out"
result "record -e with another system's name: not" $? "$T/out"

# --- the example of docs/events.md: the server is not the program that is traced
printf '#!/bin/sh\nexec "%s" /sys/kernel/tracing 2\n' "$FIXTURES/registers_events" >"$T/server"
chmod +x "$T/server"
timeout "$LIMIT" "$BRACE" shell --run 'sleep 1d' -- sh -c '"$0"/server & cd /sys/kernel/tracing
	until test -e events/user_events/steps; do sleep 0.1; done
	echo 1 > events/user_events/steps/enable; wait; cat trace' "$T" >"$T/out" 2>"$T/err" <"$STDIN"
[ "$(sed -n 's/.*: steps: //p' "$T/out")" = "n=0x0 (0)
n=0x1 (1)" ]
result "the manual's example: a server beside the traced program" $? "$T/out" "$T/err"

# --- the same as an ordinary user, where /dev/fuse may be root's alone: the test has one of its own
if [ "$(id -u)" -eq 0 ] && command -v setpriv >/dev/null && setpriv --reuid=65534 --clear-groups test -x "$BRACE"; then
	chmod 755 "$T"
	mkdir "$T/dev" "$T/user"
	chown 65534 "$T/user"
	cat >"$T/as_user" <<'S'
mount -t tmpfs none "$1" && mknod "$1/fuse" c 10 229 && chmod 666 "$1/fuse" && mount --bind "$1/fuse" /dev/fuse || exit 77
shift
exec setpriv --reuid=65534 --regid=65534 --clear-groups "$@"
S
	timeout "$LIMIT" unshare -m sh "$T/as_user" "$T/dev" env HOME="$T/user" XDG_RUNTIME_DIR= \
		"$BRACE" shell --run 'sleep 1d' -- sh -c 'id -u; "$0"/server & cd /sys/kernel/tracing
		until test -e events/user_events/steps; do sleep 0.1; done
		echo 1 > events/user_events/steps/enable; wait; cat trace' "$T" >"$T/out" 2>"$T/err" <"$STDIN"
	status=$?
	if [ $status -eq 77 ] || { [ $status -eq 125 ] && grep -qE '/dev/fuse|namespace' "$T/err"; }; then
		skip "an ordinary user's program" "$(head -n 1 "$T/err")"
	else
		[ "$(sed -n '1p; s/.*: steps: //p' "$T/out")" = "65534
n=0x0 (0)
n=0x1 (1)" ]
		result "an ordinary user's program" $? "$T/out" "$T/err"
	fi
else
	skip "an ordinary user's program" "only root becomes one"
fi

# --- a program that is traced: its records stand within its calls
mkdir "$T/tree"
"$BRACE" mount "$T/tree" -t function_graph -l step -l before -l writev -l write -- "$FIXTURES/registers_events" "$T/tree" 3 >"$T/out" 2>"$T/err"
if [ $? -ne 0 ]; then skip "a traced program's records" "$(head -n 1 "$T/err")"; finish; fi
ON_EXIT+=("$BRACE umount $T/tree")
three_calls() { [ "$(grep -cE '\|  \}( /\* step \*/)?$' "$T/tree/trace")" -eq 3 ]; }
until_is test -e "$T/tree/events/user_events/steps/enable"
echo 1 >"$T/tree/events/user_events/steps/enable"
until_is three_calls
sed -n 's/^ [0-9]*)[^|]*| *//p' "$T/tree/trace" | sed 's,} /\* [a-z]* \*/,},' >"$T/shown"
for n in 0 1 2; do
	printf 'step() {\nbefore();\nwritev() {\n/* steps: n=0x%d (%d) */\n}\nwrite() {\n/* marked */\n}\nbefore();\n}\n' $n $n
done >"$T/wanted"
cmp -s "$T/shown" "$T/wanted"
result "a traced program's records, and its markers, stand within its calls" $? "$T/tree/trace" "$T/shown"
finish
