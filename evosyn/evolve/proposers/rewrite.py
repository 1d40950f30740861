"""Asks a model for a whole new program, shown the parent and its evidence; `explain` asks for the reasons first."""

from __future__ import annotations

from evosyn.codeblocks import Extracted, extract_program
from evosyn.evolve.proposers._model import PROMPTS, ModelProposer, ModelProposerConfig, PromptTask
from evosyn.ports import ProposalContext, Teacher
from evosyn.templates import render


class RewriteProposer(ModelProposer):
    """A model rewrites the parent."""

    kind = "rewrite"

    def task(self, context: ProposalContext) -> PromptTask:  # noqa: ARG002
        return PromptTask(render(PROMPTS, f"prompts/{self.kind}.md"))

    def read(self, reply: str, context: ProposalContext) -> Extracted:
        return extract_program(reply, context.parent.candidate.text)


def create(*, teacher: Teacher, config: ModelProposerConfig | None = None) -> RewriteProposer:
    return RewriteProposer(teacher, config)
