"""Moves the numbers in a program that is otherwise left alone: re-tuning for programs outside our grammar.

The text is parsed, never executed; layout and comments stay as they are.
"""

from __future__ import annotations

import ast
import random

from evosyn.parsing import parsed


def retuned_text(text: str, rng: random.Random) -> str | None:
    """`text` with some of its decimal constants moved by some ten per cent, or None where it has none.

    Whole numbers stay: they are axes, counts and indices more often than weights. Numbers in docstrings and strings
    are not touched.
    """
    spots = _spots(text)
    if not spots:
        return None
    moved = [spot for spot in spots if rng.random() < 0.5] or [rng.choice(spots)]
    raw = text.encode("utf-8")
    for start, end, value in sorted(moved, reverse=True):
        new = float(f"{value * rng.lognormvariate(0, 0.3):.3g}")
        raw = raw[:start] + repr(new).encode() + raw[end:]
    return raw.decode("utf-8")


def _spots(text: str) -> list[tuple[int, int, float]]:
    """Byte offsets and values of the decimal constants, tiny guards such as 1e-9 left out."""
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
                found.append(
                    (starts[node.lineno - 1] + node.col_offset, starts[node.lineno - 1] + end_column, node.value)
                )
    return found
