"""Chat transcripts for supervised fine-tuning (TRL, verl, open-instruct): `messages`, ending with the best solution.

A row whose solution does not pass its own testing is left out: a teacher's trajectory is kept if and only if the
testing accepts it (Du 2025, section 4.4). That happens in the random setting only. An agent's
trajectory is its calls of tools, with `tools` beside `messages`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from evosyn.agents.tool_ways import stepwise, ways_of
from evosyn.dataset import Sample
from evosyn.records import Json
from evosyn.synthesis.exports._common import Exported, Skip, Target, answer, turns, write_splits


def export(samples: Sequence[Sample], target: Target) -> Exported:
    """Write `train.jsonl`, and `test.jsonl` where some problems are held out."""
    exported = write_splits(samples, target, _row)
    usage = f"SFTTrainer(train_dataset=datasets.load_dataset('json', data_files='{target.out}/train.jsonl', ...), ...)"
    return replace(exported, usage=usage)


def _row(sample: Sample, target: Target, index: int) -> dict[str, Json] | Skip:  # noqa: ARG001
    if not sample.ranked[0].accepted:
        return Skip("the testing accepts no solution")
    said = answer(sample, sample.solution)
    if not any("tool_calls" in turn for turn in said):
        return {"messages": [*turns(sample), *said]}
    asked = [{**turn, "content": stepwise(turn["content"])} if len(said) > 1 else turn for turn in turns(sample)]
    return {"messages": [*asked, *said], "tools": list(ways_of(sample.problem).TOOLS)}
