"""From what the user names (matrices, a pool, a run directory) to matrices; executes a pool that has none yet."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from evosyn.domains import load_pools
from evosyn.errors import InputError
from evosyn.evaluators.intervals import Split
from evosyn.pools import is_matrices_file, load_matrices
from evosyn.reading.matrices import stored_matrices
from evosyn.reading.opening import kind_of, open_directory
from evosyn.reading.search import SearchReading
from evosyn.records import PassMatrix, Pool
from evosyn.workbench import Workbench


class MatrixSource(NamedTuple):
    """Matrices and what tables say of them."""

    name: str
    matrices: list[PassMatrix]

    @property
    def simulated(self) -> bool:
        return any(bool(matrix.meta.get("simulated")) for matrix in self.matrices)


def matrices_of(source: str, workbench: Workbench, *, split: bool = False) -> MatrixSource:
    """The matrices that `source` stands for.

    Args:
        source: a matrices file, a pool file (cross-executed here), or a directory that holds matrices.
        workbench: executes, if there is something to execute.
        split: make every single case a testing of its own.

    Raises:
        InputError, UsageError: it is none of these, or has nothing to score strategies on.
    """
    path = Path(source)
    if path.is_dir():
        matrices = stored_matrices(path)
    elif is_matrices_file(source):
        matrices = load_matrices(source)
    else:
        matrices = _execute(load_pools(source), source, workbench)
    if split:
        from evosyn.evaluators.splitting import split_testings

        matrices = [split_testings(matrix) for matrix in matrices]
    return MatrixSource(path.name, matrices)


def split_of_run(folder: Path) -> Split | None:
    """How the run in `folder` split its problems; None where it is no run of `evosyn evolve`, or has not begun."""
    reading = open_directory(folder) if kind_of(folder) == "evolve" else None
    return reading.split() if isinstance(reading, SearchReading) and reading.begun else None


def _execute(pools: list[Pool], source: str, workbench: Workbench) -> list[PassMatrix]:
    usable = [pool for pool in pools if pool.solutions and pool.testings]
    if not usable:
        raise InputError(
            source,
            "no problem has recorded solutions and testings",
            hint="`evosyn evolve` draws them from a teacher; give its run directory here",
        )
    return workbench.crossexec.matrices([(pool.problem, pool.solutions, pool.testings) for pool in usable])
