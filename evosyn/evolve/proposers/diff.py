"""Asks a model for a change of the parent as SEARCH/REPLACE blocks (Novikov 2025, section 2.3)."""

from __future__ import annotations

from evosyn.codeblocks import Extracted, apply_edits, extract_edits, extract_program
from evosyn.evolve.proposers._model import PROMPTS, ModelProposer, ModelProposerConfig, PromptTask
from evosyn.ports import ProposalContext, Teacher
from evosyn.templates import render


class DiffProposer(ModelProposer):
    """A model edits the parent; a reply that gives a whole program instead is taken as that."""

    kind = "diff"

    def task(self, context: ProposalContext) -> PromptTask:  # noqa: ARG002
        return PromptTask(render(PROMPTS, "prompts/diff.md"))

    def read(self, reply: str, context: ProposalContext) -> Extracted:
        parent = context.parent.candidate.text
        edits = extract_edits(reply)
        return apply_edits(parent, edits) if edits else extract_program(reply, parent)


def create(*, teacher: Teacher, config: ModelProposerConfig | None = None) -> DiffProposer:
    return DiffProposer(teacher, config)
