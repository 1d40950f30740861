"""From samples on disk to what trainers eat: tasks for the reward, and columns for TRL.

Rows keep the order of the file; nothing is drawn here except the warm start's solutions. TRL's conventions (column
names that are taken, completion-only loss for prompt/completion rows) as of 1.16. DESIGN.md section 4.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from evosyn.dataset import Sample, read_dataset
from evosyn.domains import check_task, shown
from evosyn.errors import UsageError
from evosyn.randomness import SeedTree
from evosyn.records import Json
from evosyn.tasks import Task, task_of

Messages = list[dict[str, str]]


class Ranked(NamedTuple):
    """One solution of a row's problem, best first in the file.

    Attributes:
        said: all that the teacher wrote for it; "" where the row does not hold it.
    """

    source: str
    passes: bool
    said: str = ""


def load_samples(path: str | Path, setting: str) -> list[Sample]:
    """The rows of one setting.

    Raises:
        UsageError: no dataset there, a column is missing, or there is not a single row.
    """
    samples = read_dataset(path, setting)
    if not samples:
        raise UsageError(
            f"{path}: the setting {setting!r} has no rows; see its rejects.jsonl, or synthesize more problems"
        )
    return samples


def prompt_of(sample: Sample) -> Messages:
    return [{"role": message.role, "content": message.content} for message in sample.prompt]


def tasks_of(samples: Sequence[Sample]) -> dict[str, Task]:
    """What the reward looks up, by row id.

    Raises:
        UsageError: a row that cannot be scored; names it and the field.
    """
    return {sample.id: task_of(sample, check_task) for sample in samples}


def ranked_of(sample: Sample) -> list[Ranked]:
    """The row's solutions, best first; the recorded `verdict` is the one of the chosen testing."""
    rows: list[Json] = json.loads(sample.solutions_ranked)
    return [Ranked(str(row["source"]), row.get("verdict") == "P", _said(row)) for row in rows]


def sft_rows(samples: Sequence[Sample], per_problem: int, *, reasoning: bool = False) -> list[dict[str, Messages]]:
    """Prompt/completion rows from the best solutions: the row's own first, then further ones that pass its testing.

    Args:
        reasoning: learn what the teacher wrote, its reasoning first, in place of the bare program.

    Raises:
        UsageError: `reasoning`, and a row does not hold what the teacher wrote.
    """
    rows = []
    for sample in samples:
        ranked = ranked_of(sample)
        sources = [sample.solution, *(other.source for other in ranked if other.passes)]
        said = {other.source: other.said for other in ranked}
        for source in list(dict.fromkeys(sources))[:per_problem]:
            text = said.get(source, "") if reasoning else ""
            if reasoning and not text:
                raise UsageError(
                    f"fit.reasoning: the row {sample.id} of {sample.problem_id} does not hold what the teacher wrote; "
                    "synthesize it again with this version (the replies of a finished run are not paid twice)"
                )
            completion = [{"role": "assistant", "content": text}] if text else shown(sample.problem, source)
            rows.append({"prompt": prompt_of(sample), "completion": completion})
    return rows


def dpo_rows(samples: Sequence[Sample]) -> list[dict[str, Messages]]:
    """Preference rows: the row's solution against the worst ranked one that its testing refuses; rows without are left
    out.
    """
    rows = []
    for sample in samples:
        worst = next((other for other in reversed(ranked_of(sample)) if not other.passes), None)
        if worst is not None and worst.source.strip() != sample.solution.strip():
            rows.append(
                {
                    "prompt": prompt_of(sample),
                    "chosen": shown(sample.problem, sample.solution),
                    "rejected": shown(sample.problem, worst.source),
                }
            )
    return rows


def warm_rows(samples: Sequence[Sample], per_problem: int, seeds: SeedTree) -> list[dict[str, Messages]]:
    """Prompt/completion rows from solutions drawn uniformly, right or wrong: what a mediocre model would write.

    The draw depends on the problem alone, not on the setting or on the ranking, so that two settings start alike.
    """
    rows = []
    for sample in samples:
        sources = sorted({other.source for other in ranked_of(sample)} or {sample.solution})
        generator = seeds.child("warm", sample.problem_id).random()
        for source in generator.sample(sources, min(per_problem, len(sources))):
            rows.append(_pair(sample, source))
    return rows


def _said(row: Json) -> str:
    """What the teacher wrote for a solution, its reasoning marked as models mark it; "" where the row has none."""
    reply, reasoning = row.get("reply") or "", row.get("reasoning") or ""
    return f"<think>\n{reasoning.strip()}\n</think>\n\n{reply}" if reply and reasoning else reply


def fit_lengths(rows: Sequence[Json], tokens: Callable[[Json], int], limit: int, what: str) -> tuple[list[Json], int]:
    """Leave out the rows that are longer than `limit` tokens.

    Returns:
        The rows that fit, and how many did not.

    Raises:
        UsageError: none fits.
    """
    fitting = [row for row in rows if tokens(row) <= limit]
    if not fitting:
        shortest = min((tokens(row) for row in rows), default=0)
        raise UsageError(
            f"{what}: all {len(rows)} rows are longer than {limit} tokens (the shortest has {shortest}); "
            f"raise it, or take a "
            "model with a longer context"
        )
    return fitting, len(rows) - len(fitting)


def _pair(sample: Sample, source: str) -> dict[str, Messages]:
    return {"prompt": prompt_of(sample), "completion": shown(sample.problem, source)}
