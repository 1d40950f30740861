"""Environments as what is evolved: the contract in words, when two are the same, how replies are read, which is better.

How good one is to learn from is for an evaluator to say (`evosyn.evaluators.learnability`). What a model is told to
look for depends on how its parent was solved; the directions are ours. DESIGN.md section 5.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from evosyn.chat import Parsed
from evosyn.environments.asking import HERE, contract_text
from evosyn.environments.replies import read_draft
from evosyn.ports import ProposalContext, Told
from evosyn.program_identity import program_key
from evosyn.records import Elite
from evosyn.templates import render

PURPOSE = "variation"
NOVELTY, RATE = "novelty", "rate"
"""Metrics of an evaluation: how unlike it is to what is known, and the share of answers that are right."""
HARD, EASY = 0.25, 0.75
"""Shares of right answers below and above which a model is told to make the task easier or harder (ours)."""


class EnvironmentMerit(NamedTuple):
    """The order of environments: score, then novelty, then the shorter program."""

    score: float
    novelty: float
    brevity: int


class EnvironmentGenome:
    """Implements `ports.Genome` and `ports.Briefing`."""

    purpose = PURPOSE

    def __init__(self) -> None:
        self.task = contract_text()
        self.question = render(HERE, "prompts/question.md").strip()
        self._data = tuple(render(HERE, "prompts/learnability.md").strip().splitlines())
        harder, easier, *others = render(HERE, "prompts/directions.md").strip().splitlines()
        self._harder, self._easier, self._others = harder, easier, others

    def key(self, text: str) -> str | None:
        """See `program_key`; what does not keep the contract is told why by the ladder."""
        return program_key(text)

    def read(self, reply: str, shown: Sequence[str]) -> Parsed[str]:
        """See `read_draft`."""
        return read_draft(reply, shown)

    def brief(self, context: ProposalContext) -> Told:
        """What is scored, and where to look: by how the parent was solved, else in turn."""
        rate = context.parent.evaluation.metrics.get(RATE, 0.5)
        direction = self._others[context.index % len(self._others)]
        if not HARD <= rate <= EASY:
            direction = self._easier if rate < HARD else self._harder
        return Told(data=self._data, direction=direction)

    def merit(self, elite: Elite) -> EnvironmentMerit:
        """The merit of an environment with a score."""
        evaluation = elite.evaluation
        return EnvironmentMerit(
            evaluation.score or 0.0, evaluation.metrics.get(NOVELTY, 0.0), -len(elite.candidate.text)
        )
