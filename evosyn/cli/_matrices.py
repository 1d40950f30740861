"""From what the user names (matrices, a pool, a run directory) to matrices; executes a pool that has none yet."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from evosyn.domains import load_pools
from evosyn.errors import InputError, UsageError
from evosyn.pools import is_matrices_file, load_matrices
from evosyn.records import PassMatrix, Pool
from evosyn.workbench import Workbench


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
    from evosyn.rundir import RunDir

    run = RunDir(folder)
    if not run.file("journal.jsonl").is_file() or not run.file("manifest.json").is_file():
        return None
    if run.read_json("manifest.json").get("kind") != "evolve":
        return None
    from evosyn.evolve.events import events_of
    from evosyn.synthesis.search.config import EvolveConfig
    from evosyn.synthesis.search.inputs import MATRICES, select, split_all

    header = events_of(run.journal).header()
    if header is None:
        return None
    config = EvolveConfig.model_validate(header["config"])
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
