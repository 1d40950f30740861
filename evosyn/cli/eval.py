"""`evosyn eval`: pass@k of models on a pool with human testings; several models in one table."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from evosyn.cli._train_common import quiet_libraries
from evosyn.cli._workbench import sandbox_options, workbench_of
from evosyn.errors import UsageError
from evosyn.ports import Sandbox
from evosyn.records import Json


@click.command(short_help="pass@k of a model on a pool of problems.")
@click.argument("models", nargs=-1)
@click.option("--bench", required=True, help="Pool with human testings (.jsonl[.gz]) or builtin:python-seeds.")
@click.option("--out", type=click.Path(file_okay=False, path_type=Path), required=True, help="Resumable run directory.")
@click.option("--samples", type=click.IntRange(1), default=1, show_default=True, help="Completions per problem.")
@click.option("--k", "ks", type=click.IntRange(1), multiple=True, help="pass@k to report. [default: 1, and --samples]")
@click.option("--temperature", type=click.FloatRange(0), default=None, help="[default: 0 for one sample, else 0.8]")
@click.option("--max-tokens", type=click.IntRange(1), default=512, show_default=True, help="Length of a completion.")
@click.option("--limit", type=click.IntRange(1), default=None, help="Only the first so many problems.")
@click.option("--seed", type=int, default=0, show_default=True)
@click.option("--endpoint", default=None, help="Also a served model: provider/name in litellm's words.")
@click.option("--base-url", default=None, help="Its endpoint, such as http://localhost:8000/v1 for vLLM.")
@click.option("--api-key-env", metavar="NAME", default=None, help="Environment variable with its key.")
@sandbox_options
@click.option("--json", "as_json", is_flag=True, help="The table as JSON on standard output.")
def command(models: tuple[str, ...], bench: str, out: Path, **rest: Any) -> None:
    """Measure MODELS (local paths or hub ids) on the problems of a pool: unbiased pass@k, judged by the human testings.

    The first model is the one that the others are compared with, problem by problem.
    """
    from evosyn.domains import load_pools
    from evosyn.rundir import RunDir
    from evosyn.train.evaluate import bench_tasks, summary, write_plot
    from evosyn.train.generation import TokenSampling

    if not models and rest["endpoint"] is None:
        raise UsageError("MODELS: name at least one, or a served one with --endpoint")
    samples = rest["samples"]
    temperature = rest["temperature"] if rest["temperature"] is not None else (0.0 if samples == 1 else 0.8)
    ks = sorted(set(rest["ks"]) or {1, samples})
    if ks[-1] > samples:
        raise UsageError(f"--k {ks[-1]}: needs at least so many --samples (got {samples})")
    if models:
        from evosyn.train.models import require_train

        require_train()
    quiet_libraries()
    tasks = bench_tasks(load_pools(bench))[: rest["limit"]]
    sampling = TokenSampling(samples, temperature, max_tokens=rest["max_tokens"], seed=rest["seed"])
    flags = {name: rest[name] for name in ("sandbox", "workers", "allow_weak_sandbox")}
    with RunDir(out) as run, workbench_of(flags) as workbench:
        results = _measure(models, rest, sampling, tasks, workbench.sandbox, run)
        table = {"bench": bench, "problems": len(tasks), "samples": samples, "temperature": temperature}
        table |= summary(results, ks, rest["seed"])
        run.write_json("report.json", table)
        write_plot(run, table)
    _show(table, as_json=rest["as_json"])
    click.echo(f"wrote {out / 'report.json'}, {out / 'eval.png'}", err=True)


def _measure(models: tuple[str, ...], rest: Any, sampling: Any, tasks: Any, sandbox: Sandbox, run: Any) -> list[Any]:
    from evosyn.train.evaluate import evaluate
    from evosyn.train.generation import local_generator
    from evosyn.train.scoring import Scorer, domains_of, reward_judge

    scorer = Scorer(reward_judge(sandbox, domains_of(tasks)))
    results = []
    for name in models:
        generator = local_generator(name, sampling)
        results.append(evaluate(name, generator, sampling, tasks, scorer, run, on_done=_progress(name, len(tasks))))
    if rest["endpoint"] is not None:
        from evosyn import registry
        from evosyn.ports import TeacherTools
        from evosyn.train.generation import TeacherGenerator

        name = rest["endpoint"]
        asked = {key: rest[key] for key in ("base_url", "api_key_env")}
        teacher = registry.make("teachers", f"litellm:{name}", TeacherTools(replies=run.file("replies.sqlite")), asked)
        served = TeacherGenerator(teacher, sampling)
        results.append(evaluate(name, served, sampling, tasks, scorer, run, on_done=_progress(name, len(tasks))))
    return results


def _progress(name: str, total: int) -> Any:
    def told(done: int) -> None:
        if done % max(1, total // 10) == 0 or done == total:
            click.echo(f"{name}: {done}/{total} problems", err=True)

    return told


def _show(table: Json, *, as_json: bool) -> None:
    import json

    if as_json:
        click.echo(json.dumps(table, indent=2))
        return
    from rich.console import Console
    from rich.table import Table

    shown = Table(title=f"{table['bench']}: {table['problems']} problems, {table['samples']} samples each")
    shown.add_column("model")
    heads = [f"pass@{k}" for k in table["ks"]]
    for head in heads:
        shown.add_column(f"{head} [95 %]")
    shown.add_column(f"gain in {heads[0]}")
    levels = sorted({level for row in table["models"] for level in row["levels"]})
    for level in levels:
        shown.add_column(f"{level} {heads[0]}")
    for row in table["models"]:
        cells = [_cell(row[head]) for head in heads]
        gain = _cell(row[f"gain@{table['ks'][0]}"], signed=True) if f"gain@{table['ks'][0]}" in row else "-"
        found = [row["levels"].get(level) for level in levels]
        per_level = [f"{part[heads[0]]['mean']:.3f}" if part else "-" for part in found]
        shown.add_row(row["model"], *cells, gain, *per_level)
    Console(width=None).print(shown)


def _cell(value: Json, *, signed: bool = False) -> str:
    mean = f"{value['mean']:+.3f}" if signed else f"{value['mean']:.3f}"
    if value["low"] is None:
        return mean
    return f"{mean} [{value['low']:.3f}, {value['high']:.3f}]"
