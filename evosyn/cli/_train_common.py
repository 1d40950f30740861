"""What the training commands share: building configurations, one progress line, the closing figures."""

from __future__ import annotations

import logging
import os
import sys
import time
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import click
from pydantic import BaseModel

from evosyn.configs.loading import load_config
from evosyn.records import Json

ModelT = TypeVar("ModelT", bound=BaseModel)


def config_of(
    kind: type[ModelT], command: str, model: str, file: Path | None, sets: Sequence[str], flags: Mapping[str, Json]
) -> ModelT:
    """The configuration of a run; `builtin:tiny` brings a preset of its own, below everything that the user says."""
    preset = f"{command}-tiny" if model == "builtin:tiny" else None
    return load_config(kind, preset=preset, file=file, sets=sets, flags=flags)


def quiet_libraries() -> None:
    """No progress bars and hints of transformers and datasets between our lines; warnings of evosyn stay."""
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    os.environ.setdefault("HF_HUB_DISABLE_PROGRESS_BARS", "1")
    os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")
    os.environ.setdefault("DATASETS_VERBOSITY", "error")
    os.environ.setdefault("HF_DATASETS_DISABLE_PROGRESS_BARS", "1")
    warnings.filterwarnings("ignore", category=FutureWarning, module="transformers")
    logging.basicConfig(level=logging.WARNING, format="%(levelname)s: %(message)s")


def tty_note(text: str) -> None:
    click.secho(text, dim=True, err=True)


class TrainProgress:
    """One line a step on a terminal (rewritten in place), one line every tenth of the run elsewhere."""

    def __init__(self, steps: int, names: Sequence[str]) -> None:
        self._steps, self._names = steps, names
        self._started = time.monotonic()
        self._live = sys.stderr.isatty()

    def __call__(self, row: Mapping[str, float]) -> None:
        step = int(row["step"])
        parts = [f"{name} {row[name]:.3f}" for name in self._names if isinstance(row.get(name), int | float)]
        line = f"step {step}/{self._steps}  {'  '.join(parts)}  {time.monotonic() - self._started:.0f} s"
        if self._live:
            click.echo(f"\r\x1b[K{line}", nl=step >= self._steps, err=True)
        elif step % max(1, self._steps // 10) == 0 or step == 1:
            click.echo(line, err=True)


def show_metrics(report: Mapping[str, Any]) -> None:
    """Start and end of each metric, with what a reader must know about them."""
    for name, value in report["metrics"].items():
        if value["window"]:
            click.echo(
                f"{name}: {value['start']:.3f} -> {value['end']:.3f} (means of the first and last "
                f"{value['window']} steps)"
            )
    for warning in report["warnings"]:
        click.secho(f"warning: {warning}", fg="yellow", err=True)
    if report.get("label"):
        click.secho(f"note: {report['label']}", dim=True)
