"""What the formats share: where to write, how to split, how a solution is said in a chat."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from evosyn.dataset import Sample
from evosyn.domains import check_task, domain, shown
from evosyn.errors import is_held
from evosyn.jsonlines import write_lines
from evosyn.records import Json
from evosyn.rundir import holding_others, write_atomic
from evosyn.tasks import task_of, task_text
from evosyn.text.reasoning import AUTO

MARK = ".evosyn-export"
"""File of a directory that exports may write to again."""


def claim_place(out: Path) -> None:
    """Make the directory of an export, or see that it is one; files whose names begin with a point may be there before.

    Raises:
        UsageError: it holds files, and no export wrote there; nothing was touched.
    """
    if not is_held(out / MARK):
        held = sorted(one.name for one in out.iterdir() if one.name[0] != ".") if out.is_dir() else []
        if held:
            raise holding_others(out, held)
        write_atomic(out / MARK, "Of `evosyn export`, which writes its files in this directory anew.\n")


@dataclass(frozen=True)
class Target:
    """Where an export goes.

    Attributes:
        out: directory.
        name: of the data.
        holdout: share of the problems in the second split, in [0, 1).
        reasoning: the form of the models that will be paid, which tasks name.
    """

    out: Path
    name: str
    holdout: float = 0.0
    reasoning: str = AUTO

    def split_of(self, sample: Sample) -> str:
        """`train` or `test`: a function of the problem's text alone, so that no problem is ever in both."""
        digest = hashlib.sha256(sample.statement.encode("utf-8", "surrogatepass")).digest()
        return "test" if int.from_bytes(digest[:8], "big") < self.holdout * 2**64 else "train"


@dataclass(frozen=True)
class Exported:
    """What was written: files, rows by split, rows left out by reason, and what to do with it."""

    files: tuple[Path, ...]
    rows: dict[str, int]
    skipped: dict[str, int] = field(default_factory=dict)
    usage: str = ""


@dataclass(frozen=True)
class Skip:
    """Why a format has no row for a sample."""

    reason: str


def turns(sample: Sample) -> list[dict[str, str]]:
    """The prompt as chat messages."""
    return [{"role": message.role, "content": message.content} for message in sample.prompt]


def task_column(sample: Sample, target: Target) -> str:
    """The task of a row as text, with the form of the completions that it will pay."""
    return task_text(replace(task_of(sample, check_task), reasoning=target.reasoning))


def by_agent(sample: Sample) -> bool:
    """Whether its solutions are the work of an agent."""
    return domain(sample.domain).actor != "reply"


def answer(sample: Sample, text: str) -> list[dict[str, Json]]:
    """A solution as the assistant's turns."""
    return shown(sample.problem, text)


def write_splits(
    samples: Sequence[Sample],
    target: Target,
    project: Callable[[Sample, Target, int], dict[str, Json] | Skip],
    suffix: str = "jsonl",
) -> Exported:
    """Project every sample and write one file a split, as JSON lines or parquet."""
    rows: dict[str, list[dict[str, Json]]] = {"train": [], **({"test": []} if target.holdout > 0 else {})}
    skipped: Counter[str] = Counter()
    for sample in samples:
        split = target.split_of(sample)
        row = project(sample, target, len(rows[split]))
        if isinstance(row, Skip):
            skipped[row.reason] += 1
        else:
            rows[split].append(row)
    files = []
    for split, found in rows.items():
        path = target.out / f"{split}.{suffix}"
        if suffix == "parquet":
            write_parquet(path, found)
        else:
            write_lines(path, found)
        files.append(path)
    return Exported(tuple(files), {split: len(found) for split, found in rows.items()}, dict(sorted(skipped.items())))


def write_parquet(path: Path, rows: Sequence[dict[str, Json]]) -> None:
    """Write rows of one shape atomically."""
    import io

    import pyarrow  # type: ignore[import-untyped]
    import pyarrow.parquet  # type: ignore[import-untyped]

    buffer = io.BytesIO()
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist(list(rows)), buffer, compression="zstd")
    write_atomic(path, buffer.getvalue())
