"""A candidate against those before it: seeds won and lost by its parent and by the initial strategy, and by what.

Scores of single seeds stand in the journal; what was chosen is known only where the programs are run again, which
`decided` does with a runner that it is given.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

from evosyn.evaluators.consistency import SeedConsistency
from evosyn.evaluators.draws import ConsistencyConfig, make_draws
from evosyn.evaluators.duel import Duel, SeedsWon, duels, largest
from evosyn.reading.search_journal import Entry
from evosyn.records import PassMatrix

if TYPE_CHECKING:
    from evosyn.ports import StrategyRunner

MOST = 5
"""Seeds won, and seeds lost, that are named."""


@dataclass(frozen=True)
class SeedScores:
    """A seed problem: the candidate's score on it and the rival's."""

    problem: str
    ours: float
    theirs: float


@dataclass(frozen=True)
class Rival:
    """Whom a candidate is compared with.

    Attributes:
        role: `parent` or `initial`.
        seeds: the largest gains, then the largest losses.
        duels: what both chose there; empty where nothing was run for it.
    """

    role: str
    id: str
    score: float | None
    tally: SeedsWon
    seeds: tuple[SeedScores, ...]
    duels: tuple[Duel, ...] = ()


class ScoredSeeds(NamedTuple):
    """The problems behind the scores of single seeds, in their order.

    Attributes:
        own: whether each is shown as it was recorded; the others are the same problems seen from another side.
    """

    names: tuple[str, ...]
    own: tuple[bool, ...]

    def scores(self, per_seed: Sequence[float]) -> dict[str, float]:
        """The scores on the problems as they were recorded, by name; none where they are of something else."""
        if len(per_seed) != len(self.names):
            return {}
        return {name: value for name, own, value in zip(self.names, self.own, per_seed, strict=True) if own}


def scored_seeds(searched: Sequence[PassMatrix], scoring: ConsistencyConfig) -> ScoredSeeds:
    """What a search on these matrices has scores of."""
    draws = make_draws(searched, scoring)
    return ScoredSeeds(draws.problem_ids, tuple(draws.own_P.tolist()))


def rival(role: str, ours: Entry, theirs: Entry, seeds: ScoredSeeds) -> Rival | None:
    """The comparison with one other candidate on the problems as they were recorded; None where one of the two has no
    scores."""
    found = [() if one.trial.evaluation is None else one.trial.evaluation.per_seed for one in (ours, theirs)]
    first, second = map(seeds.scores, found)
    if not first or not second:
        return None
    names, mine, other = list(first), list(first.values()), list(second.values())
    gaps = [one - two for one, two in zip(mine, other, strict=True)]
    shown = tuple(SeedScores(names[at], mine[at], other[at]) for at in largest(gaps, MOST))
    return Rival(role, theirs.id, theirs.score, SeedsWon.of(mine, other), shown)


def decided(
    rivals: Sequence[Rival],
    text: str,
    texts: Sequence[str],
    runner: StrategyRunner,
    train: Sequence[PassMatrix],
    scoring: ConsistencyConfig,
) -> tuple[Rival, ...]:
    """The rivals with what was chosen on the draws that decide, all programs run once more.

    Args:
        text, texts: of the candidate, and of each rival.
        train: as they were recorded.

    Raises:
        SandboxUnavailable: passed through.
    """
    evaluator = SeedConsistency(runner, train, scoring, axes=())
    mine, *others = evaluator.behaviours([text, *texts])
    return tuple(replace(one, duels=duels(mine, other)) for one, other in zip(rivals, others, strict=True))
