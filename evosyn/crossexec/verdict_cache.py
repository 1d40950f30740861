"""Cell results by content key, in memory or in one SQLite file that runs and processes share.

A key is of all that decides (`VerdictKey`); what is undecided (UNKNOWN, NOT_RUN) is never kept. A row of the file
carries a checksum over its key and its result: a damaged one is as good as none. DESIGN.md section 4.
"""

from __future__ import annotations

import hashlib
import json
import logging
import sqlite3
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from evosyn.crossexec.domain_sources import sources_of
from evosyn.databases import NOT_OURS, disk_errors, own_tables, shows_table
from evosyn.errors import UsageError
from evosyn.jobs import CellResult, Limits, Protection
from evosyn.ports import Domain
from evosyn.records import Problem, Testing, Verdict, canonical_json
from evosyn.sources import deciding_sources

log = logging.getLogger(__name__)

UNDECIDED = frozenset({Verdict.UNKNOWN, Verdict.NOT_RUN})
_VERDICTS = {verdict.value: verdict for verdict in Verdict}
MOST_IN_MEMORY = 200_000
_CHUNK = 500
_SCHEMA = "CREATE TABLE IF NOT EXISTS sealed (key TEXT PRIMARY KEY, cell BLOB NOT NULL) WITHOUT ROWID"
_OWN = {"sealed": ("key", "cell")}
_SUM = 8
"""Bytes of a checksum."""


@dataclass(frozen=True)
class VerdictKey:
    """What the cells of a judge are kept under, equal only where everything is that decides their verdicts: protection
    and limits of what executes them, field by field, and a digest of our code that decides."""

    protection: Protection
    limits: Limits
    sources: str = field(default_factory=deciding_sources)

    def of_problem(self, domain: Domain, problem: Problem, key: str, by: str) -> bytes:
        """What the keys of a problem's cells have in common: the `key` that the domain says of it, what its solutions
        are named `by`."""
        version = getattr(domain, "version", None)
        code = sources_of(type(domain)) if version is None else str(version)
        held = [self.sources, vars(self.protection), vars(self.limits), problem.domain, code, key, by]
        return _digest(canonical_json(held))

    @staticmethod
    def of_cells(head: bytes, name: str, testings: Sequence[Testing]) -> tuple[str, ...]:
        """The keys of one solution: `head` as above, then its name, and the testing of each cell."""
        start = head + _digest(name)
        return tuple([hashlib.sha256(start + testing.id.encode()).hexdigest()[:40] for testing in testings])


class MemoryVerdicts:
    """Implements `ports.VerdictCache` for one process; forgets the oldest beyond `MOST_IN_MEMORY` cells."""

    def __init__(self) -> None:
        self._cells: dict[str, CellResult] = {}
        self._lock = threading.Lock()

    def get(self, keys: Sequence[str]) -> list[CellResult | None]:
        return [self._cells.get(key) for key in keys]

    def put(self, items: Sequence[tuple[str, CellResult]]) -> None:
        with self._lock:
            self._cells.update(_decided(items))
            while len(self._cells) > MOST_IN_MEMORY:
                self._cells.pop(next(iter(self._cells)))


class SqliteVerdicts:
    """Implements `ports.VerdictCache` on one file; several processes may use it at once.

    Losing the file, or any of its rows, costs time, never correctness.

    Attributes:
        damaged: rows whose checksum was wrong when they were read; they count as absent and are written anew.
    """

    def __init__(self, path: str | Path) -> None:
        """
        Raises:
            UsageError: the file is not a verdict cache, holds something else beside, or cannot be opened.
        """
        self.path = Path(path)
        self.damaged = 0
        self._lock = threading.Lock()
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self._errors():
            own_tables(self.path, _OWN, "verdict cache")
            self._db = sqlite3.connect(self.path, timeout=60.0, check_same_thread=False, isolation_level=None)
            self._db.text_factory = bytes  # a damaged text is no error of SQLite's, but a wrong checksum
            self._db.execute("PRAGMA journal_mode=WAL")
            self._db.execute("PRAGMA synchronous=NORMAL")
            self._db.execute(_SCHEMA)

    def get(self, keys: Sequence[str]) -> list[CellResult | None]:
        found: dict[bytes, CellResult] = {}
        damaged = 0
        with self._lock, self._errors():
            for start in range(0, len(keys), _CHUNK):
                chunk = keys[start : start + _CHUNK]
                marks = ",".join("?" * len(chunk))
                for key, sealed in self._db.execute(f"SELECT key, cell FROM sealed WHERE key IN ({marks})", chunk):
                    cell = _opened(key, sealed)
                    if cell is None:
                        damaged += 1
                    else:
                        found[key] = cell
            if damaged and not self.damaged:
                log.warning(
                    "verdict cache %s: rows with a wrong checksum are taken as absent; check the disk", self.path
                )
            self.damaged += damaged
        return [found.get(key.encode()) for key in keys]

    def put(self, items: Sequence[tuple[str, CellResult]]) -> None:
        rows = [(key, _sealed(key, cell)) for key, cell in _decided(items)]
        if not rows:
            return
        with self._lock, self._errors(), self._transaction():
            self._db.executemany("INSERT OR REPLACE INTO sealed VALUES (?, ?)", rows)

    def close(self) -> None:
        self._db.close()

    def __enter__(self) -> SqliteVerdicts:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        self._db.execute("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            if self._db.in_transaction:  # a full disk has ended it already
                self._db.execute("ROLLBACK")
            raise
        self._db.execute("COMMIT")

    @contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            with disk_errors(self.path):
                yield
        except sqlite3.DatabaseError as error:
            ours = shows_table(self.path, _OWN)
            hint = "delete it (only time is lost), or name another file" if ours else NOT_OURS
            raise UsageError(f"verdict cache {self.path}: cannot be used: {error}; {hint}") from error


def _sealed(key: str, cell: CellResult) -> bytes:
    """A result as it stands in the file: checksum, then JSON; digests of values as 16 hexadecimal digits a case."""
    parts = [cell.verdict.value, "".join(cell.cases), cell.seconds, cell.detail[:200]]
    if cell.values:
        parts.append("".join([f"{value:016x}" for value in cell.values]))
    body = json.dumps(parts, separators=(",", ":")).encode()
    return _checksum(key.encode(), body) + body


def _opened(key: object, sealed: object) -> CellResult | None:
    """The reverse of `_sealed`; None where it was changed since, even in its type."""
    if not isinstance(key, bytes) or not isinstance(sealed, bytes) or sealed[:_SUM] != _checksum(key, sealed[_SUM:]):
        return None
    verdict, cases, seconds, detail, *more = json.loads(sealed[_SUM:])
    digits = more[0] if more else ""
    values = tuple([int(digits[at : at + 16], 16) for at in range(0, len(digits), 16)])
    return CellResult(_VERDICTS[verdict], tuple([_VERDICTS[letter] for letter in cases]), seconds, detail, values)


def _digest(text: str) -> bytes:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()[:16]


def _checksum(key: bytes, body: bytes) -> bytes:
    return hashlib.blake2b(body, digest_size=_SUM, key=hashlib.sha256(key).digest()).digest()


def _decided(items: Sequence[tuple[str, CellResult]]) -> list[tuple[str, CellResult]]:
    return [(key, cell) for key, cell in items if cell.verdict not in UNDECIDED and UNDECIDED.isdisjoint(cell.cases)]
