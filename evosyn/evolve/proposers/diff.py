"""Asks a model for a change of the parent as SEARCH/REPLACE blocks (Novikov 2025, section 2.3)."""

from __future__ import annotations

from evosyn.evolve.proposers._model import PROMPTS, Instructions, ModelProposer, ModelProposerConfig
from evosyn.ports import ModelTools
from evosyn.templates import render


def create(tools: ModelTools, config: ModelProposerConfig) -> ModelProposer:
    asked = Instructions(render(PROMPTS, "prompts/diff.md"))
    return ModelProposer("diff", lambda _: asked, tools, config)
