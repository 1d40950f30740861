"""The testing that a row would keep where single cases are ranked: which columns are joined, and whom they accept.

The *trusted* solutions are those of the highest score that pass the chosen column, which is one of the highest score;
joined are all columns that every trusted solution passes. Nothing is kept where no solution of the highest score passes
a column of the highest score. What is judged during a search and what a synthesis writes into a row is decided here.
Solutions are bits of words: a search asks this of every candidate on every draw.
"""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

Bools: TypeAlias = NDArray[np.bool_]
Words: TypeAlias = NDArray[np.uint64]


class Joined(NamedTuple):
    """The testings that may be kept of each draw, Q of them.

    Attributes:
        columns_BQN: what each joins.
        weights_BQ: the chance of each; they add up to less than 1 where nothing may be kept.
    """

    columns_BQN: Bools
    weights_BQ: NDArray[np.float64]


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
    trusted_BQW, weights_BQ = _distinct(trusted_BNW, first_BN)
    columns_BQN = ~(fails_BNW[:, None] & trusted_BQW[:, :, None]).any(axis=-1) & joinable_BN[:, None]
    return Joined(columns_BQN, weights_BQ * columns_BQN.any(axis=-1))


def rejected(columns_BQN: Bools, fails_BNW: Words, size: int) -> Bools:
    """Who fails a column that is joined, shape (B, M, Q), of `size` solutions."""
    words = np.bitwise_or.reduce(np.where(columns_BQN[..., None], fails_BNW[:, None], np.uint64(0)), axis=2)
    bits = np.unpackbits(words.view(np.uint8), axis=-1, count=size, bitorder="little")
    return bits.view(np.bool_).transpose(0, 2, 1)


def _distinct(trusted_BNW: Words, first_BN: Bools) -> tuple[Words, NDArray[np.float64]]:
    """The different groups of trusted solutions, with the share of the first columns that has each."""
    rows, count_B = np.arange(len(first_BN)), first_BN.sum(axis=1)
    one_BW = trusted_BNW[rows, first_BN.argmax(axis=1)]
    several = np.flatnonzero(((trusted_BNW != one_BW[:, None]).any(axis=-1) & first_BN).any(axis=1))
    if not len(several):
        return one_BW[:, None], (count_B > 0)[:, None].astype(np.float64)
    sorted_BN = np.lexsort((*np.moveaxis(trusted_BNW[several], -1, 0), ~first_BN[several]), axis=-1)
    groups_BNW = np.take_along_axis(trusted_BNW[several], sorted_BN[..., None], axis=1)
    new_BN = np.ones(sorted_BN.shape, dtype=bool)
    new_BN[:, 1:] = (groups_BNW[:, 1:] != groups_BNW[:, :-1]).any(axis=-1)
    at_BN = np.cumsum(new_BN, axis=1) - 1
    there = np.arange(sorted_BN.shape[1]) < count_B[several, None]
    most = int(at_BN[there].max()) + 1
    trusted_BQW = np.zeros((len(rows), most, trusted_BNW.shape[-1]), dtype=np.uint64)
    weights_BQ = np.zeros((len(rows), most))
    trusted_BQW[:, 0], weights_BQ[:, 0] = one_BW, count_B > 0
    draw_P, column_P = np.nonzero(there)
    slot_P = at_BN[draw_P, column_P]
    weights_BQ[several, 0] = 0
    trusted_BQW[several[draw_P], slot_P] = groups_BNW[draw_P, column_P]
    np.add.at(weights_BQ, (several[draw_P], slot_P), 1 / count_B[several[draw_P]])
    return trusted_BQW, weights_BQ
