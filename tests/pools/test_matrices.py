"""Files of recorded matrices: round trip, recognition, and the message for each kind of bad line."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from evosyn.errors import InputError
from evosyn.pools import is_matrices_file, load_matrices, write_matrices
from evosyn.records import PassMatrix

GOOD: dict[str, Any] = {"v": 1, "problem_id": "p", "verdicts": ["PF", "TU", "BN"], "human": "PFE"}


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
        ({"v": 3}, "field 'v': this evosyn reads versions 1 to 2"),
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
        ({"durations": [[1, 2], [1, 10**400], [1, 2]]}, "field 'durations': must be 3 x 2 seconds"),
        ({"copies": [1, 2, 0]}, "field 'copies': must be 3 whole numbers"),
        ({"durations": [[1, 2]]}, "field 'durations': must be 3 x 2 seconds"),
        ({"durations": "x"}, "field 'durations': must be 3 x 2 seconds"),
        ({"solution_ids": ["a"]}, "field 'solution_ids': must be 3 texts"),
        ({"meta": []}, None),
        ({"meta": [1]}, "field 'meta': must be an object"),
        ({"verdict": []}, "field 'verdict': is not a field of a recorded matrix"),
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


def test_duplicate_ids_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="duplicate id"):
        load_matrices(file_with(tmp_path, GOOD, GOOD))
