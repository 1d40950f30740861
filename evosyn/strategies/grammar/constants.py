"""Moves the numbers in a program that is otherwise left alone: re-tuning for programs outside our grammar.

The text is parsed, never executed; layout and comments stay as they are. Whole numbers stay: they are axes, counts and
indices more often than weights. Numbers in docstrings and strings are not touched.
"""

from __future__ import annotations

import ast
import random
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from evosyn.parsing import parsed


class _Spot(NamedTuple):
    """A decimal constant: byte offsets and value."""

    start: int
    end: int
    value: float


def retuned_text(text: str, rng: random.Random) -> str | None:
    """`text` with some of its decimal constants moved by some ten per cent, or None where it has none."""
    spots = _spots(text)
    if not spots:
        return None
    moved = [spot for spot in spots if rng.random() < 0.5] or [rng.choice(spots)]
    return _with(text, [(spot, spot.value * rng.lognormvariate(0, 0.3)) for spot in sorted(moved, reverse=True)])


def each_moved(text: str, factors: Sequence[float]) -> Iterator[str]:
    """`text` with one decimal constant times one of these factors, for each of both."""
    return (_with(text, [(spot, spot.value * factor)]) for spot in _spots(text) for factor in factors)


def _with(text: str, moves: Sequence[tuple[_Spot, float]]) -> str:
    """The text with new values, the last place first."""
    raw = text.encode("utf-8")
    for spot, value in moves:
        raw = raw[: spot.start] + repr(float(f"{value:.3g}")).encode() + raw[spot.end :]
    return raw.decode("utf-8")


def _spots(text: str) -> list[_Spot]:
    """The decimal constants, tiny guards such as 1e-9 left out."""
    try:
        tree = parsed(text)
        raw_lines = text.encode("utf-8").splitlines(keepends=True)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []
    starts = [0]
    for line in raw_lines:
        starts.append(starts[-1] + len(line))
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, float) and 1e-3 <= node.value <= 1e3:
            end_line, end_column = node.end_lineno, node.end_col_offset
            if end_line == node.lineno and end_column is not None:
                start = starts[node.lineno - 1]
                found.append(_Spot(start + node.col_offset, start + end_column, node.value))
    return found
