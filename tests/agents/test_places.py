"""Where an episode takes place: a room that is lost is rebuilt, wherever that happens, and twice is enough."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from evosyn.agents.place import EpisodePlace, RoomGone
from evosyn.agents.turns import TurnJournal
from evosyn.errors import UnavailableError
from evosyn.ports.worlds import Observation


class Frail:
    """A room that is lost at one of its acts; what it freezes to is all that was done in it."""

    def __init__(self, lost_at: str) -> None:
        self._lost_at, self._done = lost_at, list[str]()

    def act(self, action: str, wall_s: float = 20.0) -> Observation:  # noqa: ARG002
        if action == self._lost_at:
            return Observation("gone", None, ended="lost")
        self._done.append(action)
        return Observation(f"did {action}", 0)

    def freeze(self) -> str:
        if self._lost_at == "freeze":
            raise UnavailableError("gone")
        return " ".join(self._done)

    def close(self) -> None:
        pass


def place(*lost_at: str) -> EpisodePlace:
    """Each room that is opened is lost at the next of these, the last ones at nothing."""
    rooms: Iterator[str] = iter((*lost_at, *[""] * 9))
    return EpisodePlace(lambda: Frail(next(rooms)), lambda _: True, TurnJournal(), "e")


@pytest.mark.parametrize("lost_at", [("a",), ("b",), ("freeze",), ("b", ""), ("freeze", "")])
def test_an_episode_goes_on_in_another_room_where_its_own_was_lost(lost_at: tuple[str, ...]) -> None:
    at = place(*lost_at)
    assert [at.act("a").out, at.act("b").out, at.freeze()] == ["did a", "did b", "a b"]


@pytest.mark.parametrize("lost_at", [("b", "a"), ("b", "b"), ("freeze", "a"), ("freeze", "freeze")])
def test_a_room_that_is_lost_again_ends_the_episode_and_not_the_run(lost_at: tuple[str, ...]) -> None:
    at = place(*lost_at)
    at.act("a")
    with pytest.raises(RoomGone):
        at.act("b")
        at.freeze()
