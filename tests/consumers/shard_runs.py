"""A synthesis of six problems in shards of one, by command; who works on what, and what came of it."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from simulation import TEACHER

from evosyn.dataset import SETTINGS, parquet_files
from evosyn.strategies import load_strategy

PROBLEMS = 6


def begin(strategy: Path, out: Path, *more: str, environment: Mapping[str, str] | None = None) -> subprocess.Popen[str]:
    """The command, running; what is journalled is brought to storage twice a second."""
    asked = ["synthesize", str(strategy), "--seeds", "builtin:python-seeds", "--teacher", TEACHER, "--out", str(out)]
    size = ["--problems", str(PROBLEMS), "-M", "4", "-N", "3", "--shard-size", "1", "--set", "shards.ship_s=0.5"]
    line = [sys.executable, "-P", "-m", "evosyn", *asked, *size, "--allow-weak-sandbox", *more]
    return subprocess.Popen(line, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, env=environment)


def strategy_in(folder: Path) -> Path:
    """A strategy to rank by."""
    path = folder / "gap.py"
    path.write_text(load_strategy("gap"))
    return path


def undisturbed(strategy: Path, out: Path) -> Path:
    """The same, made on this machine by one worker."""
    done(begin(strategy, out))
    return out


def done(command: subprocess.Popen[str]) -> None:
    """Wait for its end, which has to be a good one."""
    _, said = command.communicate(timeout=1800)
    assert command.returncode == 0, said


def working(out: Path, phase: str = "rows") -> list[int]:
    """The processes that have said that they work on a shard of a phase."""
    files = list((out / "shards" / "progress").glob("*.json"))
    said = [json.loads(file.read_text()) for file in files]
    return [
        int(one["worker"].rpartition("-")[2]) for one in said if one["phase"] == phase and one["ended"] < one["asked"]
    ]


def awaited(found: Callable[[], list[int]], command: subprocess.Popen[str]) -> list[int]:
    """What is found once it is something, while the command runs."""
    while not (pids := found()):
        assert command.poll() is None, command.communicate()[1]
        time.sleep(0.1)
    return pids


def content(out: Path) -> list[str]:
    """Digests of all that a run leaves to its user."""
    names = [out / name for name in ("rejects.jsonl", "report.json", "dataset/README.md")]
    names += [file for setting in SETTINGS for file in parquet_files(out, setting)]
    return [hashlib.sha256(file.read_bytes()).hexdigest() for file in names]


def calls(out: Path) -> list[str]:
    """The keys of all replies that reached storage."""
    lines = [line for file in (out / "shards" / "replies").rglob("*.jsonl") for line in file.read_text().splitlines()]
    events = [json.loads(line[9:]) for line in lines]
    return sorted(str(event["key"]) for event in events if event["event"] == "reply")
