"""What a room said to each command of each episode, on disk: a killed run shows its models the same again.

So the next request has the messages of before, its reply is known, and nothing is paid twice. docs/os-shell.md.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from pathlib import Path

from evosyn.journal import Journal
from evosyn.records import Json, content_id


class TurnJournal:
    """May be used from several threads.

    Args:
        path: None keeps them in memory only.
    """

    def __init__(self, path: Path | None = None) -> None:
        self._journal = None if path is None else Journal(path)
        self._known: dict[str, Json] = {}
        self._lock = threading.Lock()
        if self._journal is not None and self._journal.path.is_file():
            self._known = {key: value for key, value in self._journal.events()}  # noqa: C416 - pairs in lists

    def get(self, episode: str, actions: Sequence[str], what: str = "act") -> Json | None:
        """What came of the last of these actions, or of freezing after them."""
        return self._known.get(_key(episode, actions, what))

    def put(self, episode: str, actions: Sequence[str], value: Json, what: str = "act") -> None:
        key = _key(episode, actions, what)
        with self._lock:
            self._known[key] = value
            if self._journal is not None:
                self._journal.append([key, value])


def _key(episode: str, actions: Sequence[str], what: str) -> str:
    return content_id("a_", [episode, list(actions), what])
