"""What pays for a row: agreed cases of all testings, and only those."""

import asyncio

import numpy as np
import pytest

from evosyn.chat import Reply
from evosyn.domains import domain
from evosyn.journal import Journal
from evosyn.records import PassMatrix, Pool, Problem, Ranking
from evosyn.running.ledger import Ledger
from evosyn.synthesis.config import SynthesizeConfig
from evosyn.synthesis.estimate import Sampled, estimate
from evosyn.synthesis.instance import Instance
from evosyn.synthesis.prune import Choice
from evosyn.synthesis.reward import AgreementConfig, agreed, distinct, top_solutions
from evosyn.synthesis.stages.reward import MakeReward, RankedInstance
from evosyn.teachers.failures import setting

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
    assert top_solutions(matrix(), RANKING, Choice(2, 0)).tolist() == []
    assert distinct(matrix(), [1, 0, 1]) == [1, 0]


@pytest.mark.parametrize("share", [-0.1, 1.1])
def test_a_share_is_one(share):
    with pytest.raises(ValueError, match="mend"):
        AgreementConfig(mend=share)


class Cut:
    """Its replies end in the middle, unless they may be long."""

    name = "cut"

    def __init__(self, enough):
        self.asked, self._enough = [], enough

    async def complete(self, request):
        room = request.params["max_tokens"]
        self.asked.append((request.sample, room))
        text = "```python\ndef build_inputs():\n    return [[[0] * 5]]\n```"
        return Reply(f"r{room}", text, self.name, failure=None if room >= self._enough else "truncated")


@pytest.mark.parametrize(("enough", "cut"), [(100, 0), (16_000, 1), (10**6, 2)])
def test_large_inputs_that_were_cut_are_asked_for_again_with_more_room_and_are_all_accounted_for(tmp_path, enough, cut):
    config = SynthesizeConfig.model_validate({"sampling": {"inputs": {"max_tokens": 4096}}})
    teacher = Cut(enough)
    problem = Problem("p", "python-function", "Write f(xs).", payload={"entry_point": "f"})
    ledger, own = Ledger(Journal(tmp_path / "j"), Instance), domain(problem.domain)
    stage = MakeReward(config, {problem.domain: own}, teacher, ledger, None, None)
    ranked = RankedInstance(Instance(7, problem), Pool(problem, (), ()), own, None, None, None, (0, 1), 0)

    async def make():
        ledger.begin({"kind": "test"})
        return await stage._with_inputs(ranked)

    found = asyncio.run(make())
    assert teacher.asked == [(0, 4096), (1000, 4 * 4096)][: min(cut + 1, 2)]
    assert (found.inputs is None) is (cut == 2)
    assert [one.reason for one in found.instance.rejects] == ["reply-truncated"] * cut
    assert found.instance.usage.calls == len(teacher.asked)
    sampled = Sampled({"problem": (), "solution": (), "testing": ()}, large=True)
    assert estimate(config, sampled, 1)["phases"]["inputs"]["calls_at_most"] == 2 * config.problems
    assert setting("inputs", "max_tokens") == "--set sampling.inputs.max_tokens=..."
