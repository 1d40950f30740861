"""When a returned value or a printed text counts as the expected one. Decided in our process, on plain data only.

Values (testings of the kind `cases`): Python's `==`, except that a list equals a tuple of equal items, NaN equals NaN,
an object's text keys match the keys that JSON would have written as those texts, and numbers may differ by a declared
tolerance. Texts (kind `stdin`): lines are compared after trailing blanks, trailing empty lines and carriage returns
are dropped, as the judges of programming contests do; with a tolerance, each line is compared token by token.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from evosyn.records import Json

_NUMBERS = (int, float, complex)


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


def same_text(expected: str, actual: str, tolerance: float | None = None) -> bool:
    """Whether a printed text is the expected one."""
    if expected == actual:
        return True
    wanted, printed = _lines(expected), _lines(actual)
    if wanted == printed:
        return True
    if tolerance is None or len(wanted) != len(printed):
        return False
    return all(_same_tokens(one.split(), other.split(), tolerance) for one, other in zip(wanted, printed, strict=True))


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


def _lines(text: str) -> list[str]:
    lines = [line.rstrip() for line in text.split("\n")]
    while lines and not lines[-1]:
        lines.pop()
    return lines


def _same_tokens(expected: Sequence[str], actual: Sequence[str], tolerance: float) -> bool:
    return len(expected) == len(actual) and all(
        one == other or _close(one, other, tolerance) for one, other in zip(expected, actual, strict=True)
    )


def _close(expected: str, actual: str, tolerance: float) -> bool:
    try:
        return math.isclose(float(expected), float(actual), rel_tol=tolerance, abs_tol=tolerance)
    except ValueError:
        return False
