"""Whatever bytes a pool file or a file of matrices holds: a good record, or an InputError that names the file."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from evosyn.domains import load_pools, scan_pools
from evosyn.errors import InputError
from evosyn.matrices import load_matrices, write_matrices
from evosyn.pools import write_pools

QUIET = settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
POOL: dict[str, Any] = {
    "problem_id": "p", "domain": "python-function", "statement": "Say.", "entry_point": "f", "starter_code": None,
    "human_testing": {"kind": "cases", "cases": [{"input": [1], "output": {"a": [None]}}], "tolerance": 0.5},
    "reference_solution": "x", "meta": {}, "solutions": ["a"], "testings": [{"kind": "program", "code": "x"}],
}  # fmt: skip
MATRIX: dict[str, Any] = {
    "v": 4, "problem_id": "p", "verdicts": ["PF", "EU"], "human": "PF", "cases": [["P", "E"], ["FF", "UU"]],
    "copies": [1, 2], "durations": [[0, 1], [2, 3.5]], "solution_ids": ["a", "b"], "testing_ids": ["c", "d"],
}  # fmt: skip
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=6),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=6,
)


@st.composite
def spoiled(draw: st.DrawFn, good: dict[str, Any]) -> dict[str, Any]:
    """A good line in which one thing, at any depth, is another value, or gone."""
    line = json.loads(json.dumps(good))
    place: Any = line
    while True:
        key = draw(st.sampled_from(sorted(place) if isinstance(place, dict) else range(len(place))))
        inner = place[key]
        if not (isinstance(inner, dict | list) and inner) or draw(st.booleans()):
            break
        place = inner
    if draw(st.booleans()):
        del place[key]
    else:
        place[key] = draw(values)
    return line  # type: ignore[no-any-return]


@QUIET
@given(content=st.binary(max_size=200), zipped=st.booleans())
def test_arbitrary_bytes_are_an_input_error(tmp_path: Path, content: bytes, zipped: bool) -> None:
    path = tmp_path / "any.jsonl"
    path.write_bytes(gzip.compress(content) if zipped else content)
    for load in (load_pools, load_matrices):
        if load is load_matrices and not content.strip():
            continue
        with pytest.raises(InputError, match=r"any\.jsonl"):
            load(path)


@QUIET
@given(line=spoiled(POOL))
def test_a_spoiled_pool_line_is_read_as_it_stands_or_refused(tmp_path: Path, line: dict[str, Any]) -> None:
    path = tmp_path / "pool.jsonl"
    path.write_text(json.dumps(line) + "\n")
    found = list(scan_pools(path))
    if any(isinstance(one, InputError) for one in found):
        assert all("pool.jsonl:1: " in str(one) for one in found)
        return
    write_pools(tmp_path / "again.jsonl", found)
    assert load_pools(tmp_path / "again.jsonl") == found and len(found) == 1


@QUIET
@given(line=spoiled(MATRIX))
def test_a_spoiled_matrix_line_is_read_as_it_stands_or_refused(tmp_path: Path, line: dict[str, Any]) -> None:
    path = tmp_path / "matrices.jsonl"
    path.write_text(json.dumps(line) + "\n")
    try:
        (matrix,) = load_matrices(path)
    except InputError as error:
        assert "matrices.jsonl:1: " in str(error)
        return
    write_matrices(tmp_path / "again.jsonl", [matrix])
    assert load_matrices(tmp_path / "again.jsonl")[0].digest == matrix.digest
