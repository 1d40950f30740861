"""Equality of values from outside: Python's own, in linear time."""

import operator
import time
from collections import Counter, OrderedDict, deque
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from evosyn.domains.python import budget, equality
from evosyn.domains.python.compare import same_value
from evosyn.domains.python.equality import digest, equal

numbers = st.one_of(
    st.integers(-3, 3), st.booleans(), st.sampled_from([0.0, -0.0, 1.0, 0.5, 2.0, float("inf"), float("nan"), 1e300, 2**70]),
    st.sampled_from([1 + 0j, 1j, complex(float("inf"), 0), Fraction(1, 2), Fraction(2), Fraction(0)]),
    st.sampled_from([Decimal("0.5"), Decimal(1), Decimal("1.00"), Decimal("Infinity"), Decimal("NaN"), Decimal("-0"), Decimal("1E+2000"), Decimal("10E+1999")]),
)  # fmt: skip
scalars = (
    numbers | st.none() | st.sampled_from(["", "a", "1", b"", b"a", range(0), range(1, 1), range(2), range(0, 2, 7)])
)
keys = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=3).map(tuple) | st.frozensets(inner, max_size=3), max_leaves=4
)
values = st.recursive(
    keys,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.lists(inner, max_size=3).map(tuple), st.dictionaries(keys, inner, max_size=3),
        st.sets(keys, max_size=3), st.lists(inner, max_size=3).map(deque), st.dictionaries(keys, inner, max_size=3).map(OrderedDict),
        st.lists(keys, max_size=3).map(Counter), st.lists(keys, max_size=3).map(lambda items: dict.fromkeys(items).keys()),
        st.dictionaries(keys, inner, max_size=2).map(lambda items: items.items()),
    ),
    max_leaves=6,
)  # fmt: skip
patient = settings(deadline=None, max_examples=400, suppress_health_check=[HealthCheck.too_slow])


@patient
@given(left=keys, right=keys)
def test_two_keys_have_one_digest_where_python_takes_them_for_one(left: object, right: object) -> None:
    assert (digest(left) == digest(right)) == ({left} == {right})


@pytest.mark.parametrize("wide", [1, 256], ids=["by digest", "by python"])
@patient
@given(left=values, right=values)
def test_values_are_equal_where_python_finds_them_equal(wide: int, left: object, right: object) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(equality, "WIDE", wide)
        for one, other in ((left, right), (left, left), (right, left)):
            assert _answer(equal, one, other) is _answer(operator.eq, one, other), (one, other)


def _answer(compare: Callable[[object, object], object], one: object, other: object) -> object:
    """What the comparison says; items of a dict may hold what no set can, and then raise, which no assert survives."""
    try:
        return compare(one, other)
    except TypeError:
        return False


def orbit(count: int) -> list[int]:
    """Numbers that lie where one that looks for its place in vain goes on to look: each in its own place, so that a
    set of them is made quickly, and any other number takes as long as they are many."""
    mask, place, found = (1 << 17) - 1, 1, []
    for _ in range(count):
        found.append(place)
        place = (place * 5 + 1) & mask
    return found


def test_looking_for_keys_along_a_prepared_way_takes_linear_time() -> None:
    path = orbit(60_000)
    left, right = set(path), {n + (1 << 17) * 0 for n in path[1:]} | {-5}
    began = time.thread_time()
    assert not same_value(left, right)
    assert not same_value({"a": dict.fromkeys(left)}, {"a": dict.fromkeys(right)})
    assert same_value({"a": dict.fromkeys(left)}, {"a": dict.fromkeys(reversed(path))})
    assert time.thread_time() - began < 5


def test_sets_with_a_tolerance_are_tried_no_longer_than_allowed() -> None:
    left = {(n / 3, "x", (1, 2, 3)) for n in range(3000)}
    right = {(n / 3 + 1e-9, "x", (1, 2, 3)) for n in range(3000)}
    began = time.thread_time()
    assert not same_value(left, right, 1e-6)
    assert not same_value([left] * 50, [right] * 50, 1e-6)
    assert time.thread_time() - began < 10
    assert same_value({n / 3 for n in range(3000)}, {n / 3 + 1e-9 for n in range(3000)}, 1e-6)
    assert same_value({(n / 3, "x") for n in range(40)}, {(n / 3 + 1e-9, "x") for n in range(40)}, 1e-6)


def test_keys_of_any_length_are_compared_as_json_writes_them() -> None:
    large = 10**5000
    assert same_value({"1" + "0" * 5000: 2}, {large: 2})
    assert same_value({large: 2}, {large: 2})
    assert not same_value({"a": 1}, {large: 1})
    wide = {n: n for n in range(1000)}
    assert same_value({str(n): n for n in range(1000)}, wide)
    assert not same_value({str(n): n for n in range(1000)}, {**wide, 999: 0})


@pytest.mark.parametrize("value", [Decimal("sNaN"), [Decimal("sNaN")], {1: Decimal("sNaN")}])
def test_a_value_that_refuses_to_be_compared_is_not_the_expected_one(value: object) -> None:
    assert not same_value(1, value)
    assert not same_value([1], value)


def test_a_value_is_measured_no_further_than_asked() -> None:
    doubled: object = [1]
    for _ in range(100):
        doubled = [doubled, doubled]
    began = time.thread_time()
    assert budget.measure(doubled, limit=100_000).parts > 100_000
    assert time.thread_time() - began < 2
