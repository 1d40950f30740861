"""Time, memory and output: what a program uses up is its own quota, and the item's limit holds.

Nothing that a program does with loops, waiting, threads, signals, memory, descriptors or output keeps a worker from its
next job, takes longer than the limits say, or grows beyond them in any other process.
"""

from __future__ import annotations

import random

from hostile_suite.families._make import Words, attack, calls, loads, solutions
from hostile_suite.model import Attack, Family, allow

LATE: Words = allow("timeout killed", rest="timeout killed exception output-limit wrong")
HOLDERS = {
    "a plain loop": "while True: pass",
    "a loop of calls": "while True: len('')",
    "a recursion that doubles": "def f(n): return f(n - 1) + f(n - 2) if n > 1 else 1\nreturn f(80)",
    "a comprehension": "return sum(1 for a in range(10 ** 6) for b in range(10 ** 6))",
    "a sum in C": "import itertools\nreturn sum(itertools.repeat(1, 10 ** 12))",
    "a long membership": "return -1 in range(10 ** 18) or max(range(10 ** 11))",
    "a regular expression": "import re\nreturn re.match(r'(a+)+$', 'a' * 44 + 'b')",
    "a huge power": "return (10 ** 8 + 7) ** (10 ** 7) % 3",
    "a product of products": "a = 3 ** 200000\nwhile True: a * a",
    "a permutation": "import itertools\nreturn len(list(x for x in itertools.permutations(range(14)) if x[0] > 99))",
    "a counter that runs on": "import itertools, collections\ncollections.deque(itertools.count(), maxlen=0)",
    "a sort with a slow key": "return sorted(range(10 ** 7), key=lambda x: sum(range(x % 1000)))",
    "a hash of hashes": "import hashlib\nreturn hashlib.pbkdf2_hmac('sha512', b'a', b'b', 10 ** 9)",
    "decimal digits": "import decimal\ndecimal.getcontext().prec = 10 ** 7\nreturn str(decimal.Decimal(2).sqrt())[:5]",
    "string building": "s = 'a' * 10 ** 6\nwhile True: s.replace('a', 'bb')",
    "a chain of exceptions": "def g():\n    try: g()\n    except RecursionError: g()\ng()",
    "keys that collide": "return {i * (2 ** 61 - 1): 0 for i in range(1, 100000)}",
    "a set that collides": "return {i * (2 ** 61 - 1) for i in range(1, 100000)}",
    "bytes compared": "import difflib\nreturn difflib.SequenceMatcher(None, 'ab' * 20000, 'ba' * 20000, False).ratio()",
}
BUSY = solutions(
    "busy for ever",
    "A call that computes without end, in Python or inside one call of C, ends at its limit and costs its own cell.",
    [calls(name, body) for name, body in HOLDERS.items()]
    + [
        loads("a loop while loading", "while True: pass"),
        loads("a constant that is never folded", "x = 1\nwhile x: x = x"),
    ],
    words=LATE,
    slow=True,
    draws=2,
)

WAITS = {
    "sleep": "import time\ntime.sleep(1000)",
    "sleeps again and again": "import time\nwhile True: time.sleep(.01)",
    "a lock": "import threading\na = threading.Lock(); a.acquire(); a.acquire()",
    "an event": "import threading\nthreading.Event().wait()",
    "an empty pipe": "import os\nr, w = os.pipe(); os.read(r, 1)",
    "a full pipe": "import os\nr, w = os.pipe()\nwhile True: os.write(w, bytes(65536))",
    "a queue": "import queue\nqueue.Queue().get()",
    "select": "import select\nselect.select([], [], [])",
    "pause": "import signal\nwhile True: signal.pause()",
    "sigwait": "import signal\nsignal.pthread_sigmask(signal.SIG_BLOCK, [10]); signal.sigwait([10])",
    "a thread that does not end": "import threading, time\nt = threading.Thread(target=time.sleep, args=(1000,), daemon=True); t.start(); t.join()",
    "a socket pair": "import socket\na, b = socket.socketpair(); a.recv(1)",
    "stops itself": "import os, signal\nos.kill(os.getpid(), signal.SIGSTOP)\nwhile True: pass",
    "raises a stop": "import signal\nsignal.raise_signal(signal.SIGTSTP)\nsignal.raise_signal(signal.SIGSTOP)\nwhile True: pass",
    "asyncio": "import asyncio\nasyncio.run(asyncio.sleep(1000))",
    "futex": "import ctypes\nbox = ctypes.c_int(0)\nctypes.CDLL(None).syscall(202, ctypes.byref(box), 0, 0, None)\nwhile True: pass",
}
WAITING = solutions(
    "waiting for ever",
    "A call that waits for what never comes ends at its limit and costs its own cell.",
    [calls(name, body) for name, body in WAITS.items()],
    words=allow("timeout killed exception", rest="timeout killed exception wrong"),
    slow=True,
    draws=2,
)

FOREVER = "while True:\n    try:\n        while True: len('')\n    except BaseException: pass"
EVASIONS = {
    "swallows everything": ("", FOREVER),
    "swallows everything while loading": (FOREVER, "return 0"),
    "ignores signals and stops timers": (
        "import signal",
        "for s in range(1, 32):\n    try: signal.signal(s, signal.SIG_IGN)\n    except (OSError, ValueError): pass\nfor w in (0, 1, 2): signal.setitimer(w, 0)\nwhile True: len('')",
    ),
    "blocks signals": ("import signal", "signal.pthread_sigmask(signal.SIG_BLOCK, range(1, 65))\nwhile True: len('')"),
    "sets the timer on and on": ("import signal", "while True:\n    for w in (0, 1, 2): signal.setitimer(w, 1000)"),
    "raises its limit": (
        "import resource",
        "for r in (resource.RLIMIT_CPU,):\n    try: resource.setrlimit(r, (-1, -1))\n    except (OSError, ValueError): pass\n"
        + FOREVER,
    ),
    "in a finally": ("", "try: 1 / 0\nfinally:\n    while True: pass"),
    "in a finalizer": (
        "class A:\n    def __del__(self):\n        while True:\n            try:\n                while True: pass\n            except BaseException: pass",
        "A()\nreturn 0",
    ),
    "in a callback of the collector": (
        "import gc",
        "def ring(*a):\n    while True: pass\ngc.callbacks.append(ring)\ngc.collect()\nreturn 0",
    ),
    "in a signal handler": (
        "import signal",
        "def ring(*a):\n    while True: pass\nfor s in (10, 14, 26, 27): signal.signal(s, ring)\nsignal.raise_signal(10)\nreturn 0",
    ),
    "in a trace function": ("import sys", "def h(*a):\n    while True: pass\nsys.settrace(h)\nreturn len([])"),
    "in a generator that will not close": (
        "",
        "def g():\n    while True:\n        try: yield 1\n        except GeneratorExit: pass\nx = g(); next(x)\nwhile True:\n    try: x.close()\n    except BaseException: pass",
    ),
    "in many threads": (
        "import threading",
        "def spin():\n    while True: pass\nfor _ in range(20): threading.Thread(target=spin, daemon=True).start()\nwhile True: pass",
    ),
    "in a thread, while the call waits": (
        "import threading, time",
        "def spin():\n    while True: pass\nfor _ in range(3): threading.Thread(target=spin, daemon=True).start()\ntime.sleep(1000)",
    ),
    "in a value that is encoded": (
        "class D(dict):\n    def __iter__(self):\n        while True: pass\n    keys = items = values = __iter__",
        "while True: list(D(a=1))",
    ),
    "in the text of an exception": (
        "class E(Exception):\n    def __str__(self):\n        while True: pass",
        "raise E()",
    ),
    "sits on the interpreter's lock": (
        "import ctypes",
        "libc = ctypes.PyDLL(None)\nlibc.pause()\nlibc.sleep(1000)\nwhile True: libc.usleep(10 ** 6)",
    ),
    "inside C code, behind a call that ends": (
        "import itertools\ncalls = itertools.count()",
        "if not next(calls): return 0\nany(itertools.repeat(0))",
    ),
    "inside C code, its result file made full": (
        "import itertools, os, struct\ncalls = itertools.count()",
        "if not next(calls): return 0\nfor h in range(3, 64):\n    try:\n        if os.fstat(h).st_size: os.write(h, struct.pack('<BdI', 0, 0.0, 1 << 31)); os.ftruncate(h, 32 << 20)\n    except OSError: pass\nany(itertools.repeat(0))",
    ),
    "another handler for the alarm": (
        "import ctypes, signal",
        "for s in (14, 26, 27, 24): signal.signal(s, lambda *a: None)\n" + FOREVER,
    ),
    "lies about its seconds": (
        "import time\ntime.monotonic = time.process_time = time.perf_counter = lambda: 0.0",
        FOREVER,
    ),
    "lies about its seconds through our modules": (
        "import sys\nfor m in list(sys.modules.values()):\n    for n in ('monotonic', 'process_time', 'time', 'perf_counter', 'clock_gettime'):\n        if hasattr(m, n):\n            try: setattr(m, n, lambda *a: -1e9)\n            except Exception: pass",
        FOREVER,
    ),
    "removes the time limit's class": (
        "import gc, sys\nfor o in gc.get_objects():\n    if isinstance(o, type) and issubclass(o, BaseException) and o.__module__ not in ('builtins',):\n        try: o.__init__ = lambda *a: None\n        except TypeError: pass",
        FOREVER,
    ),
    "waits, then works": ("import time", "time.sleep(.2)\n" + FOREVER),
    "swallows its limit once, then is right": (
        "HONEST",
        "try:\n    while True: pass\nexcept BaseException: pass\nreturn honest(*given)",
    ),
    "loses its limit in a finalizer, then is right": (
        "HONEST\nclass A:\n    def __del__(self):\n        while True: pass",
        "a = A()\ndel a\nreturn honest(*given)",
    ),
    "waits in a finalizer, then is right": (
        "HONEST\nimport time\nclass A:\n    def __del__(self): time.sleep(1000)",
        "a = A()\ndel a\nreturn honest(*given)",
    ),
    "swallows its limit while loading, then is right": (
        "HONEST\ntry:\n    while True: pass\nexcept BaseException: pass",
        "return honest(*given)",
    ),
    "an exit handler": ("import atexit\n@atexit.register\ndef stay():\n    while True: pass", "while True: pass"),
}
EVADING = solutions(
    "evading the limit",
    "Swallowing, blocking, resetting or outlasting the alarm changes nothing: the limit is enforced from outside.",
    [attack(name, setup, act) for name, (setup, act) in EVASIONS.items()],
    words=allow("timeout killed exception wrong not-plain-data load-error", rest="timeout killed exception wrong"),
    slow=True,
    draws=2,
)

DEAF = """
for number in (10, 14, 24, 26, 27): signal.signal(number, signal.SIG_IGN)
for which in (0, 1, 2): signal.setitimer(which, 0)
for fd in FDS:
    try: os.set_blocking(fd, False)
    except OSError: pass
while True:
    for fd in FDS:
        try: {deed}
        except (OSError, ValueError): pass
    {between}
"""
NO_PROGRESS = {
    "a byte": "os.write(fd, b'\\xff')",
    "noughts": "os.write(fd, bytes(1000))",
    "half a record": "os.write(fd, struct.pack('<Bd', 0, 0.0))",
    "records": "os.write(fd, struct.pack('<BdI', 0, 0.0, 1) + b'N')",
    "records that are not its to write": "os.write(fd, struct.pack('<BdI', 10, 0.0, 0))",
    "a record that never ends": "os.write(fd, (struct.pack('<BdI', 0, 0.0, 1 << 30) if not os.fstat(fd).st_size else b'x'))",
    "room": "os.ftruncate(fd, os.fstat(fd).st_size + 1)",
    "records, again and again from the front": "os.ftruncate(fd, 0); os.pwrite(fd, struct.pack('<BdI', 0, 0.0, 1) * 9, 0)",
}
PROGRESS = solutions(
    "progress that is none",
    "What a program writes into its result file while it goes on gives it no time beyond its limit: only whole records are "
    "progress, and only as many as it has items.",
    [
        attack(
            f"{what} while it {doing}",
            "import os, signal, struct, time\nFDS = range(3, 64)",
            DEAF.format(deed=deed, between=between),
        )
        for what, deed in NO_PROGRESS.items()
        for doing, between in (("computes", "sum(range(30_000))"), ("waits", "time.sleep(.2)"))
    ],
    words=allow("timeout killed wrong not-plain-data", rest="timeout killed exception output-limit wrong"),
    slow=True,
    draws=2,
)

GROWTHS = {
    "byte arrays in steps": "a = []\nwhile True: a.append(bytearray(50 << 20))",
    "one large byte array": "return bytearray(1 << 40)",
    "a list that doubles": "a = [0]\nwhile True: a += a",
    "a text that doubles": "a = 'x'\nwhile True: a += a",
    "a dictionary without end": "a = {}\nwhile True: a[len(a)] = [len(a)] * 9",
    "a set of frozen sets": "a = frozenset([1])\nb = set()\nwhile True: a = frozenset([a, len(b)]); b.add((a,) * 99)",
    "an integer that is shifted": "a = 1\nwhile True: a <<= 1 << 24",
    "a map": "import mmap\nreturn len(mmap.mmap(-1, 1 << 40))",
    "many maps": "import mmap\na = []\nwhile True:\n    a.append(mmap.mmap(-1, 1 << 24)); a[-1][::4096] = b'x' * 4096",
    "shared maps": "import mmap\na = []\nwhile True:\n    a.append(mmap.mmap(-1, 1 << 24, mmap.MAP_SHARED | mmap.MAP_ANONYMOUS)); a[-1][::4096] = b'x' * 4096",
    "locked maps": "import ctypes\nlibc = ctypes.CDLL(None)\nreturn [libc.mlockall(3), libc.mlockall(7)]",
    "memory files": "import os\na = []\nwhile True:\n    a.append(os.memfd_create('x')); os.write(a[-1], bytes(1 << 20))",
    "pipes": "import os\na = []\nwhile True:\n    r, w = os.pipe(); a.append((r, w)); os.set_blocking(w, False)\n    try:\n        while True: os.write(w, bytes(65536))\n    except BlockingIOError: pass",
    "larger pipes": "import fcntl, os\na = []\nwhile True:\n    r, w = os.pipe(); a.append((r, w)); fcntl.fcntl(w, 1031, 1 << 20); os.set_blocking(w, False)\n    os.write(w, bytes(1 << 20))",
    "socket buffers": "import socket\na = []\nwhile True:\n    p = socket.socketpair(); a.append(p); p[0].setblocking(False)\n    try:\n        while True: p[0].send(bytes(65536))\n    except BlockingIOError: pass",
    "stacks of threads": "import threading, time\nthreading.stack_size(256 << 20)\nfor _ in range(200): threading.Thread(target=time.sleep, args=(100,), daemon=True).start()\nreturn 0",
    "many threads": "import threading, time\nfor _ in range(3000): threading.Thread(target=time.sleep, args=(100,), daemon=True).start()\nreturn 0",
    "recursion without limit": "import sys\nsys.setrecursionlimit(10 ** 9)\ndef f(n): return f(n + 1)\nreturn f(0)",
    "recursion in C": "import sys\nsys.setrecursionlimit(10 ** 9)\na = []\nfor _ in range(10 ** 6): a = [a]\nreturn repr(a)",
    "recursion": "return act(given)",
    "a zip bomb": "import zlib\nc = zlib.compressobj(9); d = b''.join(c.compress(bytes(1 << 20)) for _ in range(300)) + c.flush()\nreturn zlib.decompress(d) * 8",
    "an image of itself": "import itertools\nreturn list(itertools.product(range(100), repeat=6))",
    "format width": "return f'{1:{10 ** 10}}'",
    "a json bomb": "import json\nreturn json.dumps([[[0] * 10 ** 3] * 10 ** 3] * 10 ** 3)",
    "interned texts": "import sys\nn = 0\nwhile True: sys.intern('x' * 10000 + str(n)); n += 1",
    "many open files": "a = []\nwhile True: a.append(open('/dev/null'))",
    "descriptors copied": "import os\nwhile True: os.dup(0)",
    "an address space of holes": "import ctypes\nlibc = ctypes.CDLL(None)\nlibc.mmap.restype = ctypes.c_void_p\nreturn [libc.mmap(None, ctypes.c_size_t(1 << 46), 0, 0x4022, -1, 0) for _ in range(9)]",
}
MEMORY = solutions(
    "memory without end",
    "Memory of every sort is bounded for each process, and running out of it is the program's own end.",
    [calls(name, body) for name, body in GROWTHS.items()],
    words=allow(
        "killed exception timeout wrong output-limit not-plain-data", rest="killed exception timeout wrong output-limit"
    ),
    slow=True,
    draws=2,
)

FLOODS = {
    "prints": "while True: print('x' * 10000)",
    "writes raw": "import os\nwhile True: os.write(1, b'x' * 65536)",
    "writes errors": "import os, sys\nwhile True: os.write(2, b'x' * 65536); print('x' * 999, file=sys.stderr)",
    "warns": "import warnings\nwarnings.simplefilter('always')\nwhile True: warnings.warn('x' * 999)",
    "logs": "import logging\nwhile True: logging.error('x' * 999)",
    "fills every descriptor": "import os\nwhile True:\n    for fd in range(1, 64):\n        try: os.set_blocking(fd, False); os.write(fd, bytes(1 << 16))\n        except OSError: pass",
    "seeks far away": "import os\nfor fd in range(1, 20):\n    try: os.lseek(fd, 1 << 40, 0); os.write(fd, b'x')\n    except OSError: pass\nreturn 0",
    "makes files of holes": "import os\nfor fd in range(1, 20):\n    try: os.ftruncate(fd, 1 << 44)\n    except OSError: pass\nreturn 0",
    "allocates files": "import os\nfor fd in range(1, 20):\n    try: os.posix_fallocate(fd, 0, 1 << 34)\n    except OSError: pass\nreturn 0",
    "fills disks": "for d in ('.', '/tmp', '/dev/shm', '/var/tmp', '/run', '/dev/mqueue'):\n    try: open(d + '/HOST_MARK', 'wb').write(bytes(16 << 20))\n    except OSError: pass\nreturn 0",
    "many small writes": "import os\nfor _ in range(10 ** 7): os.write(1, b'x')\nreturn 0",
    "a line without end": "import sys\nwhile True: sys.stdout.write('x' * 999)",
    "vectors": "import os\nwhile True: os.writev(1, [b'x' * 65536] * 99)",
    "a copy of its input": "import os\nwhile True: os.sendfile(1, 0, 0, 1 << 20)",
    "a thread that prints on": "import threading\ndef go():\n    while True: print('x' * 9999)\nthreading.Thread(target=go, daemon=True).start()\nwhile True: pass",
}
FLOODED = "timeout killed exception wrong output-limit"
OUTPUT = solutions(
    "output without end",
    "What a program writes is cut at its limit, reaches no disk, and never blocks the one who reads it.",
    [calls(name, body) for name, body in FLOODS.items()],
    words=allow(f"{FLOODED} not-plain-data", rest=FLOODED),
    slow=True,
    draws=2,
)


def draw_any(stream: random.Random) -> Attack:
    """A drawn exhaustion, for other families."""
    return stream.choice([*BUSY.fixed[:6], *MEMORY.fixed[:6], *OUTPUT.fixed[:4]])


ANSWERS = {
    "texts": "'a' * {n}",
    "wide texts": "chr(0x10ffff) * ({n} // 4)",
    "nothings": "[None] * {n}",
    "integers": "list(range({n} // 5))",
    "empty lists": "[[] for _ in range({n} // 11)]",
    "sets": "[set() for _ in range({n} // 11)]",
    "a dictionary": "dict.fromkeys(range({n} // 7))",
    "bytes": "bytes({n})",
    "a bytearray": "bytearray({n})",
    "a range": "list(map(float, range({n} // 9)))",
}


def _adding(kind: str, size: int) -> Attack:
    """Each answer is within its limit."""
    return calls(f"{kind} of {size} bytes", f"return {ANSWERS[kind].format(n=size)}")


ADDING = solutions(
    "answers that add up",
    "However much the answers of all calls come to, each within its limit, they fill neither a frame nor our process: "
    "that is the program's failure and never ours.",
    [_adding(kind, 1_000_000) for kind in ANSWERS],
    draw=lambda stream: _adding(stream.choice(list(ANSWERS)), stream.randrange(1 << 10, 1_040_000)),
    draws=6,
)


FAMILIES: tuple[Family, ...] = (BUSY, WAITING, EVADING, PROGRESS, MEMORY, OUTPUT, ADDING)
