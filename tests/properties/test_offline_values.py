"""Plain values of the offline teacher: damage always shows, counting work never changes a result."""

from __future__ import annotations

import json
import random

from hypothesis import given, settings
from hypothesis import strategies as st
from simulation.author import inside
from simulation.author.fuel import metered
from simulation.author.values import damaged, extreme, is_json, listed, same, varied_arguments

SCALARS = st.none() | st.booleans() | st.integers() | st.floats(-1e6, 1e6) | st.text(max_size=12)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=10,
)


@given(VALUES, st.integers(0, 10**6))
def test_a_damaged_output_is_never_the_same(value, seed):
    assert not same(damaged(value, random.Random(seed)), value)


@given(VALUES)
def test_same_holds_for_a_value_and_for_what_json_makes_of_it(value):
    assert same(value, value)
    assert is_json(value)
    assert same(value, json.loads(json.dumps(value)))


@given(st.lists(VALUES, max_size=4), st.integers(0, 10**6))
def test_varied_arguments_keep_their_number(value, seed):
    new = varied_arguments(value, random.Random(seed))
    assert len(new) == len(value)
    assert is_json(listed(new))


@given(st.lists(VALUES, min_size=1, max_size=4), st.integers(0, 10**6))
def test_extreme_arguments_keep_their_number_and_the_old_ones_stay_as_they_are(value, seed):
    before = json.dumps(value)
    assert len(extreme(value, random.Random(seed))) == len(value)
    assert json.dumps(value) == before


PROGRAM = """
def f(numbers, k):
    total, out = 0, []
    for x in numbers:
        total += x * k
        while total > 50:
            total -= 7
        out = out + [total ** 2 % 11]
    text = "ab" * k
    text += str(sum(y for y in out if y > 3))
    return [total, out, text, {x: x << 2 for x in numbers if x >= 0} and len(set(numbers))]
"""


@settings(max_examples=60)
@given(st.lists(st.integers(-50, 50), max_size=8), st.integers(0, 6))
def test_counting_the_work_does_not_change_the_result(numbers, k):
    plain: dict = {}
    exec(PROGRAM, plain)
    [[kind, value, ticks]] = inside.probe(metered(PROGRAM), "f", [[numbers, k]], [100_000])
    assert kind == "ok"
    assert value == plain["f"](numbers, k)
    assert ticks > len(numbers)


def test_endless_and_growing_programs_run_out_of_fuel():
    endless = "def f(n):\n    while True:\n        n += 1\n"
    growing = "def f(n):\n    while True:\n        n = n * n\n"
    text = "def f(n):\n    s = 'ab'\n    for i in range(n):\n        s += s\n    return len(s)\n"
    power = "def f(n):\n    return n ** n ** n\n"
    for source in (endless, growing, text, power):
        assert [outcome[0] for outcome in inside.probe(metered(source), "f", [[1000]], [5_000])] == ["fuel"], source
