"""The problems of each setting, executed once and kept in the work directory, and their folds."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from _quality.protocol import FOLDS, NEEDS, VERSION, fold_of, held_out
from evosyn.domains import load_pools
from evosyn.errors import UsageError
from evosyn.evaluators.columns import in_unit
from evosyn.evaluators.draws import make_draws
from evosyn.evaluators.heldout import task_of
from evosyn.matrices import load_matrices, write_matrices
from evosyn.records import Json, PassMatrix
from evosyn.rundir import RunDir
from evosyn.synthesis.search.inputs import Source
from evosyn.workbench import Workbench


class Inputs(NamedTuple):
    """What is searched on.

    Attributes:
        work: where pools are executed.
        pool: with solutions and testings; None where no setting needs it.
        strong: recorded matrices of a pool of strong models; None as above.
        evaluations: of each search.
    """

    work: Path
    pool: str | None = None
    strong: str | None = None
    evaluations: int = 3000

    def files(self, setting: str) -> dict[str, str | None]:
        """Those that a setting is about."""
        files = {"pool": self.pool, "strong": self.strong}
        return {name: files[name] for name in NEEDS[setting]}

    def has(self, setting: str) -> bool:
        """Whether the files that a setting needs were named."""
        return None not in self.files(setting).values()


class Pools:
    """The matrices of all settings, read when first asked for."""

    def __init__(self, inputs: Inputs, workbench: Workbench) -> None:
        self.inputs, self._workbench, self._run = inputs, workbench, RunDir(inputs.work)
        self._split: dict[str, list[list[PassMatrix]]] = {}

    def header(self, setting: str) -> dict[str, Json]:
        """The protocol of a setting; files by their content.

        Raises:
            UsageError: a file that it needs was not named.
        """
        files = self.inputs.files(setting)
        if not self.inputs.has(setting):
            raise UsageError(f"--settings {setting}: needs --{' and --'.join(files)}")
        digests = {
            name: hashlib.sha256(Path(file).read_bytes()).hexdigest()[:16] for name, file in files.items() if file
        }
        return {"version": VERSION, "setting": setting, "evaluations": self.inputs.evaluations, **digests}

    def prepare(self, setting: str) -> None:
        """Execute what the setting needs, where that was not done before."""
        if "pool" in NEEDS[setting]:
            self._stored()

    def folds(self, setting: str) -> list[list[PassMatrix]]:
        """The problems of each fold, which a task's name decides: no task is searched on and held out, whatever pool
        it is of."""
        if setting not in self._split:
            folds: list[list[PassMatrix]] = [[] for _ in range(FOLDS)]
            for matrix in self._matrices(setting):
                folds[fold_of(task_of(matrix))].append(matrix)
            self._split[setting] = folds
        return self._split[setting]

    def train(self, setting: str, fold: int) -> list[PassMatrix]:
        """The problems that are searched on where a fold is held out."""
        return [one for place, some in enumerate(self.folds(setting)) if place != fold for one in some]

    def _matrices(self, setting: str) -> list[PassMatrix]:
        found: Sequence[PassMatrix]
        if setting == "both":
            joined = Source(str(self._stored()), str(self.inputs.strong)).matrices
            found = [matrix if matrix.cases_NMC is None else single_cases(matrix) for matrix in joined]
        elif setting == "strong":
            found = load_matrices(str(self.inputs.strong))
        else:
            found = load_matrices(self._stored())
            found = [single_cases(matrix) for matrix in found] if setting == "asserts" else found
        usable = set(make_draws(found, held_out(setting)).problem_ids)
        return [with_task(matrix) for matrix in found if matrix.problem_id in usable]

    def _stored(self) -> Path:
        """The matrices of the pool."""
        path = self._run.file("pool.jsonl.gz")
        if not path.is_file():
            pools = [pool for pool in load_pools(str(self.inputs.pool)) if pool.solutions and pool.testings]
            made = self._workbench.crossexec.matrices([(one.problem, one.solutions, one.testings) for one in pools])
            write_matrices(path, made)
        return path


def single_cases(matrix: PassMatrix) -> PassMatrix:
    """The matrix as if every distinct case had been drawn as a testing of its own: N counts cases in these settings."""
    return replace(in_unit(matrix, "case"), replies_N=None)


def with_task(matrix: PassMatrix) -> PassMatrix:
    """The matrix under its task's name in all pools: `HumanEval/3`, whatever stands before."""
    return replace(matrix, origin=matrix.origin._replace(task="/".join(matrix.problem_id.split("/")[-2:])))
