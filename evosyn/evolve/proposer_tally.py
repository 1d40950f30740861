"""Counts of a search by proposer: what was tried, wasted, repeated, kept and paid. Pure bookkeeping."""

from __future__ import annotations

from dataclasses import dataclass, field

from evosyn.codec import dump
from evosyn.evolve.events import Fate, Step
from evosyn.records import Json


@dataclass
class Tally:
    """Counts for one proposer.

    Attributes:
        proposals: calls of `propose`.
        candidates: texts it made.
        wasted: proposals without a candidate, by named reason.
        fates: candidates by what became of them.
        replies: model replies used; cost in dollars; tokens in and out.
        gain: sum of improvements of the best score of the whole search that came from it.
        streak: wasted proposals in a row at the moment.
    """

    proposals: int = 0
    candidates: int = 0
    wasted: dict[str, int] = field(default_factory=dict)
    fates: dict[str, int] = field(default_factory=dict)
    replies: int = 0
    cost: float = 0.0
    tokens: tuple[int, int] = (0, 0)
    gain: float = 0.0
    streak: int = 0

    def count(self, step: Step, fates: tuple[Fate, ...], gain: float) -> None:
        """Enter one committed step."""
        self.proposals += 1
        self.candidates += len(step.trials)
        self.replies += len(step.replies)
        self.cost += step.cost
        self.tokens = self.tokens[0] + step.tokens[0], self.tokens[1] + step.tokens[1]
        self.gain += gain
        if step.waste is not None:
            self.wasted[step.waste] = self.wasted.get(step.waste, 0) + 1
        self.streak = self.streak + 1 if step.waste is not None and not step.trials else 0
        for fate in fates:
            self.fates[fate.value] = self.fates.get(fate.value, 0) + 1

    @property
    def evaluations(self) -> int:
        """Candidates that cost an evaluation: all but those that had been seen."""
        return self.candidates - self.fates.get(Fate.DUPLICATE.value, 0) - self.fates.get(Fate.NO_PROGRAM.value, 0)

    def to_json(self) -> dict[str, Json]:
        """As reports show it."""
        counts = dump(self, defaults=True)
        del counts["streak"]
        return {**counts, "evaluated": self.evaluations, "gain": round(self.gain, 6)}
