"""Problems to search on and problems held out, by task: one that several pools have is never on both sides."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from evosyn.errors import UsageError
from evosyn.randomness import SeedTree
from evosyn.records import PassMatrix

SHOWN, FEWEST_SHOWN = 3, 2


class Split(NamedTuple):
    """Matrices to evolve on, and matrices held out."""

    train: list[PassMatrix]
    heldout: list[PassMatrix]


def split_problems(matrices: Sequence[PassMatrix], share: float, seed: int) -> Split:
    """Hold out a share of the problems, chosen by the seed and not by their order in the file.

    Where there are several pools, a task stays whole, and tasks that are in the same pools are split by the same share.

    Args:
        share: of the problems that are held out, in (0, 1); at least one problem stays on each side.

    Raises:
        UsageError: fewer than two problems, or a share outside (0, 1).
    """
    if not 0 < share < 1:
        raise UsageError(f"held-out share {share}: must lie between 0 and 1")
    pools_of: dict[str, set[str]] = {}
    for matrix in matrices:
        pools_of.setdefault(task_of(matrix), set()).add(pool_of(matrix))
    if len(pools_of) < 2:
        raise UsageError(f"{len(pools_of)} problems cannot be split into seeds and held-out problems; bring more")
    rng = SeedTree(seed).child("heldout").rng()
    held: set[str] = set()
    for stratum in sorted({tuple(sorted(pools)) for pools in pools_of.values()}):
        tasks = sorted(task for task, pools in pools_of.items() if tuple(sorted(pools)) == stratum)
        order = rng.permutation(len(tasks))
        size = min(max(round(share * len(tasks)), 1), len(tasks) - 1)
        held.update([tasks[place] for place in order[:size]])
    held = held or {min(pools_of)}
    return Split(
        [matrix for matrix in matrices if task_of(matrix) not in held],
        [matrix for matrix in matrices if task_of(matrix) in held],
    )


def shown_tasks(tasks: Iterable[str]) -> frozenset[str]:
    """The tasks of whose draws a model may be told with human verdicts, by their names alone: one of `SHOWN`, two at
    least. Whoever was told an answer can write it down, so no program is judged on these where a model took part."""
    ordered = sorted(set(tasks), key=lambda task: (SeedTree(0).child("shown", task).integer(), task))
    return frozenset(ordered[: max(FEWEST_SHOWN, len(ordered) // SHOWN)])


def pool_of(matrix: PassMatrix) -> str:
    """The pool that a matrix came from, where a search has several; it is no part of the evidence."""
    return matrix.origin.pool


def task_of(matrix: PassMatrix) -> str:
    """What the problem is called in every pool that has it."""
    return matrix.origin.task or matrix.problem_id


def view_of(matrix: PassMatrix) -> str:
    """From which side the problem is shown where it is not shown as it was recorded (`views`)."""
    return matrix.origin.view


def original_of(matrix: PassMatrix) -> str:
    """The name of the problem that this is a view of; its own where it is none."""
    return matrix.origin.original or matrix.problem_id
