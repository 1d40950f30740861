"""A training of two processes that torchrun starts on CPUs: one run directory, one model, written once."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from evosyn.randomness import SeedTree
from evosyn.train.data import load_samples

pytestmark = [pytest.mark.long, pytest.mark.train]


def test_torchrun_trains_a_small_model_from_a_path_in_two_processes(small_data: Path, tmp_path: Path) -> None:
    pytest.importorskip("trl")
    from evosyn.train import tiny
    from evosyn.train.config import TinyConfig

    model, out = tmp_path / "model", tmp_path / "out"
    samples = load_samples(str(small_data), "evosyn")
    tiny.build(model, samples, TinyConfig(warm_steps=0), SeedTree(0))
    sets = ("rollout.group=4", "rollout.prompts=2", "rollout.max_completion=8", "keep.threads=1")
    line = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2", "-m", "evosyn"]
    line += ["train", str(small_data), "--model", str(model), "--out", str(out), "--steps", "2", "--allow-weak-sandbox"]
    done = subprocess.run(
        [*line, *(part for one in sets for part in ("--set", one))], capture_output=True, text=True, timeout=1500
    )
    assert done.returncode == 0, done.stderr[-3000:]
    report = json.loads((out / "report.json").read_text())
    assert report["steps"] == 2
    steps = [json.loads(row)["step"] for row in (out / "metrics.jsonl").read_text().splitlines()]
    assert steps == sorted({*steps}), "one process alone writes"
    assert list(out.rglob("model.safetensors"))
