"""`evosyn quickstart`: the whole job on the bundled seeds, as the very commands that a user would type."""

from __future__ import annotations

import shlex
import subprocess
import sys

import click

from evosyn.cli._output import echo
from evosyn.errors import CheckFailed

EVOLVE = "evosyn evolve builtin:python-seeds -M 12 -N 12 --out runs/quickstart"
SYNTHESIZE = "evosyn synthesize runs/quickstart --problems 16 -M 12 -N 12 --set execute.cpu_s=1 --out data/quickstart"
LOOKS = (
    "evosyn inspect runs/quickstart",
    "evosyn inspect data/quickstart --sample 1",
    "evosyn view runs/quickstart --export run.html",
)
TRAIN = [
    "evosyn train data/quickstart --model builtin:tiny --steps 30 --out models/quickstart",
    "evosyn train data/quickstart --model builtin:tiny --steps 30 --setting random --out models/quickstart-random",
    "evosyn distill data/quickstart --model builtin:tiny --steps 30 --out models/quickstart-sft",
]


@click.command(short_help="Run the whole job on bundled seeds (no key, no GPU).")
@click.option(
    "--train", is_flag=True, help="Also train the built-in tiny model on the dataset (needs the extra `train`)."
)
def command(train: bool) -> None:
    """Evolve a strategy on the bundled seeds, synthesize a dataset with it, and (with --train) train on that.

    The solutions, testings and new problems come from the offline teacher, a simulation of a language model: no key, no
    GPU and no network are needed. Each step is an ordinary command, printed before it runs; repeat this one to resume.
    """
    steps = [EVOLVE, SYNTHESIZE, *(TRAIN if train else [])]
    for number, line in enumerate(steps, 1):
        echo(f"\n[{number}/{len(steps)}] {line}", bold=True)
        sys.stdout.flush()
        _run(line)
    echo("\nDone. Have a look:", bold=True)
    for line in LOOKS:
        echo(f"  {line}")
    if not train:
        echo(f"  pip install 'evosyn[train]' && {TRAIN[0]}")


def _run(line: str) -> None:
    result = subprocess.run([sys.executable, "-m", "evosyn", *shlex.split(line)[1:]], check=False)
    if result.returncode < 0 or result.returncode == 130:
        raise KeyboardInterrupt
    if result.returncode:
        raise CheckFailed(f"`{line}` ended with exit code {result.returncode}; its message stands above")
