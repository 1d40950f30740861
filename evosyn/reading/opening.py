"""From a directory to its reading: the kind stands in its manifest, its report or its configuration."""

from __future__ import annotations

import importlib
from contextlib import suppress
from pathlib import Path

from evosyn.configs.saving import read_config
from evosyn.errors import PUT_BACK, CorruptRun, UsageError, is_held
from evosyn.reading.base import Reading
from evosyn.records import Json
from evosyn.rundir import RunDir

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
    "ablate": "summaries:AblationReading",
}
"""For each kind the class that reads it; a directory of another kind is known by its report alone."""
BEGUN = ("seeds.yaml", "evolve.yaml", "synthesize.yaml")
"""What `evosyn init` writes."""


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
        held = [one for one in sorted(path.iterdir()) if _is_ours(one)]
        if held:
            raise UsageError(f"{path}: holds several directories; give one: {', '.join(map(str, held[:5]))}")
        if all((path / name).is_file() for name in BEGUN):
            run = f"evosyn evolve --config {path / 'evolve.yaml'} --model provider/name --out {path / 'run'}"
            raise UsageError(f"{path}: holds what `evosyn init` wrote, and no run yet; make one: {run}")
        raise UsageError(
            f"{path}: holds nothing that an evosyn command writes (no manifest.json, report.json or config.yaml that "
            "names its kind)"
        )
    module, name = HOMES.get(kind, "summaries:SummaryReading").split(":")
    found: Reading = getattr(importlib.import_module(f"evosyn.reading.{module}"), name)(path, kind)
    return found


def is_awaited(path: Path) -> bool:
    """Whether a run could begin here: there is nothing yet, or only what a command makes before it says its kind."""
    if not path.exists():
        return True
    held = [one.name for one in path.iterdir()] if path.is_dir() else ["a file"]
    return all(name.startswith(".") for name in held)


def kind_of(path: Path) -> str | None:
    """The kind that manifest, report or configuration name (`ablate k` is one); None where nothing is ours.

    Raises:
        CorruptRun: one of them is damaged.
    """
    config = read_config(path)
    values = {**{name: _read(path, name) for name in ("manifest.json", "report.json")}, "config.yaml": config}
    for name, value in values.items():
        for key in ("kind", "command"):
            if isinstance(value.get(key), str):
                kind = str(value[key]).split(" ")[0]
                evolved = config.get("coevolution") if kind == "coevolve" else None
                pool = isinstance(evolved, dict) and evolved.get("recipe") == "evoenv"
                return "coevolve-environments" if pool else kind
            if key in value:
                raise CorruptRun(f"{path / name}: is damaged, its {key} is {value[key]!r:.60} and no text. {PUT_BACK}")
    return "report" if values["report.json"] else None


def _read(path: Path, name: str) -> dict[str, Json]:
    found: dict[str, Json] = RunDir(path).read_json(name) if is_held(path / name) else {}
    return found


def _is_ours(path: Path) -> bool:
    with suppress(CorruptRun, UsageError):  # of something else
        return path.is_dir() and kind_of(path) is not None
    return False
