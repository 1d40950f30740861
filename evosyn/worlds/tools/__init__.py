"""Tool worlds: tools as programs over a database that run only in the sandbox, and tasks that are solvable by
construction (ScaleEnv, 2602.06820). docs/worlds.md says what is promised and what is not."""

from __future__ import annotations

from evosyn.errors import UsageError
from evosyn.ports import PluginConfig, WorldTools
from evosyn.worlds.tools.kind import ToolWorlds


def create(tools: WorldTools, config: PluginConfig) -> ToolWorlds:  # noqa: ARG001
    """The kind of world `tools`.

    Raises:
        UsageError: it is lent no sandbox.
    """
    if tools.sandbox is None:
        raise UsageError("worlds 'tools': needs a sandbox to play in")
    return ToolWorlds(tools.sandbox())
