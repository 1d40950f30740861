"""The comparison rules of docs/pools.md, one property a test."""

import itertools
import math
from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evosyn.domains.python.compare import Printed, same_text, same_value
from evosyn.domains.python.joining import join
from evosyn.domains.python.shapes import check_stdin
from evosyn.errors import FormatError
from evosyn.records import Json, Testing


@pytest.mark.parametrize(
    ("expected", "actual"),
    [
        (1, 1.0),
        (True, 1),
        ([1, 2], (1, 2)),
        ([[1], [2]], ([1], (2,))),
        ({"a": [1, (2,)]}, {"a": (1, [2])}),
        ({"1": "x", "null": 2, "false": 3}, {1: "x", None: 2, False: 3}),
        (float("nan"), float("nan")),
        ([float("nan")], [math.nan]),
        ({1, 2}, frozenset({2, 1})),
        (None, None),
        ("\ud800", "\ud800"),
        (10**400, 10**400),
    ],
)
def test_equal_by_the_rules(expected: object, actual: object) -> None:
    assert same_value(expected, actual)


@pytest.mark.parametrize(
    ("expected", "actual"),
    [
        (1, "1"),
        ("1", 1),
        ([1, 2], [2, 1]),
        ([1, 2], {1, 2}),
        ([1, 2], [1, 2, 3]),
        ({"a": 1}, {"a": 1, "b": 2}),
        ({"1": 1}, {1: 1, "1": 1}),
        (None, False),
        (None, 0),
        ("ab", ["a", "b"]),
        (0.1 + 0.2, 0.3),
        (float("nan"), 0.0),
        (10**400, 1.0),
        ([], None),
    ],
)
def test_different_by_the_rules(expected: object, actual: object) -> None:
    assert not same_value(expected, actual)


def test_a_tolerance_holds_for_numbers_wherever_they_stand() -> None:
    assert same_value({"a": [0.333]}, {"a": (1 / 3,)}, 1e-3)
    assert not same_value({"a": [0.333]}, {"a": (1 / 3,)}, 1e-6)
    assert same_value(1e9, 1e9 + 1, 1e-6), "relative where numbers are large"
    assert same_value(0.0, 1e-7, 1e-6), "absolute where they are small"
    assert not same_value("0.333", 1 / 3, 1)
    assert same_value(1 + 1j, 1 + 1.0000001j, 1e-3)
    assert not same_value(10**400, 1.0, 1e-3)


NOT_FINITE = [
    *(float("inf"), -math.inf, math.nan, Decimal("Infinity"), Decimal("-Infinity"), Decimal("NaN"), Decimal("sNaN")),
    *(complex("inf"), complex("-inf"), complex(1, math.inf), complex(math.nan, 1), complex(1, -math.inf)),
]
FINITE = [
    0,
    1,
    -7,
    True,
    0.5,
    1.7e308,
    -1.7e308,
    1j,
    complex(1.7e308, 1.7e308),
    10**400,
    Fraction(1, 3),
    Decimal("1E+400"),
]


@pytest.mark.parametrize("tolerance", [1e-9, 1, 1e299])
def test_what_is_not_finite_is_within_no_tolerance_of_what_is(tolerance: float) -> None:
    for one, other in itertools.product(NOT_FINITE, FINITE):
        assert not same_value(other, one, tolerance)
        assert not same_value(one, other, tolerance)
        assert not same_value([other], [one], tolerance)
        assert not same_value({"a": other}, {"a": one}, tolerance)
        if not (isinstance(one, Decimal) and one.is_snan()):
            assert not same_value({other}, {one}, tolerance)
    equal_to_some = [
        value for value in NOT_FINITE if not (isinstance(value, Decimal) and value.is_nan()) and value == value
    ]
    for one, other in itertools.combinations(equal_to_some, 2):
        assert same_value(one, other, tolerance) is bool(one == other)
    assert not same_value(0.5, complex(1.7e308, 1.7e308), 1e-6), "beyond the range of floats in size"


def test_numbers_of_all_types_may_differ_by_the_tolerance() -> None:
    third = [1 / 3, complex(1 / 3), Fraction(1, 3), Decimal(1) / 3, Fraction(333333333, 10**9)]
    for one, other in itertools.product(third, repeat=2):
        assert same_value(one, other, 1e-6)
        assert same_value([(one,)], ((other,),), 1e-6)
        assert same_value({one}, {other}, 1e-6)
        assert not same_value(one, other + 1 if not isinstance(other, Decimal) else other + 2, 1e-6)
    assert not same_value(10**17, 10**17 + 1, 0), "no tolerance at all is equality, also where floats are coarse"
    assert not same_value("1/3", Fraction(1, 3), 1e-6)


def test_a_value_that_is_nested_too_deeply_is_no_crash() -> None:
    deep: list[object] = []
    for _ in range(100_000):
        deep = [deep]
    assert not same_value([[[]]], deep)


@pytest.mark.parametrize(
    ("expected", "actual", "same"),
    [
        ("6\n", "6", True),
        ("6\n", "6  \n\n\n", True),
        ("1 2\n3\n", "1 2\r\n3\r\n", True),
        ("a\nb\n", "a\n\nb\n", False),
        ("1 2\n", "1  2  \r\n\n\n", True),
        ("  x\n", "x\n", True),
        ("1\n2", "1 2", False),
        ("1\n\n2", "1\n2", False),
        ("1\r2", "1\n2", True),
        ("0.50", "0.5", True),
        ("5", "5.0", True),
        ("5", "05", False),
        ("1e3", "1000", True),
        ("0.3333333", "0.33333333", False),
        ("nan", "nan", True),
        ("inf", "1e999", False),
        ("", "\n \n", True),
        ("x", "", False),
        (".", "..", False),
        ("6\n", "6\n7\n", False),
        ("6\n7\n", "6\n", False),
        ("", "\n", True),
        ("YES\n", "yes\n", False),
    ],
)
def test_texts_are_compared_line_by_line_and_word_by_word(expected: str, actual: str, same: bool) -> None:
    assert same_text(expected, actual) is same


def test_with_a_tolerance_tokens_that_are_numbers_may_differ() -> None:
    assert same_text("0.3333 ok\n", "0.33333   ok\n", 1e-3)
    assert not same_text("0.3333 ok\n", "0.33333 no\n", 1e-3)
    assert not same_text("0.3333\n", "0.34\n", 1e-3)
    assert not same_text("1\n2\n", "1 2\n", 1e-3), "line breaks still count"
    assert not same_text("1000000", "1000001", 1e-3), "integers are exact"
    assert not same_text("nan", "NaN", 1.0)
    assert not same_text("1.0e999999999", "2.0", 1.0)


@pytest.mark.parametrize(
    "word",
    ["1_2.5", "1_2__5", "\uff11\uff12.\uff15", "\u0661\u0662.\u0665", "12.50000e0_0", "12\u06f5e-1", "1\u0be8.5",
     "+ 12.5", "12.5j", "0x1p3", "1.25e", ".", "12..5", "1.25e1.0", "1,2.5", "Infinity.", "1.25E+\u0661"],
)  # fmt: skip
def test_a_word_that_no_judge_reads_as_a_number_is_compared_as_text(word: str) -> None:
    assert not same_text("12.5", word, 1e-6)
    assert same_text(word, word)


@pytest.mark.parametrize("word", ["12.50", "+12.5", "1.25e1", "1.25E+01", "125e-1", "012.5", "12.5e0", "12.500000000"])
def test_a_word_that_is_the_same_decimal_number_is_equal(word: str) -> None:
    assert same_text("12.5", word)


def test_a_tolerance_holds_for_sets_of_numbers() -> None:
    assert same_value({1.0, 2.0}, {1.0 + 1e-9, 2.0}, 1e-6)
    assert not same_value({1.0, 2.0}, {1.0 + 1e-9, 3.0}, 1e-6)
    assert not same_value({1.0, 2.0}, {1.0 + 1e-9, 2.0})


@given(st.text(alphabet="0123456789.eE+- \n\r\tnaINF"), st.text(alphabet="0123456789.eE+- \n\r\tnaINF"))
def test_any_two_texts_can_be_compared(left: str, right: str) -> None:
    assert same_text(left, right, 1e-6) in (True, False)
    assert same_text(left, left)


LIVECODEBENCH = [
    ("0.333333333333333", "0.3333333333333333", False),
    ("0.5", "0.50", True),
    ("5", "05", True),
    ("5", "+5", True),
    ("1000", "1_000", True),
    ("5", "5.0", True),
    ("a", "\n\n a \n\n", True),
    ("a b", "a  b", False),
    ("1 2", "1  2", True),
    ("1\n2", "1\n\n2", False),
    ("1\n2", "1\r\n2\r\n", True),
    ("1 a", "1.0 a", False),
    ("nan", "nan", True),
    ("nan 1", "nan 1.0", False),
    ("snan 1", "snan 1.0", False),
    ("1e3", "1000", True),
    ("1", "1e999999999999999999999", False),
    ("", " \n ", True),
    ("1", "", False),
    ("YES", "yes", False),
    ("٣", "3", True),
]  # fmt: skip


@pytest.mark.parametrize(("expected", "printed", "same"), LIVECODEBENCH)
def test_livecodebenchs_comparison_decides_as_its_own_grader(expected: str, printed: str, same: bool) -> None:
    assert Printed(printed).is_livecodebenchs(expected) is same


@pytest.mark.parametrize(
    "body",
    [
        {"compare": "contest"},
        {"compare": True},
        {"compare": "livecodebench", "tolerance": 1e-6},
        {"compare": "livecodebench", "tolerance": 0},
        {"compare": "livecodebench", "cases": [{"input": "", "output": "1", "tolerance": 1}]},
    ],
)
def test_a_comparison_is_one_that_is_known_and_exact(body: dict[str, Json]) -> None:
    with pytest.raises(FormatError, match="compare"):
        check_stdin({"cases": [{"input": "", "output": "1"}], **body})


def test_testings_join_only_where_they_compare_alike() -> None:
    plain, graded = (
        Testing("stdin", {"cases": [{"input": name, "output": "1"}], **body})
        for name, body in (("a", {}), ("b", {"compare": "livecodebench"}))
    )
    assert join([(plain, [0]), (graded, [0])]) is None
    joined = join([(graded, [0]), (graded, [0])])
    assert joined is not None and joined.body == graded.body
