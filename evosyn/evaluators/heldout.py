"""Problems to search on and problems held out, by task: one that several pools have is never on both sides."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from evosyn.errors import UsageError
from evosyn.randomness import SeedTree
from evosyn.records import KNOWN_VERDICTS, PassMatrix, Verdict, content_id
from evosyn.strategies.evidence import evidence_digest

SHOWN, FEWEST_SHOWN = 3, 2
NAMED = 5
"""Problems that a message names."""
TELLING = 4
"""Different rows, and different columns, of verdicts that two problems do not have in common by chance."""

JUDGED_VERDICTS = KNOWN_VERDICTS - {Verdict.BROKEN}
"""Of a human testing: one that cannot run says nothing of a solution."""


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


class WithTasks(NamedTuple):
    """Matrices whose tasks are known, and the names of those that say what one before them says."""

    matrices: Sequence[PassMatrix]
    repeated: tuple[str, ...]


def with_tasks(matrices: Sequence[PassMatrix]) -> WithTasks:
    """Give one task to problems that say the same under other names: each would count as much as a new one."""
    first: dict[str, str] = {}
    same: dict[str, str] = {}
    repeated = []
    for matrix in matrices:
        task = _followed(task_of(matrix), same)
        if (said := _said(matrix)) is None:
            continue
        other = _followed(first.setdefault(said, task), same)
        if other != task:
            same[task] = other
            repeated.append(matrix.problem_id)
    found = [
        matrix
        if (task := _followed(task_of(matrix), same)) == task_of(matrix)
        else replace(matrix, origin=matrix.origin._replace(task=task))
        for matrix in matrices
    ]
    return WithTasks(found, tuple(repeated))


def repeated_told(names: Sequence[str]) -> str:
    """For a person: which problems are of the task of one before them."""
    return f"{len(names)} problems say what another one says, and count as one task with it: {listed(names)}"


def listed(names: Sequence[str]) -> str:
    """The first few of many names."""
    return ", ".join(names[:NAMED]) + (", ..." if len(names) > NAMED else "")


def _followed(task: str, same: Mapping[str, str]) -> str:
    while task in same:
        task = same[task]
    return task


def _said(matrix: PassMatrix) -> str | None:
    """What is the same of problems that are the same: what they ask or, where nobody recorded that, all that is known
    of them. None where that tells nothing: problems that all solutions pass, say, are alike, and not the same."""
    if matrix.statement is not None:
        return content_id("s_", [matrix.statement.split(), matrix.payload])
    if min(np.unique(matrix.verdicts_MN, axis=axis).shape[axis] for axis in (0, 1)) < TELLING:
        return None
    return evidence_digest(replace(matrix, problem_id="", durations_MN=None))


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
