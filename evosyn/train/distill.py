"""Distillation on a dataset: SFT on the best solutions, or DPO with the worst refused solution as the rejected one.

Prompt/completion rows, so the loss falls on completions only. What it shares with every training run stands in `run`.
EvoSyn (2510.17928) section 3.3; Rafailov 2023 (DPO).
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from evosyn.errors import UsageError
from evosyn.records import Json
from evosyn.train.config import DistillConfig
from evosyn.train.data import dpo_rows, fit_lengths, sft_rows
from evosyn.train.models import adapter_config, context_of
from evosyn.train.run import OnRow, PreparedTrainer, Start, run_training
from evosyn.train.settings import fit_settings

NAMES = {"sft": ("loss", "mean_token_accuracy"), "dpo": ("loss", "rewards/margins", "rewards/accuracies")}
"""The metrics that are reported and drawn."""


def distill(config: DistillConfig, out: Path, *, on_row: OnRow | None = None) -> dict[str, Json]:
    """Run or go on with one distillation; errors as of `run_training`."""
    return run_training(config, out, lambda start: _prepare(config, start), on_row)


def _prepare(config: DistillConfig, start: Start) -> PreparedTrainer:
    from datasets import Dataset

    if config.method == "sft":
        from trl import SFTConfig as Arguments
        from trl import SFTTrainer as Trainer
    else:
        from trl import DPOConfig as Arguments
        from trl import DPOTrainer as Trainer
    rows, left_out = _rows(config, start)
    settings = fit_settings(config, start.run.path, bf16=start.bf16, cpu=start.cpu)
    trainer = Trainer(
        model=start.model,
        args=Arguments(**settings),
        train_dataset=Dataset.from_list(rows),
        processing_class=start.tokenizer,
        peft_config=adapter_config(config.memory),
    )
    names = NAMES[config.method]
    return PreparedTrainer(trainer, settings, left_out, names, names, lambda _: {"rows": len(rows)})


def _rows(config: DistillConfig, start: Start) -> tuple[list[Json], int]:
    tokenizer: Any = start.tokenizer
    if config.method == "sft":
        rows = sft_rows(start.samples, config.fit.per_problem, reasoning=config.fit.reasoning)
    else:
        rows = dpo_rows(start.samples)
        if not rows:
            raise UsageError(
                "--method dpo: no row has a solution that its chosen testing refuses; use --setting "
                "evosyn, or --method sft"
            )
    limit = min(config.fit.max_length, context_of(start.model))

    def tokens(row: Json) -> int:
        prompt = tokenizer.apply_chat_template(row["prompt"], add_generation_prompt=True, return_dict=False)
        answers = [row[name][0]["content"] for name in ("completion", "chosen", "rejected") if name in row]
        return len(prompt) + max(len(tokenizer(answer)["input_ids"]) for answer in answers) + 4

    return fit_lengths(rows, tokens, limit, "fit.max_length")
