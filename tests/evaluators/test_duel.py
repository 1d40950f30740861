"""Duels: what two strategies chose where they differ, and a program without the terms that earn nothing."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from evosyn.evaluators.card import Card, CardRequest, card_facts, make_card, pruned_file, render
from evosyn.evaluators.consistency import SeedConsistency
from evosyn.evaluators.draws import ConsistencyConfig, make_draws
from evosyn.evaluators.duel import SeedsWon, duels, largest, likeness, told
from evosyn.evaluators.leftovers import without_leftovers
from evosyn.evaluators.pruning import PrunedProgram, prune_terms
from evosyn.records import Candidate, Evaluation, Invalid, PassMatrix
from evosyn.strategies import load_known
from evosyn.strategies.running.sandboxed import SandboxedRunner

Make = Callable[..., PassMatrix]
CONFIG = ConsistencyConfig(M=4, N=3, draws=6)
PLAIN = "def rank(e):\n    return e.passed.sum(1) * 1.0, e.passed.sum(1) @ e.passed * 1.0\n"
PADDED = """def rank(e):
    wins = e.passed.sum(1) * 1.0
    wins += 0 * e.copies
    return wins + 0 * e.copies.sum(), e.passed.sum(1) @ e.passed * 1.0
"""
BACKWARDS = "def rank(e):\n    return -1.0 * e.passed.sum(1), e.passed.sum(1) @ e.passed * 1.0\n"


def clear(name: str, right: int = 3) -> PassMatrix:
    """Right solutions pass everything but the last testing, which takes the last solution only."""
    passed = np.zeros((6, 5), dtype=bool)
    passed[:right, :4] = True
    passed[5, 4] = True
    return PassMatrix(name, np.where(passed, "P", "F"), human_M=np.where(np.arange(6) < right, "P", "F"))


def test_a_duel_names_solutions_and_testings_by_their_place_in_the_whole_matrix(runner: SandboxedRunner) -> None:
    matrices = [clear(f"p{number}") for number in range(4)]
    evaluator = SeedConsistency(runner, matrices, CONFIG, axes=())
    mine, other = evaluator.behaviours([PLAIN, BACKWARDS])
    found = duels(mine, other)
    assert found and all(duel.gap > 0 for duel in found)
    for duel in found:
        matrix = next(one for one in matrices if one.problem_id == duel.problem)
        assert matrix.human_M is not None
        assert duel.mine.right == (matrix.human_M[duel.mine.best] == "P")
        assert duel.other.right == (matrix.human_M[duel.other.best] == "P")
        assert duel.mine.worst_right == (matrix.human_M[duel.mine.worst] == "P")
        assert duel.mine.right and not duel.other.right
        assert (duel.solutions, duel.testings) == (4, 3)
    lines = told(found[0], "mine", "theirs")
    assert lines[0].startswith(f"won {found[0].problem}: ") and f"s{found[0].mine.best}, right, by mine" in lines[1]
    assert all(duel.gap < 0 for duel in duels(other, mine))


def test_draws_know_where_they_were_taken_from(make_matrix: Make) -> None:
    matrix = make_matrix("p", rows=9, columns=7)
    draws = make_draws([matrix], CONFIG)
    for evidence, picked in zip(draws.evidences, draws.picked_E, strict=True):
        assert (evidence.passed_MN == matrix.passed_MN[np.ix_(picked.rows_M, picked.columns_N)]).all()


def test_gains_come_first_then_losses_and_what_is_even_is_left_out() -> None:
    assert largest([0.0, 0.5, -0.2, 0.01, 0.9, -0.6], most=1) == [4, 5]
    assert largest([0.0, 0.5, -0.2, 0.01, 0.9, -0.6]) == [4, 1, 5, 2]
    assert SeedsWon.of([1.0, 0.5, 0.0], [0.0, 0.5, 0.2]) == (1, 1, 1)


def test_likeness_is_that_of_the_rankings_and_not_of_the_scores(runner: SandboxedRunner, make_matrix: Make) -> None:
    evaluator = SeedConsistency(runner, [make_matrix(f"p{at}") for at in range(3)], CONFIG, axes=())
    plain, padded, backwards = evaluator.behaviours([PLAIN, PADDED, BACKWARDS])
    assert likeness(plain, padded) == 1.0
    assert (likeness(plain, backwards) or 0.0) < -0.9
    assert likeness(plain, Invalid("no")) is None and duels(plain, Invalid("no")) == ()


def test_a_rule_that_leaves_solutions_tied_resembles_itself_wholly(runner: SandboxedRunner) -> None:
    level = PassMatrix("level", np.full((6, 5), "P"), human_M=np.array(list("PFPFPF")))
    evaluator = SeedConsistency(runner, [clear("p"), level], CONFIG, axes=())
    plain, backwards = evaluator.behaviours([PLAIN, BACKWARDS])
    assert likeness(plain, plain) == 1.0
    assert likeness(plain, backwards) == pytest.approx(0.0), "opposite on one problem, both tied on the other"


def test_what_is_left_of_a_pruned_program_has_no_line_that_nothing_reads(
    runner: SandboxedRunner, make_matrix: Make
) -> None:
    program = '''"""Weighs copies and a posterior."""

import numpy as np


def helper(e):
    return e.copies * 2


def rank(e):
    """Sums passes and copies."""
    wins = e.passed.sum(1) * 1.0
    extra = helper(e)
    also, rest = extra, 3
    return wins + 0 * (also + also + also + also) * 3, e.passed.sum(1) @ e.passed * 1.0
'''
    matrices = [make_matrix(f"p{index}") for index in range(6)]
    evaluator = SeedConsistency(runner, matrices, ConsistencyConfig(M=8, N=8, draws=3), axes=())
    pruned = prune_terms(evaluator, program)
    assert pruned.removed
    for gone in ("extra", "also", "helper", "import numpy", "copies", "posterior"):
        assert gone not in pruned.text
    (before,), (after,) = (evaluator.evaluate([Candidate(text)]) for text in (program, pruned.text))
    assert after == pruned.evaluation and after.score == before.score


def test_leftovers_are_what_nothing_reads_and_nothing_else() -> None:
    whole = '''def norm(x):
    """Divides by the largest."""
    return x / x.max()


def rank(e):
    """Two sums."""
    a = b = e.passed
    for x in range(3):
        spare = x
    box = [0]
    box[0] = 5
    total = a.sum(1)
    total += 1
    def inner():
        return box
    return norm(total), b.sum(0)
'''
    found = without_leftovers(whole.replace("total += 1", "pass"), whole)
    assert "spare" not in found and "for " not in found and "pass\n" not in found and "Two sums" not in found
    assert all(kept in found for kept in ("Divides by the largest", "a = b = e.passed", "box[0] = 5", "def inner"))
    assert without_leftovers(found, whole) == found


def card_with(held_out: float, whole: float = 0.5) -> Card:
    """A card whose pruned program has this score held out, where the whole has another."""
    seeds, here, there = (
        Evaluation(score=score, per_seed=(score,) * 4, metrics={"testing_balanced_accuracy": 0.5})
        for score in (0.4, whole, held_out)
    )
    return Card(
        name="c_1",
        against="initial",
        text=PADDED,
        ours=seeds,
        theirs=seeds,
        terms=(),
        heldout=here,
        heldout_theirs=here,
        oracles=(1.0, 1.0),
        where=(("abcd", ("",) * 4), ("efgh", ("",) * 4)),
        alike={},
        cost={},
        simulated=False,
        pruned=PrunedProgram(PLAIN, ("wins += 0", "+ 0"), seeds, 20, 40),
        pruned_heldout=there,
    )


def test_a_cut_that_is_worse_held_out_is_told_and_not_offered() -> None:
    worse, level = card_with(0.3), card_with(0.5)
    assert pruned_file(worse) is None and card_facts(worse)["pruned"]["worse"]
    assert "on the seeds but not held out, so it needs them: 0.400 against 0.400" in render(worse)
    assert "held out 0.300 against 0.500" in render(worse)
    said = pruned_file(level)
    assert said is not None and said.endswith(PLAIN) and "Cut down from c_1" in said and "without 2 terms" in said
    assert "held out 0.500 against 0.500" in said and not card_facts(level)["pruned"]["worse"]


def test_a_program_is_pruned_of_what_earns_nothing_and_keeps_what_counts(
    runner: SandboxedRunner, make_matrix: Make
) -> None:
    matrices = [make_matrix(f"p{index}") for index in range(6)]
    evaluator = SeedConsistency(runner, matrices, ConsistencyConfig(M=8, N=8, draws=3), axes=())
    pruned = prune_terms(evaluator, PADDED)
    assert "copies" not in pruned.text and "passed.sum(1)" in pruned.text
    assert len(pruned.removed) >= 2 and pruned.tokens < pruned.tokens_before
    again = prune_terms(evaluator, pruned.text)
    assert again.removed == () and again.text == pruned.text


def test_the_card_says_what_matters_and_whom_it_beats_and_by_what(runner: SandboxedRunner, make_matrix: Make) -> None:
    matrices = [make_matrix(f"p{index}") for index in range(6)]
    config = ConsistencyConfig(M=8, N=8, draws=3)
    request = CardRequest(
        "mine", PADDED, load_known("inverse"), matrices, [make_matrix("h")], against="inverse", parent=BACKWARDS
    )
    card = make_card(runner, request, config)
    facts, shown = card_facts(card), render(card)
    assert facts["pruned"]["removed"] and facts["pruned"]["heldout_score"] == card.pruned_heldout.score
    assert facts["seeds"]["won"] == 6 and len(facts["duels"]) == 3 and facts["parent_duels"]
    assert "Which of its parts matter" in shown and "level with the whole" in shown
    assert "on top: s" in shown and "by inverse accepts" in shown
    assert "terms, each by itself | | within 0.005" in shown
