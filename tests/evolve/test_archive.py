"""The grid: a cell never gets worse, order does not matter, asking changes nothing."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evosyn.evolve.archive import AddStatus, Archive
from evosyn.ports import Axis
from evosyn.records import Candidate, Elite, Evaluation

AXES = (Axis("a", 0.0, 1.0, 4), Axis("b", -1.0, 1.0, 3))
elites = st.builds(
    lambda text, score, a, b, second: Elite(
        Candidate(f"p = {text}"),
        Evaluation(score=score, descriptor=(a, b), metrics={"second": second}),
    ),
    st.integers(0, 10**6),
    st.sampled_from([0.0, 0.1, 0.5, 0.50001, 0.9, 1.0]),
    st.floats(-0.5, 1.5),
    st.floats(-2, 2),
    st.sampled_from([0.5, 0.7]),
)


def merit(elite: Elite) -> tuple[float, float]:
    return elite.evaluation.score or 0.0, elite.evaluation.metrics.get("second", 0.0)


@given(st.lists(elites, max_size=60))
def test_a_cell_never_gets_worse(many):
    archive = Archive(AXES, merit)
    for elite in many:
        cell = archive.cell_of(elite.evaluation.descriptor)
        before = archive.at(cell)
        status = archive.add(elite)
        after = archive.at(cell)
        assert after is not None
        if before is None:
            assert status is AddStatus.NEW and after is elite
        else:
            assert archive.rank(after) >= archive.rank(before)
            assert (status is AddStatus.IMPROVED) == (after is elite and archive.rank(elite) > archive.rank(before))


@given(st.lists(elites, max_size=40), st.randoms(use_true_random=False))
def test_the_grid_does_not_depend_on_the_order_of_insertion(many, rng):
    first, second = Archive(AXES, merit), Archive(AXES, merit)
    for elite in many:
        first.add(elite)
    rng.shuffle(many)
    for elite in many:
        second.add(elite)
    assert {c: e.candidate for c, e in first.cells().items()} == {c: e.candidate for c, e in second.cells().items()}
    assert [e.candidate for e in first.top(99)] == [e.candidate for e in second.top(99)]


@settings(max_examples=50)
@given(st.lists(elites, min_size=1, max_size=40))
def test_ranks_are_sorted_and_cover_every_cell(many):
    archive = Archive(AXES, merit)
    for elite in many:
        archive.add(elite)
    ranks = [archive.rank(archive.ranked(place)) for place in range(len(archive))]
    assert ranks == sorted(ranks, reverse=True)
    assert archive.best is archive.ranked(0)
    assert {archive.nth(place).candidate.id for place in range(len(archive))} == {e.candidate.id for e in archive}


def test_values_outside_an_axis_fall_into_its_end_bins():
    archive = Archive(AXES, merit)
    assert archive.cell_of((-7.0, 9.0)) == (0, 2)
    assert archive.cell_of((1.0, -1.0)) == (3, 0)


@pytest.mark.parametrize(
    ("descriptor", "score", "message"),
    [((0.1,), 0.5, "1 values"), ((float("nan"), 0.0), 0.5, "'a'"), ((0.1, 0.1), None, "no finite score")],
)
def test_what_has_no_place_is_refused_and_changes_nothing(descriptor, score, message):
    archive = Archive(AXES, merit)
    with pytest.raises(ValueError, match=message):
        archive.add(Elite(Candidate("x"), Evaluation(score=score, descriptor=descriptor)))
    assert len(archive) == 0
