"""Parquet for TRL's GRPO and RLOO trainers: `prompt` as chat, every other column reaches the reward function.

`evosyn.trl_reward` takes the column `task`, the JSON of `evosyn.tasks`. No column has a name that
TRL keeps for itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from evosyn.dataset import Sample
from evosyn.records import Json
from evosyn.synthesis.exports._common import Exported, Target, task_column, turns, write_splits


def export(samples: Sequence[Sample], target: Target) -> Exported:
    """Write `train.parquet`, and `test.parquet` where some problems are held out."""
    exported = write_splits(samples, target, _row, "parquet")
    usage = (
        "GRPOTrainer(reward_funcs=[evosyn.trl_reward], "
        f"train_dataset=datasets.load_dataset('parquet', data_files='{target.out}/train.parquet', split='train'), ...)"
    )
    return replace(exported, usage=usage)


def _row(sample: Sample, target: Target, index: int) -> dict[str, Json]:  # noqa: ARG001
    return {
        "prompt": turns(sample),
        "task": task_column(sample, target),
        "row_id": sample.id,
        "difficulty": sample.difficulty,
    }
