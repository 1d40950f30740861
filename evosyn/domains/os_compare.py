"""How an answer is compared with what was expected, by us and never in a room: bounded, total, strict by default."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Literal

LONGEST = 64 << 10
"""Characters of an answer that are looked at; a longer one is wrong."""
Compare = Literal["exact", "string", "integer", "number", "size", "lines", "set", "yesno", "contains"]
_INTEGER = re.compile(r"[+-]?\d{1,300}")
_NUMBER = re.compile(r"[+-]?(?:\d{1,300}\.?\d{0,300}|\.\d{1,300})(?:[eE][+-]?\d{1,3})?")
_SIZE = re.compile(r"(\d{1,30})\s*([KMGTP]?)(?:i?B|Byte)?")
_POWERS = {"": 0, "K": 1, "M": 2, "G": 3, "T": 4, "P": 5}
_CLOSE = 1e-6


def same_answer(compare: Compare, expected: str, given: str) -> bool:
    """Whether an answer is the expected one. Never raises."""
    if len(given) > LONGEST or len(expected) > LONGEST:
        return False
    if compare == "exact":
        return expected == given
    wanted, said = _text(expected), _text(given)
    if compare == "string":
        return wanted == said
    if compare == "contains":
        return bool(wanted) and wanted in said
    read = _READERS[compare]
    one, other = read(wanted), read(said)
    if isinstance(one, float) and isinstance(other, float):
        return math.isclose(one, other, rel_tol=_CLOSE, abs_tol=_CLOSE)
    return one is not None and one == other


def _text(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n").strip()


def _integer(text: str) -> int | None:
    return int(text) if _INTEGER.fullmatch(text) else None


def _number(text: str) -> float | None:
    return float(text) if _NUMBER.fullmatch(text) else None


def _size(text: str) -> int | None:
    found = _SIZE.fullmatch(text)
    return None if found is None else int(found[1]) * 1024 ** _POWERS[found[2]]


def _lines(text: str) -> list[str]:
    return [line.strip() for line in text.split("\n") if line.strip()]


def _yesno(text: str) -> str | None:
    word = text.lower().rstrip(".!")
    return {"y": "yes", "n": "no", "true": "yes", "false": "no"}.get(word, word if word in ("yes", "no") else None)


_READERS: dict[str, Callable[[str], object]] = {
    "integer": _integer,
    "number": _number,
    "size": _size,
    "lines": _lines,
    "set": lambda text: frozenset(_lines(text)),
    "yesno": _yesno,
}
