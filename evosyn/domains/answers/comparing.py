"""Whether an answer is the declared one. The declared side says how exact.

`==` of two answers is exact equality, an equivalence; `accepts` is none, since a decimal takes what rounds to it.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from evosyn.domains.answers import units
from evosyn.domains.answers.exact import Exact, approximate
from evosyn.domains.answers.reading import FEWEST_DIGITS, Answer, Equation, Number, Polynomial, Several, option_of


def accepts(declared: Answer, given: Answer, tolerance: Fraction | None = None) -> bool:
    """Whether an answer is the declared one, up to an absolute or relative difference of numbers; None for the rules of
    roundings."""
    letter = option_of(declared) if isinstance(declared, Polynomial) else ""
    return bool(letter and letter == option_of(given)) or _is(declared, given, tolerance)


def _is(declared: Answer, given: Answer, tolerance: Fraction | None) -> bool:
    if declared == given or (_size(declared) is not None and _size(declared) == _size(given)):
        return True
    if isinstance(declared, Equation):
        if isinstance(given, Equation):
            if declared.apart is not None and declared.apart == given.apart:
                return True
            if given.name != declared.name or given.value is None:
                return False
            given = given.value
        return bool(declared.name) and declared.value is not None and _is(declared.value, given, tolerance)
    if isinstance(given, Equation):
        return isinstance(given.value, Number | Several) and _is(declared, given.value, tolerance)
    if isinstance(declared, Number) and isinstance(given, Number):
        return _is_number(declared, given, tolerance)
    if isinstance(declared, Several) and isinstance(given, Several):
        return _is_list(declared, given, tolerance)
    return False


def _is_list(declared: Several, given: Several, tolerance: Fraction | None) -> bool:
    one, other = _in_order(declared), _in_order(given)
    if (one is declared) != (other is given):
        declared, given = one, other
    if declared.brackets != given.brackets or len(declared.items) != len(given.items):
        return False
    if declared.brackets not in ("", "∪", "or", "≠"):
        return all(_is(*pair, tolerance) for pair in zip(declared.items, given.items, strict=True))
    return _can_be_paired([[_is(item, found, tolerance) for found in given.items] for item in declared.items])


def _in_order(several: Several) -> Several:
    """`y = 2, x = 1` as (1, 2): the values in the order of their names, where each has its own."""
    named = {item.name: item.value for item in several.items if isinstance(item, Equation) and item.value is not None}
    if len(named) < len(several.items):
        return several
    return Several("()", tuple([value for _, value in sorted(named.items())]))


def _size(answer: Answer) -> tuple[str, Fraction] | None:
    """What a measure is in the smallest unit of its kind; parts that get smaller, as in `1 h 30 min`, add up."""
    parts = answer.items if isinstance(answer, Several) and not answer.brackets.strip() else (answer,)
    plain = [one for one in parts if isinstance(one, Number) and one.value.rational is not None]
    sizes = [units.SIZES[one.label.units] for one in plain if one.label.units in units.SIZES and not one.label.counted]
    values = [Fraction(one.value.rational or 0) * size for one, (_, size) in zip(plain, sizes, strict=False)]
    if not len(values) == len(sizes) == len(parts) or len({kind for kind, _ in sizes}) > 1:
        return None
    falls = all(0 <= value < size for value, (_, size) in zip(values[1:], sizes, strict=False))
    return (sizes[0][0], sum(values, Fraction(0))) if falls else None


def _can_be_paired(taken: Sequence[Sequence[bool]]) -> bool:
    """Whether each row can have a column of its own that it takes."""
    row_of: dict[int, int] = {}

    def find(row: int, tried: set[int]) -> bool:
        for column, takes in enumerate(taken[row]):
            if takes and column not in tried:
                tried.add(column)
                if column not in row_of or find(row_of[column], tried):
                    row_of[column] = row
                    return True
        return False

    return all(find(row, set()) for row in range(len(taken)))


def _is_number(declared: Number, given: Number, tolerance: Fraction | None) -> bool:
    """A unit may be left out, but not be another one; a bare number of at most 1 beside a percent is a share."""
    one, other = declared.label, given.label
    if any(one) and any(other) and not units.alike(one, other):
        return False
    if declared.glued and any(one) and not any(other):
        return False
    if declared.percent != given.percent and any(one if given.percent else other):
        return False
    money = any(name in units.MONEY for name, _ in (*one.units, *other.units))
    bare = approximate((given if declared.percent else declared).value)
    either = declared.percent == given.percent or (bare is not None and abs(bare) > 1)
    if either and _is_value(declared.value, given.value, (declared.last, given.zeros), money, tolerance):
        return True
    last = None if declared.last is None else declared.last - 2 * declared.percent
    ends = (last, given.zeros and given.zeros + 2 * given.percent)
    return declared.percent != given.percent and _is_value(declared.share, given.share, ends, money, tolerance)


def _is_value(
    declared: Exact, given: Exact, ends: tuple[int | None, int], money: bool, tolerance: Fraction | None
) -> bool:
    if declared == given:
        return True
    if tolerance is not None:
        one, other = approximate(declared), approximate(given)
        if one is None or other is None:
            return False
        return abs(one - other) <= tolerance * max(Fraction(1), abs(one), abs(other))
    last, zeros = ends
    written = (declared if last is not None else given).rational
    if money or written is None:
        return False
    if last is not None:
        return given.rounds_to(written, last)
    places = zeros or _places(written)
    digits = len(str(abs(written.numerator * 10**places // written.denominator)))
    return digits >= FEWEST_DIGITS and places > 0 and not declared.is_whole and declared.rounds_to(written, -places)


def _places(value: Fraction) -> int:
    """Places of the shortest decimal that has a value; 0 for a whole number, and where there is none."""
    left, times = value.denominator, {2: 0, 5: 0}
    for prime in times:
        while left % prime == 0:
            left, times[prime] = left // prime, times[prime] + 1
    return max(times.values()) if left == 1 else 0
