"""What a model thought, taken out of what it answered.

Templates open the tag, models forget to close it, and answers are about such tags too: a program may cut a text at
them, a testing may hold them. A tag in a fence, in quotes or in a remark of the answer is data; thoughts may hold
anything, fences and quotes that nobody closes among it. No text is parsed. Linear time.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from evosyn.fences import OpenFence, ReplyLine, lines_of, opened_by
from evosyn.parsing import BOM
from evosyn.quoting import QUOTED, is_closed, plain_text

_TAG = r"(?:<(?P<close>/?)(?:think|thinking)>|\[(?P<shut>/?)THINK\])"
TAG = re.compile(_TAG, re.IGNORECASE)
MENTION = re.compile(
    r"""(?<=["'`])T(?=["'`])|T(?=\(?\.[*+]|\(?\[[\\^]|\(\?)|(?<=[*+?)])T(?=["'`/])""".replace(
        "T", r"(?:</?think(?:ing)?>|\[/?THINK\])"
    ),
    re.IGNORECASE,
)
"""A tag in quotes, or in a regular expression: a program about such tags, and no reasoning."""
_REST = re.compile(r"[^\S\n]*$", re.MULTILINE)
_FIRST = re.compile(r"\s*(?:<think(?:ing)?>.*?</think(?:ing)?>|\[THINK\].*?\[/THINK\])\s*", re.IGNORECASE | re.DOTALL)


class Thought(NamedTuple):
    """An answer, and the reasoning that stood in the same text; None where there was none."""

    answer: str
    reasoning: str | None


def answer_in(reply: str) -> str:
    """What a reply answers, with plain line ends and blanks: what every reader of a reply begins with."""
    return plain_text(without_thinking(reply.removeprefix(BOM)).answer)


def without_thinking(text: str) -> Thought:
    """The answer in a text that may hold reasoning in tags.

    What may be read in two ways is read so that no honest answer is lost:

    * An opening tag that begins the text, or stands alone on its line, begins reasoning up to the next closing one, or
      to the end. One between words is only mentioned, unless a closing one follows that is no data.
    * A closing tag without an opening one ends reasoning that began with the text; but where it stands between words,
      behind a fenced block, it is only mentioned.
    * In a fence of the answer tags are data. But a closing one that begins a line, and no other opened in that fence,
      ends reasoning that left the fence open; so does one anywhere in it before a line that opens a fence once more.
    * In quotes (of one line, or as in JSON) and remarks of the answer tags are data: also in a text of JSON that begins
      with reasoning, which `without_first_thought` takes out where the text is read as prose.
    """
    if TAG.search(text) is None:
        return Thought(text, None)
    reading = _Separation(text)
    for line in lines_of(text):
        reading.take(line)
    return reading.found()


def without_first_thought(text: str) -> str:
    """A text of a JSON object without the reasoning that it begins with: models think there where they are held to such
    objects."""
    found = _FIRST.match(text)
    return text[found.end() :] if found else text


class _Piece(NamedTuple):
    """A piece of the answer, and of all up to its end: pieces with words, whether the last line has words, and fenced
    blocks that closed."""

    text: str
    worded: int = 0
    in_line: bool = False
    blocks: int = 0


class _Separation:
    """A text line by line: what of it is answer, and what reasoning."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._mentions = {found.start() for found in MENTION.finditer(text)}
        self._quote = QUOTED.search(text)  # the first that does not end before the place that was last asked for
        self._answer = [_Piece("")]
        self._thoughts: list[str] = []
        self._since: int | None = None  # where reasoning began that is not closed
        self._maybe = 0  # the piece with an opening tag that may be no more than mentioned, 0: none
        self._fence: OpenFence | None = None
        self._first = 0  # the first piece in it
        self._opened = 0  # tags opened in it and not closed
        self._held = 0  # the piece behind a closing tag in it that may end reasoning, 0: none

    def take(self, line: ReplyLine) -> None:
        at, end = line.start, line.start + len(line.text)
        for tag in TAG.finditer(self._text, at, end):
            if tag.start() in self._mentions:
                continue
            closes = bool(tag["close"] or tag["shut"])
            if self._since is None and not self._is_quoted(tag.start()):
                self._keep(self._text[at : tag.start()])
                at = self._closing(tag) if closes else self._opening(tag)
            elif self._since is not None and closes:
                self._thoughts.append(self._text[self._since : tag.start()])
                self._since, at = None, tag.end()
                self._quote_from(at)
        if self._since is None:
            self._keep(self._text[at : line.after])
            self._look_for_fences(ReplyLine(self._text[at:end], at, line.after))

    def found(self) -> Thought:
        if self._since is not None:
            self._thoughts.append(self._text[self._since :])
        if not self._thoughts:
            return Thought(self._text, None)
        reasoning = "\n".join(part.strip() for part in self._thoughts if part.strip())
        return Thought("".join(piece.text for piece in self._answer).lstrip(), reasoning)

    def _keep(self, text: str) -> None:
        last = self._answer[-1]
        before, line_break, tail = text.rpartition("\n")
        in_line = bool(tail.strip()) or (last.in_line and not line_break)
        worded = last.worded + bool(tail.strip() or before.strip())
        self._answer.append(_Piece(text, worded, in_line, last.blocks))

    def _opening(self, tag: re.Match[str]) -> int:
        """Where the text goes on that an opening tag stands in: behind the tag, if reasoning surely begins there."""
        last, number = self._answer[-1], len(self._answer)
        if self._fence is None and (not last.worded or (not last.in_line and self._ends_line(tag))):
            self._since = tag.end()
            return tag.end()
        if self._fence is not None and last.worded > self._answer[self._first - 1].worded:
            self._opened += 1
        elif self._maybe != number - 1 or TAG.sub("", last.text, count=1).strip():
            self._maybe = number
        return tag.start()

    def _closing(self, tag: re.Match[str]) -> int:
        """Where the text goes on that a closing tag stands in: behind the tag, if it ends reasoning or may do so."""
        last, number = self._answer[-1], len(self._answer)
        if self._fence is None:
            between = last.in_line and not self._ends_line(tag)
            ends = not between or last.blocks == self._answer[max(self._maybe - 1, 0)].blocks
        else:
            ends = not self._opened and (not last.in_line or self._maybe >= self._first)
        if ends:
            self._cut(number)
            self._quote_from(tag.end())
            return tag.end()
        if self._fence is None or self._opened:
            self._opened = max(self._opened - 1, 0)
            return tag.start()
        self._keep(tag[0])
        self._held = number + 1
        return tag.end()

    def _is_quoted(self, place: int) -> bool:
        while self._quote is not None and self._quote.end() <= place:
            self._quote = QUOTED.search(self._text, self._quote.end())
        return self._quote is not None and self._quote.start() < place and is_closed(self._quote)

    def _quote_from(self, place: int) -> None:
        """Forget the quotes in what was reasoning: it may leave some open."""
        if self._quote is not None and self._quote.start() < place:
            self._quote = QUOTED.search(self._text, place)

    def _ends_line(self, tag: re.Match[str]) -> bool:
        return _REST.match(self._text, tag.end()) is not None

    def _cut(self, end: int) -> None:
        """Make reasoning of the pieces up to `end`, from the one with which it may have begun."""
        said = "".join(piece.text for piece in self._answer[self._maybe : end])
        left = [piece.text for piece in self._answer[end:]]
        self._thoughts.append(TAG.sub("", said, count=1) if self._maybe else said)
        del self._answer[max(self._maybe, 1) :]
        if self._maybe < self._first:  # the fence is one of the reasoning
            self._leave_fence()
        self._maybe = 0
        for text in left:
            self._keep(text)

    def _look_for_fences(self, line: ReplyLine) -> None:
        fence = self._fence
        if fence is None:
            self._fence, self._first = opened_by(line), len(self._answer)
        elif fence.closed_by(line) is not None:
            last = self._answer[-1]
            self._answer[-1] = last._replace(blocks=last.blocks + 1)
            self._maybe = self._maybe if self._maybe < self._first else 0
            self._leave_fence()
        elif self._held and fence.reaches(line) and (again := opened_by(line)) is not None and again.said:
            del self._answer[self._held - 1]
            self._cut(self._held - 1)
            self._fence, self._first = again, len(self._answer)

    def _leave_fence(self) -> None:
        self._fence, self._opened, self._held = None, 0, 0
