"""What the commands say on a machine with a GPU."""

from __future__ import annotations

import importlib.util
import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from evosyn.configs.loading import load_config
from evosyn.errors import UsageError
from evosyn.train.config import MemoryConfig, RlvrConfig
from evosyn.train.models import load_model, require_options, use_bf16
from tests.gpu.conftest import done, line

pytestmark = pytest.mark.gpu


def test_doctor_names_the_gpu(gpu: None, record: Callable[[str, object], None]) -> None:
    """What it says of the sandbox is kept; an image without bubblewrap is no failure of the GPU's."""
    del gpu
    import torch

    said = subprocess.run(line("doctor", "--json"), capture_output=True, text=True, timeout=120, check=False)
    found = {one["what"]: one for one in json.loads(said.stdout)}
    record("sandbox", found["sandbox local"]["detail"])
    assert found["GPU"]["works"] and torch.cuda.get_device_name(0) in found["GPU"]["detail"]
    assert found["extra train"]["works"]


def test_what_is_shown_before_a_run_is_what_it_would_use(device: str, small_data: Path, tmp_path: Path) -> None:
    shown = done(line("train", small_data, "--model", "m", "--out", tmp_path / "run", "--print-config")).stdout
    trl = yaml.safe_load(shown)["trl"]
    assert trl["bf16"] is use_bf16(MemoryConfig()) is (device == "cuda")
    assert trl.get("use_cpu", False) is (device == "cpu")


def test_four_bits_without_their_package_are_refused_by_name(gpu: None, tiny_model: Path) -> None:
    del gpu
    if importlib.util.find_spec("bitsandbytes") is not None:
        pytest.skip("bitsandbytes is installed")
    with pytest.raises(UsageError, match="pip install bitsandbytes"):
        load_model(str(tiny_model), MemoryConfig(four_bit=True, lora_rank=4), bf16=True)


def test_an_engine_that_is_not_installed_is_refused_by_name(device: str) -> None:
    del device
    if importlib.util.find_spec("vllm") is not None:
        pytest.skip("vllm is installed")
    with pytest.raises(UsageError, match="pip install vllm"):
        require_options(load_config(RlvrConfig, sets=["rollout.engine=vllm-colocate"]))
