"""Plays worlds in our own process, a thousand times as often: for tools that evosyn's authors wrote, and for no others.

Text that a model may have written never gets here: a tool whose text is not among those that the caller vouches for is
refused before anything of it is compiled. Benchmarks vouch for the reviewed ones that come with evosyn; the experiment
on worlds also for those of its offices, and for what its simulated author makes of these, which it derives again from
evosyn's own code and not from the files of its run. DESIGN.md section 5; docs/worlds.md.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Sequence
from typing import Any

from evosyn.errors import UsageError
from evosyn.jobs import ItemOutcome, Status
from evosyn.records import Json
from evosyn.worlds.tools.files import bundled, read_world
from evosyn.worlds.tools.playing import Play, Played, Player, played, program
from evosyn.worlds.tools.records import ToolWorld


def reviewed() -> frozenset[str]:
    """The texts of the tools that come with evosyn."""
    return frozenset(tool.source for name in bundled() for tool in read_world(f"builtin:{name}").tools)


class InProcessPlayer(Player):
    """Plays as `Player` does, and leaves the same; nothing guards this process but who vouches for the texts.

    Args:
        sources: texts that may run; never taken from the worlds to play, which would let all of them run.
    """

    def __init__(self, sources: Collection[str]) -> None:
        self._sources = frozenset(sources)
        self._opened: dict[str, Callable[..., list[Json]]] = {}

    def play(self, world: ToolWorld, plays: Sequence[Play]) -> list[Played]:
        """As `Player.play`.

        Raises:
            UsageError: nobody vouches for a tool of the world.
        """
        run, found = self._run_of(world), list[Played]()
        at = 0
        while at < len(plays):
            rows = plays[at].rows
            end = next((one for one in range(at, len(plays)) if plays[one].rows is not rows), len(plays))
            asked = [[list(call) for call in one.calls] for one in plays[at:end]]
            value = json.loads(json.dumps(run(rows, asked, world.clock)))  # as it comes out of another process
            found += played(ItemOutcome(Status.OK, value), rows, end - at)
            at = end
        return found

    def _run_of(self, world: ToolWorld) -> Callable[..., list[Json]]:
        if world.id not in self._opened:
            for tool in world.tools:
                if tool.source not in self._sources:
                    rule = "only tools that evosyn itself wrote, and that were reviewed, run in its own process"
                    raise UsageError(f"the tool {tool.name!r} of {world.name}: {rule}; use the sandbox")
            space: dict[str, Any] = {}
            exec(compile(program(world), f"<{world.name}>", "exec"), space)
            self._opened[world.id] = space["play"]
        return self._opened[world.id]
