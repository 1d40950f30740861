"""Programs that share a process: who may, what comes out, and that the company never shows."""

from __future__ import annotations

import logging
import threading
from collections.abc import Sequence
from dataclasses import replace

import pytest

from evosyn import sharing
from evosyn.jobs import Call, CallsJob, Check, ChecksJob, CompanyJob, ItemOutcome, Job, Limits, Status
from evosyn.ports import Sandbox
from evosyn.sandbox.bundling import OnDone, keeps_company, run_jobs
from evosyn.sharing import Company

HONEST = "def f(x):\n    return x * 7 + 3\n"
CALLS = (Call((2,)), Call((5,)))
LIMITS = Limits(cpu_s=0.4, budget_s=2.0, memory_mb=256, output_kb=64)


@pytest.fixture(autouse=True)
def switch(monkeypatch: pytest.MonkeyPatch) -> threading.Event:
    """What ends all sharing of a process; a new one for each test."""
    event = threading.Event()
    monkeypatch.setattr(sharing, "_differed", event)
    return event


def told(results: Sequence[tuple[ItemOutcome, ...]], on_done: OnDone | None) -> list[tuple[ItemOutcome, ...]]:
    """The results, told one by one before, as a sandbox does."""
    for index, outcomes in enumerate(results):
        if on_done is not None:
            on_done(index, outcomes)
    return list(results)


def never_repeated() -> Company:
    return Company(repeat=0.0)


class Counting:
    """A sandbox that remembers how many jobs each run had."""

    def __init__(self, sandbox: Sandbox) -> None:
        self._sandbox = sandbox
        self.runs: list[int] = []

    def __getattr__(self, name: str) -> object:
        return getattr(self._sandbox, name)

    def run(self, jobs: Sequence[Job], *, on_done: OnDone | None = None) -> list[tuple[ItemOutcome, ...]]:
        self.runs.append(len(jobs))
        return self._sandbox.run(jobs, on_done=on_done)


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
    assert run_jobs(sandbox, jobs, never_repeated(), cores=1) == sandbox.run(jobs)


def test_plain_programs_share_and_each_keeps_what_is_its_own(sandbox: Sandbox) -> None:
    counting = Counting(sandbox)
    jobs = [job(text) for text in PLAIN * 4]
    found = run_jobs(counting, jobs, never_repeated(), cores=2)  # type: ignore[arg-type]
    assert counting.runs == [7]
    assert [outcome.value for outcome in found[4]] == [[2], [2, 5]] == [outcome.value for outcome in found[-3]]


def test_few_programs_are_spread_over_the_workers_instead(sandbox: Sandbox) -> None:
    counting = Counting(sandbox)
    run_jobs(counting, [job(text) for text in PLAIN], never_repeated(), cores=4)  # type: ignore[arg-type]
    assert counting.runs == [len(PLAIN)]


def test_one_that_hangs_costs_its_company_time_and_no_verdict(sandbox: Sandbox) -> None:
    counting = Counting(sandbox)
    others = [HONEST.replace("3", str(number)) for number in range(8)]
    jobs = [job(text) for text in (HONEST, OTHERS[1], *others)]
    found = run_jobs(counting, jobs, never_repeated(), cores=1)  # type: ignore[arg-type]
    assert counting.runs[0] == 4
    assert [outcome.status for outcome in found[1]] == [Status.TIMEOUT] * 2
    assert [outcomes[0].value for outcomes in found] == [17, None, *(14 + number for number in range(8))]


def test_only_calls_of_a_function_at_the_top_on_plain_data_may_share() -> None:
    assert keeps_company(job(HONEST))
    assert not keeps_company(job("def g(x):\n    return x\n"))
    assert not keeps_company(job("f = print\n"))
    assert not keeps_company(CallsJob(HONEST, "f", (Call(python="[2]"),), LIMITS))
    assert not keeps_company(ChecksJob(HONEST, "f", (Check("assert f(2) == 17"),), LIMITS))
    assert not keeps_company(job("import os\n" + HONEST))
    assert not keeps_company(job(HONEST + "#" * 30_000))
    assert not keeps_company(job("def f(x)\n"))
    assert not keeps_company(job("def f(x):\n    return x" + ".copy()" * 2_500 + "\n"))


def test_all_of_it_can_be_switched_off(sandbox: Sandbox) -> None:
    counting, company = Counting(sandbox), Company(share=False)
    jobs = [job(text) for text in PLAIN * 4]
    assert run_jobs(counting, jobs, company, cores=1) == sandbox.run(jobs)  # type: ignore[arg-type]
    assert counting.runs == [len(jobs)]
    assert company.shared == company.repeated == 0


def test_a_share_of_what_came_out_in_company_is_repeated_alone_and_always_the_same(sandbox: Sandbox) -> None:
    jobs = [job(HONEST.replace("3", str(number))) for number in range(40)]
    runs = []
    for company in (Company(repeat=0.25), Company(repeat=0.25), Company(repeat=1.0)):
        counting = Counting(sandbox)
        found = run_jobs(counting, jobs, company, cores=1)  # type: ignore[arg-type]
        assert [outcomes[0].value for outcomes in found] == [14 + number for number in range(40)]
        assert company.shared == 40
        assert company.differed == 0
        assert counting.runs[1] == company.repeated
        runs.append(company.repeated)
    assert 0 < runs[0] == runs[1] < 25
    assert runs[2] == 40


def test_a_value_that_is_no_number_is_the_same_alone(sandbox: Sandbox) -> None:
    company = Company(repeat=1.0)
    text = "import math\n\ndef f(x):\n    return [math.nan, {x: {math.nan}}, {'a', 'b', None}]\n"
    run_jobs(sandbox, [job(text + f"# {number}") for number in range(8)], company, cores=1)
    assert (company.shared, company.repeated, company.differed) == (8, 8, 0)


class Leaking:
    """A sandbox in whose company one program gets what another gave: what repeating alone is there to find."""

    def __init__(self, sandbox: Sandbox) -> None:
        self._sandbox = sandbox

    def run(self, jobs: Sequence[Job], *, on_done: OnDone | None = None) -> list[tuple[ItemOutcome, ...]]:
        found = self._sandbox.run(jobs)
        leaked = [
            items[:2] * (len(items) // 2) if isinstance(job, CompanyJob) else items
            for job, items in zip(jobs, found, strict=True)
        ]
        return told(leaked, on_done)


def test_a_difference_ends_all_sharing_and_the_verdict_alone_counts(
    sandbox: Sandbox, caplog: pytest.LogCaptureFixture
) -> None:
    company, leaking = Company(repeat=1.0), Leaking(sandbox)
    jobs = [job(HONEST.replace("3", str(number))) for number in range(8)]
    with caplog.at_level(logging.WARNING):
        for _ in range(2):
            found = run_jobs(leaking, jobs, company, cores=1)  # type: ignore[arg-type]
            assert [outcomes[0].value for outcomes in found] == [14 + number for number in range(8)]
    assert company.differed > 0
    assert not company.shares
    assert not Company().shares
    assert company.shared == 8
    assert len([record for record in caplog.records if "runs alone" in record.message]) == 1


class Varying:
    """A sandbox in which one program gives something else in each process."""

    def __init__(self, sandbox: Sandbox, template: str) -> None:
        self._sandbox, self._template, self._run = sandbox, template, 0

    def run(self, jobs: Sequence[Job], *, on_done: OnDone | None = None) -> list[tuple[ItemOutcome, ...]]:
        self._run += 1
        other = self._template.format(0x7F0000 + 16 * self._run)
        varied = [
            tuple(replace(one, value=other) if one.value == "varies" else one for one in items)
            for items in self._sandbox.run(jobs)
        ]
        return told(varied, on_done)


@pytest.mark.parametrize("template", ["<function f at 0x{:x}>", "{}", "a{0}b{0:x}"])
def test_a_program_that_differs_from_itself_is_kept_apart_and_ends_nothing(template: str, sandbox: Sandbox) -> None:
    company, varying = Company(repeat=1.0), Varying(sandbox, template)
    jobs = [job(HONEST.replace("3", str(number))) for number in range(8)] + [job("def f(x):\n    return 'varies'\n")]
    for _ in range(3):
        found = run_jobs(varying, jobs, company, cores=1)  # type: ignore[arg-type]
        assert [outcomes[0].value for outcomes in found[:-1]] == [14 + number for number in range(8)]
    assert company.shares
    assert (company.differed, company.unsteady) == (0, 1)
    assert company.shared == company.repeated == 9 + 8 + 8


@pytest.mark.parametrize("shown", ["str(f)", "[x, repr(f)]", "{f'{f}': x}", "str({x: f})", "f'{(k for k in [x])}'"])
def test_a_program_that_shows_an_address_ends_nothing(shown: str, sandbox: Sandbox) -> None:
    company = Company(repeat=1.0)
    shows = [job(f"def f(x):\n    return {shown}\n# {number}\n") for number in range(9)]
    for _ in range(2):
        run_jobs(sandbox, shows, company, cores=1)
    assert company.shares


def test_what_our_own_fault_spoils_is_no_difference(sandbox: Sandbox) -> None:
    class Broken(Counting):
        def run(self, jobs: Sequence[Job], *, on_done: OnDone | None = None) -> list[tuple[ItemOutcome, ...]]:
            self.runs.append(len(jobs))
            if len(self.runs) == 1:
                return sandbox.run(jobs)
            return told([(ItemOutcome(Status.INFRASTRUCTURE),) * 2 for _ in jobs], on_done)

    company = Company(repeat=1.0)
    found = run_jobs(Broken(sandbox), [job(HONEST)] * 8, company, cores=1)  # type: ignore[arg-type]
    assert [outcomes[0].value for outcomes in found] == [17] * 8
    assert company.shares
    assert company.repeated == 0


@pytest.mark.parametrize(
    "text",
    [
        "def f(x):\n    try:\n        return f(x + 1)\n    except RuntimeError:\n        return x\n",
        "n = 0\n\ndef f(x):\n    global n\n    n += 1\n    return [n, __name__]\n",
        "def f(x, seen=[]):\n    seen.append(x)\n    return seen\n",
        "import functools\n\n@functools.cache\ndef g():\n    return []\n\ndef f(x):\n    g().append(x)\n    return g()",
        "def g():\n    yield 1\n    yield 2\n\nwaiting = g()\n\ndef f(x):\n    return next(waiting)\n",
    ],
)
def test_no_company_shows_in_depth_state_or_caches(text: str, sandbox: Sandbox) -> None:
    jobs = [job(text + f"# {number}") for number in range(8)]
    assert run_jobs(sandbox, jobs, never_repeated(), cores=1) == sandbox.run(jobs)


def test_what_a_program_leaves_in_memory_is_not_its_successors_burden(sandbox: Sandbox) -> None:
    limits = Limits(cpu_s=1.0, budget_s=10.0, memory_mb=256)
    heavy = "kept = [0] * 14_000_000\n\ndef f(x):\n    return len(kept)\n"
    jobs = [job(heavy + f"# {number}", limits=limits) for number in range(8)]
    counting = Counting(sandbox)
    found = run_jobs(counting, jobs, never_repeated(), cores=1)  # type: ignore[arg-type]
    assert [outcomes[0].value for outcomes in found] == [14_000_000] * 8
    assert counting.runs == [4]
