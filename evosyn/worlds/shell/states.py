"""Frozen states on disk: layers as compressed tars, and what lies over what. Written atomically."""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO

from evosyn.errors import CorruptRun, UsageError


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
        return "st_" + hashlib.sha256(json.dumps([self.image, self.layers, self.first]).encode()).hexdigest()[:32]


class StateStore:
    """A folder of states and layers."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        for name in ("layers", "states", "first"):
            (folder / name).mkdir(parents=True, exist_ok=True)

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
            return
        with (
            tempfile.NamedTemporaryFile(dir=self.folder / "layers", delete=False) as file,
            gzip.GzipFile(fileobj=file, mode="wb", compresslevel=1, filename="", mtime=0) as packed,
        ):
            shutil.copyfileobj(written, packed, 1 << 20)
        os.replace(file.name, self.layer(digest))  # noqa: PTH105

    def put(self, state: ShellState) -> str:
        self._write(self.folder / "states" / state.id, json.dumps(asdict(state)))
        return state.id

    def get(self, state: str) -> ShellState:
        """
        Raises:
            UsageError: there is no such state here.
        """
        try:
            said = json.loads((self.folder / "states" / state).read_text(encoding="utf-8"))
        except OSError as error:
            raise UsageError(f"state {state!r} is not in {self.folder}: it was frozen by another run") from error
        return ShellState(said["image"], tuple(said["layers"]), said["first"])

    def has(self, state: str | None) -> bool:
        return state is not None and (self.folder / "states" / state).is_file()

    def first(self, key: str) -> str | None:
        """What was kept under a key: of a world its first state, of actions in it what they came to."""
        path = self.folder / "first" / key
        return path.read_text(encoding="utf-8") if path.is_file() else None

    def put_first(self, key: str, state: str) -> None:
        self._write(self.folder / "first" / key, state)

    def _write(self, path: Path, text: str) -> None:
        with tempfile.NamedTemporaryFile("w", dir=path.parent, delete=False, encoding="utf-8") as file:
            file.write(text)
        os.replace(file.name, path)  # noqa: PTH105
