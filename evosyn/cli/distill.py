"""`evosyn distill`: SFT or DPO on a dataset; one run directory, resumed by repeating the command."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import click

from evosyn.cli._train_common import TrainProgress, config_of, quiet_libraries, show_metrics

RUN = click.Path(file_okay=False, path_type=Path)


@click.command(short_help="SFT or DPO on a dataset.")
@click.argument("data")
@click.option(
    "--model", required=True, help="Local path, hub id, or builtin:tiny (a demonstration model made on the spot)."
)
@click.option("--out", type=RUN, required=True, help="Run directory; the same command again resumes it.")
@click.option("--setting", type=click.Choice(["evosyn", "relaxed", "random"]), default="evosyn", show_default=True)
@click.option("--method", type=click.Choice(["sft", "dpo"]), default=None, help="[default: sft]")
@click.option("--steps", type=int, default=None, help="Optimizer steps. [default: 200]")
@click.option("--per-problem", type=int, default=None, help="Solutions per problem to learn from. [default: 1]")
@click.option("--seed", type=int, default=None, help="[default: 0]")
@click.option("--report-to", type=click.Choice(["none", "wandb", "trackio", "tensorboard"]), default=None)
@click.option("--pad-token", default=None, help="For tokenizers that have none.")
@click.option("--config", "file", type=click.Path(exists=True, dir_okay=False, path_type=Path), default=None)
@click.option("--set", "sets", multiple=True, metavar="KEY=VALUE", help="Any configuration key, such as fit.batch=32.")
@click.option("--print-config", is_flag=True, help="Show the exact TRL configuration and launch lines, and stop.")
def command(
    data: str,
    model: str,
    out: Path,
    setting: str,
    file: Path | None,
    sets: tuple[str, ...],
    print_config: bool,
    **flags: str | int | None,
) -> None:
    """Teach MODEL the best solutions of the dataset DATA (SFT), or to prefer them over refused ones (DPO)."""
    from evosyn.train.config import DistillConfig
    from evosyn.train.distill import DistillRun, distill
    from evosyn.train.settings import fit_settings, is_main_process

    keys = {"report_to": "keep.report_to", "per_problem": "fit.per_problem"}
    config = config_of(
        DistillConfig, "distill", model, file, sets, {keys.get(name, name): value for name, value in flags.items()}
    )
    request = DistillRun(data=data, setting=setting, model=model, out=out, config=config)
    if print_config:
        from evosyn.train.launch import precision, render

        bf16, cpu = precision(config.memory)
        trl = fit_settings(config, out, bf16=bf16, cpu=cpu)
        click.echo(render(request.frozen(), trl, sys.argv[1:]), nl=False)
        return
    from evosyn.train.models import require_train

    require_train()
    quiet_libraries()
    report = distill(
        request, on_row=TrainProgress(config.steps, ("loss", "mean_token_accuracy")) if is_main_process() else None
    )
    if is_main_process():
        show_metrics(report)
        click.echo(f"wrote {out / 'report.json'}, {out / 'curve.png'}, {out / 'model'}{os.sep}")
