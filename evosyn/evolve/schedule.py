"""Which proposer makes proposal number `index`: a fixed mixture, or a bandit over arms rewarded per cost.

A choice depends on the tallies as of the lagged state, the seed and the index: nothing is kept here. DESIGN.md
section 5, "Determinism".
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from evosyn.evolve.events import Fate
from evosyn.evolve.proposer_tally import Tally
from evosyn.randomness import SeedTree


class Arm(NamedTuple):
    """One proposer with its share of the proposals.

    Attributes:
        free: it costs nothing (no model): its share stays as it is under a bandit, it follows each text of a model
            with a burst, and it goes on when what may be paid is spent.
    """

    name: str
    weight: float = 1.0
    free: bool = False


class Schedule:
    """Draws an arm for each proposal.

    Args:
        arms: proposers with weights above zero.
        seed: node of the seed tree.
        bandit: move weight among the arms that cost something towards those that earn most (kept candidates per
            proposal and dollar).
    """

    def __init__(self, arms: Sequence[Arm], seed: SeedTree, *, bandit: bool = False) -> None:
        self.arms, self._seed, self._bandit = tuple(arms), seed, bandit

    @property
    def has_free(self) -> bool:
        return any(arm.free for arm in self.arms)

    def choose(self, index: int, tallies: Mapping[str, Tally], *, free: bool = False) -> str:
        """The name of the proposer for proposal `index`.

        Args:
            free: one that costs nothing, if there is any.
        """
        weights = dict(zip(self.arms, self._weights(tallies), strict=True))
        arms = [arm for arm in self.arms if arm.free or not free] or self.arms
        if len(arms) == 1:
            return arms[0].name
        draw = self._seed.child("arm", index).random().random() * sum(weights[arm] for arm in arms)
        for arm in arms:
            draw -= weights[arm]
            if draw < 0:
                return arm.name
        return arms[-1].name

    def is_free(self, name: str) -> bool:
        return any(arm.name == name and arm.free for arm in self.arms)

    def _weights(self, tallies: Mapping[str, Tally]) -> list[float]:
        """One weight an arm; the paid arms share among them what their own weights come to."""
        paid = [arm for arm in self.arms if not arm.free]
        if not self._bandit or len(paid) < 2:
            return [arm.weight for arm in self.arms]
        earned = {arm.name: arm.weight * _worth(arm.name, paid, tallies) for arm in paid}
        scale = sum(arm.weight for arm in paid) / sum(earned.values())
        return [arm.weight if arm.free else earned[arm.name] * scale for arm in self.arms]


def _worth(name: str, paid: Sequence[Arm], tallies: Mapping[str, Tally]) -> float:
    """Optimistic share of proposals that kept a candidate, per cost relative to the dearest arm; never zero.

    The upper confidence bound makes a new arm worth trying; dividing by the square root of the relative cost prefers a
    cheap arm without starving a dear one that earns its price.
    """
    tally = tallies.get(name)
    if tally is None or tally.proposals == 0:
        return 1.0
    tried = [tallies[arm.name] for arm in paid if arm.name in tallies]
    total = sum(one.proposals for one in tried)
    kept = tally.fates.get(Fate.NEW.value, 0) + tally.fates.get(Fate.IMPROVED.value, 0)
    rate = min(1.0, kept / tally.proposals)
    bound = min(1.0, rate + math.sqrt(0.5 * math.log(1 + total) / tally.proposals))
    dearest = max(_price(one) for one in tried)
    relative = _price(tally) / dearest if dearest > 0 else 1.0
    return max(0.05, bound / math.sqrt(max(0.05, relative)))


def _price(tally: Tally) -> float:
    return tally.cost / tally.proposals if tally.proposals else 0.0
