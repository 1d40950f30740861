"""What a strategy sees of a sub-matrix is the same cells, whatever their order."""

import time
from dataclasses import replace

import numpy as np
import pytest

from evosyn.records import PassMatrix
from evosyn.strategies.evidence import ALWAYS, MAYBE, evidence_of, reads, select, unknown
from evosyn.strategies.running import _harness
from evosyn.strategies.running.packing import pack


def test_cases_texts_and_groups_follow_their_rows_and_columns() -> None:
    rng = np.random.default_rng(3)
    cases = tuple(rng.choice(list("PFE"), (5, count)) for count in (1, 2, 3, 4))
    whole = evidence_of(
        PassMatrix(
            "p",
            rng.choice(list("PF"), (5, 4)),
            cases_NMC=cases,
            durations_MN=rng.random((5, 4)),
            copies_M=np.arange(5),
            groups_M=np.array([0, 1, 0, 2, 3]),
            solution_texts=tuple("abcde"),
            testing_texts=tuple("wxyz"),
        )
    )
    rows, columns = np.array([4, 1, 2]), np.array([3, 0, 2])
    part = select(whole, rows, columns)
    for n, column in enumerate(columns):
        np.testing.assert_array_equal(part.cases_NMC[n], cases[column][rows] == "P")
    np.testing.assert_array_equal(part.passed_MN, whole.passed_MN[np.ix_(rows, columns)])
    np.testing.assert_array_equal(part.durations_MN, whole.durations_MN[np.ix_(rows, columns)])
    assert part.copies_M.tolist() == [4, 1, 2]
    assert part.solution_group_M.tolist() == [0, 1, 2]
    assert select(whole, np.array([3, 2, 0]), columns).solution_group_M.tolist() == [0, 1, 1]
    assert (part.solution_texts, part.testing_texts) == (tuple("ebc"), tuple("zwy"))


def test_all_that_a_matrix_of_verdicts_alone_lacks_is_unknown_and_nothing_that_one_holds() -> None:
    plain = PassMatrix("p", np.array([list("PF"), list("FP"), list("FF")]))
    assert unknown(evidence_of(plain)) == {*MAYBE} - {"verdicts"}
    texts = {"solution_texts": ("a", "b", ""), "testing_texts": ("", "")}
    alike = {"solution_similarity_MM": np.eye(3), "testing_similarity_NN": np.eye(2)}
    held = replace(plain, **alike, durations_MN=np.array([[0, 0], [0, 0.1], [0, 0]]), statement="", payload={}, **texts)
    likely = {"solution_logprob_M": np.array([np.nan, -0.1, -2]), "logprobs_NC": (np.array([-0.2, -0.8]), None)}
    assert unknown(evidence_of(held)) == {"calls", "values", "solution_logprob", "testing_logprob"}
    held = replace(held, **likely)
    assert unknown(evidence_of(held)) == {"calls", "values"}
    assert unknown(evidence_of(replace(held, testing_texts=()))) >= {"testing_texts", "calls", "values"}
    assert unknown(evidence_of(replace(held, durations_MN=np.zeros((3, 2))))) == {"durations", "calls", "values"}
    assert not {*ALWAYS} & {*MAYBE}


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("x = evidence.values", ("values",)),
        ("x = evidence.table.values()", ()),
        ("x = '# no comment'\ny = e.values  # nor e.calls", ("values",)),
        ('"""It needs no evidence.values, and "no" \\""" .calls."""\nx = e.payload', ("payload",)),
        ("x = 'it\\'s e.values'\ny = \"e.calls '\" + e.statement  # it's e.verdicts", ("statement",)),
        ("'''e.calls\ne.values'''", ()),
        ("x = 'a\\\n e.calls'\ny = e.values", ("values",)),
        ("x = 'never closed e.calls\ny = e.values", ("values",)),
    ],
)
def test_what_a_comment_or_a_text_mentions_is_not_read(text: str, found: tuple[str, ...]) -> None:
    assert reads(text) == found


@pytest.mark.parametrize("text", ["'\\\n\"" + '\\"' * 40_000, '\\"' * 40_000, "'''" + "\\'" * 40_000, '"' * 80_000])
def test_quotes_that_nothing_closes_are_passed_over_in_no_time(text: str) -> None:
    started = time.process_time()
    assert reads("x = e.passed\n" + text) == ("passed",)
    assert time.process_time() - started < 1.0


def test_values_are_numbered_by_first_appearance_and_tell_nothing_but_which_are_equal() -> None:
    values = (np.array([[90, 7], [5, 90], [0, 5], [90, 1 << 63]], np.uint64), None)
    evidence = evidence_of(PassMatrix("p", np.full((4, 2), "P"), values_NMC=values))
    for case, numbers in enumerate(([1, 3, 0, 1], [2, 1, 3, 5])):
        program = f"def rank(e):\n    assert e.values[1] is None\n    return e.values[0][:, {case}], [0, 0]\n"
        found = _harness.main(program, pack([evidence]), {"screen": 1, "budget_s": 60.0})
        assert np.frombuffer(found["scores"])[:4].tolist() == numbers


def test_log_probabilities_of_which_none_is_known_are_unknown() -> None:
    verdicts = np.array([list("PF"), list("FP"), list("FF")])
    matrix = PassMatrix(
        "p", verdicts, solution_logprob_M=np.array([np.nan, -0.1, -2]), logprobs_NC=(np.array([np.nan]), None)
    )
    evidence = evidence_of(matrix)
    assert evidence.testing_logprob_N is None
    np.testing.assert_array_equal(evidence.solution_logprob_M, [np.nan, -0.1, -2])
    part = select(evidence, np.array([2, 0]), np.array([1]))
    np.testing.assert_array_equal(part.solution_logprob_M, [-2, np.nan])
    assert select(evidence, np.array([0]), np.array([1])).solution_logprob_M is None
