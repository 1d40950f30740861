"""The kind of world `tools`: a session is a state and the calls that wrote to it, played anew for each further call.

So nothing lives between two calls, a killed run goes on as it was, and what a call that was ended has done is gone.
Our own failures lose the session; they are never an outcome of the world. docs/worlds.md; HOUSE words: `ports.worlds`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import NamedTuple

from evosyn.errors import UsageError
from evosyn.jobs import Limits, Status
from evosyn.ports import Sandbox
from evosyn.ports.worlds import Observation
from evosyn.records import Json, canonical_json
from evosyn.worlds.tools.playing import LIMITS, ToolCalled, play_job, played
from evosyn.worlds.tools.records import Rows, ToolWorld, state_id
from evosyn.worlds.tools.users import ASK, ScriptedUser

LONGEST = 4000
"""Characters of a result that an agent sees."""
OK, REJECTED, INVALID = 0, 1, 2
"""Statuses: it worked; a refusal that the tool declares; a call that is none (an unknown tool, wrong arguments)."""
TOOL_FAILED = canonical_json({"error": "tool failed"})


class ToolPlace(NamedTuple):
    """A world to open.

    Attributes:
        shown: the tools that may be called here.
        requests: what the user wants, in sentences; empty where there is no user.
    """

    world: ToolWorld
    state: Rows
    shown: tuple[str, ...]
    requests: tuple[str, ...] = ()


class ToolWorlds:
    """Implements `ports.worlds.WorldKind` for `ToolPlace`; the sandbox stays with its owner."""

    def __init__(self, sandbox: Sandbox, limits: Limits = LIMITS) -> None:
        self._sandbox, self._limits = sandbox, limits

    def open(self, world: ToolPlace) -> ToolSession:
        """See `ports.worlds.WorldKind`; nothing runs before the first call."""
        if not isinstance(world, ToolPlace) or not set(world.shown) <= set(world.world.tool):
            raise UsageError("a tool world is opened as a ToolPlace, and shows tools that it has")
        return ToolSession(self._sandbox, world, self._limits)

    def close(self) -> None:
        pass


class ToolSession:
    """Implements `ports.worlds.Session`; an action is the canonical JSON of `{"tool", "args"}`."""

    def __init__(self, sandbox: Sandbox, place: ToolPlace, limits: Limits = LIMITS) -> None:
        self._sandbox, self._place, self._limits = sandbox, place, limits
        self._rows = place.state
        self._writes: list[ToolCalled] = []
        self._minute = 0
        self._user = ScriptedUser(place.requests) if place.requests else None
        self._closed = False

    def act(self, action: str) -> Observation:
        """See `ports.worlds.Session`."""
        if self._closed:
            raise UsageError("the session is frozen or closed: open another one")
        try:
            call = json.loads(action)
            name, args = str(call["tool"]), dict(call["args"])
        except (ValueError, TypeError, KeyError, RecursionError):
            return _error("an action is {tool, args}", INVALID)
        if name == ASK:
            if self._user is None:
                return _error("there is no user to ask", INVALID)
            return Observation(self._user.answer(str(args.get("message", ""))))
        self._minute += 1
        tool = self._place.world.tool.get(name) if name in self._place.shown else None
        args = tool.fitted(args) if tool else args
        misfit = f"there is no tool {name!r}" if tool is None else tool.misfit(args)
        return _error(misfit, INVALID) if misfit else self._called(ToolCalled(name, args, self._minute))

    def freeze(self) -> str:
        """See `ports.worlds.Session`."""
        if self._closed:
            raise UsageError("the session is frozen or closed: open another one")
        self._closed = True
        return state_id(self._rows)

    def close(self) -> None:
        self._closed = True

    def _called(self, call: ToolCalled) -> Observation:
        place = self._place
        job = play_job(place.world, place.state, [(*self._writes, call)], self._limits)
        ((outcome,),) = self._sandbox.run([job])
        if outcome.status is Status.TIMEOUT:  # once more: a machine that is busy decides nothing
            ((outcome,),) = self._sandbox.run([job])
        if outcome.status in (Status.INFRASTRUCTURE, Status.NOT_RUN):
            return Observation("", None, outcome.seconds, ended="lost")
        (found,) = played(outcome, place.state)
        if found.lost:  # it was ended in the middle of this call: what was before still stands
            return Observation(TOOL_FAILED, None, outcome.seconds, ended="timeout")
        last = found.calls[-1]
        if last.outcome == "failed":
            return Observation(TOOL_FAILED, None, outcome.seconds)
        if last.outcome == "rejected":
            return _error(f"{last.exception}: {last.detail}".rstrip(": "), REJECTED)
        if last.wrote:
            self._writes.append(call)
            self._rows = found.rows
        return Observation(shortened(canonical_json({"ok": last.value})), OK, outcome.seconds)


def shortened(text: str) -> str:
    """A result as an agent sees it."""
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}\n[cut here: the result is too long]"


def action_of(tool: str, args: Mapping[str, Json]) -> str:
    """What `act` takes."""
    return canonical_json({"tool": tool, "args": dict(args)})


def _error(told: str, status: int) -> Observation:
    return Observation(canonical_json({"error": told}), status)
