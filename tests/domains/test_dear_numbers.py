"""Numbers from outside cost our own process little, whatever their types and sizes and whatever is asked of them."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction

import pytest

from evosyn.domains.python.compare import same_value
from evosyn.domains.python.context import context_of
from evosyn.domains.python.lifting import lift_assert
from evosyn.domains.python.preparing import decided
from evosyn.jobs import ItemOutcome, Status
from evosyn.records import Problem, Verdict

pytestmark = pytest.mark.slow

CONTEXT = context_of(Problem("p", "python-function", "x", payload={"entry_point": "f"}))
KINDS: dict[str, Callable[[int], object]] = {
    "small int": lambda _: 3,
    "int": lambda size: 3**size,
    "long int": lambda size: 1 << 40 * size,
    "float": lambda size: 1.0 + 1.0 / size,
    "complex": lambda size: complex(size, 1),
    "infinite": lambda _: complex("inf"),
    "whole fraction": lambda size: Fraction(10**size),
    "fraction": lambda size: Fraction(2**size + 1, 3**size),
    "decimal": lambda size: Decimal("1." + "7" * min(size, 1990)),
    "far decimal": lambda size: Decimal(f"1E+{size * size}"),
    "near decimal": lambda size: Decimal(f"-3E-{size * size}"),
}
BINARY = ["+", "-", "*", "/", "//", "%", "**", "==", "<", "|"]
FOLDS = [
    "sum(f({0})) == 1",
    "sum(f({0}), f({1})[0]) == 1",
    "max(f({0})) == 1",
    "min(f({0})) == 1",
    "sorted(f({0})) == 1",
]
FOLDS += ["f({0}) == f({1})", "f({0}) < f({1})", "f({1})[0] in f({0})", "set(f({0})) == f({1})", "str(f({0})) == ''"]
FOLDS += ["dict(zip(f({0}), f({1}))) == 1", "dict(zip(f({0}), range(3000)))[f({1})[0]] == 1", "all(f({0}))"]
UNARY = [
    "int({})",
    "float({})",
    "complex({})",
    "round({}, 300)",
    "round({})",
    "abs({})",
    "-{}",
    "str({})",
    "{{{}}}",
    "[{}] * 9",
]
SECONDS = 1.0


def spent(text: str, *values: object) -> float:
    """Seconds of CPU that judging takes; `f(n)` gives value n."""
    lifted = lift_assert(f"assert {text}", CONTEXT)
    outcomes = [ItemOutcome(Status.OK, values[call.args[0]]) for call in lifted.calls]  # type: ignore[call-overload]
    began = time.thread_time()
    assert decided(lifted.judge, outcomes) in (Verdict.PASS, Verdict.FAIL)
    return time.thread_time() - began


@pytest.mark.parametrize("size", [200, 5_000, 20_000])
@pytest.mark.parametrize("operator", BINARY)
def test_an_operator_on_any_two_numbers(operator: str, size: int) -> None:
    for left, right in itertools.product(KINDS.values(), repeat=2):
        assert spent(f"(f(0) {operator} f(1)) == 5", left(size), right(size)) < SECONDS


@pytest.mark.parametrize("size", [200, 5_000, 20_000])
def test_a_function_of_any_number(size: int) -> None:
    for text, make in itertools.product(UNARY, KINDS.values()):
        assert spent(f"{text.format('f(0)')} == 5", make(size)) < SECONDS


@pytest.mark.parametrize("fold", FOLDS)
def test_a_fold_over_any_numbers(fold: str) -> None:
    for (left, one), (right, other) in itertools.product(KINDS.items(), repeat=2):
        for many, size in ((3_000, 20), (60, 15_000)):
            values = [one(size + place % 50) if many == 60 else one(size) for place in range(many)]
            mixed = [*values[: many // 2], *[other(size)] * (many // 2)]
            assert spent(fold.format(0, 1), mixed, [other(size)] * many) < 2 * SECONDS, (left, right, many)


@pytest.mark.parametrize("tolerance", [None, 1e-6])
def test_a_long_expected_integer_meets_any_number(tolerance: float | None) -> None:
    for make in KINDS.values():
        for expected, actual in ((1 << 8_000_000, make(5000)), ([1 << 60_000] * 100, [make(5000)] * 100)):
            began = time.thread_time()
            assert not same_value(expected, actual, tolerance)
            assert not same_value({expected: 1} if isinstance(expected, int) else expected, {Decimal(1): 1}, tolerance)
            assert time.thread_time() - began < SECONDS


def test_powers_that_cost_nothing_are_computed() -> None:
    for text, value in (
        ("f(0) ** 2 == 9", 3),
        ("2 ** f(0) == 8", Fraction(3)),
        ("f(0) ** 99999 == -1", -1),
        ("f(0) ** 2 * 100 == 144", Decimal("1.2")),
    ):
        lifted = lift_assert(f"assert {text}", CONTEXT)
        assert lifted.judge([ItemOutcome(Status.OK, value)]) is Verdict.PASS


def test_a_sum_means_what_python_means_by_it() -> None:
    for text, value in (
        ("sum(f(0)) == 1", [Fraction(1, 2), Fraction(1, 3), Fraction(1, 6)]),
        ("sum(f(0)) == 1", [Decimal("0.5"), Decimal("0.5")]),
        ("sum(f(0), []) == [1, 2, 3]", [[1], [2], [], [3]]),
        ("sum(f(0), ()) == (1, 2)", [(1,), (2,)]),
        ("sum(f(0), 1.5) == 1.5", []),
        ("sum(f(0)) == 10 ** 50 + 1.5", [10**50, 1.5]),
    ):
        lifted = lift_assert(f"assert {text}", CONTEXT)
        assert lifted.judge([ItemOutcome(Status.OK, value)]) is Verdict.PASS, text
    with pytest.raises(TypeError, match="strings"):
        lift_assert("assert sum(f(0), '') == ''", CONTEXT).judge([ItemOutcome(Status.OK, ["a"])])
