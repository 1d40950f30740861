"""`evosyn quickstart`: the whole job on the bundled seeds, as the very commands that a user would type."""

from __future__ import annotations

import shlex
import subprocess
import sys

import click

from evosyn.cli._output import echo
from evosyn.errors import EXIT_DONE, EXIT_FAILED, EXIT_INTERRUPTED, CheckFailed, UsageError

EVOLVE = (
    "evosyn evolve builtin:python-seeds {asked} --proposer genetic --evaluations 3000 --set stop.plateau=700 "
    "-M 12 -N 12 --out runs/quickstart"
)
SYNTHESIZE = (
    "evosyn synthesize runs/quickstart {asked} --problems 16 -M 12 -N 12 --set execute.cpu_s=1 --out data/quickstart"
)
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
ENDED = (EXIT_DONE, EXIT_FAILED)
"""A search that found nothing better than the known rules has ended as well; its winner is the best of them."""


@click.command(short_help="Run the whole job on bundled seeds (no GPU).")
@click.option("--model", help="Who is asked, as of `evosyn evolve`: provider/name, or local:PATH.")
@click.option("--teacher", help="Another teacher in place of a model, as of `evosyn evolve`.")
@click.option(
    "--train", is_flag=True, help="Also train the built-in tiny model on the dataset (needs the extra `train`)."
)
def command(model: str | None, teacher: str | None, train: bool) -> None:
    """Evolve a strategy on the bundled seeds, synthesize a dataset with it, and (with --train) train on that.

    A model writes the solutions, testings and new problems (some 2,300 replies); no GPU is needed. Each step is an
    ordinary command, printed before it runs; repeat this one to resume.
    """
    named = [(option, value) for option, value in (("--model", model), ("--teacher", teacher)) if value]
    if not named:
        from evosyn.workbench import NO_MODEL

        raise UsageError(NO_MODEL)
    asked = shlex.join(word for pair in named for word in pair)
    steps = [EVOLVE.format(asked=asked), SYNTHESIZE.format(asked=asked), *(TRAIN if train else [])]
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
    code = subprocess.run([sys.executable, "-m", "evosyn", *shlex.split(line)[1:]], check=False).returncode
    if code < 0 or code == EXIT_INTERRUPTED:
        raise KeyboardInterrupt
    if code not in ENDED:
        raise CheckFailed(f"`{line}` ended with exit code {code}; its message stands above")
    if code:
        echo("What was asked of this step does not hold, as it says; the next ones take what it found.", bold=True)
