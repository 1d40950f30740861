"""Frozen states on disk: layers as compressed tars, and what lies over what. Written atomically, within a bound.

A state that is no longer here is made again from what was done; so those that nobody used for longest may go.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import shutil
import socket
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO

from evosyn.errors import CorruptRun, UsageError
from evosyn.sandbox import _owners

RULES = 2
"""Of what decides the name of a state; raised with each change. States of other rules are made again."""
MOST_BYTES = 8 << 30
"""Of layers in a folder."""
IN_USE_S = 900.0
"""A layer that was asked for within these seconds stays."""
FOLDER, WRITTEN = "evosyn-states-", "tmp."


@dataclass(frozen=True)
class ShellState:
    """What lies over what.

    Attributes:
        image: digest of the image.
        layers: digests, lowest first.
        first: how many of them made the world before anybody worked in it.
    """

    image: str
    layers: tuple[str, ...]
    first: int

    @property
    def id(self) -> str:
        """The same for the same content."""
        return (
            "st_" + hashlib.sha256(json.dumps([RULES, self.image, self.layers, self.first]).encode()).hexdigest()[:32]
        )


class StateStore:
    """A folder of states and layers, which several processes may share.

    Args:
        most_bytes: of layers that are kept, but for those in use.
    """

    def __init__(self, folder: Path, most_bytes: int = MOST_BYTES) -> None:
        self.folder, self._most = folder, most_bytes
        self._lock = threading.Lock()
        self._there = most_bytes  # of layers, when they were last counted, and what was written since
        for name in ("layers", "states", "first"):
            (folder / name).mkdir(parents=True, exist_ok=True)
            for path in (folder / name).glob(f"{WRITTEN}*"):
                if _is_left(path, WRITTEN):
                    path.unlink(missing_ok=True)

    def layer(self, digest: str) -> Path:
        return self.folder / "layers" / f"{digest}.tar.gz"

    @contextmanager
    def layer_file(self, digest: str) -> Iterator[IO[bytes]]:
        """A layer to be read.

        Raises:
            CorruptRun: it is not there.
        """
        try:
            with self.layer(digest).open("rb") as file:
                yield file
        except FileNotFoundError as error:
            raise CorruptRun(f"{self.layer(digest)}: a state needs this layer, and it is gone") from error

    def keep(self, written: IO[bytes], digest: str) -> None:
        """Store a tar under its digest."""
        written.seek(0)
        if self.layer(digest).is_file():
            self._touch(digest)
            return
        with (
            tempfile.NamedTemporaryFile(dir=self.folder / "layers", prefix=WRITTEN + _mine(), delete=False) as file,
            gzip.GzipFile(fileobj=file, mode="wb", compresslevel=1, filename="", mtime=0) as packed,
        ):
            shutil.copyfileobj(written, packed, 1 << 20)
        os.replace(file.name, self.layer(digest))  # noqa: PTH105
        with self._lock:
            self._there += self.layer(digest).stat().st_size
            if self._there > self._most:
                self._there = self._evict() + self._most // 16  # which others may write until the next time

    def _evict(self) -> int:
        """Take away layers, longest unused first, until a quarter of the bound is free: the bytes that stay."""
        found = []
        for entry in os.scandir(self.folder / "layers"):
            with suppress(FileNotFoundError):
                seen = entry.stat()
                found.append((seen.st_mtime, seen.st_size, entry.path))
        left = sum(size for _, size, _ in found)
        least = self._most * 3 // 4 if left > self._most else left
        for used, size, path in sorted(found):
            if left <= least or used > time.time() - IN_USE_S:
                break
            with suppress(FileNotFoundError):
                os.unlink(path)  # noqa: PTH108
            left -= size
        return left

    def _touch(self, digest: str) -> None:
        with suppress(FileNotFoundError):
            os.utime(self.layer(digest))

    def put(self, state: ShellState) -> str:
        self._write(self.folder / "states" / state.id, json.dumps({"v": RULES, **asdict(state)}))
        return state.id

    def get(self, state: str) -> ShellState:
        """
        Raises:
            UsageError: there is no such state here.
        """
        found = self._read(state)
        if found is None:
            raise UsageError(f"state {state!r} is not in {self.folder}: it was frozen by another run, or long ago")
        for digest in found.layers:
            self._touch(digest)
        return found

    def has(self, state: str | None) -> bool:
        """Whether a state is here with all that it needs, and means what it means today."""
        return state is not None and self._read(state) is not None

    def _read(self, state: str) -> ShellState | None:
        try:
            said = json.loads((self.folder / "states" / state).read_text(encoding="utf-8"))
        except OSError:
            return None
        found = ShellState(said["image"], tuple(said["layers"]), said["first"])
        here = said.get("v") == RULES and all(self.layer(digest).is_file() for digest in found.layers)
        return found if here else None

    def first(self, key: str) -> str | None:
        """What was kept under a key: of a world its first state, of actions in it what they came to."""
        path = self.folder / "first" / key
        return path.read_text(encoding="utf-8") if path.is_file() else None

    def put_first(self, key: str, state: str) -> None:
        self._write(self.folder / "first" / key, state)

    def _write(self, path: Path, text: str) -> None:
        with tempfile.NamedTemporaryFile(
            "w", dir=path.parent, prefix=WRITTEN + _mine(), delete=False, encoding="utf-8"
        ) as file:
            file.write(text)
        os.replace(file.name, path)  # noqa: PTH105


def _mine() -> str:
    """How names begin that somebody has to take away: whose they are."""
    return f"{socket.gethostname()}.{_owners.me()}."


def _is_left(path: Path, prefix: str) -> bool:
    """Whether a name of `_mine` is that of a process of this machine that has ended."""
    host, _, owner = path.name.removeprefix(prefix).rpartition(".")[0].rpartition(".")
    return host == socket.gethostname() and not _owners.is_alive(owner)


@contextmanager
def passing_folder() -> Iterator[Path]:
    """A folder for states that go with the process; those of processes that were killed go first."""
    for path in Path(tempfile.gettempdir()).glob(f"{FOLDER}*"):
        if _is_left(path, FOLDER):
            shutil.rmtree(path, ignore_errors=True)
    with tempfile.TemporaryDirectory(prefix=FOLDER + _mine()) as folder:
        yield Path(folder)
