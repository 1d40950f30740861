"""The cross-check as a cross-execution (ours): programs that solve from the question alone, against verifiers.

A row is such a program, a column a group of instances under a verifier, or the answers that another program gives to
all questions. Verdicts come from the one Judge; a verifier runs in a process that the program cannot reach. What no
ladder sees, a wrong reference, a question of something else, a missing rule, shows as programs that agree with each
other and are refused, or as none that is accepted.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from evosyn.domains.python_function import NAME
from evosyn.environments.contract import LEVELS, Environment
from evosyn.environments.rows import EnvironmentRow, rows_of
from evosyn.environments.runner import EnvironmentRunner, MadeInstance, instance_seed, run_twice
from evosyn.errors import SandboxUnavailable
from evosyn.jobs import Call, CallsJob, Limits
from evosyn.ports import Crossexec, Sandbox
from evosyn.randomness import SeedTree
from evosyn.records import Json, PassMatrix, Problem, Solution, Testing, Verdict, canonical_json

STARTER = "def solve(prompt: str) -> str:\n    pass\n"
_GROUP = """import json as _json

_space = {"__name__": "environment"}
exec(compile(%(program)r, "environment", "exec"), _space)


def _accepts(instance, reference, answer):
    try:
        return isinstance(answer, str) and _space["verify"](instance, reference, answer.strip()) == 1
    except Exception:
        return False


def check(candidate):
    for question, instance, reference in _json.loads(%(items)r):
        assert _accepts(instance, reference, candidate(question)), "refused"
"""
Instance = tuple[str, Json, Json]
"""Question, instance and reference."""


class Executed(NamedTuple):
    """The matrix of a cross-check.

    Attributes:
        programs: its rows: those that give a text for every question.
        groups: columns of one verifier; those of the first verifier come first, one column for the answers of each
            program last.
    """

    programs: tuple[str, ...]
    matrix: PassMatrix
    groups: int


def questions_of(
    environment: Environment, runner: EnvironmentRunner, count: int, tree: SeedTree
) -> list[EnvironmentRow]:
    """So many instances, levels in turn; fewer where some cannot be made."""
    return [row for row in rows_of(environment, runner, count, tree) if isinstance(row, EnvironmentRow)]


def references_of(
    other: Environment, base: Environment, runner: EnvironmentRunner, rows: Sequence[EnvironmentRow], tree: SeedTree
) -> list[Json] | None:
    """The references that another program of the same generator makes of these instances; None where it makes other
    instances."""
    cells = [(index % LEVELS + 1, instance_seed(tree, base, index % LEVELS + 1, index)) for index in range(len(rows))]
    found = []
    for row, made in zip(rows, runner.generate(other, cells), strict=True):
        if not isinstance(made, MadeInstance):
            return None
        if canonical_json(made.instance) != canonical_json(row.testing.body["instance"]):
            return None
        found.append(made.reference)
    return found


def group_testings(program: str, instances: Sequence[Instance], size: int) -> list[Testing]:
    """For each group of instances a testing: all answers of the group are accepted."""
    groups = [list(map(list, instances[at : at + size])) for at in range(0, len(instances), size)]
    return [
        Testing("program", {"code": _GROUP % {"program": program, "items": canonical_json(group)}}) for group in groups
    ]


class SolverExecution:
    """Executes programs against verifiers and against each other's answers.

    Args:
        crossexec: over the judge of the run.
        sandbox: where answers are taken for the agreement columns.
        limits: of one program for all questions.
    """

    def __init__(self, crossexec: Crossexec, sandbox: Sandbox, limits: Limits) -> None:
        self._crossexec, self._sandbox, self._limits = crossexec, sandbox, limits

    def execute(
        self, name: str, programs: Sequence[str], verifiers: Sequence[Sequence[Testing]], questions: Sequence[str]
    ) -> Executed | None:
        """The matrix of programs x (groups of each verifier, then agreement); None where none answers every question.

        Raises:
            SandboxUnavailable: from the sandbox, or our own side left cells undecided.
        """
        told = zip(programs, self._answers(programs, questions), strict=True)
        answered = [(text, answers) for text, answers in told if None not in answers]
        if not answered:
            return None
        problem = Problem(name, NAME, "Answer the question.", {"entry_point": "solve", "starter_code": STARTER})
        testings = [one for groups in verifiers for one in groups]
        for _, answers in answered:
            cases = [{"input": [asked], "output": one} for asked, one in zip(questions, answers, strict=True)]
            testings.append(Testing("cases", {"cases": cases}))
        taking = tuple(text for text, _ in answered)
        (matrix,) = self._crossexec.matrices([(problem, [Solution(text) for text in taking], testings)])
        if unknown := int((matrix.verdicts_MN == Verdict.UNKNOWN.value).sum()):
            raise SandboxUnavailable(
                f"a cross-check of an environment: {unknown} cells could not be run; nothing is kept"
            )
        return Executed(taking, matrix, len(verifiers[0]))

    def _answers(self, programs: Sequence[str], questions: Sequence[str]) -> list[list[str | None]]:
        """What each program answers; None where that is no text.

        Raises:
            SandboxUnavailable: from the sandbox.
        """
        calls = tuple(Call((question,)) for question in questions)
        jobs = [CallsJob(text, "solve", calls, self._limits) for text in programs]
        outcomes = run_twice(self._sandbox, jobs, "a solver of an environment")
        return [[one.value if isinstance(one.value, str) else None for one in many] for many in outcomes]


class SolverVerdict(NamedTuple):
    """How many programs a verifier accepts, how many that it refuses agree, and what follows."""

    accepted: int
    agree: int
    verdict: str


def settled(executed: Executed, verifier: int = 0) -> SolverVerdict:
    """Whether the programs bear out one of the verifiers: it accepts at least as many as agree on other answers."""
    passed_MN = executed.matrix.verdicts_MN == Verdict.PASS.value
    columns = slice(verifier * executed.groups, (verifier + 1) * executed.groups)
    accepted_M = passed_MN[:, columns].all(axis=1)
    agrees_MM = passed_MN[:, passed_MN.shape[1] - len(executed.programs) :]
    sides_M = (agrees_MM & ~accepted_M[:, None]).sum(axis=0)[~accepted_M]
    accepted, agree = int(accepted_M.sum()), int(max(sides_M, default=0))
    if accepted and accepted >= agree:
        return SolverVerdict(accepted, agree, "accepted")
    return SolverVerdict(accepted, agree, "disputed" if agree > 1 else "unsolved")
