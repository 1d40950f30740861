"""What a model thought, taken out of what it answered.

Templates open the tag, models forget to close it, some think inside a field of their JSON. A tag that is only
mentioned, as in a program about such tags, stays. It reads no fences and no JSON. Linear time.
"""

from __future__ import annotations

import re
from typing import NamedTuple

_TAG = r"(?:<(?P<close>/?)(?:think|thinking)>|\[(?P<shut>/?)THINK\])"
TAG = re.compile(_TAG, re.IGNORECASE)
MENTION = re.compile(
    r"""(?<=["'`])T(?=["'`])|T(?=\(?\.[*+]|\(?\[[\\^]|\(\?)|(?<=[*+?)])T(?=["'`/])""".replace(
        "T", r"(?:</?think(?:ing)?>|\[/?THINK\])"
    ),
    re.IGNORECASE,
)
"""A tag in quotes, or in a regular expression: a program about such tags, and no reasoning."""


class Thought(NamedTuple):
    """An answer, and the reasoning that stood in the same text; None where there was none."""

    answer: str
    reasoning: str | None


def without_thinking(text: str) -> Thought:
    """The answer in a text that may hold reasoning in tags.

    A closing tag without an opening one ends reasoning that began with the text; an opening one without a closing one
    begins reasoning that ends with it.
    """
    answer: list[str] = []
    thoughts: list[str] = []
    at, inside = 0, False
    mentions = {found.start() for found in MENTION.finditer(text)}
    for tag in TAG.finditer(text):
        if tag.start() in mentions:
            continue
        closes = bool(tag["close"] or tag["shut"])
        part = text[at : tag.start()]
        if closes and not inside:
            thoughts += ["".join(answer), part]
            answer = []
        else:
            (thoughts if inside else answer).append(part)
        at, inside = tag.end(), not closes
    if at == 0:
        return Thought(text, None)
    (thoughts if inside else answer).append(text[at:])
    reasoning = "\n".join(part.strip() for part in thoughts if part.strip())
    return Thought("".join(answer).lstrip(), reasoning)
