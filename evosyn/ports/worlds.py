"""Worlds: places that an actor acts in. A kind opens them, a session is an open one with one actor in it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Protocol, TypeVar

Ended = Literal["", "timeout", "shell ended", "forged", "lost"]
World = TypeVar("World", contravariant=True)


@dataclass(frozen=True)
class Observation:
    """What an actor sees of an action. A bad action is data: nothing that an action does raises.

    Attributes:
        out: text, cleaned and at most as long as the kind allows.
        exit: status of the action; None where it did not end by itself.
        seconds: that it took.
        truncated: there was more.
        ended: empty where the action ended by itself; else what ended it. `forged`: something else than the world said
            that it was over. `lost`: the place is gone, through our fault or its own, and takes no more actions.
        restarted: the place goes on, but what lived in it from action to action (a shell with its variables) is new.
    """

    out: str
    exit: int | None = 0
    seconds: float = 0.0
    truncated: bool = False
    ended: Ended = ""
    restarted: bool = False


class Session(Protocol):
    """An open place. Used by one thread at a time; closing it twice is allowed."""

    def act(self, action: str) -> Observation:
        """Do something and see what comes of it.

        Raises:
            UsageError: the session is frozen or closed.
        """

    def freeze(self) -> str:
        """End everything that goes on here; the id (`st_...`) of what is left. The same id means the same content.

        Raises:
            UsageError: it is frozen or closed already.
            StateTooLarge: what is left is more than is kept.
            UnavailableError: the place is lost.
        """

    def close(self) -> None:
        """Let go of everything; what is frozen stays."""


class WorldKind(Protocol[World]):
    """Opens places of one kind. May be called from several threads."""

    def open(self, world: World) -> Session:
        """A new session in a world.

        Raises:
            UsageError: the world is not one of this kind, or its first state cannot be made.
            UnavailableError: such places do not work on this machine.
        """

    def close(self) -> None:
        """End all sessions."""
