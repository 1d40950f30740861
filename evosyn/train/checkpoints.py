"""Where a training run stands on disk: its metrics, its checkpoints, and which of them are whole.

A checkpoint counts only with its mark, which is written last; what a kill left half-written is removed. The same
command on the same directory goes on from the last whole one. DESIGN.md section 4.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path

from evosyn.configs.saving import CONFIG
from evosyn.errors import UnavailableError, is_held
from evosyn.records import Json
from evosyn.rundir import write_atomic

MARK = "evosyn_complete.json"


def mark_complete(checkpoint: Path, step: int) -> None:
    write_atomic(checkpoint / MARK, json.dumps({"step": step}) + "\n")


def last_whole(folder: Path, *, clean: bool = True) -> Path | None:
    """The newest whole checkpoint; removes torn ones if `clean`, in the directory of a run alone."""
    whole = whole_checkpoints(folder)
    if clean and (folder.parent / CONFIG).is_file():
        for _, path in _numbered(folder):
            if path not in [kept for _, kept in whole]:
                shutil.rmtree(path, ignore_errors=True)
    return whole[-1][1] if whole else None


def whole_checkpoints(folder: Path) -> list[tuple[int, Path]]:
    """(step, directory) of the checkpoints that are whole, in the order of their steps."""
    return sorted(one for one in _numbered(folder) if (one[1] / MARK).is_file())


def _numbered(folder: Path) -> list[tuple[int, Path]]:
    """(step, directory) of what bears the name of a checkpoint of a trainer."""
    numbers = [(path.name.removeprefix("checkpoint-"), path) for path in folder.glob("checkpoint-*")]
    return [(int(number), path) for number, path in numbers if number.isdecimal()]


def trim_metrics(path: Path, step: int) -> None:
    """Drop the lines of `metrics.jsonl` after `step` (steps that a resumed run does again), and a torn last line."""
    if not path.exists():
        return
    write_atomic(path, "".join(json.dumps(row) + "\n" for row in read_metrics(path) if row["step"] <= step))


def read_metrics(path: Path) -> list[dict[str, Json]]:
    """The whole lines of `metrics.jsonl`."""
    if not is_held(path):
        return []
    rows = []
    for line in path.read_text(encoding="utf-8").splitlines():
        try:
            rows.append(json.loads(line))
        except ValueError:
            break
    return rows


def checkpoint_bytes(parameters: int, *, trained: int) -> int:
    """What one checkpoint takes at most: weights in 4 bytes, two optimizer moments for what is trained."""
    return 4 * parameters + 8 * trained


def check_disk(path: Path, needed: int, copies: int) -> None:
    """
    Raises:
        UnavailableError: the disk has no room for so many checkpoints and one more while it is written.
    """
    free = shutil.disk_usage(path).free
    if free < needed * (copies + 1):
        raise UnavailableError(
            f"{path}: {free / 1e9:.1f} GB free, but {copies + 1} checkpoints take about "
            f"{needed * (copies + 1) / 1e9:.1f} GB; "
            "free some space, lower --set keep.last, or train an adapter with --set memory.lora_rank=16"
        )
