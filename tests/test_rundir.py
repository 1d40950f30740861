"""Run directories: one writer, atomic files."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from evosyn.errors import CorruptRun, RunLocked, UsageError
from evosyn.rundir import RunDir, require_free, write_atomic


def test_a_second_writer_is_refused_and_the_first_goes_on(tmp_path: Path) -> None:
    program = f"import sys; from evosyn.rundir import RunDir\nwith RunDir({str(tmp_path)!r}): pass"
    with RunDir(tmp_path) as run:
        run.claim("evolve")
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


def test_what_is_no_file_is_never_replaced_by_one(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "file").write_text("mine")
    (tmp_path / "link").symlink_to("file")
    for name, what in (("folder", "is a directory"), ("pipe", "is a device, pipe"), ("file/x", "no directory")):
        with pytest.raises(UsageError, match=f"{name}.*{what}"):
            write_atomic(tmp_path / name, "ours")
    write_atomic(tmp_path / "link", "ours")
    assert (tmp_path / "link").read_text() == "ours" and (tmp_path / "pipe").is_fifo()
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["file", "folder", "link", "pipe"]


def test_a_directory_that_is_no_run_says_what_is_missing(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"report\.json"):
        RunDir(tmp_path).read_json("report.json")
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError, match="--out"):
        RunDir(tmp_path / "file").open_for_writing()


@pytest.mark.parametrize("text", ["", "{", "[]", "null", "\x00", "\xff"])
def test_a_damaged_file_of_a_run_says_what_to_do(text: str, tmp_path: Path) -> None:
    for name, remedy in (
        ("report.json", "repeat the command, which writes it again"),
        ("manifest.json", "another --out"),
    ):
        (tmp_path / name).write_bytes(text.encode("latin-1"))
        with pytest.raises(CorruptRun, match=f"{name}: is damaged.*{remedy}"):
            RunDir(tmp_path).read_json(name)
    with pytest.raises(CorruptRun, match="another --out"):
        RunDir(tmp_path).claim("evolve")


def test_a_new_run_takes_no_directory_with_files_of_somebody_else(tmp_path: Path) -> None:
    databases = [f"{name}.sqlite{end}" for name in ("replies", "verdicts") for end in ("", "-wal", "-shm", "-journal")]
    for name in (".git", "turns.jsonl", *databases):  # of a `--dry-run`
        (tmp_path / name).touch()
    for name in ("states", "evaluations"):
        (tmp_path / name).mkdir()
    RunDir(tmp_path).claim_new("evolve")
    (tmp_path / "thesis.tex").touch()
    with pytest.raises(UsageError, match=r"files of something else \(thesis.tex\); choose another directory"):
        RunDir(tmp_path).claim_new("evolve")
    RunDir(tmp_path).write_json("manifest.json", {"kind": "evolve"})
    RunDir(tmp_path).claim_new("evolve")  # beside a run of ours they may stand
    with pytest.raises(UsageError, match="holds a run of another kind"):
        RunDir(tmp_path).claim_new("synthesize")


@pytest.mark.parametrize("lock", [None, "", "4711", "4711\n", "held by backup\n"])
def test_a_directory_that_is_refused_stays_as_it_was(lock: str | None, tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("mine")
    if lock is not None:
        (tmp_path / ".lock").write_text(lock)
    before = {one.name: one.read_bytes() for one in tmp_path.iterdir()}
    with pytest.raises(UsageError, match="choose another directory"), RunDir(tmp_path) as run:
        run.claim_new("evolve")
    assert {one.name: one.read_bytes() for one in tmp_path.iterdir()} == before


def test_a_directory_of_evosyns_own_is_not_called_somebody_elses(tmp_path: Path) -> None:
    for name in ("config.yaml", "metrics.jsonl", "model", "report.json"):  # of a training
        (tmp_path / name).touch()
    with pytest.raises(UsageError) as refused:
        RunDir(tmp_path).claim_new("evolve")
    told = f"--out {tmp_path}: holds files of something else (config.yaml, metrics.jsonl, model and 1 more)"
    assert str(refused.value) == f"{told}; choose another directory"


def test_a_lock_of_something_else_is_refused_wherever_it_lies(tmp_path: Path) -> None:
    (tmp_path / ".lock").write_bytes(b"\xff held")
    with pytest.raises(UsageError, match=r"something else \(\.lock\)"):
        RunDir(tmp_path).open_for_writing()
    assert (tmp_path / ".lock").read_bytes() == b"\xff held"


def test_a_run_that_goes_on_says_its_process_in_the_lock_of_the_one_before(tmp_path: Path) -> None:
    (tmp_path / ".lock").write_text("123456789")
    with RunDir(tmp_path) as run:
        run.write("notes.txt", "")
        assert (tmp_path / ".lock").read_text() == str(os.getpid())
    assert (tmp_path / ".lock").exists()


@pytest.mark.parametrize(
    "name",
    ["states.csv", "evaluations.txt", "replies.sqlite.bak", "replies.sqlite-old", "verdicts.sqlite3", "turns.jsonl.gz"],
)
def test_a_name_that_only_begins_like_one_of_ours_is_somebody_elses(name: str, tmp_path: Path) -> None:
    (tmp_path / name).touch()
    with pytest.raises(UsageError, match=f"files of something else \\({name}\\); choose another directory"):
        RunDir(tmp_path).claim_new("evolve")


def test_json_files_carry_a_schema_version(tmp_path: Path) -> None:
    path = RunDir(tmp_path).write_json("report.json", {"a": 1})
    assert json.loads(path.read_text()) == {"v": 1, "a": 1}


def test_a_directory_is_held_to_what_decided_its_content(tmp_path):
    with RunDir(tmp_path) as run:
        run.begin("rows", seed=1, names=["a"])
        run.begin("rows", seed=1, names=["a"], later=None)
        with pytest.raises(UsageError, match=r"seed: 1 before, 2 now; names: \['a'\] before, \['b'\] now"):
            run.begin("rows", seed=2, names=["b"])
        assert run.read_json("manifest.json") == {"v": 1, "kind": "rows", "seed": 1, "names": ["a"], "later": None}


def test_a_pipe_that_is_called_like_the_lock_is_refused_and_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / ".lock")
    for opened in (RunDir(tmp_path).open_for_writing, lambda: require_free(tmp_path)):
        with pytest.raises(UsageError, match=r"something else \(\.lock\)"):
            opened()
