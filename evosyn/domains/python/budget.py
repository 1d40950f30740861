"""How much of our own process an expression over hostile values may use: steps taken, memory made, values kept.

Every operator and builtin of `guarded` pays before it works, by the sizes of its operands; so time and memory are
bounded whatever a testing asks for and a solution returned. It knows no operator.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from decimal import Decimal
from fractions import Fraction
from typing import NamedTuple

from evosyn.records import Json
from evosyn.sandbox._inside.kinds import Items

STEPS = 32_000_000
"""Of some 10 ns each."""
MADE = 8_000_000
"""Of 8 bytes each."""
KEPT = 20_000
"""Parts of the values that one testing computes and keeps, beside its literals."""
INT_BITS = 1 << 16
"""Of integers that are multiplied, divided or written out."""
BITS_BESIDE_DECIMALS = 1 << 11
"""Of integers that may stand where `Decimal`s stand: to compare the two, Python makes the integer decimal, in quadratic
time."""
WIDE = 256
"""From this size on a set or dict is not trusted to find its keys quickly: they can be chosen to collide."""

_SCALARS = (type(None), bool, float, complex)
KEYS: type[Collection[Json]] = type(dict[str, int]().keys())
ITEMS: type[Collection[Json]] = type(dict[str, int]().items())
_HASHED = (set, frozenset, dict, KEYS, ITEMS)


class TooLarge(ValueError):
    """A value, or the work on it, would outgrow the bounds."""


class WorkBudget:
    """What is left."""

    __slots__ = ("_kept", "_made", "_steps")

    def __init__(self, steps: int = STEPS, made: int = MADE, kept: int = KEPT) -> None:
        self._steps, self._made, self._kept = steps, made, kept

    def step(self, count: int) -> None:
        self._steps -= count
        if self._steps < 0:
            raise TooLarge("too much work")

    def weigh(self, *values: Json) -> Measure:
        """Measure values, and pay for it as for going through them once.

        Raises:
            TooLarge: also where decimal numbers stand beside integers that would take long to be made decimal.
        """
        found = measure(*values, limit=self._steps // 10)
        self.step(10 * found.parts)
        if not found.mixes():
            raise TooLarge("integer beside a decimal number")
        return found

    def make(self, units: int) -> None:
        self._made -= units
        if self._made < 0:
            raise TooLarge("too large a value")

    def keep(self, parts: int) -> None:
        self._kept -= parts
        if self._kept < 0:
            raise TooLarge("too large a constant")


class Measure(NamedTuple):
    """How large a value is.

    Attributes:
        parts: items, and 64 characters, bytes or 512 bits count as one; what stands in several places counts as often.
        widest: keys of the largest set or dict in it.
        bits: of the largest integer in it, or part of a fraction.
        decimals: whether a `Decimal` is in it.
    """

    parts: int
    widest: int
    bits: int
    decimals: bool

    def mixes(self) -> bool:
        """Whether any two numbers in it can be compared quickly."""
        return not self.decimals or self.bits <= BITS_BESIDE_DECIMALS


def measure(*values: Json, limit: int = STEPS // 10) -> Measure:
    """Counts until `limit` is passed."""
    parts, widest, largest, decimals = 0, 0, 0, False
    left: list[Json] = list(values)
    while left and parts <= limit:
        value = left.pop()
        kind = type(value)
        if kind in _SCALARS:
            parts += 1
        elif kind is int:
            parts += 1 + (value.bit_length() >> 9)
            largest = max(largest, value.bit_length())
        elif isinstance(value, str | bytes | bytearray):
            parts += 1 + (len(value) >> 6)
        elif kind is range:
            parts += 1 + length(value)
        elif isinstance(value, Fraction | Decimal):
            parts += 1 + (bits(value) >> 9)
            if isinstance(value, Decimal):
                decimals = True
            else:
                largest = max(largest, bits(value))
        else:
            inside = _inside(value)
            size = 0 if inside is None else length(inside)
            parts += 1 + size
            if isinstance(value, _HASHED):
                widest = max(widest, size)
            if inside is not None and parts <= limit:
                left.extend(inside)
                if isinstance(value, dict):
                    left.extend(value.values())
    return Measure(parts, widest, largest, decimals)


def bits(value: Json) -> int:
    """Of the digits of a number; 0 for what is no number, or always a small one."""
    if isinstance(value, int):
        return value.bit_length()
    if isinstance(value, Fraction):
        return max(value.numerator.bit_length(), value.denominator.bit_length())
    return 8 * value.__sizeof__() if isinstance(value, Decimal) else 0


def is_wide(value: Json) -> bool:
    """Whether it must be compared to a value from outside in the ways of `equality` only."""
    found = measure(value)
    return found.widest > WIDE or found.bits > BITS_BESIDE_DECIMALS or found.parts > STEPS // 10


def length(value: Json) -> int:
    """How many items it gives when gone through; 0 for what gives none."""
    if type(value) is Items:
        return len(value.items)
    try:
        return len(value)
    except OverflowError:
        return 1 << 62
    except TypeError:
        return 0


def room(value: Json) -> int:
    """Units that a shallow copy takes."""
    if isinstance(value, str):
        return 8 + (len(value) >> 1)
    if isinstance(value, bytes | bytearray):
        return 8 + (len(value) >> 3)
    if isinstance(value, int):
        return 4 + (value.bit_length() >> 6)
    return 16 + 12 * length(value) if isinstance(value, _HASHED) else 8 + length(value)


def _inside(value: Json) -> Iterable[Json] | None:
    if type(value) is Items:
        return value.items
    return value if hasattr(value, "__iter__") else None
