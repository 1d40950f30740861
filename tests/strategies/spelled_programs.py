"""Programs in ordinary numpy, drawn at random: many spellings of what has a tree, and of what only nearly has one."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence

HEAD = "import numpy as np\n\n\ndef rank(evidence):\n"
PASSED = ("", ".astype(float)", ".astype(int)", " * 1.0")
ACCEPTED = (
    "p.sum(axis=0)",
    "b.sum(0)",
    "np.sum(b, axis=0)",
    "p.sum(axis=-2)",
    "np.ones(len(b)) @ p",
    "b.T.sum(axis=1)",
)
REJECTED = ("len(p) - acc", "(~b).sum(axis=0)", "(1 - b).sum(axis=0)", "p.shape[0] - acc")
COUNTS = ("p.sum(axis=1)", "b.sum(axis=-1)", "p.mean(axis=1)", "b.mean(1)")
CONSTANTS = ("0.25", "0.5", "2", "3", "1", "0.1", "-1", "1e-9", "100", "0", "0.001")
MATRICES = ("p", "b", "(1 - p)", "~b", "(1.0 - b)", "np.asarray(b, dtype=float)")
CONDITIONS = (
    *("(acc > 0)", "(acc >= 1)", "(rej > 0)", "(acc < len(p))", "(acc == len(p))", "(acc == 0)", "~(acc > 0)"),
    *("b.any(axis=0)", "b.all(axis=0)", "((acc > 0) & (rej > 0))", "((acc == 0) | (rej == 0))", "(acc != 0)"),
    *("(acc > 1)", "(1 > acc)", "np.logical_and(acc > 0, rej >= 1)", "(b.mean(axis=0) > 0)", "(b.mean(axis=0) == 1.0)"),
)
LEAVES = {
    "M": (
        *("count", "count", "same.sum(axis=1)", "like.mean(axis=1)", "checks.mean(axis=1)", "checks.sum(axis=1)"),
        *("b.sum(1)", "evidence.copies"),
    ),
    "N": ("acc", "rej", "b.mean(axis=0)", "acc / len(p)"),
}
EITHER = (
    *("({0} + {0})", "({0} - {0})", "({0} * {0})", "({0} * {s})", "({0} + {s})", "({s} - {0})", "({0} / {s})"),
    *(
        "({0} / {0})",
        "{0} ** 2",
        "{0} ** 0.5",
        "{0} ** 3",
        "{0} ** 1.5",
        "np.log({0})",
        "np.log1p({0})",
        "np.sqrt({0})",
    ),
    *("np.minimum({0}, {0})", "np.maximum({0}, {0})", "np.maximum({0}, {c})", "np.clip({0}, 0, None)"),
    *("np.clip({0}, 1, 1e9)", "np.round({0}, 9)", "np.round({0}, 6)", "np.nan_to_num({0})", "-{0}", "(1 - {0})"),
)
OF_SOLUTIONS = (
    *("({x} @ {n})", "({x} * {n}).sum(axis=1)", "(same @ {m})", "(same * {m}).sum(axis=1) / same.sum(axis=1)"),
    *("(same.sum(axis=1) * {m})", "({x} @ {n} / np.maximum(p.sum(axis=1), 1))", "like.sum(axis=1)"),
    *("({x} * {m}[:, None]).sum(axis=1)", "((p @ p.T + (1 - p) @ (1 - p).T) / p.shape[1]).mean(axis=1)"),
    "(b[:, :, None] == b[:, None, :]).all(axis=0).sum(axis=1) @ p.T",
)
OF_TESTINGS = (
    *("({m} @ {x})", "({x}.T @ {m})", "({x} * {m}[:, None]).sum(axis=0)", "({m} @ p / np.maximum(acc, {g}))"),
    "({m} @ b / np.maximum(acc, 1) - ({m}.sum() - {m} @ b) / np.maximum(rej, 1))",
    "({m} @ p / np.maximum(acc, 1) - {m} @ (1 - p) / np.maximum(rej, 1))",
    "np.where({t}, {m} @ p / np.maximum(acc, 1) - ({m}.sum() - {m} @ p) / np.maximum(rej, 1), {f})",
    "(np.where(acc > 0, {m} @ p / acc, 0.0) - np.where(rej > 0, {m} @ (1 - p) / rej, 0.0))",
    "np.where({t}, {m} @ p / acc, {f})",
    "(({m} @ p - acc) / np.maximum(acc, 1) - ({m}.sum() - {m} @ p) / np.maximum(rej, 1))",
    *("np.where({t}, {n}, {n})", "np.where({t}, {n}, {c})", "np.where({t}, {n}, {f})"),
    *("{m} @ p / np.where(acc > 0, acc, 1)", "np.nan_to_num({m} @ p / acc)", "1 / np.maximum(acc, 1)", "{t} * {n}"),
    "np.divide({m} @ p, acc, out=np.zeros(p.shape[1]), where=acc > 0)",
    *("b[{m} == {m}.max()].mean(axis=0)", "(1 - b[{m} >= {m}.max()].mean(axis=0))", "b[{m} == {m}.min()].mean(axis=0)"),
)
SCALARS = ("{m}.sum()", "{m}.max()", "{n}.mean()", "{n}.min()", "{c}", "({s} + {s})", "max({s}, 1)", "({s} + 1e-9)")
OWN = {
    "M": (
        *("spread({m})", "place({m})", "top({m})", "then({m}, {m})", "crown({m}, {m})", "power({m}, 2)", "latent(p)"),
        *("vote(p, {n})", "ratio({m}, {m})", "power({m}, 0.5)", "logarithm({m})", "smooth(alike(p), {m})", "tidy({m})"),
        *(
            "standard({m})",
            "at_least({m}, 0.5)",
            "half({m})",
            "bayes(p, 1.0, 2.0)",
            "row_gap(p, {n})",
            "fade({m}, 1.0)",
        ),
        *("rare(p).sum(axis=1)", "({m} * 2 + 1)", "({m} * {m})"),
    ),
    "N": (
        *(
            "gap(p, {m})",
            "accepted(p, {m})",
            "follow(p, {m})",
            "decide(p, {m}, {m}, 0.4)",
            "then({n}, {n})",
            "tidy({n})",
        ),
        *("fair_gap(p)", "some(p)", "choosy(p)", "({m} @ p / np.maximum(acc, 1))", "gap(turned(turned(p)), {m})"),
        *("1.0 / equals(evidence.testing_groups).sum(axis=1)", "np.where({t}, {n}, -1)", "({n} - {n})"),
    ),
}


class _Spelling:
    def __init__(self, rng: random.Random, own: bool) -> None:
        self._rng, self._own = rng, own

    def filled(self, templates: Sequence[str], kind: str, depth: int) -> str:
        same = self.vector("M", depth - 1)  # what is repeated in a template is one value
        parts = {
            "m": lambda: same,
            "n": lambda: self.vector("N", depth - 1),
            "0": lambda: self.vector(kind, depth - 1),
            "s": lambda: self.filled(SCALARS, kind, depth - 1) if depth > 0 else "len(p)",
            "c": lambda: self._rng.choice(CONSTANTS),
            "x": lambda: self._rng.choice(MATRICES),
            "t": lambda: self._rng.choice(CONDITIONS),
            "g": lambda: self._rng.choice(("1", "1", "1e-9", "2")),
            "f": lambda: self._rng.choice(("0", "0.0", "-1", "-1.0", "-1e9", "-1e6", "1e9", "2")),
        }
        return re.sub(r"\{(\w)\}", lambda found: parts[found[1]](), self._rng.choice(templates))

    def vector(self, kind: str, depth: int) -> str:
        if depth <= 0:
            return self._rng.choice(LEAVES[kind])
        if self._own and self._rng.random() < 0.7:
            return self.filled(OWN[kind], kind, depth)
        special = OF_SOLUTIONS if kind == "M" else OF_TESTINGS
        return self.filled(special if self._rng.random() < 0.6 else EITHER, kind, depth)


def spelled(rng: random.Random, *, own: bool = False) -> str:
    """A program.

    Args:
        own: it may call functions of the grammar, which are not written out.
    """
    spelling = _Spelling(rng, own)
    lines = [
        f"p = evidence.passed{rng.choice(PASSED)}",
        "b = evidence.passed",
        f"acc = {rng.choice(ACCEPTED)}",
        f"rej = {rng.choice(REJECTED)}",
        f"count = {rng.choice(COUNTS)}",
        "same = (b[:, None, :] == b[None, :, :]).all(axis=2)",
        "like = (b[:, None, :] == b[None, :, :]).mean(axis=2)",
        "checks = np.concatenate(evidence.cases, axis=1)",
        f"score = {spelling.vector('M', rng.randint(0, 3))}",
    ]
    testings = spelling.vector("N", rng.randint(1, 3))
    if rng.random() < 0.6:
        testings = re.sub(r"\bcount\b", "score", testings)
    text = HEAD + "".join(f"    {line}\n" for line in lines) + f"    return score, {testings}\n"
    return text.replace("same", "groups") if own else text
