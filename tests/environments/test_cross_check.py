"""The cross-check: programs that solve from the question alone find what no ladder sees, and reject nothing sound."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest
from hostile_programs import TELLS, telling
from simulation.environments.drafts import (
    STORIES,
    popular,
    solver_part,
    solver_program,
    written,
    wrong_reference,
)

from evosyn.crossexec.executor import CrossExecutor
from evosyn.crossexec.judge import Cell, Judge
from evosyn.domains import Domains
from evosyn.environments.contract import Environment, read_environment
from evosyn.environments.ladder import Ladder
from evosyn.environments.replies import read_judgement, read_verifier
from evosyn.environments.runner import EnvironmentRunner
from evosyn.errors import SandboxUnavailable
from evosyn.jobs import CallsJob, ItemOutcome, Job, Limits, Status
from evosyn.ports import Sandbox
from evosyn.randomness import SeedTree
from evosyn.records import Solution, Verdict
from evosyn.synthesis.environments.solving import (
    SolverExecution,
    SolverVerdict,
    questions_of,
    references_of,
    settled,
)

FAMILY = "edit-distance"
RIGHT = solver_program(solver_part(FAMILY), "plain")
FORGETFUL = solver_program(solver_part(FAMILY), "twice")
MISTAKEN = RIGHT.replace("def solve(prompt):", "def solve(prompt):\n    return '3'\n")
LIAR = "class Liar(str):\n    def strip(self):\n        return self\n    def __eq__(self, other):\n        return True\n    __hash__ = str.__hash__\n\ndef solve(prompt):\n    return Liar('0')\n"
TREE = SeedTree(3)


def environment(source: str) -> Environment:
    found = read_environment(source).value
    assert found is not None
    return found


@pytest.fixture(scope="module")
def execution(sandboxes: tuple[Sandbox, Sandbox]) -> SolverExecution:
    limits = Limits(cpu_s=2.0, budget_s=10.0)
    return SolverExecution(CrossExecutor(Judge(sandboxes[0], Domains(), limits)), sandboxes[0], limits)


def verdict(execution: SolverExecution, sandbox: Sandbox, source: str, programs: list[str]) -> SolverVerdict | None:
    rows = questions_of(environment(source), EnvironmentRunner(sandbox), 10, TREE)
    executed = execution.execute("x", programs, [[row.testing for row in rows]], [row.problem for row in rows], 5)
    return None if executed is None else settled(executed)


def test_a_sound_environment_is_borne_out_by_one_right_program(
    execution: SolverExecution, sandboxes: tuple[Sandbox, Sandbox]
) -> None:
    source = written(FAMILY, STORIES[0], "plain", "plain")
    assert verdict(execution, sandboxes[0], source, [MISTAKEN, RIGHT]) == (1, 1, "accepted")


@pytest.mark.parametrize(
    ("told", "done"), [("plain", "twice"), ("twice", "marked")], ids=["a-missing-rule", "another-question"]
)
def test_what_the_question_does_not_tell_is_found_and_the_ladder_does_not_see_it(
    execution: SolverExecution, sandboxes: tuple[Sandbox, Sandbox], ladder: Ladder, told: str, done: str
) -> None:
    source = written(FAMILY, STORIES[1], told, done)
    assert ladder.check(source).reason == ""
    program = solver_program(solver_part(FAMILY), told)
    assert verdict(execution, sandboxes[0], source, [program, program]) == (0, 2, "disputed")
    assert verdict(execution, sandboxes[0], source, [program]) == (0, 1, "unsolved")


@pytest.mark.parametrize("tell", TELLS.values(), ids=TELLS)
def test_a_verifier_cannot_forge_its_own_cross_check(
    execution: SolverExecution, sandboxes: tuple[Sandbox, Sandbox], tell: str
) -> None:
    """The question asks for something else than what is checked; solvers answer the question."""
    source = telling(written(FAMILY, STORIES[1], "twice", "marked"), tell)
    program = solver_program(solver_part(FAMILY), "twice")
    found = verdict(execution, sandboxes[0], source, [program, program])
    own = rewards(sandboxes[0], source)
    assert own or found == (0, 2, "disputed")
    assert found is not None and (found.accepted > 0) is own


def rewards(sandbox: Sandbox, source: str) -> bool:
    """Whether the reward of such an environment accepts an answer that is surely wrong."""
    row = questions_of(environment(source), EnvironmentRunner(sandbox), 1, TREE)[0]
    judge = Judge(sandbox, Domains(), Limits(cpu_s=2.0, budget_s=10.0))
    return judge.verify([Cell(row.problem, Solution("no answer"), row.testing)])[0].verdict is Verdict.PASS


class Watching:
    """A sandbox that keeps the jobs that verify."""

    def __init__(self, sandbox: Sandbox) -> None:
        self._sandbox, self.jobs = sandbox, list[Job]()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._sandbox, name)

    def run(
        self, jobs: Sequence[Job], *, on_done: Callable[..., None] = lambda *_: None
    ) -> list[tuple[ItemOutcome, ...]]:
        self.jobs += [job for job in jobs if isinstance(job, CallsJob) and job.entry_point == "verify"]
        return self._sandbox.run(jobs, on_done=on_done)


def test_the_cross_check_verifies_in_the_very_job_that_pays_a_reward(sandboxes: tuple[Sandbox, Sandbox]) -> None:
    watching: Any = Watching(sandboxes[0])
    source, limits = written(FAMILY, STORIES[0], "plain", "plain"), Limits(cpu_s=2.0, budget_s=10.0)
    rows = questions_of(environment(source), EnvironmentRunner(watching), 10, TREE)
    checking = SolverExecution(CrossExecutor(Judge(watching, Domains(), limits)), watching, limits)
    executed = checking.execute("x", [RIGHT], [[row.testing for row in rows]], [row.problem for row in rows], 4)
    assert executed is not None and executed.groups == 3
    assert executed.matrix.verdicts_MN.tolist() == [["P", "P", "P", "P"]]
    checked, watching.jobs = watching.jobs, []
    Judge(watching, Domains(), limits).verify([Cell(row.problem, row.solution, row.testing) for row in rows])
    assert len(checked) == len(rows) and sorted(map(repr, checked)) == sorted(map(repr, watching.jobs))


def test_a_wrong_reference_is_found_though_one_program_makes_its_mistake(
    execution: SolverExecution, sandboxes: tuple[Sandbox, Sandbox], ladder: Ladder
) -> None:
    part = solver_part(FAMILY).replace("(a != b)", "2 * (a != b)")
    assert part != solver_part(FAMILY)
    source = wrong_reference(FAMILY, STORIES[2], "plain", part)
    assert ladder.check(source).reason == ""
    same = solver_program(part, "plain")
    assert verdict(execution, sandboxes[0], source, [RIGHT, same, RIGHT]) == (1, 2, "disputed")


def test_a_program_that_lies_about_equality_is_not_accepted(
    execution: SolverExecution, sandboxes: tuple[Sandbox, Sandbox]
) -> None:
    source = written(FAMILY, STORIES[0], "plain", "plain")
    found = verdict(execution, sandboxes[0], source, [LIAR, RIGHT])
    assert found is None or found.accepted == 1


class Failing:
    """A sandbox that fails on its own account for the first `times` jobs that `which` names."""

    def __init__(self, sandbox: Sandbox, which: Callable[[Job], bool], times: int) -> None:
        self._sandbox, self._which, self._times = sandbox, which, times

    def __getattr__(self, name: str) -> Any:
        return getattr(self._sandbox, name)

    def run(
        self, jobs: Sequence[Job], *, on_done: Callable[..., None] = lambda *_: None
    ) -> list[tuple[ItemOutcome, ...]]:
        ran = zip(jobs, self._sandbox.run(jobs), strict=True)
        found = [self._spoilt(items) if self._which(job) else items for job, items in ran]
        for place, items in enumerate(found):
            on_done(place, items)
        return found

    def _spoilt(self, items: tuple[ItemOutcome, ...]) -> tuple[ItemOutcome, ...]:
        self._times -= 1
        return items if self._times < 0 else (ItemOutcome(Status.INFRASTRUCTURE, detail="lost"),) * len(items)


@pytest.mark.parametrize(
    "which",
    [lambda job: isinstance(job, CallsJob) and job.entry_point == "solve", lambda _: True],
    ids=["answers", "everything"],
)
def test_what_our_own_side_failed_once_changes_no_verdict_and_what_it_always_fails_judges_nothing(
    sandboxes: tuple[Sandbox, Sandbox], which: Callable[[Job], bool]
) -> None:
    source, limits = written(FAMILY, STORIES[0], "plain", "plain"), Limits(cpu_s=2.0, budget_s=10.0)
    for times, wanted in ((1, (1, 1, "accepted")), (999, None)):
        failing: Any = Failing(sandboxes[0], which, times)
        spoilt = SolverExecution(CrossExecutor(Judge(failing, Domains(), limits)), failing, limits)
        if wanted is None:
            with pytest.raises(SandboxUnavailable, match="solver of an environment could not be run: lost"):
                verdict(spoilt, sandboxes[0], source, [MISTAKEN, RIGHT])
        else:
            assert verdict(spoilt, sandboxes[0], source, [MISTAKEN, RIGHT]) == wanted


def test_cells_that_nobody_could_run_judge_nothing(sandboxes: tuple[Sandbox, Sandbox]) -> None:
    source, limits = written(FAMILY, STORIES[0], "plain", "plain"), Limits(cpu_s=2.0, budget_s=10.0)
    failing: Any = Failing(sandboxes[0], lambda _: True, 999)
    spoilt = SolverExecution(CrossExecutor(Judge(failing, Domains(), limits)), sandboxes[0], limits)
    with pytest.raises(SandboxUnavailable, match="cells could not be run"):
        verdict(spoilt, sandboxes[0], source, [MISTAKEN, RIGHT])


def test_programs_that_answer_nothing_take_no_part(
    execution: SolverExecution, sandboxes: tuple[Sandbox, Sandbox]
) -> None:
    source = written(FAMILY, STORIES[0], "plain", "plain")
    assert verdict(execution, sandboxes[0], source, ["def solve(prompt):\n    return None\n"]) is None


def test_another_verifier_takes_the_place_of_the_first_and_leaves_the_generator_alone(
    sandboxes: tuple[Sandbox, Sandbox],
) -> None:
    source = written(FAMILY, STORIES[0], "plain", "plain")
    reply = "```python\ndef plain_observe(x):\n    return 0\n\ndef verify(instance, reference, answer):\n    return plain_observe(1) == 1\n```"
    other = read_verifier(reply, source).value
    assert other is not None and "plain_observe_of_verifier" in other
    runner = EnvironmentRunner(sandboxes[0])
    rows = questions_of(environment(source), runner, 5, TREE)
    made = references_of(environment(other), environment(source), runner, rows, TREE)
    assert made == [row.testing.body["reference"] for row in rows]
    assert runner.observe(environment(other), [row.testing.body["instance"] for row in rows]) == [
        row.problem.statement for row in rows
    ]


@pytest.mark.parametrize("text", ["", "yes", "{}", '{"verdict": "maybe"}', '{"verdict": true}', "[1, 2]", "{" * 5000])
def test_a_judgement_of_another_form_is_none(text: str) -> None:
    for of in ("judge-code", "judge-questions", "review"):
        assert read_judgement(of, text).value is None


def test_popular_mistakes_are_shared_by_authors_and_solvers() -> None:
    assert popular(SeedTree(4).child("a"), FAMILY, 0.1) == popular(SeedTree(4).child("b", 1), FAMILY, 0.1)
