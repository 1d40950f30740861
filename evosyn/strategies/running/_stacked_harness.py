"""What runs inside the sandbox to score stacks of problems: the lines of each program, on one more axis.

This file is sent to the sandbox as text with the functions of `helpers` below it; nothing of evosyn imports it but
tests. The lines that it executes are those of the program's own `rank`, without the first ones that only name parts of
the evidence: those come computed. DESIGN.md section 5, "Strategy".
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

MOST_BYTES = 64 << 20
"""Values kept because another program may ask for them again."""


def main(_: str, context: Mapping[str, Any], argument: Mapping[str, Any]) -> list[bytes]:
    """Scores of several programs on all stacks.

    Args:
        context: `functions`: names of the functions that programs may call; `stacks`: for each stack its arrays by
            name.
        argument: `bodies`: pairs of the names that a program reads and the lines that compute its scores.

    Returns:
        For each program one float64 array as bytes: stack by stack the scores of all solutions, then of all testings.
    """
    np.seterr(all="ignore")
    bodies = [(names, _compiled(names, lines)) for names, lines in argument["bodies"]]
    found: list[list[bytes]] = [[] for _ in bodies]
    for arrays in context["stacks"]:
        scope = _scope(context["functions"], arrays)
        for (names, code), parts in zip(bodies, found, strict=True):
            exec(code, scope)
            for scores in scope["rank"](*[arrays[name] for name in names]):
                parts.append(np.ascontiguousarray(scores, np.float64).tobytes())
    return [b"".join(parts) for parts in found]


def _compiled(names: Sequence[str], lines: str) -> Any:
    return compile(f"def rank({', '.join(names)}):\n{lines}\n", "<strategy>", "exec", dont_inherit=True)


def _scope(functions: Sequence[str], arrays: Mapping[str, Any]) -> dict[str, Any]:
    """What programs call: numpy, and each function with a memory that lasts for one stack."""
    held: dict[tuple[Any, ...], Any] = {}
    kept = {id(array) for array in arrays.values()}
    room = [MOST_BYTES]

    def remembering(function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any) -> Any:
            key = (function, *[one if isinstance(one, float | int) else id(one) for one in arguments])
            value = held.get(key)
            if value is None:
                value = function(*arguments)
                fixed = all(isinstance(one, float | int) or id(one) in kept for one in arguments)
                if fixed and value.nbytes <= room[0]:
                    room[0] -= value.nbytes
                    held[key] = value
                    kept.add(id(value))
            return value

        return call

    return {"np": np, **{name: remembering(globals()[name]) for name in functions}}
