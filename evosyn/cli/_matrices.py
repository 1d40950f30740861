"""From what the user names (matrices, a pool, a run directory) to matrices; executes a pool that has none yet."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from evosyn.errors import InputError, UsageError
from evosyn.records import PassMatrix, Pool

if TYPE_CHECKING:
    from evosyn.cli._configs import CurveAblationConfig, MatricesConfig
    from evosyn.workbench import Workbench

NEEDED = {"source": "--pool: name a pool file, a matrices file, or a directory that holds matrices"}
SOURCE = click.option("--pool", "source", help="Pool file, matrices file, or a directory that holds matrices.")
SPLIT = click.option("--split-testings", is_flag=True, help="Make every single case or assert a testing of its own.")
VERDICTS = click.option("--verdicts", help="File that remembers executed cells of a pool.")


class RunSplit(NamedTuple):
    """Problems of a run of `evosyn evolve`, by name: those that the winner was chosen on, and those held out."""

    train: frozenset[str]
    heldout: frozenset[str]


class MatrixSource(NamedTuple):
    """Matrices and what tables say of them."""

    name: str
    matrices: list[PassMatrix]

    @property
    def simulated(self) -> bool:
        return any(bool(matrix.meta.get("simulated")) for matrix in self.matrices)

    def titled(self, what: str) -> str:
        return f"{self.name}{' (simulated)' if self.simulated else ''}: {what}"


@contextmanager
def opened(config: MatricesConfig | CurveAblationConfig, **given: Any) -> Iterator[tuple[MatrixSource, Workbench]]:
    """The matrices that a configuration names, and the workbench to look at them with; `given` as for `Workbench`.

    Raises:
        InputError, UsageError: there are none, or nothing to score strategies on.
    """
    from evosyn.workbench import Workbench

    with Workbench(config.workbench, verdicts=config.verdicts, **given) as workbench:
        yield _matrices_of(str(config.source), workbench, split=config.split_testings), workbench


def _matrices_of(source: str, workbench: Workbench, *, split: bool) -> MatrixSource:
    from evosyn.domains import load_pools
    from evosyn.pools import is_matrices_file, load_matrices

    path = Path(source)
    if path.is_dir():
        matrices = [matrix for file in _files_of(path) for matrix in load_matrices(file)]
    elif is_matrices_file(source):
        matrices = load_matrices(source)
    else:
        matrices = _execute(load_pools(source), source, workbench)
    if split:
        from evosyn.evaluators.splitting import split_testings

        matrices = [split_testings(matrix) for matrix in matrices]
    return MatrixSource(path.name, matrices)


def split_of_run(folder: Path) -> RunSplit | None:
    """How the run in `folder` split its problems; None where it is no run of `evosyn evolve`, or has not begun."""
    from evosyn.pools import load_matrices
    from evosyn.rundir import RunDir

    run = RunDir(folder)
    if not run.file("journal.jsonl").is_file() or not run.file("manifest.json").is_file():
        return None
    start = next(run.journal.events(), None)
    if start is None or start.get("kind") != "evolve":
        return None
    from evosyn.synthesis.recipes._evolve_config import EvolveConfig
    from evosyn.synthesis.recipes._evolve_inputs import MATRICES, select, split_all

    config = EvolveConfig.model_validate(start["config"])
    found = select(split_all(load_matrices(run.file(MATRICES)), config), config, simulated=False).split
    return RunSplit(*[frozenset(matrix.problem_id for matrix in side) for side in (found.train, found.heldout)])


def _files_of(folder: Path) -> Iterator[Path]:
    found = [folder / "matrices.jsonl", *sorted((folder / "matrices").glob("*.jsonl*"))]
    found = [file for file in found if file.is_file()]
    if not found:
        raise UsageError(
            f"--pool {folder}: holds no matrices; give a run of `evosyn evolve` or `evosyn crossexec`, or a pool file"
        )
    yield from found


def _execute(pools: list[Pool], source: str, workbench: Workbench) -> list[PassMatrix]:
    usable = [pool for pool in pools if pool.solutions and pool.testings]
    if not usable:
        raise InputError(
            source,
            "no problem has recorded solutions and testings",
            hint="`evosyn evolve` draws them from a teacher; give its run directory here",
        )
    return workbench.crossexec.matrices([(pool.problem, pool.solutions, pool.testings) for pool in usable])
