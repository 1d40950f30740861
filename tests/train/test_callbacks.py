"""What stops a run, what it leaves behind, and what it says."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import pytest

from evosyn.configs.loading import load_config
from evosyn.errors import SandboxUnavailable, UnavailableError, UsageError
from evosyn.train.checkpoints import MARK
from evosyn.train.config import DistillConfig, RewardConfig, RlvrConfig
from evosyn.train.rewards import RewardFunction

pytestmark = [
    pytest.mark.train,
    pytest.mark.skipif(importlib.util.find_spec("trl") is None, reason="needs the train extra"),
]


class Quiet:
    """A scorer of which only `save` is asked."""

    def save(self, path: Path) -> None:
        path.write_text("")


def reward_function() -> RewardFunction:
    return RewardFunction({}, Quiet(), RewardConfig(), max_completion=8)  # type: ignore[arg-type]


def at_step(step: int, out: Path) -> tuple[Any, Any, Any]:
    from transformers import TrainerControl, TrainerState, TrainingArguments

    arguments = TrainingArguments(output_dir=str(out / "checkpoints"), use_cpu=True, report_to="none")
    return arguments, TrainerState(global_step=step), TrainerControl()


@pytest.mark.parametrize(("name", "value"), [("loss", float("nan")), ("grad_norm", float("inf"))])
def test_arithmetic_that_broke_stops_without_a_checkpoint(name: str, value: float, tmp_path: Path) -> None:
    from evosyn.train.callbacks import RunWatch

    watch = RunWatch(tmp_path, None, stuck_after=5, needed=0)
    arguments, state, control = at_step(7, tmp_path)
    watch.on_log(arguments, state, control, logs={name: value})
    watch.on_step_end(arguments, state, control)
    assert (control.should_training_stop, control.should_save) == (True, False)
    with pytest.raises(UnavailableError, match=f"step 7: {name} is .*lower --set optim.learning_rate"):
        watch.raise_failure()


def test_a_reward_without_signal_warns_once_with_the_pass_rates(tmp_path: Path) -> None:
    from evosyn.train.callbacks import RunWatch

    reward = reward_function()
    reward.passes |= {"a": [0, 8], "b": [0, 8], "c": [8, 8]}
    watch = RunWatch(tmp_path, reward, stuck_after=3, needed=0)
    for reward.flat_steps in range(1, 6):
        arguments, state, control = at_step(reward.flat_steps, tmp_path)
        watch.on_step_end(arguments, state, control)
        assert not control.should_training_stop
    (warning,) = watch.warnings
    assert "for 3 steps" in warning
    assert "[2, 0, 0, 0, 1]" in warning


def test_a_sandbox_that_is_gone_ends_the_run_after_a_checkpoint(tmp_path: Path) -> None:
    from evosyn.train.callbacks import RunWatch

    reward = reward_function()
    reward.failure = SandboxUnavailable("it does not come back")
    watch = RunWatch(tmp_path, reward, stuck_after=3, needed=0)
    arguments, state, control = at_step(4, tmp_path)
    watch.on_step_end(arguments, state, control)
    assert (control.should_training_stop, control.should_save) == (True, True)
    with pytest.raises(SandboxUnavailable):
        watch.raise_failure()


def test_a_saved_checkpoint_is_marked_whole_and_a_full_disk_stops_the_training(tmp_path: Path) -> None:
    from evosyn.train.callbacks import RunWatch

    folder = tmp_path / "checkpoints" / "checkpoint-4"
    folder.mkdir(parents=True)
    watch = RunWatch(tmp_path, reward_function(), stuck_after=3, needed=0)
    arguments, state, control = at_step(4, tmp_path)
    watch.on_save(arguments, state, control)
    assert (folder / MARK).exists()
    assert not control.should_training_stop
    RunWatch(tmp_path, None, stuck_after=3, needed=10**18).on_save(arguments, state, control)
    assert control.should_training_stop


def test_out_of_memory_names_what_to_lower() -> None:
    import torch

    from evosyn.train.run import _fit

    class Full:
        """A trainer for which the memory does not reach."""

        def remove_callback(self, _callback: object) -> None: ...

        def train(self, **_options: object) -> None:
            raise torch.OutOfMemoryError("CUDA out of memory")

    with pytest.raises(UnavailableError, match=r"micro_batch.*gradient_checkpointing.*max_completion"):
        _fit(Full(), None)


def test_a_model_that_does_not_fit_beside_its_trainer_is_said_as_well(small_data: Path, tmp_path: Path) -> None:
    """The trainer brings the model to the GPU, before the first step."""
    import torch

    from evosyn.train.run import PreparedTrainer, Start, run_training

    def full(_start: Start) -> PreparedTrainer:
        raise torch.OutOfMemoryError("CUDA out of memory")

    config = load_config(DistillConfig, preset="distill-tiny")
    with pytest.raises(UnavailableError, match=r"micro_batch.*gradient_checkpointing.*lora_rank"):
        run_training(config.model_copy(update={"data": str(small_data), "model": "builtin:tiny"}), tmp_path, full, None)


@pytest.mark.slow
def test_a_run_that_diverges_ends_with_words_and_keeps_no_broken_weights(small_data: Path, tmp_path: Path) -> None:
    from evosyn.train.distill import distill

    sets = ["steps=6", "fit.learning_rate=1e18", "fit.warmup=0.0", "keep.every=1", "tiny.warm_steps=2"]
    config = load_config(DistillConfig, preset="distill-tiny", sets=sets)
    with pytest.raises(UnavailableError, match=r"is (nan|inf).*learning_rate"):
        distill(config.model_copy(update={"data": str(small_data), "model": "builtin:tiny"}), tmp_path / "run")
    assert not (tmp_path / "run" / "model").exists()


@pytest.mark.parametrize(
    ("sets", "message"),
    [
        (["rollout.engine=vllm-colocate"], "needs the package vllm"),
        (["keep.report_to=trackio"], "needs the package trackio"),
        (["memory.deepspeed=zero2"], "needs the package deepspeed"),
        (["memory.four_bit=true"], "add --set memory.lora_rank"),
    ],
)
def test_what_an_option_needs_is_said_before_anything_is_loaded(
    sets: list[str], message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from evosyn.train.models import require_options

    monkeypatch.setattr("evosyn.train.models.find_spec", lambda _name: None)
    with pytest.raises(UsageError, match=message):
        require_options(load_config(RlvrConfig, sets=sets))
    require_options(RlvrConfig())


def test_a_quantized_model_needs_a_gpu() -> None:
    import torch

    from evosyn.train.config import MemoryConfig
    from evosyn.train.models import load_model

    if torch.cuda.is_available():
        pytest.skip("this machine has one")
    with pytest.raises(UsageError, match="needs a GPU"):
        load_model("anything", MemoryConfig(four_bit=True, lora_rank=4), bf16=True)
