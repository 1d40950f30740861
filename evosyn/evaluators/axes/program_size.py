"""How long the program is: the base-2 logarithm of its code tokens, comments and docstrings left out.

DESIGN.md section 5, "MAP-Elites".
"""

from __future__ import annotations

import math
import re
from functools import lru_cache

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
    parts = [_tokens_of(part) for part in text.split("\n\n\n")]
    return _count(NOT_CODE.sub("", text)) if None in parts else sum(part or 0 for part in parts)


@lru_cache(maxsize=1024)
def _tokens_of(part: str) -> int | None:
    """The same of what blank lines set apart, most of which many programs share; None where a text in quotes may reach
    beyond it."""
    code = NOT_CODE.sub("", part)
    return None if '"""' in code or "'''" in code else _count(code)


def _count(code: str) -> int:
    return len(TOKEN.findall(code))
