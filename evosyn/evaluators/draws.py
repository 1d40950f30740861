"""From matrices to the M x N draws that strategies are scored on, stacked so that numpy scores all of them at once.

A recorded pool of S >= M solutions and T >= N testings gives many sub-matrices of one problem; averaging over them cuts
the variance of a score at no execution cost. DESIGN.md section 5, "Resampling".
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, model_validator

from evosyn.configs.section import Section
from evosyn.errors import UsageError
from evosyn.evaluators.columns import columns_of_replies, in_unit, spread
from evosyn.evaluators.heldout import JUDGED_VERDICTS, original_of, pool_of, shown_tasks, task_of, view_of
from evosyn.evaluators.joining import Words, packed
from evosyn.randomness import SeedTree
from evosyn.rankings import by_shape
from evosyn.records import Evidence, PassMatrix, Unit, Verdict
from evosyn.strategies.evidence import evidence_of, select
from evosyn.strategies.ranking import centred_places, dense_ranks

Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]
FLOOR = 2
"""Solutions and testings without which there is nothing to rank."""
NO_HUMAN, NO_RIGHT, NOTHING_KNOWN = "no human verdicts", "no right solution", "no verdict that is known"
"""Reasons for leaving a problem out."""


class ConsistencyConfig(Section):
    """How seed consistency is measured.

    Attributes:
        M, N: solutions and testings of a draw; None takes all that a problem has.
        unit: what is ranked: every distinct `case` of the testings of a draw, or each `testing` as it was drawn.
        draws: draws a problem, where its pool is larger than M x N; half as many of one that is seen from another side.
        k: criterion 2 looks at the k best and the k worst solutions.
        criterion1: whether the top solution must be right.
        ties: `expected` over uniformly random tie-breaking, `stable` order of appearance (of a pool that is used whole
            the recorded one, else that of the draw), `random` seeded. Programs see no such order.
        seed: of draws and random ties.
        strict: leave problems with fewer than M solutions or N testings out; else they are used with what they have,
            from `FLOOR` of both on.
        solvable: leave out problems without a single right solution.
    """

    M: int | None = Field(default=None, ge=2)
    N: int | None = Field(default=None, ge=2)
    unit: Unit = "case"
    draws: int = Field(default=8, ge=1)
    k: int = Field(default=1, ge=1)
    criterion1: bool = True
    ties: Literal["expected", "stable", "random"] = "expected"
    seed: int = 0
    strict: bool = False
    solvable: bool = False

    @property
    def least(self) -> tuple[int, int]:
        """Solutions and testings that a problem needs."""
        return (self.M or FLOOR, self.N or FLOOR) if self.strict else (FLOOR, FLOOR)

    @model_validator(mode="after")
    def _k_within_m(self) -> ConsistencyConfig:
        if self.M is not None and self.k > self.M:
            told = "criterion 2 looks at the k best and worst of M solutions; lower k (--k), or raise M (-M)"
            raise ValueError(f"k = {self.k} is above M = {self.M}: {told}")
        return self


def _share(which_BMN: Bools, of_BMN: Bools) -> Floats:
    """For each testing: how many of these solutions are such; half where there are none."""
    count = of_BMN.sum(axis=1)
    return np.where(count > 0, (which_BMN & of_BMN).sum(axis=1) / np.maximum(count, 1), 0.5)


@dataclass(frozen=True)
class Asked:
    """Testings asked of the solutions of B draws of one shape.

    Attributes:
        human_BM: whether the human testing accepts the solution.
    """

    passed_BMN: Bools
    known_BMN: Bools
    human_BM: Bools

    @cached_property
    def agrees_BMN(self) -> Floats:
        """1 where the testing's verdict is known and equals the human one."""
        return np.asarray((self.passed_BMN == self.human_BM[:, :, None]) & self.known_BMN, dtype=np.float64)

    @cached_property
    def right_agrees_BMN(self) -> Floats:
        return self.agrees_BMN * self.human_BM[:, :, None]

    @cached_property
    def both_B(self) -> Bools:
        """Whether a draw has right and wrong solutions."""
        right_B = self.human_BM.sum(axis=1)
        return np.asarray((right_B > 0) & (right_B < self.human_BM.shape[1]))

    @cached_property
    def strictness_BN(self) -> Floats:
        """Share of the solutions that a testing accepts."""
        return np.asarray(self.passed_BMN.mean(axis=1))

    @cached_property
    def balanced_accuracy_BN(self) -> Floats:
        """Mean of the shares of right solutions accepted and wrong ones rejected, of those whose verdict is known; half
        of a kind where none is. NaN for draws in which a kind is missing."""
        human_BMN = self.human_BM[:, :, None]
        value = (
            _share(self.passed_BMN, self.known_BMN & human_BMN) + _share(~self.passed_BMN, self.known_BMN & ~human_BMN)
        ) / 2
        return np.where(self.both_B[:, None], value, np.nan)

    @cached_property
    def precision_BN(self) -> Floats:
        """Share of right ones among the solutions that a testing accepts; 0 where it accepts none."""
        accepted = self.passed_BMN.sum(axis=1)
        right = (self.passed_BMN & self.human_BM[:, :, None]).sum(axis=1)
        return np.asarray(right / np.maximum(accepted, 1))


@dataclass(frozen=True)
class Block(Asked):
    """Draws of one shape, stacked: B draws of M solutions and N columns. Where these are cases, a draw may have fewer:
    what stands behind its own passed nowhere, is known nowhere and is ranked nowhere.

    Attributes:
        at_B: place of each draw in `Draws.evidences`.
        widths_B: columns of each draw.
        keys_BM, keys_BN: random keys for seeded tie-breaking.
        places_BM, places_BN: in the order of appearance, for stable tie-breaking.
        joinable_BN: columns that a kept testing may join; None where testings are ranked, which are kept whole.
    """

    at_B: NDArray[np.int64]
    widths_B: NDArray[np.int64]
    keys_BM: Floats
    keys_BN: Floats
    places_BM: NDArray[np.int64]
    places_BN: NDArray[np.int64]
    joinable_BN: Bools | None = None

    @cached_property
    def padding_BN(self) -> Bools | None:
        """Columns that are none; None where there are none of these."""
        padding = np.arange(self.passed_BMN.shape[2]) >= self.widths_B[:, None]
        return padding if padding.any() else None

    def passed(self, draw: int) -> Bools:
        """Who passes what in one draw, without what is no column of it."""
        return self.passed_BMN[draw, :, : self.widths_B[draw]]

    def agrees(self, draw: int, columns: Sequence[int]) -> int:
        """Solutions of one draw of which these columns together say what the human testing says."""
        passed_MC, known_MC = self.passed_BMN[draw][:, [*columns]], self.known_BMN[draw][:, [*columns]]
        fails_M = (known_MC & ~passed_MC).any(axis=1)
        return int(np.where(self.human_BM[draw], passed_MC.all(axis=1), fails_M).sum())

    @cached_property
    def fails_BNW(self) -> Words:
        """Who does not pass a column, as `joining.packed`."""
        return packed(~self.passed_BMN)

    @cached_property
    def known_fails_BNW(self) -> Words:
        """Who is known to fail it."""
        return packed(self.known_BMN & ~self.passed_BMN)

    @cached_property
    def pass_places_BM(self) -> Floats:
        """Centred places of the solutions by plain pass count."""
        return centred_places(dense_ranks(self.passed_BMN.sum(axis=2).astype(np.float64)))


class Picked(NamedTuple):
    """What of its problem's matrix a draw consists of: solutions and columns in the order in which programs see them,
    and the testings as drawn, which its columns are (or are the cases of)."""

    rows_M: NDArray[np.int64]
    columns_N: NDArray[np.int64]
    replies: NDArray[np.int64]


class _Order(NamedTuple):
    """How what a draw took of one axis is shown.

    Attributes:
        items: indices in the matrix, as they are shown.
        places, keys: where each stands in the order of appearance, and its random key.
    """

    items: NDArray[np.int64]
    places: NDArray[np.int64]
    keys: Floats


class _Drawn(NamedTuple):
    """One draw; `joinable_N` as in a block."""

    evidence: Evidence
    human_M: Bools
    rows: _Order
    columns: _Order
    replies: NDArray[np.int64]
    joinable_N: Bools | None


@dataclass(frozen=True)
class Draws:
    """All draws of a set of matrices.

    Attributes:
        problem_ids: problems that are used, P of them.
        tasks_P: the task of each, which is the same where several pools have it; pools_P: the pool of each.
        evidences: E draws; those of one problem stand together.
        problem_E: index of each draw's problem.
        picked_E: where each draw was taken from.
        blocks: the same draws by shape.
        views_P: how each is shown: empty for a problem as it was recorded (`views`); originals_P: whose view it is.
        shares_P: what each counts in a mean over problems: a problem and its views count as one, evenly.
        skipped: problems that are not used, by reason.
        smaller: how many that are used have fewer than M solutions or N testings.
    """

    problem_ids: tuple[str, ...]
    tasks_P: tuple[str, ...]
    pools_P: tuple[str, ...]
    views_P: tuple[str, ...]
    originals_P: tuple[str, ...]
    shares_P: Floats
    evidences: tuple[Evidence, ...]
    problem_E: NDArray[np.int64]
    picked_E: tuple[Picked, ...]
    blocks: tuple[Block, ...]
    skipped: Mapping[str, int]
    smaller: int

    @cached_property
    def _counts_P(self) -> NDArray[np.int64]:
        """Draws of each problem."""
        return np.bincount(self.problem_E)

    @cached_property
    def tasks_E(self) -> tuple[str, ...]:
        """The task of each draw."""
        return tuple([self.tasks_P[problem] for problem in self.problem_E.tolist()])

    @cached_property
    def _even(self) -> bool:
        """Whether every problem has as many draws as every other."""
        return len(set(self._counts_P.tolist())) == 1

    def by_problem(self, values_E: Floats) -> Floats:
        """Means over the draws of each problem, shape (P,); NaN draws are left out, NaN where nothing is left."""
        size = len(self.problem_ids)
        if len(values_E) == size:
            return values_E
        defined = ~np.isnan(values_E)
        if not defined.all():
            counts = np.bincount(self.problem_E[defined], minlength=size)
            sums = np.bincount(self.problem_E[defined], weights=values_E[defined], minlength=size)
            return np.where(counts > 0, sums / np.maximum(counts, 1), np.nan)
        if self._even:
            return np.asarray(values_E.reshape(size, -1).mean(axis=1))
        return np.asarray(np.bincount(self.problem_E, weights=values_E) / self._counts_P)

    @cached_property
    def own_P(self) -> Bools:
        """Whether a problem is shown as it was recorded."""
        return np.array([not view for view in self.views_P])

    @cached_property
    def shown_P(self) -> Bools:
        """Whether models may be told of the draws of a problem, which judge no program then (`shown_tasks`)."""
        shown = shown_tasks(self.tasks_P)
        return np.array([task in shown for task in self.tasks_P])

    def mean(self, values_P: Floats, default: float = 0.0) -> float:
        """Over problems by their shares; NaN values are left out, `default` where nothing is left."""
        known = ~np.isnan(values_P)
        return float(np.average(values_P[known], weights=self.shares_P[known])) if known.any() else default


class DrawCount(NamedTuple):
    """What strategies were scored on again after a search.

    Attributes:
        fresh: draws of each problem that has others than the search saw; 0 where none has.
        single, problems: those that have one draw alone (`make_draws`), of how many.
    """

    fresh: int
    single: int
    problems: int

    def __str__(self) -> str:
        if not self.fresh:
            return "the draw that the search saw, since the pool has no other one"
        rest = f"; {self.single} of {self.problems} problems have one draw, which the search saw" if self.single else ""
        return f"{self.fresh} fresh draws{rest}"


def with_error(draws: DrawCount, error: float, asked: float) -> str:
    """Draws with the standard error of a gain that comes from drawing alone, and whether it is what was asked for.

    Args:
        asked: below which no more would have been drawn.
    """
    above = "" if error < asked else f", above the {asked:g} asked for"
    return f"{draws}, standard error from drawing {error:.4f}{above}"


def make_draws(matrices: Sequence[PassMatrix], config: ConsistencyConfig) -> Draws:
    """Draw sub-matrices of every usable problem.

    A solution whose human verdict is unknown is left out of its pool. The draws of a problem depend on the seed and its
    name only; a pool of exactly M x N gives one draw. In none of them does the order tell how the pool was recorded.
    Where cases are ranked a draw takes N testings and has all their distinct cases as columns, `MOST_COLUMNS` at most.

    Raises:
        UsageError: no problem is left; the message counts why.
    """
    drawn: list[_Drawn] = []
    problem_E: list[int] = []
    used: list[PassMatrix] = []
    skipped: Counter[str] = Counter()
    for matrix in (in_unit(one, config.unit) for one in matrices):
        reason = unusable(matrix, config)
        if reason is not None:
            skipped[reason] += 1
            continue
        found = _drawn(matrix, config, evidence_of(matrix))
        drawn += found
        problem_E += [len(used)] * len(found)
        used.append(matrix)
    if not used:
        counted = "; ".join(f"{count} x {reason}" for reason, count in skipped.items()) or "there are none"
        raise UsageError(f"no problem to score strategies on: {counted}. {_remedy(skipped)}")
    originals = tuple(map(original_of, used))
    views = Counter(originals)
    return Draws(
        tuple(matrix.problem_id for matrix in used),
        tuple(map(task_of, used)),
        tuple(map(pool_of, used)),
        tuple(map(view_of, used)),
        originals,
        np.array([1 / views[name] for name in originals]),
        tuple([one.evidence for one in drawn]),
        np.array(problem_E),
        tuple([Picked(one.rows.items, one.columns.items, one.replies) for one in drawn]),
        _blocks(drawn),
        dict(skipped),
        sum(is_smaller(matrix, config) for matrix in used),
    )


def _drawn(matrix: PassMatrix, config: ConsistencyConfig, evidence: Evidence) -> list[_Drawn]:
    """The draws of one problem."""
    human, judged = np.asarray(matrix.human_M) == Verdict.PASS.value, len(_judged(matrix))
    joinable = np.isin(np.arange(matrix.verdicts_MN.shape[1]), matrix.meta.get("vacuous", ()), invert=True)
    found = []
    for taken, tree in _picks(matrix, config):
        ties, mixing = tree.child("ties").rng(), tree.child("shown").rng()
        rows = _shown(taken.rows_M, judged, ties, mixing)
        whole = matrix.verdicts_MN.shape[1] if matrix.replies_N is None else len(taken.columns_N)
        columns = _shown(taken.columns_N, whole, ties, mixing)
        shown = select(evidence, rows.items, columns.items, {*taken.replies.tolist()})
        own = joinable[columns.items] if config.unit == "case" else None
        found.append(_Drawn(shown, human[rows.items], rows, columns, taken.replies, own))
    return found


def draws_of(matrix: PassMatrix, config: ConsistencyConfig) -> int:
    """How many draws a problem gives: none where it cannot be used, one where a draw takes all of it."""
    return 0 if unusable(matrix, config) else len(_picks(matrix, config))


def _remedy(skipped: Mapping[str, int]) -> str:
    """What to do about the commonest reason."""
    most = max(skipped, key=lambda reason: skipped[reason], default="")
    if most == NO_HUMAN:
        return "Strategies are scored by human testings: bring problems that have one (synthesized ones have none)"
    if most == NO_RIGHT:
        return "Bring easier problems or a stronger model's solutions, or leave --solvable out"
    return "Lower M or N, or bring a larger pool"


def _judged(matrix: PassMatrix) -> NDArray[np.int64]:
    human = [] if matrix.human_M is None else matrix.human_M.tolist()
    return np.array([index for index, letter in enumerate(human) if letter in JUDGED_VERDICTS], dtype=np.int64)


def unusable(matrix: PassMatrix, config: ConsistencyConfig) -> str | None:
    """Why strategies cannot be scored on a problem; None where they can."""
    if matrix.human_M is None:
        return NO_HUMAN
    judged = _judged(matrix)
    rows, columns = len(judged), matrix.drawn
    least_rows, least_columns = config.least
    if rows < least_rows:
        return f"fewer than {least_rows} judged solutions"
    if columns < least_columns:
        return f"fewer than {least_columns} testings"
    if not matrix.known_MN.any():
        return NOTHING_KNOWN
    if config.solvable and not (matrix.human_M == Verdict.PASS.value).any():
        return NO_RIGHT
    return None


def is_smaller(matrix: PassMatrix, config: ConsistencyConfig) -> bool:
    """Whether a problem has fewer than M solutions or N testings."""
    return len(_judged(matrix)) < (config.M or 0) or matrix.drawn < (config.N or 0)


def smaller_told(count: int, config: ConsistencyConfig) -> str:
    """What is said where so many problems that are used have fewer than M or N."""
    what = "1 problem has" if count == 1 else f"{count} problems have"
    sizes = " or ".join(
        f"{size} {name}" for size, name in ((config.M, "solutions"), (config.N, "testings")) if size is not None
    )
    return f"{what} fewer than {sizes}, used with what they have"


def _picks(matrix: PassMatrix, config: ConsistencyConfig) -> list[tuple[Picked, SeedTree]]:
    """What each draw takes, in the order of appearance."""
    rows, replies = _judged(matrix), np.arange(matrix.drawn)
    own = None if matrix.replies_N is None else columns_of_replies(matrix.replies_N, len(replies))

    def picked(rows: NDArray[np.int64], taken: NDArray[np.int64]) -> Picked:
        columns = taken if own is None else np.array(spread([own[reply] for reply in taken]), dtype=np.int64)
        return Picked(rows, columns, taken)

    m, n = min(config.M or len(rows), len(rows)), min(config.N or len(replies), len(replies))
    tree = SeedTree(config.seed).child("draws", matrix.problem_id)
    if m == len(rows) and n == len(replies):
        return [(picked(rows, replies), tree.child(0))]
    found = []
    for number in range(-(-config.draws // 2) if view_of(matrix) else config.draws):
        node = tree.child(number)
        rng = node.rng()
        found.append((picked(_sample(rng, rows, m), _sample(rng, replies, n)), node))
    return found


def _sample(rng: np.random.Generator, items: NDArray[np.int64], size: int) -> NDArray[np.int64]:
    return items if size == len(items) else rng.permutation(items)[:size]


def _shown(taken: NDArray[np.int64], size: int, ties: np.random.Generator, mixing: np.random.Generator) -> _Order:
    """What a draw took, mixed where it is all of the `size` that there are: a sample comes in random order already."""
    keys = ties.random(len(taken))
    order = mixing.permutation(len(taken)) if len(taken) == size else np.arange(len(taken))
    return _Order(taken[order], order, keys[order])


def _blocks(drawn: Sequence[_Drawn]) -> tuple[Block, ...]:
    """Draws of testings by shape; draws of cases, which differ in width from draw to draw, by their solutions."""
    shapes = [(m, 0 if one.joinable_N is not None else n) for one in drawn for m, n in [one.evidence.passed_MN.shape]]
    return tuple(_block(members, [drawn[at] for at in members]) for members in by_shape(shapes).values())


def _block(at_B: NDArray[np.int64], drawn: Sequence[_Drawn]) -> Block:
    widths = [one.evidence.passed_MN.shape[1] for one in drawn]

    def stacked(parts: Sequence[NDArray[Any]]) -> NDArray[Any]:
        """Arrays over columns, with zeros behind the narrower ones."""
        wide = np.zeros((len(parts), *parts[0].shape[:-1], max(widths)), dtype=parts[0].dtype)
        for one, part in zip(wide, parts, strict=True):
            one[..., : part.shape[-1]] = part
        return wide

    joinable = [one.joinable_N for one in drawn if one.joinable_N is not None]
    return Block(
        passed_BMN=stacked([one.evidence.passed_MN for one in drawn]),
        known_BMN=stacked([one.evidence.known_MN for one in drawn]),
        human_BM=np.stack([one.human_M for one in drawn]),
        at_B=at_B,
        widths_B=np.array(widths),
        keys_BM=np.stack([one.rows.keys for one in drawn]),
        keys_BN=stacked([one.columns.keys for one in drawn]),
        places_BM=np.stack([one.rows.places for one in drawn]),
        places_BN=stacked([one.columns.places for one in drawn]),
        joinable_BN=stacked(joinable) if joinable else None,
    )
