"""The cross-check as a cross-execution (ours): programs that solve from the question alone, against verifiers.

A row is such a program, a column a group of instances under a verifier, or the answers that another program gives to
all questions. Verdicts come from the one Judge. An answer is judged as that of a student is, by the testing that pays
its reward and in the same job, so that a verifier cannot tell the two apart. What no ladder sees, a wrong reference, a
question of something else, a missing rule, shows as programs that agree with each other and are refused, or as none
that is accepted.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from evosyn.domains.environment import CLOSE, OPEN, EnvironmentDomain
from evosyn.domains.python_function import NAME
from evosyn.environments.contract import LEVELS, Environment
from evosyn.environments.rows import EnvironmentRow, rows_of
from evosyn.environments.runner import EnvironmentRunner, MadeInstance, instance_seed, run_twice
from evosyn.errors import SandboxUnavailable
from evosyn.jobs import Call, CallsJob, Limits
from evosyn.ports import Crossexec, Sandbox
from evosyn.randomness import SeedTree
from evosyn.records import Json, Letters, PassMatrix, Problem, Solution, Testing, Verdict, canonical_json, content_id
from evosyn.textual import similarity

STARTER = "def solve(prompt: str) -> str:\n    pass\n"


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


def testings_of(program: str, rows: Sequence[EnvironmentRow], references: Sequence[Json]) -> list[Testing]:
    """The testing of each row, with another verifier and its reference."""
    given = zip(rows, references, strict=True)
    return [
        replace(row.testing, body={**row.testing.body, "program": program, "reference": reference})
        for row, reference in given
    ]


class _Answers(NamedTuple):
    """What verifiers say of the answers of programs: letters and seconds, programs x verifiers x questions."""

    letters_MVQ: Letters
    seconds_MVQ: NDArray[np.float64]


class SolverExecution:
    """Executes programs against verifiers and against each other's answers.

    Args:
        crossexec: over the judge of the run.
        sandbox: where answers are taken for the agreement columns.
        limits: of one program for all questions.
    """

    def __init__(self, crossexec: Crossexec, sandbox: Sandbox, limits: Limits) -> None:
        self._crossexec, self._sandbox, self._limits = crossexec, sandbox, limits
        self._domain = EnvironmentDomain()

    def execute(
        self,
        name: str,
        programs: Sequence[str],
        verifiers: Sequence[Sequence[Testing]],
        problems: Sequence[Problem],
        size: int,
    ) -> Executed | None:
        """The matrix of programs x (groups of each verifier, then agreement); None where none answers every question.

        Args:
            verifiers: of each the testing of every problem.
            size: problems of a group; a program passes it where all of its answers are accepted.

        Raises:
            SandboxUnavailable: from the sandbox, or our own side left cells undecided.
        """
        questions = [problem.statement for problem in problems]
        told = zip(programs, self._answers(programs, questions), strict=True)
        answered = [
            (text, [one for one in answers if one is not None]) for text, answers in told if None not in answers
        ]
        if not answered:
            return None
        agreement = self._agreement(name, answered, questions)
        judged = self._judged(problems, verifiers, [answers for _, answers in answered])
        letters = np.concatenate([agreement.verdicts_MN.ravel(), judged.letters_MVQ.ravel()])
        if unknown := int((letters == Verdict.UNKNOWN.value).sum()):
            raise SandboxUnavailable(
                f"a cross-check of an environment: {unknown} cells could not be run; nothing is kept"
            )
        starts = range(0, len(problems), size)
        columns = [(verifier, slice(at, at + size)) for verifier in range(len(verifiers)) for at in starts]
        texts = [canonical_json([one.body for one in verifiers[verifier][part]]) for verifier, part in columns]
        matrix = _with_groups(agreement, judged, columns, texts)
        return Executed(tuple(text for text, _ in answered), matrix, len(starts))

    def _agreement(
        self, name: str, answered: Sequence[tuple[str, Sequence[str]]], questions: Sequence[str]
    ) -> PassMatrix:
        """Programs x the answers of each of them to all questions."""
        problem = Problem(name, NAME, "Answer the question.", {"entry_point": "solve", "starter_code": STARTER})
        testings = [
            Testing(
                "cases",
                {"cases": [{"input": [asked], "output": one} for asked, one in zip(questions, answers, strict=True)]},
            )
            for _, answers in answered
        ]
        (matrix,) = self._crossexec.matrices([(problem, [Solution(text) for text, _ in answered], testings)])
        return matrix

    def _judged(
        self, problems: Sequence[Problem], verifiers: Sequence[Sequence[Testing]], answers_MQ: Sequence[Sequence[str]]
    ) -> _Answers:
        """What each verifier says of each answer; one that no reply could give is not accepted."""
        shape = (len(answers_MQ), len(verifiers), len(problems))
        found = _Answers(np.full(shape, Verdict.FAIL.value, dtype="<U1"), np.zeros(shape))
        items, places = [], []
        for at, problem in enumerate(problems):
            read = [self._domain.read_solution(f"{OPEN}{one[at]}{CLOSE}", problem).value for one in answers_MQ]
            given = [(row, one) for row, one in enumerate(read) if one is not None]
            if given:
                items.append((problem, [one for _, one in given], [testings[at] for testings in verifiers]))
                places.append((at, [row for row, _ in given]))
        for (at, rows), matrix in zip(places, self._crossexec.matrices(items), strict=True):
            found.letters_MVQ[rows, :, at] = matrix.verdicts_MN
            if matrix.durations_MN is not None:
                found.seconds_MVQ[rows, :, at] = matrix.durations_MN
        return found

    def _answers(self, programs: Sequence[str], questions: Sequence[str]) -> list[list[str | None]]:
        """What each program answers; None where that is no text.

        Raises:
            SandboxUnavailable: from the sandbox.
        """
        calls = tuple(Call((question,)) for question in questions)
        jobs = [CallsJob(text, "solve", calls, self._limits) for text in programs]
        outcomes = run_twice(self._sandbox, jobs, "a solver of an environment")
        return [[one.value if isinstance(one.value, str) else None for one in many] for many in outcomes]


def _with_groups(
    agreement: PassMatrix, judged: _Answers, columns: Sequence[tuple[int, slice]], texts: Sequence[str]
) -> PassMatrix:
    """The matrix with a column for each group of a verifier before its own: the first letter that is no pass counts."""
    parts = [judged.letters_MVQ[:, verifier, part] for verifier, part in columns]
    first = [(letters != Verdict.PASS.value).argmax(axis=1) for letters in parts]
    letters = [np.take_along_axis(part, at[:, None], axis=1) for part, at in zip(parts, first, strict=True)]
    seconds = [judged.seconds_MVQ[:, verifier, part].sum(axis=1) for verifier, part in columns]
    own, none = agreement.verdicts_MN, [None] * len(columns)
    spent = np.zeros(own.shape) if agreement.durations_MN is None else agreement.durations_MN
    every = (*texts, *agreement.testing_texts)
    return replace(
        agreement,
        verdicts_MN=np.concatenate([*letters, own], axis=1),
        cases_NMC=(*letters, *(agreement.cases_NMC or ())),
        durations_MN=np.concatenate([np.stack(seconds, axis=1), spent], axis=1),
        testing_ids=(*(content_id("t_", text) for text in texts), *agreement.testing_ids),
        testing_texts=every,
        calls_N=(*none, *(agreement.calls_N or ())),
        values_NMC=(*none, *(agreement.values_NMC or ())),
        testing_similarity_NN=similarity(every),
    )


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
