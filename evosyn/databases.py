"""Files of SQLite: what the disk did to one is told as the system tells it of any other file, and one that holds tables
of something else is left as it is. DESIGN.md section 4.
"""

from __future__ import annotations

import errno
import os
import sqlite3
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path
from typing import TypeAlias

from evosyn.errors import UsageError

_FULL = ("SQLITE_FULL", "SQLITE_IOERR_SHMSIZE")
_FAILED = "SQLITE_IOERR"
_TABLES = "SELECT name, type FROM sqlite_master WHERE type IN ('table', 'view') AND substr(name, 1, 7) != 'sqlite_'"
_COLUMNS = "SELECT name FROM pragma_table_info(?)"
NOT_OURS = "it shows no table of evosyn and is left as it is: move it away, or name another file"
"""What to do about a file that may be the user's own."""
ROOM = 64 * 1024
"""Bytes that a disk with room takes."""
HEAD = 64 * 1024
"""Bytes that hold the first page, where the tables are named: as large as a page may be."""
Tables: TypeAlias = Mapping[str, tuple[str, ...]]
"""The columns of each table, by name."""


def open_to_read(path: Path) -> sqlite3.Connection:
    """A file that is there, to read; neither it nor its folder is changed, unless another process is writing to it."""
    written = path.with_name(f"{path.name}-wal").exists()
    address = f"{path.absolute().as_uri()}?{'mode=ro' if written else 'immutable=1'}"
    return sqlite3.connect(address, uri=True, timeout=30.0, isolation_level=None, check_same_thread=False)


def own_tables(path: Path, own: Tables, what: str) -> Tables:
    """The tables of a file, all of which are ours; none where there is no file, or an empty one. Nothing is written.

    Args:
        own: the tables that are ours.
        what: the file is called in messages.

    Raises:
        UsageError: it holds something else.
        sqlite3.DatabaseError: it is no file of SQLite, or damaged.
    """
    if not path.is_file():
        return {}
    try:
        kinds, held = _tables(path, own)
    except UnicodeDecodeError as error:  # of the message in which SQLite shows a damaged schema
        told = "is damaged, its list of tables is no text; put back a copy, or name another file"
        raise UsageError(f"{what} {path}: {told}") from error
    others = [name for name, kind in kinds.items() if kind != "table" or held.get(name, ()) != own.get(name)]
    if others:
        shown = ", ".join(others[:3]) + (f" and {len(others) - 3} more" if len(others) > 3 else "")
        raise UsageError(
            f"{what} {path}: holds tables of something else ({shown}) and is left as it is; name another file"
        )
    return held


def _tables(path: Path, own: Tables) -> tuple[dict[str, str], Tables]:
    """The kind of all tables and views of a file, and the columns of those that are named as ours."""
    with closing(open_to_read(path)) as db:
        db.text_factory = partial(str, encoding="utf-8", errors="replace")  # a damaged name is one of something else
        kinds = dict(db.execute(_TABLES).fetchall())
        return kinds, {name: tuple(one for (one,) in db.execute(_COLUMNS, (name,))) for name in own if name in kinds}


def shows_table(path: Path | None, own: Tables) -> bool:
    """Whether a file, which may be damaged, shows at its head that it is one of SQLite with one of these tables."""
    if path is None:
        return False
    try:
        with path.open("rb") as file:
            head = file.read(HEAD)
    except OSError:
        return False
    return head.startswith(b"SQLite format 3\0") and any(f"TABLE {name}".encode() in head for name in own)


@contextmanager
def disk_errors(path: Path | None) -> Iterator[None]:
    """
    Args:
        path: of the file that the block works with; None for one in memory.

    Raises:
        OSError: the disk is full or fails; every other error is SQLite's own.
    """
    try:
        yield
    except sqlite3.DatabaseError as error:
        kind = getattr(error, "sqlite_errorname", "")
        if kind not in _FULL and not kind.startswith(_FAILED):
            raise
        full = kind in _FULL or _has_no_room(path)
        number = errno.ENOSPC if full else errno.EIO
        raise OSError(number, os.strerror(number) + ("" if full else f" ({kind})"), path and str(path)) from error


def _has_no_room(path: Path | None) -> bool:
    """Whether nothing more can be written beside this file: SQLite calls that a failed write, as it does a quota."""
    if path is None:
        return False
    try:
        with tempfile.TemporaryFile(dir=path.parent) as file:
            file.write(b"\0" * ROOM)
            file.flush()
    except OSError as error:
        return error.errno in (errno.ENOSPC, errno.EDQUOT)
    return False
