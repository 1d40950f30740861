"""What several sources hold together: one name for each pool, and which of their problems are one task."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from itertools import count
from pathlib import Path
from typing import NamedTuple

from evosyn.domains import is_named, load_pools
from evosyn.errors import InputError, UsageError
from evosyn.matrices import is_matrices_file, load_matrices, matrix_files
from evosyn.pools import BUILTIN, POOLS
from evosyn.records import PassMatrix, Pool


class SourcePart(NamedTuple):
    """What one source holds."""

    pools: list[Pool]
    matrices: list[PassMatrix]

    @property
    def problem_ids(self) -> list[str]:
        return [*(pool.problem.problem_id for pool in self.pools), *(matrix.problem_id for matrix in self.matrices)]


def read_source(name: str) -> SourcePart:
    """
    Raises:
        InputError: it does not exist, has no problems, or a line of it is wrong.
    """
    path = Path(name)
    if path.is_dir():
        drawn = path / (POOLS if (path / POOLS).is_file() else "matrices.jsonl")
        path = next(iter(matrix_files(path)), drawn)
    builtin = is_named(name)
    part = (
        SourcePart([], load_matrices(path))
        if not builtin and is_matrices_file(path)
        else SourcePart(load_pools(name if builtin else path), [])
    )
    if not part.problem_ids:
        raise InputError(name, "has no problems")
    return part


def labels(names: Sequence[str]) -> list[str]:
    """Short names of pools, each of its own."""
    found: list[str] = []
    for name in names:
        stem = Path(name.removeprefix(BUILTIN)).name.partition(".")[0] or "pool"
        again = sum(label == stem or label.startswith(f"{stem}~") for label in found)
        numbered = (f"{stem}~{number}" for number in count(again + 1))
        found.append(next(label for label in numbered if label not in found) if again else stem)
    return found


def refuse_equal(names: Sequence[str], digests: Sequence[str]) -> None:
    """
    Raises:
        UsageError: two sources hold the same, which would count twice.
    """
    first: dict[str, str] = {}
    for name, digest in zip(names, digests, strict=True):
        if digest in first:
            other = first[digest]
            told = f"{name} is named twice" if name == other else f"{name} holds the same as {other}"
            raise UsageError(f"SOURCE: {told}, and would count twice; name each pool once")
        first[digest] = name


def shared_tasks(names: Sequence[str], others: Collection[str]) -> list[bool]:
    """For each name of a task whether it is one of the others, by the rule of `task_among`."""
    own = {*names, *others}
    known = {task_among(name, own) for name in others}
    return [task_among(name, own) in known for name in names]


def task_among(name: str, own: Collection[str]) -> str:
    """The shortest name among all that it is, or that stands in it behind a slash."""
    parts = name.split("/")
    return next((tail for tail in ("/".join(parts[at:]) for at in range(len(parts) - 1, 0, -1)) if tail in own), name)
