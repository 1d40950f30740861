"""A training on a GPU that was cut off goes on from its last whole checkpoint."""

from __future__ import annotations

import shutil
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from evosyn.train.checkpoints import MARK, read_metrics
from tests.gpu.conftest import FIT, SMALL, done, line, settings

pytestmark = pytest.mark.gpu
Record = Callable[[str, object], None]
NAMES = ("reward", "pass_rate", "completions/mean_length", "entropy", "loss", "grad_norm", "learning_rate")
LATER = 0.05
"""Share by which a loss may differ some steps after what goes on: a GPU adds up in no fixed order."""


def train(data: Path, model: Path, out: Path, *sets: str, steps: int = 9, rate: float = 3e-4) -> list[str]:
    asked = ("train", data, "--model", model, "--out", out, "--steps", steps, "--allow-weak-sandbox")
    fixed = ("keep.every=3", "keep.last=9", "rollout.prompts=8", f"optim.learning_rate={rate}")
    return line(*asked, *settings(*SMALL, *fixed, *sets))


def distill(data: Path, model: Path, out: Path, *sets: str) -> list[str]:
    asked = ("distill", data, "--model", model, "--out", out, "--steps", 9)
    return line(*asked, *settings(*FIT, "keep.every=3", "keep.last=9", *sets))


def cut_back(whole: Path, out: Path, step: int) -> None:
    """What a kill leaves after this step's checkpoint."""
    shutil.copytree(whole, out)
    (out / "report.json").unlink()
    shutil.rmtree(out / "model")
    for folder in (out / "checkpoints").glob("checkpoint-*"):
        if int(folder.name.rpartition("-")[2]) > step:
            (folder / MARK).unlink()


def whole_and_cut(command: Callable[[Path], list[str]], folder: Path) -> list[list[dict[str, Any]]]:
    """Metrics of a run, and of the same after it was cut back to its third step."""
    done(command(folder / "whole"))
    cut_back(folder / "whole", folder / "cut", 3)
    done(command(folder / "cut"))
    return [read_metrics(folder / name / "metrics.jsonl") for name in ("whole", "cut")]


@pytest.mark.parametrize("sets", [("memory.bf16=false",), ("memory.bf16=true",), ("memory.lora_rank=4",)])
def test_the_step_after_a_checkpoint_is_that_of_a_run_that_was_not_cut_off(
    sets: tuple[str, ...], small_data: Path, tiny_model: Path, tmp_path: Path, record: Record
) -> None:
    """The same completions are drawn and paid alike; from then on figures may part by what a GPU rounds."""
    whole, cut = whole_and_cut(lambda out: train(small_data, tiny_model, out, *sets), tmp_path)
    same = [[name for name in NAMES if whole[at].get(name) == cut[at].get(name)] for at in range(9)]
    record("steps that are equal in all", [at + 1 for at in range(9) if len(same[at]) == len(NAMES)])
    record("step 4", [(name, whole[3].get(name), cut[3].get(name)) for name in NAMES])
    assert [row["step"] for row in cut] == list(range(1, 10))
    assert [row["learning_rate"] for row in cut] == [row["learning_rate"] for row in whole]
    for name in ("reward", "pass_rate", "completions/mean_length"):
        assert cut[3][name] == whole[3][name]
    assert cut[3]["grad_norm"] == pytest.approx(whole[3]["grad_norm"], rel=LATER)


@pytest.mark.parametrize("sets", [("memory.bf16=false",), ("memory.bf16=true",)])
def test_distillation_that_was_cut_off_goes_on_as_if_nothing_had_been(
    sets: tuple[str, ...], small_data: Path, tiny_model: Path, tmp_path: Path, record: Record
) -> None:
    both = whole_and_cut(lambda out: distill(small_data, tiny_model, out, *sets), tmp_path)
    whole, cut = ([row["loss"] for row in rows] for rows in both)
    record("steps that are equal", [at + 1 for at in range(9) if whole[at] == cut[at]])
    assert cut == pytest.approx(whole, rel=LATER)


def test_a_killed_run_leaves_the_gpu_and_goes_on(small_data: Path, tiny_model: Path, tmp_path: Path) -> None:
    command = train(small_data, tiny_model, tmp_path / "run", steps=60, rate=1e-4)
    _until(command, tmp_path / "run", signal.SIGKILL)
    done(command)
    assert [row["step"] for row in read_metrics(tmp_path / "run" / "metrics.jsonl")] == list(range(1, 61))


def test_sigterm_saves_and_ends_resumable(small_data: Path, tiny_model: Path, tmp_path: Path) -> None:
    command = train(small_data, tiny_model, tmp_path / "run", steps=5000)
    assert _until(command, tmp_path / "run", signal.SIGTERM) == 130
    saved = max(int(path.name.rpartition("-")[2]) for path in tmp_path.glob("run/checkpoints/checkpoint-*"))
    assert (tmp_path / "run" / "checkpoints" / f"checkpoint-{saved}" / MARK).is_file()


def _until(command: list[str], out: Path, number: signal.Signals) -> int:
    """Start it, send this signal after its first checkpoint, and wait for its end."""
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        deadline = time.monotonic() + 200
        while not (out / "checkpoints" / "checkpoint-3" / MARK).exists():
            assert time.monotonic() < deadline and process.poll() is None
            time.sleep(0.02)
        process.send_signal(number)
        return process.wait(120)
    finally:
        process.kill()
