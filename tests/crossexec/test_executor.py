"""Cross-execution against the real sandbox, with faults injected where the property needs them."""

from __future__ import annotations

import importlib
import multiprocessing
import sqlite3
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import pytest
from short_answer import ShortAnswer

from evosyn.crossexec.executor import CrossexecConfig, CrossExecutor
from evosyn.crossexec.judge import KEPT_ROWS, Cell, Judge
from evosyn.crossexec.references import check_references
from evosyn.crossexec.verdict_cache import MemoryVerdicts, SqliteVerdicts
from evosyn.domains import domains_named
from evosyn.domains.python_function import PythonFunction
from evosyn.errors import SandboxUnavailable, UsageError
from evosyn.jobs import CellResult, ItemOutcome, Job, Limits, Protection, Status
from evosyn.ports import Crossexec, Expansion, Plan, Sandbox, VerdictCache
from evosyn.records import Pool, Problem, Provenance, Solution, Testing, Verdict
from evosyn.sandbox import open_sandbox

DOMAINS = domains_named(("python-function", "python-stdin"))
LIMITS = Limits(wall_s=1.0, budget_s=4.0)
DOUBLE = Problem(
    "double",
    "python-function",
    "Return twice x.",
    payload={"entry_point": "double", "starter_code": "def double(x):\n    pass\n"},
    human_testing=Testing("cases", {"cases": [{"input": [n], "output": 2 * n} for n in (0, 3, -4)]}),
)
RIGHT = Solution("def double(x):\n    return 2 * x\n")
RIGHT_TOO = Solution("def double(x):\n    return x + x\n")
WRONG = Solution("def double(x):\n    return x * x\n")
RAISES = Solution("def double(x):\n    raise ValueError(x)\n")
HANGS = Solution("def double(x):\n    while x:\n        pass\n    return 0\n")
BAD = Solution("def double(x:\n")


def asserts(*texts: str) -> Testing:
    return Testing("asserts", {"asserts": list(texts)})


class Recording:
    """A sandbox that counts what it is asked, and may spoil outcomes."""

    def __init__(self, inner: Sandbox, spoil: Callable[[Job, int], Status | None] | None = None) -> None:
        self._inner, self._spoil = inner, spoil
        self.jobs: list[Job] = []

    @property
    def protection(self) -> Protection:
        return self._inner.protection

    def run(
        self, jobs: Sequence[Job], *, on_done: Callable[[int, tuple[ItemOutcome, ...]], None] | None = None
    ) -> list[tuple[ItemOutcome, ...]]:
        results: list[tuple[ItemOutcome, ...]] = []
        for index, (job, outcomes) in enumerate(zip(jobs, self._inner.run(jobs), strict=True)):
            status = self._spoil(job, len(self.jobs)) if self._spoil else None
            self.jobs.append(job)
            results.append(outcomes if status is None else (ItemOutcome(status),) * len(outcomes))
            if on_done is not None:
                on_done(index, results[-1])
        return results

    def share(self, value: object) -> str:
        return self._inner.share(value)

    def close(self) -> None: ...

    def __enter__(self) -> Recording:
        return self

    def __exit__(self, *exc: object) -> None: ...


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    with open_sandbox("local", workers=2, allow_weak=True) as opened:
        yield opened


def executor(sandbox: Sandbox, **options: object) -> CrossExecutor:
    given = {name: options.pop(name) for name in ("cache", "other", "retries", "recheck") if name in options}
    return CrossExecutor(Judge(sandbox, DOMAINS, LIMITS, **given), **options)  # type: ignore[arg-type]


def letters(made: CrossExecutor, problem: Problem, solutions: list[Solution], testings: list[Testing]) -> list[str]:
    (matrix,) = made.matrices([(problem, solutions, testings)])
    return ["".join(row) for row in matrix.verdicts_MN]


class Everything(ShortAnswer):
    """Accepts every answer; of its problems only the payload counts."""

    name = "everything"

    def key(self, problem: Problem) -> str:
        return str(problem.payload)

    def decide(self, problem: Problem, solution: Solution, testing: Testing) -> bool:  # noqa: ARG002
        return True


class Nothing(Everything):
    name = "nothing"

    def decide(self, problem: Problem, solution: Solution, testing: Testing) -> bool:  # noqa: ARG002
        return False


ANSWER = Testing("answer", {"accepts": ["14"]})


def test_domains_whose_problems_read_the_same_share_no_verdicts(sandbox: Sandbox) -> None:
    both, cache = {"everything": Everything(), "nothing": Nothing()}, MemoryVerdicts()
    cells = [Cell(Problem("p", name, "What?"), Solution("14"), ANSWER) for name in both]
    assert both["everything"].key(cells[0].problem) == both["nothing"].key(cells[1].problem)
    for order in (cells, cells[::-1]):
        found = Judge(sandbox, both, cache=cache).verify(order)
        assert [(cell.problem.domain, one.verdict) for cell, one in zip(order, found, strict=True)] == [
            (cell.problem.domain, Verdict.PASS if cell.problem.domain == "everything" else Verdict.FAIL)
            for cell in order
        ]


SOURCE = """
from short_answer import ShortAnswer

class Versioned(ShortAnswer):
    name = "versioned"

    def decide(self, problem, solution, testing):
        return {verdict}
"""


def test_verdicts_of_a_domain_from_outside_last_as_long_as_its_code(
    sandbox: Sandbox, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    cache, cell = MemoryVerdicts(), Cell(Problem("p", "versioned", "What?"), Solution("14"), ANSWER)

    def judged(verdict: bool, version: str | None = None) -> tuple[Verdict, int]:
        (tmp_path / "versioned_part.py").write_text(SOURCE.format(verdict=verdict))
        sys.modules.pop("versioned_part", None)
        importlib.invalidate_caches()
        domain = importlib.import_module("versioned_part").Versioned()
        if version is not None:
            domain.version = version
        judge = Judge(sandbox, {"versioned": domain}, cache=cache)
        (found,) = judge.verify([cell])
        return found.verdict, judge.executed

    assert [judged(True), judged(True)] == [(Verdict.PASS, 1), (Verdict.PASS, 0)]
    assert judged(False) == (Verdict.FAIL, 1), "other code"
    assert [judged(False, "1"), judged(True, "1"), judged(True, "2")] == [
        (Verdict.FAIL, 1), (Verdict.FAIL, 0), (Verdict.PASS, 1)
    ], "a domain that says its version answers for it"  # fmt: skip
    del sys.modules["versioned_part"]


def test_it_is_a_crossexec(sandbox: Sandbox) -> None:
    assert isinstance(executor(sandbox), Crossexec)
    assert isinstance(MemoryVerdicts(), VerdictCache)


def test_every_verdict_has_its_letter(sandbox: Sandbox) -> None:
    testings = [
        asserts("assert double(2) == 4", "assert double(5) == 10"),
        asserts("assert double(2) == 4", "assert double(5) == 11"),
        asserts("assert ____ == double(1)", "assert double(1) == 2"),
        asserts("assert max([double(x) for x in (1, 2)]) == 4"),
        Testing(
            "program", {"code": "def check(candidate):\n    for x in range(4):\n        assert candidate(x) == 2 * x\n"}
        ),
    ]
    made = CrossExecutor(Judge(sandbox, DOMAINS, Limits(wall_s=0.5, budget_s=30.0)))
    (matrix,) = made.matrices([(DOUBLE, [RIGHT, WRONG, RAISES, BAD, HANGS], testings)])
    rows = ["".join(row) for row in matrix.verdicts_MN]
    assert rows == ["PFBPP", "FFBPF", "EEBEE", "EEBEE", "TTBTT"]
    assert "".join(matrix.human_M if matrix.human_M is not None else ()) == "PFEET"
    assert matrix.cases_NMC is not None
    assert ["".join(row) for row in matrix.cases_NMC[2]] == ["BP", "BF", "BE", "BE", "BT"]
    assert matrix.durations_MN is not None
    assert matrix.durations_MN[4, 0] >= 0.5
    assert matrix.solution_ids[0] == RIGHT.id
    assert matrix.testing_texts[0] == testings[0].text
    assert matrix.meta["sandbox"]["backend"] == "local"


def test_equal_programs_and_equal_testings_run_once(sandbox: Sandbox) -> None:
    recording = Recording(sandbox)
    same = Solution("# another comment\ndef double( x ):\n    return (2 * x)\n")
    testing = asserts("assert double(2) == 4")
    made = executor(recording)
    (matrix,) = made.matrices([(DOUBLE, [RIGHT, same, WRONG, RIGHT], [testing, testing])])
    assert ["".join(row) for row in matrix.verdicts_MN] == ["PP", "PP", "PP", "PP"]
    assert "".join(matrix.human_M if matrix.human_M is not None else ()) == "PPFP"
    assert matrix.copies_M is not None
    assert matrix.copies_M.tolist() == [3, 3, 1, 3]
    assert (made.counts.executed, made.counts.cells, made.counts.human_cells) == (4, 8, 4)


def test_a_call_that_many_testings_make_runs_once_for_a_solution(sandbox: Sandbox) -> None:
    recording = Recording(sandbox)
    testings = [asserts("assert double(3) == 6", f"assert double({n}) == {2 * n}") for n in range(3)]
    assert letters(executor(recording), DOUBLE, [RIGHT], testings) == ["PPP"]
    called = {call.args for job in recording.jobs for call in getattr(job, "calls", ())}
    assert called == {(0,), (3,), (-4,), (1,), (2,)}
    assert sum(len(getattr(job, "calls", ())) for job in recording.jobs if job.program == RIGHT.text) == 5


def test_growth_executes_exactly_the_new_cells(sandbox: Sandbox, tmp_path: Path) -> None:
    solutions = [Solution(f"def double(x):\n    return 2 * x if x != {n} else {n}\n") for n in range(8)]
    testings = [asserts(f"assert double({n}) == {2 * n}") for n in range(8)]
    with SqliteVerdicts(tmp_path / "v.sqlite") as cache:
        small = executor(sandbox, cache=cache)
        (first,) = small.matrices([(DOUBLE, solutions[:4], testings[:4])])
        assert small.counts.executed == 4 * (4 + 1)
        grown = executor(sandbox, cache=cache)
        (second,) = grown.matrices([(DOUBLE, solutions, testings)])
        assert grown.counts.executed == 8 * (8 + 1) - 4 * (4 + 1)
        assert grown.counts.cached == 4 * (4 + 1)
        assert (second.verdicts_MN[:4, :4] == first.verdicts_MN).all()
        again = executor(sandbox, cache=cache)
        (third,) = again.matrices([(DOUBLE, solutions, testings)])
        assert (again.counts.executed, third.digest) == (0, second.digest)


def test_other_limits_or_another_problem_never_share_a_cached_verdict(sandbox: Sandbox) -> None:
    cache = MemoryVerdicts()
    testing = asserts("assert double(1) == 2")
    other = Problem(
        "other",
        "python-function",
        "x",
        payload={"entry_point": "double", "starter_code": "def double(x, y=0):\n    pass\n"},
    )
    first = executor(sandbox, cache=cache)
    first.matrices([(DOUBLE, [RIGHT], [testing])])
    for problem, limits in ((other, LIMITS), (DOUBLE, Limits(wall_s=0.9, budget_s=4.0))):
        made = CrossExecutor(Judge(sandbox, DOMAINS, limits, cache))
        made.matrices([(problem, [RIGHT], [testing])])
        assert made.counts.cached == 0


def test_our_own_faults_are_retried_counted_and_never_a_fail(sandbox: Sandbox) -> None:
    testing = asserts("assert double(1) == 2")
    once = Recording(sandbox, lambda _, number: Status.INFRASTRUCTURE if number < 1 else None)
    made = executor(once, config=CrossexecConfig(canaries=False))
    assert letters(made, DOUBLE, [RIGHT], [testing]) == ["P"]
    assert (made.counts.retried, made.counts.unknown) == (1, 0)
    cache = MemoryVerdicts()
    always = Recording(sandbox, lambda _job, _number: Status.INFRASTRUCTURE)
    made = executor(always, cache=cache, retries=2, config=CrossexecConfig(canaries=False))
    assert letters(made, DOUBLE, [RIGHT], [testing]) == ["U"]
    assert (made.counts.retried, made.counts.unknown) == (2, 2)
    assert letters(executor(sandbox, cache=cache), DOUBLE, [RIGHT], [testing]) == ["P"], "UNKNOWN was never remembered"


def test_flaky_cells_are_found_and_reported_not_averaged(sandbox: Sandbox) -> None:
    flaky = Solution("import time\ndef double(x):\n    return 2 * x + (time.time_ns() // 1000) % 2\n")
    testings = [asserts("assert double(2) == 4", "assert double(3) == 6", "assert double(4) == 8")]
    made = executor(sandbox, config=CrossexecConfig(repeat=12, sample=1.0))
    (matrix,) = made.matrices([(DOUBLE, [RIGHT, flaky], testings)])
    assert {cell[0] for cell in matrix.meta["flaky"]} == {1}
    assert made.counts.flaky == len(matrix.meta["flaky"]) >= 1
    steady = executor(sandbox, config=CrossexecConfig(repeat=3, sample=1.0))
    (matrix,) = steady.matrices([(DOUBLE, [RIGHT, WRONG, RAISES], testings)])
    assert "flaky" not in matrix.meta
    assert steady.counts.repeated == 4, "three solutions and the canary"


def test_another_hash_seed_finds_answers_that_depend_on_the_order_of_sets(sandbox: Sandbox) -> None:
    first = "def double(x):\n    return 2 * x * (next(iter({'a', 'b', 'c', 'd', 'e'})) in 'abc')\n"
    second = "def double(x):\n    return 2 * x * (next(iter({'a', 'b', 'c', 'd', 'e'})) in 'cde')\n"
    config = CrossexecConfig(repeat=2, sample=1.0)
    items = [(DOUBLE, [Solution(text) for text in (first, second, RIGHT.text)], [asserts("assert double(2) == 4")])]
    (alone,) = executor(sandbox, config=config).matrices(items)
    assert "flaky" not in alone.meta, "one hash seed always gives one order"
    found: set[int] = set()
    for hash_seed in range(1, 7):
        with open_sandbox("local", workers=1, allow_weak=True, hash_seed=hash_seed) as other:
            (matrix,) = executor(sandbox, config=config, other=other).matrices(items)
            found |= {cell[0] for cell in matrix.meta.get("flaky", [])}
    assert found
    assert 2 not in found


def test_a_flaky_cell_in_the_sample_makes_the_whole_problem_repeat(sandbox: Sandbox) -> None:
    flaky = [
        Solution(f"import time\ndef double(x):\n    return 2 * x + time.time_ns() // 1000 % 2 + 0 * {n}\n")
        for n in range(8)
    ]
    made = executor(sandbox, config=CrossexecConfig(repeat=8, sample=0.4, canaries=False))
    made.matrices([(DOUBLE, flaky, [asserts("assert double(1) == 2")])])
    assert made.counts.repeated == 8


def test_a_timeout_beside_slow_calls_runs_again_alone(sandbox: Sandbox) -> None:
    slow = Solution(
        "import time\ndef double(x):\n    end = time.process_time() + 0.3\n"
        "    while time.process_time() < end: pass\n    return 2 * x\n"
    )

    class Late(Recording):
        def run(self, jobs, *, on_done=None):  # type: ignore[no-untyped-def]
            results = self._inner.run(jobs)
            if not self.jobs:  # the first time, the last call of the first job seems to time out
                results[0] = (*results[0][:-1], ItemOutcome(Status.TIMEOUT, seconds=1.0))
            self.jobs += jobs
            for index, outcomes in enumerate(results):
                if on_done is not None:
                    on_done(index, outcomes)
            return results

    late = Late(sandbox)
    unhurried = Limits(cpu_s=1.0, wall_s=60.0, budget_s=10.0)
    made = CrossExecutor(Judge(late, DOMAINS, unhurried), config=CrossexecConfig(canaries=False))
    assert letters(made, DOUBLE, [slow], [asserts("assert double(1) == 2")]) == ["P"]
    assert (made.counts.rechecked, made.counts.recovered) == (1, 1)


@pytest.mark.parametrize(
    ("again", "letter"),
    [
        (Status.INFRASTRUCTURE, "T"),
        (Status.NOT_RUN, "T"),
        (Status.TIMEOUT, "T"),
        (Status.OK, "P"),
        (Status.EXCEPTION, "E"),
        (Status.KILLED, "K"),
    ],
)
def test_a_timeout_gives_way_only_to_a_second_run_that_says_what_the_program_does(
    again: Status, letter: str, sandbox: Sandbox
) -> None:
    class Late(Recording):
        """All calls are slow; the last one times out, and comes to something else when it runs again."""

        def run(self, jobs, *, on_done=None):  # type: ignore[no-untyped-def]
            status = again if self.jobs else Status.TIMEOUT
            self.jobs += jobs
            results = []
            for index, outcomes in enumerate(self._inner.run(jobs)):
                *others, last = [replace(outcome, seconds=0.9) for outcome in outcomes]
                results.append((*others, last if status is Status.OK else ItemOutcome(status, seconds=1.0)))
                if on_done is not None:
                    on_done(index, results[-1])
            return results

    judge = Judge(Late(sandbox), DOMAINS, Limits(cpu_s=1.0, wall_s=60.0, budget_s=60.0), retries=0)
    made = CrossExecutor(judge, config=CrossexecConfig(canaries=False))
    testings = [asserts("assert double(1) == 2"), asserts("assert double(2) == 4")]
    assert letters(made, DOUBLE, [RIGHT], testings) == [f"P{letter}"]
    assert (made.counts.rechecked, made.counts.recovered) == (1, int(letter != "T"))


def test_a_testing_changes_no_other_by_what_its_arguments_do_when_they_are_computed(sandbox: Sandbox) -> None:
    spoils = "exec('for name in (\\'pow\\', \\'bytes\\', \\'range\\'): __builtins__[name] = lambda *x: 99')"
    hostile = asserts(f"assert double(1 if {spoils} else 2) == 4")
    others = [asserts("assert double(pow(2, 3)) == 16"), asserts("assert double(len(bytes(3))) == 6")]
    made = executor(sandbox, config=CrossexecConfig(canaries=False))
    assert letters(made, DOUBLE, [RIGHT], [hostile, *others]) == ["PPP"]
    assert letters(made, DOUBLE, [RIGHT_TOO], others) == ["PP"]


def test_a_budget_bounds_a_program_that_always_hangs(sandbox: Sandbox) -> None:
    testings = [asserts(f"assert double({n}) == {2 * n}") for n in range(1, 9)]
    made = executor(sandbox)
    (row,) = letters(made, DOUBLE, [HANGS], testings)
    assert set(row) == {"T", "N"}
    assert made.counts.wall_s < 3 * LIMITS.budget_s


def test_testings_that_accept_everything_are_marked(sandbox: Sandbox) -> None:
    swallows = (
        "def check(candidate):\n    try:\n        assert candidate(1) == 3\n    except Exception:\n        pass\n"
    )
    testings = [
        asserts("assert double(1) == 2"),
        asserts("assert True"),
        Testing("program", {"code": swallows}),
    ]
    (matrix,) = executor(sandbox).matrices([(DOUBLE, [RIGHT, BAD], testings)])
    assert matrix.meta["vacuous"] == [1, 2]
    assert ["".join(row) for row in matrix.verdicts_MN] == ["PPP", "EEE"], "but a program must load even for them"


def test_generators_are_evaluated_once_and_apart_from_solutions(sandbox: Sandbox) -> None:
    recording = Recording(sandbox)
    long = Testing("cases", {"cases": [{"input": [{"python": "10 ** 30"}], "output": {"python": "2 * 10 ** 30"}}]})
    built = Testing("cases", {"cases": {"python": (
        "def build_cases():\n    rng = random.Random(5)\n"
        "    return [{'input': [n], 'output': 2 * n} for n in (rng.randint(0, 9) for _ in range(5))]\n"
    )}})  # fmt: skip
    broken = Testing("cases", {"cases": [{"input": {"python": "[1 / 0]"}, "output": 0}]})
    made = executor(recording)
    assert letters(made, DOUBLE, [RIGHT, WRONG], [long, built, broken]) == ["PPB", "FFB"]
    generators = [job for job in recording.jobs if getattr(job, "entry_point", "") == "generate"]
    assert len(generators) == 3
    assert not any("def double" in job.program for job in generators)


class Faulty(PythonFunction):
    """A plug-in with a fault in each of its methods."""

    def __init__(self, method: str) -> None:
        super().__init__()
        self._method = method

    def expand(self, problem: Problem, testings: Sequence[Testing], limits: Limits) -> Expansion:
        if self._method == "expand":
            raise KeyError(10**5000)
        return super().expand(problem, testings, limits)

    def plan(self, problem: Problem, solution: Solution, testings: Sequence[Testing], limits: Limits) -> Plan:
        if self._method == "plan" and "fault" in solution.text:
            raise ValueError("Exceeds the limit (4300 digits)")
        made = super().plan(problem, solution, testings, limits)
        return FaultyPlan(made.jobs) if self._method == "judge" and "fault" in solution.text else made


class FaultyPlan(NamedTuple):
    jobs: tuple[Job, ...]

    def judge(self, outcomes: Sequence[object]) -> tuple[CellResult, ...]:
        raise MemoryError(len(outcomes))


@pytest.mark.parametrize(("method", "row"), [("expand", "UU"), ("plan", "PF"), ("judge", "PF")])
def test_a_fault_of_a_domain_undecides_its_cells_and_ends_no_run(method: str, row: str, sandbox: Sandbox) -> None:
    made = CrossExecutor(Judge(sandbox, {"python-function": Faulty(method)}, LIMITS, retries=0))
    faulty = Solution(RIGHT.text + "# fault\nfault = 1\n")
    testings = [asserts("assert double(2) == 4"), asserts("assert double(2) == 5")]
    assert letters(made, DOUBLE, [RIGHT, faulty], testings) == [row, "UU"]


class Failing(Everything):
    """Its code has a fault, which says nothing of the answer."""

    def decide(self, problem: Problem, solution: Solution, testing: Testing) -> bool:  # noqa: ARG002
        raise KeyError(solution.text)


def test_where_a_domain_fails_nobody_is_wrong(sandbox: Sandbox) -> None:
    judge = Judge(sandbox, {"everything": Failing()}, cache=MemoryVerdicts())
    problem = Problem("p", "everything", "What?", human_testing=ANSWER, reference_solution="14")
    cells = [Cell(problem, Solution("14"), ANSWER)]
    assert [(one.verdict, "KeyError" in one.detail) for one in judge.verify(cells)] == [(Verdict.UNKNOWN, True)]
    for ask in (lambda: judge.decided(cells), lambda: check_references(judge, "pool.jsonl", [Pool(problem, (), ())])):
        with pytest.raises(SandboxUnavailable, match="p: could not be judged: the domain failed: KeyError"):
            ask()


def test_generators_that_give_generators_are_broken(sandbox: Sandbox) -> None:
    given = Testing("cases", {"cases": {"python": "[{'input': [{'python': '1'}], 'output': {'python': '2'}}]"}})
    assert letters(executor(sandbox), DOUBLE, [RIGHT], [given, asserts("assert double(2) == 4")]) == ["BP"]


def test_programs_over_standard_input(sandbox: Sandbox) -> None:
    problem = Problem("sum", "python-stdin", "Print the sum.", human_testing=Testing("stdin", {"cases": [
        {"input": "1 2\n", "output": "3\n"}, {"input": {"python": "'1 ' * 1000"}, "output": "1000\n"}]}))  # fmt: skip
    right = Solution("print(sum(map(int, input().split())))\n")
    wrong = Solution("print(3)\n")
    trailing = Solution("print(sum(map(int, open(0).read().split())), end='  \\n\\n')\n")
    raises = Solution("print(3)\nraise SystemExit(1)\n")
    testings = [Testing("stdin", {"cases": [{"input": "1 2\n", "output": "3"}]})]
    (matrix,) = executor(sandbox).matrices([(problem, [right, wrong, trailing, raises], testings)])
    assert "".join(matrix.human_M if matrix.human_M is not None else ()) == "PFPE"
    assert ["".join(row) for row in matrix.verdicts_MN] == ["P", "P", "P", "E"]


def test_many_problems_come_back_in_order_and_as_they_finish(sandbox: Sandbox) -> None:
    items = [(DOUBLE, [RIGHT, WRONG], [asserts(f"assert double({n}) == {2 * n}")]) for n in range(30)]
    seen: list[int] = []
    made = executor(sandbox, config=CrossexecConfig(rows=8))
    found = made.matrices(items, on_done=lambda index, _: seen.append(index))
    assert sorted(seen) == list(range(30))
    assert [["".join(row) for row in matrix.verdicts_MN] for matrix in found] == [
        ["P", "P" if 2 * n == n * n else "F"] for n in range(30)
    ]


def test_verify_gives_one_result_for_each_cell_in_order(sandbox: Sandbox) -> None:
    right, wrong = asserts("assert double(2) == 4"), asserts("assert double(2) == 5")
    cells = [
        Cell(DOUBLE, text, testing)
        for text, testing in ((RIGHT, right), (RIGHT, wrong), (RAISES, right), (RIGHT, right))
    ]
    made = executor(sandbox)
    assert [result.verdict.value for result in made.judge.verify(cells)] == ["P", "F", "E", "P"]
    assert made.judge.verify([]) == []


def test_a_cell_that_no_domain_decides_is_counted_neither_as_run_nor_as_remembered(sandbox: Sandbox) -> None:
    judge = Judge(sandbox, DOMAINS, LIMITS)
    cells = [Cell(DOUBLE, RIGHT, asserts("assert double(2) == 4"))] * 2
    cells += [Cell(Problem("p", "os-shell", "do it"), RIGHT, Testing("script", {"code": "true"}))]
    assert [cell.verdict.value for cell in judge.verify(cells)] == ["P", "P", "U"]
    assert (judge.executed, judge.cached) == (1, 1)


def test_a_simulated_teacher_is_named_in_the_matrix(sandbox: Sandbox) -> None:
    simulated = Solution(RIGHT.text, Provenance("offline", simulated=True))
    (matrix,) = executor(sandbox).matrices([(DOUBLE, [simulated], [asserts("assert double(1) == 2")])])
    assert matrix.meta["simulated"] is True


def test_an_unknown_domain_or_no_solutions_is_refused(sandbox: Sandbox) -> None:
    with pytest.raises(UsageError, match="no domain named 'x'"):
        executor(sandbox).matrices([(Problem("p", "x", "s"), [RIGHT], [])])
    with pytest.raises(UsageError, match="has no solutions"):
        executor(sandbox).matrices([(DOUBLE, [], [])])


def test_a_damaged_cache_says_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "v.sqlite").write_bytes(b"not a database" * 100)
    with pytest.raises(UsageError, match=r"left as it is: move it away, or name another file") as refused:
        SqliteVerdicts(tmp_path / "v.sqlite")
    assert "delete" not in str(refused.value)


def _fill(path: str, start: int) -> None:
    with SqliteVerdicts(path) as cache:
        for number in range(start, start + 200):
            cache.put([(f"k{number}", CellResult(Verdict.FAIL, (Verdict.PASS, Verdict.FAIL), 0.5, "d"))])


def test_several_processes_share_a_cache_file(tmp_path: Path) -> None:
    path = str(tmp_path / "v.sqlite")
    workers = [multiprocessing.get_context("spawn").Process(target=_fill, args=(path, 100 * n)) for n in range(3)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
        assert worker.exitcode == 0
    with SqliteVerdicts(path) as cache:
        found = cache.get([f"k{number}" for number in range(401)])
        assert all(cell == CellResult(Verdict.FAIL, (Verdict.PASS, Verdict.FAIL), 0.5, "d") for cell in found[:400])
        assert found[400] is None
    assert sqlite3.connect(path).execute("SELECT count(*) FROM sealed").fetchone() == (400,)


def test_what_is_undecided_is_not_remembered(tmp_path: Path) -> None:
    undecided = [
        ("a", CellResult(Verdict.UNKNOWN)),
        ("b", CellResult(Verdict.NOT_RUN)),
        ("c", CellResult(Verdict.FAIL, (Verdict.FAIL, Verdict.UNKNOWN))),
    ]
    with SqliteVerdicts(tmp_path / "v.sqlite") as file:
        for cache in (file, MemoryVerdicts()):
            cache.put([*undecided, ("d", CellResult(Verdict.PASS))])
            assert [cell is not None for cell in cache.get(list("abcd"))] == [False, False, False, True]


def test_single_cells_are_verified_with_their_generators(sandbox: Sandbox) -> None:
    built = Testing("cases", {"cases": {"python": "def build_cases():\n    return [{'input': [4], 'output': 8}]\n"}})
    broken = Testing("cases", {"cases": {"python": "def build_cases():\n    return 1 / 0\n"}})
    texts = Testing("stdin", {"cases": [{"input": {"python": "'3 4'"}, "output": "7"}]})
    adds = Problem("add", "python-stdin", "Print the sum of two numbers.")
    cells = [
        Cell(DOUBLE, RIGHT, built),
        Cell(DOUBLE, WRONG, built),
        Cell(DOUBLE, RIGHT, broken),
        Cell(adds, Solution("print(sum(map(int, input().split())))"), texts),
        Cell(DOUBLE, BAD, built),
    ]
    judge = Judge(sandbox, DOMAINS, LIMITS)
    assert [cell.verdict.value for cell in judge.verify(cells)] == [
        "P",
        "F",
        "B",
        "P",
        "E",
    ]


def test_a_text_that_reads_as_the_name_of_another_solution_has_a_verdict_of_its_own(sandbox: Sandbox) -> None:
    domain = ShortAnswer()
    judge = Judge(sandbox, {domain.name: domain})
    problem = Problem("area", domain.name, "How many metres are 7 m and 7 m?", {"unit": "m"})
    right, wrong, testing = Solution("14 m"), Solution("14 m m"), Testing("answer", {"accepts": ["14"]})
    assert domain.same(problem, wrong) == right.text
    (matrix,) = CrossExecutor(judge).matrices([(problem, [wrong], [testing])])
    assert matrix.verdicts_MN.tolist() == [["F"]]
    assert [one.verdict for one in judge.verify([Cell(problem, right, testing)])] == [Verdict.PASS]


class GoneAfter(Recording):
    """A sandbox that is gone for good after some jobs, which is how a run is cut off."""

    def __init__(self, inner: Sandbox, jobs: int) -> None:
        super().__init__(inner)
        self._left = jobs

    def run(
        self, jobs: Sequence[Job], *, on_done: Callable[[int, tuple[ItemOutcome, ...]], None] | None = None
    ) -> list[tuple[ItemOutcome, ...]]:
        found = super().run(jobs[: self._left], on_done=on_done)
        self._left -= len(found)
        if len(found) < len(jobs):
            raise SandboxUnavailable("it is gone")
        return found


def test_what_was_decided_before_a_run_was_cut_off_is_known_to_the_next(sandbox: Sandbox, tmp_path: Path) -> None:
    solutions = [Solution(f"def double(x):\n    return 2 * x + {number % 2} + 0 * {number}\n") for number in range(100)]
    testings = [asserts("assert double(1) == 2")]
    with SqliteVerdicts(tmp_path / "v.sqlite") as cache, pytest.raises(SandboxUnavailable):
        letters(executor(GoneAfter(sandbox, 60), cache=cache), DOUBLE, solutions, testings)
    with SqliteVerdicts(tmp_path / "v.sqlite") as cache:
        made = executor(sandbox, cache=cache)
        assert letters(made, DOUBLE, solutions, testings) == list("PF" * 50)
        assert made.counts.cached >= KEPT_ROWS and made.counts.executed > 0
