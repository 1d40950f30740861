"""Proposes programs that were made elsewhere, in order: how another engine's programs enter our journal and archive."""

from __future__ import annotations

from collections.abc import Sequence

from evosyn.ports import Proposal, ProposalContext
from evosyn.records import Candidate


class RecordedProposer:
    """Implements `ports.Proposer`: proposal number i is program number i.

    Args:
        name: who made them.
        programs: text and the text it was made from, if known.
    """

    def __init__(self, name: str, programs: Sequence[tuple[str, str | None]]) -> None:
        self.name, self._programs = name, programs

    async def propose(self, context: ProposalContext) -> Proposal:
        """The program of this number; waste where there is none."""
        if context.index >= len(self._programs):
            return Proposal(waste="no-more-programs")
        text, parent = self._programs[context.index]
        parents = () if parent is None else (Candidate(parent).id,)
        return Proposal((Candidate(text, parents, self.name),), replies=(f"{self.name}-{context.index}",))
