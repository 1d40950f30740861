"""What every behaviour axis must keep to: a declared range, finite values in it, blind to the order of its input."""

from __future__ import annotations

import math

import numpy as np

from evosyn.contracts.base import PluginContract
from evosyn.evaluators.behaviour import Behaviour, BehaviourAxis
from evosyn.evaluators.criteria import judge
from evosyn.evaluators.draws import ConsistencyConfig, make_draws
from evosyn.records import PassMatrix

CONFIG = ConsistencyConfig()
PROGRAM = "def rank(e):\n    return 1, 2\n"


class AxisContract(PluginContract):
    """Subclass it, and set `create`."""

    kind = "axes"

    def test_its_range_is_declared_and_the_same_each_time(self) -> None:
        axis = self.make().axis
        assert axis == self.make().axis, "axis: its range is declared once, never taken from what is seen"
        assert axis.name and axis.low < axis.high and axis.bins >= 2, f"axis: {axis}: name, low < high, 2 bins or more"

    def test_values_are_finite_and_in_range_and_do_not_depend_on_order(self) -> None:
        found: BehaviourAxis = self.make()
        for seed in range(5):
            rng = np.random.default_rng(seed)
            cells, human = rng.random((6, 5)) < 0.5, rng.random(6) < 0.5
            solutions, testings = rng.integers(0, 3, 6).astype(float), rng.integers(0, 3, 5).astype(float)
            value = in_range(found, behaviour(cells, human, solutions, testings))
            rows, columns = rng.permutation(6), rng.permutation(5)
            moved = behaviour(cells[np.ix_(rows, columns)], human[rows], solutions[rows], testings[columns])
            same = math.isclose(found.measure(moved), value, rel_tol=1e-6, abs_tol=1e-12)
            assert same, f"measure: {value}, and {found.measure(moved)} with solutions and testings in another order"

    def test_a_matrix_that_says_nothing_still_has_a_place(self) -> None:
        for fill in (True, False):
            in_range(self.make(), behaviour(np.full((3, 4), fill), np.full(3, fill), np.zeros(3), np.zeros(4)))


def in_range(found: BehaviourAxis, seen: Behaviour) -> float:
    """The value, which is a number in the range of its axis."""
    value = found.measure(seen)
    assert found.axis.low <= value <= found.axis.high, f"measure: {value} is outside of {found.axis}"
    return value


def behaviour(cells: np.ndarray, human: np.ndarray, solutions: np.ndarray, testings: np.ndarray) -> Behaviour:
    """One strategy that gave these scores on one problem, shapes (M, N), (M,), (M,), (N,)."""
    draws = make_draws([PassMatrix("p", np.where(cells, "P", "F"), np.where(human, "P", "F"))], CONFIG)
    (picked,) = draws.picked_E
    outcome = judge(draws.blocks[0], solutions[None, picked.rows_M], testings[None, picked.columns_N], CONFIG)
    return Behaviour(PROGRAM, draws, (outcome,))
