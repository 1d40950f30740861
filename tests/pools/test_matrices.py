"""Files of recorded matrices: round trip, recognition, and the message for each kind of bad line."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from evosyn.errors import InputError
from evosyn.matrices import is_matrices_file, load_matrices, write_matrices
from evosyn.origins import Origin
from evosyn.records import ParsedCall, PassMatrix
from evosyn.strategies.evidence import evidence_digest

GOOD: dict[str, Any] = {"v": 4, "problem_id": "p", "verdicts": ["PF", "TU", "BN"], "human": "PFE"}
ONE = "0123456789abcdef"


def file_with(tmp_path: Path, *lines: dict[str, Any]) -> Path:
    path = tmp_path / "matrices.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def test_a_matrix_is_read_back_as_it_was_written(tmp_path: Path) -> None:
    full = PassMatrix(
        problem_id="p",
        verdicts_MN=np.array([["P", "F"], ["T", "U"]]),
        human_M=np.array(["P", "E"]),
        cases_NMC=(np.array([["P", "P"], ["P", "T"]]), np.array([["F"], ["U"]])),
        durations_MN=np.array([[0.1, 0.25], [3.0, 0.0]]),
        copies_M=np.array([3, 1]),
        solution_ids=("s_1", "s_2"),
        testing_ids=("t_1", "t_2"),
        meta={"sandbox": {"level": "strong"}},
    )
    path = tmp_path / "m.jsonl.gz"
    assert write_matrices(path, [full]) == 1
    (again,) = load_matrices(path)
    assert again.digest == full.digest
    assert again.cases_NMC is not None
    assert full.cases_NMC is not None
    for one, other in zip(again.cases_NMC, full.cases_NMC, strict=True):
        assert (one == other).all()
    assert again.durations_MN is not None
    assert (again.durations_MN == full.durations_MN).all()
    assert (again.copies_M == full.copies_M).all()  # type: ignore[union-attr]
    assert (again.solution_ids, again.testing_ids, again.meta) == (full.solution_ids, full.testing_ids, full.meta)


def test_what_strategies_see_of_a_matrix_is_read_back_as_it_was_written(tmp_path: Path) -> None:
    full = PassMatrix(
        problem_id="p",
        verdicts_MN=np.array([["P", "F"], ["T", "U"]]),
        cases_NMC=(np.array([["P", "P"], ["P", "T"]]), np.array([["F"], ["U"]])),
        statement="Add one.",
        payload={"entry_point": "f", "starter_code": "def f(x): ..."},
        calls_N=((ParsedCall("[1]", "2"), ParsedCall("[2]", None)), (None,)),
        values_NMC=(np.array([[2**64 - 1, 7], [7, 0]], np.uint64), None),
        solution_similarity_MM=np.array([[1.0, 0.25], [0.25, 1.0]]),
        testing_similarity_NN=np.array([[1.0, 0.5], [0.5, 1.0]]),
        solution_logprob_M=np.array([-0.12345, np.nan]),
        logprobs_NC=(np.array([-0.12345, np.nan]), None),
    )
    path = tmp_path / "m.jsonl"
    write_matrices(path, [full])
    (again,) = load_matrices(path)
    assert is_matrices_file(path)
    assert (again.statement, again.payload, again.calls_N) == (full.statement, full.payload, full.calls_N)
    assert again.values_NMC is not None
    assert full.values_NMC is not None
    assert again.values_NMC[0].tolist() == full.values_NMC[0].tolist()  # type: ignore[union-attr]
    assert again.values_NMC[1] is None
    assert again.solution_similarity_MM.tolist() == full.solution_similarity_MM.tolist()  # type: ignore[union-attr]
    assert again.testing_similarity_NN.tolist() == full.testing_similarity_NN.tolist()  # type: ignore[union-attr]
    np.testing.assert_array_equal(again.solution_logprob_M, [-0.1235, np.nan])
    assert again.logprobs_NC is not None and again.logprobs_NC[1] is None
    np.testing.assert_array_equal(again.logprobs_NC[0], [-0.1235, np.nan])


def test_a_file_keeps_which_pool_and_task_a_problem_is_of_and_takes_neither_from_meta(tmp_path: Path) -> None:
    own = {"pool": "weak", "task": "sorting", "view": "front", "original": "HumanEval"}
    (plain,) = load_matrices(file_with(tmp_path, {**GOOD, "problem_id": "weak/p", "v": 4, "meta": own}))
    assert (plain.origin, plain.meta) == (Origin(), own)
    of_two = replace(plain, origin=Origin("weak", "p"))
    write_matrices(tmp_path / "two.jsonl", [of_two])
    assert load_matrices(tmp_path / "two.jsonl")[0].origin == Origin("weak", "p")
    assert evidence_digest(of_two) == evidence_digest(plain)


def test_a_matrix_with_the_required_fields_only_is_enough(tmp_path: Path) -> None:
    (matrix,) = load_matrices(file_with(tmp_path, GOOD))
    assert matrix.passed_MN.tolist() == [[True, False], [False, False], [False, False]]
    assert matrix.known_MN.tolist() == [[True, True], [True, False], [True, False]]
    assert matrix.solution_ids == ("0", "1", "2")


def test_a_file_of_matrices_is_told_from_a_pool(tmp_path: Path) -> None:
    assert is_matrices_file(file_with(tmp_path, GOOD))
    assert not is_matrices_file(file_with(tmp_path, {"problem_id": "p", "statement": "x"}))
    assert not is_matrices_file("builtin:python-seeds")


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"v": 3}, "field 'v': this evosyn reads version 4"),
        ({"v": 5}, "field 'v': this evosyn reads version 4"),
        ({"origin": {"view": "right"}}, "field 'origin': must be an object of texts: pool, task"),
        ({"origin": {"task": 3}}, "field 'origin': must be an object of texts: pool, task"),
        ({"problem": {"statement": 1}}, "field 'problem.statement': must be a text or null"),
        ({"problem": {"payload": [1]}}, "field 'problem.payload': must be an object or null"),
        ({"problem": {"human_testing": {}}}, "field 'problem': must be an object with statement and payload"),
        ({"calls": [None]}, "field 'calls': must be a list of 2"),
        ({"calls": [None, [None, None]]}, r"field 'calls\[1\]': must be null or 1 of"),
        ({"calls": [None, [["1", 2]]]}, r"field 'calls\[1\]': must be null or 1 of"),
        ({"values": [None]}, "field 'values': must be a list of 2"),
        ({"values": [{"digests": [ONE], "at": [[0], [0], [1]]}, None]}, r"'values\[0\].at\[2\]': must be 1 places"),
        ({"values": [{"digests": [ONE], "at": [[0], [-1], [0]]}, None]}, r"'values\[0\].at\[1\]': must be 1 places"),
        ({"values": [{"digests": [ONE], "at": [[0], [0.0], [0]]}, None]}, r"'values\[0\].at\[1\]': must be 1 places"),
        ({"values": [{"digests": [ONE], "at": [[0], [False], [0]]}, None]}, r"'values\[0\].at\[1\]': must be 1"),
        ({"values": [{"digests": [ONE], "at": [[0], [0]]}, None]}, r"'values\[0\].at': must be 3 rows"),
        *[
            ({"values": [None, {"digests": wrong, "at": [[0], [0], [0]]}]}, r"'values\[1\].digests': must be a list")
            for wrong in (
                ["x"],
                ["1" * 17],
                ["A" * 16],
                ["+" + "1" * 15],
                ["1" * 7 + "_" + "1" * 8],
                ONE,
                [1],
                ["３" * 16],
            )
        ],
        ({"values": [{"digests": [ONE]}, None]}, r"'values\[0\]': must be null or an object with digests and at"),
        ({"values": [{"digests": [ONE], "at": [], "of": 1}, None]}, r"'values\[0\]': must be null or an object with"),
        ({"solution_similarity": [[1, 0], [0, 1]]}, "'solution_similarity': must be 3 rows of 3 numbers from 0 to 1"),
        ({"solution_logprob": [0, 0]}, "'solution_logprob': must be 3 numbers up to 0, null where one is unknown"),
        ({"testing_logprobs": [None]}, "'testing_logprobs': must be a list of 2, one per testing"),
        ({"testing_logprobs": [None, [0.1]]}, r"'testing_logprobs\[1\]\[0\]': must be a number up to 0, or null"),
        ({"testing_logprobs": [["-1"], None]}, r"'testing_logprobs\[0\]\[0\]': must be a number up to 0, or null"),
        ({"testing_similarity": [[1, "x"], [0, 1]]}, r"'testing_similarity\[0\]\[1\]': must be one of 2 numbers"),
        ({"testing_similarity": [[1, ".5"], [".5", 1]]}, r"'testing_similarity\[0\]\[1\]': must be one of 2 numbers"),
        ({"testing_similarity": [[1, True], [True, 1]]}, r"'testing_similarity\[0\]\[1\]': must be one of 2 numbers"),
        ({"testing_similarity": [[1, 1.5], [1.5, 1]]}, r"'testing_similarity\[0\]\[1\]': must be from 0 to 1"),
        ({"testing_similarity": [[1, -0.1], [-0.1, 1]]}, r"'testing_similarity\[0\]\[1\]': must be one of 2 numbers"),
        ({"testing_similarity": [[1, 0.5], [0.4, 1]]}, r"'testing_similarity\[0\]\[1\]': must be as the other way"),
        ({"testing_similarity": [[1, 0.5], [0.5, 0.9]]}, r"'testing_similarity\[1\]\[1\]': must be 1: a text"),
        ({"problem_id": ""}, "field 'problem_id': must be a text"),
        ({"verdicts": []}, "field 'verdicts': must be a list of texts"),
        ({"verdicts": ["PF", "P", "PP"]}, r"field 'verdicts\[1\]': must have 2 letters"),
        ({"verdicts": ["PF", "PX", "PP"]}, r"field 'verdicts\[1\]': unknown letter 'X'"),
        ({"human": "PP"}, "field 'human': must be null or 3 letters"),
        ({"human": "PPX"}, "field 'human': must be null or 3 letters"),
        ({"cases": [["P", "P", "P"]]}, "field 'cases': must be a list of 2"),
        ({"cases": [["P", "P", "P"], ["P", "P"]]}, r"field 'cases\[1\]': must have 3 texts"),
        ({"copies": [1, 2]}, "field 'copies': must be 3 whole numbers"),
        ({"copies": [1, 2, 10**30]}, "field 'copies': must be 3 whole numbers"),
        ({"cases": [["P", "P", "P"], ["P", "P", "P"]]}, None),
        ({"cases": [["PF", "P", "P"], ["P", "P", "P"]]}, r"field 'cases\[0\]\[1\]': must have 2 letters"),
        ({"cases": [["F", "P", "P"], ["P", "P", "P"]]}, r"field 'cases\[0\]\[0\]': must all be P: solution 0 passes"),
        ({"copies": [1, 2, 2**62]}, "field 'copies': must be 3 whole numbers from 1 to 2147483647"),
        ({"v": True}, "field 'v': this evosyn reads version 4"),
        ({"v": 4.0}, "field 'v': this evosyn reads version 4"),
        ({"durations": [[1, 2], [1, 10**400], [1, 2]]}, r"field 'durations\[1\]\[1\]': must be one of 2 seconds"),
        ({"durations": [[1, 2], [1, -1], [1, 2]]}, r"field 'durations\[1\]\[1\]': must be one of 2 seconds from 0"),
        ({"durations": [[1, 2], [1, "2"], [1, 2]]}, r"field 'durations\[1\]\[1\]': must be one of 2 seconds"),
        ({"durations": [[1, 2], [1], [1, 2]]}, r"field 'durations\[1\]': must be 2 seconds"),
        ({"copies": [1, 2, 0]}, "field 'copies': must be 3 whole numbers"),
        ({"durations": [[1, 2]]}, "field 'durations': must be 3 rows of 2 seconds"),
        ({"durations": "x"}, "field 'durations': must be 3 rows of 2 seconds"),
        ({"solution_ids": ["a"]}, "field 'solution_ids': must be 3 texts"),
        ({"solution_ids": ["a", "b", "a"]}, r"field 'solution_ids\[2\]': stands at 0 too, with other verdicts"),
        ({"testing_ids": ["a", "a"]}, r"field 'testing_ids\[1\]': stands at 0 too, with other verdicts"),
        ({"solution_ids": ["a", "b", "\ud800"]}, r"field 'solution_ids\[2\]': holds the character"),
        ({"testing_ids": ["a", "\udfff"]}, r"field 'testing_ids\[1\]': holds the character"),
        ({"problem_id": "a\ud800"}, "field 'problem_id': holds the character"),
        ({"meta": []}, None),
        ({"meta": [1]}, "field 'meta': must be an object"),
    ],
)
def test_a_bad_line_is_named_with_line_field_and_rule(
    tmp_path: Path, fields: dict[str, Any], message: str | None
) -> None:
    path = file_with(tmp_path, GOOD, {**GOOD, "problem_id": "q", **fields})
    if message is None:
        assert len(load_matrices(path)) == 2
        return
    with pytest.raises(InputError, match=message) as caught:
        load_matrices(path)
    assert caught.value.line == 2


def test_what_was_drawn_twice_stands_twice_with_the_same_verdicts(tmp_path: Path) -> None:
    twice = {"verdicts": ["PP", "TT", "PP"], "solution_ids": ["a", "b", "a"], "testing_ids": ["t", "t"]}
    (matrix,) = load_matrices(file_with(tmp_path, {**GOOD, **twice}))
    assert (matrix.solution_ids, matrix.testing_ids) == (("a", "b", "a"), ("t", "t"))


def test_duplicate_ids_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="duplicate id"):
        load_matrices(file_with(tmp_path, GOOD, GOOD))


def test_a_field_that_is_none_of_a_matrix_is_ignored_and_counted(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = file_with(tmp_path, {**GOOD, "humans": "PP"}, {**GOOD, "problem_id": "q", "humans": 1, "mine": 2})
    strange = load_matrices(path)
    plain = load_matrices(file_with(tmp_path, GOOD, {**GOOD, "problem_id": "q"}))
    assert [matrix.digest for matrix in strange] == [matrix.digest for matrix in plain]
    first, second = (record.getMessage() for record in caplog.records)
    assert "'humans' of 2 lines" in first and "did you mean 'human'?" in first and "'mine' of 1 lines" in second


def test_a_problem_without_testings_is_written_and_read_back(tmp_path: Path) -> None:
    matrix = PassMatrix("p", np.empty((2, 0), dtype="<U1"), human_M=np.array(["P", "F"]), cases_NMC=())
    write_matrices(tmp_path / "m.jsonl", [matrix])
    (found,) = load_matrices(tmp_path / "m.jsonl")
    assert found.verdicts_MN.shape == (2, 0) and found.verdicts_MN.dtype == "<U1" and found.digest == matrix.digest
