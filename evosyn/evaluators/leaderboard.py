"""Many strategies on the same draws: scores with intervals, the testing they choose, and how much was to be had.

The criteria can be gamed by a rule that finds a testing which happens to accept the first and reject the last solution;
that is why the quality of the chosen testing stands beside every score, and decides between scores that chance could
have swapped. DESIGN.md section 5.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from evosyn.evaluators.consistency import SeedConsistency
from evosyn.evaluators.draws import ConsistencyConfig
from evosyn.evaluators.intervals import Interval, Strata, bootstrap, difference
from evosyn.ports import StrategyRunner
from evosyn.records import Candidate, Evaluation, Json, PassMatrix
from evosyn.strategies import is_control
from evosyn.strategies.lacking import Lacking


@dataclass(frozen=True)
class BoardRow:
    """One strategy.

    Attributes:
        evaluation: with `score` None where the program is invalid.
        interval: of the score, over problems; None where invalid, or where problems are too few for one.
        lacking: what it reads of the evidence that is unknown.
        control: it is there to be beaten, and is never preferred.
    """

    name: str
    evaluation: Evaluation
    interval: Interval | None
    lacking: Lacking
    control: bool = False

    def to_json(self) -> dict[str, Json]:
        """The object of DESIGN.md section 4."""
        metrics = self.evaluation.metrics
        return {
            "strategy": self.name,
            "score": self.evaluation.score,
            "ci": None if self.interval is None else list(self.interval),
            "criterion1": metrics.get("criterion1"),
            "pass_at_1": metrics.get("pass_at_1"),
            "testing_balanced_accuracy": metrics.get("testing_balanced_accuracy"),
            "testing_precision": metrics.get("testing_precision"),
            "control": self.control,
            "invalid": self.evaluation.invalid,
            "unknown": dict(self.lacking.unknown),
        }


@dataclass(frozen=True)
class Leaderboard:
    """Strategies on one set of draws, best score first, invalid ones last; of equal scores first who reads more that is
    unknown here, and says more where it is known.

    Attributes:
        problems: names of the problems that were scored; `tasks_P` what each is called in every pool that has it,
            `pools_P` the pool of each.
        oracle, reachable: the best score of any ranking, and of one that ties solutions of equal rows (or None).
        skipped: problems that were left out, by reason.
        smaller: how many of the others have fewer than M solutions or N testings.
    """

    config: ConsistencyConfig
    problems: tuple[str, ...]
    tasks_P: tuple[str, ...]
    oracle: float
    skipped: Mapping[str, int]
    rows: tuple[BoardRow, ...]
    reachable: float | None = None
    pools_P: tuple[str, ...] = ()
    smaller: int = 0

    @property
    def pools(self) -> dict[str, int]:
        """The problems of each pool; empty for one pool."""
        found = Counter(self.pools_P)
        return dict(sorted(found.items())) if len(found) > 1 else {}

    def by_pool(self, row: BoardRow) -> dict[str, float]:
        """The score of a valid row on the problems of each pool; empty for one pool."""
        if not self.pools or row.evaluation.score is None:
            return {}
        return Strata(self.pools_P, self.tasks_P).of_pools(np.asarray(row.evaluation.per_seed))

    @property
    def valid(self) -> list[BoardRow]:
        """The rows that have a score, the best first, without controls."""
        return [row for row in self.rows if row.evaluation.score is not None and not row.control]

    def tied(self) -> list[BoardRow]:
        """The rows whose score chance could not tell from the best one (paired, 95 %), the best first."""
        valid = self.valid
        best = valid[0].evaluation.per_seed if valid else ()
        seed, where = self.config.seed, (self.tasks_P, self.pools_P or None)
        gaps = [difference(best, row.evaluation.per_seed, seed, *where) for row in valid]
        return [row for row, gap in zip(valid, gaps, strict=True) if gap is None or gap.low <= 0]

    def winner(self) -> BoardRow | None:
        """The row to prefer: of the tied ones the one that chooses the best testing."""
        return max(self.tied(), key=lambda row: row.evaluation.metrics["testing_balanced_accuracy"], default=None)

    def to_json(self) -> dict[str, Json]:
        """The keys that programs read (DESIGN.md section 4), without the name of the pool."""
        return {
            **self.config.model_dump(),
            "problems": len(self.problems),
            "tasks": len({*self.tasks_P}),
            "pools": self.pools,
            "skipped": dict(self.skipped),
            "smaller": self.smaller,
            "oracle": self.oracle,
            "reachable": self.reachable,
            "preferred": None if (best := self.winner()) is None else best.name,
            "strategies": [{**row.to_json(), "by_pool": self.by_pool(row)} for row in self.rows],
        }


def make_leaderboard(
    runner: StrategyRunner,
    matrices: Sequence[PassMatrix],
    strategies: Mapping[str, str],
    config: ConsistencyConfig | None = None,
) -> Leaderboard:
    """Score every strategy on the same draws.

    Args:
        strategies: program texts by the name that the table shows.

    Raises:
        UsageError: no problem can be used.
        SandboxUnavailable: passed through.
    """
    evaluator = SeedConsistency(runner, matrices, config, axes=())
    evaluations = evaluator.evaluate([Candidate(text) for text in strategies.values()])
    draws = evaluator.draws
    rows = [
        BoardRow(
            name,
            evaluation,
            None
            if evaluation.score is None
            else bootstrap(evaluation.per_seed, evaluator.config.seed, draws.tasks_P, draws.pools_P),
            evaluator.lacking(text),
            is_control(text),
        )
        for (name, text), evaluation in zip(strategies.items(), evaluations, strict=True)
    ]
    rows.sort(key=_order, reverse=True)
    return Leaderboard(
        evaluator.config,
        draws.problem_ids,
        draws.tasks_P,
        evaluator.oracle,
        draws.skipped,
        tuple(rows),
        evaluator.reachable,
        draws.pools_P,
        draws.smaller,
    )


def _order(row: BoardRow) -> tuple[float, int]:
    score = row.evaluation.score
    return (-1.0, 0) if score is None else (score, len(row.lacking.unknown))
