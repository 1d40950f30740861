"""`evosyn train`: RLVR on a dataset; one run directory, resumed by repeating the command."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import click

from evosyn.cli._train_common import TrainProgress, config_of, quiet_libraries, tty_note
from evosyn.cli._workbench import sandbox_options, workbench_of

RUN = click.Path(file_okay=False, path_type=Path)


@click.command(short_help="RLVR on a dataset (GRPO and kin).")
@click.argument("data")
@click.option(
    "--model", required=True, help="Local path, hub id, or builtin:tiny (a demonstration model made on the spot)."
)
@click.option("--out", type=RUN, required=True, help="Run directory; the same command again resumes it.")
@click.option("--setting", type=click.Choice(["evosyn", "relaxed", "random"]), default="evosyn", show_default=True)
@click.option("--algorithm", type=click.Choice(["grpo", "dapo", "dr_grpo"]), default=None, help="[default: grpo]")
@click.option("--steps", type=int, default=None, help="Optimizer steps. [default: 200]")
@click.option("--seed", type=int, default=None, help="[default: 0]")
@click.option("--report-to", type=click.Choice(["none", "wandb", "trackio", "tensorboard"]), default=None)
@click.option("--pad-token", default=None, help="For tokenizers that have none.")
@sandbox_options
@click.option("--config", "file", type=click.Path(exists=True, dir_okay=False, path_type=Path), default=None)
@click.option(
    "--set", "sets", multiple=True, metavar="KEY=VALUE", help="Any configuration key, such as rollout.group=16."
)
@click.option("--print-config", is_flag=True, help="Show the exact TRL configuration and launch lines, and stop.")
def command(data: str, model: str, out: Path, setting: str, file: Path | None, **values: Any) -> None:
    """Train MODEL on the dataset DATA with rewards from the chosen testings, run in the sandbox.

    DATA is what `evosyn synthesize --out DATA` wrote. The run directory gets config.yaml, metrics.jsonl, curve.png,
    report.json, checkpoints/ and model/.
    """
    from evosyn.train.config import RlvrConfig
    from evosyn.train.rlvr import RlvrRun, train_rlvr
    from evosyn.train.settings import grpo_settings, is_main_process, resolve

    names = ("algorithm", "steps", "seed", "pad_token")
    flags = {**{name: values[name] for name in names}, "keep.report_to": values["report_to"]}
    config = config_of(RlvrConfig, "train", model, file, values["sets"], flags)
    request = RlvrRun(data=data, setting=setting, model=model, out=out, config=config)
    if values["print_config"]:
        from evosyn.train.launch import precision, render

        resolved = resolve(config)
        bf16, cpu = precision(config.memory)
        trl = grpo_settings(resolved, out, bf16=bf16, cpu=cpu)
        click.echo(render(request.frozen(), trl, sys.argv[1:]), nl=False)
        return
    from evosyn.train.models import require_train

    require_train()
    quiet_libraries()
    with workbench_of(values) as workbench:
        sandbox = workbench.sandbox
        tty_note(f"rewards run in the {sandbox.protection.level} {sandbox.protection.backend} sandbox")
        progress = TrainProgress(config.steps, ("reward", "pass_rate", "loss", "reward_share"))
        report = train_rlvr(request, sandbox, on_row=progress if is_main_process() else None)
    if is_main_process():
        _show(report, out)


def _show(report: dict[str, object], out: Path) -> None:
    from evosyn.cli._train_common import show_metrics

    show_metrics(report)
    share = report.get("reward_share")
    if isinstance(share, float):
        executed, drawn = report["executed"], report["drawn"]
        click.echo(f"waiting for rewards: {share:.1%} of a step; {executed} of {drawn} completions were executed")
    click.echo(f"wrote {out / 'report.json'}, {out / 'curve.png'}, {out / 'model'}{os.sep}")
