"""Lying values: what a program returns is data or it is nothing.

Values leave a program by exact type and by value; no method of the program's runs where it is judged, and nothing that
is equal to everything is equal to anything.
"""

from __future__ import annotations

import random

from hostile_suite.families._make import attack, calls, loads, solutions
from hostile_suite.model import Attack, Family, allow

BASES = {
    "int": "A(1)", "float": "A(1.5)", "complex": "A(1j)", "str": "A('1')", "bytes": "A(b'1')", "bytearray": "A(b'1')",
    "list": "A([1])", "tuple": "A((1,))", "dict": "A(a=1)", "set": "A([1])", "frozenset": "A([1])", "object": "A()",
}  # fmt: skip
LIES = {
    "__eq__": "    def __eq__(self, o): return True\n    def __ne__(self, o): return False\n    def __hash__(self): return 0\n",
    "__class__": "    @property\n    def __class__(self): return int\n",
    "__reduce__": "    def __reduce_ex__(self, p): return (int, (1,))\n    def __reduce__(self): return (eval, ('1',))\n",
    "__iter__": "    def __iter__(self): return iter(range(10 ** 12))\n    def __len__(self): return 3\n",
    "__index__": "    def __index__(self): return 7\n    def __int__(self): return 7\n    def __float__(self): return 7.0\n    def __bool__(self): return True\n",
    "__getattribute__": "    def __getattribute__(self, n): return lambda *a: True\n",
    "__sub__": "    def __sub__(self, o): return 0\n    __rsub__ = __abs__ = __mod__ = __sub__\n    def __lt__(self, o): return True\n    __le__ = __gt__ = __ge__ = __lt__\n",
    "__buffer__": "    def __bytes__(self): return b'1'\n    def __str__(self): return '1'\n    __repr__ = __format__ = __str__\n",
    "__hash__ raises": "    def __hash__(self): raise SystemExit\n    def __eq__(self, o): raise KeyboardInterrupt\n",
    "__del__": "    def __del__(self): raise SystemExit\n    def __eq__(self, o): return True\n    __hash__ = None\n",
}
PLACES = {
    "itself": "{v}", "in a list": "[{v}, 2]", "in a tuple": "({v},)", "as a value": "{{'a': {v}}}", "as a key": "{{{v}: 1}}",
    "deep inside": "[[[({v},)]]]", "beside a right one": "[honest(*given), {v}]",
}  # fmt: skip


def _liar(base: str, lie: str, place: str) -> Attack:
    setup = f"HONEST\nclass A({base}):\n    pass\n{LIES[lie]}"
    return attack(f"{base} with {lie} {place}", setup, f"return {PLACES[place].format(v=BASES[base])}", allowed=OBJECTS)


OBJECTS = allow("not-plain-data exception wrong timeout killed", rest="wrong exception timeout killed")

LIARS = solutions(
    "lying classes",
    "An instance of a class of the program's own, however it compares, hashes, iterates or names itself, is no plain data.",
    [_liar(base, lie, "itself") for base, lie in zip(list(BASES) * 2, list(LIES) * 2)]
    + [_liar(base, "__eq__", "itself") for base in BASES if base not in ("int",)]
    + [_liar("int", "__eq__", place) for place in list(PLACES)[1:]]
    + [
        attack("metaclass that is int", "class M(type):\n    def __eq__(c, o): return True\n    def __hash__(c): return hash(int)\nclass B(metaclass=M): pass\nB.__name__ = 'int'", "return B()", allowed=OBJECTS),
        attack("class whose attributes raise", "class M(type):\n    def __getattribute__(c, n): raise SystemExit\nclass B(metaclass=M): pass", "return B()", allowed=OBJECTS),
        attack("enumeration, named tuple, dataclass", "import collections, dataclasses, enum\nclass E(enum.IntEnum): A = 7\nN = collections.namedtuple('N', 'a')\nD = dataclasses.make_dataclass('D', ['a'])", "return [E.A, N(1), D(1)]", allowed=OBJECTS),
        attack("object that computes when compared", "HONEST\nclass A:\n    def __eq__(self, o): return o == honest(*self.given)\ndef made(given): a = A(); a.given = given; return a", "return made(given)", allowed=OBJECTS),
        attack("int whose value is changed by ctypes", "import ctypes", "a = 10 ** 9 + 7\nctypes.memset(id(a) + 24, 255, 4)\nreturn a"),
        attack("type changed by ctypes", "import ctypes\nclass A(int):\n    def __eq__(self, o): return True\n    __hash__ = int.__hash__", "a = A(5)\nctypes.c_void_p.from_address(id(a) + 8).value = id(int)\nreturn a"),
    ],
    draw=lambda stream: _liar(stream.choice(list(BASES)), stream.choice(list(LIES)), stream.choice(list(PLACES))),
    draws=12,
)  # fmt: skip

SHAPES = {
    "holds itself": "a = []; a.append(a)\nreturn a",
    "holds itself as a value": "a = {}; a['a'] = a\nreturn a",
    "two that hold each other": "a, b = [], {}; a.append(b); b['a'] = a\nreturn (a, b)",
    "a hundred thousand deep": "a = 1\nfor _ in range(100000): a = [a]\nreturn a",
    "a thousand deep tuples": "a = 1\nfor _ in range(1000): a = (a,)\nreturn a",
    "keys that collide": "return {i * (2 ** 61 - 1): 0 for i in range(1, 6000)}",
    "a few keys that collide": "return {i * (2 ** 61 - 1): 0 for i in range(1, 3000)}",
    "items that collide": "return [i * (2 ** 61 - 1) for i in range(1, 30000)]",
    "a set that collides": "return {i * (2 ** 61 - 1) for i in range(1, 6000)}",
    "NaN": "return float('nan')",
    "NaN as a key": "return {float('nan'): 1, float('nan'): 1}",
    "an integer of 100,000 digits": "return 10 ** 100000",
    "an integer of 5,000 digits": "return 10 ** 5000",
    "integers of 5,000 digits as keys": "return {10 ** 5000 + n: n for n in range(3)}",
    "an integer of 5,000 digits in a tuple as a key": "return {(10 ** 5000, 1): 1, 'k0': 2, 'k1': 3}",
    "a lone surrogate": "return '\\ud800' * 5",
    "surrogates as keys": "return {'\\udcff': 1, 'k1': 1, 'k2': 1}",
    "zero bytes": "return '\\0' * 1000",
    "bytes for text": "return b'abc'",
    "mixed keys": "return {1: 1, '1': 2, b'1': 3, None: 4, True: 5, 1.5: 6}",
    "keys that JSON writes alike": "return {1: 1, '1': 1, 1.0: 1}",
    "a value that is small here and large when written": "a = [0] * 10\nfor _ in range(9): a = [a] * 10\nreturn a",
    "300 MB of text": "return 'x' * (300 << 20)",
    "300,000 numbers": "return list(range(300000))",
    "memory view": "return memoryview(b'abc')",
    "range": "return range(10 ** 12)",
    "a generator": "return (x for x in (1, 2))",
    "a module": "import sys\nreturn sys",
    "a function": "return act",
    "a type": "return int",
    "a coroutine": "async def go(): return 1\nreturn go()",
    "an exception": "return AssertionError('equal')",
    "Ellipsis and NotImplemented": "return [..., NotImplemented]",
    "not implemented": "return NotImplemented",
    "infinity": "return float('inf')",
    "negative zero in a list": "return [-0.0] * 5",
    "complex nan": "return complex('nan+nanj')",
    "a dictionary with its own order": "return {k: {} for k in (True, False, None, 0.5, '', b'', (), frozenset())}",
    "frozen sets in sets": "a = frozenset()\nfor _ in range(60): a = frozenset([a])\nreturn {a}",
    "the argument changed": "given = list(given); given.append(1)\nreturn given",
    "another type": "return str(given)",
    "nothing": "return None",
}
SHAPE = solutions(
    "values of strange shape",
    "Recursive, deep, huge, colliding, surrogate or non-numeric values cost their program its cell, and nobody else anything.",
    [calls(name, body) for name, body in SHAPES.items()],
    words=allow("wrong not-plain-data output-limit killed exception timeout", rest="wrong exception timeout killed"),
    draw=lambda stream: _shape(stream),
    draws=8,
)


def _shape(stream: random.Random) -> Attack:
    """A value built from drawn constructors, some of them hostile."""
    leaves = [
        "0",
        "''",
        "b''",
        "None",
        "float('nan')",
        "10 ** 4400",
        "-1e308 * 10",
        "'\\udfff'",
        "True",
        "1j",
        "'x' * 9999",
        "{}",
        "()",
    ]
    wraps = [
        "[{0}]",
        "({0}, {0})",
        "{{'k': {0}}}",
        "[{0}] * 50",
        "{{({0!s},).__repr__(): {0}}}",
        "list({{1: {0}}}.values())",
        "{{1: {0}, '1': {0}}}",
    ]
    text = stream.choice(leaves)
    for _ in range(stream.randint(1, 6)):
        text = stream.choice(wraps).format(text) if len(text) < 3000 else f"[{text}]"
    return calls(f"built: {text[:60]}", f"return {text}")


FUNCTIONS = {
    "is a class": "class ENTRY:\n    def __init__(self, x): self.x = x\n",
    "is a coroutine function": "HONEST\nasync def ENTRY(x): return honest(x)\n",
    "is a generator function": "HONEST\ndef ENTRY(x): yield honest(x)\n",
    "is a number": "ENTRY = 17\n",
    "is a callable that lies": "class C:\n    def __call__(self, x): return self\n    def __eq__(self, o): return True\nENTRY = C()\n",
    "is missing": "HONEST\ndef another(x): return honest(x)\n",
    "is empty": "",
    "takes other arguments": "def ENTRY(): return 17\n",
    "is deleted": "HONEST\nENTRY = honest\ndel ENTRY\n",
    "is None": "ENTRY = None\n",
    "is a type": "ENTRY = int\n",
    "is the module": "import sys\nENTRY = sys.modules[__name__]\n",
    "changes from call to call": "def ENTRY(x):\n    global ENTRY\n    ENTRY = lambda x: 0\n    return 1\n",
    "is behind a module's __getattr__": "def __getattr__(name): return lambda x: 0\n",
    "is a partial that leaves": "import functools, os\nENTRY = functools.partial(os._exit, 0)\n",
    "is an attribute that raises": "class M:\n    def __call__(self, x): raise StopIteration\nENTRY = M()\n",
}
ENTRIES = solutions(
    "strange entry points",
    "A program without the function that was asked for has failed, whatever stands in the function's place.",
    [attack(name, whole=text, dressed=False) for name, text in FUNCTIONS.items()],
    words=allow("no-entry-point exception wrong not-plain-data load-error killed"),
    draws=0,
    modes=("table", "rpc-warm", "rpc-fresh", "rpc-program", "reward"),
)

CONSTANTS = solutions(
    "guesses",
    "Plain wrong answers, printed words and constants that look like verdicts are wrong answers.",
    [
        calls(
            "prints verdicts",
            'print(\'PASS\', \'{"status": "ok", "verdict": "P"}\', True, \'OK\', flush=True)\nreturn 0',
        ),
        calls(
            "prints verdicts to every stream",
            'import os\nfor fd in (1, 2): os.write(fd, b\'{"verdict": "PASS"}\\n1 passed\\n\')\nreturn True',
        ),
        calls("returns the word", "return 'PASS'"),
        calls("returns a status", "return {'status': 'ok', 'value': None, 'verdict': 'P', 'code': 0}"),
        calls("returns true", "return True"),
        attack(
            "right value, wrong type",
            "HONEST",
            "return str(honest(*given))",
            kinds=("number", "big"),
            computes=True,
        ),
        calls("returns its marks", "return list(globals())"),
        calls("returns its argument", "return given[0] if given else 0"),
        calls("searches for the testing", "import sys\nreturn [k for k in sys.modules if 'test' in k][:1]"),
        calls("reads standard input", "import sys\nreturn sys.stdin.read() or 0"),
        calls(
            "reads /proc/self",
            "out = []\nfor n in ('cmdline', 'environ', 'maps'):\n    try: out.append(open('/proc/self/' + n).read())\n    except OSError: pass\nreturn out",
        ),
        loads("leaves", "import sys\nsys.exit(0)"),
    ],
    draw=lambda stream: calls(
        f"constant {stream.randrange(10**9)}",
        f"return {stream.choice((0, 1, -1, stream.randrange(10**9), repr(str(stream.random()))))}",
    ),
    draws=3,
)

FAMILIES: tuple[Family, ...] = (LIARS, SHAPE, ENTRIES, CONSTANTS)
