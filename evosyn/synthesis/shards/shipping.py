"""What a worker journals on its own disk, brought to shared storage as it grows: no reply dies with a machine.

The journal of a shard is made of lines that each stand for themselves, so any number of segments, of any attempts, are
the journal of the shard. A segment is never changed. docs/scale.md.
"""

from __future__ import annotations

import json
import threading
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path

from evosyn.rundir import write_atomic
from evosyn.storage import Storage
from evosyn.synthesis.shards.orders import ShardOrder

REPLIES, PROGRESS = "replies", "progress"
"""Folders of the storage: segments, and what workers say of themselves."""


def restore(file: Path, storage: Storage, order: ShardOrder, before: bytes = b"") -> int:
    """Make the journal of a shard from what any worker brought to storage, and from what this machine has of it.

    Args:
        before: the journal of the phase before; its replies belong to the story of each problem, its items go on.

    Returns:
        How many bytes of it are in storage.
    """
    known = dict.fromkeys(line for line in _lines(before) if json.loads(line[9:])["event"] != "item")
    for name in storage.names(f"{REPLIES}/{order.name}"):
        known |= dict.fromkeys(_lines(storage.read(f"{REPLIES}/{order.name}/{name}") or b""))
    here = dict.fromkeys(_lines(file.read_bytes())) if file.is_file() else {}
    brought = b"".join(known)
    write_atomic(file, brought + b"".join(line for line in here if line not in known))
    return len(brought)


class Shipping:
    """Brings what a journal grows by to storage, from a thread; all of it when the block ends, however it ends.

    Args:
        start: bytes of the journal that are there already.
        every_s: seconds between two segments.
        tell: called as often, and at the beginning and the end.
    """

    def __init__(
        self, storage: Storage, order: ShardOrder, file: Path, start: int, every_s: float, tell: Callable[[], None]
    ) -> None:
        self._storage, self._order, self._file = storage, order, file
        self._at, self._number, self._every_s, self._tell = start, 0, every_s, tell
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._keep_on, daemon=True)

    def __enter__(self) -> Shipping:
        self._tell()
        self._thread.start()
        return self

    def __exit__(self, *exc: object) -> None:
        """
        Raises:
            OSError: the storage does not take it; the journal is still on this disk.
        """
        self._done.set()
        self._thread.join()
        self._ship()
        self._tell()

    def _keep_on(self) -> None:
        while not self._done.wait(self._every_s):
            try:
                self._ship()
                self._tell()
            except OSError:
                continue  # tried again; the last time it is raised

    def _ship(self) -> None:
        with self._file.open("rb") as file:
            file.seek(self._at)
            grown = file.read()
        grown = grown[: grown.rfind(b"\n") + 1]
        if not grown:
            return
        name = f"{REPLIES}/{self._order.name}/{self._order.epoch}-{self._number:06d}.jsonl"
        self._storage.write(name, grown)
        self._at, self._number = self._at + len(grown), self._number + 1


def _lines(data: bytes) -> Iterator[bytes]:
    """The whole lines of a journal."""
    for line in data.splitlines(keepends=True):
        if line.endswith(b"\n") and line[:8] == b"%08x" % zlib.crc32(line[9:-1]):
            yield line
