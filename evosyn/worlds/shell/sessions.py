"""An open room as a session: actions are lines for one bash, and what they leave is frozen into a layer."""

from __future__ import annotations

from evosyn.errors import StateTooLarge, UnavailableError, UsageError
from evosyn.ports.worlds import Observation
from evosyn.worlds.shell.keepers import Keepers
from evosyn.worlds.shell.keeping import KeeperProcess
from evosyn.worlds.shell.rooms import Room, RoomLost, RoomRefused
from evosyn.worlds.shell.states import ShellState, StateStore


class ShellSession:
    """`ports.Session` in a room: actions are lines for one bash. Made by `ShellWorlds.open`."""

    def __init__(
        self, keepers: Keepers, keeper: KeeperProcess, room: Room, states: StateStore, begun: ShellState
    ) -> None:
        self._keepers, self._keeper, self._room = keepers, keeper, room
        self._states, self._begun = states, begun
        self._over = ""

    def act(self, action: str, wall_s: float = 20.0) -> Observation:
        """See `ports.Session.act`.

        Args:
            wall_s: after these seconds the command is interrupted, and 2 seconds later ended with its shell.
        """
        self._check()
        try:
            facts, text = self._room.act(action, wall_s)
        except RoomLost as error:
            self._end("lost")
            return Observation(str(error), None, ended="lost")
        return Observation(
            text, facts["exit"], float(facts["seconds"]), bool(facts["truncated"]), facts["ended"],
            bool(facts["restarted"]),
        )  # fmt: skip

    def freeze(self) -> str:
        """See `ports.Session.freeze`."""
        self._check()
        try:
            layer = self._room.freeze()
        except RoomRefused as error:
            self._end("too large to be frozen")
            raise StateTooLarge(str(error)) from error
        except RoomLost as error:
            self._end("lost")
            raise UnavailableError(f"the room was lost before it could be frozen: {error}") from error
        self._over = "frozen"
        begun = self._begun
        return self._states.put(ShellState(begun.image, (*begun.layers, layer), begun.first))

    def close(self) -> None:
        """See `ports.Session.close`."""
        if self._over == "closed":
            return
        if self._over in ("", "frozen"):
            try:
                self._room.close()
                self._keepers.give_back(self._keeper)
            except (RoomLost, KeyError):
                self._keepers.end(self._keeper)
        self._over = "closed"

    def _end(self, why: str) -> None:
        self._over = why
        self._keepers.end(self._keeper)

    def _check(self) -> None:
        if self._over:
            raise UsageError(f"this session is {self._over} and takes no more actions")

    def __enter__(self) -> ShellSession:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()
