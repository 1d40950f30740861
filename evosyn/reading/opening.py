"""From a directory to its reading: the kind stands in its manifest, its report or its configuration."""

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
    "synthesize-shards": "shards:ShardsReading",
    "environments": "made_environments:MadeEnvironmentsReading",
    "environment-search": "environment_search:EnvironmentSearchReading",
    "crossexec": "summaries:CrossexecReading",
    "train": "summaries:TrainingReading",
    "distill": "summaries:TrainingReading",
    "coevolve": "coevolution:CoevolutionReading",
    "coevolve-environments": "environment_pool:EnvironmentPoolReading",
    "calibrate": "summaries:CalibrationReading",
    "world": "worlds:WorldReading",
    "worlds": "worlds:MadeWorldsReading",
    "world-rollout": "worlds:WorldRolloutReading",
    "environment-rows": "environments:EnvironmentRowsReading",
    "eval": "summaries:EvaluationReading",
    "experiment": "summaries:ExperimentReading",
    "ablate": "summaries:AblationReading",
}
"""For each kind the class that reads it; a directory of another kind is known by its report alone."""


def open_directory(path: Path) -> Reading:
    """The reading of a directory that an evosyn command wrote or writes.

    Raises:
        UsageError: it is none; or it holds several, which are named.
        CorruptRun: a file of it is damaged.
    """
    if not path.is_dir():
        what = "is not a directory" if path.exists() else "there is no such directory"
        raise UsageError(f"{path}: {what}; give one that an evosyn command wrote")
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


def is_awaited(path: Path) -> bool:
    """Whether a run could begin here: there is nothing yet, or only what a command makes before it says its kind."""
    if not path.exists():
        return True
    held = [one.name for one in path.iterdir()] if path.is_dir() else ["a file"]
    return kind_of(path) is None and all(name.startswith(".") for name in held)


def kind_of(path: Path) -> str | None:
    """The kind that manifest, report or configuration name (`experiment table2` is one); None where nothing is ours."""
    values = {name: _read(path / name) for name in ("manifest.json", "report.json", "config.yaml")}
    for value in values.values():
        for key in ("kind", "command"):
            if isinstance(value.get(key), str):
                kind = str(value[key]).split(" ")[0]
                evolved = values["config.yaml"].get("coevolution") if kind == "coevolve" else None
                pool = isinstance(evolved, dict) and evolved.get("recipe") == "evoenv"
                return "coevolve-environments" if pool else kind
    return "report" if values["report.json"] else None


def _read(file: Path) -> dict[str, object]:
    try:
        text = file.read_text(encoding="utf-8")
        value = json.loads(text) if file.suffix == ".json" else yaml.safe_load(text)
    except (OSError, ValueError, RecursionError, yaml.YAMLError):
        return {}
    return value if isinstance(value, dict) else {}
