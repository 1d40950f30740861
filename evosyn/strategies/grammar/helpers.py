"""The small functions that genetic strategies are made of; their source is copied into the programs that use them.

A row is a solution, a column a testing. Leading axes are allowed everywhere, so the same code ranks one problem inside
a program and a whole stack of problems in one call. Each function is equivariant under permutations of rows and columns
and finite for finite input. Values that differ by rounding errors count as equal.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np

Array: TypeAlias = Any
"""A float array; numpy's own types lose themselves in `...` indexing, and casts would end up in the programs."""


def ratio(a: Array, b: Array) -> Array:
    """a / b, and 0 where b is 0."""
    empty = np.abs(b) < 1e-9
    return np.where(empty, 0.0, a / np.where(empty, 1.0, b))


def spread(x: Array) -> Array:
    """Moved and stretched to 0..1; zeros where all are equal."""
    low = x.min(-1, keepdims=True)
    return ratio(x - low, x.max(-1, keepdims=True) - low)


def place(x: Array) -> Array:
    """Rank from 0 (lowest) to 1 (highest); equal values share a rank."""
    x = np.round(x, 9)
    below = (x[..., :, None] > x[..., None, :]).sum(-1)
    above = (x[..., :, None] < x[..., None, :]).sum(-1)
    return 0.5 + 0.5 * (below - above) / max(1, x.shape[-1] - 1)


def standard(x: Array) -> Array:
    """Distance from the mean in standard deviations."""
    return ratio(x - x.mean(-1, keepdims=True), x.std(-1, keepdims=True))


def top(x: Array) -> Array:
    """1 where x is highest, else 0."""
    return (x > x.max(-1, keepdims=True) - 1e-9).astype(float)


def bottom(x: Array) -> Array:
    """1 where x is lowest, else 0."""
    return (x < x.min(-1, keepdims=True) + 1e-9).astype(float)


def power(x: Array, exponent: float) -> Array:
    """|x| to a power, with the sign of x."""
    return np.sign(x) * np.minimum(np.abs(x), 1e6) ** exponent


def at_least(x: Array, limit: float) -> Array:
    """1 where x reaches that share of its range, else 0."""
    return (spread(x) > limit - 1e-9).astype(float)


def then(x: Array, y: Array) -> Array:
    """The order of x; y only breaks its ties."""
    return place(x) * max(1, x.shape[-1] - 1) + 0.45 * place(y)


def half(x: Array) -> Array:
    """1 at one half, falling to 0 at 0 and at 1: shares that say something."""
    x = np.clip(x, 0.0, 1.0)
    return 4.0 * x * (1.0 - x)


def vote(x: Array, weights: Array) -> Array:
    """Each row's mean over the columns, weighted."""
    total = np.abs(weights).sum(-1, keepdims=True)
    return ratio((x * weights[..., None, :]).sum(-1), total)


def accepted(x: Array, weights: Array) -> Array:
    """Each column's mean over the rows, weighted."""
    total = np.abs(weights).sum(-1, keepdims=True)
    return ratio((x * weights[..., :, None]).sum(-2), total)


def gap(x: Array, values: Array) -> Array:
    """For each column: mean value of the rows it accepts minus that of those it rejects."""
    values = values[..., :, None]
    inside = ratio((x * values).sum(-2), x.sum(-2))
    return inside - ratio(((1.0 - x) * values).sum(-2), (1.0 - x).sum(-2))


def row_gap(x: Array, values: Array) -> Array:
    """For each row: mean value of the columns it passes minus that of those it fails."""
    values = values[..., None, :]
    inside = ratio((x * values).sum(-1), x.sum(-1))
    return inside - ratio(((1.0 - x) * values).sum(-1), (1.0 - x).sum(-1))


def fair_gap(x: Array) -> Array:
    """As gap over the rows' pass shares, each share taken without the column itself."""
    share = (x.sum(-1)[..., :, None] - x) / max(1, x.shape[-1] - 1)
    inside = ratio((x * share).sum(-2), x.sum(-2))
    return inside - ratio(((1.0 - x) * share).sum(-2), (1.0 - x).sum(-2))


def follow(x: Array, values: Array) -> Array:
    """For each column: correlation of its verdicts with the values of the rows."""
    v = values - values.mean(-1, keepdims=True)
    y = x - x.mean(-2, keepdims=True)
    size = np.sqrt((y * y).sum(-2) * (v * v).sum(-1, keepdims=True))
    return ratio((y * v[..., :, None]).sum(-2), size)


def some(x: Array) -> Array:
    """1 for columns that accept anybody, else 0."""
    return (x.max(-2) > 1e-9).astype(float)


def choosy(x: Array) -> Array:
    """1 for columns that accept somebody and reject somebody, else 0."""
    return ((x.max(-2) > 1e-9) & (x.min(-2) < 1.0 - 1e-9)).astype(float)


def alike(x: Array) -> Array:
    """For each pair of rows: share of columns on which they agree."""
    both = x @ np.swapaxes(x, -1, -2) + (1.0 - x) @ np.swapaxes(1.0 - x, -1, -2)
    return both / x.shape[-1]


def same(x: Array) -> Array:
    """For each pair of rows: 1 where they agree on every column, else 0."""
    return (alike(np.round(x)) > 1.0 - 1e-9).astype(float)


def turned(x: Array) -> Array:
    """Rows and columns exchanged."""
    return np.swapaxes(x, -1, -2)


def smooth(alike: Array, values: Array) -> Array:
    """Mean value over all, weighted by likeness to each."""
    return ratio((alike * values[..., None, :]).sum(-1), alike.sum(-1))


def rare(x: Array) -> Array:
    """Passes weighted by how few rows pass that column."""
    return x * ratio(np.ones_like(x.sum(-2)), x.sum(-2))[..., None, :]


def mutual(x: Array) -> Array:
    """Rows are good if they pass good columns, columns if they tell good rows from bad ones: settled in rounds."""
    rows = x.mean(-1)
    for _ in range(8):
        rows = spread(vote(x, spread(gap(x, rows)))) + 0.001 * x.mean(-1)
    return rows


def latent(x: Array) -> Array:
    """Chance that a row is right if columns err independently of each other (Dawid and Skene 1979)."""
    right = 0.1 + 0.8 * spread(x.mean(-1))
    for _ in range(8):
        weight = right[..., :, None]
        pass_right = ((weight * x).sum(-2) + 1.0) / (weight.sum(-2) + 2.0)
        pass_wrong = (((1.0 - weight) * x).sum(-2) + 1.0) / ((1.0 - weight).sum(-2) + 2.0)
        passing = np.log(pass_right / pass_wrong)[..., None, :]
        failing = np.log((1.0 - pass_right) / (1.0 - pass_wrong))[..., None, :]
        odds = (x * passing + (1.0 - x) * failing).sum(-1)
        right = 1.0 / (1.0 + np.exp(-np.clip(odds, -30.0, 30.0)))
    return right


def given(x: Array, size: int) -> Array:
    """Likenesses of pairs; where nobody recorded any, each is like itself alone, which ties what they would order."""
    return np.eye(size) if x is None else x


def equals(x: Array) -> Array:
    """For each pair: 1 where their numbers are equal, else 0."""
    return (x[..., :, None] == x[..., None, :]).astype(float)


def echoes(values: Array, size: int) -> Array:
    """For each pair of solutions: of the calls on which either gave a value, the share on which both gave the same."""
    known = [one for one in values or () if one is not None]
    if not known:
        return np.eye(size)
    x = np.concatenate(known, axis=1)
    both = ((x[:, None, :] == x[None, :, :]) & (x != 0)[:, None, :]).sum(axis=2)
    either = ((x != 0)[:, None, :] | (x != 0)[None, :, :]).sum(axis=2)
    return ratio(both.astype(float), either.astype(float))


def ran_through(verdicts: Array, passed: Array) -> Array:
    """1 where a solution came to a value, right or wrong, 0 where it crashed or ran out of time; 1 where unknown."""
    return np.ones(passed.shape) if verdicts is None else ((verdicts == "P") | (verdicts == "F")).astype(float)


def agreeing(values: Array, passed: Array) -> Array:
    """For each solution and testing: the share of solutions that gave the same on its calls; 1 where unknown."""
    found = np.ones(passed.shape)
    for place, x in enumerate(values or ()):
        if x is not None and x.shape[1]:
            both = (x[:, None, :] == x[None, :, :]) & (x != 0)[:, None, :]
            found[:, place] = both.mean(axis=(1, 2))
    return found


def shared_calls(calls: Array, size: int) -> Array:
    """For each pair of testings: of the calls that either asks, the share that both ask."""
    if calls is None:
        return np.eye(size)
    sets = [{call[0] for call in one or () if call} for one in calls]
    found = np.array([[len(one & other) / max(1, len(one | other)) for other in sets] for one in sets])
    np.fill_diagonal(found, 1.0)
    return found


def logarithm(x: Array) -> Array:
    """Logarithm of |x|, from a millionth on."""
    return np.log(np.maximum(np.abs(x), 1e-6))


def fade(x: Array, exponent: float) -> Array:
    """A negative power of |x|, from a thousandth on: high where x is near 0."""
    return np.maximum(np.abs(x), 1e-3) ** -min(abs(exponent), 3.0)


def likely(x: Array) -> Array:
    """Log odds as a chance."""
    return 1.0 / (1.0 + np.exp(-np.clip(x, -30.0, 30.0)))


def crown(x: Array, y: Array) -> Array:
    """The highest of x above all; the rest, and those that x ties at the top, in the order of y."""
    return 2.0 * top(x) + place(y)


def log_gamma(x: Array) -> Array:
    """Logarithm of the gamma function for x above 0, by Stirling's series."""
    shift = np.log(x * (x + 1.0) * (x + 2.0) * (x + 3.0) * (x + 4.0) * (x + 5.0))
    x = x + 6.0
    return (x - 0.5) * np.log(x) - x + 0.9189385332046727 + 1.0 / (12.0 * x) - 1.0 / (360.0 * x**3) - shift


def log_beta(x: Array, y: Array) -> Array:
    """Logarithm of the beta function."""
    return log_gamma(x) + log_gamma(y) - log_gamma(x + y)


def bayes(x: Array, many: float, rarely: float) -> Array:
    """Log odds that just the rows equal to this one and the columns that it passes are right (Chen 2024, B4).

    The priors are Beta(10**many, 1) on the shares of right rows and columns, Beta(1, 10**rarely) on wrong rows passing
    wrong columns.
    """
    alpha, beta = 10.0 ** min(abs(many), 6.0), 10.0 ** min(abs(rarely), 6.0)
    height, width = x.shape[-2], x.shape[-1]
    group = same(x)
    size, passes = group.sum(-1), x.sum(-1)
    overlap = x @ np.swapaxes(x, -1, -2)
    others = 1.0 - group
    inside, outside = (others * overlap).sum(-1), (others * (passes[..., None, :] - overlap)).sum(-1)
    found = log_beta(size + alpha, height - size + 1.0) + log_beta(passes + alpha, width - passes + 1.0)
    found = found + log_beta(inside + 1.0, np.maximum((height - size) * passes - inside, 0.0) + 1.0)
    found = found + log_beta(outside + 1.0, np.maximum((height - size) * (width - passes) - outside, 0.0) + beta)
    weight = np.exp(found - found.max(-1, keepdims=True)) / size
    rest = (others * weight[..., None, :]).sum(-1)
    return np.round(found - found.max(-1, keepdims=True) - np.log(np.maximum(rest, 1e-20)), 9)


def decide(x: Array, values: Array, chances: Array, limit: float) -> Array:
    """For each column: does it accept the rows of highest value, then does it say of the lowest what is likelier (right
    where their chance is above the limit), then the gap."""
    best, worst = top(values), bottom(values)
    right = (chances * worst).sum(-1, keepdims=True) / worst.sum(-1, keepdims=True) > limit - 1e-9
    verdict = accepted(x, worst)
    return then(accepted(x, best), then(np.where(right, verdict, 1.0 - verdict), gap(x, values)))


def tidy(x: Array) -> Array:
    """Finite, and rounded, so that values that differ by rounding errors are ties."""
    return np.round(np.clip(np.nan_to_num(x), -1e9, 1e9), 9)
