"""`evosyn distill`: SFT or DPO on a dataset; one run directory, resumed by repeating the command."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from evosyn.cli._command import config_options, flag
from evosyn.cli._training import TrainingCommand, show_config, training, training_options

if TYPE_CHECKING:
    from evosyn.train.config import DistillConfig


@click.command(
    cls=TrainingCommand,
    presets="distill",
    kind="evosyn.train.config:DistillConfig",
    short_help="SFT or DPO on a dataset.",
)
@click.argument("data", nargs=-1)
@training_options
@click.option("--method", type=click.Choice(["sft", "dpo"]), help="How it is trained. [default: sft]")
@flag("--per-problem", "fit.per_problem", "Solutions per problem to learn from. [default: 1]", type=int)
@flag("--with-reasoning", "fit.reasoning", "Learn all that the teacher wrote, not the program alone.", is_flag=True)
@config_options("fit.batch=32")
def command(config: DistillConfig, out: Path, print_config: bool, **told: bool) -> None:
    """Teach a model the best solutions of the datasets DATA (SFT), or to prefer them over refused ones (DPO)."""
    from evosyn.train.settings import fit_settings

    if print_config:
        show_config(config, fit_settings, out)
        return
    with training(config.steps, ("loss", "mean_token_accuracy"), out, **told) as on_row:
        from evosyn.train.distill import distill

        distill(config, out, on_row=on_row)
