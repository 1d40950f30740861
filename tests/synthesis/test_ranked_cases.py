"""A synthesis that ranks cases: what is judged is what a row keeps, and strategies are used as they were evolved."""

import asyncio
import json
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evosyn.codec import dump, load
from evosyn.dataset import read_dataset
from evosyn.domains import domain
from evosyn.evaluators.behaviour import behaviour_of
from evosyn.evaluators.columns import ranked_cases
from evosyn.evaluators.draws import ConsistencyConfig, make_draws
from evosyn.journal import Journal
from evosyn.randomness import SeedTree
from evosyn.reading.opening import open_directory
from evosyn.records import PassMatrix, Problem, Ranking, Solution, Testing
from evosyn.running.ledger import Ledger
from evosyn.strategies import EVOLVED_BY, RANKS, unit_of
from evosyn.synthesis.config import SynthesizeConfig
from evosyn.synthesis.instance import Instance, kept_of
from evosyn.synthesis.prune import TOP_FAILS_TOP, PruneConfig, decide
from evosyn.synthesis.shift import Shifts, evolved_on, read_evolved_on
from evosyn.synthesis.stages.reward import MakeReward

ASSERTS = [f"assert f({number}) == 0" for number in range(9)]
CONFIG = SynthesizeConfig.model_validate({"filter": {"reward": {"large": False, "examples": False}}})


class Table:
    """Verdicts of solutions on single asserts, and of testings on what they hold."""

    def __init__(self, letters_MC: np.ndarray) -> None:
        self.letters_MC = letters_MC

    def matrices(self, items):
        return [self.matrix(*item) for item in items]

    def matrix(self, problem, solutions, testings) -> PassMatrix:
        cases = tuple(self.letters_MC[:, [ASSERTS.index(one) for one in each.body["asserts"]]] for each in testings)
        whole = [np.where((one == "P").all(axis=1), "P", "F") for one in cases]
        return PassMatrix(
            problem.problem_id,
            np.stack(whole, axis=1),
            cases_NMC=cases,
            solution_ids=tuple(one.id for one in solutions),
            testing_ids=tuple(one.id for one in testings),
        )


@st.composite
def instances(draw: st.DrawFn) -> tuple[Instance, Table]:
    """A problem that was judged; its testings hold up to four of nine asserts, some of them the same."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    table = Table(rng.choice(list("PPF"), (draw(st.integers(2, 6)), len(ASSERTS))))
    held = [rng.permutation(ASSERTS)[: draw(st.integers(1, 4))].tolist() for _ in range(draw(st.integers(2, 5)))]
    problem = Problem("p", "python-function", "Write f(x).", payload={"entry_point": "f"})
    solutions = tuple(Solution(f"def f(x):\n    return {number}\n") for number in range(len(table.letters_MC)))
    testings = tuple(Testing("asserts", {"asserts": one}) for one in held)
    instance = Instance(
        0, problem, solutions, testings, kept_of(table.matrix(problem, solutions, testings)), unit="case"
    )
    ranked = instance.ranked
    assert ranked is not None
    shape = ranked.verdicts_MN.shape
    scores = [rng.integers(0, draw(st.integers(1, 4)), size).astype(float) for size in shape]
    decision = decide(ranked, Ranking(*scores), PruneConfig(), SeedTree(draw(st.integers(0, 99))), instance.matrix)
    return replace(instance, ranking=Ranking(*scores), decision=decision), table


@settings(max_examples=120, deadline=None)
@given(instances())
def test_the_testing_of_a_row_is_what_the_criteria_ask(tmp_path_factory, case: tuple[Instance, Table]) -> None:
    instance, table = case
    matrix, decision = instance.matrix, instance.decision
    assert matrix is not None and decision is not None and isinstance(instance.ranking, Ranking)
    human = np.where(np.arange(len(matrix.verdicts_MN)) % 2, "P", "F")
    config = ConsistencyConfig(unit="case")
    draws = make_draws([replace(matrix, human_M=human)], config)
    (picked,) = draws.picked_E
    shown = Ranking(instance.ranking[0][picked.rows_M], instance.ranking[1][picked.columns_N])
    outcome = behaviour_of("", draws, [shown], config).outcomes[0]
    judged = {
        tuple(sorted(picked.columns_N[np.flatnonzero(columns_N)].tolist())): p
        for p, columns_N in enumerate(outcome.joined.columns_PN)  # type: ignore[union-attr]
    }
    assert (decision.chosen is None) is (not judged)
    if decision.chosen is None:
        assert decision.reason == TOP_FAILS_TOP and outcome.score_B[0] == 0
        return
    p = judged[tuple(sorted(decision.joined))]
    ledger = Ledger(Journal(tmp_path_factory.mktemp("j") / "j"), Instance)
    domains = {"python-function": domain("python-function")}
    stage = MakeReward(CONFIG, domains, None, ledger, table, None)
    made = asyncio.run(stage.run(instance))
    assert made.reward is not None and made.ended is None
    accepted = dict(zip(picked.rows_M.tolist(), outcome.asked.passed_BMN[p, :, 0].tolist(), strict=True))
    assert [letter == "P" for letter in made.reward.letters] == [accepted[m] for m in range(len(accepted))]
    joined = {json.loads(ranked_cases(matrix)[column].text)["asserts"][0] for column in decision.joined}
    assert set(made.reward.testing.body["asserts"]) == joined
    assert made.decision is not None and made.decision.chosen is not None
    assert made.reward.letters[made.decision.chosen.best] == "P"
    assert made.reward.testings[0] == made.chosen_testing


def test_an_instance_that_ranked_cases_reads_back_as_it_was() -> None:
    table = Table(np.array([list("PPPFFFPFP"), list("FPPFFFPFF")]))
    problem = Problem("p", "python-function", "Write f(x).", payload={"entry_point": "f"})
    testings = (Testing("asserts", {"asserts": ASSERTS[:3]}), Testing("asserts", {"asserts": ASSERTS[2:5]}))
    solutions = (Solution("def f(x):\n    return 0\n"), Solution("def f(x):\n    return 1\n"))
    executed = kept_of(table.matrix(problem, solutions, testings))
    instance = Instance(0, problem, solutions, testings, executed, unit="case")
    again = load(Instance, json.loads(json.dumps(dump(instance))))
    assert again.unit == "case" and again.ranked is not None and instance.ranked is not None
    assert again.ranked.verdicts_MN.tolist() == instance.ranked.verdicts_MN.tolist()
    assert again.ranked.replies_N == ((0,), (0,), (0, 1), (1,), (1,))


def head(*lines: str) -> str:
    return f"# {EVOLVED_BY} 1.0: candidate c_1.\n" + "".join(f"# {line}\n" for line in lines) + "\nx = 1\n"


@pytest.mark.parametrize(
    ("text", "unit"),
    [
        (head(RANKS.format(unit="case")), "case"),
        (head(RANKS.format(unit="testing")), "testing"),
        (head(), "testing"),
        ("x = 1\n", "testing"),
        (f"# {RANKS.format(unit='case')}\n\nx = 1\n", "case"),
        (f'"""Mine.\n\n{RANKS.format(unit="case")}\nIt is short.\n"""\n\nx = 1\n', "case"),
        (f'"""Mine.\n"""\n# {RANKS.format(unit="case")}\n\nx = 1\n', "testing"),
        (head() + f"# {RANKS.format(unit='case')}\n", "testing"),
    ],
)
def test_a_strategy_file_names_what_it_ranks_in_its_head_alone(text: str, unit: str) -> None:
    assert unit_of(text) == unit


def test_a_synthesis_ranks_what_it_is_told_and_names_it_as_a_shift(toy, tmp_path) -> None:
    rng = np.random.default_rng(0)
    run = [PassMatrix(f"p{n}", rng.choice(list("PF"), (6, 6)), rng.choice(list("PF"), 6)) for n in range(12)]
    known = read_evolved_on(json.loads(json.dumps({"evolved_on": evolved_on(run[4:], run[:4], None, None)})))
    assert known is not None and known.unit == "testing"
    toy.inputs = replace(toy.inputs, unit="case", evolved_on=known)
    report = toy.run(tmp_path / "d", SynthesizeConfig(problems=12, solutions=6, testings=6))
    assert report["shift"]["unit"] == {"here": "case", "evolved": "testing"}
    assert "evolve with scoring.unit=case" in report["shift"]["said"][0]
    assert "ranked: single cases" in (tmp_path / "d" / "README.md").read_text()
    reading = open_directory(tmp_path / "d")
    for setting in ("evosyn", "random"):
        rows = list(read_dataset(tmp_path / "d", setting))
        shown = [story.matrix for story in reading.sample(setting, str(len(rows)))]  # type: ignore[attr-defined]
        assert rows and all(one is not None and any(column.chosen for column in one.testings) for one in shown)


def test_sizes_count_replies_whatever_is_ranked() -> None:
    whole = PassMatrix("p", np.array([list("PF"), list("FP")]), np.array(list("PF")))
    cases = replace(whole, verdicts_MN=np.array([list("PFPP"), list("FPPF")]), replies_N=((0,), (0, 1), (1,), (1,)))
    found = [read_evolved_on({"evolved_on": evolved_on([one] * 4, [one] * 2, None, None)}) for one in (whole, cases)]
    assert [(one.drawn, one.pools, one.unit) for one in found if one] == [
        ((2, 2), (2, 2), "testing"), ((2, 2), (2, 2), "case")
    ]  # fmt: skip
    shifts = Shifts(found[1], "case")
    shifts.see(cases)
    assert not [row for row in (shifts.to_json() or {})["said"] if "testings" in row]
