"""Asks a model for a whole new text, shown the parent and its evidence."""

from __future__ import annotations

from evosyn.evolve.proposers._model import PROMPTS, Instructions, ModelProposer, ModelProposerConfig
from evosyn.ports import ModelTools
from evosyn.templates import render


def create(tools: ModelTools, config: ModelProposerConfig) -> ModelProposer:
    asked = Instructions(render(PROMPTS, "prompts/rewrite.md"))
    return ModelProposer("rewrite", lambda _: asked, tools, config)
