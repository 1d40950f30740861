"""Log-probabilities of the tokens of a text: which pieces of it are how likely.

Servers differ in what they report: tokens of reasoning and of marks that are not in the text, letters in two tokens.
What does not add up to the text is unknown.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

Logprobs: TypeAlias = tuple[tuple[int, float], ...]
"""For each token of a text its number of characters and its log-probability."""


class Span(NamedTuple):
    """A piece of a text, as places of characters."""

    start: int
    end: int


def aligned(tokens: Iterable[tuple[bytes, float]], text: str) -> Logprobs | None:
    """The tokens of a text; what was generated before and behind it does not count.

    Args:
        tokens: UTF-8, which may be parts of a character: which is counted where it begins.

    Returns:
        None where the tokens do not hold the text, or one has no log-probability.
    """
    known = list(tokens)
    whole = b"".join(one for one, _ in known)
    at = whole.rfind(text.encode("utf-8", "surrogatepass"))
    if not text or at < 0 or not all(math.isfinite(value) for _, value in known):
        return None
    counts = [_characters(one) for one, _ in known]
    pieces = tuple((count, round(value, 4)) for count, (_, value) in zip(counts, known, strict=True))
    start = _characters(whole[:at])
    return _between(pieces, Span(start, start + len(text)))


def piece_of(logprobs: Logprobs | None, text: str, piece: str) -> Logprobs | None:
    """The tokens of a piece of a text, where it stands there last; None where it does not."""
    at = text.rfind(piece)
    return None if logprobs is None or not piece or at < 0 else _between(logprobs, Span(at, at + len(piece)))


def values_in(logprobs: Logprobs, span: Span) -> list[float]:
    """The log-probabilities of the tokens that are in a piece, if only by a part."""
    return [value for _, value in _inside(logprobs, span)]


def mean(values: Sequence[float]) -> float | None:
    """With four decimals; None of none."""
    return round(sum(values) / len(values), 4) if values else None


def means(rows: Sequence[NDArray[np.float64]]) -> NDArray[np.float64]:
    """Place by place the mean of what is known in rows of the same length; NaN is unknown."""
    stacked = np.stack(rows)
    known = ~np.isnan(stacked)
    count = known.sum(axis=0)
    total = np.where(known, stacked, 0.0).sum(axis=0)
    found = np.full(len(count), np.nan)
    found[count > 0] = total[count > 0] / count[count > 0]
    return found


def _between(logprobs: Logprobs, span: Span) -> Logprobs | None:
    found = tuple(_inside(logprobs, span))
    return found if sum(count for count, _ in found) == span.end - span.start else None


def _inside(logprobs: Logprobs, span: Span) -> Iterator[tuple[int, float]]:
    """The tokens of a piece, each with the characters that are in it; one without any goes with the one before."""
    end = 0
    for count, value in logprobs:
        start, end = end, end + count
        inside = min(end, span.end) - max(start, span.start)
        if inside > 0 or (count == 0 and span.start < end <= span.end):
            yield max(inside, 0), value


def _characters(part: bytes) -> int:
    """Characters that begin in a part of a UTF-8 text."""
    return sum(byte & 0xC0 != 0x80 for byte in part)
