"""Distillation on a dataset: SFT on the best solutions, or DPO with the worst refused solution as the rejected one.

Prompt/completion rows, so the loss falls on completions only. One call is one run directory, resumable like RLVR.
EvoSyn (2510.17928) section 3.3; Rafailov 2023 (DPO).
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evosyn.errors import UsageError
from evosyn.records import Json
from evosyn.rundir import RunDir
from evosyn.train import tiny
from evosyn.train.checkpoints import check_disk, checkpoint_bytes, freeze_config, read_metrics
from evosyn.train.config import DistillConfig
from evosyn.train.data import dpo_rows, fit_lengths, load_samples, sft_rows
from evosyn.train.models import adapter_config, context_of, load_model, load_tokenizer, require_options, use_bf16
from evosyn.train.report import lineage_of, start_and_end, versions
from evosyn.train.rlvr import OnRow, finish, open_run, prepare_model, resume_point, run_trainer, save_final
from evosyn.train.settings import fit_settings, is_main_process

log = logging.getLogger(__name__)

NAMES = {"sft": ("loss", "mean_token_accuracy"), "dpo": ("loss", "rewards/margins", "rewards/accuracies")}
"""The metrics that are reported and drawn."""


@dataclass(frozen=True)
class DistillRun:
    """What is to be distilled from what; fields as in `rlvr.RlvrRun`."""

    data: str
    setting: str
    model: str
    out: Path
    config: DistillConfig

    def frozen(self) -> dict[str, Json]:
        """What `config.yaml` holds."""
        head = {"command": "distill", "data": self.data, "setting": self.setting, "model": self.model}
        return {**head, **self.config.model_dump(mode="json")}


def distill(request: DistillRun, *, on_row: OnRow | None = None) -> dict[str, Json]:
    """Run or go on with one distillation, and return its report (also in `report.json`).

    Raises:
        UsageError: data, model and configuration do not fit together; nothing was trained.
        UnavailableError: disk, memory or arithmetic gave up.
        KeyboardInterrupt: SIGTERM came, everything is saved.
    """
    require_options(request.config)
    samples = load_samples(request.data, request.setting)
    everything = len(samples)
    if request.model == tiny.NAME:
        samples = tiny.easiest(samples, request.config.tiny)
    with open_run(request.out) as run:
        if is_main_process():
            freeze_config(run, request.frozen())
        if run.file("report.json").exists():
            log.info("%s is done", request.out)
            return dict(run.read_json("report.json"))
        return finish(_fit(request, run, samples, on_row), run, everything, NAMES[request.config.method])


def _fit(request: DistillRun, run: RunDir, samples: Sequence[Any], on_row: OnRow | None) -> dict[str, Json]:
    import torch

    from evosyn.train.callbacks import MetricsWriter, RunWatch

    config = request.config
    cpu = not torch.cuda.is_available()
    bf16 = use_bf16(config.memory)
    path = prepare_model(request.model, run.path, samples, config, cpu=cpu)
    tokenizer = load_tokenizer(path, pad_token=config.pad_token)
    model = load_model(path, config.memory, bf16=bf16)
    rows, left_out = _rows(config, samples, tokenizer, model)
    parameters = sum(weight.numel() for weight in model.parameters())
    needed = checkpoint_bytes(parameters, trained=0 if config.memory.lora_rank else parameters)
    check_disk(run.path, needed, config.keep.last)
    watch = RunWatch(run.path, None, stuck_after=config.keep.stuck_after, needed=needed)
    checkpoint = resume_point(run)
    settings = fit_settings(config, run.path, bf16=bf16, cpu=cpu)
    trainer = _trainer(config, model, tokenizer, rows, settings)
    trainer.add_callback(MetricsWriter(run.file("metrics.jsonl"), on_row))
    trainer.add_callback(watch)
    run_trainer(trainer, watch, checkpoint)

    label = tiny.LABEL if tiny.is_tiny(path) else None
    save_final(trainer, tokenizer, run.path / "model", path)
    metrics = read_metrics(run.file("metrics.jsonl"))
    return {
        "command": "distill",
        "method": config.method,
        "model": request.model,
        "label": label,
        "parameters": parameters,
        "steps": config.steps,
        "seed": config.seed,
        "rows": len(rows),
        "left_out": left_out,
        "lineage": lineage_of(request.data, request.setting, samples),
        "metrics": {name: start_and_end(metrics, name) for name in NAMES[config.method]},
        "warnings": watch.warnings,
        "warm_start": tiny.read_mark(path)["warm_start"] if label else None,
        "trl": settings,
        "versions": versions(),
    }


def _rows(config: DistillConfig, samples: Sequence[Any], tokenizer: Any, model: Any) -> tuple[list[Json], int]:
    if config.method == "sft":
        rows = sft_rows(samples, config.fit.per_problem)
    else:
        rows = dpo_rows(samples)
        if not rows:
            raise UsageError(
                "--method dpo: no row has a solution that its chosen testing refuses; use --setting "
                "evosyn, or --method sft"
            )
    limit = min(config.fit.max_length, context_of(model))

    def tokens(row: Json) -> int:
        prompt = tokenizer.apply_chat_template(row["prompt"], add_generation_prompt=True, return_dict=False)
        answers = [row[name][0]["content"] for name in ("completion", "chosen", "rejected") if name in row]
        return len(prompt) + max(len(tokenizer(answer)["input_ids"]) for answer in answers) + 4

    return fit_lengths(rows, tokens, limit, "fit.max_length")


def _trainer(config: DistillConfig, model: Any, tokenizer: Any, rows: list[Json], settings: dict[str, Any]) -> Any:
    from datasets import Dataset

    if config.method == "sft":
        from trl import SFTConfig as Arguments
        from trl import SFTTrainer as Trainer
    else:
        from trl import DPOConfig as Arguments
        from trl import DPOTrainer as Trainer
    return Trainer(
        model=model,
        args=Arguments(**settings),
        train_dataset=Dataset.from_list(rows),
        processing_class=tokenizer,
        peft_config=adapter_config(config.memory),
    )
