"""`evosyn synthesize` as a user runs it: offline teacher, real sandbox, killed and repeated."""

import hashlib
import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from simulation import TEACHER

from evosyn.dataset import SETTINGS, read_dataset, read_rejects
from evosyn.domains import load_pools
from evosyn.pools import write_pools
from evosyn.strategies import load_known

FILES = ("problems.jsonl", "candidates.jsonl", "matrices.jsonl", "rejects.jsonl", "report.json", "README.md")


def start(strategy: Path, out: Path, *more: str) -> subprocess.Popen[str]:
    line = [sys.executable, "-m", "evosyn", "synthesize", str(strategy), "--seeds"]
    line += [str(strategy.parent / "seeds.jsonl")]
    options = ["--problems", "6", "-M", "5", "-N", "5", "--out", str(out), "--teacher", TEACHER, "--quiet", *more]
    return subprocess.Popen(
        [*line, *options], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    )


def finish(process: subprocess.Popen[str]) -> str:
    out, err = process.communicate(timeout=300)
    assert process.returncode == 0, err
    return out


def content(out: Path) -> dict[str, str]:
    names = [*FILES, *(f"dataset/{setting}.parquet" for setting in SETTINGS)]
    return {name: hashlib.sha256((out / name).read_bytes()).hexdigest() for name in names}


@pytest.fixture(scope="module")
def strategy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("strategy") / "strategy.py"
    path.write_text(load_known("codet"))
    pools = {pool.problem.domain: pool for pool in load_pools("builtin:python-seeds")}
    write_pools(path.parent / "seeds.jsonl", pools.values())
    return path


@pytest.fixture(scope="module")
def undisturbed(strategy: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("undisturbed") / "data"
    finish(start(strategy, out))
    return out


@pytest.mark.slow
def test_the_counts_add_up_and_the_summary_says_what_to_do_next(undisturbed: Path, strategy: Path):
    shown = finish(start(strategy, undisturbed))
    report = json.loads((undisturbed / "report.json").read_text())
    for setting in SETTINGS:
        counts = report["settings"][setting]
        assert counts["kept"] + sum(counts["dropped"].values()) == report["asked"] == 6
        assert len(read_dataset(undisturbed, setting)) == counts["kept"]
    assert sum(row.item == "problem" for row in read_rejects(undisturbed)) >= 6 - report["kept"]
    assert report["kept"] > 0
    assert report["simulated"]
    assert "SIMULATED by offline-teacher" in shown
    assert f"evosyn inspect {undisturbed}" in shown


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kills", "chain"), [(2, 0), pytest.param(5, 0, marks=pytest.mark.long), pytest.param(5, 1, marks=pytest.mark.long)]
)
def test_killed_at_random_instants_and_repeated_the_dataset_is_that_of_an_undisturbed_run(
    undisturbed: Path, strategy: Path, tmp_path: Path, kills: int, chain: int
):
    out, draw = tmp_path / "data", random.Random(chain)
    journal, total = out / "journal.jsonl", (undisturbed / "journal.jsonl").stat().st_size
    instants = sorted(draw.random() for _ in range(kills))
    killed = 0
    for share in instants:
        process = start(strategy, out)
        limit = time.monotonic() + 120
        while process.poll() is None and time.monotonic() < limit:
            if journal.exists() and journal.stat().st_size >= share * total:
                time.sleep(draw.random() * 0.05)
                break
            time.sleep(0.002)
        killed += process.poll() is None
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
    assert killed >= kills - 1
    finish(start(strategy, out))
    assert content(out) == content(undisturbed)


@pytest.mark.slow
def test_an_interrupt_ends_within_two_seconds_with_130_and_the_same_command_goes_on(
    undisturbed: Path, strategy: Path, tmp_path: Path
):
    out = tmp_path / "data"
    process = start(strategy, out)
    journal = out / "journal.jsonl"
    while process.poll() is None and not (journal.exists() and journal.stat().st_size > 20_000):
        time.sleep(0.01)
    began = time.monotonic()
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    assert time.monotonic() - began < 4.0, "2 s on an idle machine"
    assert "repeat the same command" in err
    finish(start(strategy, out))
    assert content(out) == content(undisturbed)


@pytest.mark.slow
def test_two_processes_never_write_to_one_directory(strategy: Path, tmp_path: Path):
    first = start(strategy, tmp_path / "data")
    while first.poll() is None and not (tmp_path / "data" / "journal.jsonl").exists():
        time.sleep(0.01)
    second = start(strategy, tmp_path / "data")
    _, err = second.communicate(timeout=60)
    os.killpg(first.pid, signal.SIGKILL)
    first.communicate()
    assert second.returncode == 2
    assert "another process" in err
