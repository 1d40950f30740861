"""From matrices to the M x N draws that strategies are scored on, stacked so that numpy scores all of them at once.

A recorded pool of S >= M solutions and T >= N testings gives many sub-matrices of one problem; averaging over them cuts
the variance of a score at no execution cost. DESIGN.md section 5, "Resampling".
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, model_validator

from evosyn.configs.section import Section
from evosyn.errors import UsageError
from evosyn.evaluators.heldout import JUDGED_VERDICTS, original_of, pool_of, shown_tasks, task_of, view_of
from evosyn.randomness import SeedTree
from evosyn.rankings import by_shape
from evosyn.records import Evidence, PassMatrix, Verdict
from evosyn.strategies.evidence import evidence_of, select
from evosyn.strategies.ranking import centred_places, dense_ranks

Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]
NO_HUMAN, NO_RIGHT, NOTHING_KNOWN = "no human verdicts", "no right solution", "no verdict that is known"
"""Reasons for leaving a problem out."""


class ConsistencyConfig(Section):
    """How seed consistency is measured.

    Attributes:
        M, N: solutions and testings of a draw; None takes all that a problem has.
        draws: draws a problem, where its pool is larger than M x N; half as many of one that is seen from another side.
        k: criterion 2 looks at the k best and the k worst solutions.
        criterion1: whether the top solution must be right.
        ties: `expected` over uniformly random tie-breaking, `stable` order of appearance (of a pool that is used whole
            the recorded one, else that of the draw), `random` seeded. Programs see no such order.
        seed: of draws and random ties.
        short: what becomes of a problem with fewer than M solutions or N testings: `skip` it, or `keep` what it has.
        solvable: leave out problems without a single right solution.
    """

    M: int | None = Field(default=None, ge=2)
    N: int | None = Field(default=None, ge=2)
    draws: int = Field(default=8, ge=1)
    k: int = Field(default=1, ge=1)
    criterion1: bool = True
    ties: Literal["expected", "stable", "random"] = "expected"
    seed: int = 0
    short: Literal["skip", "keep"] = "skip"
    solvable: bool = False

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
class Block:
    """Draws of one shape, stacked: B draws of M solutions and N testings.

    Attributes:
        at_B: place of each draw in `Draws.evidences`.
        human_BM: whether the human testing accepts the solution.
        keys_BM, keys_BN: random keys for seeded tie-breaking.
        places_BM, places_BN: in the order of appearance, for stable tie-breaking.
    """

    at_B: NDArray[np.int64]
    passed_BMN: Bools
    known_BMN: Bools
    human_BM: Bools
    keys_BM: Floats
    keys_BN: Floats
    places_BM: NDArray[np.int64]
    places_BN: NDArray[np.int64]

    @cached_property
    def agrees_BMN(self) -> Floats:
        """1 where the testing's verdict is known and equals the human one."""
        return np.asarray((self.passed_BMN == self.human_BM[:, :, None]) & self.known_BMN, dtype=np.float64)

    @cached_property
    def right_agrees_BMN(self) -> Floats:
        return self.agrees_BMN * self.human_BM[:, :, None]

    @cached_property
    def strictness_BN(self) -> Floats:
        """Share of the solutions that a testing accepts."""
        return np.asarray(self.passed_BMN.mean(axis=1))

    @cached_property
    def pass_places_BM(self) -> Floats:
        """Centred places of the solutions by plain pass count."""
        return centred_places(dense_ranks(self.passed_BMN.sum(axis=2).astype(np.float64)))

    @cached_property
    def balanced_accuracy_BN(self) -> Floats:
        """Mean of the shares of right solutions accepted and wrong ones rejected, of those whose verdict is known; half
        of a kind where none is. NaN for draws in which a kind is missing."""
        right_B = self.human_BM.sum(axis=1)
        both_B = (right_B > 0) & (right_B < self.human_BM.shape[1])
        human_BMN = self.human_BM[:, :, None]
        value = (
            _share(self.passed_BMN, self.known_BMN & human_BMN) + _share(~self.passed_BMN, self.known_BMN & ~human_BMN)
        ) / 2
        return np.where(both_B[:, None], value, np.nan)

    @cached_property
    def precision_BN(self) -> Floats:
        """Share of right ones among the solutions that a testing accepts; 0 where it accepts none."""
        accepted = self.passed_BMN.sum(axis=1)
        right = (self.passed_BMN & self.human_BM[:, :, None]).sum(axis=1)
        return np.asarray(right / np.maximum(accepted, 1))


class Picked(NamedTuple):
    """Which solutions and testings of its problem's matrix a draw consists of, in the order in which programs see
    them."""

    rows_M: NDArray[np.int64]
    columns_N: NDArray[np.int64]


class _Order(NamedTuple):
    """How what a draw took of one axis is shown.

    Attributes:
        items: indices in the matrix, as they are shown.
        places, keys: where each stands in the order of appearance, and its random key.
    """

    items: NDArray[np.int64]
    places: NDArray[np.int64]
    keys: Floats


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


def make_draws(
    matrices: Sequence[PassMatrix],
    config: ConsistencyConfig,
    evidence_of: Callable[[PassMatrix], Evidence] = evidence_of,
) -> Draws:
    """Draw sub-matrices of every usable problem.

    A solution whose human verdict is unknown is left out of its pool. The draws of a problem depend on the seed and its
    name only; a pool of exactly M x N gives one draw. In none of them does the order tell how the pool was recorded.

    Args:
        evidence_of: of one matrix; with a memory where the same matrices are drawn from again (`EvidencesOnce`).

    Raises:
        UsageError: no problem is left; the message counts why.
    """
    evidences: list[Evidence] = []
    humans: list[Bools] = []
    problem_E: list[int] = []
    picked_E: list[Picked] = []
    orders: list[tuple[_Order, _Order]] = []
    used: list[PassMatrix] = []
    skipped: Counter[str] = Counter()
    for matrix in matrices:
        reason = unusable(matrix, config)
        if reason is not None:
            skipped[reason] += 1
            continue
        evidence, human = evidence_of(matrix), np.asarray(matrix.human_M) == Verdict.PASS.value
        judged, testings = len(_judged(matrix)), matrix.verdicts_MN.shape[1]
        for taken, tree in _picks(matrix, config):
            ties, mixing = tree.child("ties").rng(), tree.child("shown").rng()
            rows = _shown(taken.rows_M, judged, ties, mixing)
            columns = _shown(taken.columns_N, testings, ties, mixing)
            evidences.append(select(evidence, rows.items, columns.items))
            humans.append(human[rows.items])
            problem_E.append(len(used))
            picked_E.append(Picked(rows.items, columns.items))
            orders.append((rows, columns))
        used.append(matrix)
    if not used:
        counted = "; ".join(f"{count} x {reason}" for reason, count in skipped.items()) or "there are none"
        raise UsageError(f"no problem to score strategies on: {counted}. {_remedy(skipped)}")
    blocks = _blocks(evidences, humans, orders)
    originals = tuple(map(original_of, used))
    views = Counter(originals)
    return Draws(
        tuple(matrix.problem_id for matrix in used),
        tuple(map(task_of, used)),
        tuple(map(pool_of, used)),
        tuple(map(view_of, used)),
        originals,
        np.array([1 / views[name] for name in originals]),
        tuple(evidences),
        np.array(problem_E),
        tuple(picked_E),
        blocks,
        dict(skipped),
    )


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
    rows, columns = len(judged), matrix.verdicts_MN.shape[1]
    keep = config.short == "keep"
    least_rows, least_columns = (2 if keep else config.M or 2), (2 if keep else config.N or 2)
    if rows < least_rows:
        return f"fewer than {least_rows} judged solutions"
    if columns < least_columns:
        return f"fewer than {least_columns} testings"
    if not matrix.known_MN.any():
        return NOTHING_KNOWN
    if config.solvable and not (matrix.human_M == Verdict.PASS.value).any():
        return NO_RIGHT
    return None


def _picks(matrix: PassMatrix, config: ConsistencyConfig) -> list[tuple[Picked, SeedTree]]:
    """What each draw takes, in the order of appearance."""
    rows, columns = _judged(matrix), np.arange(matrix.verdicts_MN.shape[1])
    m, n = min(config.M or len(rows), len(rows)), min(config.N or len(columns), len(columns))
    tree = SeedTree(config.seed).child("draws", matrix.problem_id)
    if m == len(rows) and n == len(columns):
        return [(Picked(rows, columns), tree.child(0))]
    found = []
    for number in range(-(-config.draws // 2) if view_of(matrix) else config.draws):
        node = tree.child(number)
        rng = node.rng()
        found.append((Picked(_sample(rng, rows, m), _sample(rng, columns, n)), node))
    return found


def _sample(rng: np.random.Generator, items: NDArray[np.int64], size: int) -> NDArray[np.int64]:
    return items if size == len(items) else rng.permutation(items)[:size]


def _shown(taken: NDArray[np.int64], size: int, ties: np.random.Generator, mixing: np.random.Generator) -> _Order:
    """What a draw took, mixed where it is all of the `size` that there are: a sample comes in random order already."""
    keys = ties.random(len(taken))
    order = mixing.permutation(len(taken)) if len(taken) == size else np.arange(len(taken))
    return _Order(taken[order], order, keys[order])


def _blocks(
    evidences: Sequence[Evidence], humans: Sequence[Bools], orders: Sequence[tuple[_Order, _Order]]
) -> tuple[Block, ...]:
    return tuple(
        Block(
            at_B=members,
            passed_BMN=np.stack([evidences[index].passed_MN for index in members]),
            known_BMN=np.stack([evidences[index].known_MN for index in members]),
            human_BM=np.stack([humans[index] for index in members]),
            keys_BM=np.stack([orders[index][0].keys for index in members]),
            keys_BN=np.stack([orders[index][1].keys for index in members]),
            places_BM=np.stack([orders[index][0].places for index in members]),
            places_BN=np.stack([orders[index][1].places for index in members]),
        )
        for members in by_shape(evidence.passed_MN.shape for evidence in evidences).values()
    )
