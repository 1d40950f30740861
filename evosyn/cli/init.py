"""`evosyn init`: commented seeds of both domains and commented configurations of evolve and synthesize."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import click

from evosyn.cli._output import echo
from evosyn.errors import UsageError

BLANKS = {
    "seeds": ("seeds",),
    "evolve": ("evolve", "run", "seeds"),
    "synthesize": ("synthesize", "data", "run", "seeds", "evolve"),
}
"""The files, and the paths that each of them names."""


@click.command(short_help="Write commented seeds and configurations to begin from.")
@click.argument("folder", metavar="[DIR]", default=".", type=click.Path(file_okay=False, path_type=Path))
def command(folder: Path) -> None:
    """Write DIR/seeds.yaml, DIR/evolve.yaml and DIR/synthesize.yaml, and say what to do with them.

    The seeds are six small problems of both Python domains with every key explained; the configurations run as they
    stand. A file that is there already is left as it is. DIR is the current directory if it is not given.
    """
    from evosyn.templates import render

    paths = {name: folder / f"{name}.yaml" for name in BLANKS}
    named = {**paths, "run": folder / "run", "data": folder / "data"}
    for name, blanks in BLANKS.items():
        text = render("evosyn.configs", f"first/{name}.yaml", **{blank: _in_yaml(named[blank]) for blank in blanks})
        echo(f"{'written' if _write_new(paths[name], text) else 'left as it was'}: {paths[name]}")
    seeds, evolve, synthesize, run, data = (
        shlex.quote(str(named[one])) for one in ("seeds", "evolve", "synthesize", "run", "data")
    )
    echo(f"next:    evosyn pool check {seeds} --execute")
    echo(f"         evosyn evolve --config {evolve} --model provider/name --out {run}")
    echo(f"         evosyn synthesize --config {synthesize} --model provider/name --out {data}")


def _in_yaml(path: Path) -> str:
    """The path as a value in YAML, in quotes where it needs them."""
    text = str(path)
    return text if re.fullmatch(r"[A-Za-z_./][\w./-]*", text) else json.dumps(text)


def _write_new(path: Path, text: str) -> bool:
    """Whether there was no such file yet; one that is there stays.

    Raises:
        UsageError: the directory cannot be written.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        if path.is_file():
            return False
        raise UsageError(f"DIR {path.parent}: {path.name} cannot be written, something else has its place") from None
    except OSError as error:
        raise UsageError(f"DIR {path.parent}: cannot be written: {error.strerror}") from error
    return True
