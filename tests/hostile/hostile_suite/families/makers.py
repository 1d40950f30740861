"""Hostile generators and hostile starter code: model-written code that runs before, or beside, what is judged.

A generator runs once, in a process of its own, and what it gives is data. Starter code runs with the checks of its own
problem; it may spoil them, not the table, another problem, or our side.
"""

from __future__ import annotations

import random

from hostile_suite.families._make import attack, solutions
from hostile_suite.families.resources import GROWTHS, HOLDERS
from hostile_suite.families.status import WAYS
from hostile_suite.model import OWN_CLAIM, TABLE, Attack, Family, Role

OWN = {"*": OWN_CLAIM}


def output(name: str, source: str) -> Attack:
    """A generator of an expected output."""
    return _cases(name, [{"input": "INPUT", "output": {"python": source}}])


def given(name: str, source: str) -> Attack:
    """A generator of an input, of an argument, and of a whole list of cases."""
    body = source if "return" in source or "\n" in source else f"return {source}"
    listed = [{"input": {"python": source}, "output": 1}, {"input": [{"python": source}], "output": "OUTPUT"}]
    return _cases(name, listed if "build_cases" not in body else {"python": source})


def _cases(name: str, cases: object) -> Attack:
    return attack(name, body={"kind": "cases", "cases": cases}, modes=(TABLE,), dressed=False)


VALUES = {
    "an integer of 5,000 digits": "10 ** 5000",
    "a factorial": "math.factorial(2000)",
    "a list of integers of 5,000 digits": "[10 ** 5000 + n for n in range(5)]",
    "a dictionary of integers of 5,000 digits": "{10 ** 5000 + n: n for n in range(3)}",
    "an integer of 100,000 digits": "7 ** 100000",
    "NaN": "float('nan')",
    "a dictionary of NaN": "{float('nan'): 1, float('inf'): 2}",
    "a deep list": "(lambda f: f(f, 500))(lambda f, n: [] if n == 0 else [f(f, n - 1)])",
    "a surrogate": "'\\ud800'",
    "colliding numbers": "[n * (2 ** 61 - 1) for n in range(20000)]",
    "a colliding set": "{n * (2 ** 61 - 1) for n in range(9000)}",
    "a list that holds itself": "(lambda a: a.append(a) or a)([])",
    "an object": "object()",
    "a class that is equal to everything": "type('A', (int,), {'__eq__': lambda s, o: True, '__hash__': int.__hash__})(5)",
    "a function": "print",
    "a generator": "(n for n in range(3))",
    "a megabyte": "'x' * (1 << 20)",
    "seven megabytes": "'x' * (7 << 20)",
    "a hundred megabytes": "'x' * (100 << 20)",
    "a million numbers": "list(range(10 ** 6))",
    "tuples": "tuple((n,) for n in range(3))",
    "nothing": "None",
    "text of what is asked": "repr(globals())[:1000]",
    "random numbers": "[random.random() for _ in range(5)]",
    "keys of many types": "{1: 1, '1': 2, True: 3, None: 4, (1,): 5, b'1': 6}",
}
BODIES = {
    **{f"computes {name}": f"{body}\nreturn 1" for name, body in list(HOLDERS.items())[:5]},
    **{f"grows {name}": f"{body}\nreturn 1" for name, body in list(GROWTHS.items())[:4]},
    "swallows its limit": "while True:\n    try:\n        while True: pass\n    except BaseException: pass\nreturn 1",
    "waits": "import time\ntime.sleep(1000)\nreturn 1",
    "prints": "while True: print('x' * 10 ** 6)\nreturn 1",
}
DEEDS = {
    **{way: f"{deed.format(code=79)}\nreturn 1" for way, deed in WAYS.items()},
    "forks": "import os\nwhile True: os.fork()\nreturn 1",
    "reads and writes files": "import os\nfor deed in (lambda: open('HOST_TARGET', 'w'), lambda: os.truncate('HOST_TARGET', 0), lambda: os.unlink('HOST_TARGET')):\n    try: deed()\n    except OSError: pass\nreturn open('HOST_SECRET').read()",
    "connects": "import socket\nreturn socket.create_connection(('127.0.0.1', HOST_PORT), 1).fileno()",
    "reads the environment": "import os\nreturn sorted(os.environ.values())",
    "forges records": "import os, struct\nfor code in range(12):\n    for fd in range(3, 64):\n        try: os.write(fd, struct.pack('<BdI', code, 0.0, 0))\n        except OSError: pass\nos._exit(0)\nreturn 1",
    "spoils its modules": "import builtins, sys\nbuiltins.len = None\nsys.modules.clear()\nreturn 1",
    "raises": "raise StopIteration\nreturn 1",
    "imports everything": "import antigravity, this, tkinter, numpy\nreturn 1",
    "does not parse": "return (",
    "is deep": "return " + "(" * 3000 + "1" + ")" * 3000,
    "is neither": "x = 1",
    "defines build_cases twice": "def build_cases():\n    return [{'input': [1], 'output': 2}]\ndef build_cases():\n    return None",
}
GIVES = solutions(
    "generators and what they give",
    "What a generator gives is data of bounded size, checked as strictly as what is read from a file.",
    [output(f"output: {name}", source) for name, source in VALUES.items()]
    + [given(f"input: {name}", source) for name, source in VALUES.items()]
    + [
        _cases(f"all cases: {name}", {"python": f"def build_cases():\n    return {source}"})
        for name, source in {
            "none": "None",
            "empty": "[]",
            "not cases": "[1, 2]",
            "cases of 5,000 digits": "[{'input': [10 ** 5000], 'output': 10 ** 5000}]",
            "cases in cases": "[{'input': [{'python': '1'}], 'output': {'python': '2'}}]",
            "thirty thousand": "[{'input': [n], 'output': n} for n in range(30000)]",
            "objects": "[{'input': [object()], 'output': print}]",
            "other fields": "[{'input': [1], 'output': 1, 'kind': 'program', 'code': 'x'}]",
            "hostile tolerance": "[{'input': [1], 'output': 1, 'tolerance': float('nan')}]",
            "one that holds itself": "(lambda a: a.append({'input': a, 'output': a}) or a)([])",
            "keys of 5,000 digits": "[{'input': [1], 'output': {10 ** 5000 + n: 1 for n in range(3)}}]",
        }.items()
    ],
    words=OWN,
    role=Role.GENERATOR,
    draws=0,
)
DOES = solutions(
    "generators and what they do",
    "A generator is untrusted code: it ends, errs or reaches for the host in its own process and breaks its own testing.",
    [output(name, source) for name, source in DEEDS.items()],
    words=OWN,
    role=Role.GENERATOR,
    draw=lambda stream: _draw_deed(stream),
    draws=3,
)
HANGS = solutions(
    "generators that hang",
    "A generator that computes, waits or grows without end breaks its own testing after its limit.",
    [output(name, source) for name, source in BODIES.items()],
    words=OWN,
    role=Role.GENERATOR,
    slow=True,
    draws=0,
)


def _draw_deed(stream: random.Random) -> Attack:
    way, code = stream.choice(list(WAYS)), stream.randrange(256)
    return output(f"{way}({code})", f"{WAYS[way].format(code=code)}\nreturn 1")


STUB = "\ndef ENTRY(x):\n    pass\n"


def starter(name: str, text: str) -> Attack:
    return attack(name, setup=text if "ENTRY" in text else f"{text}{STUB}", dressed=False)


STARTERS = solutions(
    "starter code",
    "Starter code runs with the checks of its own problem only; tables, other problems and our side do not see it.",
    [
        starter(name, text)
        for name, text in {
            "leaves": "import os\nos._exit(0)",
            "leaves as infrastructure": "import os\nclass A:\n    x = os._exit(79)",
            "raises": "x = 1 / 0",
            "defines the entry point": "def ENTRY(x):\n    return 0",
            "defines every builtin": "AssertionError = ValueError = Exception\nlen = print = range = zip = map = all = lambda *a: 0",
            "defines the check": "def check(candidate): return True\ncandidate = None",
            "a helper that is equal to everything": "class A:\n    def __eq__(self, o): return True\nhelper = A()",
            "a class of its own": "class Solution:\n    def ENTRY(self, x): pass",
            "spoils modules": "import sys\nx = sys.modules.clear()",
            "spoils builtins": "import builtins\nx = setattr(builtins, 'AssertionError', None)",
            "imports what is not there": "import numpy, no_such_module\nfrom typing import *",
            "recursion": "def f(): return f()\nx = f()",
            "not Python": "def ENTRY(x",
            "a surrogate": "x = '\ud800'",
            "NUL bytes": "x = 1\0",
            "a byte order mark": "\ufeffimport math",
            "a cookie": "# coding: utf-7\nx = 1",
            "deep": "x = " + "(" * 5000 + ")" * 5000,
            "deep minus": "x = " + "-" * 100000 + "1",
            "huge": "x = '" + "a" * 300000 + "'",
            "a huge integer": "x = 0x" + "f" * 100000,
            "many helpers": "".join(f"def helper{n}(): pass\n" for n in range(3000)),
            "a decorator": "import os\n@os._exit\ndef ENTRY(x):\n    pass",
            "defaults that run": "import os\ndef helper(a=os.write(1, b'x')): pass",
            "forges records": "import os\nx = [os.write(fd, b'\\x0a' * 40) for fd in range(3, 9)]",
            "files": "x = open('HOST_TARGET', 'w')",
            "forks": "import os\nx = os.fork()",
            "an import of ours": "import evosyn\nfrom evosyn.sandbox import open_sandbox",
            "a name that is hidden": "__builtins__ = {}\n__name__ = '__main__'",
            "a star": "from os import *\nfrom builtins import *",
            "async": "async def ENTRY(x):\n    pass",
            "lambda": "ENTRY = lambda x: 0",
            "global statement": "global ENTRY\nENTRY = None",
        }.items()
    ],
    words=OWN,
    role=Role.STARTER,
    draws=0,
)  # fmt: skip
HANGING = solutions(
    "starter code that hangs",
    "Starter code that hangs or grows costs the coded checks of its own problem, and no more.",
    [
        starter(name, text)
        for name, text in {
            "a loop": "def f():\n    while True: pass\nx = f()",
            "a loop that swallows": "def f():\n    while True:\n        try:\n            while True: pass\n        except BaseException: pass\nx = f()",
            "sleep": "import time\nx = time.sleep(1000)",
            "grows": "x = [bytearray(1 << 30) for _ in range(99)]",
            "a power": "x = 9 ** 9 ** 9",
            "a flood": "def f():\n    while True: print('x' * 10 ** 6)\nx = f()",
        }.items()
    ],
    words=OWN,
    role=Role.STARTER,
    slow=True,
    draws=0,
)
FAMILIES: tuple[Family, ...] = (GIVES, DOES, HANGS, STARTERS, HANGING)
