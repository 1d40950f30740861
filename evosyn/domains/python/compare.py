"""When a returned value or a printed text counts as the expected one. Decided in our process, on plain data only.

Values (testings of the kind `cases`): Python's `==`, except that a list equals a tuple of equal items, NaN equals NaN,
an object's text keys match the keys that JSON would have written as those texts, and finite numbers of any types, also
inside containers, may differ by a declared tolerance. Texts (kind `stdin`): as the judges of programming contests do.
Line ends are unified, blanks at the ends of lines and empty lines at the end do not count; then line by line, word by
word. Two words are equal as text, or as finite decimal numbers where one has a point or exponent (`0.50` and `0.5`),
within the declared tolerance. Case and order count. A testing of texts may name a published grader's way instead.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from decimal import Decimal, InvalidOperation
from fractions import Fraction

from evosyn.domains.python.budget import KEYS, WIDE, is_wide, measure
from evosyn.domains.python.equality import digest, equal
from evosyn.records import Json

PAIRS = 100_000
"""Items of sets that may be tried against each other where a tolerance is given, in one comparison."""
DECIMAL_CHARS = 400
"""Longer words, and numbers of larger exponents, are compared as text only."""
KEY_BITS = 1 << 16
"""Larger integers equal no text as a key."""

_NUMBERS = (int, float, complex, Fraction, Decimal)
_SETS = (set, frozenset, KEYS)
_DECIMAL = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
"""A finite decimal number of a contest; `Decimal` itself also reads underscores and the digits of all scripts."""
_POINTED = re.compile(r"(?<!\S)[+-]?(?:[0-9]+\.[0-9]*|\.[0-9]+|[0-9]+(?=[eE]))(?:[eE][+-]?[0-9]+)?(?!\S)", re.ASCII)
"""The same as a whole word, with a point or an exponent."""
LONGEST_PRINTED = 20_000
"""Characters of a printed text in which numbers are looked for, to tell equal ones."""
_ALL = 1 << 62
_NAN = object()
_POINT = frozenset(".eE")


def same_value(
    expected: Json, actual: Json, tolerance: float | None = None, *, wide: bool | None = None, pairs: int = PAIRS
) -> bool:
    """Whether a solution's value is the expected one.

    It takes time linear in the expected value, and at most `pairs` tries for sets with a tolerance.

    Args:
        expected: from the testing.
        actual: a value from a solution, of exact types.
        tolerance: largest absolute or relative difference of two numbers, wherever they stand; None for equality.
        wide: what `is_wide` says of the expected value, where that is known.
    """
    if wide is None:
        wide = is_wide(expected)
    if wide and not measure(expected, actual, limit=_ALL).mixes():
        return False
    try:
        return (equal(expected, actual) if wide else bool(expected == actual)) or _Rules(tolerance, pairs).same(
            expected, actual
        )
    except (ArithmeticError, RecursionError):  # a signalling NaN, a nesting beyond what can be compared
        return False


def same_text(expected: str, actual: str, tolerance: float = 0.0) -> bool:
    """Whether a printed text is the expected one.

    Args:
        tolerance: largest absolute or relative difference of two decimal numbers of which one has a point or exponent.
    """
    return Printed(actual).is_expected(expected, tolerance)


class Printed:
    """A printed text, to be compared with any number of expected ones: what is large in it is split once."""

    def __init__(self, text: str) -> None:
        self._text, self._lines = text, _lines(text)
        self._words: dict[int, list[str]] = {}

    def is_expected(self, expected: str, tolerance: float = 0.0) -> bool:
        """As `same_text`."""
        wanted = _lines(expected)
        return len(wanted) == len(self._lines) and all(
            one == other or _same_line(one.split(), self._words_of(place), tolerance)
            for place, (one, other) in enumerate(zip(wanted, self._lines, strict=True))
        )

    def is_livecodebenchs(self, expected: str) -> bool:
        """As LiveCodeBench's own grader decides: lines without the blanks around them are the same text, or rows of
        the same decimal numbers, exactly (`lcb_runner/evaluation/testing_util.py`, grade_stdio)."""
        wanted, given = ([line.strip() for line in text.strip().split("\n")] for text in (expected, self._text))
        return len(wanted) == len(given) and all(map(_same_numbers, wanted, given))

    def _words_of(self, place: int) -> list[str]:
        if place not in self._words:
            self._words[place] = self._lines[place].split()
        return self._words[place]


def printed_as(text: str) -> str:
    """A text that is equal for printed texts that are the same without a tolerance, and for no others (but where one
    writes an integer with a plus or zeros in front, and the other a point)."""
    words = "\n".join([" ".join(line.split()) for line in _lines(text)])
    return _POINTED.sub(lambda word: _plain(word[0]), words) if len(words) <= LONGEST_PRINTED else words


def _plain(word: str) -> str:
    """A decimal number without exponent and closing zeros."""
    if len(word) > DECIMAL_CHARS:
        return word
    try:
        number = Decimal(word)
    except InvalidOperation:
        return word
    if abs(number.adjusted()) > DECIMAL_CHARS:
        return word
    digits = f"{number:f}"
    plain = digits.rstrip("0").rstrip(".") if "." in digits else digits
    return "0" if plain in ("-0", "") else plain


class _Rules:
    """One comparison by the rules above."""

    def __init__(self, tolerance: float | None, pairs: int) -> None:
        self._tolerance, self._pairs = tolerance, pairs

    def same(self, expected: Json, actual: Json) -> bool:
        if isinstance(expected, _NUMBERS):
            return isinstance(actual, _NUMBERS) and self._same_number(expected, actual)
        if isinstance(expected, list | tuple):
            return (
                isinstance(actual, list | tuple)
                and len(expected) == len(actual)
                and all(self.same(one, other) for one, other in zip(expected, actual, strict=True))
            )
        if isinstance(expected, dict):
            return isinstance(actual, dict) and self._same_items(expected, actual)
        if isinstance(expected, _SETS):
            return isinstance(actual, _SETS) and self._same_set(expected, actual)
        return bool(expected == actual)

    def _same_number(self, expected: Json, actual: Json) -> bool:
        if expected == actual or (expected != expected and actual != actual):
            return True
        return bool(self._tolerance) and _close(expected, actual, self._tolerance or 0.0)

    def _same_items(self, expected: Mapping[Json, Json], actual: Mapping[Json, Json]) -> bool:
        if len(expected) != len(actual):
            return False
        if len(expected) <= WIDE:
            expected, actual = ({_named(key): value for key, value in one.items()} for one in (expected, actual))
        pairs = _paired(expected, actual, _itself) or _paired(expected, actual, _json_key)
        return pairs is not None and all(self.same(one, other) for one, other in pairs)

    def _same_set(self, expected: Collection[Json], actual: Collection[Json]) -> bool:
        """Whether the items can be paired one by one."""
        if len(expected) != len(actual):
            return False
        if equal(expected, actual) or (
            len(expected) <= WIDE and set(map(_named, expected)) == set(map(_named, actual))
        ):
            return True
        if self._tolerance is None:
            return False
        if all(isinstance(item, int | float) for items in (expected, actual) for item in items):
            return all(map(self._same_number, sorted(expected), sorted(actual)))
        left = list(actual)
        for item in expected:
            cost = 1 + measure(item, limit=self._pairs).parts
            match = next(
                (place for place, other in enumerate(left) if self._try(cost) and self.same(item, other)), None
            )
            if match is None:
                return False
            left.pop(match)
        return True

    def _try(self, cost: int) -> bool:
        self._pairs -= cost
        return self._pairs >= 0


def _named(item: Json) -> Json:
    """A key or an item of a set, with one object in place of all that is no number, as that equals itself here. What is
    wide stays as it is: keys may have been chosen to collide."""
    if type(item) in (tuple, frozenset):
        return type(item)(map(_named, item)) if len(item) <= WIDE else item
    return _NAN if isinstance(item, _NUMBERS) and item != item else item


def _close(one: Json, other: Json, tolerance: float) -> bool:
    """Whether two numbers differ by at most the tolerance, absolutely or relative to the larger. What is not finite, or
    beyond the range of floats, is close to nothing."""
    try:
        left, right = (value if isinstance(value, complex) else float(value) for value in (one, other))
        difference, size = abs(left - right), max(abs(left), abs(right))
    except (OverflowError, ValueError):
        return False
    return math.isfinite(size) and math.isfinite(difference) and difference <= max(tolerance, tolerance * size)


def _paired(
    expected: Mapping[Json, Json], actual: Mapping[Json, Json], form: Callable[[Json], Json]
) -> Iterable[tuple[Json, Json]] | None:
    """The values under equal keys, after the actual keys have been brought into a form; None where keys differ."""
    name = digest if len(expected) > WIDE else _itself
    found = {name(form(key)): value for key, value in actual.items()}
    keys = [name(key) for key in expected]
    if len(found) != len(expected) or not all(key in found for key in keys):
        return None
    return list(zip(expected.values(), [found[key] for key in keys], strict=True))


def _itself(key: Json) -> Json:
    return key


def _json_key(key: Json) -> Json:
    """The text that JSON has for a key that is not a text."""
    if key is None or isinstance(key, bool):
        return {None: "null", True: "true", False: "false"}[key]
    if isinstance(key, int):  # Python writes no integers of more than 4300 digits
        return format(Decimal(key), "f") if key.bit_length() <= KEY_BITS else key
    return repr(key) if isinstance(key, float) else key


def _lines(text: str) -> list[str]:
    lines = [line.rstrip() for line in text.replace("\r\n", "\n").replace("\r", "\n").split("\n")]
    while lines and not lines[-1]:
        lines.pop()
    return lines


def _same_line(expected: Sequence[str], actual: Sequence[str], tolerance: float) -> bool:
    return len(expected) == len(actual) and all(
        one == other or _same_decimal(one, other, tolerance) for one, other in zip(expected, actual, strict=True)
    )


def _same_numbers(expected: str, actual: str) -> bool:
    try:
        return expected == actual or [*map(Decimal, expected.split())] == [*map(Decimal, actual.split())]
    except InvalidOperation:  # no number, or one that signals
        return False


def _same_decimal(expected: str, actual: str, tolerance: float) -> bool:
    words = (expected, actual)
    if any(len(word) > DECIMAL_CHARS or not _DECIMAL.fullmatch(word) for word in words) or not _POINT & {
        *expected,
        *actual,
    }:
        return False
    try:
        left, right = Decimal(expected), Decimal(actual)
    except InvalidOperation:  # an exponent beyond all
        return False
    if left == right:
        return True
    if tolerance <= 0 or max(abs(left.adjusted()), abs(right.adjusted())) > DECIMAL_CHARS:
        return False
    return abs(left - right) <= Decimal(tolerance) * max(Decimal(1), abs(left))
