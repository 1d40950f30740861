"""What a strategy did on each seed problem, in a few characters: kept with its evaluation, read when it is told about.

A note is of the first draw of its problem, so that the notes of any two strategies can be compared.
"""

from __future__ import annotations

from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from evosyn.evaluators.behaviour import Behaviour
from evosyn.evaluators.draws import Block, Bools, Draws


class FirstDraw(NamedTuple):
    """Where the first draw of a problem stands."""

    block: Block
    row: int
    draw: int


class FirstDraws:
    """The first draw of each problem.

    Args:
        draws: of all problems.
    """

    def __init__(self, draws: Draws) -> None:
        self._draws = draws

    @cached_property
    def rows(self) -> list[tuple[NDArray[np.int64], list[int]]]:
        """For each block the rows of first draws, and their problems."""
        _, first = np.unique(self._draws.problem_E, return_index=True)
        found: list[tuple[NDArray[np.int64], list[int]]] = []
        for block in self._draws.blocks:
            rows = np.flatnonzero(np.isin(block.at_B, first)).astype(np.int64)
            found.append((rows, self._draws.problem_E[block.at_B[rows]].tolist()))
        return found

    def place(self, problem: int) -> FirstDraw:
        """Where that of a problem stands."""
        for block, (rows, problems) in zip(self._draws.blocks, self.rows, strict=True):
            if problem in problems:
                row = int(rows[problems.index(problem)])
                return FirstDraw(block, row, int(block.at_B[row]))
        raise IndexError(problem)

    def notes(self, behaviour: Behaviour) -> tuple[str, ...]:
        """One for each problem."""
        found = [""] * len(self._draws.problem_ids)
        for (rows, problems), outcome in zip(self.rows, behaviour.outcomes, strict=True):
            solutions = outcome.solution_ranks_BM[rows]
            parts = [solutions == 0, solutions == solutions.max(axis=1, keepdims=True), outcome.trusted_BN[rows]]
            packed = [np.packbits(part, axis=1) for part in parts]
            for row, problem in enumerate(problems):
                found[problem] = " ".join([part[row].tobytes().hex() for part in packed])
        return tuple(found)


class Note(NamedTuple):
    """What shares the first and the last place among the solutions, and the first among the testings (of cases what is
    joined), of one draw."""

    top_M: Bools
    last_M: Bools
    chosen_N: Bools


def read_note(text: str, rows: int, columns: int) -> Note | None:
    """The note of a draw of `rows` solutions and `columns` testings; None for what is none."""
    parts = text.split()
    try:
        bits = [np.unpackbits(np.frombuffer(bytes.fromhex(part), np.uint8)).astype(bool) for part in parts]
    except ValueError:
        return None
    sizes = (rows, rows, columns)
    if [len(part) for part in bits] != [-size % 8 + size for size in sizes]:
        return None
    top, last, chosen = (part[:size] for part, size in zip(bits, sizes, strict=True))
    return Note(top, last, chosen)
