"""Rows of environments in the hands of TRL's trainer, and the environments behind them in those of reasoning-gym."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from evosyn.dataset import read_dataset, write_dataset
from evosyn.domains import Domains
from evosyn.environments import bundled, environment
from evosyn.environments.rows import EnvironmentRow, rows_of, samples_of
from evosyn.environments.runner import EnvironmentRunner, MadeInstance
from evosyn.ports import Sandbox
from evosyn.randomness import SeedTree
from evosyn.sandbox import open_sandbox

pytestmark = pytest.mark.consumers


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    with open_sandbox(workers=2, allow_weak=True) as opened:
        yield opened


@pytest.fixture(scope="module")
def data(sandbox: Sandbox, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A row of each level of the 28 that come with evosyn."""
    runner, tree = EnvironmentRunner(sandbox), SeedTree(0)
    made = [row for name in bundled("known") for row in rows_of(environment(name), runner, 5, tree)]
    rows = [row for row in made if isinstance(row, EnvironmentRow)]
    assert len(rows) == 5 * 28
    folder = tmp_path_factory.mktemp("environments")
    write_dataset(folder, "evosyn", samples_of(rows, Domains()["environment"]))
    return folder


def export(data: Path, form: str, out: Path) -> Path:
    line = [sys.executable, "-P", "-m", "evosyn", "export", str(data), "--format", form, "--out", str(out)]
    subprocess.run([*line, "--name", "shown environments"], check=True, capture_output=True)
    return out


def test_trls_trainer_takes_two_steps_on_rows_of_environments(data: Path, tmp_path: Path) -> None:
    from datasets import load_dataset
    from transformers import AutoModelForCausalLM, AutoTokenizer
    from trl import GRPOConfig, GRPOTrainer

    from evosyn.train import tiny
    from evosyn.train.config import TinyConfig
    from evosyn.train.reward_function import trl_reward

    tiny.build(tmp_path / "model", read_dataset(data), TinyConfig(warm_steps=0), SeedTree(0))
    files = str(export(data, "trl", tmp_path / "trl") / "train.parquet")
    config = GRPOConfig(
        output_dir=str(tmp_path / "out"), use_cpu=True, bf16=False, gradient_checkpointing=False, report_to="none",
        per_device_train_batch_size=2, num_generations=2, max_completion_length=8, max_steps=2, logging_steps=1,
    )  # fmt: skip
    trainer = GRPOTrainer(
        model=AutoModelForCausalLM.from_pretrained(tmp_path / "model"),
        args=config,
        reward_funcs=[trl_reward],
        train_dataset=load_dataset("parquet", data_files=files, split="train", cache_dir=str(tmp_path / "cache")),
        processing_class=AutoTokenizer.from_pretrained(tmp_path / "model", padding_side="left"),
    )
    trainer.train()
    assert [row["reward"] for row in trainer.state.log_history if "reward" in row] == [0.0, 0.0]


def test_reasoning_gym_makes_the_instances_that_evosyn_makes(
    data: Path, sandbox: Sandbox, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import reasoning_gym
    from reasoning_gym.factory import create_curriculum

    monkeypatch.syspath_prepend(str(export(data, "reasoning_gym", tmp_path / "written")))
    import shown_environments  # noqa: F401

    name = "evosyn_shown_environments"
    entries = list(reasoning_gym.create_dataset(name, size=140, seed=1234))
    assert entries == list(reasoning_gym.create_dataset(name, size=140, seed=1234))
    assert entries != list(reasoning_gym.create_dataset(name, size=140, seed=4321))
    known, runner = {one.id: one for one in map(environment, bundled("known"))}, EnvironmentRunner(sandbox)
    cells = set()
    dataset = reasoning_gym.create_dataset(name, size=140, seed=1234)
    for entry in entries:
        about = entry["metadata"]
        one, level = known[about["environment"]], about["difficulty"]["level"]
        (made,) = runner.generate(one, [(level, about["instance_seed"])])
        assert isinstance(made, MadeInstance)
        assert runner.observe(one, [made.instance]) == [entry["question"]]
        assert dataset.score_answer(entry["answer"], entry) == 1.0
        assert dataset.score_answer(None, entry) == dataset.score_answer("?", entry) == 0.0
        cells.add((one.id, level))
    assert len(cells) == 140
    curriculum = create_curriculum(name)
    curriculum.increment_attr_level("level")
    harder = reasoning_gym.create_dataset(name, **vars(curriculum.generate_configuration({"seed": 1, "size": 3})))
    assert {entry["metadata"]["difficulty"]["level"] for entry in harder} == {2}


def test_reasoning_gyms_rule_for_all_data_sets_holds_for_ours(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import reasoning_gym
    from reasoning_gym.composite import DatasetSpec
    from reasoning_gym.dataset import ReseedingDataset

    monkeypatch.syspath_prepend(str(export(data, "reasoning_gym", tmp_path / "written")))
    import shown_environments  # noqa: F401

    name = "evosyn_shown_environments"
    specs = [DatasetSpec(name=name, weight=1, config={}), DatasetSpec(name="chain_sum", weight=1, config={})]
    both = reasoning_gym.create_dataset("composite", size=20, seed=1, datasets=specs)
    for dataset in (reasoning_gym.create_dataset(name, size=10, seed=1234), both):
        for entry in dataset:
            assert isinstance(entry["answer"], str)
            assert dataset.score_answer(entry["answer"], entry) == 1.0
    endless = iter(ReseedingDataset(reasoning_gym.create_dataset(name, size=3, seed=1), chunk_size=3))
    assert len({next(endless)["question"] for _ in range(9)}) == 9
