"""Honest programs and honest testings in unusual styles: none of them may be judged anything but right.

What Python itself would pass passes; where two processes cannot mean what Python means, a testing may be broken with a
reason, never failed by the program.
"""

from __future__ import annotations

from typing import Any

from hostile_suite.families._make import attack, solutions
from hostile_suite.model import FRESH, PROGRAM, STDIO, TABLE, WARM, Attack, Family, Role, only

PASSES = only("pass")
PASSES_OR_BROKEN = only("pass broken")
FUNCTIONS = (TABLE, WARM, FRESH, PROGRAM, "reward")


def style(name: str, setup: str = "", act: str = "return honest(*given)", **rest: Any) -> Attack:
    """A right program; `honest(*given)` computes."""
    return attack(name, f"HONEST\n{setup}", act, dressed=False, **rest)


STYLES = {
    "prints a lot": ("", "for n in range(200): print('step', n)\nreturn honest(*given)"),
    "prints errors": ("import sys", "print('note', file=sys.stderr)\nreturn honest(*given)"),
    "logs": (
        "import logging\nlogging.basicConfig(level=logging.DEBUG)\nlog = logging.getLogger('x')",
        "log.info('called')\nreturn honest(*given)",
    ),
    "warns": ("import warnings", "warnings.warn('deprecated')\nreturn honest(*given)"),
    "asyncio.run": (
        "import asyncio",
        "async def go(): await asyncio.sleep(0); return honest(*given)\nreturn asyncio.run(go())",
    ),
    "asyncio with tasks and queues": (
        "import asyncio",
        "async def one(q): q.put_nowait(honest(*given))\nasync def go():\n    q = asyncio.Queue(); await asyncio.gather(*(one(q) for _ in range(3))); return await q.get()\nreturn asyncio.run(go())",
    ),
    "an event loop of its own": (
        "import asyncio\nloop = asyncio.new_event_loop()",
        "async def go(): return honest(*given)\nreturn loop.run_until_complete(go())",
    ),
    "asyncio in a thread": (
        "import asyncio",
        "async def go(): return await asyncio.to_thread(honest, *given)\nreturn asyncio.run(go())",
    ),
    "asyncio with a time limit": (
        "import asyncio",
        "async def go(): return honest(*given)\nasync def main(): return await asyncio.wait_for(go(), 5)\nreturn asyncio.run(main())",
    ),
    "a thread": (
        "import threading",
        "box = []\nt = threading.Thread(target=lambda: box.append(honest(*given))); t.start(); t.join()\nreturn box[0]",
    ),
    "a pool of threads": (
        "import concurrent.futures as f",
        "with f.ThreadPoolExecutor(4) as pool: return list(pool.map(lambda g: honest(*g), [given] * 4))[0]",
    ),
    "a daemon that computes on": (
        "import threading",
        "def spin():\n    while True: pass\nthreading.Thread(target=spin, daemon=True).start()\nreturn honest(*given)",
    ),
    "a daemon that stays": (
        "import threading, time",
        "threading.Thread(target=time.sleep, args=(1000,), daemon=True).start()\nreturn honest(*given)",
    ),
    "a thread that is no daemon": (
        "import threading, time",
        "threading.Thread(target=time.sleep, args=(1000,)).start()\nreturn honest(*given)",
    ),
    "locks, conditions, queues": (
        "import queue, threading",
        "q = queue.Queue(); lock = threading.RLock(); c = threading.Condition(lock)\nwith c: q.put(honest(*given)); c.notify_all()\nreturn q.get(timeout=5)",
    ),
    "a stack of threads": (
        "import sys, threading\nthreading.stack_size(64 << 20)\nsys.setrecursionlimit(50000)",
        "def down(n): return 0 if n == 0 else down(n - 1)\nbox = []\nt = threading.Thread(target=lambda: (down(10000), box.append(honest(*given)))); t.start(); t.join()\nreturn box[0]",
    ),
    "recursion 900 deep": (
        "",
        "def down(n): return 0 if n == 0 else 1 + down(n - 1)\nassert down(900) == 900\nreturn honest(*given)",
    ),
    "a raised recursion limit": (
        "import sys\nsys.setrecursionlimit(10 ** 6)",
        "def down(n): return 0 if n == 0 else 1 + down(n - 1)\nassert down(5000) == 5000\nreturn honest(*given)",
    ),
    "a cache": ("import functools\n@functools.cache\ndef memo(*given): return honest(*given)", "return memo(*given)"),
    "a bounded cache": (
        "import functools\n@functools.lru_cache(maxsize=2)\ndef memo(*given): return honest(*given)",
        "return memo(*given)",
    ),
    "global state": (
        "count = 0\nknown = {}",
        "global count\ncount += 1\nreturn known.setdefault(given, honest(*given))",
    ),
    "a generator inside": ("", "def go():\n    yield from (honest(*g) for g in [given])\nreturn next(go())"),
    "a generator that is sent to": (
        "",
        "def go():\n    got = yield\n    yield honest(*got)\ng = go(); next(g)\nreturn g.send(given)",
    ),
    "classes": (
        "class Base:\n    def run(self, *g): return honest(*g)\nclass Solver(Base):\n    def run(self, *g): return super().run(*g)",
        "return Solver().run(*given)",
    ),
    "a dataclass": (
        "from dataclasses import dataclass, field\n@dataclass(order=True, frozen=True, slots=True)\nclass P:\n    given: tuple\n    def value(self): return honest(*self.given)",
        "return P(given).value()",
    ),
    "an enumeration": (
        "import enum\nclass Kind(enum.Enum):\n    A = enum.auto()",
        "return honest(*given) if Kind['A'] is Kind.A else None",
    ),
    "a named tuple": ("from typing import NamedTuple\nclass P(NamedTuple):\n    x: int", "return honest(P(*given).x)"),
    "an abstract class and a protocol": (
        "import abc\nfrom typing import Protocol, runtime_checkable\n@runtime_checkable\nclass R(Protocol):\n    def run(self): ...\nclass A(abc.ABC):\n    @abc.abstractmethod\n    def run(self): ...\nclass B(A):\n    def run(self): return honest",
        "b = B(); assert isinstance(b, R)\nreturn b.run()(*given)",
    ),
    "a metaclass": (
        "class M(type):\n    def __call__(c, *g): return honest(*g)\nclass S(metaclass=M): pass",
        "return S(*given)",
    ),
    "a descriptor": (
        "class D:\n    def __get__(self, o, t=None): return honest\nclass S:\n    f = D()",
        "return S().f(*given)",
    ),
    "decorators": (
        "import functools\ndef twice(f):\n    @functools.wraps(f)\n    def g(*a, **k): f(*a, **k); return f(*a, **k)\n    return g\nrun = twice(honest)",
        "return run(*given)",
    ),
    "context managers": (
        "import contextlib\n@contextlib.contextmanager\ndef around(g):\n    try: yield honest(*g)\n    finally: pass",
        "with contextlib.ExitStack() as stack: return stack.enter_context(around(given))",
    ),
    "match": ("", "match given:\n    case (x,): return honest(x)\n    case _: return None"),
    "walrus and comprehensions": ("", "return [v for _ in range(3) if (v := honest(*given)) is not None][0]"),
    "exceptions as control flow": (
        "class Found(Exception): pass",
        "try: raise Found(honest(*given))\nexcept Found as found: return found.args[0]",
    ),
    "exception groups": (
        "",
        "try: raise ExceptionGroup('g', [ValueError(honest(*given))])\nexcept* ValueError as group: value = group.exceptions[0].args[0]\nreturn value",
    ),
    "StopIteration inside": (
        "",
        "it = iter([given])\nwhile True:\n    try: g = next(it)\n    except StopIteration: return value\n    value = honest(*g)",
    ),
    "assertions": ("", "assert given, 'empty'\nvalue = honest(*given)\nassert value is not None\nreturn value"),
    "closures over loops": ("", "fs = [lambda g=given, n=n: honest(*g) for n in range(5)]\nreturn fs[3]()"),
    "eval and exec": (
        "",
        "space = {'honest': honest, 'given': given}\nexec('value = honest(*given)', space)\nreturn eval('value', space)",
    ),
    "decimal and fractions": (
        "from decimal import Decimal, getcontext\nfrom fractions import Fraction\ngetcontext().prec = 60",
        "assert Fraction(1, 3) * 3 == 1 and Decimal(2).sqrt() > 1\nreturn honest(*given)",
    ),
    "regular expressions": ("import re", "return honest(int(re.fullmatch(r'(?P<x>-?\\d+)', str(given[0]))['x']))"),
    "big integers": ("", "a = 3 ** 20000 % (10 ** 5000 + 7)\nreturn honest(*given) if a else None"),
    "integers as long texts": (
        "import sys\nsys.set_int_max_str_digits(0)",
        "assert len(str(10 ** 5000)) == 5001\nreturn honest(*given)",
    ),
    "collections": (
        "import collections, heapq, bisect, array, itertools",
        "d = collections.deque([given]); h = [3, 1]; heapq.heapify(h); bisect.insort(h, 2)\nreturn honest(*d.popleft())",
    ),
    "random with a seed": ("import random\nrandom.seed(7)", "random.random()\nreturn honest(*given)"),
    "hashing and encodings": (
        "import base64, binascii, hashlib, hmac, json, struct, zlib",
        "json.loads(json.dumps([zlib.crc32(base64.b64encode(struct.pack('<I', 7)))]))\nhashlib.sha3_256(b'x').digest(); hmac.new(b'k', b'm', 'sha256')\nreturn honest(*given)",
    ),
    "dates and calendars": (
        "import calendar, datetime, time, zoneinfo",
        "datetime.datetime(2024, 2, 29).isoformat(); calendar.monthrange(2024, 2); time.perf_counter()\nreturn honest(*given)",
    ),
    "texts and unicode": (
        "import difflib, string, textwrap, unicodedata",
        "unicodedata.normalize('NFKC', 'ﬁ'); textwrap.wrap('a b c'); string.Template('$x').substitute(x=1)\nreturn honest(*given)",
    ),
    "statistics and mathematics": (
        "import cmath, math, numbers, operator, statistics",
        "statistics.median([1, 2]); math.comb(5, 2); cmath.sqrt(-1)\nreturn honest(*given)",
    ),
    "copy and pickle": ("import copy, pickle", "return honest(*pickle.loads(pickle.dumps(copy.deepcopy(given))))"),
    "types and inspection": (
        "import inspect, types, typing",
        "inspect.signature(honest); typing.get_type_hints(honest); types.SimpleNamespace(a=1)\nreturn honest(*given)",
    ),
    "weak references and the collector": (
        "import gc, weakref\nclass A: pass",
        "a = A(); w = weakref.WeakValueDictionary(a=a); del a; gc.collect()\nreturn honest(*given)",
    ),
    "signals of its own": (
        "import signal",
        "signal.signal(signal.SIGINT, signal.SIG_DFL); signal.getsignal(signal.SIGTERM)\nreturn honest(*given)",
    ),
    "memory files and pipes": (
        "import io, os",
        "r, w = os.pipe(); os.write(w, b'x'); os.read(r, 1); os.close(r); os.close(w); io.BytesIO(b'x').read()\nreturn honest(*given)",
    ),
    "a socket pair": ("import selectors", "with selectors.DefaultSelector(): pass\nreturn honest(*given)"),
    "sqlite in memory": (
        "import sqlite3",
        "with sqlite3.connect(':memory:') as c: assert c.execute('select 1').fetchone() == (1,)\nreturn honest(*given)",
    ),
    "exit handlers": ("import atexit\natexit.register(print, 'bye')", "return honest(*given)"),
    "exit handlers that hang": ("import atexit, time\natexit.register(time.sleep, 1000)", "return honest(*given)"),
    "closes standard streams": ("import os\nos.close(0); os.close(1); os.close(2)", "return honest(*given)"),
    "replaced standard output": ("import io, sys\nsys.stdout = io.StringIO()", "print('x')\nreturn honest(*given)"),
    "an import with output": ("import this", "return honest(*given)"),
    "another name for main": (
        "if __name__ == '__main__':\n    import sys\n    print('usage')",
        "return honest(*given)",
    ),
    "reads input where there is none": (
        "import sys",
        "try: input()\nexcept (EOFError, OSError): pass\nreturn honest(*given)",
    ),
    "future annotations": (
        "from typing import Optional\nkept: Optional[list[int]] = None\ndef run(x: int | None = None) -> 'object': return honest(x)",
        "return run(*given)",
    ),
    "keyword arguments": ("def run(*, x): return honest(x)", "return run(**{'x': given[0]})"),
    "a hundred modules": (
        "import argparse, ast, bz2, cProfile, configparser, contextvars, csv, dis, email, enum, getopt, gettext, glob, graphlib, html, locale, lzma, mimetypes, optparse, pathlib, platform, pprint, profile, queue, reprlib, sched, shlex, shutil, stat, symtable, tempfile, timeit, token, tokenize, traceback, urllib.parse, uuid, xml.etree.ElementTree, zipfile",
        "return honest(*given)",
    ),
    "profiles itself": ("import cProfile", "return cProfile.Profile().runcall(honest, *given)"),
    "times itself": ("import time, timeit", "timeit.timeit('1', number=100); time.sleep(.01)\nreturn honest(*given)"),
    "computes for a tenth of a second": ("", "sum(range(10 ** 6))\nreturn honest(*given)"),
    "fifty megabytes": ("", "a = bytearray(50 << 20)\nreturn honest(*given)"),
    "a trace function of its own": (
        "import sys",
        "old = sys.gettrace(); sys.settrace(lambda *a: None); value = honest(*given); sys.settrace(old)\nreturn value",
    ),
    "a hook of its own": (
        "import sys\nsys.excepthook = lambda *a: None\nsys.unraisablehook = lambda *a: None",
        "return honest(*given)",
    ),
}
NOT_STDIO = {
    "closes standard streams",
    "replaced standard output",
    "an import with output",
    "prints a lot",
    "another name for main",
    "reads input where there is none",
    "exit handlers",
    "exit handlers that hang",
    "a thread that is no daemon",
}
FUNCTION_STYLES = solutions(
    "honest functions",
    "A right program is judged right, whatever it uses of Python and the standard library to compute.",
    [style(name, setup, act, modes=FUNCTIONS if name in NOT_STDIO else ()) for name, (setup, act) in STYLES.items()],
    words=PASSES,
    role=Role.HONEST,
    draws=0,
    modes=(*FUNCTIONS, "stdio"),
)

WHOLE = {
    "a byte order mark": "\ufeffHONEST\nENTRY = honest\n",
    "an encoding cookie": "# -*- coding: utf-8 -*-\nHONEST\nENTRY = honest\n",
    "an encoding cookie that is none": None,
    "carriage returns": None,
    "form feeds": "\fHONEST\n\f\nENTRY = honest\n",
    "a shebang and a docstring": "#!/usr/bin/env python3\n'''Solution.'''\nHONEST\nENTRY = honest\n",
    "future import": "from __future__ import annotations\nHONEST\ndef ENTRY(x: Unknown) -> Unknown: return honest(x)\n",
    "a lambda": "HONEST\nENTRY = lambda x: honest(x)\n",
    "a partial": "import functools\nHONEST\nENTRY = functools.partial(honest)\n",
    "a callable object": "HONEST\nclass C:\n    def __call__(self, x): return honest(x)\nENTRY = C()\n",
    "a static method": "HONEST\nclass C:\n    @staticmethod\n    def run(x): return honest(x)\nENTRY = C.run\n",
    "a bound method": "HONEST\nclass C:\n    def run(self, x): return honest(x)\nENTRY = C().run\n",
    "a decorated function": "import functools\nHONEST\n@functools.lru_cache\ndef ENTRY(x): return honest(x)\n",
    "defined in a branch": "HONEST\nif True:\n    def ENTRY(x): return honest(x)\nelse:\n    def ENTRY(x): return 0\n",
    "defined twice": "HONEST\ndef ENTRY(x): return 0\ndef ENTRY(x): return honest(x)\n",
    "made by exec": "HONEST\nexec('def ENTRY(x): return honest(x)')\n",
    "set by globals": "HONEST\nglobals()['ENTRY'] = honest\n",
    "a default and more": "HONEST\ndef ENTRY(x=0, *rest, **more): return honest(x)\n",
    "names in other letters": "HONEST\nπ, ñandú, 数 = 1, 2, 3\ndef ENTRY(x): return honest(x) if π else 数\n",
    "compatibility characters": "HONEST\nﬁne = honest\ndef ENTRY(x): return fine(x)\n",
    "a long text": "HONEST\nTEXT = '''" + "x" * 100_000 + "'''\ndef ENTRY(x): return honest(x)\n",
    "a thousand functions": "HONEST\n"
    + "".join(f"def f{n}(x): return x\n" for n in range(1000))
    + "def ENTRY(x): return honest(x)\n",
    "a wild star": "from math import *\nfrom collections import *\nfrom itertools import *\nfrom typing import *\nHONEST\ndef ENTRY(x): return honest(x)\n",
    "uses itself": "HONEST\ndef ENTRY(x, n=3): return honest(x) if n == 0 else ENTRY(x, n - 1)\n",
    "imports itself as a module": "import sys\nHONEST\ndef ENTRY(x): return sys.modules[__name__].honest(x)\n",
    "a tail of calls": "HONEST\ndef ENTRY(x): return honest(x)\nprint(ENTRY(1))\nassert ENTRY(1) == honest(1)\n",
}
WHOLE_TEXTS = solutions(
    "honest texts",
    "A right program is judged right in whatever way its text is laid out and its entry point made.",
    [attack(name, whole=text, dressed=False) for name, text in WHOLE.items() if text is not None]
    + [
        Attack(
            "carriage returns and line feeds",
            whole="HONEST\r\ndef ENTRY(x):\r\n    return honest(x)\r\n",
            dressed=False,
        )
    ],
    words=PASSES,
    role=Role.HONEST,
    draws=0,
    modes=(TABLE, WARM, FRESH, PROGRAM),
)


READS = {
    "input": "text = input()",
    "a loop over the stream": "text = ''.join(sys.stdin)",
    "fileinput": "import fileinput\ntext = ''.join(fileinput.input())",
    "/dev/stdin": "text = open('/dev/stdin').read()",
    "a path": "import pathlib\ntext = pathlib.Path('/dev/stdin').read_text()",
    "/proc/self/fd/0": "text = os.fdopen(os.open('/proc/self/fd/0', os.O_RDONLY)).read()",
    "arguments or the stream": "text = sys.stdin.read() if len(sys.argv) == 1 else open(sys.argv[1]).read()",
    "beside its own file": "text = sys.stdin.read()\nassert os.path.isabs(os.path.abspath(__file__))",
    "with all of the stack": "import resource\nresource.setrlimit(resource.RLIMIT_STACK, (-1, -1))\ntext = input()",
}
WRITES = {
    "print": "print(value)",
    "a descriptor": "os.write(1, value.encode())",
    "a file of its own": "open(1, 'w', closefd=False).write(value)",
    "a file that is kept": "global out\n    out = open(1, 'w')\n    out.write(value)",
    "/dev/stdout": "open('/dev/stdout', 'w').write(value)",
    "the first stream": "sys.__stdout__.write(value)",
    "bytes": "sys.stdout.buffer.write(value.encode())",
    "what was captured": "import io\n    old, sys.stdout = sys.stdout, io.StringIO()\n    print(value)\n    old.write(sys.stdout.getvalue())",
}
MOMENTS = {
    "at once": "write()",
    "at exit": "import atexit\natexit.register(write)",
    "in a thread": "import threading\nthreading.Thread(target=write).start()",
    "in a thread of a thread": "import threading\nthreading.Thread(target=lambda: threading.Thread(target=write).start()).start()",
    "later": "import threading\nthreading.Timer(0.02, write).start()",
    "in a pool": "import concurrent.futures\nconcurrent.futures.ThreadPoolExecutor(2).submit(write)",
    "in a weak finalizer": "import weakref\nkept = type('Kept', (), {})()\nweakref.finalize(kept, write)",
}
ENDS = {
    "simply": "",
    "exit": "exit()",
    "quit": "quit(0)",
    "an exit of False": "sys.exit(False)",
    "an exit of 256": "raise SystemExit(256)",
    "an exit in a function": "def leave():\n    try: exit(0)\n    finally: pass\nleave()",
    "an exception at exit": "import atexit\natexit.register(lambda: 1 / 0)",
    "an exception in a thread": "import threading\nthreading.Thread(target=lambda: [][0]).start()",
    "an exception in a finalizer": "class Odd:\n    def __del__(self): raise ValueError\nodd = Odd()",
    "a hook": "sys.excepthook = sys.unraisablehook = lambda *a: None",
    "a handler that holds all": "import signal\nsignal.signal(signal.SIGUSR2, lambda *a: write)",
}


def _script(reads: str, writes: str, moment: str, ends: str) -> Attack:
    """A right program that reads, writes and ends in these ways."""
    parts = (READS[reads], "value = json.dumps(honest(*json.loads(text)))", f"def write():\n    {WRITES[writes]}")
    text = "\n".join(["HONEST\nimport json, os, sys", *parts, MOMENTS[moment], ENDS[ends], ""])
    return attack(f"{reads}, {writes} {moment}, {ends}", whole=text, modes=(STDIO,), dressed=False)


SCRIPTS = solutions(
    "honest beginnings and ends of scripts",
    "A right program over standard input passes wherever Python itself would end it with status 0 and the right output: "
    "with what `site` and the system give at its beginning, and after threads, exit handlers and finalizers.",
    [_script(reads, "print", "at once", "simply") for reads in READS]
    + [_script("input", writes, "at once", "simply") for writes in WRITES]
    + [_script("input", "print", moment, "simply") for moment in MOMENTS]
    + [_script("input", "print", "at once", ends) for ends in ENDS],
    words=PASSES,
    role=Role.HONEST,
    draw=lambda stream: _script(*[stream.choice(list(ways)) for ways in (READS, WRITES, MOMENTS, ENDS)]),
    draws=16,
    modes=(STDIO,),
)


FAMILIES: tuple[Family, ...] = (FUNCTION_STYLES, WHOLE_TEXTS, SCRIPTS)
