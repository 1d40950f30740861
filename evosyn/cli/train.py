"""`evosyn train`: RLVR on a dataset; one run directory, resumed by repeating the command."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from evosyn.cli._command import config_options, flag, sandbox_options
from evosyn.cli._training import TrainingCommand, show_config, training, training_options, tty_note

if TYPE_CHECKING:
    from evosyn.train.config import RlvrConfig


@click.command(
    cls=TrainingCommand, presets="train", kind="evosyn.train.config:RlvrConfig", short_help="RLVR on a dataset."
)
@click.argument("data", nargs=-1)
@training_options
@click.option("--algorithm", type=click.Choice(["grpo", "dapo", "dr_grpo"]), help="The loss. [default: grpo]")
@flag(
    "--rotate",
    "rotation.active",
    "Pool of so many rows of environments: what teaches nothing leaves, fresh instances come in.",
    metavar="ROWS",
    type=int,
)
@sandbox_options
@config_options("rollout.group=16")
def command(config: RlvrConfig, out: Path, print_config: bool, **told: bool) -> None:
    """Train a model on the datasets DATA with rewards from the chosen testings, run in the sandbox.

    DATA is what `evosyn synthesize --out DATA` wrote, or a pool whose human testings pay; several may be given, of any
    domains (--mix). The run directory gets config.yaml, metrics.jsonl, curve.png, report.json, checkpoints/ and model/.
    """
    from evosyn.train.settings import grpo_settings, resolve

    if print_config:
        show_config(resolve(config), grpo_settings, out)
        return
    names = ("reward", "pass_rate", "zero_variance", "loss", "reward_share")
    with training(config.steps, names, out, **told) as on_row:
        from evosyn.train.rlvr import train_rlvr
        from evosyn.train.run import ready
        from evosyn.workbench import Workbench

        parts = ready(config, out)  # before anything of the sandbox
        with Workbench(config.workbench) as workbench:
            protection = workbench.sandbox.protection
            tty_note(f"rewards run in the {protection.level} {protection.backend} sandbox")
            train_rlvr(config, out, workbench.sandbox, on_row=on_row, parts=parts)
