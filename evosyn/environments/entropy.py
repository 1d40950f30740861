"""How varied a set of environments is: the entropy of its clusters, by how alike two must be to count as one task.

ReSyn, appendix A.5: agglomerative single linkage at a threshold tau, H = -sum p log2 p. The paper compares descriptions
that a model writes, by a sentence model; here the two views of `novelty` are compared, which is ours, so the figures
are not those of the paper. docs/environments.md.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from evosyn.environments.contract import Environment
from evosyn.environments.novelty import MIX, views

TAUS = (0.5, 0.6, 0.7, 0.8, 0.9)
"""Similarities from which two environments are one task; in the paper's embedding 0.8."""


class Clustering(NamedTuple):
    """At a threshold: the number of clusters, and their entropy in bits, from 0 to log2 of the environments."""

    tau: float
    clusters: int
    bits: float


def varieties(
    shown: Sequence[tuple[Environment, Sequence[str]]], taus: Sequence[float] = TAUS
) -> tuple[Clustering, ...]:
    """One for each threshold.

    Args:
        shown: environments with questions at the same levels.
    """
    both = np.array([views(environment, prompts) for environment, prompts in shown])
    prompts_E, codes_E = both[:, 0], both[:, 1]
    alike = MIX * prompts_E @ prompts_E.T + (1 - MIX) * codes_E @ codes_E.T
    found = []
    for tau in taus:
        sizes = Counter(_linked(alike >= tau))
        shares = [size / len(shown) for size in sizes.values()]
        found.append(Clustering(tau, len(sizes), -math.fsum(share * math.log2(share) for share in shares) + 0.0))
    return tuple(found)


def _linked(near: NDArray[np.bool_]) -> list[int]:
    """For each environment the first one that it is linked to by steps between near ones."""
    first = list(range(len(near)))
    for start in range(len(near)):
        waiting = [start] if first[start] == start else []
        while waiting:
            for other in np.flatnonzero(near[waiting.pop()]):
                if first[other] > start:
                    first[other] = start
                    waiting.append(int(other))
    return first
