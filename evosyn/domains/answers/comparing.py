"""Whether two final answers are the same. A decimal is a rounding to its last digit; all else is exact."""

from __future__ import annotations

from fractions import Fraction

from evosyn.domains.answers.exact import exact
from evosyn.domains.answers.reading import Answer, Number, Several, Words

FEWEST_DIGITS = 3
"""Significant, of a decimal that may stand for another number."""


def same_answer(one: Answer, other: Answer) -> bool:
    """Whether two answers are the same; the order of the two is of no matter."""
    if isinstance(one, Number) and isinstance(other, Number):
        return _same_numbers(one, other)
    if isinstance(one, Several) and isinstance(other, Several):
        return _same_items(one, other)
    return isinstance(one, Words) and one == other


def _same_items(one: Several, other: Several) -> bool:
    if one.brackets != other.brackets or len(one.items) != len(other.items):
        return False
    if one.brackets:
        return all(map(same_answer, one.items, other.items))
    left = list(other.items)
    for item in one.items:
        place = next((place for place, found in enumerate(left) if same_answer(item, found)), None)
        if place is None:
            return False
        del left[place]
    return True


def _same_numbers(one: Number, other: Number) -> bool:
    if one.unit and other.unit and one.unit != other.unit:
        return False
    if one.percent == other.percent:
        return _rounded_alike(one, other)
    percent, bare = (one, other) if one.percent else (other, one)
    return _rounded_alike(percent, bare) or _rounded_alike(_part_of_one(percent), bare)


def _rounded_alike(one: Number, other: Number) -> bool:
    if one.value == other.value:
        return True
    coarse, fine = sorted((one, other), key=lambda number: (number.last is None, -(number.last or 0)))
    if coarse.last is None or coarse.digits < FEWEST_DIGITS:
        return False
    written = coarse.value.rational
    return written is not None and fine.value.near(written, Fraction(10) ** coarse.last / 2)


def _part_of_one(percent: Number) -> Number:
    value = percent.value.rational
    if value is None:
        return percent
    return Number(exact(value / 100), None if percent.last is None else percent.last - 2, percent.digits)
