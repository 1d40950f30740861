"""BLEU of one sentence against another: how much of its surface stands in the other. Papineni 2002; no stemming."""

from __future__ import annotations

import math
import re
from collections import Counter

LONGEST_GRAM = 4
_TOKEN = re.compile(r"\w+|[^\w\s]")


def bleu(text: str, other: str) -> float:
    """From 0 to 1: 1 for equal texts of four tokens and more. One is added to the counts of all but single tokens, so
    that short texts have a score (Lin 2004)."""
    given, wanted = _TOKEN.findall(text.lower()), _TOKEN.findall(other.lower())
    if not given or not wanted:
        return 0.0
    logs = 0.0
    for size in range(1, LONGEST_GRAM + 1):
        mine, theirs = _grams(given, size), _grams(wanted, size)
        more = size > 1
        common = (mine & theirs).total() + more
        if not common:
            return 0.0
        logs += math.log(common / (mine.total() + more)) / LONGEST_GRAM
    return math.exp(logs + min(0.0, 1 - len(wanted) / len(given)))


def _grams(tokens: list[str], size: int) -> Counter[tuple[str, ...]]:
    return Counter(tuple(tokens[at : at + size]) for at in range(len(tokens) - size + 1))
