"""The way in and out of `evosyn train` and `evosyn distill`: options, preset, progress, closing figures."""

from __future__ import annotations

import logging
import os
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext, redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from evosyn.cli._command import (
    ConfiguredCommand,
    Option,
    config_options,
    flag,
    out_option,
    preset_option,
    sandbox_options,
    student_options,
    with_options,
)
from evosyn.cli._output import EscapedLines, echo, rewrite_line

if TYPE_CHECKING:
    from evosyn.train.config import TrainingConfig
    from evosyn.train.run import OnRow

SETTING = click.option(
    "--setting", type=click.Choice(["evosyn", "relaxed", "random"]), help="Which rows of a dataset. [default: evosyn]"
)
BAND = (
    flag("--band", "rows.band", "Only rows with a solve rate in it, such as .1:.9 (evosyn calibrate).", metavar="A:B"),
    flag("--student", "rows.student", "Only with --band: whose solve rates hold, where several are.", metavar="NAME"),
)
_OPTIONS = (
    click.option("--model", help="Local path, hub id, or builtin:tiny (a demonstration model made on the spot)."),
    out_option("Run directory; the same command again resumes it."),
    SETTING,
    flag("--mix", "rows.mix", "Shares of several datasets, such as 2:1:1. [default: each row once]", metavar="A:B:.."),
    *BAND,
    click.option("--steps", type=int, help="Optimizer steps. [default: 200; fewer with builtin:tiny]"),
    click.option("--seed", type=int, help="Root of all random choices. [default: 0]"),
    flag(
        "--report-to",
        "keep.report_to",
        "Where metrics go beside the run. [default: none]",
        type=click.Choice(["none", "wandb", "trackio", "tensorboard"]),
    ),
    click.option("--pad-token", help="For tokenizers that have none."),
    preset_option,
    click.option("--print-config", is_flag=True, help="Show the exact TRL configuration and launch lines, and stop."),
    click.option("--json", "as_json", is_flag=True, help="Print the report as JSON and nothing else."),
    click.option("--quiet", is_flag=True, help="No progress."),
)

_SAMPLED = (
    click.option("--max-tokens", type=click.IntRange(1), help="Length of a completion. [default: 512]"),
    click.option("--seed", type=int, help="Root of the draws. [default: 0]"),
    sandbox_options,
    config_options("workbench.teacher.calls=256"),
)


class TrainingCommand(ConfiguredCommand):
    """A command that trains; `builtin:tiny` brings a preset of its own, below everything that the user says."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        needs = {"data": "DATA: name a dataset", "model": "--model: name one, such as builtin:tiny"}
        super().__init__(*args, needs=needs, **kwargs)

    def configuration(self, values: dict[str, Any], **given: Any) -> Any:
        said = super().configuration(dict(values), **given)
        preset = f"{said.command}-tiny" if said.model == "builtin:tiny" and not values.get("preset") else None
        return super().configuration(values, preset=preset)


def sampled_options(samples: str, temperature: str, model: str) -> Callable[[Option], Option]:
    """Add what every command takes that draws completions of a model; with its defaults and what --model is."""
    drawn = (
        click.option("--samples", type=click.IntRange(1), help=f"Completions of each. [default: {samples}]"),
        click.option("--temperature", type=click.FloatRange(0), help=f"Of the draws. [default: {temperature}]"),
    )
    return lambda command: with_options(command, (*drawn, *_SAMPLED[:2], student_options(model), *_SAMPLED[2:]))


def training_options(command: Option) -> Option:
    """Add the options that every training has."""
    return with_options(command, _OPTIONS)


def show_config(config: TrainingConfig, settings: Callable[..., dict[str, Any]], out: Path) -> None:
    """Show what TRL would be told; imports no torch."""
    from evosyn.train.launch import precision, render

    bf16, cpu = precision(config.memory)
    echo(render(config, settings(config, out, bf16=bf16, cpu=cpu), sys.argv[1:]), nl=False)


@contextmanager
def training(steps: int, names: Sequence[str], out: Path, *, as_json: bool, quiet: bool) -> Iterator[OnRow | None]:
    """Check what training needs and silence libraries; gives the progress of the first process, which says at the end
    what came of it."""
    from evosyn.cli._inspect_summary import print_closing
    from evosyn.train.models import require_train
    from evosyn.train.settings import is_main_process

    require_train()
    quiet_libraries()
    first = is_main_process()
    with redirect_stdout(sys.stderr) if as_json else nullcontext():  # libraries print; the report must stand alone
        yield TrainProgress(steps, names) if first and not (quiet or as_json) else None
    if first and as_json:
        echo((out / "report.json").read_text(encoding="utf-8").rstrip())
    elif first:
        print_closing(out, "report.json", "curve.png", "model/")


def quiet_libraries() -> None:
    """No progress bars and hints of libraries between our lines; what evosyn says stays."""
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    os.environ.setdefault("HF_HUB_DISABLE_PROGRESS_BARS", "1")
    os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")
    os.environ.setdefault("DATASETS_VERBOSITY", "error")
    os.environ.setdefault("HF_DATASETS_DISABLE_PROGRESS_BARS", "1")
    warnings.filterwarnings("ignore", category=FutureWarning, module="transformers")
    handler = logging.StreamHandler()
    handler.setFormatter(_Lines())
    logging.basicConfig(level=logging.WARNING, handlers=[handler])
    logging.getLogger("evosyn.train").setLevel(logging.INFO)  # what it waits for: torch, a warm start, the hub
    logging.getLogger("huggingface_hub").setLevel(logging.ERROR)
    logging.getLogger("DeepSpeed").addFilter(lambda record: "accelerator" not in record.getMessage())


class _Lines(EscapedLines):
    """Warnings say that they are one; the rest are plain lines."""

    def format(self, record: logging.LogRecord) -> str:
        told = super().format(record)
        return f"{record.levelname}: {told}" if record.levelno >= logging.WARNING else told


def tty_note(text: str) -> None:
    echo(text, dim=True, err=True)


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
            rewrite_line(line, nl=step >= self._steps)
        elif step % max(1, self._steps // 10) == 0 or step == 1:
            echo(line, err=True)
