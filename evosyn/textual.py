"""How alike texts are: the cosine of their log counts of character 4-grams, what all of them begin with left out; and
of statements the share of the runs of words that both have (Jaccard 1901, Broder 1997).

Nothing is parsed or executed, so it serves texts of every domain. Counts are hashed into a fixed number of buckets, so
that memory does not grow with the texts. Damashek 1995 (n-gram cosines for any language).
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

GRAM = 4
"""Characters."""
BUCKETS = 8192
LONGEST = 20_000
"""Characters that are looked at."""
DECIMALS = 4
"""As similarities are stored, so that what was computed equals what is read."""
_WORD = re.compile(r"\w+|!=|[<>=+*%^]+")


def similarity(texts: Sequence[str]) -> NDArray[np.float64]:
    """Similarities of K texts from 0 to 1, shape (K, K); 1 for equal texts."""
    numbers: dict[str, int] = {}
    at_K = np.array([numbers.setdefault(text, len(numbers)) for text in texts], dtype=np.int64)
    distinct = list(numbers)
    begun = _begun_alike(min(distinct), max(distinct)) if len(distinct) > 1 else 0
    vectors = unit_vectors([text[begun:] for text in distinct])
    alike = np.clip((vectors @ vectors.T).astype(np.float64), 0.0, 1.0).round(DECIMALS)
    np.fill_diagonal(alike, 1.0)
    return np.asarray(alike[np.ix_(at_K, at_K)])


def unit_vectors(texts: Sequence[str]) -> NDArray[np.float32]:
    """Counts of each text, nothing left out, as unit vectors, shape (K, BUCKETS); 0 for a text without a gram."""
    counts = np.zeros((len(texts), BUCKETS), dtype=np.float32)
    for row, text in enumerate(texts):
        counts[row] = np.bincount(_grams(text[:LONGEST]), minlength=BUCKETS)
    np.log1p(counts, out=counts)
    counts /= np.maximum(np.linalg.norm(counts, axis=1, keepdims=True), 1e-9)
    return counts


def _begun_alike(one: str, other: str) -> int:
    """Characters that two texts begin with; of the first and the last of many in order, those that all begin with."""
    return next(
        (place for place, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other))
    )


def _grams(text: str) -> NDArray[np.int64]:
    """The bucket of each run of `GRAM` characters; a shorter text has none."""
    codes = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype="<u4").astype(np.uint64)
    size = max(len(codes) - GRAM + 1, 0)
    found = np.zeros(size, dtype=np.uint64)
    for place in range(GRAM):
        found = found * np.uint64(0x9E3779B97F4A7C15) + codes[place : place + size]
    found ^= found >> np.uint64(29)
    return (found * np.uint64(0xBF58476D1CE4E5B9) >> np.uint64(32) & np.uint64(BUCKETS - 1)).astype(np.int64)


def score_text(score: float | None) -> str:
    """A score as it is shown, or that there is none because the program is invalid."""
    return "invalid" if score is None else f"{score:.3f}"


def words(text: str) -> list[str]:
    """The words, numbers and operators of a text, lower case: what statements are compared by."""
    return _WORD.findall(text.lower())


def shingle_hashes(tokens: list[str], size: int) -> NDArray[np.uint64]:
    """Sorted distinct 32-bit hashes of the runs of `size` words; a shorter text is one shingle."""
    runs = [tokens] if len(tokens) < size else [tokens[at : at + size] for at in range(len(tokens) - size + 1)]
    hashes = [zlib.crc32(" ".join(run).encode("utf-8", "surrogatepass")) for run in runs]
    return np.unique(np.asarray(hashes, dtype=np.uint64))


def jaccard(a: NDArray[np.unsignedinteger], b: NDArray[np.unsignedinteger]) -> float:
    """Size of the intersection over size of the union; both sorted and distinct, not empty."""
    common = int(np.intersect1d(a, b, assume_unique=True).size)
    return common / (a.size + b.size - common)
