"""What is damaged in a directory is said with the name of the file, by `view` as by `inspect`."""

import gzip
import json
import os
import shutil
import time
import zlib
from pathlib import Path

import numpy as np
import pytest

from evosyn.cli import main
from evosyn.errors import CorruptRun
from evosyn.matrices import write_matrices
from evosyn.reading.opening import open_directory
from evosyn.records import PassMatrix

FOLDER, PIPE = object(), object()
BOMB = "a: &a [1, 1]\nb: &b [*a, *a]\nc: [*b, *b]\n"
JSON = {
    "brackets": "{",
    "empty": "",
    "list": "[]",
    "latin": b"\xff",
    "kind": '{"kind": 5}',
    "deep": "[" * 100_000,
    "folder": FOLDER,
    "pipe": PIPE,
}
YAML = {
    "brackets": "a: [",
    "nul": "a: b\0",
    "object": "!!python/object:os.system {}",
    "list": "[1]",
    "bomb": BOMB,
    "empty": "",
    "latin": b"a: \xff",
    "deep": "a: " + "[" * 100_000,
    "day": "a: 2024-02-31",
    "folder": FOLDER,
    "pipe": PIPE,
}
MATRIX = {"v": 4, "problem_id": "p0", "verdicts": ["PF", "FP"]}
MATRICES = {
    "line": ("{nonsense\n", 3),
    "nul": ("\0\n", 3),
    "twice": (json.dumps(MATRIX) + "\n", 3),
    "type": (json.dumps({**MATRIX, "problem_id": 5}) + "\n", 3),
    "surrogate": (json.dumps({**MATRIX, "problem_id": "\ud800"}) + "\n", 3),
}


def put(file: Path, content: object) -> None:
    if file.exists():
        file.unlink()
    if content is FOLDER:
        file.mkdir()
    elif content is PIPE:
        os.mkfifo(file)
    else:
        file.write_bytes(content if isinstance(content, bytes) else str(content).encode())


def told(folder: Path, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Both faces end with 5 and say this, soon, and without the words of a library."""
    for command in (["inspect", str(folder)], ["view", str(folder), "--export", str(tmp_path / "page.html")]):
        started = time.monotonic()
        with pytest.raises(SystemExit) as ended:
            main(command)
        err = capsys.readouterr().err
        assert ended.value.code == 5 and err.startswith(f"error: {folder}/{said}"), err
        assert "pydantic" not in err and "codec can't" not in err
        assert any(remedy in err for remedy in ("Put back", "Remove it", "another --out", "another version"))
        assert time.monotonic() - started < 3
    assert not (tmp_path / "page.html").exists()


@pytest.fixture
def executed(tmp_path: Path) -> Path:
    folder = tmp_path / "executed"
    write_matrices(
        folder / "matrices.jsonl", [PassMatrix(f"p{at}", np.array([["P", "F"], ["F", "P"]])) for at in (0, 1)]
    )
    (folder / "config.yaml").write_text("command: crossexec\n")
    return folder


@pytest.mark.parametrize("content", JSON.values(), ids=JSON)
def test_a_damaged_manifest_is_not_called_absent(content, executed, tmp_path, capsys):
    put(executed / "manifest.json", content)
    told(executed, "manifest.json: is damaged", tmp_path, capsys)


@pytest.mark.parametrize("content", YAML.values(), ids=YAML)
def test_a_configuration_that_nobody_wrote_so_is_named(content, executed, tmp_path, capsys):
    put(executed / "config.yaml", content)
    told(executed, "config.yaml:", tmp_path, capsys)


@pytest.mark.parametrize(("line", "number"), MATRICES.values(), ids=MATRICES)
def test_a_bad_line_of_matrices_is_named(line, number, executed, tmp_path, capsys):
    with (executed / "matrices.jsonl").open("a") as file:
        file.write(line)
    told(executed, f"matrices.jsonl:{number}: ", tmp_path, capsys)


@pytest.mark.parametrize("content", ["", FOLDER, PIPE], ids=["empty", "folder", "pipe"])
@pytest.mark.parametrize("name", ["matrices.jsonl", "report.json"])
def test_what_is_no_file_of_a_run_is_named(name, content, executed, tmp_path, capsys):
    put(executed / name, content)
    told(executed, f"{name}: is ", tmp_path, capsys)


def test_a_journal_that_is_no_file_is_named(executed, tmp_path, capsys):
    put(executed / "journal.jsonl", PIPE)
    told(executed, "journal.jsonl: is damaged, it is no file", tmp_path, capsys)


def test_damaged_directories_inside_of_another_are_not_taken_for_ours(executed):
    put(executed.parent / "manifest.json", "{}")
    (executed.parent / "web").mkdir()
    put(executed.parent / "web" / "manifest.json", "[]")
    with pytest.raises(Exception, match=r"holds several directories; give one: .*executed$"):
        open_directory(executed.parent)


@pytest.fixture
def search(run_dir: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(run_dir, tmp_path / "run"))


def edit(journal: Path, line: int, *keys: object, value: object) -> None:
    """Change a value of an event; the checksum fits."""
    lines = journal.read_bytes().splitlines(keepends=True)
    held = event = json.loads(lines[line][9:])
    for key in keys[:-1]:
        held = held[key]
    held[keys[-1]] = value
    body = json.dumps(event).encode()
    lines[line] = b"%08x %s\n" % (zlib.crc32(body), body)
    journal.write_bytes(b"".join(lines))


@pytest.mark.parametrize(
    ("line", "keys", "value", "said"),
    [
        (0, ("config", "seed"), float("nan"), "1: seed: must be a finite number"),
        (0, ("config", "islands"), None, "1: islands: must be"),
        (0, ("config",), [1], "1: must be"),
        (1, ("step", "trials", 0, "evaluation", "score"), float("nan"), "2: step.trials[0].evaluation is not"),
        (2, ("step", "trials", 0, "evaluation", "descriptor"), [0.5], "3: step.trials[0].evaluation is not"),
        (2, ("step", "island"), 77, "3: proposal 0 fits no search"),
        (2, ("step", "trials", 0, "candidate", "text"), 5, "3: the event 'proposal' cannot be read: step.trials[0]"),
        (2, ("fates",), ["new"], "3: proposal 0 was decided"),
    ],
)
def test_what_is_wrong_in_a_journal_is_told_with_its_line(line, keys, value, said, search, tmp_path, capsys):
    edit(search / "journal.jsonl", line, *keys, value=value)
    told(search, f"journal.jsonl:{said}", tmp_path, capsys)


def test_damaged_matrices_of_a_search_are_no_missing_ones(search):
    file = search / "matrices" / "matrices.jsonl.gz"
    file.write_bytes(gzip.compress(gzip.decompress(file.read_bytes()) + b"{nonsense\n"))
    reading = open_directory(search)
    first = next(reading.entries()).id
    with pytest.raises(CorruptRun, match=r"matrices\.jsonl\.gz:15: is not JSON"):
        reading.candidate(first)
