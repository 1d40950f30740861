"""evosyn: evolve filtering strategies, synthesize verifiable data, train on it (Du 2025, EvoSyn).

What is public in Python stands in `evosyn.api`, and is loaded when it is first asked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from evosyn.api import cross_execute, load, open_sandbox, rank, reward

__all__ = ["cross_execute", "load", "open_sandbox", "rank", "reward"]
__version__ = "0.1.0"


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'evosyn' has no attribute {name!r}")
    from evosyn import api

    return getattr(api, name)
