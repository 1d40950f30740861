"""What a model thought, taken out of what it answered.

Templates open the tag, models forget to close it, and answers are about such tags too: a program may cut a text at
them, a testing may hold them. A tag in a fence, in quotes or in a remark of the answer is data; thoughts may hold
anything, fences and quotes that nobody closes among it. No text is parsed. Linear time.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import NamedTuple

from evosyn.chat import REPEATS, WAS_CUT, Reply
from evosyn.fences import OpenFence, ReplyLine, lines_of, opened_by
from evosyn.parsing import BOM
from evosyn.quoting import QUOTED, is_closed, plain_text
from evosyn.text import reasoning
from evosyn.text.loops import repeats_itself
from evosyn.text.reasoning import AUTO, NONE, PREFILLED, SEEN, THINK, Answer, Thought

TAG = re.compile(r"<(?P<close>/?)think(?:ing)?>|\[(?P<shut>/?)THINK\]", re.IGNORECASE)
MENTION = re.compile(
    r"""(?<=["'`])(?!(?<=```)T```\w)T(?=["'`])|T(?=\(?\.[*+]|\(?\[[\\^]|\(\?)|(?<=[*+?)])T(?=["'`/])""".replace(
        "T", r"(?:</?think(?:ing)?>|\[/?THINK\])"
    ),
    re.IGNORECASE,
)
"""A tag in quotes (but not between two fences), or in a regular expression: a program about such tags, no reasoning."""
_REST = re.compile(r"[^\S\n]*$", re.MULTILINE)
_FIRST = re.compile(r"\s*(?:<think(?:ing)?>.*?</think(?:ing)?>|\[THINK\].*?\[/THINK\])\s*", re.IGNORECASE | re.DOTALL)


def answer_in(reply: str) -> str:
    """What a reply answers, with plain line ends and blanks: what every reader of a reply begins with."""
    return plain_text(without_thinking(reply).answer)


def settled(reply: Reply, form: str) -> Reply:
    """A reply as it came, with its reasoning apart; why it cannot be used where it has no answer."""
    thought = without_thinking(reply.text, form)
    failure, _, detail = thought.fault.partition(": ")
    failure = reply.failure or failure or ("" if thought.answer.strip() else "empty")
    failure = REPEATS if failure in WAS_CUT and repeats_itself(reply.text) else failure
    reasoning = "\n".join(part for part in (reply.reasoning, thought.reasoning) if part) or None
    return replace(
        reply, text=thought.answer, failure=failure or None, reasoning=reasoning, detail=reply.detail or detail
    )


def without_thinking(text: str, form: str = AUTO) -> Thought:
    """The answer in a text that may hold reasoning, in one of `evosyn.text.reasoning.FORMS`; an `Answer` holds none.

    Whatever the form, nothing before the last mark that closes reasoning is in the answer. Tags of `think` may be data;
    what may be read in two ways is read so that no honest answer is lost:

    * An opening tag that begins a line begins reasoning up to the next closing one, or to the end. One between words is
      only mentioned, unless a closing one follows that is no data.
    * A closing tag without an opening one ends reasoning that began with the text; but where it stands between words,
      behind a fenced block, it is only mentioned.
    * In a fence of the answer tags are data. But a closing one that begins a line, and no other opened in that fence,
      ends reasoning that left the fence open; so does one anywhere in it before a line that opens a fence once more.
    * In quotes (of one line, or as in JSON) and remarks of the answer tags are data: also in a text of JSON that begins
      with reasoning, which `without_first_thought` takes out where the text is read as prose.
    """
    if isinstance(text, Answer) or form == NONE:
        return Thought(Answer(text), None)
    text = text.removeprefix(BOM)
    named, fault = reasoning.form_of(text, form)
    if fault:
        return Thought(Answer(""), text, fault)
    text = reasoning.without_role(text, named)
    if named.removesuffix(PREFILLED) != THINK:
        return reasoning.separated(text, named)
    reading = _Separation(text, prefilled=named != THINK)
    reading.take_all()
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

    def __init__(self, text: str, *, prefilled: bool) -> None:
        self._text = text
        self._tags = [tag.start() for tag in TAG.finditer(text) if MENTION.match(text, tag.start()) is None]
        # the first quote that does not end before the place that was last asked for
        self._quote = QUOTED.search(text) if self._tags else None
        self._answer = [_Piece("")]
        self._thoughts: list[str] = []
        self._since: int | None = 0 if prefilled else None  # where reasoning began that is not closed
        self._maybe = 0  # the piece with an opening tag that may be no more than mentioned, 0: none
        self._fence: OpenFence | None = None
        self._first = 0  # the first piece in it
        self._opened = 0  # tags opened in it and not closed
        self._held = 0  # the piece behind a closing tag in it that may end reasoning, 0: none

    def take_all(self) -> None:
        """Every line up to the last tag, but for those of reasoning without one."""
        at = number = 0
        while at < len(self._text):
            while number < len(self._tags) and self._tags[number] < at:
                number += 1
            more = number < len(self._tags)
            if self._since is not None:
                if not more:
                    return
                at = max(at, self._text.rfind("\n", at, self._tags[number]) + 1)
            elif not more and not self._held:
                self._keep(self._text[at:])
                return
            line = next(lines_of(self._text, at))
            self._take(line)
            at = line.after

    def _take(self, line: ReplyLine) -> None:
        at, end = line.start, line.start + len(line.text)
        for tag in TAG.finditer(self._text, at, end):
            if MENTION.match(self._text, tag.start()) is not None:
                continue
            closes = bool(tag["close"] or tag["shut"])
            if self._since is None and not self._is_quoted(tag.start()):
                self._keep(self._text[at : tag.start()])
                at = self._closing(tag) if closes else self._opening(tag)
            elif self._since is not None and closes:
                self._cut(len(self._answer))
                self._thoughts.append(self._text[self._since : tag.start()])
                self._since, at = None, tag.end()
                self._quote_from(at)
        if self._since is None:
            self._keep(self._text[at : line.after])
            self._look_for_fences(ReplyLine(self._text[at:end], at, line.after))

    def found(self) -> Thought:
        """The answer; that of a text which ends in reasoning is what stood before, and has a fault."""
        answer, fault, acts = "".join(piece.text for piece in self._answer), "", None
        if self._since is not None:
            acts = reasoning.ACTS.search(self._text, self._since)
            self._thoughts.append(self._text[self._since : acts.start() if acts else None])
            answer, fault = (
                (self._text[acts.start() :], "") if acts else (answer, reasoning.cut_after(self._thoughts[-1]))
            )
        elif not self._thoughts:
            answer = self._text
        answer = reasoning.without_marks(answer.lstrip() if self._thoughts else answer)
        return Thought(Answer(answer), reasoning.joined(self._thoughts), fault, acts is not None)

    def _keep(self, text: str) -> None:
        last = self._answer[-1]
        before, line_break, tail = text.rpartition("\n")
        said = SEEN.search(tail) is not None
        in_line = said or (last.in_line and not line_break)
        worded = last.worded + (said or SEEN.search(before) is not None)
        self._answer.append(_Piece(text, worded, in_line, last.blocks))

    def _opening(self, tag: re.Match[str]) -> int:
        """Where the text goes on that an opening tag stands in: behind the tag, if reasoning surely begins there."""
        last, number = self._answer[-1], len(self._answer)
        if self._fence is None and not last.in_line:
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
        """Make reasoning of the pieces up to `end`, but for the line that opens a fence which begins with it."""
        texts, maybe = [piece.text for piece in self._answer], self._maybe
        opening = self._first - 1 if self._fence is not None and maybe >= self._first else maybe
        said = "".join(texts[maybe:end])
        self._thoughts += ["".join(texts[:opening]), TAG.sub("", said, count=1) if maybe else said]
        self._answer, self._maybe, fence = [_Piece("")], 0, self._fence
        self._leave_fence()
        if opening < maybe:
            self._keep(texts[opening])
            self._fence, self._first = fence, len(self._answer)
        for text in texts[end:]:
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
            held = self._held - 1
            del self._answer[held]
            self._leave_fence()
            self._cut(held)
            self._fence, self._first = again, len(self._answer)

    def _leave_fence(self) -> None:
        self._fence, self._opened, self._held = None, 0, 0
