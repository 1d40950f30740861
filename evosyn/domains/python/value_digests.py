"""What a call gave, as 64 bits that are equal for equal values, so that strategies can see which solutions agree.

Equal is what `compare` finds equal without a tolerance: numbers by value, lists and tuples by their items, sets and
dictionaries whatever their order, NaN like NaN. It judges nothing, and a digest says nothing of an expected value.
"""

from __future__ import annotations

import hashlib
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache

from evosyn.domains.python.budget import KEYS
from evosyn.domains.python.equality import number_bytes
from evosyn.jobs import ItemOutcome, Status
from evosyn.records import Json

LARGEST = 2_000
"""Items in all of a value that has a digest; texts and numbers have one whatever their size."""
_FLAT = frozenset({int, float, bool, str, type(None)})
_SHORT, _WORD = 64, 1 << 62
_SETS = (set, frozenset, KEYS)


class _NoDigest(Exception):
    """The value is too large, or of a type that equals nothing but itself."""


def digest_of(outcome: ItemOutcome) -> int:
    """Of the value of a call; 0 where it gave none, or one without a digest."""
    if outcome.status is not Status.OK:
        return 0
    value = outcome.value
    if _is_small(value):
        return _of_small(value)
    try:
        return _hashed(_encoded(value, [LARGEST]))
    except (_NoDigest, ArithmeticError, RecursionError):
        return 0


def digest_of_text(text: str) -> int:
    return _hashed(_flat(text))


def _is_small(value: Json) -> bool:
    """Whether it may be remembered; Python finds such values equal where they are equal here."""
    kind = type(value)
    if kind is str:
        return len(value) <= _SHORT
    return kind is bool or value is None or (kind is int and -_WORD < value < _WORD)


@lru_cache(maxsize=1024)
def _of_small(value: Json) -> int:
    return _hashed(_flat(value))


def _hashed(data: bytes) -> int:
    return int.from_bytes(hashlib.blake2b(data, digest_size=8).digest(), "big") or 1


def _flat(value: Json) -> bytes:
    """A text, a number or None; no such encoding begins another."""
    if type(value) is str:
        data = value.encode("utf-8", "surrogatepass")
        return b"s%d:%b" % (len(data), data)
    if value is None:
        return b"n"
    if value != value:
        return b"nan"
    return number_bytes(value) + b";"


def _encoded(value: Json, left: list[int]) -> bytes:
    """
    Args:
        left: how many items may still come.
    """
    if type(value) in _FLAT:
        return _flat(value)
    if isinstance(value, bytes | bytearray):
        return b"y%d:%b" % (len(value), bytes(value))
    if isinstance(value, str | int | float | complex | Fraction | Decimal):
        return _flat(str(value) if isinstance(value, str) else value)
    if not isinstance(value, (list, tuple, dict, *_SETS)):
        raise _NoDigest
    left[0] -= len(value)
    if left[0] < 0:
        raise _NoDigest
    if isinstance(value, list | tuple):
        return b"[" + b"".join([_encoded(item, left) for item in value]) + b"]"
    if isinstance(value, dict):
        pairs = sorted([_encoded(key, left) + _encoded(item, left) for key, item in value.items()])
        return b"<" + b"".join(pairs) + b">"
    return b"{" + b"".join(sorted([_encoded(item, left) for item in value])) + b"}"
