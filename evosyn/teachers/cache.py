"""The reply cache: one SQLite file, keyed by (model, messages, parameters, sample), shared by runs and processes.

It holds what a model answered, whether usable or not, because that was paid for; failures of the transport are never
kept. Keys and rows hold no endpoint, no header and no key of the user. DESIGN.md section 5, "Teacher".
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from evosyn.chat import Reply, Request
from evosyn.codec import load
from evosyn.databases import NOT_OURS, disk_errors, open_to_read, own_tables, shows_table
from evosyn.errors import CorruptRun, FormatError
from evosyn.records import content_id

_SCHEMA = "CREATE TABLE IF NOT EXISTS replies (key TEXT PRIMARY KEY, reply TEXT NOT NULL) WITHOUT ROWID"
_OWN = {"replies": ("key", "reply")}
_WHAT = "replies"
_NOT_KEPT = ("cached", "seconds")


def request_key(model: str, request: Request) -> str:
    """The content id of a request to `model`; the sample index is part of it, so M samples stay M samples."""
    messages = [[message.role, message.content] for message in request.messages]
    schema = [] if request.schema is None else [dict(request.schema)]
    return content_id("r_", [model, messages, dict(request.params), request.sample, *schema])


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
        return None if row is None else self._read(key, row[0])

    def _read(self, key: str, kept: bytes) -> Reply:
        try:
            reply = load(Reply, json.loads(kept))
            if reply.id != key:
                raise FormatError("id", "is not that of the request", reply.id)
        except (ValueError, TypeError, RecursionError) as error:
            told = f"{self._path}: the reply under the key {key} is damaged, or of a later version: {error}"
            remedy = "Put back a copy of the file, or remove this row, and the reply is asked and paid for again"
            raise CorruptRun(f"{told}. {remedy}") from error
        return replace(reply, cached=True)

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

    def put(self, reply: Reply) -> None:
        """Keep a reply under its id; the first one that was kept stays."""
        fields = {name: value for name, value in vars(reply).items() if name not in _NOT_KEPT}
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
