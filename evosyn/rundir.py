"""A run directory: paths, atomic writes, one writer at a time, and the append-only journal that is the truth of a run.

State is always replay(journal). A torn last line (power cut, kill -9) is dropped; a damaged line before it means that
the directory is corrupt. It knows nothing of what the events mean. DESIGN.md section 4.
"""

from __future__ import annotations

import fcntl
import json
import os
import tempfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import IO

from evosyn.errors import CorruptRun, RunLocked, UsageError
from evosyn.records import Json, canonical_json

SCHEMA = 1


@contextmanager
def replacing(path: Path) -> Iterator[IO[bytes]]:
    """A file to write in place of `path`: a reader, or a crash, sees the old content or the whole new one."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        Path(name).chmod(0o644)
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def write_atomic(path: Path, data: str | bytes) -> None:
    """Write a whole file through `replacing`."""
    raw = data.encode("utf-8", "surrogatepass") if isinstance(data, str) else data
    with replacing(path) as file:
        file.write(raw)


class Journal:
    """An append-only file of JSON events, one a line, each with a checksum.

    Opening for writing cuts a torn last line off. `append` returns after the bytes are with the kernel; `sync` (or
    `append(..., sync=True)`) after they are on the disk, which is what a paid reply deserves.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file: IO[bytes] | None = None

    def events(self) -> Iterator[Json]:
        """Every whole event in order.

        Raises:
            CorruptRun: a line that is not the last one is damaged.
        """
        yield from (event for event, _ in self._read())

    def positions(self) -> Iterator[tuple[int, Json]]:
        """Every whole event with the byte where its line starts, for reading single events again with `at`."""
        start = 0
        for event, end in self._read():
            yield start, event
            start = end

    def at(self, position: int) -> Json:
        """The event whose line starts at `position`."""
        with self.path.open("rb") as file:
            file.seek(position)
            return json.loads(file.readline()[9:-1])

    def append(self, event: Json, *, sync: bool = False) -> int:
        """Add one event (JSON).

        Returns:
            The byte where its line starts.

        Raises:
            OSError: the disk is full or gone; what stood before is untouched.
        """
        body = canonical_json(event).encode("utf-8", "surrogatepass")
        file = self._writer()
        position = file.tell()
        file.write(b"%08x %s\n" % (zlib.crc32(body), body))
        file.flush()
        if sync:
            os.fsync(file.fileno())
        return position

    def sync(self) -> None:
        if self._file is not None:
            self._file.flush()
            os.fsync(self._file.fileno())

    def close(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None

    def _writer(self) -> IO[bytes]:
        if self._file is None:
            end = 0
            for _, after in self._read():
                end = after
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._file = self.path.open("ab")
            self._file.truncate(end)
            self._file.seek(end)
        return self._file

    def _read(self) -> Iterator[tuple[Json, int]]:
        if not self.path.exists():
            return
        size, end = self.path.stat().st_size, 0
        with self.path.open("rb") as file:
            for number, line in enumerate(file, 1):
                start, end = end, end + len(line)
                body = line[9:-1]
                whole = line.endswith(b"\n") and line[:8] == b"%08x" % zlib.crc32(body)
                if whole:
                    yield json.loads(body), end
                elif end == size:
                    return
                else:
                    raise CorruptRun(
                        f"{self.path}:{number}: damaged event at byte {start}; the lines before it are whole. "
                        "Copy them to a new directory, or start again with another --out"
                    )


class RunDir:
    """One run directory: its paths, its lock and its journal.

    Attributes:
        path: the directory.
        journal: `journal.jsonl`.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self.journal = Journal(self.path / "journal.jsonl")
        self._lock: IO[str] | None = None

    def open_for_writing(self) -> RunDir:
        """Make the directory and take its lock, which ends with the process.

        Raises:
            RunLocked: another process writes to it.
            UsageError: the path is a file, or cannot be made.
        """
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            lock = (self.path / ".lock").open("a+")
        except OSError as error:
            raise UsageError(f"--out {self.path}: cannot be used as a run directory: {error.strerror}") from error
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            lock.seek(0)
            owner = lock.read().strip() or "unknown"
            lock.close()
            raise RunLocked(
                f"{self.path}: another process (pid {owner}) writes to this run directory; "
                "wait for it, or choose another --out"
            ) from error
        lock.truncate(0)
        lock.write(str(os.getpid()))
        lock.flush()
        self._lock = lock
        return self

    def close(self) -> None:
        self.journal.close()
        if self._lock is not None:
            self._lock.close()
            self._lock = None

    def __enter__(self) -> RunDir:
        return self.open_for_writing()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def file(self, *parts: str) -> Path:
        return self.path.joinpath(*parts)

    def write(self, name: str, data: str | bytes) -> Path:
        """Write one file of the run atomically and return its path."""
        path = self.file(name)
        write_atomic(path, data)
        return path

    def write_json(self, name: str, value: Json) -> Path:
        """The same, as indented JSON with a schema version."""
        stamped = {"v": SCHEMA, **value} if isinstance(value, dict) else value
        return self.write(name, json.dumps(stamped, indent=2, ensure_ascii=False, allow_nan=False) + "\n")

    def read_json(self, name: str) -> Json:
        """
        Raises:
            UsageError: there is no such file: this is not the kind of directory that was asked for.
            CorruptRun: it is not JSON.
        """
        path = self.file(name)
        try:
            return json.loads(path.read_text(encoding="utf-8"))
        except FileNotFoundError as error:
            raise UsageError(
                f"{self.path}: has no {name}; is it the directory that an evosyn command wrote?"
            ) from error
        except ValueError as error:
            raise CorruptRun(f"{path}: is not JSON: {error}") from error
