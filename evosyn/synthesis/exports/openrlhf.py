"""JSON lines for OpenRLHF: the prompt as chat messages, and as its label the JSON of the row's task.

`reward_func` of `evosyn.train.reward_function` reads the label (docs/reward.md).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from evosyn.dataset import Sample
from evosyn.records import Json
from evosyn.synthesis.exports._common import Exported, Target, task_column, turns, write_splits


def export(samples: Sequence[Sample], target: Target) -> Exported:
    """Write `train.jsonl`, and `test.jsonl` where some problems are held out."""
    exported = write_splits(samples, target, _row)
    usage = f"--prompt_data json@{target.out} --input_key input --label_key label --apply_chat_template"
    return replace(exported, usage=f"{usage}; the reward: examples/openrlhf.md")


def _row(sample: Sample, target: Target, index: int) -> dict[str, Json]:  # noqa: ARG001
    return {"input": turns(sample), "label": task_column(sample, target)}
