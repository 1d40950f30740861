"""How long the program is: the base-2 logarithm of its code tokens, comments and docstrings left out.

DESIGN.md section 5, "MAP-Elites".
"""

from __future__ import annotations

import math
import re

from evosyn.evaluators.behaviour import Behaviour, BehaviourAxis
from evosyn.ports import Axis, AxisTools, PluginConfig

NOT_CODE = re.compile(r"\"\"\".*?\"\"\"|'''.*?'''|#[^\n]*", re.DOTALL)
TOKEN = re.compile(r"\w+|[^\w\s]")


class ProgramSize:
    """From 8 to 2,048 tokens."""

    axis = Axis("program-size", 3.0, 11.0, 8)

    def measure(self, behaviour: Behaviour) -> float:
        return math.log2(1 + code_tokens(behaviour.text))


def create(tools: AxisTools, config: PluginConfig) -> BehaviourAxis:  # noqa: ARG001
    return ProgramSize()


def code_tokens(text: str) -> int:
    """Words, numbers and signs of a program."""
    return len(TOKEN.findall(NOT_CODE.sub("", text)))
