"""Asks a model to explain first where the parent goes wrong, and then to write the program that follows from that."""

from __future__ import annotations

from evosyn.evolve.proposers._model import ModelProposerConfig
from evosyn.evolve.proposers.rewrite import RewriteProposer
from evosyn.ports import Teacher


class ExplainProposer(RewriteProposer):
    """Explain, then rewrite."""

    kind = "explain"


def create(*, teacher: Teacher, config: ModelProposerConfig | None = None) -> ExplainProposer:
    return ExplainProposer(teacher, config)
