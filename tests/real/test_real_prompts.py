"""The figures of `benchmarks/real_prompts.py` are those of a pool that was counted by hand."""

from __future__ import annotations

import pytest
from real_prompts import judged, of_pools

from evosyn.records import Pool, Problem, Solution, Testing
from evosyn.workbench import Workbench

RIGHT, OTHER, WRONG = "def f(x):\n    return 2 * x\n", "def f(x):\n    return x + x\n", "def f(x):\n    return x + 2\n"


def pool(name: str, solutions: list[str], *testings: list[str], reference: str = RIGHT) -> Pool:
    human = Testing("asserts", {"asserts": ["assert f(3) == 6", "assert f(2) == 4"]})
    problem = Problem(name, "python-function", f"Twice x ({name}).", {"entry_point": "f"}, human, reference)
    made = tuple(Testing("asserts", {"asserts": asserts}) for asserts in testings)
    return Pool(problem, tuple(map(Solution, solutions)), made)


def test_cases_solutions_and_the_choice_over_cases_are_counted() -> None:
    right, also, wrong = "assert f(5) == 10", "assert f(0) == 0", "assert f(4) == 6"
    pools = [
        pool("clear", [RIGHT, OTHER, WRONG], [right, also], [also, wrong]),
        pool("misled", [RIGHT, WRONG, WRONG], [wrong]),
        pool("untested", [RIGHT, WRONG]),
        pool("hopeless", [WRONG], [right]),
        pool("unsound", [RIGHT], [right], reference=WRONG),
    ]
    with Workbench() as workbench:
        found = judged(pools, workbench)
    assert [one.name for one in found] == ["clear", "misled", "untested", "hopeless"]
    assert [one.chosen for one in found] == [1.0, 0.0, 0.5, 0.0]
    figures = of_pools(found, len(pools))
    assert figures["without_a_sound_reference"] == 1
    assert figures["right_cases"] == pytest.approx(4 / 6, abs=1e-3)
    assert figures["wholly_right"] == 0.5 and figures["right_solutions"] == pytest.approx(4 / 9, abs=1e-3)
    assert (figures["oracle"], figures["codet_over_cases"]) == (0.75, 0.375)
    assert figures["closed"] == pytest.approx((1 / 3 - 1 / 3) / 1.5, abs=1e-3)
