"""Keys that were chosen so that a set or dict of them is slow: to be refused before they meet.

The hashes of numbers and tuples are known to everybody, so that who writes an answer can make its keys share places of
a table, or hashes, or be slow to compare. What passes here costs time linear in its size.
"""

from __future__ import annotations

import itertools
import operator
import os
from collections.abc import Iterator, Sequence
from typing import Any

FEW_KEYS = 32
"""A table of so few keys is cheap however they collide."""
PROBES, EQUAL_HASHES = 20, 64
"""Places that may be looked at for one key (in a set, which looks at ten in a row, ten times as many), and pairs of
keys of equal hash for one key: on the average."""
DECIMAL_BITS = 2048
"""Integers of more are not compared with decimal numbers."""

_TEXTS = frozenset({str, bytes})
_TEXTS_ARE_KEYED = os.environ.get("PYTHONHASHSEED", "random") in ("", "random")
"""Whether nobody can know the hashes of texts in this process."""


def is_spread(keys: Sequence[Any], *, of_set: bool) -> bool:
    """Whether a set or dict can be made of these in linear time; counts the places that CPython would look at.

    Raises:
        TypeError: a key cannot be hashed.
    """
    hashes = list(map(hash, keys))
    if _TEXTS_ARE_KEYED and _TEXTS.issuperset(map(type, keys)):
        return True
    ordered = sorted(hashes)
    collide = any(map(operator.eq, ordered, ordered[1:]))
    if collide and _costly(keys, hashes):
        return False
    if len(keys) <= FEW_KEYS:
        return True
    if not collide and ordered[0] >= 0 and ordered[-1] < len(keys):
        return True  # whole numbers from 0 on have a place each
    return all(_fit(hashes[:count], size, of_set) for size, count in _growth(len(keys), of_set))


class _Weight:
    """What some keys come to.

    Attributes:
        parts: all that stands in them.
        bits: of their longest integer.
        decimals: decimal numbers stand in them, which take long to compare with such integers.
    """

    def __init__(self) -> None:
        self.parts, self.bits, self.decimals = 0, 0, False

    def comparing(self, key: Any) -> int:
        """Add a key; how many comparisons finding it equal to another one may take."""
        self.parts += 1
        if isinstance(key, tuple | frozenset):
            cost = 1 + sum([self.comparing(item) for item in key])
            alike = isinstance(key, frozenset) and len(set(map(hash, key))) < len(key)
            return cost * len(key) if alike else cost
        if type(key) is int or type(key).__module__ == "fractions":
            self.bits = max(self.bits, key.numerator.bit_length(), key.denominator.bit_length())
        self.decimals = self.decimals or type(key).__module__ == "decimal"
        return 1


def _costly(keys: Sequence[Any], hashes: Sequence[int]) -> bool:
    """Whether comparing those that have equal hashes takes more than a multiple of their size."""
    weight, pairs = _Weight(), 0
    for _, run in itertools.groupby(sorted(range(len(keys)), key=hashes.__getitem__), hashes.__getitem__):
        costs = [weight.comparing(keys[place]) for place in run]
        pairs += len(costs) * sum(costs) if len(costs) > 1 else 0
    return pairs > 2 * EQUAL_HASHES * max(weight.parts, FEW_KEYS) or (weight.decimals and weight.bits > DECIMAL_BITS)


def _growth(count: int, of_set: bool) -> Iterator[tuple[int, int]]:
    """The sizes that a growing table has, each with the number of keys that it comes to hold."""
    size = 8
    while True:
        holds = -(-3 * (size - 1) // 5) if of_set else 2 * size // 3
        if size > FEW_KEYS or count <= holds:
            yield size, min(count, holds)
        if count <= holds:
            return
        size = 1 << (holds * (4 if holds <= 50_000 else 2)).bit_length() if of_set else 2 * size


def _fit(hashes: Sequence[int], size: int, of_set: bool) -> bool:
    mask, used, left = size - 1, bytearray(size), PROBES * len(hashes) * (10 if of_set else 1)
    for value in hashes:
        perturb = value & 0xFFFFFFFFFFFFFFFF
        place = perturb & mask
        while left >= 0:
            ahead = 10 if of_set and place + 9 <= mask else 1
            free = used.find(0, place, place + ahead)
            if free >= 0:
                left -= free - place
                used[free] = 1
                break
            left -= ahead
            perturb >>= 5
            place = (place * 5 + 1 + perturb) & mask
    return left >= 0
