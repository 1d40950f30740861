"""What runs inside the sandbox to score stacks of problems: the steps of programs, on one more axis.

This file is sent to the sandbox as text with `STEPS` and the functions of the grammar below it; nothing of evosyn
imports it but tests. A step is an operation of a program's own `rank`, without the first lines that only name parts of
the evidence: those come computed. DESIGN.md section 5, "Strategy".
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

MOST_BYTES = 64 << 20
"""Values kept because another program asks for them again."""


def main(_: str, context: Mapping[str, Any], argument: Mapping[str, Any]) -> list[bytes]:
    """Scores of several programs on all stacks.

    Args:
        context: `stacks`: for each stack its arrays by name.
        argument: `steps`: operation and arguments of each (numbers of earlier steps, constants, names of arrays);
            `programs`: for each the steps that it needs, ascending, and its two scores.

    Returns:
        For each program one float64 array as bytes: stack by stack the scores of all solutions, then of all testings.
    """
    np.seterr(all="ignore")
    programs = argument["programs"]
    last = {step: number for number, (needs, _) in enumerate(programs) for step in needs}
    found: list[list[bytes]] = [[] for _ in programs]
    for arrays in context["stacks"]:
        held: dict[int, Any] = {}
        room = MOST_BYTES
        for number, (needs, scores) in enumerate(programs):
            values = _values(argument["steps"], needs, scores, arrays, held)
            found[number] += [np.ascontiguousarray(values[step], np.float64).tobytes() for step in scores]
            for step in needs:
                if last[step] == number and step in held:
                    room += held.pop(step).nbytes
                elif last[step] > number and step in values and step not in held and values[step].nbytes <= room:
                    held[step] = values[step]
                    room -= held[step].nbytes
    return [b"".join(parts) for parts in found]


def _values(
    steps: Sequence[tuple[str, Sequence[Any]]],
    needs: Sequence[int],
    scores: Sequence[int],
    arrays: Mapping[str, Any],
    held: Mapping[int, Any],
) -> dict[int, Any]:
    """Values of those steps of one program that its scores take, but for what stands behind what is held."""
    wanted = set(scores)
    for step in reversed(needs):
        if step in wanted and step not in held:
            wanted.update(one for one in steps[step][1] if type(one) is int)
    values: dict[int, Any] = {}
    for step in needs:
        if step in held:
            values[step] = held[step]
        elif step in wanted:
            op, arguments = steps[step]
            values[step] = STEPS[op](  # type: ignore[name-defined]  # noqa: F821
                *[values[one] if type(one) is int else arrays[one] if type(one) is str else one for one in arguments]
            )
    return values
