"""Asserts as data: what is lifted, what runs as code, what is broken; and that the white list agrees with Python."""

import ast
import builtins
import collections
import contextlib
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evosyn.domains.python.context import Broken, context_of
from evosyn.domains.python.expressions import NotLiftable
from evosyn.domains.python.lifting import Lifted, lift_assert, lift_program
from evosyn.domains.python.preparing import decided
from evosyn.jobs import Call, ItemOutcome, Status
from evosyn.records import Problem, Verdict

STARTER = '''import math
from typing import List

LIMIT = 10

def helper(x):
    return x + 1

def f(a, b=0):
    """Say what it does."""
'''
CONTEXT = context_of(
    Problem("p", "python-function", "Some text.", payload={"entry_point": "f", "starter_code": STARTER})
)


def judged(lifted: Lifted, outcomes: list[ItemOutcome]) -> Verdict:
    return decided(lifted.judge, outcomes)


def ok(value: object) -> ItemOutcome:
    return ItemOutcome(Status.OK, value)


def test_the_starter_code_gives_its_helpers_but_not_the_entry_point() -> None:
    assert {"math", "List", "LIMIT", "helper"} == set(CONTEXT.names)
    assert "def helper" in CONTEXT.before("assert f(1) == helper(1)")
    assert "def f" not in CONTEXT.before("assert f(1) == helper(LIMIT)")


@pytest.mark.parametrize(
    ("text", "calls", "right", "wrong"),
    [
        ("assert f(1, [2]) == 3", [Call((1, [2]))], [3], [4]),
        ("assert 3 == f(1)", [Call((1,))], [3.0], [None]),
        ("assert f(1, b=2) == (1, 2)", [Call((1,), {"b": 2})], [(1, 2)], [[1, 2]]),
        ("assert f(-1.5, 'a' * 3)", [Call((-1.5, "aaa"))], [[0]], [[]]),
        ("assert not f(1)", [Call((1,))], [0], [1]),
        ("assert f(1) is None", [Call((1,))], [None], [0]),
        ("assert f(1) is True", [Call((1,))], [True], [1]),
        ("assert abs(f(1.33) - 0.33) < 1e-6", [Call((1.33,))], [0.33000001], ["x"]),
        ("assert sorted(f(3)) == [1, 2]", [Call((3,))], [{2, 1}], [5]),
        ("assert f(1) == f(2)", [Call((1,)), Call((2,))], [7, 7], [7, 8]),
        ("assert f(1) == f(2)", [Call((1,)), Call((2,))], [7, 7], [7, 8]),
        ("assert 0 < f(1) <= 5, 'message'", [Call((1,))], [5], [6]),
        ("assert f(1)[0]['k'] == 2", [Call((1,))], [[{"k": 2}]], [[]]),
        ("assert isinstance(f(1), (int, str))", [Call((1,))], ["x"], [1.0]),
        ("assert len(f(range(3)[1])) == 2 and f(2) in (1, 2)", [Call((1,)), Call((2,))], ["ab", 2], ["ab", 3]),
        ("assert f(*[1, 2]) == 3", [Call((1, 2))], [3], [1]),
        ("assert f([i for i in range(3)]) == 3", [Call(python="[[i for i in range(3)]]")], [3], [1]),
        ("assert f([[0]] * 2) == 3", [Call(python="[[[0]] * 2]")], [3], [1]),
        ("assert f([[0], [0]]) == 3", [Call(([[0], [0]],))], [3], [1]),
        ("assert f([(0, 'a')] * 2) == 3", [Call(([(0, "a")] * 2,))], [3], [1]),
        ("assert f(({},) * 2, [0] * 2) == 3", [Call(python="[({},) * 2, [0] * 2]")], [3], [1]),
        ("assert round(f(1), 2) == 0.33", [Call((1,))], [0.333], [0.34]),
        ("assert (f(1) if f(2) else f(3)) == 4", [Call((1,)), Call((2,)), Call((3,))], [5, 0, 4], [5, 1, 4]),
    ],
)
def test_an_assert_over_calls_and_builtins_is_lifted(
    text: str, calls: list[Call], right: list[object], wrong: list[object]
) -> None:
    order = {ast.dump(ast.parse(str(call))): call for call in calls}
    lifted = lift_assert(text, CONTEXT)
    assert sorted(map(str, lifted.calls)) == sorted(map(str, order.values()))
    places = [calls.index(call) for call in lifted.calls]
    assert judged(lifted, [ok(right[place]) for place in places]) is Verdict.PASS
    if wrong:
        assert judged(lifted, [ok(wrong[place]) for place in places]) is Verdict.FAIL


@pytest.mark.parametrize(
    "text",
    [
        "assert f(f(1)) == 1",
        "assert f(helper(1)) == 1",
        "assert math.isclose(f(1), 2)",
        "assert f(1).upper() == 'A'",
        "assert f(1) is 5",
        "assert all(x > 0 for x in f(3))",
        "assert f(**{'a': 1}) == 2",
        "assert f(1, b=[[0]] * 2) == 2",
        "assert f('a' * 10 ** 7) == 1 if helper(1) else 2",
        "assert f(1) == 9 ** 9 ** 9",
        "assert '%10000000d' % 5 == f(1)",
        "x = 1\nassert f(x) == 1",
        "assert (lambda y: y)(f(1))",
    ],
)
def test_what_the_white_list_does_not_cover_runs_as_code(text: str) -> None:
    with pytest.raises(NotLiftable):
        lift_assert(text, CONTEXT)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("assert ____ == f(1)", "undefined name '____'"),
        ("assert f(other) == 1", "undefined name 'other'"),
        ("assert f(1) == ", "does not parse"),
        ("assert f(1) == [1][3]", "raises IndexError by itself"),
        ("assert f(1 / 0) == 1", "raises ZeroDivisionError by itself"),
        ("assert f('\x00')", "does not parse"),
    ],
)
def test_what_cannot_run_is_broken_with_its_reason(text: str, reason: str) -> None:
    with pytest.raises(Broken, match=reason):
        lift_assert(text, CONTEXT)


@pytest.mark.parametrize("status", [status for status in Status if status is not Status.OK])
def test_a_failed_call_decides_only_where_its_value_is_needed(status: Status) -> None:
    lifted = lift_assert("assert f(1) == 1 or f(2) == 2", CONTEXT)
    assert judged(lifted, [ok(1), ItemOutcome(status)]) is Verdict.PASS
    assert judged(lifted, [ok(0), ItemOutcome(status)]) is not Verdict.PASS


def test_a_check_with_nothing_but_asserts_is_lifted() -> None:
    code = "METADATA = {'author': 'x'}\ndef check(candidate):\n    'doc'\n    assert candidate(1) == 2\n    assert f(2)"
    assert [lifted.calls for lifted in lift_program(code, CONTEXT)] == [(Call((1,)),), (Call((2,)),)]


@pytest.mark.parametrize(
    "code",
    [
        "def check(candidate):\n    for i in range(3):\n        assert candidate(i) == i",
        "def check(candidate):\n    x = [1]\n    assert candidate(x) == 1",
        "import os\nos.environ['A'] = 'b'\ndef check(candidate):\n    assert candidate(1)",
        "VALUE = 5\ndef check(candidate):\n    assert candidate(VALUE) == 1",
        "check = lambda candidate: None",
        "def check(candidate, other=1):\n    assert candidate(1)",
        "def check(candidate):\n    sorted = 1\n    assert candidate(1)",
    ],
)
def test_a_check_that_does_more_runs_as_code(code: str) -> None:
    with pytest.raises(NotLiftable):
        lift_program(code, CONTEXT)


def test_a_program_without_check_is_broken() -> None:
    with pytest.raises(Broken, match="does not define check"):
        lift_program("def test(candidate):\n    pass", CONTEXT)


@pytest.mark.parametrize(
    "text", ["f(1) == f(1)", "f() == 1 and f() == 2", "f([1]) is not f([1])", "f(1) == f(1.0) == f(1)"]
)
def test_an_assert_that_makes_a_call_twice_runs_as_code_since_the_answers_may_differ(text: str) -> None:
    with pytest.raises(NotLiftable, match="twice"):
        lift_assert(f"assert {text}", CONTEXT)


def test_a_builtin_that_the_problem_defines_anew_is_not_taken_for_the_builtin() -> None:
    context = context_of(
        Problem(
            "p",
            "python-function",
            "x",
            payload={"entry_point": "f", "starter_code": "def sorted(x):\n    return 1\n\ndef f(a): pass\n"},
        )
    )
    with pytest.raises(NotLiftable):
        lift_assert("assert sorted(f(1)) == 1", context)


@pytest.mark.parametrize(
    "text",
    [
        "assert f('a' * 10 ** 12)",
        "assert f([0] * 10 ** 9)",
        "assert f([[0] * 1000000] * 1000000)",
        "assert f(range(10 ** 18))",
        "assert f(list(range(10 ** 9)))",
        "assert f(10 ** 10 ** 10)",
        "assert f(round(5, -10 ** 9))",
        "assert f(" + "-" * 5000 + "1)",
        "assert f(" + "[" * 150 + "]" * 150 + ")",
        "assert f(" + "+".join(["1"] * 20000) + ")",
        "assert f(" + ".a" * 20000 + ")",
    ],
)
def test_a_testing_cannot_blow_up_our_process(text: str) -> None:
    began = time.monotonic()
    with contextlib.suppress(NotLiftable, Broken):
        lift_assert(text, CONTEXT)
    assert time.monotonic() - began < 5


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("assert f(1) * f(2) == 0", [0] * 10_000),
        ("assert f(1) ** f(2) == 0", 10**4000),
        ("assert f(1) % 3 == 0", "%1000000000d"),
        ("assert 'a' * f(1) == ''", 10**12),
        ("assert len(set(f(1))) == 0", [n * (2**61 - 1) for n in range(100_000)]),
        ("assert round(1.5, f(1)) == 0", -(10**9)),
        ("assert list(range(f(1))) == 0", 10**12),
        ("assert sum(f(1)) == 0", [[]] * 100_000),
        ("assert str(f(1)) == ''", 10**100_000),
    ],
    ids=range(9),
)
def test_a_returned_value_cannot_blow_up_our_process(text: str, value: object) -> None:
    lifted = lift_assert(text, CONTEXT)
    began = time.monotonic()
    assert judged(lifted, [ok(value)] * len(lifted.calls)) is Verdict.FAIL
    assert time.monotonic() - began < 5


literals = st.recursive(
    st.none() | st.booleans() | st.integers(-1000, 1000) | st.floats(allow_nan=False, width=32) | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3) | st.tuples(inner, inner) | st.dictionaries(st.text(max_size=3), inner, max_size=2)
    ),
    max_leaves=5,
)  # fmt: skip
templates = st.sampled_from(
    [
        "f(1) == {}", "{} == f(1)",
        "f(1) != {}", "f(1) in [{}, 1]", "len(f(1)) == 2", "sorted(f(1)) == {}", "f(1) < {}",
        "not f(1)", "f(1)", "abs(f(1) - {}) < 1e-6", "f(1) + {} == {}", "f(1)[0] == {}", "set(f(1)) == set({})",
        "str(f(1)) == str({})", "f(1) is None", "isinstance(f(1), (int, list))", "f(1) and {}", "max(f(1), {}) == {}",
        "list(zip(f(1), {})) == []",
        "f(1) if {} else not f(2)", "sum(f(1)) == {}", "f(1)[:1] == {}", "round(f(1)) == {}",
    ]
)  # fmt: skip


@settings(max_examples=300, deadline=None)
@given(template=templates, literal=literals, value=literals)
def test_a_lifted_assert_agrees_with_python(template: str, literal: object, value: object) -> None:
    test = template.replace("{}", repr(literal))
    try:
        expected = Verdict.PASS if eval(test, {"f": lambda _: value, "__builtins__": builtins}) else Verdict.FAIL
    except Exception:  # noqa: BLE001 - whatever Python raises is a failed assert here
        expected = Verdict.FAIL
    try:
        lifted = lift_assert(f"assert {test}", CONTEXT)
    except Broken:
        assert expected is Verdict.FAIL or "{}" not in template or "if" in template
        return
    assert judged(lifted, [ok(value) for _ in lifted.calls]) is expected


@settings(max_examples=300, deadline=None)
@given(text=st.text(max_size=80) | st.text(alphabet="f(1)=[]{}:,.'\"+-*/ \nassert", max_size=60))
def test_arbitrary_text_is_lifted_refused_or_broken_but_never_raises_else(text: str) -> None:
    for lift in (lift_assert, lift_program):
        with contextlib.suppress(NotLiftable, Broken):
            lift(text, CONTEXT)


@pytest.mark.parametrize(
    ("code", "is_broken"),
    [
        ("def check(c):\n    x = c(1)\n    c(lambda: 1)", True),
        ("def g(): pass\ndef check(c):\n    for x in f(1): f(b=g)", True),
        ("def check(c):\n    x = c(1)\n    c(list(map(lambda y: y, [1])))", False),
        ("def g(): pass\ndef check(c):\n    g = c(1)\n    c(g)", False),
        ("def g(): pass\ndef check(c):\n    def h(g): c(g)\n    h(1)", False),
        ("def g(): pass\ndef check(c):\n    x = g(lambda: 1)", False),
    ],
)
def test_a_testing_that_gives_a_function_of_its_own_is_broken_for_every_program(code: str, is_broken: bool) -> None:
    with pytest.raises(Broken if is_broken else NotLiftable) as caught:
        lift_program(code, CONTEXT)
    assert not is_broken or "line " in str(caught.value)


def test_an_assert_that_asks_for_a_missing_key_changes_no_value() -> None:
    outcome = ok(collections.defaultdict(list))
    for text in ("f(1)['q'] == []", "f(1) == {}", "'q' not in f(1)"):
        assert judged(lift_assert(f"assert {text}", CONTEXT), [outcome]) is Verdict.PASS
