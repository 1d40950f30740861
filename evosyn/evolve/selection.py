"""How a parent is drawn: one small function a scheme, each pure and independent of the size of the population.

`fitness` draws by rank; `lexicase` keeps, seed after seed in random order, those that are best on that seed, so that
specialists become parents too (La Cava et al. 2016, down-sampled to a tournament); `uniform` draws any cell. The
baselines of an equal-budget comparison (`iid`, `sequential`, `hillclimb`) are ways of choosing a parent as well.
"""

from __future__ import annotations

import math
import random
from collections.abc import Mapping, Sequence

from evosyn.evolve.archive import Archive
from evosyn.records import Elite

TOURNAMENT = 24
TOLERANCE = 1e-6
WON = 0.05
"""A seed problem is won or lost where scores differ by more than this; those that differ by less are not told apart."""


def by_rank(archive: Archive, rng: random.Random) -> Elite:
    """An elite by its rank: the chance falls exponentially, with a tenth of the filled cells as its mean."""
    scale = max(1.0, 0.1 * len(archive))
    position = int(-math.log(1.0 - rng.random()) * scale)
    return archive.ranked(position % len(archive))


def uniform(archive: Archive, rng: random.Random) -> Elite:
    """Any filled cell, all alike."""
    return archive.nth(rng.randrange(len(archive)))


def lexicase(archive: Archive, rng: random.Random) -> Elite:
    """The survivor of a tournament in which seeds are asked one by one in random order."""
    count = min(TOURNAMENT, len(archive))
    pool: Sequence[Elite] = [archive.nth(place) for place in sorted(rng.sample(range(len(archive)), count))]
    seeds = len(pool[0].evaluation.per_seed)
    for seed in rng.sample(range(seeds), seeds):
        if len(pool) == 1:
            break
        best = max(elite.evaluation.per_seed[seed] for elite in pool)
        pool = [elite for elite in pool if elite.evaluation.per_seed[seed] >= best - TOLERANCE]
    return max(pool, key=archive.rank)


def complements(elites: Mapping[str, Elite], shown: Sequence[Elite], count: int) -> tuple[Elite, ...]:
    """Those, by id, that clearly win most where all that are shown lose, one after the other."""
    left, chosen, height = dict(elites), list[Elite](), shown[0].evaluation.per_seed
    for one in shown:
        left.pop(one.candidate.id, None)
        height = tuple(map(max, height, one.evaluation.per_seed))
    while left and len(chosen) < count:
        gain, name = max((_gain(height, one), name) for name, one in left.items())
        if gain <= 0:
            break
        chosen.append(left.pop(name))
        height = tuple(map(max, height, chosen[-1].evaluation.per_seed))
    return tuple(chosen)


def _gain(height: Sequence[float], elite: Elite) -> float:
    """By how much an elite clearly exceeds these scores, where it does, over the seed problems."""
    return sum(max(0.0, score - held - WON) for held, score in zip(height, elite.evaluation.per_seed, strict=False))
