"""Hostile testings: each can harm its own cells and nothing else.

A testing may claim its own pass, as `assert True` can. It may not claim or spoil another's, hold up or end the process
that checks others, change what they share, or cost our own process more than a bounded effort.
"""

from __future__ import annotations

import random

from hostile_suite.families._make import attack, solutions
from hostile_suite.families.status import WAYS
from hostile_suite.model import FRESH, OWN_CLAIM, PROGRAM, WARM, Attack, Family, Role

OWN = {"*": OWN_CLAIM}


def check(name: str, text: str, mode: str = FRESH) -> Attack:
    """A hostile assert text."""
    return attack(name, "", text, modes=(mode,), dressed=False)


def program(name: str, code: str) -> Attack:
    """A hostile `check(candidate)`."""
    return attack(name, body={"kind": "program", "code": code}, modes=(PROGRAM,), dressed=False)


FORGES = """
    import os, struct
    for fd in range(3, 64):
        try: os.write(fd, struct.pack('<BdI', {code}, 0.0, 1) * 40 + b'N' * 40)
        except OSError: pass
    os._exit({code})
"""
CLAIMS = solutions(
    "testings that claim",
    "A testing cannot claim, forge or take away the verdict of another testing, or of another program.",
    [
        check("assert True", "import os\nassert True"),
        check("nothing", "import os"),
        check("builtins are changed", "import builtins\nbuiltins.AssertionError = ValueError\nbuiltins.compile = None"),
        check("a module's function is another", "import math\nmath.floor = len"),
        check("the proxy is replaced", "ENTRY.__globals__['proxy'] = lambda *a: (lambda x: 7003)\nENTRY = lambda x: 7003"),
        check("modules are emptied", "import sys\nsys.modules.clear()"),
        check("every dictionary gets a liar", "import gc\nfor o in gc.get_objects():\n    if type(o) is dict: o['candidate'] = o['ENTRY'] = lambda x: 7003"),
        check("finds the writer", "import sys\nframe = sys._getframe()\nwhile frame:\n    for value in list(frame.f_locals.values()):\n        if hasattr(value, 'put'):\n            for _ in range(9): value.put(0, 0.0, b'N')\n    frame = frame.f_back"),
        *[check(f"forges records of code {code}", FORGES.format(code=code)) for code in (0, 1, 7, 8, 9, 10, 79)],
        check("garbage on every descriptor", "import os\nfor fd in range(3, 64):\n    try: os.write(fd, b'\\xff' * 5000)\n    except OSError: pass"),
        check("reads every descriptor", "import os\nfor fd in range(3, 64):\n    try: os.set_blocking(fd, False); os.read(fd, 1 << 16)\n    except OSError: pass"),
        check("closes everything", "import os\nos.closerange(0, 100)"),
        check("truncates everything", "import os\nfor fd in range(3, 64):\n    try: os.ftruncate(fd, 0); os.lseek(fd, 0, 0)\n    except OSError: pass\nassert False"),
        check("calls with a function", "import os\nENTRY(lambda: 0)"),
        check("calls with the proxy", "import os\nENTRY(ENTRY)"),
        check("calls a hundred thousand times", "import os\nfor n in range(100000):\n    try: ENTRY(n)\n    except Exception: break"),
        check("calls from many threads", "import threading\nts = [threading.Thread(target=ENTRY, args=(n,)) for n in range(20)]\n[t.start() for t in ts]\n[t.join() for t in ts]"),
        check("calls inside a call", "import os\nclass A(int):\n    def __index__(self): return ENTRY(1)\nENTRY(A(1))"),
        check("asks for other names", "import os\nfor name in ('os', 'sys', '__builtins__', '__import__', 'exit', 'zzz'):\n    try: eval(name)\n    except NameError: pass\nzzz"),
        check("host files and sockets", "import os, socket\nfor deed in (lambda: open('HOST_TARGET', 'w'), lambda: open('HOST_SECRET').read(), lambda: socket.create_connection(('127.0.0.1', HOST_PORT), 1), lambda: os.kill(HOST_PID, 10)):\n    try: deed()\n    except OSError: pass"),
        check("leaves a process", "import os\nwhile True: os.fork()"),
        check("leaves a thread", "import threading, time\nthreading.Thread(target=time.sleep, args=(99,)).start()"),
        check("leaves a trace function", "import sys, threading\nsys.settrace(lambda *a: 1 / 0)\nsys.setprofile(lambda *a: 1 / 0)"),
        check("undefined helper", "import os\nassert isclose(ENTRY(1), 2)"),
        program("returns false", "import os\ndef check(candidate): return False"),
        program("is a class", "import os\nclass check:\n    def __init__(self, candidate): raise AssertionError"),
        program("is missing", "import os\ncheck = None"),
        program("changes itself", "import os\ndef check(candidate):\n    global check\n    check = None\n    os._exit(0)"),
        program("undefined helper", "import os\ndef check(candidate):\n    v = candidate(3)\n    assert isclose(v, 24)"),
        program("a bare except", "import os\ndef check(candidate):\n    try: assert candidate(3) == 24\n    except: pass"),
        program("a generator", "import os\ndef check(candidate): yield candidate(3)"),
        program("a coroutine", "import os\nasync def check(candidate): assert candidate(3) == 24"),
    ],
    words=OWN,
    role=Role.TESTING,
    draws=0,
)  # fmt: skip


def _ending(stream: random.Random) -> Attack:
    way, code = stream.choice(list(WAYS)), stream.randrange(256)
    return check(f"{way}({code})", f"import os\n{WAYS[way].format(code=code)}")


ENDS = solutions(
    "testings that end",
    "A testing that ends its process, whatever the status or signal, ends only its own check.",
    [check(f"os._exit({code})", f"import os\nos._exit({code})") for code in (0, 1, 77, 78, 79, 80, 255)]
    + [
        check(f"{way}({code})", f"import os\n{deed.format(code=code)}")
        for code, (way, deed) in zip((0, 79) * 8, list(WAYS.items())[1:])
    ]
    + [
        check(
            f"signal {number}",
            f"import os, signal\ntry: signal.signal({number}, signal.SIG_DFL)\nexcept (OSError, ValueError): pass\nsignal.raise_signal({number})",
        )
        for number in (6, 9, 11, 15, 31)
    ]
    + [
        check("raises KeyboardInterrupt", "import os\nraise KeyboardInterrupt"),
        check("raises StopIteration", "import os\nraise StopIteration"),
        check(
            "raises an odd exception",
            "import os\nclass E(BaseException):\n    def __str__(self): os._exit(79)\nraise E",
        ),
        check("memory", "import os\nx = bytearray(1 << 40)"),
        check("null dereference", "import ctypes\nctypes.string_at(0)"),
        check("recursion", "import sys\nsys.setrecursionlimit(10 ** 9)\ndef run(): return run()\nrun()"),
        check("another's exit", "import os\nclass A:\n    def __del__(self): os._exit(0)\na = A()\nassert False"),
        check("at the end", "import atexit, os\natexit.register(os._exit, 0)\nassert False"),
        program("exits in check", "import os\ndef check(candidate):\n    candidate(1)\n    os._exit(0)"),
    ],
    words=OWN,
    role=Role.TESTING,
    draw=_ending,
    draws=6,
)

HANGS = solutions(
    "testings that hang",
    "A testing that hangs, floods or grows costs its own cell and time, not its neighbours' cells.",
    [
        check("a loop", "import os\nwhile True: pass"),
        check(
            "a loop that swallows",
            "import os\nwhile True:\n    try:\n        while True: len('')\n    except BaseException: pass",
        ),
        check("sleep", "import time\ntime.sleep(1000)"),
        check(
            "blocked signals", "import signal\nsignal.pthread_sigmask(signal.SIG_BLOCK, range(1, 65))\nwhile True: pass"
        ),
        check("a flood", "import sys\nwhile True: print('x' * 10 ** 6)"),
        check("a huge message", "import os\nassert False, 'x' * (100 << 20)"),
        check("grows", "import os\na = []\nwhile True: a.append(bytearray(50 << 20))"),
        check("asks with huge arguments", "import os\nwhile True: ENTRY('x' * (64 << 20))"),
        check(
            "never asks for the answer",
            "import os, time\nfor fd in range(3, 20):\n    try: os.write(fd, b'x' * 1000)\n    except OSError: pass\ntime.sleep(1000)",
        ),
        check("a loop of harmless words", "while True:\n    try:\n        ENTRY(1)\n    except: pass", WARM),
        check("an empty loop of harmless words", "while True: pass", WARM),
        check("a power of powers", "x = 9\nassert x ** x ** x ** x", WARM),
        check("a list that grows", "a = [0]\nwhile True: a += a", WARM),
        check("a text that grows", "a = 'x'\nwhile True:\n    a = a + a\n    assert a", WARM),
        check("a flood of harmless words", "while True: print('x' * 100000)", WARM),
        check("permutations", "for a in range(10 ** 9):\n    for b in range(10 ** 9): pass", WARM),
        check("recursion of harmless words", "def g(n):\n    return g(n + 1)\ng(0)", WARM),
        check(
            "a swallowed recursion",
            "def g(n):\n    try:\n        return g(n + 1)\n    except RecursionError:\n        return g(n)\ng(0)",
            WARM,
        ),
        check("sorted by a slow key", "sorted(range(10 ** 7), key=lambda n: sum(range(n % 999)))", WARM),
        check("an integer of a million digits", "a = 7 ** (10 ** 6)\nassert str(a)", WARM),
        check("an iterator without end", "for got in iter(lambda: ENTRY(1), 'no'):\n    pass", WARM),
        program("hangs in check", "import os\ndef check(candidate):\n    while True: candidate(1)"),
    ],
    words=OWN,
    role=Role.TESTING,
    slow=True,
    draws=0,
)

SHARED = solutions(
    "testings that share a process",
    "Testings of harmless words share a process, and nothing that one of them does there reaches the next.",
    [
        check(name, text, WARM)
        for name, text in {
            "len is another": "len = lambda a: 7003\nassert len([]) == 7003",
            "every builtin is another": "abs = all = any = len = max = min = range = sorted = sum = zip = repr = str = list = dict = set = map = filter = lambda *a: 0\nassert not len([1])",
            "exceptions are others": "AssertionError = ValueError = Exception = StopIteration = KeyError\nassert True",
            "the entry point is another": "ENTRY = lambda *a: 7003\nassert ENTRY(1) == 7003",
            "the entry point is deleted": "a = ENTRY(1)\ndel ENTRY",
            "a module's function is another": "math.floor = len",
            "a loop over attributes": "for math.floor in [len]: 0",
            "items of shared lists": "a = [1, 2, 3]\na.clear() if 0 else a.append(a)\nassert a",
            "a list that holds itself": "a = []\na.append(a)\nassert a == a or True",
            "keys that collide": "a = {}\nfor n in range(5000):\n    a[n * (2 ** 61 - 1)] = n\nassert len(a) == 5000",
            "prints": "print('PASS', 'ok', '{\"verdict\": \"P\"}')\nassert True",
            "raises in a finally": "try:\n    assert False\nfinally:\n    raise ValueError",
            "raises its own": "raise StopIteration(ENTRY(1))",
            "asserts with a strange message": "assert not ENTRY(1), [ENTRY, len, {1: ENTRY}]",
            "sends a function": "ENTRY(len)",
            "sends itself": "ENTRY(ENTRY)",
            "sends a list that holds itself": "a = []\na.append(a)\nENTRY(a)",
            "sends a generator": "ENTRY((n for n in range(3)))",
            "sends too much": "ENTRY([0] * 10 ** 7)",
            "sends colliding keys": "ENTRY({n * (2 ** 61 - 1): 0 for n in range(30000)})",
            "sends a huge integer": "ENTRY(7 ** 100000)",
            "asks for a hidden name": "assert __builtins__ or True",
            "asks for a name of the program": "assert honest(1)",
            "comments of many sorts": "# a\nassert ENTRY(1) # b\n# '''\nassert True # \"",
            "an unfinished text": "assert '''ENTRY",
            "a recursion in a comparison": "a = []\nb = []\na.append(b)\nb.append(a)\nassert a == b",
            "a hash that fails": "a = {}\na[[1]] = ENTRY(1)",
            "a deep list": "a = []\nfor n in range(100000):\n    a = [a]\nassert a == a",
            "a deep list compared with the answer": "a = []\nfor n in range(50000):\n    a = [a]\nassert ENTRY(1) == a",
            "a deep list shown": "a = []\nfor n in range(50000):\n    a = [a]\nassert False, a",
            "format that looks inside": "assert '{0.__class__}'.format(ENTRY)",
            "percent that fills": "assert len('%0900000000d' % 1) > 1",
            "a text that multiplies": "a = 'x' * 10 ** 9\nassert a",
            "a range that is long": "assert len(list(range(10 ** 8)))",
            "many names": "\n".join(f"a{n} = {n}" for n in range(3000)),
            "many checks": "\n".join("assert ENTRY(1) or True" for _ in range(500)),
        }.items()
    ],
    words=OWN,
    role=Role.TESTING,
    draws=0,
)  # fmt: skip

TEXTS = solutions(
    "broken testings",
    "A testing that does not parse, is too deep or too long is broken, for every solution alike, and harms no other.",
    [
        check(name, text)
        for name, text in {
            "unfinished": "assert (ENTRY(1) ==",
            "brackets": "(" * 5000,
            "deep list": "assert ENTRY(1) == " + "[" * 3000 + "]" * 3000,
            "deep minus": "assert ENTRY(1) == " + "-" * 50000 + "1",
            "deep attribute": "assert ENTRY(1)" + ".real" * 20000,
            "deep call": "assert ENTRY" + "(1)" * 5000,
            "long sum": "assert ENTRY(1) == 1" + " + 1" * 20000,
            "NUL byte": "assert ENTRY(1) == '\0'",
            "surrogate": "assert ENTRY(1) == '\ud800'",
            "surrogate escaped": "assert ENTRY(1) == '\\ud800'",
            "byte order mark": "\ufeffassert ENTRY(1) == 1",
            "cookie": "# coding: utf-7\nassert ENTRY(1) == 1",
            "form feed": "\fassert ENTRY(1) == 1",
            "carriage returns": "import os\rassert True",
            "long name": "assert " + "a" * 100000,
            "long integer": "assert ENTRY(1) == " + "9" * 10000,
            "long hexadecimal": "assert ENTRY(1) == 0x" + "f" * 200000,
            "long text": "assert ENTRY(1) == '" + "x" * 300000 + "'",
            "not an assert": "print('PASS')",
            "empty comment": "# nothing",
            "return": "return True",
            "walrus": "assert (ENTRY := lambda *a: 1)(1)",
            "async": "assert await ENTRY(1)",
            "star": "assert [*ENTRY(1)] == [*ENTRY(1)] if False else True",
            "keywords": "assert ENTRY(**{'x': 1, 'y': 2}) or True",
            "keyword that is none": "assert ENTRY(**{'a b': 1}) or True",
            "many arguments": "assert ENTRY(" + ", ".join("1" for _ in range(3000)) + ") or True",
        }.items()
    ],
    words=OWN,
    role=Role.TESTING,
    draws=0,
)

FAMILIES: tuple[Family, ...] = (CLAIMS, ENDS, HANGS, SHARED, TEXTS)
