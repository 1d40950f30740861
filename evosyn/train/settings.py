"""From our configuration to TRL's: plain dictionaries, computed without importing torch, shown by `--print-config`.

GRPO: Shao 2024. DAPO: Yu 2025 (token-level loss, clip-higher, soft overlong punishment); its dynamic sampling is
replaced by oversampling in one pass, see `trainer`. Dr. GRPO: Liu 2025 (constant normaliser, no division by the
standard deviation).
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from evosyn.errors import UsageError
from evosyn.randomness import SeedTree
from evosyn.records import Json
from evosyn.train.config import DistillConfig, RlvrConfig, TrainingConfig

_ALGORITHMS: Mapping[str, Mapping[str, Any]] = {
    "grpo": {"loss_type": "grpo", "scale_rewards": "group", "epsilon_high": None, "oversample": 1, "shape": "none"},
    "dapo": {
        "loss_type": "dapo",
        "scale_rewards": "group",
        "epsilon_high": 0.28,
        "oversample": 2,
        "shape": "soft-overlong",
    },
    "dr_grpo": {
        "loss_type": "dr_grpo",
        "scale_rewards": "none",
        "epsilon_high": None,
        "oversample": 1,
        "shape": "none",
    },
}
PRESETS = ("zero2", "zero3", "zero3-offload")
MIN_RATE = 0.1
"""Share of the learning rate at which `cosine_with_min_lr` ends."""


def resolve(config: RlvrConfig) -> RlvrConfig:
    """Fill in what the algorithm decides where the user did not."""
    own = _ALGORITHMS[config.algorithm]
    rollout = config.rollout.model_copy(update={"oversample": config.rollout.oversample or own["oversample"]})
    reward = config.reward.model_copy(update={"shape": config.reward.shape or own["shape"]})
    high = config.optim.epsilon_high if config.optim.epsilon_high is not None else own["epsilon_high"]
    return config.model_copy(
        update={"rollout": rollout, "reward": reward, "optim": config.optim.model_copy(update={"epsilon_high": high})}
    )


def grpo_settings(config: RlvrConfig, out: Path, *, bf16: bool, cpu: bool) -> dict[str, Any]:
    """The keyword arguments of `trl.GRPOConfig` for a resolved configuration.

    Raises:
        UsageError: the batch cannot be divided over the processes.
    """
    rollout, optim = config.rollout, config.optim
    batch = rollout.group * rollout.prompts
    micro, steps = _divide(batch, optim.micro_batch, "rollout.group * rollout.prompts")
    settings = {
        **_common(config, out, bf16=bf16, cpu=cpu),
        "learning_rate": optim.learning_rate,
        "lr_scheduler_type": optim.schedule,
        "warmup_steps": round(optim.warmup * config.steps),
        "max_grad_norm": optim.max_grad_norm,
        "per_device_train_batch_size": micro,
        "gradient_accumulation_steps": steps,
        "steps_per_generation": steps,
        "num_generations": rollout.group,
        "num_iterations": optim.iterations,
        "max_completion_length": rollout.max_completion,
        "temperature": rollout.temperature,
        "beta": optim.beta,
        "epsilon": optim.epsilon,
        "epsilon_high": optim.epsilon_high,
        "loss_type": _ALGORITHMS[config.algorithm]["loss_type"],
        "scale_rewards": _ALGORITHMS[config.algorithm]["scale_rewards"],
        "shuffle_dataset": True,
        "log_completions": False,
    }
    if optim.schedule == "cosine_with_min_lr":
        settings["lr_scheduler_kwargs"] = {"min_lr_rate": MIN_RATE}
    if rollout.engine != "transformers":
        settings |= {"use_vllm": True, "vllm_mode": rollout.engine.removeprefix("vllm-")}
        if rollout.engine == "vllm-colocate":
            settings |= {
                "vllm_gpu_memory_utilization": rollout.gpu_share,
                "vllm_max_model_length": rollout.max_prompt + rollout.max_completion,
            }
        else:
            settings["vllm_server_base_url"] = rollout.server
    return settings


def fit_settings(config: DistillConfig, out: Path, *, bf16: bool, cpu: bool) -> dict[str, Any]:
    """The keyword arguments of `trl.SFTConfig` or `trl.DPOConfig`.

    Raises:
        UsageError: the batch cannot be divided over the processes.
    """
    fit = config.fit
    micro, steps = _divide(fit.batch, fit.micro_batch, "fit.batch")
    settings = {
        **_common(config, out, bf16=bf16, cpu=cpu),
        "learning_rate": fit.learning_rate,
        "lr_scheduler_type": fit.schedule,
        "warmup_steps": round(fit.warmup * config.steps),
        "per_device_train_batch_size": micro,
        "gradient_accumulation_steps": steps,
        "max_length": fit.max_length,
    }
    if config.method == "sft":
        settings |= {"completion_only_loss": True, "packing": fit.packing}
    else:
        settings |= {"beta": fit.beta}
    return settings


def world_size() -> int:
    """Processes that train together, as torchrun and accelerate tell it."""
    return max(1, int(os.environ.get("WORLD_SIZE", "1")))


def is_main_process() -> bool:
    return int(os.environ.get("RANK", "0")) == 0


def deepspeed_file(name: str) -> Path:
    """The path of a preset, or of the user's own file.

    Raises:
        UsageError: neither.
    """
    preset = Path(__file__).parent / "presets" / f"{name}.json"
    if name in PRESETS:
        return preset
    if Path(name).is_file():
        return Path(name)
    raise UsageError(f"memory.deepspeed {name!r}: no such file, nor one of the presets {', '.join(PRESETS)}")


def _common(config: TrainingConfig, out: Path, *, bf16: bool, cpu: bool) -> dict[str, Json]:
    settings: dict[str, Json] = {
        "output_dir": str(out / "checkpoints"),
        "max_steps": config.steps,
        "seed": SeedTree(config.seed).child("trl").integer() % 2**31,
        "bf16": bf16,
        "gradient_checkpointing": config.memory.gradient_checkpointing,
        "logging_steps": 1,
        "logging_nan_inf_filter": False,
        "save_strategy": "steps",
        "save_steps": config.keep.every,
        "save_total_limit": config.keep.last,
        "report_to": config.keep.report_to,
        "disable_tqdm": True,
    }
    if cpu:
        settings["use_cpu"] = True
    if config.memory.deepspeed is not None:
        settings["deepspeed"] = str(deepspeed_file(config.memory.deepspeed))
    return settings


def _divide(batch: int, micro: int | None, what: str) -> tuple[int, int]:
    """Sequences per forward pass and process, and how many such passes make one optimizer step."""
    world = world_size()
    if batch % world:
        raise UsageError(f"{what} = {batch}: is not divisible by the {world} processes")
    share = batch // world
    if micro is None:
        micro = max(size for size in range(1, min(share, 32) + 1) if share % size == 0)
    if share % micro:
        raise UsageError(f"micro_batch {micro}: does not divide {share}, the share of one process of {what}")
    return micro, share // micro
