"""Preference pairs for DPO: `prompt`, `chosen`, `rejected`, all as chat.

The best solution that the testing accepts stands against the worst-ranked one that it refuses. A problem whose
solutions are all accepted, or all refused, has no pair.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from evosyn.dataset import Sample
from evosyn.records import Json
from evosyn.synthesis.exports._common import Exported, Skip, Target, answer, turns, write_splits


def export(samples: Sequence[Sample], target: Target) -> Exported:
    """Write `train.jsonl`, and `test.jsonl` where some problems are held out."""
    exported = write_splits(samples, target, _row)
    usage = f"DPOTrainer(train_dataset=datasets.load_dataset('json', data_files='{target.out}/train.jsonl', ...), ...)"
    return replace(exported, usage=usage)


def _row(sample: Sample, target: Target, index: int) -> dict[str, Json] | Skip:  # noqa: ARG001
    accepted = [one.source for one in sample.ranked if one.accepted]
    refused = [one.source for one in sample.ranked if one.refused]
    if not accepted:
        return Skip("the testing accepts no solution")
    if not refused:
        return Skip("the testing refuses no solution")
    return {"prompt": turns(sample), "chosen": answer(sample, accepted[0]), "rejected": answer(sample, refused[-1])}
