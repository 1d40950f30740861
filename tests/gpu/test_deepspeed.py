"""deepspeed on one GPU: every preset, with a launcher and without, an adapter, and what a kill leaves."""

from __future__ import annotations

import importlib.util
import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from evosyn.train.checkpoints import read_metrics
from evosyn.train.settings import PRESETS
from tests.gpu.conftest import FIT, SMALL, done, line, settings
from tests.gpu.test_resuming import cut_back

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(
        importlib.util.find_spec("deepspeed") is None,
        reason="deepspeed is not installed: pip install --no-build-isolation deepspeed",
    ),
]
Record = Callable[[str, object], None]


def train(data: Path, model: Path, out: Path, *sets: str) -> list[str]:
    asked = ("train", data, "--model", model, "--out", out, "--steps", 3, "--allow-weak-sandbox")
    return line(*asked, *settings(*SMALL, "optim.learning_rate=3e-4", *sets))


def distill(data: Path, model: Path, out: Path, *sets: str) -> list[str]:
    asked = ("distill", data, "--model", model, "--out", out, "--steps", 9)
    return line(*asked, *settings(*FIT, "keep.every=3", "keep.last=9", *sets))


def losses(out: Path) -> list[float]:
    return [row["loss"] for row in read_metrics(out / "metrics.jsonl")]


@pytest.mark.parametrize("preset", PRESETS)
def test_each_preset_trains_in_one_process_without_a_launcher(
    preset: str, device: str, small_data: Path, tiny_model: Path, tmp_path: Path, record: Record
) -> None:
    if preset == "zero3-offload" and device == "cpu":
        pytest.skip("needs a GPU to be offloaded from")
    done(train(small_data, tiny_model, tmp_path / "run", f"memory.deepspeed={preset}"))
    record("pass rate", [row["pass_rate"] for row in read_metrics(tmp_path / "run" / "metrics.jsonl")])
    assert json.loads((tmp_path / "run" / "report.json").read_text())["steps"] == 3
    assert (tmp_path / "run" / "model" / "model.safetensors").is_file()


@pytest.mark.parametrize("preset", ["zero2", "zero3"])
def test_the_loss_is_that_of_a_run_without_it(
    preset: str, small_data: Path, tiny_model: Path, tmp_path: Path, record: Record
) -> None:
    done(distill(small_data, tiny_model, tmp_path / "plain", "memory.bf16=false"))
    done(distill(small_data, tiny_model, tmp_path / "parted", "memory.bf16=false", f"memory.deepspeed={preset}"))
    plain, parted = losses(tmp_path / "plain"), losses(tmp_path / "parted")
    record("loss, plain and parted", list(zip(plain, parted, strict=True)))
    assert parted == pytest.approx(plain, rel=0.01)


def test_torchrun_starts_it_as_well(small_data: Path, tiny_model: Path, tmp_path: Path) -> None:
    command = train(small_data, tiny_model, tmp_path / "run", "memory.deepspeed=zero2")
    launcher = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "1"]
    done([*launcher, *command[command.index("-m") :]])
    assert (tmp_path / "run" / "report.json").is_file()


def test_an_adapter_is_trained_and_merged(small_data: Path, tiny_model: Path, tmp_path: Path) -> None:
    from transformers import AutoModelForCausalLM

    sets = ("memory.deepspeed=zero3", "memory.lora_rank=4", "memory.bf16=true")
    done(train(small_data, tiny_model, tmp_path / "run", *sets))
    merged = AutoModelForCausalLM.from_pretrained(tmp_path / "run" / "model" / "merged")
    assert all(weight.numel() for weight in merged.parameters())


@pytest.mark.parametrize("preset", ["zero2", "zero3"])
def test_what_a_kill_leaves_goes_on(
    preset: str, device: str, small_data: Path, tiny_model: Path, tmp_path: Path, record: Record
) -> None:
    sets = (f"memory.deepspeed={preset}", f"memory.bf16={str(device == 'cuda').lower()}")
    done(distill(small_data, tiny_model, tmp_path / "whole", *sets))
    cut_back(tmp_path / "whole", tmp_path / "cut", 3)
    done(distill(small_data, tiny_model, tmp_path / "cut", *sets))
    whole, cut = losses(tmp_path / "whole"), losses(tmp_path / "cut")
    record("loss, whole and cut off", list(zip(whole, cut, strict=True)))
    assert cut == pytest.approx(whole, rel=0.05)
