"""A synthesis whose matrices are unlike those of the search is told so, and what to do; one of the same kind is not."""

import json
from dataclasses import replace

import numpy as np
import pytest

from evosyn.origins import Origin
from evosyn.reading.conclusions import of_synthesis
from evosyn.records import PassMatrix
from evosyn.synthesis.shift import Shifts, evolved_on, read_evolved_on, traits_of


def matrices(seed: int, count: int, right: float, m: int = 8, n: int = 8, wrong: float = 0.15) -> list[PassMatrix]:
    """Pools of a model that is right so often; its testings let a wrong solution pass now and then."""
    found = []
    for number in range(count):
        rng = np.random.default_rng((seed, number))
        share = np.clip(right + rng.normal(0, 0.2), 0.02, 0.98)
        good_M = rng.random(m) < share
        passed = np.where(good_M[:, None], rng.random((m, n)) < 0.9, rng.random((m, n)) < wrong)
        found.append(PassMatrix(f"p{number}", np.where(passed, "P", "F"), np.where(good_M, "P", "F")))
    return found


def shift(
    here: list[PassMatrix],
    *,
    m: int | None = 8,
    n: int | None = 8,
    seed: int = 1,
    problems: int = 40,
    heldout: int = 16,
) -> dict:
    run = matrices(seed, problems, 0.4)
    report = json.loads(json.dumps({"evolved_on": evolved_on(run[heldout:], run[:heldout], m, n)}))
    shifts = Shifts(read_evolved_on(report))
    for matrix in here:
        shifts.see(matrix)
    found = shifts.to_json()
    assert found is not None
    return found


def beyond(found: dict) -> set[str]:
    return {name for name, row in found["traits"].items() if row["beyond"]}


@pytest.mark.parametrize(
    ("problems", "heldout", "here"), [(40, 16, 30), (40, 16, 16), (40, 16, 1), (10, 4, 4), (10, 4, 1)]
)
def test_pools_of_the_same_kind_are_called_shifted_as_rarely_as_was_promised(problems, heldout, here):
    """5 in 100, whatever the search had seen and however few problems there are."""
    pairs = [(seed, matrices(1000 + seed, here, 0.4)) for seed in range(100, 200)]
    alarms = [beyond(shift(some, seed=seed, problems=problems, heldout=heldout)) for seed, some in pairs]
    assert sum(map(bool, alarms)) <= 12


@pytest.mark.parametrize(("drawn", "said"), [((8, 8), False), ((8, 7), True), ((9, 8), True), ((4, 16), True)])
def test_another_number_of_solutions_or_testings_is_told_before_they_are_drawn(drawn, said):
    run = matrices(1, 40, 0.4)
    known = read_evolved_on(json.loads(json.dumps({"evolved_on": evolved_on(run[:24], run[24:], 8, 8)})))
    assert known is not None
    told = known.unlike(*drawn)
    assert bool(told) is said
    assert not said or (f"{drawn[0]} solutions" in told and "evolved on 8 and 8" in told and f"-M {drawn[0]}" in told)


def test_pools_of_a_stronger_model_are_told_with_the_range_that_chance_explains_and_what_to_do():
    found = shift(matrices(7, 30, 0.9))
    assert {"pass_share", "strictness", "solutions_agree"} <= beyond(found)
    row = found["traits"]["pass_share"]
    assert row["here"] > row["high"] > row["evolved"] > row["low"]
    said = "\n".join(found["said"])
    assert f"passes {row['here']:g} here, {row['evolved']:g} there (by chance {row['low']:g}" in said
    assert "evosyn evolve OLD NEW" in said and "evosyn score" in said


def test_what_is_like_one_pool_of_a_search_over_several_is_not_called_shifted():
    def of_pool(found, name):
        return [replace(one, problem_id=f"{name}/{one.problem_id}", origin=Origin(name)) for one in found]

    weak, strong = of_pool(matrices(1, 40, 0.25), "weak"), of_pool(matrices(2, 40, 0.9), "strong")
    run = [one for pair in zip(weak, strong, strict=True) for one in pair]
    known = read_evolved_on(json.loads(json.dumps({"evolved_on": evolved_on(run[:48], run[48:], 8, 8)})))

    def told(right, seed):
        shifts = Shifts(known)
        for one in matrices(seed, 30, right):
            shifts.see(one)
        return beyond(shifts.to_json())

    for right in (0.25, 0.9):
        assert sum(bool(told(right, seed)) for seed in range(100, 120)) <= 5, "they were all, by the means of both"
    assert all(told(0.02, seed) for seed in range(100, 105))


def test_testings_that_all_say_the_same_are_a_shift_where_as_many_pass_as_before():
    here = [replace(one, verdicts_MN=one.verdicts_MN[:, :1].repeat(8, axis=1)) for one in matrices(7, 30, 0.4)]
    found = beyond(shift(here))
    assert "testings_agree" in found and "pass_share" not in found


def test_fewer_solutions_and_testings_than_in_a_draw_are_told():
    found = shift(matrices(7, 30, 0.4, m=4, n=5))
    assert {"solutions", "testings"} <= beyond(found)
    assert "evolve with -M 4 -N 5" in found["said"][-1]
    assert not beyond(shift(matrices(100, 30, 0.4), m=None, n=None)) & {"solutions", "testings"}


def test_traits_are_what_they_are_called():
    matrix = PassMatrix("p", np.array([list("PPF"), list("PFF"), list("PFU")]), None)
    found = traits_of(matrix)
    assert found.pass_share == pytest.approx(4 / 9, abs=1e-4)
    assert found.strictness == pytest.approx(2 / 3, abs=1e-4)
    assert found.solutions_agree == pytest.approx((2 / 3 + 2 / 3 + 1) / 3, abs=1e-4)
    assert found.testings_agree == pytest.approx((1 / 3 + 0 + 2 / 3) / 3, abs=1e-4)


def test_of_a_strategy_that_no_search_made_nothing_is_known():
    shifts = Shifts(None)
    shifts.see(matrices(1, 1, 0.5)[0])
    assert shifts.to_json() is None and read_evolved_on({}) is None


def test_inspect_and_the_page_tell_it_among_the_reasons():
    report = {"settings": {"evosyn": {"kept": 1, "dropped": {}}}, "asked": 1, "shift": shift(matrices(7, 30, 0.9))}
    report |= {"lacking": None, "unusable_replies": {}}
    told = of_synthesis(report, {"strategy": "s_1", "strategy_from": "runs/a"}, 1).why
    assert any(line.startswith("These matrices are unlike") for line in told)
