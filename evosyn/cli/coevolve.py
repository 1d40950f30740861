"""`evosyn coevolve`: RLVR on problems that evolve with the student; one run directory, resumed by the same command."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from evosyn.cli._command import (
    config_options,
    default_teacher,
    flag,
    mutator_options,
    sandbox_options,
)
from evosyn.cli._training import TrainingCommand, show_config, training, training_options, tty_note

if TYPE_CHECKING:
    from evosyn.cli._coevolving import CoevolveConfig


@click.command(
    cls=TrainingCommand,
    presets="train",
    kind="evosyn.cli._coevolving:CoevolveConfig",
    short_help="RLVR on problems that evolve with the student.",
)
@click.argument("data", nargs=-1, metavar="SOURCE...")
@training_options
@flag("--recipe", "coevolution.recipe", "dejaq. [default: dejaq]")
@flag(
    "--arm",
    "coevolution.arm",
    "dejaq-a, dejaq-s (settings alone), resample (no mutants), mutate-uniform, dr. [default: dejaq-a]",
)
@mutator_options
@sandbox_options
@config_options("coevolution.curriculum.ignore_top=5")
@click.option("--dry-run", is_flag=True, help="Say what it would take, from a sample of two mutations, and stop.")
def command(config: CoevolveConfig, out: Path, print_config: bool, dry_run: bool, **told: bool) -> None:
    """Train a model on the problems of SOURCE while a teacher mutates them, and keep those that it can learn from.

    SOURCE is a pool with human testings, builtin:math-seeds, or a dataset that `evosyn synthesize` wrote. The run
    directory is that of a training, with journal.jsonl (the problems), mutations.jsonl (the replies) and seeds.jsonl.
    """
    from evosyn.cli._coevolving import checked_seeds, coevolve, estimated
    from evosyn.cli._tables import show_estimate
    from evosyn.train.settings import grpo_settings, resolve
    from evosyn.workbench import Workbench

    seeds = checked_seeds(config)
    if print_config:
        show_config(resolve(config), grpo_settings, out)
        return
    with Workbench(config.workbench, out=out, seed=config.seed, default=default_teacher(seeds)) as workbench:
        if dry_run:
            show_estimate(estimated(config, seeds, workbench), as_json=told["as_json"], kept_in=None)
            return
        names = ("reward", "pass_rate", "zero_variance", "archive", "learnability", "depth")
        with training(config.steps, names, out, **told) as on_row:
            protection = workbench.sandbox.protection
            tty_note(f"rewards run in the {protection.level} {protection.backend} sandbox")
            coevolve(config, workbench, out, on_row)
