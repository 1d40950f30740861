"""Programs that share a process: who may, what comes out, and that the company never shows."""

from __future__ import annotations

import runpy
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from evosyn.jobs import Call, CallsJob, Check, ChecksJob, Job, Limits, Status
from evosyn.ports import Sandbox
from evosyn.train.together import is_plain, run_jobs

HOSTILE = runpy.run_path(str(Path(__file__).parents[1] / "hostile" / "cases.py"))["CASES"]
HONEST = "def f(x):\n    return x * 7 + 3\n"
CALLS = (Call((2,)), Call((5,)))
LIMITS = Limits(wall_s=0.4, budget_s=2.0, memory_mb=256, output_kb=64)


class Counting:
    """A sandbox that remembers how many jobs each run had."""

    def __init__(self, sandbox: Sandbox) -> None:
        self._sandbox = sandbox
        self.runs: list[int] = []

    def __getattr__(self, name: str) -> object:
        return getattr(self._sandbox, name)

    def run(self, jobs: Sequence[Job]) -> object:
        self.runs.append(len(jobs))
        return self._sandbox.run(jobs)


def job(program: str, entry_point: str = "f", limits: Limits = LIMITS) -> CallsJob:
    return CallsJob(program, entry_point, CALLS, limits)


PLAIN = [
    HONEST,
    "def f(x):\n    return x\n",
    "import math\nfrom typing import List\n\ndef f(x: int) -> List[int]:\n    return [math.isqrt(x), math.gcd(x, 4)]\n",
    "from collections import Counter\n\ndef f(x):\n    return dict(Counter(str(x * 11)))\n",
    "seen = []\n\ndef f(x):\n    seen.append(x)\n    return seen\n",
    "def g(n):\n    return n if n < 2 else g(n - 1) + g(n - 2)\n\ndef f(x):\n    return g(x + 8)\n",
    "def f(x):\n    try:\n        return 1 / 0\n    except ArithmeticError as e:\n        return f'{e!s:>20}'\n",
]
"""Each gives values only."""
OTHERS = [
    "def f(x):\n    return [][x]\n",
    "def f(x):\n    while True:\n        pass\n",
    "def f(x):\n    return f(x)\n",
    "def f(x):\n    return lambda: x\n",
    "x = 1 / 0\n\ndef f(x):\n    return x\n",
    "import re\n\ndef f(x):\n    return re.sub('2', 'two', str(x))\n",
    "class F:\n    def f(self, x):\n        return x\n",
    "def g(x):\n    return x\n",
    "def f(x)\n    return x\n",
    "def f(x):\n    return 'a' * 10**6\n",
    "f = 3\n\ndef f(x):\n    return x\n\nf = 4\n",
]
"""Each gives something else, or may not share."""


def test_the_outcomes_are_those_of_a_process_each(sandbox: Sandbox) -> None:
    jobs: list[Job] = [job(text) for text in [*PLAIN, *OTHERS]]
    jobs += [ChecksJob(HONEST, "f", (Check("assert f(2) == 17"),), LIMITS), job(OTHERS[6], "F.f")]
    jobs += [CallsJob(HONEST, "f", (Call(python="[2]"), Call(kwargs={"x": 5})), LIMITS)]
    assert run_jobs(sandbox, jobs, cores=1) == sandbox.run(jobs)


def test_plain_programs_share_and_each_keeps_what_is_its_own(sandbox: Sandbox) -> None:
    counting = Counting(sandbox)
    jobs = [job(text) for text in PLAIN * 4]
    found = run_jobs(counting, jobs, cores=2)  # type: ignore[arg-type]
    assert counting.runs == [7]
    assert [outcome.value for outcome in found[4]] == [[2], [2, 5]] == [outcome.value for outcome in found[-3]]


def test_few_programs_are_spread_over_the_workers_instead(sandbox: Sandbox) -> None:
    counting = Counting(sandbox)
    run_jobs(counting, [job(text) for text in PLAIN], cores=4)  # type: ignore[arg-type]
    assert counting.runs == [len(PLAIN)]


def test_one_that_hangs_costs_its_company_time_and_no_verdict(sandbox: Sandbox) -> None:
    counting = Counting(sandbox)
    others = [HONEST.replace("3", str(number)) for number in range(8)]
    found = run_jobs(counting, [job(text) for text in (HONEST, OTHERS[1], *others)], cores=1)  # type: ignore[arg-type]
    assert counting.runs[0] == 4
    assert [outcome.status for outcome in found[1]] == [Status.TIMEOUT] * 2
    assert [outcomes[0].value for outcomes in found] == [17, None, *(14 + number for number in range(8))]


@pytest.mark.slow
@pytest.mark.parametrize(
    "hostile", [case for case in HOSTILE if is_plain(case.program, "f")], ids=lambda case: case.name
)
def test_a_hostile_program_that_looks_plain_changes_nothing_for_its_company(hostile: Any, sandbox: Sandbox) -> None:
    company: list[Job] = [job(HONEST) for _ in range(5)]
    found = run_jobs(sandbox, [job(hostile.program), *company], cores=1)
    assert [[outcome.value for outcome in outcomes] for outcomes in found[1:]] == [[17, 38]] * 5


def test_most_hostile_programs_may_not_share() -> None:
    assert sum(is_plain(case.program, "f") for case in HOSTILE) < len(HOSTILE) / 3


@pytest.mark.parametrize(
    "text",
    [
        "def f(x):\n    return (i for i in [1]).gi_frame\n",
        "def f(x):\n    return '{0.__globals__}'.format(f)\n",
        "def f(x):\n    return f.__globals__\n",
        "import math\nmath.floor = len\n\ndef f(x):\n    return x\n",
        "import math\n\ndef f(x):\n    del math.pi\n",
        "import typing\n\ndef f(x):\n    return typing.sys\n",
        "from functools import wraps\nfrom collections import Counter\nwraps(len)(Counter)\n\ndef f(x): return x\n",
        "from operator import attrgetter\n\ndef f(x):\n    return attrgetter('__globals__')(f)\n",
        "import collections.abc\n\ndef f(x):\n    return x\n",
        "from math import *\n\ndef f(x):\n    return x\n",
        "from . import math\n\ndef f(x):\n    return x\n",
        "import os as math\n\ndef f(x):\n    return x\n",
        "def f(x):\n    return getattr(x, '__class__')\n",
        "def f(x):\n    global __builtins__\n    __builtins__ = {}\n",
        "def f(__name__):\n    return __name__\n",
        "import math as __builtins__\n\ndef f(x):\n    return x\n",
        "def f(x):\n    try:\n        1 / 0\n    except Exception as e:\n        return e.with_traceback\n",
        "def f(x):\n    match x:\n        case int(real=y):\n            return y\n",
        "def f(x):\n    with open('/etc/passwd') as file:\n        return file.read()\n",
        "def f(x):\n    return type('A', (), {})\n",
        "def f(x):\n    return ｏｐｅｎ('/etc/passwd')\n",
        "async def f(x):\n    return x\n",
        "f = print\n",
    ],
)
def test_what_could_reach_beyond_itself_may_not_share(text: str) -> None:
    assert not is_plain(text, "f")
    assert is_plain(HONEST, "f")


def test_a_long_or_broken_text_is_not_plain_and_breaks_nothing() -> None:
    assert not is_plain(HONEST + "#" * 30_000, "f")
    assert not is_plain("(" * 500 + ")" * 500, "f")
    assert not is_plain("def f(x):\0", "f")
