"""Half of a surrogate pair in a text is written as its escape: every file is UTF-8, and reads back the same."""

from __future__ import annotations

import json
import re
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from evosyn.journal import Journal
from evosyn.jsonlines import read_lines, write_lines
from evosyn.matrices import load_matrices, write_matrices
from evosyn.records import Json, PassMatrix
from evosyn.rundir import RunDir

PAIR = re.compile("[\ud800-\udbff][\udc00-\udfff]")
"""Both halves side by side are the character that they mean."""
TEXT = st.text(st.sampled_from('a\\"\n\u00e9\ud800\udbff\udc00\udfff\U0001f600'), max_size=8).filter(
    lambda text: not PAIR.search(text)
)
VALUES = st.dictionaries(TEXT, st.recursive(TEXT, lambda inner: st.lists(inner, max_size=3)), min_size=1, max_size=3)


@settings(max_examples=200)
@given(VALUES)
def test_what_is_written_as_json_is_utf8_and_reads_back_the_same(value: dict[str, Json]) -> None:
    with TemporaryDirectory() as folder, RunDir(folder) as run:
        write_lines(run.file("lines.jsonl"), [value])
        run.journal.append({"event": "said", "value": value})
        run.write_json("report.json", {"kind": "x", "value": value})
        run.journal.sync()
        for file in ("lines.jsonl", "journal.jsonl", "report.json"):
            run.file(file).read_bytes().decode("utf-8")
        assert next(read_lines(run.file("lines.jsonl"))).value == value
        assert [event["value"] for event in Journal(run.file("journal.jsonl")).events()] == [value]
        assert run.read_json("report.json")["value"] == value


def test_a_matrix_with_half_a_pair_in_what_was_asked_and_given_is_utf8(tmp_path: Path) -> None:
    verdicts = np.array([["P", "F"]])
    full = PassMatrix("p", verdicts, statement="say \ud800", payload={"entry_point": "f", "note": "\udfff"})
    path = tmp_path / "matrices.jsonl"
    write_matrices(path, [full])
    assert "\\ud800" in path.read_bytes().decode("utf-8")
    (again,) = load_matrices(path)
    assert (again.statement, again.payload) == (full.statement, full.payload)
    assert json.loads(path.read_bytes())["problem"]["statement"] == "say \ud800"
