"""The testing that a row would keep where single cases are ranked: which columns are joined, and whom they accept.

The *trusted* solutions are those of the highest score that pass the chosen column, which is one of the highest score;
joined are all columns that every trusted solution passes. Nothing is kept where no solution of the highest score passes
a column of the highest score. What is judged during a search and what a synthesis writes into a row is decided here.
Solutions are bits of words: a search asks this of every candidate on every draw.
"""

from __future__ import annotations

from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

Bools: TypeAlias = NDArray[np.bool_]
Words: TypeAlias = NDArray[np.uint64]
Places: TypeAlias = NDArray[np.intp]


class Joined(NamedTuple):
    """The different testings that may be kept, P of them in all draws; a draw in which nothing may be has none.

    Attributes:
        draw_P: the draw of each.
        columns_PN: what each joins.
        weights_P: the chance of each; those of a draw add up to less than 1 where perhaps nothing is kept.
    """

    draw_P: Places
    columns_PN: Bools
    weights_P: NDArray[np.float64]

    def mean(self, values_P: NDArray[Any], draws: int) -> NDArray[np.float64]:
        """The mean of a figure over what may be kept of each of so many draws, 0 for nothing."""
        return np.asarray(np.bincount(self.draw_P, self.weights_P * values_P, draws), dtype=np.float64)


def packed(cells_BMN: Bools) -> Words:
    """For each column the solutions as bits, shape (B, N, W)."""
    rows, size, columns = cells_BMN.shape
    wide = np.zeros((rows, columns, -(-size // 64) * 8), dtype=np.uint8)
    bits = np.packbits(cells_BMN.transpose(0, 2, 1), axis=-1, bitorder="little")
    wide[..., : bits.shape[-1]] = bits
    return wide.view(np.uint64)


def joined(fails_BNW: Words, joinable_BN: Bools, top_BM: Bools, first_BN: Bools) -> Joined:
    """What is joined, where ties are broken uniformly at random among the columns that a top solution passes.

    Args:
        fails_BNW: who does not pass, `packed`.
        joinable_BN: columns that may be joined.
        top_BM: solutions of the highest score; first_BN: columns of the highest score.
    """
    trusted_BNW = packed(top_BM[:, :, None]) & ~fails_BNW
    first_BN = first_BN & trusted_BNW.any(axis=-1)
    draw_P, column_P, weights_P = _distinct(trusted_BNW, first_BN)
    columns_PN = ~(fails_BNW[draw_P] & trusted_BNW[draw_P, column_P][:, None]).any(axis=-1) & joinable_BN[draw_P]
    kept_P = columns_PN.max(axis=1, initial=False)
    return Joined(draw_P[kept_P], columns_PN[kept_P], weights_P[kept_P])


def rejected(columns_PN: Bools, fails_PNW: Words, size: int) -> Bools:
    """Who fails a column that is joined, shape (P, M), of `size` solutions."""
    words_PW = np.bitwise_or.reduce(np.where(columns_PN[..., None], fails_PNW, np.uint64(0)), axis=1)
    return np.unpackbits(words_PW.view(np.uint8), axis=-1, count=size, bitorder="little").view(np.bool_)


def _distinct(trusted_BNW: Words, first_BN: Bools) -> tuple[Places, Places, NDArray[np.float64]]:
    """For each different group of trusted solutions its draw, one of the first columns that has it, and their share."""
    count_B, one_B = first_BN.sum(axis=1), first_BN.argmax(axis=1)
    one_B1W = np.take_along_axis(trusted_BNW, one_B[:, None, None], axis=1)
    several_B = ((trusted_BNW != one_B1W).any(axis=-1) & first_BN).any(axis=1)
    alone = np.flatnonzero(~several_B & (count_B > 0))
    several = np.flatnonzero(several_B)
    if not len(several):
        return alone, one_B[alone], np.ones(len(alone))
    draw_C, column_C = np.nonzero(first_BN[several])
    words_CW = trusted_BNW[several[draw_C], column_C]
    order = np.lexsort((*words_CW.T, draw_C))
    draw_C, column_C, words_CW = draw_C[order], column_C[order], words_CW[order]
    new_C = np.ones(len(order), dtype=bool)
    new_C[1:] = (draw_C[1:] != draw_C[:-1]) | (words_CW[1:] != words_CW[:-1]).any(axis=-1)
    starts = np.flatnonzero(new_C)
    draws = several[draw_C[starts]]
    shares = np.diff(starts, append=len(order)) / count_B[draws]
    found = (alone, draws), (one_B[alone], column_C[starts]), (np.ones(len(alone)), shares)
    return tuple(map(np.concatenate, found))  # type: ignore[return-value]
