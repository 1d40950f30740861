"""What a model says of its change: the sentences around its program, kept in a line for those who come later."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from itertools import takewhile

from evosyn.thinking import answer_in, without_first_thought

LONGEST = 240
_READ = 20_000
_ENDS = ("```", "~~~", ">>>>>")
_CODE = re.compile(r"\s*(?:```|~~~|<{5,}|@@|--- |\{|<\w+>|def |import |from \S+ import )|.*```\w*$")
_MARKS = re.compile(r"[*`]+|^\s*(?:#+|>+|[-+*]|\d+[.)])\s+")
_SENTENCE_END = re.compile(r"(?<=[.!?:])\s")
_POLITE = re.compile(r"(?:sure|certainly|of course|okay|ok|great|absolutely|here is|here's|let me)\b", re.IGNORECASE)


def idea_of(reply: str) -> str:
    """The prose before the first program or change in a reply (or after the last block, where none stands before), in
    one line of at most `LONGEST` characters; "" where there is none."""
    said = answer_in(reply).strip()[:_READ]
    if said.startswith("{"):
        return _shortened(_of_json(said))
    lines = said.splitlines()
    before = list(takewhile(lambda line: not _CODE.match(line), lines))
    after = list(takewhile(lambda line: not line.lstrip().startswith(_ENDS), reversed(lines)))
    return _shortened(_plain(before) or (_plain(after[::-1]) if len(after) < len(lines) else ""))


def _of_json(text: str) -> str:
    """The first text of one line in an object."""
    try:
        value = json.loads(text, strict=False)
    except (ValueError, RecursionError):
        return ""
    said = [without_first_thought(one) for one in value.values() if isinstance(one, str)]
    texts = [one for one in said if "\n" not in one and " " in one]
    return next(iter(texts), "")


def _plain(lines: Sequence[str]) -> str:
    return " ".join(" ".join(_MARKS.sub("", line) for line in lines).split())


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
    return kept if len(kept) <= LONGEST else f"{kept[: LONGEST - 4]} ..."
