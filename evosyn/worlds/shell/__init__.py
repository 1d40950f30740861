"""The shell world: Linux systems to work in (rooms), frozen into layers, looked at in throw-away cells over them.

`open_shells` is the way in; the contract is `ports.worlds`. Nothing runs in our process, and nothing is left on the
machine. docs/os-shell.md says what is promised and what is not.
"""

from __future__ import annotations

from pathlib import Path

from evosyn.ports import PluginConfig, WorldTools
from evosyn.worlds.shell.kind import ShellWorlds


def create(tools: WorldTools, config: PluginConfig) -> ShellWorlds:  # noqa: ARG001
    """The kind of world `shell`; as `open_shells`."""
    return open_shells(tools.states, workers=tools.workers)


def open_shells(store: Path | None = None, *, workers: int | None = None) -> ShellWorlds:
    """Open shell worlds; close them, or use them as a context manager.

    Args:
        store: folder for frozen states, shared with other runs; None for one that goes away at the end.
        workers: cells that run at the same time; None for one per core.

    Raises:
        SandboxUnavailable: rooms do not work on this machine; says what lacks.
    """
    return ShellWorlds(store, workers)
