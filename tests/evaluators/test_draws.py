"""Draws: determinism, what is skipped and why, and that the human verdicts stay outside."""

from __future__ import annotations

import numpy as np
import pytest

from evosyn.errors import UsageError
from evosyn.evaluators.columns import in_unit
from evosyn.evaluators.criteria import judge
from evosyn.evaluators.draws import ConsistencyConfig, make_draws
from evosyn.randomness import SeedTree
from evosyn.records import ParsedCall, PassMatrix


def matrix(name: str, rows: int, columns: int, seed: int = 0) -> PassMatrix:
    rng = np.random.default_rng(seed)
    human = np.array(["P", *rng.choice(list("PF"), rows - 1)])
    return PassMatrix(name, rng.choice(list("PF"), (rows, columns)), human, copies_M=np.arange(rows))


def test_draws_of_a_problem_depend_on_the_seed_and_its_name_only() -> None:
    config = ConsistencyConfig(unit="testing", M=4, N=4, draws=3)
    alone = make_draws([matrix("b", 9, 9)], config)
    among = make_draws([matrix("a", 9, 9, 1), matrix("b", 9, 9)], config)
    other = make_draws([matrix("b", 9, 9)], ConsistencyConfig(unit="testing", M=4, N=4, draws=3, seed=1))
    for index in range(3):
        np.testing.assert_array_equal(alone.evidences[index].copies_M, among.evidences[3 + index].copies_M)
    assert any(
        alone.evidences[index].copies_M.tolist() != other.evidences[index].copies_M.tolist() for index in range(3)
    )


def sorted_pool(rows: int, columns: int) -> list[PassMatrix]:
    """Problems whose right solutions were recorded first, each solution and testing with a text of its own."""
    found = []
    for number in range(40):
        human = np.where(np.arange(rows) < rows // 2, "P", "F")
        verdicts = np.random.default_rng(number).choice(list("PF"), (rows, columns))
        texts = [tuple(f"{kind}{place}" for place in range(size)) for kind, size in (("s", rows), ("t", columns))]
        found.append(
            PassMatrix(
                f"p{number}",
                verdicts,
                human,
                copies_M=np.arange(rows),
                groups_M=np.arange(rows),
                solution_texts=texts[0],
                testing_texts=texts[1],
            )
        )
    return found


def test_a_pool_of_exactly_the_asked_size_is_drawn_once_and_its_order_is_not_seen() -> None:
    draws = make_draws(sorted_pool(8, 6), ConsistencyConfig(unit="testing", M=8, N=6, draws=10))
    assert len(draws.evidences) == 40
    first, rows, columns = (np.zeros((40, size)) for size in (1, 8, 6))
    for number, (evidence, picked) in enumerate(zip(draws.evidences, draws.picked_E, strict=True)):
        assert evidence.copies_M.tolist() == picked.rows_M.tolist()
        assert evidence.testing_texts == tuple(f"t{column}" for column in picked.columns_N)
        rows[number], columns[number], first[number] = picked.rows_M, picked.columns_N, picked.rows_M[0] < 4
    assert 0.25 < first.mean() < 0.75
    assert (abs(rows.mean(axis=0) - 3.5) < 1.2).all() and (abs(columns.mean(axis=0) - 2.5) < 1.0).all()


@pytest.mark.parametrize("sizes", [(8, 6), (20, 6), (8, 20), (20, 20)])
def test_the_numbers_of_groups_do_not_tell_where_in_the_pool_a_solution_stands(sizes: tuple[int, int]) -> None:
    draws = make_draws(sorted_pool(*sizes), ConsistencyConfig(unit="testing", M=8, N=6, draws=2))
    for evidence in draws.evidences:
        assert evidence.solution_group_M.tolist() == list(range(8))
        assert evidence.testing_group_N.tolist() == list(range(6))


def test_equal_solutions_keep_equal_numbers_in_a_draw() -> None:
    one = PassMatrix("a", np.full((6, 2), "P"), np.full(6, "P"), groups_M=np.array([5, 3, 5, 4, 3, 9]),
                     copies_M=np.array([5, 3, 5, 4, 3, 9]))  # fmt: skip
    for evidence in make_draws([one], ConsistencyConfig(unit="testing", M=4, N=2, draws=6)).evidences:
        same = evidence.copies_M[:, None] == evidence.copies_M
        assert ((evidence.solution_group_M[:, None] == evidence.solution_group_M) == same).all()
        assert evidence.solution_group_M[0] == 0


def test_stable_ties_follow_the_recorded_order_and_random_ones_stay_with_their_solutions() -> None:
    """Whatever order programs see; a rule that ties all has the first solution as recorded on top."""
    pool = sorted_pool(8, 6)
    for ties in ("stable", "random"):
        config = ConsistencyConfig(unit="testing", ties=ties)
        draws = make_draws(pool, config)
        (block,) = draws.blocks
        keys = block.places_BM if ties == "stable" else block.keys_BM
        found = judge(block, np.zeros((40, 8)), np.zeros((40, 6)), config)
        chosen = [picked.columns_N[place] for picked, place in zip(draws.picked_E, found.weights_BQ.argmax(axis=1),
                                                                   strict=True)]  # fmt: skip
        top = [picked.rows_M[place] for picked, place in zip(draws.picked_E, keys.argmin(axis=1), strict=True)]
        assert found.criterion1_B.tolist() == [float(row < 4) for row in top]
        if ties == "stable":
            assert set(top) == set(chosen) == {0}
        else:
            tree = SeedTree(config.seed).child("draws", "p0").child(0).child("ties")
            rng = tree.rng()
            assert (top[0], chosen[0]) == (rng.random(8).argmin(), rng.random(6).argmin())


def test_unusable_problems_are_counted_by_reason() -> None:
    no_human = PassMatrix("h", np.full((4, 4), "P"))
    hopeless = PassMatrix("f", np.full((4, 4), "P"), np.full(4, "F"))
    pool = [matrix("a", 4, 4), matrix("few", 3, 4), matrix("thin", 4, 3), no_human, hopeless]
    draws = make_draws(pool, ConsistencyConfig(unit="testing", M=4, N=4, solvable=True, strict=True))
    assert draws.problem_ids == ("a",)
    assert sorted(draws.skipped) == [
        "fewer than 4 judged solutions", "fewer than 4 testings", "no human verdicts", "no right solution",
    ]  # fmt: skip


def test_problems_with_fewer_are_used_with_what_they_have() -> None:
    draws = make_draws([matrix("a", 9, 3), matrix("b", 9, 9)], ConsistencyConfig(unit="testing", M=4, N=4, draws=2))
    assert [evidence.passed_MN.shape for evidence in draws.evidences] == [(4, 3), (4, 3), (4, 4), (4, 4)]
    assert len(draws.blocks) == 2


def test_nothing_usable_is_an_error_that_says_why() -> None:
    with pytest.raises(UsageError, match="1 x fewer than 16 judged solutions"):
        make_draws([matrix("a", 4, 4)], ConsistencyConfig(unit="testing", M=16, N=16, strict=True))
    with pytest.raises(UsageError, match="1 x fewer than 2 judged solutions"):
        make_draws([matrix("a", 1, 4)], ConsistencyConfig(unit="testing", M=16, N=16))


def test_solutions_without_a_known_human_verdict_are_left_out() -> None:
    one = PassMatrix("a", np.full((4, 2), "P"), np.array(list("PUFP")), copies_M=np.arange(4))
    assert sorted(make_draws([one], ConsistencyConfig(unit="testing")).evidences[0].copies_M.tolist()) == [0, 2, 3]


def test_every_case_becomes_a_testing_and_equal_ones_count_once() -> None:
    one = PassMatrix(
        "a",
        np.array([["F", "P"], ["P", "P"]]),
        np.array(["F", "P"]),
        cases_NMC=(np.array([["P", "F"], ["P", "P"]]), np.array([["P"], ["P"]])),
        testing_ids=("x", "y"),
        testing_texts=(
            '{"asserts":["assert f(1)==1","assert f(2)==2"],"kind":"asserts"}',
            '{"asserts":["assert f(1)==1"],"kind":"asserts"}',
        ),
    )
    split = in_unit(one, "case")
    assert ["".join(row) for row in split.verdicts_MN] == ["PF", "PP"]
    assert split.testing_ids == ("x/0", "x/1")
    assert split.testing_texts[1] == '{"asserts":["assert f(2)==2"],"kind":"asserts"}'


def test_a_human_testing_that_cannot_run_judges_nothing_and_a_matrix_without_verdicts_is_counted() -> None:
    config = ConsistencyConfig(unit="testing")
    half = PassMatrix("half", np.array([list("PF")] * 4), np.array(list("PBFB")))
    (picked,) = make_draws([half], config).picked_E
    assert sorted(picked.rows_M.tolist()) == [0, 2], "what it cannot run on is not wrong"
    broken = PassMatrix("broken", np.array([list("PF")] * 4), np.array(list("BBBB")))
    unknown = PassMatrix("unknown", np.array([list("NU")] * 4), np.array(list("PFPF")))
    found = make_draws([half, broken, unknown], config)
    assert found.problem_ids == ("half",)
    assert found.skipped == {"fewer than 2 judged solutions": 1, "no verdict that is known": 1}


def test_where_texts_are_unknown_cases_that_ask_and_expect_the_same_count_once() -> None:
    cells = np.array([["P", "P", "F"], ["P", "F", "P"]])
    one, two, open_ = ParsedCall("[1]", "1"), ParsedCall("[1]", "2"), ParsedCall("[1]", None)
    matrix = PassMatrix(
        "a",
        cells[:, :2],
        None,
        cases_NMC=(cells, cells),
        calls_N=((one, two, open_), (two, one, open_)),
        testing_ids=("x", "y"),
    )
    split = in_unit(matrix, "case")
    assert split.testing_ids == ("x/0", "x/1", "x/2", "y/2"), "nobody knows what a case asks that expects no value"
    assert split.calls_N == ((one,), (two,), (open_,), (open_,))


def test_testings_without_recorded_cases_stay_whole() -> None:
    whole = matrix("a", 2, 3)
    split = in_unit(whole, "case")
    assert split.verdicts_MN.tolist() == whole.verdicts_MN.tolist()
    assert split.replies_N == ((0,), (1,), (2,))


def test_a_text_of_another_form_is_one_of_as_many_as_it_has_cases() -> None:
    cells = np.array([["P", "F"], ["P", "P"]])
    texts = ("not JSON", '{"kind":"program","code":"..."}', "[1]")
    one = PassMatrix("a", cells[:, [0, 0, 0]], None, cases_NMC=(cells,) * 3, testing_texts=texts)
    assert in_unit(one, "case").testing_texts == tuple(f"{text}#{number}" for text in texts for number in (0, 1))


def test_cases_make_no_testings_again() -> None:
    with pytest.raises(UsageError, match=r"scoring\.unit=case"):
        in_unit(in_unit(matrix("a", 2, 2), "case"), "testing")
