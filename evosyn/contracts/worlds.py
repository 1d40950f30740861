"""What every kind of world must keep to: `ports.WorldKind` and `ports.Session`, on harmless actions."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from unittest import SkipTest

from evosyn.contracts.base import ODD_TEXTS, PluginContract
from evosyn.errors import UnavailableError, UsageError
from evosyn.ports import WorldTools
from evosyn.ports.worlds import Observation, Session, WorldKind


class WorldContract(PluginContract):
    """Subclass it, and set `create` and the hooks; a kind that cannot be opened on this machine is skipped.

    Attributes:
        world: one to begin in.
        change: an action that changes it, and ends by itself.
        look: an action that shows what `change` has changed, and changes nothing.
    """

    kind = "worlds"
    world: object = None
    change: str = ""
    look: str = ""
    _folder: Path | None = None

    def tools(self) -> WorldTools:
        """One worker, and a folder for states."""
        return WorldTools(self._folder, 1)

    def test_an_action_is_seen_and_lasts(self) -> None:
        with self._opened() as kind, session_of(kind, self.given("world", "ShellWorld()")) as session:
            before, done = session.act(self.look), session.act(self.given("change", "touch a"))
            after = session.act(self.look)
            assert all(isinstance(one, Observation) for one in (before, done, after)), "act: gives Observations"
            assert done.ended == "" and before.out != after.out, f"act: {before.out!r} and {after.out!r}"

    def test_equal_actions_leave_equal_states_and_others_leave_others(self) -> None:
        with self._opened() as kind:
            states = []
            for actions in ((self.change,), (self.change,), ()):
                with session_of(kind, self.world) as session:
                    for action in actions:
                        session.act(action)
                    states.append(session.freeze())
        assert states[0] == states[1] != states[2], f"freeze: {states}: the id is one of content"
        assert all(state.startswith("st_") for state in states), f"freeze: {states}"

    def test_two_sessions_share_nothing(self) -> None:
        with (
            self._opened() as kind,
            session_of(kind, self.world) as first,
            session_of(kind, self.world) as second,
        ):
            before = second.act(self.look).out
            first.act(self.change)
            assert second.act(self.look).out == before, "open: what is done in one session is seen in another"

    def test_any_action_is_data(self) -> None:
        with self._opened() as kind, session_of(kind, self.world) as session:
            for text in (text for text in ODD_TEXTS if len(text) < 1000):
                found = session.act(text)
                assert isinstance(found, Observation), f"act: {text[:40]!r} gives {found!r}"

    def test_a_frozen_or_closed_session_takes_no_more_actions_and_closes_twice(self) -> None:
        with self._opened() as kind, session_of(kind, self.world) as session:
            session.freeze()
            for refused in (lambda: session.act(self.look), session.freeze):
                try:
                    refused()
                except UsageError:
                    continue
                raise AssertionError("a frozen session takes no more actions")
            session.close()
            session.close()

    @contextmanager
    def _opened(self) -> Iterator[WorldKind[object]]:
        with tempfile.TemporaryDirectory() as folder:
            self._folder = Path(folder)
            try:
                kind: WorldKind[object] = self.make()
            except UnavailableError as error:
                raise SkipTest(str(error)) from error
            try:
                yield kind
            finally:
                kind.close()


@contextmanager
def session_of(kind: WorldKind[object], world: object) -> Iterator[Session]:
    """An open session, closed afterwards."""
    session = kind.open(world)
    try:
        yield session
    finally:
        session.close()
