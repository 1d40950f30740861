"""What a strategy did on all draws, and the axes that describe it: the seam for axes of one's own.

An axis is one module of `evosyn.evaluators.axes` (or a dotted path) whose `create` returns a `BehaviourAxis`.
DESIGN.md section 5, "MAP-Elites".
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from evosyn import registry
from evosyn.evaluators.criteria import Outcome, judge
from evosyn.evaluators.draws import Block, ConsistencyConfig, Draws, Floats
from evosyn.ports import Axis, AxisTools
from evosyn.rankings import Rankings
from evosyn.records import Ranking

DEFAULT_AXES = ("strictness", "pass-count-correlation", "program-size")


@dataclass(frozen=True)
class Behaviour:
    """One strategy on all draws.

    Attributes:
        text: its program.
        outcomes: one for each block of `draws`, in order.
    """

    text: str
    draws: Draws
    outcomes: tuple[Outcome, ...]

    def per_draw(self, measure: Callable[[Block, Outcome], Floats]) -> Floats:
        """`measure` of every draw, shape (E,)."""
        if len(self.outcomes) == 1:
            return measure(self.draws.blocks[0], self.outcomes[0])
        values = np.empty(len(self.draws.evidences))
        for block, outcome in zip(self.draws.blocks, self.outcomes, strict=True):
            values[block.at_B] = measure(block, outcome)
        return values

    def mean(self, measure: Callable[[Block, Outcome], Floats], default: float = 0.0) -> float:
        """Mean over problems of the means over draws; NaN draws are left out, `default` where nothing is left."""
        return self.draws.mean(self.draws.by_problem(self.per_draw(measure)), default)


def behaviour_of(text: str, draws: Draws, rankings: Sequence[Ranking], config: ConsistencyConfig) -> Behaviour:
    """What the rankings of all draws come to.

    Args:
        rankings: one for each of `draws.evidences`.
    """
    found = Rankings.of(rankings)
    return Behaviour(
        text,
        draws,
        tuple(judge(block, *found.at(block.at_B, block.passed_BMN.shape[2]), config) for block in draws.blocks),
    )


class BehaviourAxis(Protocol):
    """One axis of the archive."""

    @property
    def axis(self) -> Axis: ...

    def measure(self, behaviour: Behaviour) -> float:
        """A finite value in the axis' units."""
        ...


def axes_named(names: Sequence[str] = DEFAULT_AXES) -> tuple[BehaviourAxis, ...]:
    """The axes of these names or dotted paths `package.module:attribute`.

    Raises:
        UsageError: nothing of that name.
    """
    return tuple(registry.make("axes", name, AxisTools()) for name in names)
