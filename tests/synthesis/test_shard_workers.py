"""Shards made by processes that are killed: the same bytes as made by one that was not."""

from __future__ import annotations

import hashlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from evosyn.dataset import SETTINGS, parquet_files
from evosyn.journal import Journal
from evosyn.strategies import load_strategy
from evosyn.synthesis.shards.leasing import Leased, Returned, lease_events

pytestmark = pytest.mark.long
WORKERS = 3


@pytest.fixture(scope="module")
def strategy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("strategy") / "gap.py"
    path.write_text(load_strategy("gap"))
    return path


def begin(strategy: Path, out: Path, workers: int, *more: str) -> subprocess.Popen[str]:
    asked = ["synthesize", str(strategy), "--seeds", "builtin:python-seeds", "--teacher", "offline", "--out", str(out)]
    size = ["--problems", "6", "-M", "4", "-N", "3", "--shard-size", "1", "--set", f"shards.workers={workers}"]
    line = [
        sys.executable,
        "-P",
        "-m",
        "evosyn",
        *asked,
        *size,
        "--allow-weak-sandbox",
        "--set",
        "shards.ship_s=0.5",
        *more,
    ]
    return subprocess.Popen(line, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)


def done(command: subprocess.Popen[str]) -> None:
    _, said = command.communicate(timeout=1800)
    assert command.returncode == 0, said


def working(out: Path, phase: str) -> list[int]:
    """The processes that have said that they work on a shard of a phase."""
    files = list((out / "shards" / "progress").glob("*.json"))
    said = [json.loads(file.read_text()) for file in files]
    return [
        int(one["worker"].rpartition("-")[2]) for one in said if one["phase"] == phase and one["ended"] < one["asked"]
    ]


def awaited(found: Callable[[], list[int]]) -> list[int]:
    deadline = time.monotonic() + 900
    while not (pids := found()):
        assert time.monotonic() < deadline
        time.sleep(0.1)
    return pids


def content(out: Path) -> list[str]:
    names = [out / name for name in ("rejects.jsonl", "report.json", "dataset/README.md")]
    names += [file for setting in SETTINGS for file in parquet_files(out, setting)]
    return [hashlib.sha256(file.read_bytes()).hexdigest() for file in names]


def calls(out: Path) -> list[str]:
    """The keys of all replies that reached storage."""
    lines = [line for file in (out / "shards" / "replies").rglob("*.jsonl") for line in file.read_text().splitlines()]
    events = [json.loads(line[9:]) for line in lines]
    return sorted(str(event["key"]) for event in events if event["event"] == "reply")


@pytest.fixture(scope="module")
def wanted(strategy: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("one") / "d"
    done(begin(strategy, out, 1))
    return out


def test_one_of_three_workers_is_killed_in_the_middle_of_a_shard(strategy: Path, wanted: Path, tmp_path: Path) -> None:
    out = tmp_path / "d"
    command = begin(strategy, out, WORKERS)
    os.kill(awaited(lambda: working(out, "rows"))[0], signal.SIGKILL)
    done(command)
    events = list(lease_events(Journal(out / "journal.jsonl")))
    assert [one.status for one in events if isinstance(one, Returned)].count("died") == 1
    assert sum(isinstance(one, Leased) for one in events) == 2 * 6 + 1
    assert content(out) == content(wanted)
    assert calls(out) == calls(wanted), "no reply is lost, none is paid twice"


def test_a_killed_driver_is_resumed_while_its_orphans_go_on(strategy: Path, wanted: Path, tmp_path: Path) -> None:
    out = tmp_path / "d"
    command = begin(strategy, out, WORKERS)
    orphans = awaited(lambda: working(out, "rows"))
    command.kill()
    command.wait()
    done(begin(strategy, out, 1))
    assert content(out) == content(wanted)
    assert calls(out) == calls(wanted)
    assert orphans
