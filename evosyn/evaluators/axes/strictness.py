"""How strict the chosen testing is: the share of solutions that it accepts (1 accepts everybody); of cases the joined.

DESIGN.md section 5, "MAP-Elites".
"""

from __future__ import annotations

from evosyn.evaluators.behaviour import Behaviour, BehaviourAxis
from evosyn.ports import Axis, AxisTools, PluginConfig


class Strictness:
    """Mean over problems; tied testings weigh alike."""

    axis = Axis("strictness", 0.0, 1.0, 10)

    def measure(self, behaviour: Behaviour) -> float:
        return behaviour.mean(lambda _, outcome: outcome.of_kept(outcome.asked.strictness_BN))


def create(tools: AxisTools, config: PluginConfig) -> BehaviourAxis:  # noqa: ARG001
    return Strictness()
