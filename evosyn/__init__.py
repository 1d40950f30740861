"""evosyn: evolve filtering strategies, synthesize verifiable data, train on it (Du 2025, EvoSyn).

What is public in Python stands in `HOMES`, and is loaded when it is first asked for. docs/api.md.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from evosyn.api import cross_execute, load, open_sandbox, rank, reward
    from evosyn.train.reward_function import compute_score, compute_scores, trl_reward
    from evosyn.train.shell_env import ShellEnv
    from evosyn.train.tool_env import tool_environments

__all__ = [
    "ShellEnv", "compute_score", "compute_scores", "cross_execute", "load", "open_sandbox", "rank", "reward",
    "tool_environments", "trl_reward",
]  # fmt: skip
__version__ = "0.1.0"
HOMES = {
    **dict.fromkeys(("compute_score", "compute_scores", "trl_reward"), "evosyn.train.reward_function"),
    "ShellEnv": "evosyn.train.shell_env",
    "tool_environments": "evosyn.train.tool_env",
}
"""Where a public name lives, if not in `evosyn.api`."""


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'evosyn' has no attribute {name!r}")
    return getattr(import_module(HOMES.get(name, "evosyn.api")), name)
