"""From a directory to its reading: the kind stands in its manifest, or is told by the files that a command writes."""

from __future__ import annotations

import importlib
import json
from pathlib import Path

import yaml

from evosyn.errors import UsageError
from evosyn.reading.base import Reading

HOMES = {
    "evolve": "search:SearchReading",
    "synthesize": "data:DataReading",
    "crossexec": "summaries:CrossexecReading",
    "train": "summaries:TrainingReading",
    "distill": "summaries:TrainingReading",
}
"""For each kind the class that reads it; a directory of another kind is known by its report alone."""
SIGNS = (
    ("eval", frozenset({"bench", "models", "ks"}), "completions"),
    ("experiment", frozenset({"arms", "differences", "verdict"}), "seed-0"),
    ("crossexec", frozenset({"cells", "executed", "human_cells"}), "verdicts.sqlite"),
    ("train", frozenset({"method", "lineage", "metrics"}), "metrics.jsonl"),
)
"""Of commands that write no manifest: kind, keys of the report, and what is there before the report."""


def open_directory(path: Path) -> Reading:
    """The reading of a directory that an evosyn command wrote or writes.

    Raises:
        UsageError: it is none; or it holds several, which are named.
        CorruptRun: a file of it is damaged.
    """
    if not path.is_dir():
        raise UsageError(f"{path}: is not a directory; give one that an evosyn command wrote")
    kind = kind_of(path)
    if kind is None:
        held = [one for one in sorted(path.iterdir()) if one.is_dir() and kind_of(one) is not None]
        if held:
            raise UsageError(f"{path}: holds several directories; give one: {', '.join(map(str, held[:5]))}")
        raise UsageError(
            f"{path}: holds nothing that an evosyn command writes (no manifest.json, no report.json, no config.yaml)"
        )
    module, name = HOMES.get(kind, "summaries:SummaryReading").split(":")
    found: Reading = getattr(importlib.import_module(f"evosyn.reading.{module}"), name)(path, kind)
    return found


def kind_of(path: Path) -> str | None:
    """The kind that manifest, report or configuration name, or that the files betray; None where nothing is ours."""
    values = {name: _read(path / name) for name in ("manifest.json", "report.json", "config.yaml")}
    for value in values.values():
        for key in ("kind", "command"):
            if isinstance(value.get(key), str):
                return str(value[key])
    for kind, keys, sign in SIGNS:
        if keys <= set(values["report.json"]) or (path / sign).exists():
            return kind
    return "report" if values["report.json"] else None


def _read(file: Path) -> dict[str, object]:
    try:
        text = file.read_text(encoding="utf-8")
        value = json.loads(text) if file.suffix == ".json" else yaml.safe_load(text)
    except (OSError, ValueError, yaml.YAMLError):
        return {}
    return value if isinstance(value, dict) else {}
