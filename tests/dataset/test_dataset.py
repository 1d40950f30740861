"""The dataset on disk: rows survive the trip, equal rows give equal bytes, bad files are refused."""

import json
from dataclasses import replace
from pathlib import Path

import pyarrow.parquet
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from evosyn.chat import Message
from evosyn.dataset import (
    SETTINGS,
    Reject,
    Sample,
    iterate_dataset,
    parquet_path,
    read_dataset,
    read_rejects,
    write_dataset,
    write_rejects,
)
from evosyn.errors import UsageError

SAMPLE = Sample(
    id="d_1",
    problem_id="p",
    domain="python-function",
    prompt=(Message("system", "be exact"), Message("user", "solve")),
    statement="Return x.",
    payload='{"entry_point":"f"}',
    testing='{"cases":[{"input":[1],"output":1}],"kind":"cases"}',
    tests=1,
    solution="def f(x):\n    return x\n",
    solutions_ranked="[]",
    scores="{}",
    matrix_digest="m_1",
    lineage="{}",
    model="toy",
    simulated=True,
    difficulty=0.25,
    cost=None,
    licence="Apache-2.0",
    setting="evosyn",
    meta='{"topic": "identity"}',
)
TEXT = st.text(st.characters(codec="utf-8"), max_size=30)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=25)
@given(st.lists(st.tuples(TEXT, TEXT | st.none(), st.integers(0, 99), st.floats(0, 1), st.booleans()), max_size=5))
def test_rows_survive_the_trip_and_equal_rows_give_equal_bytes(tmp_path: Path, rows):
    samples = [
        replace(
            SAMPLE, statement=text, payload=json.dumps({"entry_point": name}), tests=count, cost=cost, simulated=flag
        )
        for text, name, count, cost, flag in rows
    ]
    path = write_dataset(tmp_path, "relaxed", samples)
    first = path.read_bytes()
    assert read_dataset(tmp_path, "relaxed") == samples
    assert read_dataset(path) == samples
    write_dataset(tmp_path, "relaxed", iterate_dataset(path))
    assert path.read_bytes() == first


def test_many_rows_are_streamed_in_order(tmp_path: Path):
    write_dataset(tmp_path, "evosyn", (replace(SAMPLE, tests=number) for number in range(1000)))
    assert [row.tests for row in iterate_dataset(tmp_path)] == list(range(1000))


def test_a_row_gives_back_its_problem_and_testing():
    assert SAMPLE.problem.meta == {"topic": "identity"}
    assert SAMPLE.chosen_testing.to_json() == json.loads(SAMPLE.testing)
    assert SAMPLE.chosen_testing.provenance.simulated


def test_the_dataset_folder_itself_can_be_named(tmp_path: Path):
    write_dataset(tmp_path, "evosyn", [SAMPLE])
    assert parquet_path(tmp_path / "dataset") == tmp_path / "dataset" / "evosyn.parquet"
    assert read_dataset(tmp_path / "dataset") == [SAMPLE]


def test_the_datasets_library_reads_the_rows(tmp_path: Path):
    datasets = pytest.importorskip("datasets")
    path = write_dataset(tmp_path, "evosyn", [SAMPLE])
    row = datasets.load_dataset("parquet", data_files=str(path), split="train", cache_dir=str(tmp_path / "cache"))[0]
    assert row["prompt"] == [{"role": "system", "content": "be exact"}, {"role": "user", "content": "solve"}]
    assert row["simulated"] is True
    assert row["cost"] is None


@pytest.mark.parametrize("setting", ["EvoSyn", ""])
def test_an_unknown_setting_is_refused(tmp_path: Path, setting: str):
    with pytest.raises(UsageError, match=", ".join(SETTINGS)):
        read_dataset(tmp_path, setting)


@pytest.mark.parametrize("text", ["[" * 100_000, "[1]", "{nope", "5"])
def test_a_damaged_column_is_named_with_its_row(text: str):
    for column in ("payload", "meta"):
        with pytest.raises(UsageError, match=f"row '{SAMPLE.id}': the column '{column}' is damaged"):
            _ = replace(SAMPLE, **{column: text}).problem
    with pytest.raises(UsageError, match="the column 'testing' is damaged"):
        _ = replace(SAMPLE, testing=text).chosen_testing
    with pytest.raises(UsageError, match="the column 'solutions_ranked' is damaged"):
        _ = replace(SAMPLE, solutions_ranked=text).ranked


def test_a_file_with_damaged_pages_is_named(tmp_path: Path):
    path = write_dataset(tmp_path, "evosyn", [replace(SAMPLE, statement="x" * at) for at in range(300)])
    whole = path.read_bytes()
    path.write_bytes(whole[:100] + bytes(255 - one for one in whole[100:2000]) + whole[2000:])
    with pytest.raises(UsageError, match=r"evosyn\.parquet: is damaged: .*Put back a copy"):
        read_dataset(tmp_path)


def test_missing_foreign_and_damaged_files_are_refused(tmp_path: Path):
    with pytest.raises(UsageError, match="no such dataset"):
        read_dataset(tmp_path)
    (tmp_path / "x.parquet").write_text("not parquet")
    with pytest.raises(UsageError, match="is not a parquet file"):
        read_dataset(tmp_path / "x.parquet")
    import pyarrow
    import pyarrow.parquet

    pyarrow.parquet.write_table(pyarrow.Table.from_pylist([{"id": "1"}]), tmp_path / "y.parquet")
    with pytest.raises(UsageError, match="'problem_id' is missing"):
        read_dataset(tmp_path / "y.parquet")


def test_a_file_of_a_later_version_is_refused_by_name(tmp_path: Path):
    path = write_dataset(tmp_path, "evosyn", [SAMPLE])
    held = pyarrow.parquet.read_table(path)
    pyarrow.parquet.write_table(held.replace_schema_metadata({"evosyn_schema": "9"}), path)
    with pytest.raises(UsageError, match=r"evosyn.parquet: its rows are of version 9, .* use the evosyn that wrote"):
        read_dataset(tmp_path)
    pyarrow.parquet.write_table(held.replace_schema_metadata({}), path)
    assert read_dataset(tmp_path) == [SAMPLE], "as other programs write it"


def test_rejects_survive_the_trip(tmp_path: Path):
    rejects = [
        Reject("prune", "zero-variance-testings", "problem", 3, "syn-000003", ("evosyn", "random"), None, "é"),
        Reject("solution", "no-fence", "reply", 4, "syn-000004", (), "r_1"),
    ]
    write_rejects(tmp_path, rejects)
    assert read_rejects(tmp_path) == rejects
    with pytest.raises(UsageError, match="no such file"):
        read_rejects(tmp_path / "elsewhere")


def test_a_name_of_a_column_that_is_none_in_utf8_is_damage(tmp_path: Path):
    path = write_dataset(tmp_path, "evosyn", [SAMPLE])
    whole = path.read_bytes()
    path.write_bytes(whole.replace(b"problem_id", b"problem\xddid"))
    with pytest.raises(UsageError, match=r"evosyn\.parquet: is not a parquet file"):
        read_dataset(tmp_path)
