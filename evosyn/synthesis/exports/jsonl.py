"""JSON lines with the canonical fields of a verifiable row; nested free-form data stays JSON text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from evosyn.dataset import SCHEMA_VERSION, Sample
from evosyn.records import Json, canonical_json
from evosyn.synthesis.exports._common import Exported, Target, task_column, turns, write_splits


def export(samples: Sequence[Sample], target: Target) -> Exported:
    """Write `train.jsonl`, and `test.jsonl` where some problems are held out."""
    exported = write_splits(samples, target, _row)
    return replace(exported, usage=f"datasets.load_dataset('json', data_files='{target.out}/train.jsonl')")


def _row(sample: Sample, target: Target, index: int) -> dict[str, Json]:
    return {
        "id": sample.id,
        "env_id": f"evosyn/{sample.domain}",
        "env_version": SCHEMA_VERSION,
        "seed": sample.held("lineage").get("index", index),
        "difficulty": sample.difficulty,
        "prompt": turns(sample),
        "answer": sample.solution,
        "verification_info": task_column(sample, target),
        "tests": sample.testing,
        "solution": sample.solution,
        "meta": canonical_json(
            {
                "index": index,
                "split": target.split_of(sample),
                "problem_id": sample.problem_id,
                "setting": sample.setting,
                "model": sample.model,
                "simulated": sample.simulated,
                "licence": sample.licence,
                "matrix_digest": sample.matrix_digest,
                "lineage": sample.held("lineage"),
                "problem": sample.held("meta"),
            }
        ),
    }
