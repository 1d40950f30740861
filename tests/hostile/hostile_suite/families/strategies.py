"""Hostile strategies: a bad candidate is data.

A strategy program that errs, lies about its status, gives what are no scores, or looks for another's results is invalid
with a reason, or ranked by its own scores; it ends no run, and no honest program's scores change.
"""

from __future__ import annotations

import random
from typing import Any

from hostile_suite.families._make import attack, solutions
from hostile_suite.families.status import WAYS
from hostile_suite.model import STRATEGY, Attack, Family, Role, only

ANY = only("ranked invalid")
INVALID = only("invalid")


def rank(name: str, body: str, head: str = "", **rest: Any) -> Attack:
    """A strategy whose `rank` has this body; `m` and `n` are the numbers of solutions and testings."""
    lines = "".join(f"    {line}\n" for line in body.strip("\n").splitlines())
    whole = f"{head}\ndef rank(evidence):\n    m, n = evidence.passed.shape\n{lines}"
    return attack(name, whole=whole, dressed=False, modes=(STRATEGY,), **rest)


def deed(name: str, body: str, setup: str = "", **rest: Any) -> Attack:
    """Whatever is done outside the import guard, before constant scores are given."""
    return attack(name, setup, body, modes=(STRATEGY,), **rest)


def _ends(way: str, code: int) -> Attack:
    return deed(f"{way}({code})", WAYS[way].format(code=code))


STATUS = solutions(
    "strategies that lie about their end",
    "No exit status, signal or record of a strategy program ends a run: the program is invalid, with a reason.",
    [_ends("os._exit", code) for code in (0, 1, 77, 78, 79, 80, 255)]
    + [_ends(way, 79) for way in list(WAYS)[1:]]
    + [
        deed("null dereference", "import ctypes\nctypes.string_at(0)"),
        deed("kills itself", "import signal\nsignal.raise_signal(9)"),
        deed("an error of ours", "class SandboxUnavailable(Exception): pass\nraise SandboxUnavailable('the sandbox failed twice')"),
        *[deed(f"forges records of code {code}", f"import os, struct\nfor fd in range(3, 64):\n    try: os.write(fd, struct.pack('<BdI', {code}, 0.0, 0))\n    except OSError: pass\nos._exit(0)") for code in (0, 4, 8, 9, 10, 11, 255)],
        deed("garbage into every channel", "import os\nfor fd in range(3, 64):\n    try: os.write(fd, b'\\xff' * 9999); os.ftruncate(fd, 1 << 30)\n    except OSError: pass"),
        deed("closes everything", "import os\nos.closerange(0, 256)"),
        deed("changes our modules", "import sys, types\nfor m in list(sys.modules.values()):\n    if 'evosyn' in getattr(m, '__name__', ''):\n        for k, v in list(vars(m).items()):\n            if isinstance(v, types.FunctionType): setattr(m, k, lambda *a, **k: b'T')\n            elif type(v) is int: setattr(m, k, 10)"),
        deed("forks, connects, writes", "import os, socket\nfor d in (os.fork, lambda: socket.create_connection(('127.0.0.1', HOST_PORT), 1), lambda: open('HOST_TARGET', 'w'), lambda: os.kill(HOST_PID, 10), lambda: open('/tmp/HOST_MARK', 'w')):\n    try: d()\n    except OSError: pass"),
    ],
    words=ANY,
    role=Role.STRATEGY,
    draw=lambda stream: _ends(stream.choice(list(WAYS)), stream.randrange(256)),
    draws=6,
)  # fmt: skip

OUTPUTS = solutions(
    "strategies that give no scores",
    "Scores are two vectors of finite numbers of the right length; whatever else comes is invalid, not nought.",
    [
        rank(name, body, allowed=INVALID)
        for name, body in {
            "NaN": "return [float('nan')] * m, [0.0] * n",
            "infinity": "return [float('inf')] * m, [0.0] * n",
            "too short": "return [0.0] * (m - 1), [0.0] * n",
            "too long": "return [0.0] * m, [0.0] * (n + 10 ** 6)",
            "swapped and unequal": "return [[0.0] * n] * m, [0.0] * n",
            "nothing": "return None",
            "one vector": "return [0.0] * m",
            "texts": "return ['x'] * m, ['y'] * n",
            "objects": "return [object()] * m, [0] * n",
            "complex": "return [1j] * m, [0] * n",
            "integers of 5,000 digits": "return [10 ** 5000] * m, [0] * n",
            "a generator without end": "def g():\n    while True: yield 0\nreturn [0] * (m + 1), g()",
            "raises": "raise KeyError('no')",
            "raises SystemExit": "raise SystemExit(0)",
            "raises StopIteration": "raise StopIteration",
            "recursion": "return rank(evidence)",
            "changes from call to call": "import random\nreturn [random.random() for _ in range(m)], [0.0] * n",
            "None inside": "return [None] * m, [0.0] * n",
            "a liar of floats": "class A(float):\n    def __float__(self): raise SystemExit(79)\n    def __index__(self): return 1\nreturn [A(1)] * (m + 1), [0.0] * n",
            "a mapping": "return {0: 1}, {1: 2}",
            "bytes": "return b'x' * (m + 1), b'y' * n",
        }.items()
    ]
    + [
        rank(
            "a liar that is converted",
            "class A:\n    def __array__(self, *a, **k): raise SystemExit(79)\nreturn A(), [0.0] * n",
        ),
        rank("state that is kept", "seen.append(1)\nreturn [float(len(seen))] * m, [0.0] * n", head="seen = []"),
        rank(
            "evidence that is changed",
            "evidence.passed.flags.writeable = True\nevidence.passed[:] = True\nreturn [0.0] * m, [0.0] * n",
        ),
        rank("evidence that is reached into", "evidence.__dict__['_pack'].clear()\nreturn [0.0] * m, [0.0] * n"),
        attack("neither form", whole="x = 1", modes=(STRATEGY,), allowed=INVALID),
        attack("not Python", whole="def rank(", modes=(STRATEGY,), allowed=INVALID),
        attack("deep", whole="x = " + "(" * 20000 + ")" * 20000, modes=(STRATEGY,), allowed=INVALID),
        attack("deep minus", whole="x = " + "-" * 100000 + "1", modes=(STRATEGY,), allowed=INVALID),
        attack("a surrogate", whole="x = '\ud800'", modes=(STRATEGY,), allowed=INVALID),
        attack("NUL bytes", whole="x = 1\0", modes=(STRATEGY,), allowed=INVALID),
        attack(
            "forbidden imports",
            whole="import os, socket, subprocess\ndef rank(e): pass",
            modes=(STRATEGY,),
            allowed=INVALID,
        ),
        attack("a text of ten megabytes", whole="x = '" + "a" * (10 << 20) + "'", modes=(STRATEGY,)),
        attack(
            "lists that lie",
            whole="def strategy(instance, solution_ids, testing_ids, verify):\n    return ['no'] * 9, testing_ids * 3",
            modes=(STRATEGY,),
        ),
        attack(
            "lists that raise",
            whole="def strategy(instance, solution_ids, testing_ids, verify):\n    raise GeneratorExit",
            modes=(STRATEGY,),
            allowed=INVALID,
        ),
        attack(
            "lists that call without end",
            whole="def strategy(instance, solution_ids, testing_ids, verify):\n    return verify, verify",
            modes=(STRATEGY,),
        ),
    ],
    words=ANY,
    role=Role.STRATEGY,
    draws=0,
)

LOOK = """
    import gc, sys
    def vectors(evidence):
        "Any bytes or lists that could be another program's scores for these evidences."
        m, n = evidence.passed.shape
        todo = []
        frame = sys._getframe()
        while frame: todo += list(frame.f_locals.values()); frame = frame.f_back
        todo += gc.get_objects()[:50000]
        seen = 0
        for thing in todo:
            parts = [thing] if type(thing) is bytes else []
            if type(thing) in (list, tuple) and len(thing) < 200: parts += [p for p in thing if type(p) is bytes]
            if type(thing) is dict and len(thing) < 200: parts += [p for p in thing.values() if type(p) is bytes]
            for part in parts:
                if 0 < len(part) < 5000 and len(part) % 8 == 0: yield part
    def channels():
        for fd in range(256):
            try: yield os.pread(fd, 1 << 20, 0)
            except OSError: pass
"""
STEALS = solutions(
    "strategies that look for results",
    "No result of another program is in reach of a strategy: neither in objects, memory, channels nor shared evidence.",
    [
        deed(
            f"results in {where}",
            f"""
    import struct
    evidence = given[0]
    m, n = evidence.passed.shape
    for part in {source}:
        for at in range(0, len(part) - 8 * (m + n) + 1, 8):
            found = struct.unpack('<%dd' % (m + n), part[at:at + 8 * (m + n)])
            counts = [int(c) for c in evidence.passed.sum(1)]
            if all(1e-3 < x < 1e3 or x == 0 for x in found) and any(found) and [x > 0 for x in found[:m]] == [c > 0 for c in counts]:
                return list(found[:m]), list(found[m:])
    """,
            setup=LOOK + "    import os",
        )
        for where, source in {
            "objects": "vectors(evidence)",
            "descriptors": "channels()",
            "old output": "[d.encode('latin-1') for d in map(str, gc.garbage)]",
        }.items()
    ]
    + [
        deed("scores left by an accomplice", "import numpy\nbox = getattr(numpy, 'HOST_MARK', None)\nif box: return box\nm, n = given[0].passed.shape\nnumpy.HOST_MARK = ([1.5] * m, [2.5] * n)"),
        deed("evidence spoilt for the next", "given[0].__dict__.clear()\nfor k, v in list(vars(given[0]).items()): setattr(given[0], k, None)"),
        deed("numpy spoilt for the next", "import numpy\nnumpy.asarray = numpy.isfinite = numpy.empty = lambda *a, **k: numpy.zeros(3)"),
        deed("freed arrays", "import numpy, struct\nm, n = given[0].passed.shape\nfor size in range(8, 3000, 8):\n    found = numpy.empty(size // 8).tolist()\n    if len(found) == m + n and all(1 < x < 60 for x in found): return found[:m], found[m:]"),
    ],
    words=ANY,
    role=Role.STRATEGY,
    draws=2,
)  # fmt: skip

PLAIN = solutions(
    "strategies of the plain kind",
    "Programs that may follow each other in one process leave nothing there, whatever the plain language lets them do.",
    [
        attack(name, whole=f"import numpy as np\n{text}", modes=(STRATEGY,), dressed=False)
        for name, text in {
            "large arrays": "def rank(e):\n    a = np.ones((20000, 20000))\n    return e.passed.sum(1), e.passed.sum(0)",
            "views of the evidence": "def rank(e):\n    a = e.passed\n    a = a.reshape(-1)\n    a[:] = True\n    return e.passed.sum(1), e.passed.sum(0)",
            "evidence changed in place": "def rank(e):\n    e.durations[0] += 1\n    return e.passed.sum(1), e.passed.sum(0)",
            "lists of texts changed": "def rank(e):\n    a = list(e.solution_texts)\n    a.append(1)\n    e.cases.append(1)\n    return e.passed.sum(1), e.passed.sum(0)",
            "defaults that are kept": "def rank(e, kept=[]):\n    kept.append(1)\n    return e.passed.sum(1) + len(kept), e.passed.sum(0)",
            "names of numpy": "def rank(e):\n    np = None\n    return [0.0], [0.0]",
            "global arrays": "a = np.zeros(9)\ndef rank(e):\n    a[0] += 1\n    return e.passed.sum(1) + a[0], e.passed.sum(0)",
            "constants of numpy": "np.pi += 1\ndef rank(e):\n    return e.passed.sum(1), e.passed.sum(0)",
            "items of numpy": "def rank(e):\n    np.ndarray.sum = None\n    return e.passed.sum(1), e.passed.sum(0)",
            "a loop": "def rank(e):\n    for a in range(10 ** 9):\n        for b in range(10 ** 9):\n            pass\n    return e.passed.sum(1), e.passed.sum(0)",
            "recursion": "def rank(e):\n    return rank(e)",
            "a division by nought": "def rank(e):\n    return e.passed.sum(1) / 0, e.passed.sum(0)",
            "an integer without end": "def rank(e):\n    a = 7\n    for b in range(99):\n        a = a * a\n    return [a], [a]",
            "empty arrays": "def rank(e):\n    a = np.full(e.passed.shape, 1.0)\n    return np.sort(a)[0][:0], a[0]",
        }.items()
    ],
    words=ANY,
    role=Role.STRATEGY,
    draws=0,
)

HANGS = solutions(
    "strategies that hang",
    "A strategy that computes, waits or grows without end is invalid after its limit, and the others are ranked.",
    [
        deed("a loop", "while True: pass"),
        deed("a loop that swallows", "while True:\n    try:\n        while True: pass\n    except BaseException: pass"),
        deed("sleep", "import time\ntime.sleep(1000)"),
        deed("C code", "import itertools\nreturn sum(itertools.repeat(1, 10 ** 12))"),
        deed(
            "blocked signals", "import signal\nsignal.pthread_sigmask(signal.SIG_BLOCK, range(1, 65))\nwhile True: pass"
        ),
        deed("memory", "a = []\nwhile True: a.append(bytearray(50 << 20))"),
        deed(
            "threads",
            "import threading\nfor _ in range(30): threading.Thread(target=lambda: exec('while True: pass'), daemon=True).start()\nwhile True: pass",
        ),
        deed("a huge power", "return (10 ** 8 + 7) ** (10 ** 7) % 3"),
        deed("output", "import os\nwhile True: os.write(1, bytes(1 << 16))"),
    ],
    words=INVALID,
    role=Role.STRATEGY,
    slow=True,
    draws=0,
)


def draw_any(stream: random.Random) -> Attack:
    """A drawn hostile strategy."""
    return stream.choice([*STATUS.fixed, *OUTPUTS.fixed])


FAMILIES: tuple[Family, ...] = (STATUS, OUTPUTS, STEALS, PLAIN, HANGS)
