"""From scores to places: which items tie, and which come first. It breaks no tie; the evaluators decide what ties mean.

Two sums of the same numbers in another order differ in their last bits, and such a difference must not rank anybody:
scores closer than a tolerance are equal. DESIGN.md section 5, "Ties".
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

RELATIVE = 1e-9
ABSOLUTE = 1e-12
"""Scores that differ by at most `ABSOLUTE` plus `RELATIVE` of the larger are equal: the one tolerance of all ties."""


def dense_ranks(scores: NDArray[np.float64]) -> NDArray[np.int64]:
    """Places along the last axis: 0 for the best, equal places for equal scores, no gaps.

    Args:
        scores: finite, any shape (..., K); neighbours in order that differ by at most `ABSOLUTE` plus `RELATIVE` of
            the larger are equal.
    """
    scores = np.asarray(scores, dtype=np.float64)
    size = scores.shape[-1]
    rows = scores.reshape(math.prod(scores.shape[:-1]), size)
    order = np.argsort(-rows, axis=-1)  # in any order among equals, which share a place
    order += np.arange(len(rows))[:, None] * size
    ordered = rows.ravel()[order]
    upper, lower = ordered[:, :-1], ordered[:, 1:]
    apart = upper - lower > ABSOLUTE + RELATIVE * np.maximum(np.abs(upper), np.abs(lower))
    places = np.zeros(rows.shape, dtype=np.int64)
    np.cumsum(apart, axis=-1, out=places[:, 1:])
    ranks = np.empty(rows.size, dtype=np.int64)
    ranks[order] = places
    return ranks.reshape(scores.shape)


def centred_places(ranks: NDArray[np.int64]) -> NDArray[np.float64]:
    """Places around zero, the best lowest, in which equals share their mean place.

    Args:
        ranks: dense ranks, shape (B, K).
    """
    rows, size = ranks.shape
    offsets = np.arange(rows)[:, None] * size
    counts = np.bincount((ranks + offsets).ravel(), minlength=rows * size).reshape(rows, size)
    middles = np.cumsum(counts, axis=1) - counts / 2
    return np.asarray(np.take_along_axis(middles, ranks, 1) - size / 2)


def rank_correlations(one_BK: NDArray[np.float64], other_BK: NDArray[np.float64]) -> NDArray[np.float64]:
    """Spearman's rank correlation of each row of two arrays of centred places; 0 where one of them is constant."""
    scale = np.sqrt((one_BK**2).sum(axis=1) * (other_BK**2).sum(axis=1))
    return np.asarray((one_BK * other_BK).sum(axis=1) / np.where(scale > 0, scale, 1.0))


def varies(scores: NDArray[np.float64]) -> bool:
    """Whether the scores rank anything at all (zero-variance pruning asks this of the testings)."""
    return bool(len(scores)) and bool(dense_ranks(scores).any())


def best_of(scores: NDArray[np.float64]) -> NDArray[np.int64]:
    """Positions that share the first place."""
    return np.flatnonzero(dense_ranks(scores) == 0)


def broken_ties(ranks: NDArray[np.int64], keys: NDArray[np.float64] | NDArray[np.int64]) -> NDArray[np.int64]:
    """Strict places along the last axis.

    Args:
        ranks: dense ranks, shape (..., K).
        keys: shape of `ranks`; among equals the smaller key comes first.
    """
    order = np.lexsort((keys, ranks), axis=-1)
    strict = np.empty_like(ranks)
    places = np.broadcast_to(np.arange(ranks.shape[-1], dtype=ranks.dtype), ranks.shape)
    np.put_along_axis(strict, order, places, -1)
    return strict
