"""A walk through the interpreter: what real programs do, with a result that can be compared."""
import bz2, collections, contextlib, ctypes, decimal, functools, gc, hashlib, io, itertools, json
import math, os, pickle, queue, random, re, signal, sqlite3, struct, subprocess, sys, threading, zlib


def digest(*things):
    return hashlib.sha256(repr(things).encode()).hexdigest()[:16]


def text():
    rnd = random.Random(7)
    words = ["".join(rnd.choice("abcdefgh") for _ in range(rnd.randint(1, 9))) for _ in range(3000)]
    data = {w: {"n": i, "list": list(range(i % 7)), "f": i / 3} for i, w in enumerate(words)}
    again = json.loads(json.dumps(data, indent=1))
    found = re.findall(r"(?P<a>[a-c]+)(?=d|e)", " ".join(words))
    sub = re.sub(r"\b(\w)(\w*)\b", lambda m: m[2] + m[1].upper(), " ".join(words[:500]))
    return digest(again == data, found, sub, sorted(words, key=lambda w: (len(w), w)))


Point = collections.namedtuple("Point", "x y")


class Failure(Exception):
    pass


def fails(n):
    try:
        if n == 0:
            raise Failure("bottom")
        with contextlib.ExitStack() as stack:
            stack.callback(lambda: None)
            return fails(n - 1)
    except Failure as e:
        if n % 3 == 0:
            raise Failure(f"{e}<{n}") from e
        raise


def exceptions():
    out = []
    for depth in range(12):
        try:
            fails(depth)
        except Failure as e:
            out.append(str(e))
    try:
        (lambda f: f(f))(lambda f: f(f))
    except RecursionError as e:
        out.append(type(e).__name__)
    return digest(out)


def threads():
    todo, done = queue.Queue(), queue.Queue()

    def work():
        while (n := todo.get()) is not None:
            done.put((n, sum(math.isqrt(i * n) for i in range(300))))

    pool = [threading.Thread(target=work) for _ in range(6)]
    for t in pool:
        t.start()
    for n in range(200):
        todo.put(n)
    for _ in pool:
        todo.put(None)
    for t in pool:
        t.join()
    return digest(sorted(done.queue))


def processes():
    out = subprocess.run(["/bin/echo", "from a child"], capture_output=True, text=True).stdout
    bad = subprocess.run(["/bin/sh", "-c", "echo gone >&2; exit 3"], capture_output=True, text=True)
    r, w = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.write(w, text().encode())
        os._exit(17)
    os.close(w)
    piece = os.read(r, 100).decode()
    return digest(out, bad.returncode, bad.stderr, piece, os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))


def signals():
    hits = []
    signal.signal(signal.SIGALRM, lambda *_: hits.append(1))
    signal.setitimer(signal.ITIMER_REAL, 0.001, 0.001)
    n = 0
    while len(hits) < 20:
        n += 1
    signal.setitimer(signal.ITIMER_REAL, 0)
    return len(hits) >= 20


def libraries():
    db = sqlite3.connect(":memory:")
    db.execute("create table t(a, b)")
    db.executemany("insert into t values(?, ?)", ((i, i * i % 97) for i in range(2000)))
    rows = db.execute("select b, count(*), sum(a) from t group by b order by 2 desc, 1").fetchall()
    blob = bytes(range(256)) * 200
    libc = ctypes.CDLL(None)
    compare = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(ctypes.c_int), ctypes.POINTER(ctypes.c_int))
    numbers = (ctypes.c_int * 50)(*[(i * 37) % 50 for i in range(50)])
    libc.qsort(numbers, 50, 4, compare(lambda a, b: a[0] - b[0]))
    return digest(rows, zlib.crc32(zlib.decompress(zlib.compress(blob))), bz2.decompress(bz2.compress(blob)) == blob,
                  hashlib.md5(blob).hexdigest(), hashlib.sha3_256(blob).hexdigest(), list(numbers))


def objects():
    points = [Point(i, -i) for i in range(500)]
    again = pickle.loads(pickle.dumps(points))
    made = type("Made", (collections.OrderedDict,), {"__getitem__": lambda self, k: k * 2})()
    fib = functools.lru_cache(None)(lambda n: n if n < 2 else fib(n - 1) + fib(n - 2))
    decimal.getcontext().prec = 60
    ring = []
    ring.append(ring)
    del ring
    gc.collect()
    gen = itertools.chain.from_iterable((i, i + 1) for i in range(300))
    code = compile("def f(a, *b, c=3, **d): return a + sum(b) + c + len(d)", "made", "exec")
    space = {}
    exec(code, space)
    packed = struct.pack("<iqd10s", -5, 1 << 40, math.pi, b"bytes")
    return digest(again, made["x"], fib(200), decimal.Decimal(2).sqrt(), sum(gen), space["f"](1, 2, 3, c=4, e=5),
                  packed, f"{math.e:.15g} {10 ** 400 % (7 ** 90):x}", "ÄÖß".casefold().encode("utf-16"))


for part in (text, exceptions, threads, processes, signals, libraries, objects):
    print(part.__name__, part())
    sys.stdout.flush()
print("to standard error", file=sys.stderr)
sys.exit(41)
