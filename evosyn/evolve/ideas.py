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
_SENTENCE_END = re.compile(r"(?<=[.!?:])\s")
_POLITE = re.compile(r"(?:sure|certainly|of course|okay|ok|great|absolutely|here is|here's|let me)\b", re.IGNORECASE)


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
    """Whole sentences from the first that says something, or as much of it as there is room for."""
    sentences = _SENTENCE_END.split(text[: 10 * LONGEST])
    while len(sentences) > 1 and _POLITE.match(sentences[0]):
        sentences.pop(0)
    kept = ""
    for sentence in sentences:
        if kept and len(kept) + len(sentence) >= LONGEST:
            break
        kept = f"{kept} {sentence}".strip()
    return kept if len(kept) <= LONGEST else kept[:LONGEST].rpartition(" ")[0] + " ..."
