"""Python's `==` over values from outside, in time linear in their sizes whatever their keys are.

The hashes of numbers and tuples can be chosen, so that looking keys of one large set up in another may cost quadratic
time. Here such keys are compared by a digest that nobody outside can know. Small sets and dicts, and everything else,
are compared by Python itself.
"""

from __future__ import annotations

import hashlib
import os
from collections import Counter, OrderedDict, deque
from collections.abc import Iterable
from decimal import Decimal
from fractions import Fraction

from evosyn.domains.python.budget import ITEMS, KEYS, WIDE, measure
from evosyn.records import Json

_SECRET = os.urandom(16)
_DECIMAL_EXPONENT = 400
"""A decimal number of larger exponent equals no number of another type here."""
_ALL = 1 << 62
_SETS = (set, frozenset, KEYS)


def safely_equal(left: Json, right: Json) -> bool:
    """Whether the two are equal; False where numbers in them cannot be compared quickly."""
    return measure(left, right, limit=_ALL).mixes() and equal(left, right)


def equal(left: Json, right: Json) -> bool:
    """Whether Python finds the two equal; linear where the `Measure` of both `mixes`."""
    if left is right:
        return bool(left == right)  # of NaN it says no
    for kind in (list, tuple, deque):
        if isinstance(left, kind) and isinstance(right, kind):
            return len(left) == len(right) and all(_same(one, other) for one, other in zip(left, right, strict=True))
    if isinstance(left, dict) and isinstance(right, dict):
        return _equal_dicts(left, right)
    if isinstance(left, _SETS) and isinstance(right, _SETS):
        if len(left) != len(right) or len(left) <= WIDE:
            return bool(left == right)
        return {digest(item) for item in left} == {digest(item) for item in right}
    if isinstance(left, ITEMS) and isinstance(right, ITEMS):
        return _equal_dicts(dict(left), dict(right))
    return bool(left == right) if not (_is_wide(left) and _is_wide(right)) else False


def _equal_dicts(left: dict[Json, Json], right: dict[Json, Json]) -> bool:
    if isinstance(left, Counter) and isinstance(right, Counter):
        left, right = ({key: count for key, count in one.items() if count != 0} for one in (left, right))
    if len(left) != len(right):
        return False
    if isinstance(left, OrderedDict) and isinstance(right, OrderedDict):
        return all(map(_same, left, right)) and all(map(_same, left.values(), right.values()))
    pairs = paired(left, right)
    return pairs is not None and all(_same(one, other) for one, other in pairs)


def _same(one: Json, other: Json) -> bool:
    """Equality inside a container: what is not equal to itself is there, too."""
    return one is other or equal(one, other)


def paired(left: dict[Json, Json], right: dict[Json, Json]) -> Iterable[tuple[Json, Json]] | None:
    """The values of two dicts of the same length under equal keys; None where the keys differ."""
    if len(left) <= WIDE:
        return [(item, right[key]) for key, item in left.items()] if all(key in right for key in left) else None
    found = {digest(key): item for key, item in right.items()}
    keys = [digest(key) for key in left]
    return zip(left.values(), [found[key] for key in keys], strict=True) if all(map(found.__contains__, keys)) else None


def digest(key: Json) -> bytes:
    """Equal for keys that are equal, unknown to everybody outside this process."""
    return hashlib.blake2b(_canonical(key), digest_size=16, key=_SECRET).digest()


def _canonical(key: Json) -> bytes:
    """Equal for keys that Python finds equal, as hashes are, but for those only."""
    if isinstance(key, str):
        return b"s" + key.encode("utf-8", "surrogatepass")
    if isinstance(key, bytes):
        return b"b" + key
    if isinstance(key, tuple):
        return b"t" + b"".join([digest(item) for item in key])
    if isinstance(key, frozenset):
        return b"f" + b"".join(sorted([digest(item) for item in key]))
    if isinstance(key, range):
        first, step = key.start if len(key) else 0, key.step if len(key) > 1 else 0
        return b"r%x %x %x" % (len(key), first, step)
    if isinstance(key, int | float | complex | Fraction | Decimal):
        return number_bytes(key)
    return b"n" if key is None else b"o%x" % id(key)


def number_bytes(key: int | float | complex | Fraction | Decimal) -> bytes:
    """Equal for equal numbers of whatever type, and for no others; NaN is like nothing but itself."""
    if isinstance(key, complex):
        if key.imag != 0:
            return b"c" + number_bytes(key.real) + b" " + number_bytes(key.imag)
        key = key.real
    if key != key:
        return b"o%x" % id(key)
    if isinstance(key, Decimal) and key and abs(key.adjusted()) > _DECIMAL_EXPONENT:
        sign, digits, exponent = key.as_tuple()
        text = "".join(map(str, digits)) if isinstance(exponent, int) else ""
        return f"d{sign} {text.rstrip('0')} {len(text) + exponent if isinstance(exponent, int) else exponent}".encode()
    if not key:
        return b"q0/1"
    if isinstance(key, float | Decimal) and abs(key) == float("inf"):
        return b"+" if key > 0 else b"-"
    numerator, denominator = key.as_integer_ratio()
    return b"q%x/%x" % (numerator, denominator)


def _is_wide(value: Json) -> bool:
    return isinstance(value, (*_SETS, ITEMS)) and len(value) > WIDE
