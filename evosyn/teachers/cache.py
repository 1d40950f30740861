"""The reply cache: one SQLite file, keyed by (model, messages, parameters, sample), shared by runs and processes.

It holds what a model answered, whether usable or not, because that was paid for; failures of the transport are never
kept. Keys and rows hold no endpoint, no header and no key of the user. DESIGN.md section 5, "Teacher".
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from evosyn.chat import Reply, Request
from evosyn.codec import dump, load
from evosyn.databases import NOT_OURS, disk_errors, open_to_read, own_tables, shows_table
from evosyn.errors import CorruptRun, FormatError
from evosyn.records import Json, content_id

_SCHEMA = "CREATE TABLE IF NOT EXISTS replies (key TEXT PRIMARY KEY, reply TEXT NOT NULL) WITHOUT ROWID"
_OWN = {"replies": ("key", "reply")}
_WHAT = "replies"


def request_key(model: str, request: Request) -> str:
    """The content id of a request to `model`; the sample index is part of it, so M samples stay M samples."""
    messages = [[message.role, message.content] for message in request.messages]
    schema = [] if request.schema is None else [dict(request.schema)]
    return content_id("r_", [model, messages, dict(request.params), request.sample, *schema])


@dataclass(frozen=True)
class Asked:
    """What a reply answered, without its prompt.

    Attributes:
        problem: content id; "" where a request is about none.
    """

    purpose: str
    problem: str
    sample: int
    params: Mapping[str, Json]

    @classmethod
    def of(cls, request: Request) -> Asked:
        problem = "" if request.problem is None else request.problem.id
        return cls(request.purpose, problem, request.sample, dict(request.params))

    @property
    def address(self) -> tuple[str, str, int]:
        return self.purpose, self.problem, self.sample


@dataclass(frozen=True)
class Kept:
    """A reply, and what it answered: a row of a cache, a line of a recording."""

    reply: Reply
    asked: Asked


class RecordedReplies:
    """Replies by request key, to read alone: neither the file nor its folder is changed.

    Args:
        path: the SQLite file.

    Raises:
        UsageError: it holds tables of something else.
        CorruptRun: it is no file of SQLite, or damaged.
        OSError: the disk fails; `get` too.
    """

    def __init__(self, path: Path) -> None:
        self._path: Path | None = path
        with _damage(path):
            self._empty = not own_tables(path, _OWN, _WHAT)
            self._db = open_to_read(path)
            self._db.text_factory = bytes  # a row that is no text is told with its key

    def get(self, key: str) -> Reply | None:
        """
        Raises:
            CorruptRun: what is kept under the key is no reply that this version can read.
        """
        row = None if self._empty else self._execute("SELECT reply FROM replies WHERE key = ?", (key,)).fetchone()
        return None if row is None else replace(self._read(key, row[0]).reply, cached=True)

    def __iter__(self) -> Iterator[Kept]:
        """
        Raises:
            CorruptRun: as `get`.
        """
        for key, kept in [] if self._empty else self._execute("SELECT key, reply FROM replies ORDER BY key"):
            yield self._read(key.decode(), kept)

    def _read(self, key: str, text: bytes) -> Kept:
        try:
            kept = load(Kept, json.loads(text))
            if kept.reply.id != key:
                raise FormatError("id", "is not that of the request", kept.reply.id)
        except (ValueError, TypeError, RecursionError) as error:
            told = f"{self._path}: the reply under the key {key} is damaged, or of a later version: {error}"
            remedy = "Put back a copy of the file, or remove this row, and the reply is asked and paid for again"
            raise CorruptRun(f"{told}. {remedy}") from error
        return kept

    def __len__(self) -> int:
        return 0 if self._empty else int(self._execute("SELECT count(*) FROM replies").fetchone()[0])

    def close(self) -> None:
        self._db.close()

    def _execute(self, sql: str, values: tuple[str, ...] = ()) -> sqlite3.Cursor:
        with _damage(self._path), disk_errors(self._path):
            return self._db.execute(sql, values)


class ReplyCache(RecordedReplies):
    """Replies by request key, which grow.

    Args:
        path: the SQLite file, made if absent; None keeps the cache in memory.

    Raises:
        UsageError, CorruptRun: as of `RecordedReplies`.
        OSError: the disk is full; `get` and `put` too.
    """

    def __init__(self, path: Path | None = None) -> None:
        if path is not None:
            path.parent.mkdir(parents=True, exist_ok=True)
        self._path, self._empty = path, False
        with _damage(path):
            if path is not None:
                own_tables(path, _OWN, _WHAT)
            self._db = sqlite3.connect(path or ":memory:", timeout=30.0, isolation_level=None, check_same_thread=False)
            try:
                self._db.text_factory = bytes
                self._execute("PRAGMA journal_mode=WAL")
                self._execute("PRAGMA synchronous=NORMAL")
                self._execute(_SCHEMA)
            except sqlite3.DatabaseError:
                self._db.close()
                raise

    def put(self, reply: Reply, request: Request) -> None:
        """Keep a reply under its id; the first one that was kept stays."""
        fields = dump(Kept(replace(reply, cached=False, seconds=0.0), Asked.of(request)))
        self._execute("INSERT OR IGNORE INTO replies VALUES (?, ?)", (reply.id, json.dumps(fields)))


@contextmanager
def _damage(path: Path | None) -> Iterator[None]:
    try:
        yield
    except sqlite3.DatabaseError as error:
        if getattr(error, "sqlite_errorname", "") not in ("SQLITE_NOTADB", "SQLITE_CORRUPT"):
            raise
        told = f"{path}: is damaged, it holds no replies: {error}"
        if not shows_table(path, _OWN):
            raise CorruptRun(f"{told}. Put back a copy; {NOT_OURS}") from error
        raise CorruptRun(f"{told}. Put back a copy, or remove it: what it held is asked for again") from error
