"""Fenced blocks in a model's reply, line by line: one look at each line, whatever the text is.

Regular expressions over whole replies are not used: on hostile text they take quadratic time and more, which nothing
can interrupt. What a block is good for is not said here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

_TICKS = "```"
_LANGUAGE = re.compile(r"[\w+.-]*")
_PLAIN_LANGUAGE = re.compile(r"[\w+-]*")
BLANKS = " \t"


class Fence(NamedTuple):
    """A fenced block: its language in lower case, "" if none is given, and its text."""

    language: str
    text: str


class ReplyLine(NamedTuple):
    """A line: its text without the line break, where it begins, and where the next one begins."""

    text: str
    start: int
    after: int


def lines_of(text: str) -> Iterator[ReplyLine]:
    start = 0
    while start <= len(text):
        end = text.find("\n", start)
        end = len(text) if end < 0 else end
        yield ReplyLine(text[start:end], start, end + 1)
        start = end + 1


def markdown_fences(text: str) -> list[Fence]:
    """Every fenced block in order, of backticks or tildes, indented or not; an unclosed last one counts."""
    found, opened, mark = [], None, ""
    for line in lines_of(text):
        bare = line.text.strip(BLANKS)
        if opened is not None and bare == mark:
            found.append(Fence(_language(opened.text.lstrip(BLANKS)[len(mark) :]), text[opened.after : line.start]))
            opened = None
        elif opened is None and line.after <= len(text):
            mark = _marker(bare)
            opened = line if mark else None
    if opened is not None:
        found.append(Fence(_language(opened.text.lstrip(BLANKS)[len(mark) :]), text[opened.after :]))
    return found


def plain_fences(text: str) -> tuple[list[Fence], str | None]:
    """The blocks between lines that begin with three backticks, all of them closed; and the text after a further line
    of three backticks that opens Python (or says nothing) and is never closed, None if there is none."""
    found: list[Fence] = []
    opened: ReplyLine | None = None
    rest: int | None = None
    for line in lines_of(text):
        if not line.text.startswith(_TICKS):
            continue
        said = line.text[len(_TICKS) :].strip(BLANKS)
        if opened is not None and not said:
            found.append(Fence(_language(opened.text[len(_TICKS) :], _PLAIN_LANGUAGE), text[opened.after : line.start]))
            opened, rest = None, None
        elif line.after <= len(text):
            opened = opened or line
            if rest is None and said in ("", "python", "py"):
                rest = line.after
    return found, None if rest is None else text[rest:]


def is_one_fence(text: str) -> bool:
    """Whether the text holds exactly one block of three backticks, closed and not empty, and no others."""
    if text.count(_TICKS) != 2:
        return False
    places = [(place, line.text) for place, line in enumerate(lines_of(text)) if line.text.startswith(_TICKS)]
    if len(places) != 2:
        return False
    (first, opening), (last, closing) = places
    language = opening[len(_TICKS) :].strip(BLANKS)
    return bool(last > first + 1 and _LANGUAGE.fullmatch(language) and not closing[len(_TICKS) :].strip(BLANKS))


def _marker(bare: str) -> str:
    """The backticks or tildes, three or more, that a line begins with."""
    for sign in "`~":
        count = len(bare) - len(bare.lstrip(sign))
        if count >= len(_TICKS):
            return sign * count
    return ""


def _language(said: str, form: re.Pattern[str] = _LANGUAGE) -> str:
    match = form.match(said.lstrip(BLANKS))
    return match[0].lower() if match else ""
