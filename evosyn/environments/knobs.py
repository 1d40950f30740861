"""Variants of an environment that need no model: another table KNOBS, which is what its levels differ in.

A column of numbers is scaled, its steps are stretched, its levels are shifted (the easiest dropped, a harder one
extrapolated, or the reverse), or it is taken from a relative with the same knob. The rest of the text stays as it is,
letter by letter. Whether a variant stands is for the ladder to say. Ours.
"""

from __future__ import annotations

import ast
import random
from collections.abc import Callable, Mapping, Sequence
from typing import TypeGuard

from evosyn.environments.contract import LEVELS, read_environment
from evosyn.parsing import parsed

Column = tuple[float, ...]
TRIES = 8
"""Draws for one variant before there is none."""
LARGEST = 2**53
"""Size up to which numbers are varied; floats count all integers up to there."""


def varied(text: str, relatives: Sequence[str], rng: random.Random, towards: int = 0) -> tuple[str, str] | None:
    """A variant of the text, and the name of what was done; None where the table has no numbers to change.

    Args:
        relatives: texts of other environments.
        towards: 1 for harder ones, -1 for easier ones, 0 for any.
    """
    read = read_environment(text)
    if read.value is None:
        return None
    table = dict(read.value.knobs)
    columns = [name for name, column in table.items() if _is_numeric(column)]
    if not columns:
        return None
    others = [found.value.knobs for found in map(read_environment, relatives) if found.value is not None]
    for _ in range(TRIES):
        name = rng.choice(columns)
        mixed = [column for other in others if _is_numeric(column := other.get(name, ())) and column != table[name]]
        done = rng.choice([*OPERATORS, *(["mix"] if mixed else [])])
        column = rng.choice(mixed) if done == "mix" else OPERATORS[done](table[name], rng, towards)
        column = _like(table[name], column)
        if column != table[name]:
            return _with_knobs(text, {**table, name: column}), f"{done} {name}"
    return None


def _scale(column: Column, rng: random.Random, towards: int) -> Column:
    grows = rng.uniform(1.1, 1.5)
    if (towards or rng.choice((-1, 1))) * _direction(column) < 0:
        grows = 1 / grows
    return tuple(value * grows for value in column)


def _stretch(column: Column, rng: random.Random, towards: int) -> Column:
    """The steps from the first level on are made larger or smaller."""
    factor = rng.uniform(1.2, 1.7) if (towards or rng.choice((-1, 1))) > 0 else rng.uniform(0.5, 0.8)
    return tuple(column[0] + (value - column[0]) * factor for value in column)


def _shift(column: Column, rng: random.Random, towards: int) -> Column:
    if (towards or rng.choice((-1, 1))) > 0:
        return (*column[1:], column[-1] + (column[-1] - column[-2]))
    return (column[0] - (column[1] - column[0]), *column[:-1])


def _spread(column: Column, rng: random.Random, towards: int) -> Column:  # noqa: ARG001
    """One level between the ends is moved towards a neighbour."""
    at, share = rng.randrange(1, LEVELS - 1), rng.uniform(0.2, 0.8)
    moved = column[at - 1] + (column[at + 1] - column[at - 1]) * share
    return (*column[:at], moved, *column[at + 1 :])


OPERATORS: Mapping[str, Callable[[Column, random.Random, int], Column]] = {
    "scale": _scale,
    "stretch": _stretch,
    "shift": _shift,
    "spread": _spread,
}


def _is_numeric(column: Sequence[object]) -> TypeGuard[Column]:
    return len(column) == LEVELS and all(
        isinstance(value, int | float) and type(value) is not bool and abs(value) <= LARGEST for value in column
    )


def _direction(column: Column) -> int:
    """1 where it grows with the level, -1 where it falls."""
    return -1 if column[-1] < column[0] else 1


def _like(before: Column, column: Column) -> Column:
    """Whole numbers where those were; above zero, and monotone, where they were."""
    whole = all(type(value) is int for value in before)
    least = min(before) if min(before) <= 0 else 1 if whole else min(before) / 2
    column = tuple(max(least, value) for value in column)
    column = tuple(round(value) if whole else round(float(value), 4) for value in column)
    if list(before) == sorted(before, reverse=before[-1] < before[0]):
        column = tuple(sorted(column, reverse=before[-1] < before[0]))
    return column


def _with_knobs(text: str, table: Mapping[str, Sequence[object]]) -> str:
    """The text with another table; the last assignment is the one that counts."""
    nodes = [
        node
        for node in parsed(text).body
        if isinstance(node, ast.Assign) and any(isinstance(one, ast.Name) and one.id == "KNOBS" for one in node.targets)
    ]
    lines = text.split("\n")
    start, end = nodes[-1].lineno - 1, nodes[-1].end_lineno or nodes[-1].lineno
    lines[start:end] = [f"KNOBS = { ({name: tuple(column) for name, column in table.items()})!r}"]
    return "\n".join(lines)
