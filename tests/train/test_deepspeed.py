"""deepspeed on a CPU in one process that no launcher started; on a GPU: tests/gpu/test_deepspeed.py."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from evosyn.randomness import SeedTree
from evosyn.train.data import load_samples

pytestmark = [pytest.mark.long, pytest.mark.train]


def test_an_adapter_is_trained_with_zero3_and_merged(small_data: Path, tmp_path: Path) -> None:
    """It was merged into a model that was parted among processes, and so had no weights."""
    pytest.importorskip("trl")
    pytest.importorskip("deepspeed", reason="deepspeed is not installed: pip install --no-build-isolation deepspeed")
    from safetensors import safe_open

    from evosyn.train import tiny
    from evosyn.train.config import TinyConfig

    model, out = tmp_path / "model", tmp_path / "out"
    tiny.build(model, load_samples(str(small_data), "evosyn"), TinyConfig(warm_steps=0), SeedTree(0))
    sets = ("rollout.group=4", "rollout.prompts=2", "rollout.max_completion=8", "memory.deepspeed=zero3",
            "memory.lora_rank=4", "memory.bf16=true")  # fmt: skip
    line = [sys.executable, "-m", "evosyn", "train", str(small_data), "--model", str(model), "--out", str(out)]
    line += ["--steps", "1", "--allow-weak-sandbox", *(part for one in sets for part in ("--set", one))]
    done = subprocess.run(
        line, capture_output=True, text=True, timeout=1500, env={**os.environ, "DS_ACCELERATOR": "cpu"}
    )
    assert done.returncode == 0, done.stderr[-3000:]
    with safe_open(out / "model" / "merged" / "model.safetensors", "pt") as weights:
        assert all(weights.get_tensor(name).numel() for name in weights.keys())  # noqa: SIM118
