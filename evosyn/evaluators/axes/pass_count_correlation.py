"""How much the ranking of solutions follows the plain pass count: Spearman's rank correlation.

DESIGN.md section 5, "MAP-Elites".
"""

from __future__ import annotations

import numpy as np

from evosyn.evaluators.behaviour import Behaviour, BehaviourAxis
from evosyn.evaluators.criteria import Outcome
from evosyn.evaluators.draws import Block, Floats
from evosyn.ports import Axis, AxisTools, PluginConfig
from evosyn.strategies.ranking import centred_places, rank_correlations


class PassCountCorrelation:
    """Mean over problems; draws on which all solutions pass alike say nothing, a constant ranking counts as 0."""

    axis = Axis("pass-count-correlation", -1.0, 1.0, 10)

    def measure(self, behaviour: Behaviour) -> float:
        return behaviour.mean(_correlations)


def create(tools: AxisTools, config: PluginConfig) -> BehaviourAxis:  # noqa: ARG001
    return PassCountCorrelation()


def _correlations(block: Block, outcome: Outcome) -> Floats:
    ours, theirs = centred_places(outcome.solution_ranks_BM), block.pass_places_BM
    return np.where(theirs.any(axis=1), rank_correlations(ours, theirs), np.nan)
