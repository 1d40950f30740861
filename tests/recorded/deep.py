"""A teacher whose every reply holds a value that is nested as deeply as its argument says, wherever one may stand."""

from __future__ import annotations

import json
from typing import Annotated

from simulation.world_author.grammar import office

from evosyn.chat import Reply, Request
from evosyn.ports import Argument, PluginConfig, TeacherTools
from evosyn.randomness import SeedTree
from evosyn.records import Json, content_id
from evosyn.synthesis.worlds.asking import TABLES, TOOLS

PLACE = "where it stands"


class DeepConfig(PluginConfig):
    """
    Attributes:
        levels: lists inside each other.
    """

    levels: Annotated[int, Argument("LEVELS")]


class DeepTeacher:
    """Implements `ports.Teacher`."""

    name, simulated = "deep", True

    def __init__(self, levels: int) -> None:
        self._levels = levels

    async def complete(self, request: Request) -> Reply:
        key = content_id("r_", [request.purpose, request.sample, request.messages[-1].content])
        return Reply(key, f"```json\n{self._said(request)}\n```", self.name)

    async def aclose(self) -> None:
        return None

    def _said(self, request: Request) -> str:
        return json.dumps(self._value(request)).replace(f'"{PLACE}"', "[" * self._levels + "]" * self._levels)

    def _value(self, request: Request) -> Json:
        if request.purpose in (TOOLS, TABLES):
            made = office(SeedTree(0), "bike_rental")
            uses = {**made.tables["uses"], "note": PLACE}
            return made.tools if request.purpose == TOOLS else {**made.tables, "uses": uses}
        if request.purpose == "problem":
            words = f"Question {request.sample}: what do {request.sample} pears and two apples come to, taken together?"
            return {"title": f"Pears {request.sample}", "statement": words, "meta": {"deep": PLACE}}
        return {"answer": "3", "cases": [{"input": [PLACE], "output": PLACE}]}


def create(tools: TeacherTools, config: DeepConfig) -> DeepTeacher:  # noqa: ARG001
    """The teacher, ready to answer."""
    return DeepTeacher(config.levels)
