"""What a model says of its change: the sentences around its program, kept in a line for those who come later."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import takewhile

from evosyn.thinking import without_thinking

LONGEST = 240
_READ = 20_000
_CODE = re.compile(r"\s*(?:```|~~~|<{5,}|@@|--- |\{|<\w+>|def |import |from \S+ import )|.*```\w*$")
_MARKS = re.compile(r"[#*_`>|]+|^\s*(?:[-+]|\d+[.)])\s+")
_SENTENCE_END = re.compile(r"(?<=[.!?])\s")


def idea_of(reply: str) -> str:
    """The prose before the first program or change in a reply (or after the last block, where none stands before), in
    one line of at most `LONGEST` characters; "" where there is none."""
    lines = without_thinking(reply).answer[:_READ].splitlines()
    before = takewhile(lambda line: not _CODE.match(line), lines)
    after = takewhile(lambda line: not line.lstrip().startswith(("```", "~~~", ">>>>>")), reversed(lines))
    return _shortened(_plain(list(before)) or _plain(list(after)[::-1]))


def _plain(lines: Sequence[str]) -> str:
    return " ".join(" ".join(_MARKS.sub(" ", line) for line in lines).split())


def _shortened(text: str) -> str:
    if len(text) <= LONGEST:
        return text
    whole = " ".join(_SENTENCE_END.split(text[:LONGEST])[:-1])
    return whole or text[:LONGEST].rpartition(" ")[0] + " ..."
