"""A real but tiny search problem that ships with the engine: programs that set `x` and `y`, scored in closed form.

The evaluator reads the two numbers from the text and never executes it; the proposer moves them. Tests and benchmarks
of the loop use these two instead of imitations. It is no evaluator of strategies.
"""

from __future__ import annotations

import asyncio
import math
import re
from collections.abc import Sequence

from evosyn.ports import Axis, Proposal, ProposalContext
from evosyn.randomness import SeedTree
from evosyn.records import Candidate, Evaluation

START = Candidate("x = 0.1\ny = 0.1\n")
PEAK = (0.7, 0.3)
_NUMBER = re.compile(r"^(x|y) = (-?\d+(?:\.\d+)?)$", re.MULTILINE)


class PointEvaluator:
    """Score = 1 minus the distance of (x, y) from a hidden peak; the descriptor is (x, y) itself."""

    axes = (Axis("x", 0.0, 1.0, 10), Axis("y", 0.0, 1.0, 10))

    def evaluate(self, candidates: Sequence[Candidate]) -> list[Evaluation]:
        return [self._one(candidate.text) for candidate in candidates]

    def _one(self, text: str) -> Evaluation:
        found = {name: float(value) for name, value in _NUMBER.findall(text)}
        if set(found) != {"x", "y"}:
            return Evaluation(score=None, invalid="sets no x or no y")
        x, y = found["x"], found["y"]
        return Evaluation(
            score=max(0.0, 1.0 - math.hypot(x - PEAK[0], y - PEAK[1])),
            descriptor=(x, y),
            per_seed=(max(0.0, 1.0 - abs(x - PEAK[0])), max(0.0, 1.0 - abs(y - PEAK[1]))),
            signature=f"{x:.3f},{y:.3f}",
        )


class PointProposer:
    """Moves the parent's point by a small step; optionally slow, dear, wasteful or repetitive, to order.

    Args:
        burst: candidates a proposal.
        latency: seconds that a proposal takes; varied by half, deterministically, if `jitter`.
        waste: share of proposals without a candidate.
        cost: dollars a proposal; more than zero makes it look like a model's.
        step: size of a move, in hundredths of the plane's side.
    """

    name = "points"

    def __init__(
        self,
        *,
        burst: int = 1,
        latency: float = 0.0,
        jitter: bool = False,
        waste: float = 0.0,
        cost: float = 0.0,
        step: float = 10.0,
    ) -> None:
        self._burst, self._latency, self._jitter = burst, latency, jitter
        self._waste, self._cost, self._step = waste, cost, step

    async def propose(self, context: ProposalContext) -> Proposal:
        rng = SeedTree(context.seed).child("points", context.index).random()
        if self._latency:
            await asyncio.sleep(self._latency * (rng.uniform(0.5, 1.5) if self._jitter else 1.0))
        replies = (f"reply-{context.index}",) if self._cost else ()
        if rng.random() < self._waste:
            return Proposal(waste="prose", replies=replies, cost=self._cost)
        x, y = (float(value) for _, value in _NUMBER.findall(context.parent.candidate.text))
        made = []
        for _ in range(self._burst):
            new = (round(value + rng.gauss(0, self._step / 100), 4) for value in (x, y))
            text = "x = {}\ny = {}\n".format(*new)
            made.append(Candidate(text, parents=(context.parent.candidate.id,), proposer=self.name))
        return Proposal(candidates=tuple(made), replies=replies, cost=self._cost)
