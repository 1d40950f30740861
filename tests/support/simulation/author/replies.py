"""The form of replies: a fence with a bit of prose around it, as chat models write."""

from __future__ import annotations

import random
from typing import NamedTuple

_BEFORE = (
    "",
    "",
    "Here is a solution:\n\n",
    "Sure! Here's my implementation.\n\n",
    "Let me think about this step by step. The statement tells us exactly what to do, so we follow it.\n\n",
    "The idea is to follow the description directly.\n\n",
)
_BEFORE_CASES = (
    "",
    "",
    "Here are the test cases:\n\n",
    "I cover normal inputs and a few edge cases.\n\n",
    "The following tests check the described behaviour.\n\n",
)
_AFTER = (
    "",
    "",
    "",
    "\n\nThis runs in linear time in most cases.",
    "\n\nLet me know if you need anything else!",
    "\n\nThe code handles the edge cases mentioned above.",
)
REFUSALS = (
    "I would first need to understand the constraints better. Could you tell me how large the input can be?",
    "The approach is simple: read the input, keep track of what was seen, and output the answer at the end.",
    "To solve this problem one iterates over the input and applies the rules of the statement one after another.",
)


class DrawnReply(NamedTuple):
    """The text of a reply, and what the teacher meant it to be: for calibration, it never leaves in a reply."""

    text: str
    truth: str
    author: str


def solution_text(source: str, rng: random.Random) -> str:
    """A reply that holds a program."""
    return f"{rng.choice(_BEFORE)}```python\n{source.rstrip()}\n```{rng.choice(_AFTER)}"


def cases_text(body: str, language: str, rng: random.Random) -> str:
    """A reply that holds a testing, `language` being `json` or `python`."""
    return f"{rng.choice(_BEFORE_CASES)}```{language}\n{body.rstrip()}\n```{rng.choice(_AFTER[:4])}"
