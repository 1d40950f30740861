"""`evosyn eval`: pass@k of models on a pool with human testings; several models in one table."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from evosyn.cli._command import ConfiguredCommand, out_option
from evosyn.cli._output import echo
from evosyn.cli._progress import Measured, watching
from evosyn.cli._training import quiet_libraries, sampled_options
from evosyn.errors import UsageError

if TYPE_CHECKING:
    from evosyn.train.config import EvalConfig
    from evosyn.train.generation import Generator, TokenSampling
    from evosyn.workbench import Workbench


@click.command(
    cls=ConfiguredCommand,
    kind="evosyn.train.config:EvalConfig",
    needs={"bench": "--bench: name a pool with human testings, such as builtin:python-seeds"},
    short_help="pass@k of a model on a pool of problems.",
)
@click.argument("models", nargs=-1)
@click.option(
    "--bench", multiple=True, help="Pool with human testings (.jsonl[.gz]), builtin:python-seeds or a dataset; several."
)
@out_option("Resumable run directory.")
@click.option("--k", "ks", type=click.IntRange(1), multiple=True, help="pass@k to report. [default: 1, and --samples]")
@click.option("--limit", type=click.IntRange(1), help="Only the first so many problems.")
@click.option("--shots", type=click.IntRange(0, 16), help="Problems of each bench shown first, solved. [default: 0]")
@click.option(
    "--reasoning", metavar="NAME", help="How a model marks its reasoning (docs/reasoning.md). [default: auto]"
)
@sampled_options("1", "0 for one sample, else 0.8", "A served model: provider/name in litellm's words.")
@click.option("--json", "as_json", is_flag=True, help="The table as JSON on standard output.")
def command(config: EvalConfig, out: Path, as_json: bool) -> None:
    """Measure MODELS (local paths or hub ids) on the problems of a pool: unbiased pass@k, judged by the human testings.
    A dataset's rows are judged by their own testings. With several domains the table has each of them.

    A served model (--model) or another teacher is measured beside them. The first one is what the others are compared
    with, problem by problem.
    """
    from evosyn.cli._inspect_summary import print_closing
    from evosyn.configs.saving import save_config
    from evosyn.configs.section import listed
    from evosyn.rundir import RunDir
    from evosyn.train.evaluate import evaluate, summary, tasks_of_benches, write_picture
    from evosyn.train.generation import TokenSampling
    from evosyn.train.scoring import Scorer, domains_of, reward_judge
    from evosyn.train.tiny import LABEL, is_tiny
    from evosyn.workbench import Workbench

    samples = config.samples
    temperature = config.temperature if config.temperature is not None else (0.0 if samples == 1 else 0.8)
    ks = sorted(set(config.ks) or {1, samples})
    if ks[-1] > samples:
        raise UsageError(f"--k {ks[-1]}: needs at least so many --samples (got {samples})")
    served = bool(config.workbench.teacher.model or config.workbench.teacher.name)
    if not config.models and not served:
        raise UsageError("MODELS: name at least one, or a served one with --model")
    if config.models:
        from evosyn.train.models import check_model, require_train

        require_train()
        for model in config.models:
            check_model(model)
    quiet_libraries()
    bench = tasks_of_benches(listed(config.bench), shots=config.shots)
    tasks = bench.tasks[: config.limit]
    sampling = TokenSampling(samples, temperature, max_tokens=config.max_tokens, seed=config.seed)
    with RunDir(out) as run, Workbench(config.workbench, out=out, seed=config.seed) as workbench:
        save_config(out, config, ("completions", "eval.png"))
        workbench.require_shown(task.problem for task in tasks)
        scorer = Scorer(reward_judge(workbench.sandbox, domains_of(tasks)))
        measured, results = Measured("problems", len(tasks), workbench.replies), []
        with watching(measured.line, show=not as_json, last=False) as say:
            for name, generator in _generators(config, sampling, workbench if served else None):
                measured.name, measured.done = f"{name}: ", 0
                given = (name, generator, sampling, tasks, scorer, run)
                results.append(evaluate(*given, shots=bench.shots, on_done=measured.set))
                say(measured.line())
        table = {
            "bench": ", ".join(listed(config.bench)),
            "problems": len(tasks),
            "samples": samples,
            "shots": config.shots,
            "temperature": temperature,
        }
        table |= summary(results, ks, config.seed)
        table["remarks"] = [f"{name}: {LABEL}" for name in config.models if is_tiny(name)]
        run.write_json("report.json", table)
        write_picture(run, table)
    echo(json.dumps(table, indent=2)) if as_json else print_closing(out, "report.json", "eval.png")


def _generators(
    config: EvalConfig, sampling: TokenSampling, workbench: Workbench | None
) -> Iterator[tuple[str, Generator]]:
    """The models one after the other, each loaded when it is its turn."""
    from evosyn.text.reasoning import AUTO, NONE
    from evosyn.train.generation import TeacherGenerator, local_generator

    for name in config.models:
        yield name, local_generator(name, sampling, config.reasoning)
    if workbench is not None:
        teacher = workbench.teacher(reasoning=NONE)
        form = config.workbench.teacher.reasoning if config.reasoning == AUTO else config.reasoning
        name = config.workbench.teacher.model or teacher.name
        yield name, TeacherGenerator(teacher, sampling, form, workbench.replies)
