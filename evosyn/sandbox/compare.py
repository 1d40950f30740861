"""How results are compared, in our process, with values that the solution never saw.

Values. `same_value` follows Python's `==` between plain data (`1 == 1.0 == True`, dicts without order, sets), with
three declared differences: a list and a tuple with equal items are equal (JSON has only lists; `strict=True` keeps them
apart); floats, also inside containers and against integers, may differ by `tolerance` (absolute, or relative to the
expected value); NaN equals NaN unless `strict`. Text never equals bytes or a number; nothing is converted.

Texts. `same_output` compares the way judges of programming contests do: line ends are unified, blanks at the ends of
lines and blank lines at the end do not count; then line by line, word by word (runs of blanks separate words). Two
words are equal as text, or as finite decimal numbers of equal value where one is written with a point or exponent
(`0.50` and `0.5`), or within `tolerance` where one is given. Case counts. Order of lines counts.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from decimal import Decimal, InvalidOperation

from evosyn.records import Json


def same_value(expected: Json, actual: Json, tolerance: float = 0.0, *, strict: bool = False) -> bool:
    """Whether two decoded plain values are the same.

    Args:
        expected, actual: plain data; the result is symmetric but for the relative tolerance.
        tolerance: largest absolute difference, or difference relative to `expected`, of two numbers.
        strict: Python's `==` exactly: list and tuple differ, NaN is not NaN (the tolerance still holds).
    """
    numbers = (bool, int, float, complex)
    if isinstance(expected, numbers) and isinstance(actual, numbers):
        return _same_number(expected, actual, tolerance, strict)
    if isinstance(expected, (list, tuple)) and isinstance(actual, (list, tuple)):
        if len(expected) != len(actual) or (strict and type(expected) is not type(actual)):
            return False
        return all(same_value(e, a, tolerance, strict=strict) for e, a in zip(expected, actual, strict=True))
    if isinstance(expected, dict) and isinstance(actual, dict):
        return _same_dict(expected, actual, tolerance, strict)
    if isinstance(expected, (set, frozenset)) and isinstance(actual, (set, frozenset)):
        return _same_set(expected, actual, tolerance, strict)
    return type(expected) is type(actual) and bool(expected == actual)


def _same_number(expected: Json, actual: Json, tolerance: float, strict: bool) -> bool:
    if expected == actual:
        return True
    if not strict and expected != expected and actual != actual:  # both NaN
        return True
    if tolerance <= 0 or not (isinstance(expected, (float, complex)) or isinstance(actual, (float, complex))):
        return False
    try:
        difference, size = abs(expected - actual), abs(expected)
    except OverflowError:
        return False
    return math.isfinite(difference) and difference <= tolerance * max(1.0, size)


def _same_dict(expected: dict[Json, Json], actual: dict[Json, Json], tolerance: float, strict: bool) -> bool:
    if len(expected) != len(actual):
        return False
    return all(
        key in actual and same_value(value, actual[key], tolerance, strict=strict) for key, value in expected.items()
    )


def _same_set(expected: Iterable[Json], actual: Iterable[Json], tolerance: float, strict: bool) -> bool:
    if expected == actual:
        return True
    left, right = list(expected), list(actual)
    if len(left) != len(right) or len(left) > 1000:
        return False
    for item in left:
        match = next((k for k, other in enumerate(right) if same_value(item, other, tolerance, strict=strict)), None)
        if match is None:
            return False
        right.pop(match)
    return True


def same_output(expected: str, actual: str, tolerance: float = 0.0) -> bool:
    """Whether two standard outputs are the same for a judge.

    Args:
        tolerance: largest absolute or relative difference of two decimal numbers of which one has a point or exponent.
    """
    expected_lines, actual_lines = _lines(expected), _lines(actual)
    if expected_lines == actual_lines:
        return True
    if len(expected_lines) != len(actual_lines):
        return False
    for left, right in zip(expected_lines, actual_lines, strict=True):
        if left == right:
            continue
        left_words, right_words = left.split(), right.split()
        if len(left_words) != len(right_words):
            return False
        if not all(_same_word(e, a, tolerance) for e, a in zip(left_words, right_words, strict=True)):
            return False
    return True


def _lines(text: str) -> list[str]:
    lines = [line.rstrip() for line in text.replace("\r\n", "\n").replace("\r", "\n").split("\n")]
    while lines and not lines[-1]:
        lines.pop()
    return lines


_POINT = frozenset(".eE")


def _same_word(expected: str, actual: str, tolerance: float) -> bool:
    if expected == actual:
        return True
    if len(expected) > 400 or len(actual) > 400 or not (_POINT & set(expected) or _POINT & set(actual)):
        return False
    try:
        left, right = Decimal(expected), Decimal(actual)
    except InvalidOperation:
        return False
    if not (left.is_finite() and right.is_finite()):
        return False
    if left == right:
        return True
    if tolerance <= 0 or abs(left.adjusted()) > 350 or abs(right.adjusted()) > 350:
        return False
    return abs(left - right) <= Decimal(tolerance) * max(Decimal(1), abs(left))
