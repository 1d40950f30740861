"""What a model is told of the data and of a parent: true, changing with the proposal's number, and quick to read."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from evosyn.evaluators.briefing import JOINED, SHOWN, Briefer
from evosyn.evaluators.consistency import SeedConsistency
from evosyn.evaluators.draws import ConsistencyConfig
from evosyn.evaluators.heldout import shown_tasks
from evosyn.evaluators.notes import FirstDraws, read_note
from evosyn.evaluators.views import searched
from evosyn.ports import ProposalContext, StrategyRunner, Told
from evosyn.records import Candidate, Elite, Evaluation, Invalid, PassMatrix
from evosyn.strategies import known_names, known_rules, load_known
from evosyn.strategies.genome import StrategyGenome
from evosyn.strategies.known import CONTROLS
from evosyn.strategies.running._harness import ALLOWED, READERS
from evosyn.synthesis.search.config import EvolveConfig
from evosyn.synthesis.search.strategies import DIRECTIONS
from evosyn.synthesis.search.winner import started_from

GOLDEN = Path(__file__).parents[1] / "golden" / "prompts"
NAMES = ("initial", "exclusion", "codet_gap")


@pytest.fixture(scope="module")
def evaluator(runner: StrategyRunner, make_matrix: Callable[..., PassMatrix]) -> SeedConsistency:
    matrices = [replace(make_matrix(f"p{number}", noise=0.35), values_NMC=None) for number in range(6)]
    texts = {"solution_texts": tuple(f"def f(x):\n    return {n}\n" for n in range(12)), "testing_texts": ("{}",) * 10}
    matrices[0] = replace(matrices[0], **texts, copies_M=np.arange(12) + 1)
    return SeedConsistency(runner, matrices, ConsistencyConfig(unit="testing", M=8, N=6, draws=3))


@pytest.fixture(scope="module")
def elites(evaluator: SeedConsistency) -> list[Elite]:
    candidates = [Candidate(load_known(name), detail={"name": name}) for name in NAMES]
    return [Elite(one, found) for one, found in zip(candidates, evaluator.evaluate(candidates), strict=True)]


def context(elites: list[Elite], index: int, **changes: object) -> ProposalContext:
    parent, *others = elites
    reached = tuple(np.max([one.evaluation.per_seed for one in elites], axis=0).tolist())
    given: dict[str, object] = {"top": tuple(others), "start": tuple(elites), "reached": reached, **changes}
    return ProposalContext(index, 7, parent, **given)  # type: ignore[arg-type]


def briefed(evaluator: SeedConsistency, elites: list[Elite], index: int, **changes: object) -> Told:
    briefer = Briefer(evaluator.draws, evaluator.oracle_E, DIRECTIONS.splitlines())
    return briefer.brief(context(elites, index, **changes))


def shown(brief: Told) -> list[str]:
    return re.findall(r"^## Problem (\w+):", "\n".join(brief.evidence), re.M)


def test_what_a_model_is_told_of_a_strategy_does_not_change(evaluator: SeedConsistency, elites: list[Elite]) -> None:
    """Stored replies are found by these texts."""
    brief = briefed(evaluator, elites, 0, before=(1.0,) * 6)
    said = "\n".join([*brief.data, "", *brief.evidence, "", brief.direction, ""])
    assert said == (GOLDEN / "strategy.brief.md").read_text()


def test_a_strategy_that_is_invalid_here_is_told_with_no_score(evaluator: SeedConsistency, elites: list[Elite]) -> None:
    invalid = Elite(Candidate("x = 1", detail={"name": "mbr"}), Evaluation(None, invalid="reads what is unknown here"))
    brief = briefed(evaluator, elites, 0, start=(*elites, invalid))
    assert any("exclusion 0" in line for line in brief.data) and "mbr" not in "".join(brief.data)


def test_the_problems_and_the_direction_change_with_the_number_alone(
    evaluator: SeedConsistency, elites: list[Elite]
) -> None:
    briefs = [briefed(evaluator, elites, index) for index in range(8)]
    assert briefs == [briefed(evaluator, elites, index) for index in range(8)]
    assert len({tuple(shown(brief)) for brief in briefs}) == 2, "two of six may be shown, in either order"
    assert {name for brief in briefs for name in shown(brief)} == shown_tasks(evaluator.draws.problem_ids)
    assert len({brief.direction for brief in briefs}) == 8
    assert all(0 < len(shown(brief)) <= SHOWN and len(set(shown(brief))) == len(shown(brief)) for brief in briefs)


def test_a_problem_that_no_program_has_won_is_not_shown(evaluator: SeedConsistency, elites: list[Elite]) -> None:
    names = evaluator.draws.problem_ids
    for index in range(12):
        brief = briefed(evaluator, elites, index, reached=(0.0, 0.0, 0.0, 1.0, 1.0, 1.0))
        assert not set(shown(brief)) & set(names[:3])
        assert "On 3 of them no program so far got anything" in brief.evidence[0]


def test_another_program_is_named_where_it_is_better_and_did_something_else(
    evaluator: SeedConsistency, elites: list[Elite]
) -> None:
    told = 0
    for index in range(12):
        for part in "\n".join(briefed(evaluator, elites, index).evidence).split("## Problem ")[1:]:
            if "- program" in part:
                told += 1
                mine, theirs = re.findall(r"^- (?:this program|program [AB]): (.*)$", part, re.M)
                scores = [float(one) for one in re.findall(r"(?:score|program [AB]) ([\d.]+)", part.split("\n")[0])]
                assert mine != theirs
                assert scores[1] > scores[0]
    assert told


def test_without_notes_as_in_journals_of_earlier_versions_the_feedback_is_left_to_speak(
    evaluator: SeedConsistency, elites: list[Elite]
) -> None:
    old = [Elite(one.candidate, replace(one.evaluation, notes=())) for one in elites]
    assert briefed(evaluator, old, 0).evidence == ()
    mixed = [elites[0], *old[1:]]
    assert "program A:" not in "\n".join(briefed(evaluator, mixed, 0).evidence)


def test_the_data_say_what_is_there_and_what_is_not(evaluator: SeedConsistency, elites: list[Elite]) -> None:
    text = "\n".join(briefed(evaluator, elites, 0).data)
    for part in ("6 problems, 8 x 6", "copies go up to 12", "texts of solutions and testings are there",
                 "values is None", "calls is None", "durations are all 0", "initial 0."):  # fmt: skip
        assert part in text, part
    assert f"could have is {evaluator.oracle:.3f}" in text


def test_a_model_is_told_of_problems_that_count_again_from_other_sides_and_shown_each_from_one(
    runner: StrategyRunner, make_matrix: Callable[..., PassMatrix]
) -> None:
    problems = [make_matrix(name) for name in "abc"]
    scoring = ConsistencyConfig(unit="testing", M=4, N=6, draws=4)
    evaluator = SeedConsistency(runner, searched(problems, 4), scoring)
    candidates = [Candidate(load_known(name), detail={"name": name}) for name in ("inverse", "codet")]
    parent, other = map(Elite, candidates, evaluator.evaluate(candidates))
    recorded = SeedConsistency(runner, problems, scoring)
    alone = briefed(recorded, list(map(Elite, candidates, recorded.evaluate(candidates))), 0).data[0]
    alone = alone.partition(" The best")[0]
    for index in range(6):
        brief = briefed(evaluator, [parent, other], index)
        size, of_evidence = brief.data[:2]
        assert size.startswith("3 problems, 4 x 6 solutions and testings, 4 draws each")
        assert (
            size
            == briefed(SeedConsistency(runner, problems, scoring), [parent, other], 0)
            .data[0]
            .replace(f"could have is {evaluator.oracle:.3f}", size[-6:-1])
            or f"could have is {evaluator.oracle:.3f}" in size
        )
        assert "values are there" in of_evidence and "3 problems count once more without texts" in of_evidence
        assert "count once more with right solutions only" in of_evidence
        assert "Of 3 problems it gets" in brief.evidence[0]
        assert len({name.partition(" (")[0] for name in shown(brief)}) == len(shown(brief))


def test_a_note_says_who_stands_first_and_last(evaluator: SeedConsistency, runner: StrategyRunner) -> None:
    text = load_known("codet_gap")
    (rankings,) = runner.rank([text], evaluator.draws.evidences)
    assert not isinstance(rankings, Invalid)
    behaviour, first = evaluator.behaviour(text, rankings), FirstDraws(evaluator.draws)
    for problem, text in enumerate(first.notes(behaviour)):
        place = first.place(problem)
        note = read_note(text, 8, 6)
        assert note is not None
        solutions = behaviour.outcomes[0].solution_ranks_BM[place.row]
        assert np.array_equal(note.top_M, solutions == 0)
        assert np.array_equal(note.last_M, solutions == solutions.max())
        assert np.array_equal(note.chosen_N, behaviour.outcomes[0].testing_ranks_BN[place.row] == 0)
    assert read_note("00 00", 8, 6) is read_note("zz 00 00", 8, 6) is read_note("0000 00 00", 8, 6) is None


def test_the_contract_names_all_that_evidence_has_and_all_that_may_be_imported() -> None:
    task = StrategyGenome().task
    words = set(re.findall(r"\w+", task))
    assert set(READERS) - {"replies"} <= words, "`replies` says something where cases are ranked, and is told of there"
    assert "replies" in JOINED
    assert set(ALLOWED) - {"__future__", "random"} <= words


def test_directions_need_only_what_a_briefer_looks_for(evaluator: SeedConsistency) -> None:
    needs = {line.partition(": ")[0] for line in DIRECTIONS.splitlines()}
    known = {"always", "cases", "copies", "durations", "groups", "texts", "statement", "calls", "values", "verdicts",
             "similarity", "logprobs"}  # fmt: skip
    assert needs <= known
    assert Briefer(evaluator.draws, evaluator.oracle_E, ["x: y"]).present <= known


def test_a_search_begins_with_all_that_is_known_unless_told_otherwise() -> None:
    def started(arms: dict[str, float], **more: object) -> tuple[str, ...]:
        return tuple(started_from(EvolveConfig.model_validate({"proposers": {"arms": arms}, **more})))

    assert started({"genetic": 1.0}) == started({"diff": 1.0}) and started({"diff": 1.0})[0] == "initial"
    assert sorted(started({"diff": 1.0})) == sorted(known_rules()) == sorted({*known_names()} - {*CONTROLS})
    assert started({"diff": 1.0}, start=["codet", "gap"])[:2] == ("codet", "gap")
    assert started({"diff": 1.0}, start=["codet", "gap"], known=False) == ("codet", "gap")
    assert started({"diff": 1.0}, engine="openevolve") == ("initial",)
