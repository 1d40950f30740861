"""Parquet for verl, with the reward function that its `reward.custom_reward_function` names.

The ground truth is the JSON of a task (`evosyn.tasks`); the reward file calls the sandbox of evosyn, so evosyn must be
installed where verl computes rewards.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from evosyn.dataset import Sample
from evosyn.records import Json
from evosyn.rundir import write_atomic
from evosyn.synthesis.exports._common import Exported, Target, task_column, turns, write_splits
from evosyn.templates import render


def export(samples: Sequence[Sample], target: Target) -> Exported:
    """Write `train.parquet`, `test.parquet` where some problems are held out, and `reward.py`."""
    exported = write_splits(samples, target, _row, "parquet")
    reward = target.out / "reward.py"
    write_atomic(reward, render("evosyn.synthesis.exports", "templates/verl_reward.py.txt"))
    test = target.out / ("test.parquet" if target.holdout > 0 else "train.parquet")
    usage = (
        f"data.train_files={target.out}/train.parquet data.val_files={test} "
        f"reward.custom_reward_function.path={reward} reward.custom_reward_function.name=compute_score"
    )
    return replace(exported, files=(*exported.files, reward), usage=usage)


def _row(sample: Sample, target: Target, index: int) -> dict[str, Json]:
    return {
        "data_source": f"evosyn/{sample.domain}",
        "prompt": turns(sample),
        "ability": "code",
        "reward_model": {"style": "rule", "ground_truth": task_column(sample, target)},
        "extra_info": {
            "split": target.split_of(sample),
            "index": index,
            "id": sample.id,
            "problem_id": sample.problem_id,
            "difficulty": sample.difficulty,
        },
    }
