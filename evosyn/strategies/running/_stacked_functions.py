"""Functions of the grammar in forms that are faster on stacks of problems, and parts of them that steps share.

This file is sent to the sandbox as text, below the functions of the grammar, which it may replace: each gives the same
bits (a test compares them), so sums keep their order and what is left out changes nothing. Nothing of evosyn imports it
but tests.
"""

# ruff: noqa: F821
# mypy: disable-error-code="name-defined"
from __future__ import annotations

from typing import Any

import numpy as np


def place(x: Any) -> Any:
    """Counts as sums of small integers, which are exact in any order."""
    x = np.round(x, 9)
    size = x.shape[-1]
    above, below = x[..., :, None] > x[..., None, :], x[..., :, None] < x[..., None, :]
    signs = (above.view(np.int8) - below.view(np.int8)).astype(np.float32)
    found = (signs.reshape(-1, size) @ np.ones(size, np.float32)).reshape(x.shape)
    return 0.5 + 0.5 * found.astype(np.float64) / max(1, size - 1)


def tidy(x: Any) -> Any:
    """What is finite and within the limits is only rounded."""
    if not (x.max() <= 1e9 and x.min() >= -1e9):
        x = np.clip(np.nan_to_num(x), -1e9, 1e9)
    return np.round(x, 9)


def ordered(first: Any, second: Any) -> Any:
    """`then` of places."""
    return first * max(1, first.shape[-1] - 1) + 0.45 * second


def crowned(highest: Any, places: Any) -> Any:
    """`crown` of the highest and of places."""
    return 2.0 * highest + places


def between(accepted: Any, rejected: Any, accepts: Any, rejects: Any, values: Any) -> Any:
    """`gap`; the first four depend on the matrix alone."""
    values = values[..., :, None]
    inside = ratio((accepted * values).sum(-2), accepts)
    return inside - ratio((rejected * values).sum(-2), rejects)


def mutual(x: Any) -> Any:
    """What does not change from round to round is computed once."""
    first = x.mean(-1)
    failed, rows, nudge = 1.0 - x, first, 0.001 * first
    passes, fails = x.sum(-2), failed.sum(-2)
    for _ in range(8):
        rows = spread(vote(x, spread(between(x, failed, passes, fails, rows)))) + nudge
    return rows


def latent(x: Any) -> Any:
    """What does not change from round to round is computed once."""
    failed = 1.0 - x
    right = 0.1 + 0.8 * spread(x.mean(-1))
    for _ in range(8):
        weight = right[..., :, None]
        rest = 1.0 - weight
        pass_right = ((weight * x).sum(-2) + 1.0) / (weight.sum(-2) + 2.0)
        pass_wrong = ((rest * x).sum(-2) + 1.0) / (rest.sum(-2) + 2.0)
        passing = np.log(pass_right / pass_wrong)[..., None, :]
        failing = np.log((1.0 - pass_right) / (1.0 - pass_wrong))[..., None, :]
        odds = (x * passing + failed * failing).sum(-1)
        right = 1.0 / (1.0 + np.exp(-np.clip(odds, -30.0, 30.0)))
    return right


def counted(x: Any, group: Any) -> Any:
    """What `bayes` takes from the matrix alone, one row each: counts, and logarithms of the gamma function of them."""
    height, width = x.shape[-2], x.shape[-1]
    size, passes = group.sum(-1), x.sum(-1)
    overlap = x @ np.swapaxes(x, -1, -2)
    others = 1.0 - group
    inside, outside = (others * overlap).sum(-1), (others * (passes[..., None, :] - overlap)).sum(-1)
    empty = np.maximum((height - size) * (width - passes) - outside, 0.0)
    missed = np.maximum((height - size) * passes - inside, 0.0) + 1.0
    return np.stack(
        [
            *(size, height - size + 1.0, log_gamma(height - size + 1.0)),
            *(passes, width - passes + 1.0, log_gamma(width - passes + 1.0)),
            log_gamma(inside + 1.0) + log_gamma(missed) - log_gamma(inside + 1.0 + missed),
            *(outside + 1.0, log_gamma(outside + 1.0), empty),
        ]
    )


def odds_of(group: Any, counts: Any, many: float, rarely: float) -> Any:
    """`bayes` of what was counted; sums are taken in its order."""
    alpha, beta = 10.0 ** min(abs(many), 6.0), 10.0 ** min(abs(rarely), 6.0)
    size, smaller, log_smaller, passes, fewer, log_fewer, log_inside, outside, log_outside, empty = counts
    found = log_gamma(size + alpha) + log_smaller - log_gamma(size + alpha + smaller)
    found = found + (log_gamma(passes + alpha) + log_fewer - log_gamma(passes + alpha + fewer))
    found = found + log_inside
    found = found + (log_outside + log_gamma(empty + beta) - log_gamma(outside + (empty + beta)))
    weight = np.exp(found - found.max(-1, keepdims=True)) / size
    rest = ((1.0 - group) * weight[..., None, :]).sum(-1)
    return np.round(found - found.max(-1, keepdims=True) - np.log(np.maximum(rest, 1e-20)), 9)
