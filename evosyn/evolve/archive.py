"""One MAP-Elites grid: declared axes, one elite a cell, a cell never gets worse.

Asking never changes anything; only `add` does, and it says what it did. The cell of an elite depends on its descriptor
and the declared axes alone, and ranks are a total order, so the grid that a set of elites ends in does not depend on
the order in which they came. Mouret & Clune 2015; DESIGN.md section 5.
"""

from __future__ import annotations

import math
from bisect import bisect_left, insort
from collections.abc import Callable, Iterator, Sequence
from enum import StrEnum
from typing import TypeAlias

from evosyn.ports import Axis, Merit
from evosyn.records import Elite

Cell: TypeAlias = tuple[int, ...]
Rank: TypeAlias = tuple[Merit, str]
"""The total order of elites: merit, then id."""


class AddStatus(StrEnum):
    """What `Archive.add` did."""

    NEW = "new"
    IMPROVED = "improved"
    NOT_BETTER = "not-better"


class Archive:
    """A grid over `axes`; without axes it has one cell.

    Every operation costs at most the logarithm of the number of filled cells, which the axes bound, however many
    candidates were ever added.

    Args:
        merit: the order among elites (`Evolved.merit`).
    """

    def __init__(self, axes: Sequence[Axis], merit: Callable[[Elite], Merit]) -> None:
        self.axes, self._merit = tuple(axes), merit
        self._elites: dict[Cell, Elite] = {}
        self._ranks: dict[Cell, Rank] = {}
        self._cells: list[Cell] = []
        self._order: list[tuple[Rank, Cell]] = []

    def cell_of(self, descriptor: Sequence[float]) -> Cell:
        """The cell of a descriptor, values outside an axis clipped into its end bins.

        Args:
            descriptor: one value per axis, in the axes' units.

        Raises:
            ValueError: wrong length, or a value that is not a number.
        """
        if len(descriptor) != len(self.axes):
            raise ValueError(f"descriptor has {len(descriptor)} values, the archive has {len(self.axes)} axes")
        cell = []
        for axis, value in zip(self.axes, descriptor, strict=True):
            if math.isnan(value):
                raise ValueError(f"descriptor value of axis {axis.name!r} is not a number")
            share = (value - axis.low) / (axis.high - axis.low)
            cell.append(min(axis.bins - 1, int(max(0.0, min(1.0, share)) * axis.bins)))
        return tuple(cell)

    def rank(self, elite: Elite) -> Rank:
        """The place of an elite in the order of all.

        Raises:
            ValueError: the elite is invalid (no score), so it has no place in an archive.
        """
        score = elite.evaluation.score
        if score is None or not math.isfinite(score):
            raise ValueError(f"candidate {elite.candidate.id} has no finite score (got {score!r})")
        return self._merit(elite), elite.candidate.id

    def add(self, elite: Elite) -> AddStatus:
        """Put `elite` into its cell if the cell is empty or holds a lesser one."""
        cell, rank = self.cell_of(elite.evaluation.descriptor), self.rank(elite)
        held = self._ranks.get(cell)
        if held is not None:
            if rank <= held:
                return AddStatus.NOT_BETTER
            del self._order[bisect_left(self._order, (held, cell))]
        else:
            self._cells.append(cell)
        self._elites[cell], self._ranks[cell] = elite, rank
        insort(self._order, (rank, cell))
        return AddStatus.NEW if held is None else AddStatus.IMPROVED

    def at(self, cell: Cell) -> Elite | None:
        return self._elites.get(cell)

    def nth(self, position: int) -> Elite:
        """The elite of the cell that was filled as number `position`: for drawing cells uniformly."""
        return self._elites[self._cells[position]]

    def ranked(self, position: int) -> Elite:
        """The elite at `position` from the best (0)."""
        return self._elites[self._order[-1 - position][1]]

    def top(self, count: int) -> tuple[Elite, ...]:
        """The best `count` elites, best first (fewer if there are fewer)."""
        return tuple(self._elites[cell] for _, cell in reversed(self._order[max(0, len(self._order) - count) :]))

    @property
    def best(self) -> Elite | None:
        return self.ranked(0) if self._order else None

    @property
    def capacity(self) -> int:
        return math.prod(axis.bins for axis in self.axes)

    def cells(self) -> dict[Cell, Elite]:
        """A copy of the grid's content."""
        return dict(self._elites)

    def __len__(self) -> int:
        return len(self._cells)

    def __iter__(self) -> Iterator[Elite]:
        return iter(self._elites.values())
