"""The room of one episode, opened when a command has to run that no earlier process has run."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import NamedTuple, TypeVar

from evosyn.agents.dialects import cut
from evosyn.agents.turns import TurnJournal
from evosyn.errors import SandboxUnavailable, StateTooLarge, UnavailableError
from evosyn.ports.worlds import Observation, Session

Done = TypeVar("Done")
log = logging.getLogger(__name__)
SAID = {
    "timeout": "\n[the command was over its time and was ended]",
    "shell ended": "\n[the shell ended; here is a new one]",
    "forged": "\n[something else than the shell said that the command was over]",
}


class RoomGone(Exception):
    """The room was lost, twice."""


class SeenOutput(NamedTuple):
    """What an agent sees of a command, and its exit status."""

    out: str
    status: int | None


class EpisodePlace:
    """Blocks; used by one thread at a time.

    Args:
        opened: a new room in the episode's world.
        episode: names the episode among all of the run.
        kept: whether a frozen state is still there.
        shown: what of an output is shown.

    Attributes:
        drifted: what was done again to rebuild a room showed something else than the first time.
    """

    def __init__(
        self,
        opened: Callable[[], Session],
        kept: Callable[[str], bool],
        turns: TurnJournal,
        episode: str,
        shown: Callable[[str], str] = cut,
    ) -> None:
        self._opened, self._kept, self._turns, self._episode, self._shown = opened, kept, turns, episode, shown
        self._room: Session | None = None
        self._done: list[str] = []
        self.drifted = False

    def act(self, script: str) -> SeenOutput:
        """
        Raises:
            RoomGone: there is no room to be had for these commands.
        """
        known = self._turns.get(self._episode, [*self._done, script])
        if known is None or self._room is not None:
            known = self._fresh(script)
            self._turns.put(self._episode, [*self._done, script], known)
        self._done.append(script)
        return SeenOutput(*known)

    def freeze(self) -> str | None:
        """The id of what is left; None where it is more than can be kept.

        Raises:
            RoomGone: as `act`.
        """
        known = self._turns.get(self._episode, self._done, "freeze")
        if known is not None and self._kept(known):
            return str(known)
        try:
            state = self._twice(lambda room: room.freeze())
        except StateTooLarge:
            return None
        self._turns.put(self._episode, self._done, state, "freeze")
        return state

    def close(self) -> None:
        if self._room is not None:
            self._room.close()
            self._room = None

    def _fresh(self, script: str) -> list[object]:
        def act(room: Session) -> list[object]:
            seen = _told(room.act(script))
            return [self._shown(seen.out.rstrip("\n")) + SAID.get(seen.ended, ""), seen.exit]

        return self._twice(act)

    def _twice(self, work: Callable[[Session], Done]) -> Done:
        """Do something in the room, and once more in another one where that was lost.

        Raises:
            RoomGone: it was lost again.
        """
        why = ""
        for _ in range(2):
            try:
                return work(self._rebuilt())
            except SandboxUnavailable:
                raise
            except UnavailableError as error:
                why = str(error)
                self.close()
        raise RoomGone(why)

    def _rebuilt(self) -> Session:
        """The room as it is after all that was done."""
        if self._room is None:
            self._room = self._opened()
            for count, script in enumerate(self._done, 1):
                seen = _told(self._room.act(script))
                before = self._turns.get(self._episode, self._done[:count])
                again = self._shown(seen.out.rstrip("\n")) + SAID.get(seen.ended, "")
                self.drifted = self.drifted or before is None or before[0] != again
        return self._room


def _told(seen: Observation) -> Observation:
    """
    Raises:
        UnavailableError: there is nothing to tell, since the room was lost.
    """
    if seen.ended == "lost":
        raise UnavailableError(seen.out)
    return seen
