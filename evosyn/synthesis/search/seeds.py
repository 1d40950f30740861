"""Which problems of a source can be searched on, how they are split, and why the others are left out.

Everything here is arithmetic on matrices and sizes. DESIGN.md sections 4 and 5.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import NamedTuple

from evosyn.errors import UsageError
from evosyn.evaluators.columns import in_unit
from evosyn.evaluators.draws import NO_RIGHT, ConsistencyConfig, is_smaller, smaller_told, unusable
from evosyn.evaluators.heldout import (
    JUDGED_VERDICTS,
    NAMED,
    Split,
    listed,
    pool_of,
    repeated_told,
    split_problems,
    task_of,
    with_tasks,
)
from evosyn.evaluators.views import searched
from evosyn.records import Json, PassMatrix, Verdict, content_id
from evosyn.running.progress import Usage
from evosyn.strategies.evidence import evidence_digest
from evosyn.synthesis.search.config import EvolveConfig

FEWEST = 4
"""Problems that a search and its held-out check need at least."""
FEW_HELD_OUT = 10
"""Below so many held-out problems a warning is due: the score of a program on them is uncertain by 0.3."""


class LeftOut(NamedTuple):
    """Why a problem is not used: a rule that is counted, and what is so of this one."""

    rule: str
    detail: str


NO_HUMAN_TESTING = LeftOut("no human testing", "no human testing")
NOT_RECORDED = "no recorded solutions or testings"


@dataclass(frozen=True)
class Seeds:
    """The matrices of a run.

    Attributes:
        split: usable problems, to evolve on and held out.
        left_out: problems that are not, by name.
        simulated: solutions and testings come from a stand-in for a model.
        untelling: usable problems whose human testing accepts every solution, so that it tells none from another.
        repeated: problems that say what one before them says, and are of its task.
        spent: what it took to make them, by phase; empty where nothing was drawn.
        unusable: replies that could not be used, by kind and reason.
        read_in_part: replies of which cases are lost, likewise.
        examples: testings by what was shown with the request for them (`synthesis.examples.Example.name`).
        smaller: what is said of usable problems with fewer than M or N; empty where there are none.
        estimated: what a dry run foresaw for the drawing, and what that took; empty where there was none.
    """

    split: Split
    left_out: Mapping[str, LeftOut]
    simulated: bool
    untelling: tuple[str, ...] = ()
    repeated: tuple[str, ...] = ()
    spent: Mapping[str, Usage] = field(default_factory=dict)
    unusable: Mapping[str, int] = field(default_factory=dict)
    read_in_part: Mapping[str, int] = field(default_factory=dict)
    examples: Mapping[str, int] = field(default_factory=dict)
    smaller: str = ""
    estimated: Mapping[str, Json] = field(default_factory=dict)

    @property
    def skipped(self) -> dict[str, int]:
        """How many problems are left out by each rule."""
        return dict(Counter(one.rule for one in self.left_out.values()))

    @property
    def details(self) -> dict[str, str]:
        """Why each problem is left out, by name."""
        return {name: one.detail for name, one in self.left_out.items()}

    def notes(self) -> list[str]:
        """What a person should know before the search begins, beside what could be known of the source."""
        notes, tasks = [], len({task_of(matrix) for matrix in self.split.heldout})
        if self.left_out:
            notes.append(told(sum(map(len, self.split)), self.details))
            notes += [few_held_out(tasks)] if tasks < FEW_HELD_OUT else []
        if self.smaller:
            notes.append(self.smaller)
        if self.untelling:
            many = f"the human testings of {len(self.untelling)} problems accept every solution"
            notes.append(f"{many}, so no strategy gains by those: {listed(self.untelling)}")
        if self.repeated:
            notes.append(repeated_told(self.repeated))
        return notes


def told(usable: int, details: Mapping[str, str]) -> str:
    """How many are used, and which are not: `48 of 50 seeds usable; 2 left out: NAME (why)`."""
    return f"{usable} of {usable + len(details)} seeds usable; {named(details)}"


def few_held_out(count: int) -> str:
    """The warning that so few held-out problems decide nothing; one that several pools have counts once."""
    what = "1 problem is" if count == 1 else f"{count} problems are"
    return (
        f"only {what} held out: a score on so few is uncertain by about {1 / count**0.5:.2f}, so they cannot tell the "
        "winner from the initial strategy; bring more seeds (a few dozen)"
    )


def searched_of(train: list[PassMatrix], config: EvolveConfig) -> list[PassMatrix]:
    """What programs are scored on during a search on these problems."""
    return searched(train, config.scoring.M) if config.views else train


def select(matrices: Sequence[PassMatrix], config: EvolveConfig, *, simulated: bool) -> Seeds:
    """Usable problems with columns of what is ranked, split by name and seed: those that every evaluator and
    leaderboard of the search scores on.

    Raises:
        UsageError: as `prepare`.
    """
    scoring = config.scoring
    matrices, repeated = with_tasks([in_unit(one, scoring.unit) for one in matrices])
    lacking = [_left_out(matrix, scoring) for matrix in matrices]
    usable = [matrix for matrix, why in zip(matrices, lacking, strict=True) if why is None]
    left_out = {matrix.problem_id: why for matrix, why in zip(matrices, lacking, strict=True) if why is not None}
    without = sum(one is NO_HUMAN_TESTING for one in left_out.values())
    if without and len(usable) < FEWEST:
        raise UsageError(
            f"{without} of {len(matrices)} problems have no human testing, and strategies are scored by those; "
            "bring problems that have one, such as the seeds that these were made from"
        )
    check_sizes([_size(matrix) for matrix in matrices], scoring)
    if not any((matrix.human_M == Verdict.PASS.value).any() for matrix in usable if matrix.human_M is not None):
        raise UsageError(
            "no solution of any problem passes its human testing, so no strategy can be told from another; "
            "bring easier problems or a stronger model's solutions"
        )
    if scoring.solvable and len(usable) < FEWEST:
        unsolved = sum(one.rule == NO_RIGHT for one in left_out.values())
        raise UsageError(
            f"scoring.solvable: only {len(usable)} problems that are large enough have a right solution, {FEWEST} are "
            f"needed; leave it out, which uses the {unsolved} without one too, or bring easier problems or a stronger "
            "model's solutions"
        )
    untelling = tuple(matrix.problem_id for matrix in usable if set(_human(matrix)) & JUDGED_VERDICTS == {Verdict.PASS})
    if len(untelling) == len(usable):
        raise UsageError(
            "the human testing of every problem accepts all of its solutions, so no strategy can be told from another; "
            "correct the testings (`evosyn pool check FILE --execute`), or bring solutions that are wrong"
        )
    if repeated and len({task_of(matrix) for matrix in usable}) < 2:
        raise UsageError(
            f"{len(usable)} problems say the same (statement and payload), so they are one task, which cannot be split "
            "into seeds and held-out problems; give each its own statement, or record none"
        )
    split, smaller = (
        split_problems(usable, config.heldout, config.seed),
        sum(is_smaller(one, scoring) for one in usable),
    )
    told_smaller = smaller_told(smaller, scoring) if smaller else ""
    return Seeds(split, left_out, simulated, untelling, repeated, smaller=told_smaller)


def inputs_of(split: Split) -> str:
    """A digest of what a search works on, as its journal begins with: of all that decides a score."""
    return content_id("i_", [[_seal(one) for one in side] for side in split])


def _seal(matrix: PassMatrix) -> Json:
    return [task_of(matrix), pool_of(matrix), evidence_digest(matrix)]


def _size(matrix: PassMatrix) -> tuple[int, int]:
    """Solutions with a human verdict, and testings as drawn."""
    return sum(letter in JUDGED_VERDICTS for letter in _human(matrix)), matrix.drawn


def _human(matrix: PassMatrix) -> list[str]:
    return [] if matrix.human_M is None else matrix.human_M.tolist()


def _fits(size: tuple[int, int], scoring: ConsistencyConfig) -> bool:
    return size[0] >= scoring.least[0] and size[1] >= scoring.least[1]


def _left_out(matrix: PassMatrix, scoring: ConsistencyConfig) -> LeftOut | None:
    """What a problem lacks; None where nothing is."""
    if matrix.human_M is None:
        return NO_HUMAN_TESTING
    m, n = scoring.least
    judged, testings = _size(matrix)
    if not _fits((judged, testings), scoring):
        sizes = f"{judged} judged solutions and {testings} testings, {m} and {n} are needed"
        return LeftOut(f"smaller than {m} x {n}", sizes)
    reason = unusable(matrix, scoring)
    return None if reason is None else LeftOut(reason, reason)


def named(details: Mapping[str, str]) -> str:
    """The first of them with their reasons."""
    shown = [f"{name} ({detail})" for name, detail in islice(details.items(), NAMED)]
    more = len(details) - len(shown)
    return f"{len(details)} left out: {', '.join(shown)}" + (f" and {more} more" if more else "")


def check_sizes(sizes: Sequence[tuple[int, int]], scoring: ConsistencyConfig) -> None:
    """
    Raises:
        UsageError: fewer than `FEWEST` problems are large enough; says which M and N would do.
    """
    if not sizes or sum(_fits(size, scoring) for size in sizes) >= FEWEST:
        return
    work, (m, n) = that_work(sizes, scoring), scoring.least
    raise UsageError(
        f"only {sum(_fits(size, scoring) for size in sizes)} of {len(sizes)} problems have {m} solutions and {n} "
        f"testings, {FEWEST} are needed; "
        + (f"leave --strict out, or the largest that work: {work}" if work and scoring.strict else "bring more")
    )


def that_work(sizes: Sequence[tuple[int, int]], scoring: ConsistencyConfig) -> str:
    """The largest M and N that enough problems have; empty where there are none."""
    m, n = scoring.M or 2, scoring.N or 2
    square = _largest([min(size) for size in sizes])
    rows = _largest([size[0] for size in sizes if size[1] >= n])
    columns = _largest([size[1] for size in sizes if size[0] >= m])
    options = [(m, columns), (rows, n), (square, square)]
    return ", or ".join(dict.fromkeys(f"-M {one} -N {other}" for one, other in options if min(one, other) >= 2))


def _largest(values: Sequence[int]) -> int:
    """The largest number that at least `FEWEST` of the values reach; 0 if there are not that many."""
    return sorted(values, reverse=True)[FEWEST - 1] if len(values) >= FEWEST else 0
