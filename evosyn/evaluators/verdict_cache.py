"""Cell results by content key, in memory or in one SQLite file that runs and processes share.

What enters a key is decided by `crossexec`; what is undecided (UNKNOWN, NOT_RUN) is never kept. DESIGN.md section 4.
"""

from __future__ import annotations

import errno
import os
import sqlite3
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from evosyn.errors import UsageError
from evosyn.jobs import CellResult
from evosyn.records import Verdict

UNDECIDED = frozenset({Verdict.UNKNOWN, Verdict.NOT_RUN})
_VERDICTS = {verdict.value: verdict for verdict in Verdict}
_CHUNK = 500
_FULL = ("database or disk is full", "disk I/O error")


class MemoryVerdicts:
    """Implements `ports.VerdictCache` for one process; forgets the oldest beyond `size` cells."""

    def __init__(self, size: int = 200_000) -> None:
        self._size = size
        self._cells: dict[str, CellResult] = {}
        self._lock = threading.Lock()

    def get(self, keys: Sequence[str]) -> list[CellResult | None]:
        return [self._cells.get(key) for key in keys]

    def put(self, items: Sequence[tuple[str, CellResult]]) -> None:
        with self._lock:
            self._cells.update(_decided(items))
            while len(self._cells) > self._size:
                self._cells.pop(next(iter(self._cells)))


class SqliteVerdicts:
    """Implements `ports.VerdictCache` on one file; several processes may use it at once.

    Losing the file costs time, never correctness.
    """

    def __init__(self, path: str | Path) -> None:
        """
        Raises:
            UsageError: the file is not a verdict cache, or cannot be opened.
        """
        self.path = Path(path)
        self._lock = threading.Lock()
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self._errors():
            self._db = sqlite3.connect(self.path, timeout=60.0, check_same_thread=False, isolation_level=None)
            self._db.execute("PRAGMA journal_mode=WAL")
            self._db.execute("PRAGMA synchronous=NORMAL")
            self._db.execute(
                "CREATE TABLE IF NOT EXISTS cells (key TEXT PRIMARY KEY, verdict TEXT NOT NULL, cases TEXT NOT NULL, "
                "seconds REAL NOT NULL, detail TEXT NOT NULL) WITHOUT ROWID"
            )

    def get(self, keys: Sequence[str]) -> list[CellResult | None]:
        found: dict[str, CellResult] = {}
        with self._lock, self._errors():
            for start in range(0, len(keys), _CHUNK):
                chunk = keys[start : start + _CHUNK]
                marks = ",".join("?" * len(chunk))
                rows = self._db.execute(
                    f"SELECT key, verdict, cases, seconds, detail FROM cells WHERE key IN ({marks})", chunk
                )
                for key, verdict, cases, seconds, detail in rows:
                    letters = tuple([_VERDICTS[letter] for letter in cases])
                    found[key] = CellResult(_VERDICTS[verdict], letters, seconds, detail)
        return [found.get(key) for key in keys]

    def put(self, items: Sequence[tuple[str, CellResult]]) -> None:
        rows = [
            (key, cell.verdict.value, "".join(cell.cases), cell.seconds, cell.detail[:200])
            for key, cell in _decided(items)
        ]
        if not rows:
            return
        with self._lock, self._errors():
            self._db.execute("BEGIN IMMEDIATE")
            try:
                self._db.executemany("INSERT OR REPLACE INTO cells VALUES (?, ?, ?, ?, ?)", rows)
            except BaseException:
                self._db.execute("ROLLBACK")
                raise
            self._db.execute("COMMIT")

    def close(self) -> None:
        self._db.close()

    def __enter__(self) -> SqliteVerdicts:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    @contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except (sqlite3.DatabaseError, KeyError) as error:
            if str(error).startswith(_FULL):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(self.path)) from error
            hint = "delete it (only time is lost), or name another file"
            raise UsageError(f"verdict cache {self.path}: cannot be used: {error}; {hint}") from error


def _decided(items: Sequence[tuple[str, CellResult]]) -> list[tuple[str, CellResult]]:
    return [(key, cell) for key, cell in items if cell.verdict not in UNDECIDED and UNDECIDED.isdisjoint(cell.cases)]
