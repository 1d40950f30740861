"""`evosyn export strategy RUN` and `evosyn export openevolve RUN`: what a run of `evosyn evolve` gives to others."""

from __future__ import annotations

import json
from pathlib import Path

import click

from evosyn.cli._command import NewFile
from evosyn.cli._output import echo
from evosyn.errors import UsageError
from evosyn.reading.search import SearchReading


@click.command("strategy", short_help="The winner of a run as one self-contained file.")
@click.argument("directory", type=click.Path(path_type=Path))
@click.option("--out", type=NewFile(), help="File. [default: standard output]")
@click.option("--id", "name", help="Another candidate of the run.")
def strategy(directory: Path, out: Path | None, name: str | None) -> None:
    """Write the winning strategy (numpy only, no evosyn needed) with its scores in the head comment."""
    from evosyn.rundir import write_atomic
    from evosyn.strategies import winner_of

    run = SearchReading(directory, "evolve")
    if name is not None:
        text = run.find(name).trial.candidate.text
    elif run.dir.file("strategy.py").is_file():
        text = winner_of(directory)
    else:
        raise UsageError(f"{directory}: the run is not finished; repeat its command, or name a candidate with --id")
    if out is None:
        echo(text, nl=False)
        return
    if out.is_file() and out.read_bytes() != text.encode():
        raise UsageError(f"--out {out}: holds something else; name another file, or remove it")
    write_atomic(out, text)
    echo(f"wrote {out}")


@click.command("openevolve", short_help="The task of a run as an OpenEvolve project.")
@click.argument("directory", type=click.Path(path_type=Path))
@click.option("--out", type=click.Path(file_okay=False, path_type=Path), required=True, help="Directory to write to.")
@click.option("--iterations", type=click.IntRange(1), default=100, show_default=True)
@click.option("--model", help="Model name at the endpoint.")
@click.option("--base-url", help="OpenAI-compatible endpoint.")
@click.option("--api-key-env", default="OPENAI_API_KEY", show_default=True, help="Variable that holds the key.")
def openevolve(directory: Path, out: Path, iterations: int, **endpoint: str | None) -> None:
    """Write the task so that `openevolve-run` works on it: the same seeds, the same sandboxed scores."""
    from evosyn.synthesis.exports import claim_place
    from evosyn.synthesis.search.openevolve import ModelEndpoint, write_project

    run = SearchReading(directory, "evolve")
    train = run.split().train
    claim_place(out)
    url, model = endpoint["base_url"] or "https://api.openai.com/v1", endpoint["model"] or "your-model"
    write_project(out, train, run.config, ModelEndpoint(model, url, str(endpoint["api_key_env"])), iterations)
    echo(f"wrote {out}; run it there with:")
    echo(f"  openevolve-run initial_program.py evaluator.py --config config.yaml --iterations {iterations}")


def export_held(directory: Path, form: str, target: Path, *, as_json: bool) -> None:
    """Write the problems that a run of `evosyn coevolve` holds as a pool.

    Raises:
        UsageError: another format; no step was made.
    """
    from evosyn.pools import write_pools
    from evosyn.reading.coevolution import CoevolutionReading
    from evosyn.synthesis.exports import claim_place

    reading = CoevolutionReading(directory, "coevolve")
    if form != "jsonl":
        raise UsageError(f"--format {form!r}: what {directory} holds is exported as a pool, with jsonl")
    if not reading.begun:
        raise UsageError(f"{directory}: holds no problems yet; repeat the command that began it")
    claim_place(target)
    file = target / "problems.jsonl"
    count = write_pools(file, reading.held())
    if as_json:
        echo(json.dumps({"files": [str(file)], "rows": {"train": count}, "skipped": {}}, indent=2))
        return
    echo(f"{count} problems in {file}")
    echo(f"use: evosyn pool check {file}; evosyn coevolve {file} ...; evosyn eval MODEL --bench {file}")


@click.command("replies", short_help="The replies of a model to a run, to replay it without the model.")
@click.argument("runs", type=click.Path(path_type=Path), nargs=-1, required=True)
@click.option("--out", type=NewFile(), required=True, help="File to write: gzipped JSON lines.")
@click.option("--model", help="Whose replies, where several models were asked: provider/name.")
@click.option(
    "--weights", default="", metavar="TEXT", help="What the server held, where the model's name does not say."
)
@click.option("--licence", default="", metavar="TEXT", help="Licence of the weights.")
def replies(runs: tuple[Path, ...], out: Path, model: str | None, weights: str, licence: str) -> None:
    """Write all replies of a model to one or several runs, without prompts, addresses or keys: the same commands with
    --teacher replay:FILE give the same runs, without the model."""
    from contextlib import closing

    from evosyn.reading.base import reply_file
    from evosyn.teachers.cache import RecordedReplies
    from evosyn.teachers.recordings import write_recording

    found = {}
    for run in runs:
        file = reply_file(run)
        if not file.is_file():
            raise UsageError(f"{run}: keeps no replies ({file} does not exist); name a run that asked a model")
        with closing(RecordedReplies(file)) as kept:
            found.update({one.reply.id: one for one in kept if model in (None, one.reply.model)})
    head = write_recording(out, found.values(), licence, weights)
    echo(f"wrote {out}: {len(found)} replies of {head.model}, {out.stat().st_size / 1e6:.2f} MB")
    echo(f"replay it: the same command with --teacher replay:{out}")


COMMANDS: dict[str, click.Command] = {"strategy": strategy, "openevolve": openevolve, "replies": replies}
