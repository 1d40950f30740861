"""The rules by which values and outputs are the same."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evosyn.sandbox.compare import same_output, same_value

NAN = math.nan


@pytest.mark.parametrize(
    ("expected", "actual", "tolerance", "same"),
    [
        (1, 1.0, 0, True),
        (True, 1, 0, True),
        (0.0, -0.0, 0, True),
        (1, 2, 5, False),
        (1.0, 1.05, 0.1, True),
        (1, 1.05, 0.1, True),
        (1000.0, 1000.5, 1e-3, True),
        (1000.0, 1002.5, 1e-3, False),
        (math.inf, math.inf, 0.1, True),
        (math.inf, 1e308, 0.1, False),
        (10**400, 1.0, 0.1, False),
        (NAN, NAN, 0, True),
        (NAN, 1.0, 1, False),
        ([1, 2], (1, 2), 0, True),
        ([1, 2], [1, 2, 3], 0, False),
        ([[1.0]], [[1.0 + 1e-9]], 1e-6, True),
        ({"a": [1]}, {"a": (1,)}, 0, True),
        ({"a": 1}, {"a": 1, "b": 2}, 0, False),
        ({1, 2}, {2, 1}, 0, True),
        ({1.0, 2.0}, {1.0 + 1e-9, 2.0}, 1e-6, True),
        ({1}, [1], 0, False),
        ("a", b"a", 0, False),
        ("1", 1, 0, False),
        (None, 0, 0, False),
        (None, None, 0, True),
    ],
)
def test_values(expected: object, actual: object, tolerance: float, same: bool) -> None:
    assert same_value(expected, actual, tolerance) is same


def test_strict_keeps_python_equality() -> None:
    assert not same_value([1], (1,), strict=True)
    assert not same_value(NAN, NAN, strict=True)
    assert same_value(True, 1.0, strict=True)


@pytest.mark.parametrize(
    ("expected", "actual", "tolerance", "same"),
    [
        ("1\n2\n", "1\n2", 0, True),
        ("1 2\n", "1  2  \r\n\n\n", 0, True),
        ("a", "A", 0, False),
        ("1\n2", "1 2", 0, False),
        ("1\n\n2", "1\n2", 0, False),
        ("1\n2\n3", "1\n2", 0, False),
        ("0.50", "0.5", 0, True),
        ("5", "5.0", 0, True),
        ("5", "05", 0, False),
        ("1e3", "1000", 0, True),
        ("0.3333333", "0.33333333", 0, False),
        ("0.3333333", "0.33333333", 1e-6, True),
        ("1000000", "1000001", 1e-3, False),
        ("nan", "nan", 0, True),
        ("nan", "NaN", 1, False),
        ("1.0e999999999", "2.0", 1, False),
        ("", "\n \n", 0, True),
        ("x", "", 0, False),
        (".", "..", 0, False),
    ],
)
def test_outputs(expected: str, actual: str, tolerance: float, same: bool) -> None:
    assert same_output(expected, actual, tolerance) is same


@given(st.text(alphabet="0123456789.eE+- \n\r\tnaINF"), st.text(alphabet="0123456789.eE+- \n\r\tnaINF"))
def test_any_two_texts_can_be_compared(left: str, right: str) -> None:
    assert same_output(left, right, 1e-6) in (True, False)
    assert same_output(left, left)
