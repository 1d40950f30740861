"""Run directories: an append-only journal that survives being cut anywhere, one writer, atomic files."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from evosyn.errors import CorruptRun, RunLocked, UsageError
from evosyn.rundir import Journal, RunDir, write_atomic

EVENTS = st.lists(st.dictionaries(st.text(max_size=5), st.integers() | st.text(max_size=20), max_size=3), max_size=8)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(EVENTS, st.data())
def test_a_journal_cut_at_any_byte_keeps_every_whole_event_and_can_be_continued(
    tmp_path: Path, events: list[dict[str, object]], data: st.DataObject
) -> None:
    path = tmp_path / "journal.jsonl"
    path.unlink(missing_ok=True)
    journal = Journal(path)
    ends = [0]
    for event in events:
        journal.append(event)
        ends.append(path.stat().st_size)
    journal.close()
    cut = data.draw(st.integers(0, ends[-1]))
    if path.exists():
        os.truncate(path, cut)
    whole = sum(end <= cut for end in ends) - 1
    again = Journal(path)
    assert list(again.events()) == events[:whole]
    again.append({"after": 1}, sync=True)
    again.close()
    assert list(Journal(path).events()) == [*events[:whole], {"after": 1}]


def test_damage_before_the_last_line_is_an_error_that_names_the_line(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    journal = Journal(path)
    for number in range(3):
        journal.append({"n": number})
    journal.close()
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(lines[0] + lines[1].replace(b"1", b"7", 1) + lines[2])
    with pytest.raises(CorruptRun, match=r"journal\.jsonl:2"):
        list(Journal(path).events())


def test_a_second_writer_is_refused_and_the_first_goes_on(tmp_path: Path) -> None:
    program = f"import sys; from evosyn.rundir import RunDir\nwith RunDir({str(tmp_path)!r}): pass"
    with RunDir(tmp_path) as run:
        second = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
        assert "RunLocked" in second.stderr
        assert str(os.getpid()) in second.stderr
        with pytest.raises(RunLocked):
            RunDir(tmp_path).open_for_writing()
        run.journal.append({"still": "mine"})
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


def test_write_atomic_leaves_the_old_file_and_no_other_when_it_fails(tmp_path: Path) -> None:
    path = tmp_path / "report.json"
    write_atomic(path, "old")
    with pytest.raises(TypeError):
        write_atomic(path, 3)  # type: ignore[arg-type]
    assert path.read_text() == "old"
    assert [entry.name for entry in tmp_path.iterdir()] == ["report.json"]


def test_a_directory_that_is_no_run_says_what_is_missing(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"report\.json"):
        RunDir(tmp_path).read_json("report.json")
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError, match="--out"):
        RunDir(tmp_path / "file").open_for_writing()


def test_json_files_carry_a_schema_version(tmp_path: Path) -> None:
    path = RunDir(tmp_path).write_json("report.json", {"a": 1})
    assert json.loads(path.read_text()) == {"v": 1, "a": 1}
