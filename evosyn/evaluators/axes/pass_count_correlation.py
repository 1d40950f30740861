"""How much the ranking of solutions follows the plain pass count: Spearman's rank correlation.

DESIGN.md section 5, "MAP-Elites".
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from evosyn.evaluators.behaviour import Behaviour, BehaviourAxis
from evosyn.evaluators.criteria import Outcome
from evosyn.evaluators.draws import Block, Floats
from evosyn.ports import Axis


class PassCountCorrelation:
    """Mean over problems; draws on which all solutions pass alike say nothing, a constant ranking counts as 0."""

    axis = Axis("pass-count-correlation", -1.0, 1.0, 10)

    def measure(self, behaviour: Behaviour) -> float:
        return behaviour.mean(_correlations)


def create() -> BehaviourAxis:
    return PassCountCorrelation()


def _correlations(block: Block, outcome: Outcome) -> Floats:
    ours = _centred_places(outcome.solution_ranks_BM)
    theirs = _centred_places(-block.passed_BMN.sum(axis=2))
    scale = np.sqrt((ours**2).sum(axis=1) * (theirs**2).sum(axis=1))
    value = (ours * theirs).sum(axis=1) / np.where(scale > 0, scale, 1.0)
    return np.where(theirs.any(axis=1), value, np.nan)


def _centred_places(ranks_BM: NDArray[np.int64]) -> Floats:
    """Places with equal ranks sharing their mean place, around zero."""
    ahead = (ranks_BM[:, None, :] < ranks_BM[:, :, None]).sum(axis=2)
    behind = (ranks_BM[:, None, :] > ranks_BM[:, :, None]).sum(axis=2)
    return np.asarray((ahead - behind) / 2)
