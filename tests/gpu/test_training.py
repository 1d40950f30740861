"""Training on a GPU: every method, every precision, against the CPU, and what becomes of the memory."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from evosyn.errors import UnavailableError
from evosyn.ports import Sandbox
from evosyn.train.checkpoints import read_metrics
from tests.gpu.conftest import FIT, done, fit, line, rlvr, settings

pytestmark = pytest.mark.gpu
Record = Callable[[str, object], None]


def series(out: Path, name: str) -> list[float]:
    """Of the steps that have it."""
    return [row[name] for row in read_metrics(out / "metrics.jsonl") if name in row]


def dtypes(file: Path) -> set[str]:
    from safetensors import safe_open

    with safe_open(file, "pt") as weights:
        return {str(weights.get_tensor(name).dtype) for name in weights.keys()}  # noqa: SIM118


@pytest.mark.parametrize("algorithm", ["grpo", "dapo", "dr_grpo"])
def test_each_algorithm_trains_in_bf16_by_itself_and_keeps_weights_in_32_bits(
    algorithm: str, device: str, small_data: Path, tiny_model: Path, sandbox: Sandbox, tmp_path: Path, record: Record
) -> None:
    from evosyn.train.rlvr import train_rlvr

    sets = ("steps=6", f"algorithm={algorithm}", "optim.learning_rate=3e-4", "rollout.prompts=4")
    report = train_rlvr(rlvr(*sets, data=small_data, model=tiny_model), tmp_path / "run", sandbox)
    assert report["trl"]["bf16"] is (device == "cuda")
    assert report["trl"].get("use_cpu", False) is (device == "cpu")
    assert report["metrics"]["pass_rate"]["start"] is not None
    assert 0 < report["executed"] <= report["drawn"]
    assert dtypes(tmp_path / "run" / "model" / "model.safetensors") == {"torch.float32"}
    for name in ("pass_rate", "step_time", "reward_share", "grad_norm"):
        record(name, series(tmp_path / "run", name))


def test_rewards_rise_where_a_model_can_some_of_its_problems(
    small_data: Path, tiny_model: Path, sandbox: Sandbox, tmp_path: Path, record: Record
) -> None:
    from evosyn.train.rlvr import train_rlvr

    sets = ("steps=40", "optim.learning_rate=3e-4", "rollout.prompts=8", "rollout.group=8", "keep.every=100")
    train_rlvr(rlvr(*sets, data=small_data, model=tiny_model), tmp_path / "run", sandbox)
    rewards = series(tmp_path / "run", "reward")
    record("reward, first and last eight steps", (sum(rewards[:8]) / 8, sum(rewards[-8:]) / 8))
    assert sum(rewards[-8:]) > sum(rewards[:8])


@pytest.mark.parametrize("method", ["sft", "dpo"])
def test_each_way_to_distill_lowers_its_loss(method: str, small_data: Path, tmp_path: Path, record: Record) -> None:
    from evosyn.train.distill import distill

    sets = (f"method={method}", "steps=12", "fit.learning_rate=2e-3", "tiny.warm_steps=20")
    distill(fit(*sets, data=small_data, model="builtin:tiny"), tmp_path / "run")
    losses = series(tmp_path / "run", "loss")
    record("loss", losses)
    assert losses[-1] < 0.8 * losses[0]


@pytest.mark.parametrize("method", ["sft", "grpo"])
def test_an_adapter_is_32_bits_on_a_base_of_16_and_is_merged(
    method: str, device: str, small_data: Path, tiny_model: Path, sandbox: Sandbox, tmp_path: Path
) -> None:
    from transformers import AutoModelForCausalLM

    from evosyn.train.distill import distill
    from evosyn.train.models import load_tokenizer
    from evosyn.train.rlvr import train_rlvr

    out = tmp_path / "run"
    sets = ("steps=3", "memory.lora_rank=4", "memory.gradient_checkpointing=true", "memory.bf16=true")
    if method == "sft":
        distill(fit(*sets, data=small_data, model=tiny_model), out)
    else:
        train_rlvr(rlvr(*sets, "optim.beta=0.04", data=small_data, model=tiny_model), out, sandbox)
    assert dtypes(out / "model" / "adapter_model.safetensors") == {"torch.float32"}
    merged = AutoModelForCausalLM.from_pretrained(out / "model" / "merged").to(device)
    tokenizer = load_tokenizer(str(out / "model" / "merged"))
    asked = tokenizer("def total(xs):", return_tensors="pt", return_token_type_ids=False).to(device)
    assert merged.generate(**asked, max_new_tokens=4).shape[1] > asked["input_ids"].shape[1]


def test_the_loss_in_32_bits_is_that_of_the_cpu(
    small_data: Path, tiny_model: Path, tmp_path: Path, record: Record
) -> None:
    from evosyn.train.distill import distill

    sets = ("memory.bf16=false", "keep.every=100")
    distill(fit("steps=8", *sets, data=small_data, model=tiny_model), tmp_path / "here")
    elsewhere = ("distill", small_data, "--model", tiny_model, "--out", tmp_path / "cpu", "--steps", 8)
    done(line(*elsewhere, "--preset", "tiny", *settings(*FIT, *sets), cpu=True))
    here, cpu = series(tmp_path / "here", "loss"), series(tmp_path / "cpu", "loss")
    record("loss here, on the CPU", list(zip(here, cpu, strict=True)))
    assert here == pytest.approx(cpu, rel=2e-3)


@pytest.mark.parametrize(
    ("other", "rel"),
    [("memory.bf16=true", 0.05), ("fit.micro_batch=4", 2e-3), ("memory.gradient_checkpointing=true", 2e-3)],
)
def test_what_only_makes_a_run_fit_leaves_its_loss(
    other: str, rel: float, small_data: Path, tiny_model: Path, tmp_path: Path, record: Record
) -> None:
    from evosyn.train.distill import distill

    for name, more in (("plain", "memory.bf16=false"), ("other", other)):
        sets = ("steps=8", "keep.every=100", "memory.bf16=false", more)
        distill(fit(*sets, data=small_data, model=tiny_model), tmp_path / name)
    plain, changed = series(tmp_path / "plain", "loss"), series(tmp_path / "other", "loss")
    record("loss, plain and other", list(zip(plain, changed, strict=True)))
    assert changed == pytest.approx(plain, rel=rel)


@pytest.mark.parametrize("method", ["sft", "grpo"])
def test_memory_does_not_grow_with_the_steps(
    method: str, gpu: None, small_data: Path, tiny_model: Path, sandbox: Sandbox, tmp_path: Path, record: Record
) -> None:
    del gpu
    import torch

    from evosyn.train.distill import distill
    from evosyn.train.rlvr import train_rlvr

    held: list[float] = []

    def look(_row: object) -> None:
        held.append(torch.cuda.memory_allocated() / 2**20)

    if method == "sft":
        distill(fit("steps=80", "keep.every=20", data=small_data, model=tiny_model), tmp_path / "run", on_row=look)
    else:
        asked = rlvr("steps=30", "keep.every=10", "rollout.max_completion=32", data=small_data, model=tiny_model)
        train_rlvr(asked, tmp_path / "run", sandbox, on_row=look)
    third = len(held) // 3
    record("MB held, first and last third", (max(held[:third]), max(held[-third:])))
    assert max(held[-third:]) <= max(held[:third]) + 2


@pytest.mark.parametrize("room_mb", [1, 24])
def test_memory_that_does_not_reach_is_said_and_the_next_run_has_it_again(
    room_mb: int, gpu: None, small_data: Path, tiny_model: Path, tmp_path: Path
) -> None:
    """With little room the model itself does not fit, with more the first step does not."""
    del gpu
    import gc

    import torch

    from evosyn.train.distill import distill

    torch.zeros(1, device="cuda")
    gc.collect()
    torch.cuda.empty_cache()
    total = torch.cuda.get_device_properties(0).total_memory
    torch.cuda.set_per_process_memory_fraction((torch.cuda.memory_reserved() + room_mb * 2**20) / total)
    try:
        with pytest.raises(UnavailableError, match=r"micro_batch.*gradient_checkpointing.*lora_rank"):
            distill(fit("steps=4", data=small_data, model=tiny_model), tmp_path / "run")
    finally:
        torch.cuda.set_per_process_memory_fraction(1.0)
    assert distill(fit("steps=4", data=small_data, model=tiny_model), tmp_path / "run")["steps"] == 4


def test_a_pool_rotates(small_data: Path, sandbox: Sandbox, tmp_path: Path) -> None:
    from evosyn.dataset import write_dataset
    from evosyn.domains import domain
    from evosyn.environments import environment
    from evosyn.environments.rows import rows_of, samples_of
    from evosyn.environments.runner import EnvironmentRunner
    from evosyn.randomness import SeedTree

    del small_data
    rows = rows_of(environment("brackets"), EnvironmentRunner(sandbox), 10, SeedTree(0))
    write_dataset(tmp_path / "data", "evosyn", samples_of(rows, domain("environment")))  # type: ignore[arg-type]
    sets = ("tiny.warm_steps=20", "rollout.max_completion=12", "rollout.prompts=2", "rollout.group=2")
    asked = ("train", tmp_path / "data", "--model", "builtin:tiny", "--steps", 4, "--out", tmp_path / "run")
    done(line(*asked, "--rotate", 6, "--allow-weak-sandbox", *settings(*sets)))
    assert [row["step"] for row in read_metrics(tmp_path / "run" / "metrics.jsonl")] == [1, 2, 3, 4]


def test_a_model_in_training_mutates_in_bf16_beside_its_steps(tmp_path: Path) -> None:
    sets = ("tiny.warm_steps=20", "tiny.problems=48", "tiny.width=32", "tiny.layers=1", "rollout.max_completion=6",
            "rollout.prompts=8", "rollout.group=2", "coevolution.seeds=8", "memory.bf16=true",
            "coevolution.mutation.sampling.max_tokens=6", "coevolution.mutation.tries=2")  # fmt: skip
    asked = ("coevolve", "builtin:math-seeds", "--model", "builtin:tiny", "--steps", 4, "--out", tmp_path / "run")
    done(line(*asked, "--teacher", "self", "--allow-weak-sandbox", *settings(*sets)))
    assert len(read_metrics(tmp_path / "run" / "metrics.jsonl")) == 4
