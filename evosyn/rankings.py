"""What a strategy says of many problems, by shape: one array for all that have M solutions and N testings.

Whoever scores a strategy works on whole blocks, whoever uses one asks for a problem; neither pays for the other. It
checks nothing that the sandbox gave: its runner does. DESIGN.md section 5, "Strategy".
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple, TypeAlias, overload

import numpy as np
from numpy.typing import NDArray

from evosyn.records import Ranking

Floats: TypeAlias = NDArray[np.float64]
Places: TypeAlias = NDArray[np.int64]


def by_shape(shapes: Iterable[tuple[int, int]]) -> dict[tuple[int, int], Places]:
    """Where the problems of each shape (M, N) stand; the shapes in order of appearance."""
    found: dict[tuple[int, int], list[int]] = {}
    for place, (m, n) in enumerate(shapes):
        found.setdefault((m, n), []).append(place)
    return {shape: np.array(places, dtype=np.int64) for shape, places in found.items()}


class RankingBlock(NamedTuple):
    """Scores of the B problems of one shape; finite, higher is better.

    Attributes:
        at_B: places of the problems among all.
        solutions_BM, testings_BN: shapes (B, M) and (B, N).
    """

    at_B: Places
    solutions_BM: Floats
    testings_BN: Floats


class Rankings(Sequence[Ranking]):
    """The rankings of one program, one for each problem.

    Args:
        blocks: those of each shape; together they hold every place once.
    """

    def __init__(self, blocks: Iterable[RankingBlock]) -> None:
        self.blocks = tuple(blocks)
        self._where: list[tuple[int, int]] | None = None

    @classmethod
    def of(cls, rankings: Sequence[Ranking]) -> Rankings:
        """Rankings by shape; what is so already stays as it is."""
        if isinstance(rankings, Rankings):
            return rankings
        places = by_shape((len(one.solution_scores_M), len(one.testing_scores_N)) for one in rankings)
        return cls(
            RankingBlock(
                at_B,
                np.stack([rankings[at].solution_scores_M for at in at_B]),
                np.stack([rankings[at].testing_scores_N for at in at_B]),
            )
            for at_B in places.values()
        )

    @classmethod
    def of_flat(cls, scores: Floats, shapes: Sequence[tuple[int, int]]) -> Rankings:
        """Rankings of scores in a row: problem by problem those of the solutions, then those of the testings.

        Args:
            scores: as many as all shapes have solutions and testings.
            shapes: (M, N) of each problem.
        """
        ends = np.cumsum([m + n for m, n in shapes], dtype=np.int64)
        found = []
        for (m, n), at_B in by_shape(shapes).items():
            rows = scores[ends[at_B][:, None] + np.arange(-m - n, 0)]
            found.append(RankingBlock(at_B, rows[:, :m], rows[:, m:]))
        return cls(found)

    @classmethod
    def merged(cls, blocks: Iterable[RankingBlock]) -> Rankings:
        """Rankings of blocks of which several may have one shape."""
        alike: dict[tuple[int, int], list[RankingBlock]] = {}
        for block in blocks:
            alike.setdefault((block.solutions_BM.shape[1], block.testings_BN.shape[1]), []).append(block)
        whole = [RankingBlock(*map(np.concatenate, zip(*parts, strict=True))) for parts in alike.values()]
        rows = [np.argsort(block.at_B) for block in whole]
        ordered = [
            RankingBlock(block.at_B[row_B], block.solutions_BM[row_B], block.testings_BN[row_B])
            for block, row_B in zip(whole, rows, strict=True)
        ]
        return cls(sorted(ordered, key=lambda block: int(block.at_B[0])))

    def at(self, at_B: Places, width: int) -> tuple[Floats, Floats]:
        """Solution scores (B, M) and testing scores (B, `width`) of problems with equally many solutions; behind the
        scores of a narrower problem its lowest one is repeated. No copy where they are a block."""
        for block in self.blocks:
            if block.testings_BN.shape[1] == width and np.array_equal(block.at_B, at_B):
                return block.solutions_BM, block.testings_BN
        row_of = np.full(len(self), -1)
        row_of[at_B] = np.arange(len(at_B))
        parts = [(rows, block) for block in self.blocks if (rows := row_of[block.at_B]).max(initial=-1) >= 0]
        solutions_BM = np.empty((len(at_B), parts[0][1].solutions_BM.shape[1]))
        testings_BN = np.empty((len(at_B), width))
        for rows, block in parts:
            asked = rows >= 0
            size = block.testings_BN.shape[1]
            solutions_BM[rows[asked]] = block.solutions_BM[asked]
            testings_BN[rows[asked], :size] = block.testings_BN[asked]
            testings_BN[rows[asked], size:] = block.testings_BN[asked].min(axis=1, keepdims=True)
        return solutions_BM, testings_BN

    def __len__(self) -> int:
        return sum(len(block.at_B) for block in self.blocks)

    @overload
    def __getitem__(self, place: int) -> Ranking: ...
    @overload
    def __getitem__(self, place: slice) -> tuple[Ranking, ...]: ...
    def __getitem__(self, place: int | slice) -> Ranking | tuple[Ranking, ...]:
        if isinstance(place, slice):
            return tuple(self[one] for one in range(*place.indices(len(self))))
        number, row = self._rows[place]
        return Ranking(self.blocks[number].solutions_BM[row], self.blocks[number].testings_BN[row])

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Rankings):
            return NotImplemented
        return len(self.blocks) == len(other.blocks) and all(
            np.array_equal(mine, theirs)
            for two in zip(self.blocks, other.blocks, strict=True)
            for mine, theirs in zip(*two, strict=True)
        )

    __hash__ = None  # type: ignore[assignment]

    @property
    def _rows(self) -> list[tuple[int, int]]:
        """Block and row of each place; made when the first problem is asked for."""
        if self._where is None:
            where = {
                int(place): (number, row)
                for number, block in enumerate(self.blocks)
                for row, place in enumerate(block.at_B)
            }
            self._where = [where[place] for place in range(len(where))]
        return self._where
