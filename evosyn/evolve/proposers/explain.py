"""Asks a model to explain first where the parent goes wrong, and then to write the text that follows from that."""

from __future__ import annotations

from evosyn.evolve.proposers._model import PROMPTS, Instructions, ModelProposer, ModelProposerConfig
from evosyn.ports import ModelTools
from evosyn.templates import render


def create(tools: ModelTools, config: ModelProposerConfig) -> ModelProposer:
    asked = Instructions(render(PROMPTS, "prompts/explain.md", question=tools.genome.question.strip()))
    return ModelProposer("explain", lambda _: asked, tools, config)
