"""Asks a model to join two parents: the parent, and the inspiration that wins where the parent loses."""

from __future__ import annotations

from evosyn.evolve.proposers._model import PROMPTS, Instructions, ModelProposer, ModelProposerConfig
from evosyn.ports import ModelTools, ProposalContext
from evosyn.records import Elite
from evosyn.templates import render


def _instructions(context: ProposalContext) -> Instructions:
    """With a single parent at hand it is to be rewritten."""
    other = _complement(context)
    if other is None:
        return Instructions(render(PROMPTS, "prompts/rewrite.md"), kind="rewrite")
    return Instructions(render(PROMPTS, "prompts/crossover.md", other=context.name_of(other)), (other,))


def _complement(context: ProposalContext) -> Elite | None:
    """The elite at hand that would add most to the parent, seed by seed; the earlier one where several add the same."""
    mine = context.parent.evaluation.per_seed

    def gain(elite: Elite) -> float:
        theirs = elite.evaluation.per_seed
        return sum(max(0.0, b - a) for a, b in zip(mine, theirs, strict=False))

    return max(context.others, key=gain, default=None)


def create(tools: ModelTools, config: ModelProposerConfig) -> ModelProposer:
    return ModelProposer("crossover", _instructions, tools, config)
