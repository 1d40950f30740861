"""When a returned value or a printed text counts as the expected one. Decided in our process, on plain data only.

Values (testings of the kind `cases`): Python's `==`, except that a list equals a tuple of equal items, NaN equals NaN,
an object's text keys match the keys that JSON would have written as those texts, and numbers, also inside containers,
may differ by a declared tolerance. Texts (kind `stdin`): as the judges of programming contests do. Line ends are
unified, blanks at the ends of lines and empty lines at the end do not count; then line by line, word by word. Two words
are equal as text, or as finite decimal numbers where one has a point or exponent (`0.50` and `0.5`), within the
declared tolerance. Case and order count.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from decimal import Decimal, InvalidOperation

from evosyn.records import Json

MATCHED_ITEMS = 1000
"""Sets with more items are compared for equality only, whatever the tolerance."""
DECIMAL_CHARS = 400
"""Longer words, and numbers of larger exponents, are compared as text only."""

_NUMBERS = (int, float, complex)
_POINT = frozenset(".eE")


def same_value(expected: Json, actual: Json, tolerance: float | None = None) -> bool:
    """Whether a solution's value is the expected one; never raises on plain data.

    Args:
        expected: from the testing.
        actual: plain data, exact types.
        tolerance: largest absolute or relative difference of two numbers, wherever they stand; None for equality.
    """
    try:
        return bool(expected == actual) or _same(expected, actual, tolerance)
    except RecursionError:
        return False


def same_text(expected: str, actual: str, tolerance: float = 0.0) -> bool:
    """Whether a printed text is the expected one.

    Args:
        tolerance: largest absolute or relative difference of two decimal numbers of which one has a point or exponent.
    """
    wanted, printed = _lines(expected), _lines(actual)
    return len(wanted) == len(printed) and all(
        one == other or _same_line(one.split(), other.split(), tolerance)
        for one, other in zip(wanted, printed, strict=True)
    )


def _same(expected: Json, actual: Json, tolerance: float | None) -> bool:
    if isinstance(expected, _NUMBERS):
        return isinstance(actual, _NUMBERS) and _same_number(expected, actual, tolerance)
    if isinstance(expected, list | tuple):
        return (
            isinstance(actual, list | tuple)
            and len(expected) == len(actual)
            and all(_same(one, other, tolerance) for one, other in zip(expected, actual, strict=True))
        )
    if isinstance(expected, dict):
        return isinstance(actual, dict) and _same_items(expected, actual, tolerance)
    if isinstance(expected, set | frozenset):
        return isinstance(actual, set | frozenset) and _same_set(expected, actual, tolerance)
    return bool(expected == actual)


def _same_number(expected: Json, actual: Json, tolerance: float | None) -> bool:
    if expected == actual or (expected != expected and actual != actual):
        return True
    if tolerance is None:
        return False
    try:
        if isinstance(expected, complex) or isinstance(actual, complex):
            return bool(abs(expected - actual) <= max(tolerance, tolerance * max(abs(expected), abs(actual))))
        return math.isclose(expected, actual, rel_tol=tolerance, abs_tol=tolerance)
    except OverflowError:  # integers beyond the range of floats
        return False


def _same_items(expected: Mapping[Json, Json], actual: Mapping[Json, Json], tolerance: float | None) -> bool:
    if len(expected) != len(actual):
        return False
    if any(key not in actual for key in expected):
        actual = {_json_key(key): value for key, value in actual.items()}
    return len(expected) == len(actual) and all(
        key in actual and _same(value, actual[key], tolerance) for key, value in expected.items()
    )


def _json_key(key: Json) -> Json:
    """The text that JSON has for a key that is not a text."""
    if key is None or isinstance(key, bool):
        return {None: "null", True: "true", False: "false"}[key]
    return repr(key) if isinstance(key, int | float) else key


def _same_set(expected: Collection[Json], actual: Collection[Json], tolerance: float | None) -> bool:
    """Whether the items can be paired one by one; sets of many items must be equal."""
    if expected == actual:
        return True
    if tolerance is None or len(expected) != len(actual) or len(expected) > MATCHED_ITEMS:
        return False
    left = list(actual)
    for item in expected:
        match = next((place for place, other in enumerate(left) if _same(item, other, tolerance)), None)
        if match is None:
            return False
        left.pop(match)
    return True


def _lines(text: str) -> list[str]:
    lines = [line.rstrip() for line in text.replace("\r\n", "\n").replace("\r", "\n").split("\n")]
    while lines and not lines[-1]:
        lines.pop()
    return lines


def _same_line(expected: Sequence[str], actual: Sequence[str], tolerance: float) -> bool:
    return len(expected) == len(actual) and all(
        one == other or _same_decimal(one, other, tolerance) for one, other in zip(expected, actual, strict=True)
    )


def _same_decimal(expected: str, actual: str, tolerance: float) -> bool:
    if len(expected) > DECIMAL_CHARS or len(actual) > DECIMAL_CHARS or not _POINT & {*expected, *actual}:
        return False
    try:
        left, right = Decimal(expected), Decimal(actual)
    except InvalidOperation:
        return False
    if not (left.is_finite() and right.is_finite()):
        return False
    if left == right:
        return True
    if tolerance <= 0 or max(abs(left.adjusted()), abs(right.adjusted())) > DECIMAL_CHARS:
        return False
    return abs(left - right) <= Decimal(tolerance) * max(Decimal(1), abs(left))
