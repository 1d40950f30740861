"""Where a training run stands on disk: its frozen configuration, its checkpoints, and which of them are whole.

A checkpoint counts only with its mark, which is written last; what a kill left half-written is removed. The same
command on the same directory goes on from the last whole one, another configuration is refused. DESIGN.md section 4.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from pathlib import Path

import yaml

from evosyn.errors import CorruptRun, UnavailableError, UsageError
from evosyn.records import Json
from evosyn.rundir import RunDir, write_atomic

MARK = "evosyn_complete.json"


def freeze_config(run: RunDir, resolved: Mapping[str, Json]) -> None:
    """Write `config.yaml` for a new run; for an old one, check that it is the same.

    Raises:
        UsageError: the directory was started with other settings; the message names them.
        CorruptRun: its config.yaml is not YAML.
    """
    path = run.file("config.yaml")
    if not path.exists():
        if any(run.path.glob("*.json")) or run.file("metrics.jsonl").exists():
            raise UsageError(
                f"--out {run.path}: holds files of something else and no config.yaml; choose another --out"
            )
        run.write("config.yaml", yaml.safe_dump(dict(resolved), sort_keys=False, allow_unicode=True))
        return
    try:
        old = yaml.safe_load(path.read_text(encoding="utf-8"))
    except yaml.YAMLError as error:
        raise CorruptRun(f"{path}: is not YAML: {error}") from error
    before, now = flatten(old), flatten(dict(resolved))
    changed = [key for key in sorted({*before, *now}) if before.get(key) != now.get(key)]
    if changed:
        shown = "; ".join(f"{key}: {before.get(key)!r} before, {now.get(key)!r} now" for key in changed[:4])
        raise UsageError(
            f"--out {run.path}: was started with other settings ({shown}); repeat them, or choose another --out"
        )


def flatten(value: Json, prefix: str = "") -> dict[str, Json]:
    """Dotted keys of a nested dictionary."""
    if not isinstance(value, dict):
        return {prefix.removesuffix("."): value}
    flat: dict[str, Json] = {}
    for key, inner in value.items():
        flat |= flatten(inner, f"{prefix}{key}.")
    return flat


def mark_complete(checkpoint: Path, step: int) -> None:
    write_atomic(checkpoint / MARK, json.dumps({"step": step}) + "\n")


def last_whole(folder: Path, *, clean: bool = True) -> Path | None:
    """The newest whole checkpoint; removes torn ones if `clean`."""
    whole = whole_checkpoints(folder)
    if clean:
        for path in folder.glob("checkpoint-*"):
            if path not in [kept for _, kept in whole]:
                shutil.rmtree(path, ignore_errors=True)
    return whole[-1][1] if whole else None


def whole_checkpoints(folder: Path) -> list[tuple[int, Path]]:
    """(step, directory) of the checkpoints that are whole, in the order of their steps."""
    numbers = [(path.name.removeprefix("checkpoint-"), path) for path in folder.glob("checkpoint-*")]
    return sorted((int(number), path) for number, path in numbers if number.isdigit() and (path / MARK).is_file())


def trim_metrics(path: Path, step: int) -> None:
    """Drop the lines of `metrics.jsonl` after `step` (steps that a resumed run does again), and a torn last line."""
    if not path.exists():
        return
    kept = []
    for line in path.read_text(encoding="utf-8").splitlines():
        try:
            row = json.loads(line)
        except ValueError:
            break
        if row["step"] <= step:
            kept.append(line + "\n")
    write_atomic(path, "".join(kept))


def read_metrics(path: Path) -> list[dict[str, Json]]:
    """The whole lines of `metrics.jsonl`."""
    if not path.exists():
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
