"""One problem of a synthesis from its brief to its fate: the record that the journal keeps and everything is made of.

`Instance` is frozen data; the stages fill it, the writers read it. A dropped problem is an instance too, with the
reject that ended it, so the number of instances is always the number that was asked for.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from evosyn.dataset import SETTINGS, Reject
from evosyn.evaluators.columns import ranked_cases, ranked_columns
from evosyn.matrices import StoredMatrix
from evosyn.records import Invalid, Json, PassMatrix, Pool, Problem, Ranking, Solution, Testing, Unit
from evosyn.rundir import RunDir
from evosyn.running.ledger import Ledger
from evosyn.running.progress import Usage
from evosyn.synthesis.prune import Decision
from evosyn.synthesis.reward import Reward


@dataclass(frozen=True)
class Instance:
    """One problem of the run.

    Attributes:
        index: its number, from 0.
        problem: None if no reply could be read as one.
        solutions, testings: None if it was dropped before they were drawn.
        executed: without what its pool says again; None if it was dropped before the execution.
        ranking: what the strategy said; None if dropped before.
        lacking: what the strategy reads of the evidence that was unknown, by the names that programs use.
        decision: what the pruning said; None if dropped before.
        reward: what pays for its rows, but in the random setting; None where no setting keeps it.
        rejects: every reply that could not be used, then the reject that dropped the instance, if any.
        brief: seeds in context and wishes, by name.
        usage: model calls and executed cells.
        unit: what the strategy ranked.
    """

    index: int
    problem: Problem | None = None
    solutions: tuple[Solution, ...] | None = None
    testings: tuple[Testing, ...] | None = None
    executed: StoredMatrix | None = None
    ranking: Ranking | Invalid | None = None
    decision: Decision | None = None
    reward: Reward | None = None
    rejects: tuple[Reject, ...] = ()
    brief: Mapping[str, Json] = field(default_factory=dict)
    usage: Usage = field(default_factory=Usage)
    lacking: tuple[str, ...] = ()
    unit: Unit = "testing"

    @property
    def asked(self) -> Problem:
        """Its problem, which every stage after the first can rely on."""
        if self.problem is None:
            raise ValueError(f"instance {self.index} has no problem and went on")
        return self.problem

    @property
    def pool(self) -> Pool | None:
        """None if it was dropped before solutions and testings were drawn."""
        if self.problem is None or self.solutions is None or self.testings is None:
            return None
        return Pool(self.problem, self.solutions, self.testings)

    @property
    def matrix(self) -> PassMatrix | None:
        """What was executed, with the texts of its pool; None if it was dropped before."""
        pool, executed = self.pool, self.executed
        if pool is None or executed is None:
            return None
        return replace(
            executed,
            solution_texts=tuple(solution.text for solution in pool.solutions),
            testing_texts=tuple(testing.text for testing in pool.testings),
            statement=pool.problem.statement,
            payload=pool.problem.payload,
        )

    @property
    def ranked(self) -> PassMatrix | None:
        """The same with the columns that the strategy ranked."""
        matrix = self.matrix
        return None if matrix is None else ranked_columns(matrix, self.unit)

    @property
    def chosen_testing(self) -> int | None:
        """The place of the testing as drawn that was chosen, or that holds the case that was; None for none."""
        matrix, columns = self.matrix, () if self.decision is None else self.decision.columns
        if matrix is None or not columns:
            return None
        return ranked_cases(matrix)[columns[0]].testing if self.unit == "case" else columns[0]

    @property
    def ended(self) -> Reject | None:
        """The reject that keeps it out of every setting."""
        return next((reject for reject in self.rejects if set(SETTINGS) <= set(reject.settings)), None)

    def dropped(self, setting: str) -> Reject | None:
        """The reject that keeps this instance out of a setting, or None if the setting has it."""
        return next((reject for reject in self.rejects if setting in reject.settings), None)

    def drop(self, stage: str, reason: str, detail: str = "", settings: Sequence[str] = SETTINGS) -> Instance:
        """The same instance, dropped from `settings`."""
        name = None if self.problem is None else self.problem.problem_id
        reject = Reject(stage, reason, "problem", self.index, name, tuple(settings), None, detail)
        return replace(self, rejects=(*self.rejects, reject))


def ledger_of(path: Path) -> Ledger[Instance]:
    """The ledger of a synthesis for reading.

    Raises:
        CorruptRun: the journal is damaged, or is not of a synthesis.
    """
    return Ledger(RunDir(path).journal, Instance)


def kept_of(matrix: PassMatrix) -> PassMatrix:
    """What an instance keeps of its matrix: nothing that may differ from run to run (durations, what solutions gave),
    and nothing that can be read off its problem, solutions and testings again."""
    return replace(
        matrix,
        durations_MN=None,
        calls_N=None,
        values_NMC=None,
        solution_texts=(),
        testing_texts=(),
        statement=None,
        payload=None,
    )


def testing_size(testing: Testing) -> int:
    """How many single checks a testing holds; 1 for one program or script."""
    for key in ("cases", "asserts"):
        if isinstance(testing.body.get(key), list):
            return len(testing.body[key])
    return 1
