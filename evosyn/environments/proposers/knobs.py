"""The proposer that varies the table KNOBS of environments: no model, no cost.

A parent that is solved too often is made harder, one that is hardly solved easier, any other either way. What a model
has just written gets variants of its own first (ours: three tries that cost no model call).
"""

from __future__ import annotations

from pydantic import Field

from evosyn.environments.genome import EASY, HARD, RATE
from evosyn.environments.knobs import varied
from evosyn.ports import PluginConfig, Proposal, ProposalContext, ProposerTools
from evosyn.randomness import SeedTree
from evosyn.records import Candidate

NAME = "knobs"


class KnobsConfig(PluginConfig):
    """
    Attributes:
        burst: variants a proposal.
        around: variants in the proposal that follows a model's program.
    """

    burst: int = Field(default=2, ge=1, le=64)
    around: int = Field(default=3, ge=1, le=64)


def create(tools: ProposerTools, config: KnobsConfig) -> KnobsProposer:
    return KnobsProposer(config)


class KnobsProposer:
    """Implements `ports.Proposer`."""

    name = NAME

    def __init__(self, config: KnobsConfig) -> None:
        self._config = config

    async def propose(self, context: ProposalContext) -> Proposal:
        """No two alike, none equal to the parent; `empty` where its levels differ in no number."""
        rng = SeedTree(context.seed).child(NAME, context.index).random()
        parent, relatives = context.parent, [elite.candidate.text for elite in context.others]
        rate = parent.evaluation.metrics.get(RATE, 0.5)
        towards = 1 if rate > EASY else -1 if rate < HARD else 0
        made: dict[str, Candidate] = {}
        for _ in range(self._config.around if context.around else self._config.burst):
            found = varied(parent.candidate.text, relatives, rng, towards)
            if found is not None:
                text, operator = found
                made[text] = Candidate(text, (parent.candidate.id,), self.name, {"operator": operator})
        return Proposal(tuple(made.values())) if made else Proposal(waste="empty")
