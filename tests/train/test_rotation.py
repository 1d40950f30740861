"""`evosyn train --rotate`: from the command line to the report, and after a kill."""

from __future__ import annotations

import importlib.util
import json
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from click.testing import CliRunner

from evosyn.cli import group
from evosyn.dataset import write_dataset
from evosyn.domains import domain
from evosyn.environments import environment
from evosyn.environments.rows import rows_of, samples_of
from evosyn.environments.runner import EnvironmentRunner
from evosyn.errors import CorruptRun, UsageError
from evosyn.ports import Sandbox
from evosyn.randomness import SeedTree
from evosyn.records import Json
from evosyn.train.checkpoints import MARK, read_metrics

pytestmark = [
    pytest.mark.train,
    pytest.mark.slow,
    pytest.mark.skipif(importlib.util.find_spec("trl") is None, reason="needs the train extra"),
]
STEPS = 4


@pytest.fixture(scope="module")
def data(sandbox: Sandbox, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("rotating")
    rows = rows_of(environment("brackets"), EnvironmentRunner(sandbox), 10, SeedTree(0))
    write_dataset(folder, "evosyn", samples_of(rows, domain("environment")))  # type: ignore[arg-type]
    return folder


def command(data: Path, out: Path, *more: str) -> list[str]:
    sets = ("tiny.warm_steps=20", "rollout.max_completion=12", "rollout.prompts=2", "rollout.group=2", "keep.every=2")
    line = ["train", str(data), "--model", "builtin:tiny", "--steps", str(STEPS), "--out", str(out), "--rotate", "6"]
    return [*line, *(part for one in sets for part in ("--set", one)), "--allow-weak-sandbox", *more]


def outcome(out: Path) -> Json:
    names = ("step", "reward", "zero_variance", "rotated", "level", "grad_norm")
    rows = [[row.get(name) for name in names] for row in read_metrics(out / "metrics.jsonl")]
    state = (out / "checkpoints" / f"checkpoint-{STEPS}" / "feed.json").read_text()
    return [rows, state, json.loads((out / "report.json").read_text())["feed"]]


@pytest.fixture(scope="module")
def whole(data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("whole") / "run"
    assert CliRunner().invoke(group, command(data, out), catch_exceptions=False).exit_code == 0
    return out


def test_a_rotating_pool_trains_and_is_told_of(whole: Path) -> None:
    rows, _, feed = outcome(whole)
    assert len(rows) == STEPS
    assert all(row[3] is not None and 1 <= row[4] <= 5 for row in rows)
    assert feed[0]["fresh"] > 0  # a tiny model solves next to nothing
    shown = CliRunner().invoke(group, ["inspect", str(whole)], catch_exceptions=False).stdout
    assert "zero_variance" in shown
    assert "brackets" in shown.lower()


@pytest.mark.parametrize("left", ["checkpoint-2", None])
def test_it_goes_on_from_what_a_kill_leaves(left: str | None, data: Path, whole: Path, tmp_path: Path) -> None:
    """A kill while the last checkpoint is written, and one before the first: the journal is further than both."""
    out = tmp_path / "run"
    shutil.copytree(whole, out)
    (out / "report.json").unlink()
    for folder in (out / "checkpoints").glob("checkpoint-*"):
        if folder.name != left:
            (folder / MARK).unlink()
    assert CliRunner().invoke(group, command(data, out), catch_exceptions=False).exit_code == 0
    assert outcome(out) == outcome(whole)
    assert '"rewind"' in (out / "journal.jsonl").read_text()


@pytest.mark.long
def test_killed_at_20_instants_it_ends_as_if_nothing_had_been(data: Path, whole: Path, tmp_path: Path) -> None:
    killed, instants = tmp_path / "killed", SeedTree(20).random()
    for _ in range(20):
        line = [sys.executable, "-m", "evosyn", *command(data, killed)]
        process = subprocess.Popen(line, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        deadline = time.monotonic() + 240
        while not (killed / "journal.jsonl").exists() and process.poll() is None:
            assert time.monotonic() < deadline
            time.sleep(0.01)
        time.sleep(instants.random() * 3)
        process.send_signal(signal.SIGKILL)
        process.wait()
    subprocess.run([sys.executable, "-m", "evosyn", *command(data, killed)], check=True, capture_output=True)
    assert outcome(killed) == outcome(whole)


def test_a_pool_smaller_than_a_step_is_refused(data: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="--rotate 6: a pool of 6 rows is smaller than one step, which draws 8"):
        CliRunner().invoke(group, command(data, tmp_path / "a", "--set", "rollout.prompts=8"), catch_exceptions=False)


def test_several_passes_over_a_batch_are_refused_before_anything_is_loaded(data: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"optim.iterations=2: rows that change .* --set optim.iterations=1"):
        CliRunner().invoke(group, command(data, tmp_path / "a", "--set", "optim.iterations=2"), catch_exceptions=False)
    assert not (tmp_path / "a" / "config.yaml").exists()


def test_a_state_from_elsewhere_is_refused(data: Path, whole: Path, tmp_path: Path) -> None:
    out = tmp_path / "run"
    shutil.copytree(whole, out)
    (out / "report.json").unlink()
    state = out / "checkpoints" / f"checkpoint-{STEPS}" / "feed.json"
    state.write_text(state.read_text().replace("rates", "rater"))
    with pytest.raises(CorruptRun, match="is not what the journal of the run leads to"):
        CliRunner().invoke(group, command(data, out), catch_exceptions=False)
