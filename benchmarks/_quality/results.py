"""Parts that are done, a file a setting: a line each behind one that says of which protocol they are."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from _quality.protocol import VERSION, Part
from evosyn.errors import UsageError
from evosyn.journal import Journal
from evosyn.records import Json


class Results:
    """Parts of a setting.

    Attributes:
        parts: those that were done when it was opened.

    Raises:
        UsageError: they are of another version.
    """

    def __init__(self, folder: Path, setting: str) -> None:
        self._journal = Journal(folder / f"{setting}.jsonl")
        self.header, self.parts = dict[str, Json](), dict[Part, dict[str, Json]]()
        for at, event in enumerate(self._journal.events()):
            if at:
                self.parts[Part(event.pop("fold"), event.pop("seed"), event.pop("arm"))] = event
            else:
                self.header = event
        if self.header.get("version", VERSION) != VERSION:
            raise UsageError(
                f"{self._journal.path}: is of another version of this benchmark; remove it, and run it again"
            )

    def begin(self, header: Mapping[str, Json]) -> None:
        """
        Raises:
            UsageError: it holds parts of another protocol.
        """
        if not self.header:
            self.header = dict(header)
            self._journal.path.parent.mkdir(parents=True, exist_ok=True)
            self._journal.append(self.header, sync=True)
        if self.header != header:
            raise UsageError(
                f"{self._journal.path}: holds parts of another protocol, {self.header}, not {dict(header)}"
            )

    def add(self, part: Part, found: Mapping[str, Json]) -> None:
        """Keep what was found; whoever reads it opens the file again."""
        self._journal.append({**part._asdict(), **found}, sync=True)
