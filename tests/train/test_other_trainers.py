"""Exported data in TRL's own command line and trainer; the deepspeed presets in deepspeed's own configuration class."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from evosyn.dataset import read_dataset
from evosyn.train.settings import PRESETS, deepspeed_file

needs_train = pytest.mark.skipif(importlib.util.find_spec("trl") is None, reason="needs the train extra")


@pytest.fixture(scope="module")
def random_model(small_data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    from evosyn.randomness import SeedTree
    from evosyn.train import tiny
    from evosyn.train.config import TinyConfig

    folder = tmp_path_factory.mktemp("random-model")
    tiny.build(folder, read_dataset(small_data), TinyConfig(warm_steps=0), SeedTree(0))
    return folder


def export(data: Path, form: str, out: Path) -> None:
    line = [sys.executable, "-m", "evosyn", "export", str(data), "--format", form, "--out", str(out)]
    subprocess.run(line, check=True, capture_output=True)


@needs_train
@pytest.mark.train
@pytest.mark.long
def test_exported_data_trains_through_trls_own_command(small_data: Path, random_model: Path, tmp_path: Path) -> None:
    export(small_data, "sft", tmp_path / "sft")
    line = [
        str(Path(sys.executable).with_name("trl")), "sft",
        "--dataset_name", str(tmp_path / "sft"), "--model_name_or_path", str(random_model),
        "--output_dir", str(tmp_path / "out"), "--max_steps", "2", "--per_device_train_batch_size", "2",
        "--use_cpu", "true", "--bf16", "false", "--gradient_checkpointing", "false", "--report_to", "none",
        "--dtype", "float32", "--max_length", "256", "--save_strategy", "no",
    ]  # fmt: skip
    environment = {**os.environ, "HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1", "HF_HOME": str(tmp_path / "hf")}
    result = subprocess.run(line, env=environment, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr[-2000:]
    assert (tmp_path / "out" / "model.safetensors").is_file()


@needs_train
@pytest.mark.train
@pytest.mark.slow
def test_exported_data_and_our_reward_function_train_in_trls_own_trainer(
    small_data: Path, random_model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import torch
    from datasets import load_dataset
    from transformers import AutoModelForCausalLM, AutoTokenizer
    from trl import GRPOConfig, GRPOTrainer

    from evosyn.train.reward_function import trl_reward

    torch.set_num_threads(1)
    monkeypatch.setenv("EVOSYN_ALLOW_WEAK_SANDBOX", "1")
    monkeypatch.delenv("EVOSYN_REWARD_URL", raising=False)
    export(small_data, "trl", tmp_path / "trl")
    files = str(tmp_path / "trl" / "train.parquet")
    rows = load_dataset("parquet", data_files=files, split="train", cache_dir=str(tmp_path / "cache"))
    settings = GRPOConfig(
        output_dir=str(tmp_path / "out"), max_steps=1, per_device_train_batch_size=4, num_generations=2,
        max_completion_length=8, use_cpu=True, bf16=False, gradient_checkpointing=False, report_to="none",
        save_strategy="no", logging_steps=1,
    )  # fmt: skip
    trainer = GRPOTrainer(
        model=AutoModelForCausalLM.from_pretrained(random_model),
        args=settings,
        reward_funcs=[trl_reward],
        train_dataset=rows,
        processing_class=AutoTokenizer.from_pretrained(random_model, padding_side="left"),
    )
    trainer.train()
    assert trainer.state.log_history[0]["rewards/trl_reward/mean"] == 0.0


@pytest.mark.train
@pytest.mark.parametrize("name", PRESETS)
def test_deepspeeds_own_class_accepts_the_presets(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("deepspeed", reason="deepspeed is not installed: pip install --no-build-isolation deepspeed")
    monkeypatch.setenv("DS_ACCELERATOR", "cpu")
    from deepspeed.runtime.config import DeepSpeedConfig

    filled = json.loads(deepspeed_file(name).read_text())
    filled |= {"train_batch_size": 8, "train_micro_batch_size_per_gpu": 8, "gradient_accumulation_steps": 1}
    filled |= {"gradient_clipping": 1.0, "bf16": {"enabled": True}, "fp16": {"enabled": False}}
    zero = filled["zero_optimization"]
    for key in [key for key, value in zero.items() if value == "auto"]:
        zero[key] = 10_000  # what the trainer fills in from the model
    config = DeepSpeedConfig(filled)
    assert config.zero_config.stage == (2 if name == "zero2" else 3)
    offloads = config.zero_config.offload_optimizer is not None
    assert offloads == (name == "zero3-offload")
