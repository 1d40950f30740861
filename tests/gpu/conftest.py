"""What the tests on a GPU share. Without one they are skipped; `EVOSYN_GPU_TESTS_ON=cpu` runs those that a CPU can
follow there, to see that they are right before a GPU is asked for.
"""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from evosyn.configs.loading import load_config
from evosyn.train.config import DistillConfig, RlvrConfig
from tests.train.conftest import sandbox, small_data

__all__ = ["sandbox", "small_data"]
ON_CPU = os.environ.get("EVOSYN_GPU_TESTS_ON") == "cpu"
SMALL = ("tiny.warm_steps=60", "rollout.max_completion=48", "rollout.prompts=2", "rollout.group=4")
FIT = ("fit.learning_rate=1e-3", "fit.warmup=0.0")


def lacking() -> str | None:
    """Why the tests cannot run here."""
    for package in ("torch", "trl", "peft"):
        if importlib.util.find_spec(package) is None:
            return f"needs the train extra: {package} is not installed"
    import torch

    if torch.cuda.is_available() or ON_CPU:
        return None
    return "needs a GPU that torch can use; this machine has none"


@pytest.fixture(scope="session", autouse=True)
def device() -> str:
    """Where the models of this run are trained: `cuda`, or `cpu` where that was asked for."""
    reason = lacking()
    if reason is not None:
        pytest.skip(reason)
    os.environ["HF_HUB_OFFLINE"] = "1"
    return "cpu" if ON_CPU else "cuda"


@pytest.fixture
def gpu(device: str) -> None:
    """For what a CPU cannot follow."""
    if device != "cuda":
        pytest.skip("needs a GPU; the other tests were sent to the CPU")


@pytest.fixture(autouse=True)
def _figures_of_the_gpu(device: str, record: Callable[[str, object], None]) -> Iterator[None]:
    """The peak of each test's memory stands among its figures."""
    import torch

    if device == "cuda":
        torch.cuda.reset_peak_memory_stats()
    yield
    if device == "cuda":
        record("peak MB", round(torch.cuda.max_memory_allocated() / 2**20, 1))


@pytest.fixture
def record(request: pytest.FixtureRequest, record_property: Callable[[str, object], None]) -> Callable[..., None]:
    """Keep a figure: in the report of the tests, and appended to the file that EVOSYN_GPU_FIGURES names."""

    def kept(name: str, value: object) -> None:
        record_property(name, value)
        if path := os.environ.get("EVOSYN_GPU_FIGURES"):
            with Path(path).open("a", encoding="utf-8") as file:
                file.write(f"figure {request.node.name}: {name} = {value}\n")

    return kept


@pytest.fixture(scope="session")
def tiny_model(small_data: Path, device: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny model that can some of its problems."""
    import torch

    from evosyn.dataset import read_dataset
    from evosyn.randomness import SeedTree
    from evosyn.train import tiny

    del device
    torch.set_num_threads(1)
    folder = tmp_path_factory.mktemp("tiny")
    tiny.build(folder, read_dataset(small_data), rlvr().tiny, SeedTree(0))
    return folder


def rlvr(*sets: str, **named: object) -> RlvrConfig:
    flags = {name: str(value) for name, value in named.items()}
    return load_config(RlvrConfig, preset="train-tiny", sets=[*SMALL, *sets], flags=flags)


def fit(*sets: str, **named: object) -> DistillConfig:
    flags = {name: str(value) for name, value in named.items()}
    return load_config(DistillConfig, preset="distill-tiny", sets=[*FIT, *sets], flags=flags)


def line(*arguments: object, cpu: bool = False) -> list[str]:
    """`evosyn ...` in a process of its own; on a CPU only if `cpu`."""
    hide = ["env", "CUDA_VISIBLE_DEVICES="] if cpu else []
    return [*hide, sys.executable, "-m", "evosyn", *map(str, arguments)]


def settings(*sets: str) -> list[str]:
    return [part for one in sets for part in ("--set", one)]


def done(command: list[str], timeout: float = 240) -> subprocess.CompletedProcess[str]:
    """Run it to its end; what it said stands in the failure where that is not 0."""
    ended = subprocess.run(command, capture_output=True, text=True, timeout=timeout, check=False)
    assert ended.returncode == 0, f"exit {ended.returncode}\n{ended.stdout[-1500:]}\n{ended.stderr[-4000:]}"
    return ended
