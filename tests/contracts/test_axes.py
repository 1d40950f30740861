"""Every behaviour axis that the registry finds: declared range, finite values in it, blind to the order of input."""

from __future__ import annotations

import numpy as np
import pytest

from evosyn import registry
from evosyn.evaluators.behaviour import Behaviour, BehaviourAxis
from evosyn.evaluators.criteria import judge
from evosyn.evaluators.draws import ConsistencyConfig, make_draws
from evosyn.records import PassMatrix

NAMES = registry.names("axes")
CONFIG = ConsistencyConfig()


def behaviour(cells: np.ndarray, human: np.ndarray, solutions: np.ndarray, testings: np.ndarray) -> Behaviour:
    draws = make_draws([PassMatrix("p", np.where(cells, "P", "F"), np.where(human, "P", "F"))], CONFIG)
    outcome = judge(draws.blocks[0], solutions[None, :], testings[None, :], CONFIG)
    return Behaviour("def rank(e):\n    return 1, 2\n", draws, (outcome,))


def test_the_default_axes_are_found() -> None:
    assert {"strictness", "pass-count-correlation", "program-size"} <= set(NAMES)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("seed", range(5))
def test_values_are_finite_in_range_and_do_not_depend_on_order(name: str, seed: int) -> None:
    found: BehaviourAxis = registry.factory("axes", name)()
    assert found.axis.name == name
    assert found.axis.low < found.axis.high
    assert found.axis.bins >= 2
    rng = np.random.default_rng(seed)
    cells, human = rng.random((6, 5)) < 0.5, rng.random(6) < 0.5
    solutions, testings = rng.integers(0, 3, 6).astype(float), rng.integers(0, 3, 5).astype(float)
    value = found.measure(behaviour(cells, human, solutions, testings))
    assert found.axis.low <= value <= found.axis.high
    rows, columns = rng.permutation(6), rng.permutation(5)
    moved = behaviour(cells[np.ix_(rows, columns)], human[rows], solutions[rows], testings[columns])
    assert found.measure(moved) == pytest.approx(value)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("fill", [True, False])
def test_a_matrix_that_says_nothing_still_has_a_place(name: str, fill: bool) -> None:
    found: BehaviourAxis = registry.factory("axes", name)()
    value = found.measure(behaviour(np.full((3, 4), fill), np.full(3, fill), np.zeros(3), np.zeros(4)))
    assert found.axis.low <= value <= found.axis.high
