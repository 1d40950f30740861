"""From what the user names (matrices, a pool, a run directory) to matrices; executes a pool that has none yet."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from evosyn.errors import InputError
from evosyn.records import PassMatrix, Pool

if TYPE_CHECKING:
    from evosyn.cli._configs import CurveAblationConfig, MatricesConfig
    from evosyn.evaluators.draws import ConsistencyConfig
    from evosyn.evaluators.heldout import Split
    from evosyn.reading.search import SearchReading
    from evosyn.workbench import Workbench

NEEDED = {"source": "--pool: name a pool file, a matrices file, or a directory that holds matrices"}
SOURCE = click.option("--pool", "source", help="Pool file, matrices file, or a directory that holds matrices.")
UNIT = "What is ranked: every distinct case of the testings, or each testing whole. [default: case]"
TIES = "Equal scores: the mean over all orders, the order of the paper's code, or a seeded one. [default: expected]"
VERDICTS = click.option("--verdicts", help="File that remembers executed cells of a pool.")


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
    from evosyn.cli._configs import MatricesConfig
    from evosyn.workbench import Workbench

    limits = config.limits if isinstance(config, MatricesConfig) else None
    with Workbench(config.workbench, verdicts=config.verdicts, limits=limits, **given) as workbench:
        yield _matrices_of(str(config.source), workbench), workbench


def _matrices_of(source: str, workbench: Workbench) -> MatrixSource:
    from evosyn.domains import load_pools
    from evosyn.matrices import is_matrices_file, load_matrices

    path = Path(source)
    if path.is_dir():
        from evosyn.reading.matrices import stored_matrices

        matrices = stored_matrices(path)
    elif is_matrices_file(source):
        matrices = load_matrices(source)
    else:
        matrices = _execute(load_pools(source), source, workbench)
    return MatrixSource(path.name, matrices)


def split_of_run(folder: Path) -> Split | None:
    """How the run in `folder` split its problems; None where it is no run of `evosyn evolve`, or has not begun."""
    reading = _search_in(folder)
    return None if reading is None else reading.split()


def scoring_of_run(folder: Path, given: ConsistencyConfig) -> ConsistencyConfig:
    """How the run in `folder` scored its held-out problems, under what the user gives; `given` where it is no run."""
    from evosyn.synthesis.search.winner import fresh_scoring

    reading = _search_in(folder) if folder.is_dir() else None
    if reading is None:
        return given
    own = fresh_scoring(reading.config, "boards")
    return own.model_copy(update={name: getattr(given, name) for name in given.model_fields_set})


def _search_in(folder: Path) -> SearchReading | None:
    """The search of a directory; None where it holds none, or one that has not begun."""
    from evosyn.reading.opening import kind_of, open_directory
    from evosyn.reading.search import SearchReading

    reading = open_directory(folder) if kind_of(folder) == "evolve" else None
    return reading if isinstance(reading, SearchReading) and reading.begun else None


def _execute(pools: list[Pool], source: str, workbench: Workbench) -> list[PassMatrix]:
    usable = [pool for pool in pools if pool.solutions and pool.testings]
    if not usable:
        raise InputError(
            source,
            "no problem has recorded solutions and testings",
            hint="`evosyn evolve` draws them from a teacher; give its run directory here",
        )
    return workbench.crossexec.matrices([(pool.problem, pool.solutions, pool.testings) for pool in usable])
