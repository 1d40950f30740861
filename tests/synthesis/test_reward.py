"""What pays for a row: agreed cases of all testings, and only those."""

import numpy as np
import pytest

from evosyn.records import PassMatrix, Ranking
from evosyn.synthesis.prune import Choice
from evosyn.synthesis.reward import AgreementConfig, agreed, distinct, top_solutions

CASES = (
    ["PP", "PP", "PF"],  # the chosen one
    ["PPPP", "PPPP", "FFFF"],  # agrees
    ["PFPP", "PFPP", "PPPP"],  # one of four expectations is wrong
    ["FFP", "FFP", "PPP"],  # two of three are
    ["PF", "FP", "PP"],  # the top is of two minds in each case
    ["PP", "PP", "PP"],  # vacuous
    ["BB", "BB", "BB"],  # broken
)


def matrix() -> PassMatrix:
    columns = [[list(row) for row in testing] for testing in CASES]
    whole = [["P" if set(row) == {"P"} else next(x for x in row if x != "P") for row in testing] for testing in columns]
    return PassMatrix(
        "p",
        np.array(whole, dtype="<U1").T,
        cases_NMC=tuple(np.array(testing, dtype="<U1") for testing in columns),
        groups_M=np.array([0, 1, 2]),
        solution_ids=("a", "b", "c"),
        testing_ids=tuple(f"t{n}" for n in range(len(CASES))),
        meta={"vacuous": [5]},
    )


RANKING = Ranking(np.array([2.0, 2.0, 1.0]), np.array([3.0, 2.0, 9.0, 1.0, 1.0, 1.0, 1.0]))
CHOICE = Choice(0, 0)


def taken(**config: object) -> dict[int, tuple[int, ...]]:
    parts = agreed(matrix(), RANKING, CHOICE, AgreementConfig.model_validate(config))
    assert parts[0].testing == CHOICE.testing
    return {part.testing: part.places for part in parts}


def test_the_cases_that_the_whole_top_passes_are_joined():
    assert taken() == {0: (0, 1), 1: (0, 1, 2, 3), 2: (0, 2, 3)}


def test_a_testing_with_too_many_contradicted_cases_gives_nothing():
    assert 3 not in taken(mend=0.5)
    assert taken(mend=0.7)[3] == (2,)
    assert taken(mend=0.0) == {0: (0, 1), 1: (0, 1, 2, 3)}


def test_the_paper_keeps_the_chosen_testing_alone():
    assert taken(union=False) == {0: (0, 1)}


def test_the_top_are_the_best_that_pass_the_chosen_testing():
    assert top_solutions(matrix(), RANKING, CHOICE).tolist() == [0, 1]
    assert top_solutions(matrix(), RANKING, Choice(2, 0, 2)).tolist() == []
    assert distinct(matrix(), [1, 0, 1]) == [1, 0]


@pytest.mark.parametrize("share", [-0.1, 1.1])
def test_a_share_is_one(share):
    with pytest.raises(ValueError, match="mend"):
        AgreementConfig(mend=share)
