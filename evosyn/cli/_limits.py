"""The limits of a search that goes on: those of its directory, where a command names none."""

from __future__ import annotations

from pathlib import Path

from pydantic import BaseModel

from evosyn.configs.saving import CONFIG, read_config
from evosyn.errors import UsageError
from evosyn.records import Json

PLANNED = ("evaluations", "proposals", "plateau")
"""What a run plans; a target, seconds or money stand with the command alone."""

MARKS = (CONFIG, "manifest.json", "journal.jsonl")
"""Files of which every run has one."""


def limits_of(out: Path) -> dict[str, Json]:
    """Dotted keys of the limits that the run in `out` plans; none where there is no run.

    Raises:
        CorruptRun: its configuration is not as evosyn writes it.
    """
    held = read_config(out).get("stop")
    if not isinstance(held, dict):
        return {}
    return {f"stop.{key}": held[key] for key in PLANNED if held.get(key) is not None}


def require_run(out: Path, more: int | None) -> None:
    """See that there is a run to add to, where something is to be added to one.

    Raises:
        UsageError: there is none.
    """
    if more is not None and not any((out / name).is_file() for name in MARKS):
        raise UsageError(f"--continue {more}: {out} holds no run to go on with; leave --continue out to begin one")


def names_limit(config: BaseModel) -> bool:
    """Whether who made the configuration of a search said how far it goes."""
    stop = getattr(config, "stop", None)
    said = stop.model_fields_set if isinstance(stop, BaseModel) else set[str]()
    return "stop" in config.model_fields_set and bool(said & {"proposals", "evaluations"})
