"""Terms and cards: what leaving a term out does, and what the card says."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Callable

from evosyn.evaluators.ablation import ablate_k
from evosyn.evaluators.card import CardRequest, make_card, render
from evosyn.evaluators.draws import ConsistencyConfig
from evosyn.evaluators.terms import MOST, variants
from evosyn.records import PassMatrix
from evosyn.strategies import known_names, load_known
from evosyn.strategies.grammar.openings import OPENINGS
from evosyn.strategies.grammar.source import read, write
from evosyn.strategies.running.sandboxed import SandboxedRunner

Make = Callable[..., PassMatrix]
CONFIG = ConsistencyConfig(M=8, N=8, draws=3)


def test_each_side_of_an_operation_is_left_out_once() -> None:
    found = {variant.removed: variant.text for variant in variants("y = a + b * c - d\n")}
    assert found == {
        "(a + b * c) -": "y = -d",
        "- d": "y = a + b * c",
        "+ (b * c)": "y = a - d",
        "a +": "y = b * c - d",
        "* c": "y = a + b - d",
        "b *": "y = a + c - d",
    }


def test_branches_and_updates_are_terms_and_divisors_stay_below_the_line() -> None:
    program = "import numpy as np\nx = np.where(c, a / n, b)\nx += 1\n"
    found = {variant.removed: variant.text.splitlines()[1:] for variant in variants(program)}
    assert found["where c: a / n"] == ["x = b", "x += 1"]
    assert found["where not c: b"] == ["x = a / n", "x += 1"]
    assert found["x += 1"] == ["x = np.where(c, a / n, b)", "pass"]
    assert found["/ n"] == ["x = np.where(c, a, b)", "x += 1"]
    assert "a /" not in found


def test_every_variant_of_every_known_strategy_parses_and_differs() -> None:
    for name in known_names():
        text = load_known(name)
        found = variants(text)
        assert len({variant.text for variant in found}) == len(found) <= MOST
        for variant in found:
            assert ast.dump(ast.parse(variant.text)) != ast.dump(ast.parse(text))


def test_a_genetic_program_is_cut_as_a_tree_and_told_in_words(runner: SandboxedRunner, make_matrix: Make) -> None:
    text = write(OPENINGS["agreement-gap"])
    found = variants(text)
    assert {variant.where for variant in found} == {"solutions"}
    assert all(read(variant.text) is not None for variant in found)
    assert any(variant.removed.endswith("only passed.mean(axis=1)") for variant in found)
    shown = render(make_card(runner, CardRequest("mine", text, load_known("initial"), [make_matrix("p")]), CONFIG))
    assert "Solutions are ranked by `same(passed).mean(axis=1) * passed.mean(axis=1)`" in shown
    assert "`gap`: For each column" in shown


def test_what_does_not_parse_has_no_terms() -> None:
    assert variants("def rank(:") == []


def test_a_useless_term_is_worth_nothing_and_a_vital_one_something(runner: SandboxedRunner, make_matrix: Make) -> None:
    text = "def rank(e):\n    return e.passed.sum(1) + 0 * e.copies, e.passed.sum(1) @ e.passed * 1.0\n"
    matrices = [make_matrix(f"p{index}") for index in range(6)]
    request = CardRequest("mine", text, load_known("inverse"), matrices, heldout=[make_matrix("h")], against="inverse")
    card = make_card(runner, request, CONFIG)
    worth = {term.variant.removed: term.gain for term in card.terms}
    assert worth["+ (0 * e.copies)"] == 0.0
    assert (worth["e.passed.sum(1) +"] or 0.0) > 0.05
    assert card.heldout is not None
    assert card.heldout.score is not None
    shown = render(card)
    assert "It reads passed, copies of the evidence" in shown
    assert "| held out | 1 |" in shown
    assert "Against inverse: " in shown
    assert text.strip() in shown


def test_the_card_of_an_invalid_strategy_says_why(runner: SandboxedRunner, make_matrix: Make) -> None:
    request = CardRequest("bad", "1 / 0", load_known("initial"), [make_matrix("p")])
    assert "Invalid: ZeroDivisionError" in render(make_card(runner, request, CONFIG))


def test_larger_k_is_stricter_and_counts_more_executions(runner: SandboxedRunner, make_matrix: Make) -> None:
    matrices = [make_matrix(f"p{index}") for index in range(6)]
    rows = ablate_k(runner, matrices, {"gap": load_known("gap")}, CONFIG, [1, 2, 4])
    assert [(row.k, row.criterion1) for row in rows] == [(k, c) for c in (False, True) for k in (1, 2, 4)]
    assert [row.executions for row in rows[:3]] == [4.0, 8.0, 16.0]
    for weaker, stricter in itertools.pairwise(rows[:3]):
        assert weaker.score >= stricter.score
    for without, criterion1 in zip(rows[:3], rows[3:], strict=True):
        assert without.score >= criterion1.score
        assert criterion1.score <= criterion1.oracle
