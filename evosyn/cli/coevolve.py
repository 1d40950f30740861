"""`evosyn coevolve`: RLVR on problems that evolve with the student; one run directory, resumed by the same command."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from evosyn.cli._command import (
    config_options,
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
@flag("--recipe", "coevolution.recipe", "dejaq (problems) or evoenv (environments). [default: dejaq]")
@flag(
    "--arm",
    "coevolution.arm",
    "dejaq-a, dejaq-s (settings alone), resample (no mutants), mutate-uniform, dr; of evoenv full, no-quality, "
    "no-novelty, no-review, no-rotation, self-label. [default: all of it]",
)
@mutator_options
@sandbox_options
@config_options("coevolution.curriculum.ignore_top=5")
@click.option("--dry-run", is_flag=True, help="Say what it would take, from a sample of two, and stop.")
def command(config: CoevolveConfig, out: Path, print_config: bool, dry_run: bool, **told: bool) -> None:
    """Train a model on the problems of SOURCE while a teacher mutates them, and keep those that it can learn from.

    SOURCE is a pool with human testings, builtin:math-seeds, or a dataset that `evosyn synthesize` wrote. The run
    directory is that of a training, with journal.jsonl (the problems), mutations.jsonl (the replies) and seeds.jsonl.
    With --recipe evoenv SOURCE is environments (builtin:env-seeds); a teacher or the model itself writes new ones,
    which stand in drafts.jsonl and, those that came in, in programs/.
    """
    from evosyn.cli._coevolving import checked_seeds, coevolve, estimated, require_teacher
    from evosyn.cli._tables import show_estimate
    from evosyn.train.settings import grpo_settings, resolve
    from evosyn.workbench import Workbench

    seeds = checked_seeds(config)
    if print_config:
        show_config(resolve(config), grpo_settings, out)
        return
    require_teacher(config, seeds)
    with Workbench(config.workbench, out=out, seed=config.seed) as workbench:
        if dry_run:
            found = estimated(config, seeds, workbench)
            show_estimate(found, as_json=told["as_json"], kept_in=None, things="mutations")
            return
        evolved = {"dejaq": ("archive", "learnability", "depth"), "evoenv": ("pool", "admitted", "level")}
        names = ("reward", "pass_rate", "zero_variance", *evolved[config.coevolution.recipe])
        with training(config.steps, names, out, **told) as on_row:
            protection = workbench.sandbox.protection
            tty_note(f"rewards run in the {protection.level} {protection.backend} sandbox")
            coevolve(config, seeds, workbench, out, on_row)
