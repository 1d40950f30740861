"""Hostile testings, programs under checks and whole programs: each can harm its own cells and nothing else."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from evosyn.jobs import Check, ChecksJob, Limits, Status, StdioJob
from evosyn.ports import Sandbox
from evosyn.sandbox import open_sandbox
from evosyn.synthesis.domains._compare import same_text

LIMITS = Limits(wall_s=1.0, budget_s=20.0, memory_mb=400, output_kb=256)
WRONG = "def f(x): return x\ndef g(x): return 5\n"
HONEST = "assert f(1000) == 7003"
OK = "assert f(2) == 2"


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    with open_sandbox("local", workers=1) as opened:
        yield opened


def verdicts(sandbox: Sandbox, *codes: str, program: str = WRONG) -> list[Status]:
    (outcomes,) = sandbox.run([ChecksJob(program, "f", tuple(Check(code) for code in codes), LIMITS)])
    return [outcome.status for outcome in outcomes]


FORGES_RECORDS = """
import os, struct
for fd in range(3, 64):
    try: os.write(fd, struct.pack('<BdI', 0, 0.0, 1) * 40 + b'N' * 40)
    except OSError: pass
os._exit(0)
"""
FINDS_THE_WRITER = """
import sys
frame = sys._getframe()
while frame:
    for value in list(frame.f_locals.values()):
        if hasattr(value, 'put'):
            for _ in range(9): value.put(0, 0.0, b'N')
    frame = frame.f_back
"""


@pytest.mark.parametrize(
    "hostile",
    [
        "assert True",
        "import os\nos._exit(0)",
        "import sys\nsys.exit(0)",
        "raise KeyboardInterrupt",
        "while True: pass",
        "while True:\n    try:\n        while True: len('')\n    except BaseException: pass",
        "import builtins\nbuiltins.AssertionError = ValueError\nbuiltins.compile = None",
        "f.__globals__['proxy'] = lambda *a: (lambda x: 7003)\nf = lambda x: 7003",
        "import sys\nsys.modules.clear()",
        "import gc\nfor o in gc.get_objects():\n    if type(o) is dict: o['candidate'] = o['f'] = lambda x: 7003",
        FORGES_RECORDS,
        FINDS_THE_WRITER,
        "import os\nwhile True: os.fork()",
        "x = bytearray(1 << 40)",
        "import ctypes\nctypes.string_at(0)",
        "def run():\n    return run()\nrun()",
        "(" * 5000,
        "import threading, time\nthreading.Thread(target=time.sleep, args=(99,)).start()",
        "f(lambda: 0)",
        "f(f)",
        "print('x' * 10 ** 7)",
        "import socket\nsocket.create_connection(('127.0.0.1', 22))",
        "open('/etc/passwd').read()",
        "import os\nos.closerange(0, 100)",
        "import os\nfor fd in range(3, 64):\n    try: os.write(fd, b'\\xff' * 5000)\n    except OSError: pass",
    ],
)
def test_a_hostile_testing_changes_no_verdict_but_its_own(sandbox: Sandbox, hostile: str) -> None:
    found = verdicts(sandbox, HONEST, hostile, HONEST, OK, hostile, OK)
    assert [found[n] for n in (0, 2, 3, 5)] == [Status.EXCEPTION, Status.EXCEPTION, Status.OK, Status.OK]


@pytest.mark.parametrize(
    "program",
    [
        "import os\ndef f(x): os._exit(0)",
        "def f(x): raise SystemExit(0)",
        "class A:\n    def __eq__(self, o): return True\ndef f(x): return A()",
        "class A(int):\n    def __eq__(self, o): return True\n    __hash__ = int.__hash__\ndef f(x): return A(7003)",
        "import os\ndef f(x):\n    for fd in range(3, 64):\n        try: os.write(fd, b'\\0' * 500)\n        except OSError: pass\n    return 0",
        "import builtins\nbuiltins.AssertionError = None\ndef f(x): return 0",
        "import sys\ndef f(x):\n    frame = sys._getframe()\n    while frame:\n        for v in list(frame.f_locals.values()):\n            if v == 7003: return v\n        frame = frame.f_back\n    return 0",
        "def f(x):\n    while True:\n        try:\n            while True: len('')\n        except BaseException: pass",
        "def f(x): return 'x' * (3 << 20)",
        "class E(Exception):\n    def __str__(self): raise SystemExit\ndef f(x): raise E",
        "def f(x): raise AssertionError",
        "def f(x): raise MemoryError",
        "import os\nos.closerange(3, 100)\ndef f(x): return 7003",
    ],
)
def test_no_program_passes_a_check_that_it_should_fail(sandbox: Sandbox, program: str) -> None:
    found = verdicts(
        sandbox, HONEST, "try:\n    ok = f(1000) == 7003\nexcept Exception:\n    ok = False\nassert ok", program=program
    )
    assert Status.OK not in found


def test_a_value_that_crashes_a_careless_decoder_does_not_reach_the_testing(sandbox: Sandbox) -> None:
    program = (
        "import os, struct\ndef f(x):\n    for fd in range(3, 64):\n"
        "        for data in (b'[\\xff\\xff\\xff\\x7f', b'r\\xff\\xff\\xff\\xff', b'c' * 200, b'(' * 500):\n"
        "            try: os.write(fd, struct.pack('<BdI', 0, 0.0, len(data)) + data)\n"
        "            except OSError: pass\n    return 0\n"
    )
    found = verdicts(sandbox, HONEST, OK, program=program)
    assert Status.OK not in found
    assert verdicts(sandbox, OK) == [Status.OK]


SUM = "n = int(input())\nprint(sum(int(input()) for _ in range(n)))\n"


@pytest.mark.parametrize(
    ("program", "right"),
    [
        (SUM, True),
        ("print(6)", True),
        ("print('6   \\n\\n')", True),
        ("import sys\nsys.stdout.write('6')\nsys.stdout.flush()\nimport os\nos._exit(0)", True),
        ("print(6)\nimport sys\nsys.exit(0)", True),
        ("import atexit\natexit.register(print, 7)\nprint(6)", True),
        ("import sys\nprint('6', file=sys.stderr)", False),
        ("print(6)\nprint(7)", False),
        ("print('PASS')", False),
        ("print('6', '7')", False),
        ("print('')", False),
        ("raise SystemExit(0)", False),
        ("print('6\\x00')", False),
        ("import os\nos.write(1, b'\\xff\\xfe')", False),
        ("import os\nos.close(1)\nprint(6)", False),
        ("print(open('/proc/self/fd/0').read())", False),
        ("while True: input()", False),
        ("import sys\nsys.stdout = None\nprint(6)", False),
        ("import os\nos.lseek(1, 1 << 30, 0)\nos.write(1, b'6')", False),
        ("import os\nos.ftruncate(1, 1 << 40)", False),
        ("import os\nos.lseek(0, 0, 0); os.write(0, b'6'); os.dup2(0, 1)", False),
    ],
)
def test_standard_output_is_judged_by_us(sandbox: Sandbox, program: str, right: bool) -> None:
    ((outcome,),) = sandbox.run([StdioJob(program, ("3\n1\n2\n3\n",), LIMITS)])
    accepted = outcome.status is Status.OK and same_text("6\n", outcome.value)
    assert accepted is right, outcome


LEAVES_ANSWERS = """
import os, struct
def f(x):
    for fd in range(3, 64):
        try: os.write(fd, struct.pack('<BdI', 0, 0.0, 5) + b'i\\x5c\\x1b\\x00\\x00')
        except OSError: pass
    return 0
"""
LEAVES_HALF_AN_ANSWER = """
import os
def f(x):
    for fd in range(3, 64):
        try: os.write(fd, b'\\0' * 7)
        except OSError: pass
    os._exit(0)
"""
NEVER_BLOCKS_AGAIN = """
import fcntl, os
for fd in range(3, 64):
    try: fcntl.fcntl(fd, fcntl.F_SETFL, os.O_NONBLOCK | os.O_APPEND | os.O_DIRECT)
    except OSError: pass
def f(x): return 0
"""
TAKES_THE_QUESTIONS = """
import os, threading
def take():
    while True:
        for fd in range(3, 64):
            try: os.read(fd, 1 << 20)
            except OSError: pass
threading.Thread(target=take, daemon=True).start()
def f(x): return 0
"""


@pytest.mark.parametrize(
    "hostile",
    [
        LEAVES_ANSWERS,
        LEAVES_HALF_AN_ANSWER,
        NEVER_BLOCKS_AGAIN,
        TAKES_THE_QUESTIONS,
        "import os\ndef f(x): os._exit(0)",
        "import os\nos._exit(0)",
        "import ctypes\ndef f(x): ctypes.string_at(0)",
        "import time\ndef f(x): time.sleep(99)",
        "def f(x):\n    while True:\n        try:\n            while True: len('')\n        except BaseException: pass",
        "while True:\n    try:\n        while True: len('')\n    except BaseException: pass",
        "syntax error here",
    ],
)
def test_a_program_leaves_nothing_behind_for_the_next(sandbox: Sandbox, hostile: str) -> None:
    right = "def f(x): return x * 7 + 3"
    checks = tuple(Check(f"assert f({x}) == {x * 7 + 3}") for x in range(1000, 1003))
    jobs = [ChecksJob(program, "f", checks, LIMITS) for program in (right, hostile, right, hostile, WRONG, right)]
    found = [[item.status for item in outcomes] for outcomes in sandbox.run(jobs)]
    assert found[0] == found[2] == found[5] == [Status.OK] * 3
    assert found[4] == [Status.EXCEPTION] * 3
    assert Status.OK not in found[1] + found[3] and Status.INFRASTRUCTURE not in found[1] + found[3]


@pytest.mark.parametrize("change", ["math.floor = len", "import math\nmath.floor = len", "for math.floor in [len]: 0"])
def test_a_check_changes_no_module_for_the_next(sandbox: Sandbox, change: str) -> None:
    program = "import math\ndef f(x): return x"
    job = ChecksJob(program, "f", (Check(change), Check("assert math.floor(f(2.5)) == 2")), LIMITS)
    found = [[item.status for item in outcomes] for outcomes in sandbox.run([job, job])]
    assert [checks[1] for checks in found] == [Status.OK, Status.OK]


@pytest.mark.parametrize("stuck", ["assert 9 ** 9 ** 9 ** 9", "while True:\n    try:\n        f(1)\n    except: pass"])
def test_a_harmless_check_that_no_alarm_ends_costs_its_own_cell_alone(sandbox: Sandbox, stuck: str) -> None:
    found = verdicts(sandbox, "assert f(2) == 2", stuck, HONEST, "assert f(3) == 3")
    assert found == [Status.OK, Status.TIMEOUT, Status.EXCEPTION, Status.OK]
