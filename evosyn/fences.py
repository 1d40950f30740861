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
_MARGIN = re.compile(r"[ \t]*(?:(?:[-*+]|\d{1,9}[.)])[ \t]+)*")
_SIGN = re.compile(r"[^ \t]")
_DEEPER = 3
"""Columns that a closing fence may stand to the right of its opening (CommonMark 0.31, 4.5)."""
BLANKS = " \t\r"
"""Of a line, the end of which may be that of Windows."""


class Fence(NamedTuple):
    """A fenced block: its language in lower case, "" if none is given, its text, where that begins in the reply, and
    where the reply goes on after it; 0 for a text that stands in no fence."""

    language: str
    text: str
    start: int
    after: int = 0


class ReplyLine(NamedTuple):
    """A line: its text without the line break, where it begins, and where the next one begins."""

    text: str
    start: int
    after: int


class OpenFence(NamedTuple):
    """A line that opens a block: the backticks or tildes, what stands after them, and the line."""

    mark: str
    said: str
    line: ReplyLine

    def closed_by(self, line: ReplyLine) -> int | None:
        """Where in the text of a line the mark stands that closes the block; None where the block goes on.

        A mark that begins a line closes, whatever follows (`</s>`, ` done.`), but for letters at once: that is the
        language of a further block.
        """
        at = len(line.text) - len(line.text.lstrip(BLANKS))
        behind = line.text[at + len(self.mark) : at + len(self.mark) + 1]
        if line.text.startswith(self.mark, at) and behind != self.mark[0]:
            return None if behind.isalpha() or not self.reaches(line) else at
        bare = line.text.rstrip(BLANKS)
        ends = bare.endswith(self.mark) and bare.count(self.mark[0]) == len(self.mark)
        return len(bare) - len(self.mark) if ends else None

    def reaches(self, line: ReplyLine) -> bool:
        """Whether a mark in a line is no further to the right than one that closes."""
        return _columns(line) <= _columns(self.line) + _DEEPER


def opened_by(line: ReplyLine) -> OpenFence | None:
    """The block that a line opens, if it stands in none."""
    mark, said = _opening(line.text.strip(BLANKS))
    return OpenFence(mark, said, line) if mark else None


def lines_of(text: str, start: int = 0) -> Iterator[ReplyLine]:
    while start <= len(text):
        end = text.find("\n", start)
        end = len(text) if end < 0 else end
        yield ReplyLine(text[start:end], start, end + 1)
        start = end + 1


def markdown_fences(text: str) -> list[Fence]:
    """Every fenced block in order, of backticks or tildes; an unclosed last one counts.

    A fence may be indented (in a list, say): its lines are then moved to the left as far as it stands to the right. It
    may open at the end of a line of words (`Here it is: ```python`) and close at the end of its last line. A mark
    further to the right, as in a docstring, closes nothing. What follows the closing mark on its line is text.
    """
    found: list[Fence] = []
    opened: OpenFence | None = None
    for line in lines_of(text):
        if opened is not None and (closed := opened.closed_by(line)) is not None:
            last, rest = line.text[:closed].rstrip(BLANKS), line.text[closed + len(opened.mark) :]
            after = line.after if not rest.strip(BLANKS) else line.start + closed + len(opened.mark)
            found.append(_fence(opened, text[opened.line.after : line.start] + last)._replace(after=after))
            opened = None
        elif opened is None and line.after <= len(text):
            opened = opened_by(line)
    if opened is not None:
        found.append(_fence(opened, text[opened.line.after :])._replace(after=len(text)))
    return found


def without_fences(text: str) -> str:
    """The text with backticks for all that stands in fenced blocks, and for their marks: places and lines stay."""
    parts, done = [], 0
    for fence in markdown_fences(text):
        begin = text.rfind("\n", 0, fence.start - 1) + 1
        parts += [text[done:begin], re.sub(r"[^\n]", "`", text[begin : fence.after])]
        done = fence.after
    return "".join([*parts, text[done:]])


def _columns(line: ReplyLine) -> int:
    return len(_margin(line).expandtabs(4))


def _margin(line: ReplyLine) -> str:
    """The blanks before what a line says, with one for each sign of a mark of a list."""
    match = _MARGIN.match(line.text)
    return _SIGN.sub(" ", match[0]) if match else ""


def _fence(opened: OpenFence, inside: str) -> Fence:
    indent = _margin(opened.line)
    lines = inside.split("\n")
    if indent and all(line.startswith(indent) or not line.strip(BLANKS) for line in lines):
        inside = "\n".join([line.removeprefix(indent) for line in lines])
    match = _LANGUAGE.match(opened.said.lstrip(BLANKS))
    return Fence(match[0].lower() if match else "", inside, opened.line.after)


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


def _opening(bare: str) -> tuple[str, str]:
    """The backticks or tildes, three or more, that open a block in this line, and what stands after them; or "" """
    for sign in "`~":
        count = len(bare) - len(bare.lstrip(sign))
        if count >= len(_TICKS) and not (sign == "`" and sign in bare[count:]):
            return sign * count, bare[count:]
    words, ticks, said = bare.rpartition(_TICKS)
    opens = ticks and "`" not in words and _LANGUAGE.fullmatch(said) and (said or words.rstrip(BLANKS).endswith(":"))
    return (_TICKS, said) if opens else ("", "")
