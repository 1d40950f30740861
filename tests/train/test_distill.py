"""SFT and DPO end to end with the tiny model."""

from __future__ import annotations

import importlib.util
import json
from dataclasses import replace
from pathlib import Path

import pytest

from evosyn.configs.loading import load_config
from evosyn.dataset import read_dataset, write_dataset
from evosyn.domains import shown
from evosyn.errors import UsageError
from evosyn.randomness import SeedTree
from evosyn.train.checkpoints import read_metrics
from evosyn.train.config import DistillConfig
from evosyn.train.data import dpo_rows, sft_rows, warm_rows

needs_train = pytest.mark.skipif(importlib.util.find_spec("trl") is None, reason="needs the train extra")


def test_sft_learns_the_rows_own_solution_first_and_only_ones_that_pass(small_data: Path) -> None:
    samples = read_dataset(small_data)
    one, many = sft_rows(samples, 1), sft_rows(samples, 5)
    assert [row["completion"][0]["content"] for row in one] == [
        shown(sample.problem, sample.solution)[0]["content"] for sample in samples
    ]
    assert len(one) < len(many)
    wrong = "```python\ndef total(xs):\n    return len(xs)\n```"
    assert wrong not in {row["completion"][0]["content"] for row in many}


def test_dpo_prefers_the_best_over_a_refused_solution_and_leaves_out_rows_without_one(small_data: Path) -> None:
    samples = read_dataset(small_data)
    rows = dpo_rows(samples)
    assert rows
    assert all(row["chosen"] != row["rejected"] for row in rows)
    accepted = [replace(sample, solutions_ranked="[]") for sample in samples]
    assert dpo_rows(accepted) == []


def test_the_warm_start_draws_the_same_for_every_setting(small_data: Path) -> None:
    evosyn, random = (warm_rows(read_dataset(small_data, setting), 2, SeedTree(1)) for setting in ("evosyn", "random"))
    assert evosyn == random
    assert warm_rows(read_dataset(small_data), 2, SeedTree(2)) != evosyn


@pytest.mark.parametrize("letter", ["U", "N", "B"])
def test_dpo_holds_nothing_against_a_solution_of_which_nothing_is_known(small_data: Path, letter: str) -> None:
    sample = read_dataset(small_data)[0]
    first, *others = json.loads(sample.solutions_ranked)
    unknown = replace(sample, solutions_ranked=json.dumps([first, *({**one, "verdict": letter} for one in others)]))
    assert dpo_rows([sample])
    assert dpo_rows([unknown]) == []


@needs_train
@pytest.mark.train
@pytest.mark.slow
@pytest.mark.parametrize("method", ["sft", "dpo"])
def test_each_method_trains_and_its_loss_falls(method: str, small_data: Path, tmp_path: Path) -> None:
    from evosyn.train.distill import distill

    sets = [f"method={method}", "steps=12", "fit.learning_rate=2e-3", "fit.warmup=0.0", "tiny.warm_steps=20"]
    config = load_config(DistillConfig, preset="distill-tiny", sets=sets)
    report = distill(config.model_copy(update={"data": str(small_data), "model": "builtin:tiny"}), tmp_path / "run")
    losses = [row["loss"] for row in read_metrics(tmp_path / "run" / "metrics.jsonl")]
    assert len(losses) == 12
    assert losses[-1] < 0.8 * losses[0]
    assert report["method"] == method
    assert (tmp_path / "run" / "model" / "config.json").is_file()


@needs_train
@pytest.mark.train
def test_dpo_without_refused_solutions_says_what_to_do(small_data: Path, tmp_path: Path) -> None:
    from evosyn.train.distill import distill

    samples = [replace(sample, solutions_ranked="[]") for sample in read_dataset(small_data)]
    write_dataset(tmp_path / "data", "evosyn", samples)
    config = load_config(DistillConfig, preset="distill-tiny", sets=["method=dpo"])
    with pytest.raises(UsageError, match="--method dpo: no row"):
        distill(config.model_copy(update={"data": str(tmp_path / "data"), "model": "builtin:tiny"}), tmp_path / "run")


@needs_train
@pytest.mark.train
def test_rows_that_are_all_too_long_are_an_error_in_words(small_data: Path, tmp_path: Path) -> None:
    from evosyn.train.distill import distill

    config = load_config(DistillConfig, preset="distill-tiny", sets=["fit.max_length=8"])
    with pytest.raises(UsageError, match="longer than 8 tokens"):
        distill(config.model_copy(update={"data": str(small_data), "model": "builtin:tiny"}), tmp_path / "run")
