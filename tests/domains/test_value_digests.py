"""Digests of what calls gave: equal exactly where the values are, whatever the types and orders that do not count."""

from __future__ import annotations

import copy
import itertools
from collections import OrderedDict, deque
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evosyn.domains.python.compare import printed_as, same_text, same_value
from evosyn.domains.python.value_digests import LARGEST, digest_of
from evosyn.jobs import ItemOutcome, Status

SCALARS = st.none() | st.booleans() | st.integers(-3, 3) | st.integers() | st.floats() | st.text(max_size=3)
HASHED = SCALARS | st.tuples(SCALARS, SCALARS)
VALUES = st.recursive(
    SCALARS | st.binary(max_size=3) | st.frozensets(HASHED, max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(SCALARS, inner, max_size=3) | st.tuples(inner, inner),
    max_leaves=6,
)


def digest(value: Any) -> int:
    return digest_of(ItemOutcome(Status.OK, value))


@given(st.lists(VALUES, min_size=2, max_size=8))
def test_digests_are_equal_where_values_are_and_nowhere_else(values: list[Any]) -> None:
    for one, other in itertools.combinations(values, 2):
        if digest(one) == digest(other):
            assert same_value(one, other)
        elif type(one) is type(other):
            assert one != other


@given(VALUES)
def test_a_value_has_one_digest_of_64_bits(value: Any) -> None:
    found = digest(value)
    assert 0 < found < 2**64
    assert digest(copy.deepcopy(value)) == found


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (1, 1.0),
        (1, True),
        (0.0, -0.0),
        (Fraction(1, 2), 0.5),
        ([1, 2], (1.0, 2)),
        ({1, 2}, frozenset([2.0, 1])),
        ({"a": 1, "b": [2]}, OrderedDict([("b", (2,)), ("a", 1)])),
        (float("nan"), -float("nan")),
        ([float("nan")], [float("nan")]),
        (10**40, float(10**40) if float(10**40) == 10**40 else 10**40),
    ],
)
def test_values_that_comparison_finds_equal_have_equal_digests(one: Any, other: Any) -> None:
    assert digest(one) == digest(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [("1", 1), (b"1", "1"), ([[1], 2], [1, [2]]), (["ab", "c"], ["a", "bc"]), ({1: 2}, {1, 2}), ([], {}), ("", [])],
)
def test_values_that_differ_have_other_digests(one: Any, other: Any) -> None:
    assert digest(one) != digest(other)


WORDS = st.sampled_from(
    ["1", "1.0", "1e2", "100", "0.50", ".5", "-0.0", "0", "1.", "1e999999", "1_0", "3.5", "a.b", "x"]
)
PRINTED = st.lists(
    st.lists(WORDS | st.from_regex(r"[0-9]{1,3}(\.[0-9]{0,3})?", fullmatch=True), max_size=3), max_size=3
)


@given(st.lists(PRINTED, min_size=2, max_size=6), st.sampled_from(["\n", " \n", "\r\n"]))
def test_printed_texts_are_equal_where_a_contest_finds_them_the_same(printed: list[list[list[str]]], end: str) -> None:
    texts = [end.join(" ".join(words) for words in lines) for lines in printed]
    for one, other in itertools.combinations(texts, 2):
        same = same_text(one, other)
        if printed_as(one) == printed_as(other):
            assert same
        elif same:  # one of them writes an integer with zeros in front
            assert any(len(word) > 1 and word[0] == "0" and word[1] != "." for word in f"{one} {other}".split())


def test_what_gave_no_value_is_of_another_kind_or_too_large_has_none() -> None:
    assert digest_of(ItemOutcome(Status.EXCEPTION, None, "ValueError: x")) == 0
    assert digest(deque([1])) == 0
    assert digest([0] * LARGEST) != 0
    assert digest([[0] * LARGEST]) == 0


NANS = (
    lambda nan: {nan, 1},
    lambda nan: {None: frozenset({False, nan})},
    lambda nan: {nan: 2},
    lambda nan: {(nan, 1), 2},
    lambda nan: {*range(200), nan},
)


@pytest.mark.parametrize("made", NANS)
def test_what_is_no_number_equals_itself_in_sets_and_as_a_key(made: Any) -> None:
    one, other = made(float("nan")), made(-float("nan"))
    assert same_value(one, other) and digest(one) == digest(other)
    assert not same_value(one, made(3.5)) and digest(one) != digest(made(3.5))
