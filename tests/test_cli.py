"""The command line as a whole: quick help, no heavy import, errors as one line with an exit code."""

import errno
import json
import os
import re
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import pytest

from evosyn.chat import Reply, Request
from evosyn.cli import COMMANDS, group, main
from evosyn.cli._tables import console
from evosyn.databases import disk_errors
from evosyn.errors import EXIT_PIPE, InputError
from evosyn.journal import Journal
from evosyn.teachers.cache import ReplyCache

HEAVY = [
    "torch",
    "litellm",
    "datasets",
    "transformers",
    "trl",
    "matplotlib",
    "pyarrow",
    "docker",
    "openevolve",
    "numpy",
]


def evosyn(*arguments: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run([sys.executable, "-m", "evosyn", *arguments], capture_output=True, text=True, check=False)


@pytest.mark.parametrize("module", ["evosyn", "evosyn.cli"])
def test_importing_pulls_in_nothing_heavy(module: str) -> None:
    program = f"import {module}, sys, json; print(json.dumps(sorted(set(sys.modules) & set({HEAVY}))))"
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert json.loads(result.stdout) == []


def test_help_is_quick_and_lists_commands() -> None:
    best = float("inf")
    for _ in range(3):
        start = time.perf_counter()
        result = evosyn("--help")
        best = min(best, time.perf_counter() - start)
    assert result.returncode == 0
    assert "evolve" in result.stdout
    assert best < 2.0  # generous: the bound of 0.3 s on an idle machine is measured in benchmarks, not here


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help(command: str) -> None:
    result = evosyn(command, "--help")
    assert result.returncode == 0, result.stderr
    assert "Usage: evosyn" in result.stdout


def test_an_unknown_command_or_option_is_a_usage_error() -> None:
    assert evosyn("evolv").returncode == 2
    assert evosyn("evolve", "--no-such-option").returncode == 2


def test_a_command_that_is_nearly_one_is_named() -> None:
    assert "did you mean 'evolve'" in evosyn("evlove").stderr


def test_who_stops_reading_is_no_failure(tmp_path: Path) -> None:
    (tmp_path / "report.json").write_text(json.dumps({"kind": "mine", **{f"figure {at}": at for at in range(20_000)}}))
    program = [sys.executable, "-m", "evosyn", "inspect", str(tmp_path)]
    with subprocess.Popen(program, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        process.stdout.readline()
        process.stdout.close()
        told = process.stderr.read()
    assert (process.returncode, told) == (EXIT_PIPE, "")


def test_who_wants_no_colour_gets_no_bold_letters_either(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert console().color_system is not None
    monkeypatch.setenv("NO_COLOR", "1")
    assert console().color_system is None


@pytest.mark.parametrize(
    "command",
    [
        ["view", "DIR", "--export"],
        ["inspect", "DIR", "--graph"],
        ["score", "--pool", "m.jsonl", "--card"],
        ["pool", "import", "mbpp", "m.jsonl", "--out"],
        ["export", "strategy", "DIR", "--out"],
    ],
)
def test_an_option_that_names_no_file_to_write_is_refused_before_anything_is_done(
    command: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "file").touch()
    for value, said in (
        ("", "'': is empty; name a file"),
        (str(tmp_path / "pipe"), "pipe: is a device, pipe or socket"),
        (str(tmp_path), "is a directory"),
        (str(tmp_path / "file" / "x.html"), f"{tmp_path / 'file'} is no directory"),
    ):
        with pytest.raises(SystemExit) as ended:
            main([*command, value])
        told = capsys.readouterr().err
        assert ended.value.code == 2 and f"error: {command[-1]} " in told and said in told
    assert (tmp_path / "pipe").is_fifo()


def test_an_input_error_names_file_line_field_value_and_next_step() -> None:
    error = InputError("seeds.jsonl", "must be text", line=3, field="statement", value=7, hint="Write the statement")
    assert str(error) == "seeds.jsonl:3: field 'statement': must be text (got 7). Write the statement"
    assert error.exit_code == 2


def test_a_failed_disk_is_named_whichever_library_met_it() -> None:
    from evosyn.cli import _failed_disk

    safetensors = pytest.importorskip("safetensors")
    told = "Error while serializing: I/O error: No space left on device (os error 28)"
    assert _failed_disk(safetensors.SafetensorError(told))
    assert _failed_disk(OSError(errno.ENOSPC, "No space left on device"))
    assert not _failed_disk(safetensors.SafetensorError("invalid header"))
    assert not _failed_disk(ValueError(told))


def test_a_failed_disk_is_named_where_replies_were_to_be_kept() -> None:
    from evosyn.cli import _failed_disk

    cache = ReplyCache()
    cache._db.execute("PRAGMA max_page_count = 2")
    with pytest.raises(OSError, match="No space left") as caught:
        cache.put(Reply("r_1", "x" * 100_000, "m"), Request((), "solution"))
    assert _failed_disk(caught.value)
    assert _failed_disk(ExceptionGroup("of tasks", [caught.value, OSError(errno.ENOSPC, "No space")]))
    assert not _failed_disk(ExceptionGroup("of tasks", [caught.value, ValueError("x")]))


@pytest.mark.parametrize(
    ("name", "number"),
    [("SQLITE_FULL", errno.ENOSPC), ("SQLITE_IOERR_SHMSIZE", errno.ENOSPC), ("SQLITE_IOERR_WRITE", errno.EIO)],
)
def test_a_disk_that_fails_is_not_called_full(name: str, number: int, tmp_path: Path) -> None:
    from evosyn.cli import _failed_disk

    error = sqlite3.OperationalError("disk I/O error")
    error.sqlite_errorname = name
    path = tmp_path / "replies.sqlite"
    with pytest.raises(OSError, match=re.escape(os.strerror(number))) as caught, disk_errors(path):
        raise error
    assert caught.value.errno == number and caught.value.filename == str(path)
    assert _failed_disk(caught.value)


def test_a_failed_disk_is_named_with_the_file_whichever_task_wrote_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    journal = Journal(tmp_path / "journal.jsonl")
    journal._file = Path("/dev/full").open("ab")  # noqa: SIM115 - the journal closes it

    def write(**_: object) -> None:
        try:
            with closing(journal):
                journal.append({"event": "x"})
        except OSError as error:
            raise ExceptionGroup("of tasks", [error]) from None

    monkeypatch.setattr(group, "main", write)
    with pytest.raises(SystemExit) as ended:
        main([])
    assert ended.value.code == 4
    assert f"the disk is full ({journal.path})" in capsys.readouterr().err
