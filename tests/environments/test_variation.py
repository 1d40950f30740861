"""What a search for environments is made of: variants of KNOBS, learnability, the genome and its directions."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evosyn.contracts import GenomeContract, ProposerContract
from evosyn.environments import bundled
from evosyn.environments.calibration import Rate
from evosyn.environments.contract import CATEGORIES, read_environment
from evosyn.environments.genome import EnvironmentGenome
from evosyn.environments.knobs import OPERATORS, varied
from evosyn.environments.proposers.knobs import create
from evosyn.evaluators.learnability import AXES, descriptor_of, frontier, score_of, worth
from evosyn.evolve.archive import Archive
from evosyn.ports import ProposalContext
from evosyn.records import Candidate, Elite, Evaluation

KNOWN = {name: path.read_text(encoding="utf-8") for name, path in bundled("known").items()}
TEXT = KNOWN["subset-sum"]


class TestEnvironmentTexts(GenomeContract):
    make = staticmethod(EnvironmentGenome)
    text = TEXT


class TestKnobs(ProposerContract):
    create = staticmethod(create)
    genome = EnvironmentGenome()
    parent = TEXT
    others = (KNOWN["knapsack"],)


@pytest.mark.parametrize("name", sorted(KNOWN))
@pytest.mark.parametrize("towards", [-1, 0, 1])
def test_a_variant_differs_in_its_table_alone_and_is_an_environment(name: str, towards: int) -> None:
    before = read_environment(KNOWN[name]).value
    for seed in range(4):
        found = varied(KNOWN[name], [TEXT, KNOWN["knapsack"]], random.Random(seed), towards)
        if found is None:
            continue
        text, done = found
        after = read_environment(text).value
        assert after is not None and before is not None and after.knobs != before.knobs
        assert done.partition(" ")[0] in {*OPERATORS, "mix"}
        (changed,) = [name for name in before.knobs if after.knobs[name] != before.knobs[name]]
        old, new = before.knobs[changed], after.knobs[changed]
        assert {type(value) for value in new} == {type(value) for value in old}
        if list(old) in (sorted(old), sorted(old, reverse=True)):
            assert list(new) == sorted(new, reverse=old[0] > old[-1])
        cut = [line for line in text.split("\n") if not line.startswith("KNOBS")]
        assert all(line in KNOWN[name].split("\n") for line in cut)


def test_harder_and_easier_are_that() -> None:
    size = dict.fromkeys((-1, 1), 0.0)
    for towards in size:
        for seed in range(40):
            found = varied(TEXT, [], random.Random(seed), towards)
            after = None if found is None else read_environment(found[0]).value
            size[towards] += 0 if after is None else sum(map(float, after.knobs["largest"]))
    assert size[1] > 1.3 * size[-1]


@pytest.mark.parametrize("text", ["", "x = 1", TEXT.replace("(6, 8, 10, 12, 14)", "('a', 'b', 'c', 'd', 'e')")
                                  .replace("(30, 60, 99, 200, 400)", "(True, True, True, True, True)")])  # fmt: skip
def test_what_has_no_numbers_has_no_variant(text: str) -> None:
    assert varied(text, [TEXT], random.Random(0)) is None


@pytest.mark.parametrize("huge", [10**400, -(10**400), 2**53 + 1, 1e300])
def test_numbers_that_no_float_counts_are_left_as_they_are(huge: float) -> None:
    text = TEXT.replace("(6, 8, 10, 12, 14)", f"(6, 8, 10, 12, {huge!r})")
    for seed in range(20):
        found = varied(text, [text], random.Random(seed))
        assert found is not None and found[1].endswith(" largest") and repr(huge) in found[0]


def test_varied_again_and_again_a_table_stays_one() -> None:
    text = TEXT
    for seed in range(3000):
        found = varied(text, [], random.Random(seed), 1)
        if found is None:
            break
        text = found[0]
        read = read_environment(text).value
        assert read is not None and all(abs(float(one)) < 2**60 for column in read.knobs.values() for one in column)
    assert found is None, "what is harder each time ends where floats no longer count"


@given(st.lists(st.tuples(st.integers(1, 16), st.integers(0, 16)), min_size=5, max_size=5))
def test_scores_and_places_are_in_their_bounds(drawn: list[tuple[int, int]]) -> None:
    rates = [Rate(level, n, min(n, solved)) for level, (n, solved) in enumerate(drawn, 1)]
    for objective in ("learnability", "target", "band"):
        worths = [worth(rate, objective) for rate in rates]
        assert all(0 <= one <= 1 for one in worths) and 0 <= score_of(worths) <= 1
    at = frontier(rates)
    below = next((level for level, rate in enumerate(rates) if rate.solved / rate.n < 0.5), 5)
    assert int(at) == below and 0 <= at < 6


def test_what_is_always_or_never_solved_is_worth_nothing_and_a_half_is_best() -> None:
    worths = [worth(Rate(1, 16, solved)) for solved in range(17)]
    assert worths[0] == worths[-1] == 0 and max(worths) == worths[8] == 1.0
    assert worths == worths[::-1] and worths[:9] == sorted(worths[:9])
    assert worth(Rate(1, 16, 5), "target") > worth(Rate(1, 16, 12), "target")
    assert [worth(Rate(1, 16, solved), "band") for solved in (1, 2, 14, 15)] == [0, 1, 1, 0]


def test_every_category_frontier_and_kind_has_a_cell_of_its_own() -> None:
    base = read_environment(TEXT).value
    assert base is not None
    archive = Archive(AXES, lambda elite: (elite.evaluation.score or 0.0,))
    ladders = [[Rate(level, 8, 8 if level <= solved else 0) for level in range(1, 6)] for solved in range(6)]
    cells = {
        archive.cell_of(descriptor_of(replace(base, category=category, kind=kind), rates))
        for category in CATEGORIES for kind in ("exact", "feasible") for rates in ladders
    }  # fmt: skip
    assert len(cells) == archive.capacity == 192


@pytest.mark.parametrize(("rate", "said"), [(0.9, "make the task itself harder"), (0.1, "make it easier")])
def test_a_model_is_told_where_to_look_by_how_the_parent_was_solved(rate: float, said: str) -> None:
    parent = Elite(Candidate(TEXT), Evaluation(0.2, metrics={"rate": rate}))
    genome = EnvironmentGenome()
    assert said in genome.brief(ProposalContext(0, 0, parent)).direction
    middling = replace(parent, evaluation=replace(parent.evaluation, metrics={"rate": 0.5}))
    others = {genome.brief(ProposalContext(index, 0, middling)).direction for index in range(8)}
    assert len(others) == 4 and not any(said in one for one in others)


def test_merit_is_score_then_novelty_then_brevity() -> None:
    genome = EnvironmentGenome()

    def merit(score: float, novelty: float, text: str = TEXT) -> tuple[float, ...]:
        return genome.merit(Elite(Candidate(text), Evaluation(score, metrics={"novelty": novelty})))

    assert merit(0.6, 0.1) > merit(0.5, 0.9) > merit(0.5, 0.2) > merit(0.5, 0.2, TEXT + "#")
