"""`evosyn env make`: what a run writes is the same at any concurrency and after any kill, nothing is paid twice, and
what it keeps goes on to the other commands."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from simulation import TEACHER

from evosyn.cli.env import command
from evosyn.cli.inspect import command as inspect
from evosyn.environments import sources
from evosyn.journal import Journal
from evosyn.reading.opening import open_directory
from evosyn.view.answers import open_view
from evosyn.view.page import exported

SEED = os.environ.get("EVOSYN_TEST_SEED", "0")
SMALL = ("--limit", "5", "--quiet", "--teacher", TEACHER, "--set", "crosscheck.instances=10", "--set", "crosscheck.group=2",
         "--set", "ladder.seeds=4")  # fmt: skip
UNTOLD = ("journal.jsonl", "config.yaml")
"""Replies and items stand in the order in which they came; the number of calls in flight is a setting."""


def make(out: Path, *more: str) -> Result:
    ended = CliRunner().invoke(command, ["make", "--out", str(out), *SMALL, *more])
    assert ended.exit_code == 0, (ended.output, ended.exception)
    return ended


def written(out: Path) -> Mapping[str, bytes]:
    """What a run wrote for others, by name; the card begins with the name of its directory."""
    files = [
        path for path in sorted(out.rglob("*")) if path.is_file() and path.suffix in (".json", ".jsonl", ".py", ".md")
    ]
    found = {str(path.relative_to(out)): path.read_bytes() for path in files if path.name not in UNTOLD}
    return {**found, "README.md": found["README.md"].partition(b"\n")[2]}


def events(out: Path) -> list[Mapping[str, object]]:
    return list(Journal(out / "journal.jsonl").events())


def killed(out: Path, lines: int) -> None:
    """A run that is killed as soon as its journal has so many lines."""
    line = [sys.executable, "-m", "evosyn", "env", "make", "--out", str(out), *SMALL]
    process = subprocess.Popen(line, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    journal, until = out / "journal.jsonl", time.monotonic() + 300
    while process.poll() is None and time.monotonic() < until:
        if journal.exists() and journal.read_bytes().count(b"\n") >= lines:
            break
        time.sleep(0.005)
    process.kill()
    process.wait()


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("environments") / "made"
    make(out, "--set", "workbench.teacher.calls=32")
    return out


@pytest.mark.slow
def test_one_call_at_a_time_writes_the_same_bytes_as_many(made: Path, tmp_path: Path) -> None:
    make(tmp_path / "one", "--set", "workbench.teacher.calls=1")
    assert written(tmp_path / "one") == written(made)


@pytest.mark.slow
@pytest.mark.parametrize("share", [0.2, 0.7])
def test_a_killed_run_ends_as_one_that_was_not(made: Path, tmp_path: Path, share: float) -> None:
    _killed_and_resumed(made, tmp_path / "run", share)


@pytest.mark.long
@pytest.mark.parametrize("share", [random.Random(f"kills/{SEED}/{at}").random() for at in range(20)])
def test_a_run_killed_at_any_instant_ends_as_one_that_was_not(made: Path, tmp_path: Path, share: float) -> None:
    _killed_and_resumed(made, tmp_path / "run", share)


def _killed_and_resumed(made: Path, out: Path, share: float) -> None:
    whole = events(made)
    killed(out, 1 + int(share * len(whole)))
    before = [event["key"] for event in events(out) if event["event"] == "reply"]
    make(out)
    assert written(out) == written(made)
    paid = [event["key"] for event in events(out) if event["event"] == "reply"]
    assert paid[: len(before)] == before
    assert len(paid) == len({json.dumps(key) for key in paid})  # nothing was paid twice


def test_a_finished_run_is_not_made_again(made: Path) -> None:
    before = (made / "journal.jsonl").read_bytes(), written(made)
    make(made)
    assert ((made / "journal.jsonl").read_bytes(), written(made)) == before


def test_every_draft_is_kept_or_has_a_reason_and_the_simulation_is_named(made: Path) -> None:
    report = json.loads((made / "report.json").read_text())
    assert report["kept"] + sum(report["dropped"].values()) == report["asked"] == 5
    assert report["kept"] and report["simulated"] is True
    assert "SIMULATED by offline-teacher" in (made / "README.md").read_text()
    rows = [json.loads(line) for line in (made / "environments.jsonl").read_text().splitlines()]
    assert all(row["simulated"] and "SIMULATED" in row["title"] for row in rows)


def test_inspect_tells_what_became_of_each_draft(made: Path) -> None:
    reading = open_directory(made)
    assert reading.kind == "environments"
    for index in range(5):
        told = CliRunner().invoke(inspect, [str(made), "--why", str(index)])
        assert told.exit_code == 0 and "SIMULATED" in told.output, told.output
    (first, *_) = [json.loads(line) for line in (made / "environments.jsonl").read_text().splitlines()]
    told = CliRunner().invoke(inspect, [str(made), "--program", first["id"]])
    assert "def verify(" in told.output and "level 5:" in told.output
    overview = CliRunner().invoke(inspect, [str(made)]).output
    assert "of 5 drafts are kept" in overview and first["id"] in overview and "SIMULATED" in overview
    lineage = CliRunner().invoke(inspect, [str(made), "--lineage", first["id"]]).output
    assert [line.split()[0] for line in lineage.splitlines()][-2:] == ["written", "asked"] and "kept" in lineage
    html = exported(open_view(made))
    assert f"why/{first['id']}" in html and "draftPage" in html
    assert CliRunner().invoke(inspect, [str(made), "--why", "99"]).exception is not None


@pytest.mark.slow
def test_what_was_kept_is_a_name_for_the_other_commands(made: Path, tmp_path: Path) -> None:
    ids = {Path(name).stem for name in sources([str(made)])}
    rows = [json.loads(line) for line in (made / "environments.jsonl").read_text().splitlines()]
    assert ids == {row["id"] for row in rows}
    asked = ["rows", str(made), "--out", str(tmp_path / "rows"), "--per-env", "5"]
    ended = CliRunner().invoke(command, asked)
    assert ended.exit_code == 0, ended.output
    assert json.loads((tmp_path / "rows" / "report.json").read_text())["kept"] == 5 * len(rows)


def test_another_run_in_the_same_directory_is_refused(made: Path) -> None:
    ended = CliRunner().invoke(command, ["make", "--out", str(made), *SMALL, "--seed", "1"])
    assert ended.exit_code != 0 and "seed" in str(ended.exception)


@pytest.mark.slow
def test_a_dry_run_says_what_it_would_take_and_writes_nothing(tmp_path: Path) -> None:
    out = tmp_path / "dry"
    ended = CliRunner().invoke(command, ["make", "--out", str(out), *SMALL, "--dry-run", "--json"])
    assert ended.exit_code == 0, ended.output
    found = json.loads(ended.output)
    assert found["calls"] == sum(phase["calls"] for phase in found["phases"].values()) == 5 * (1 + 2 + 4)
    assert found["phases"]["solver"]["calls_at_most"] == 5 * 4 * 2 * 2
    assert found["cost"] == 0.0 and not (out / "journal.jsonl").exists()
