"""Files of SQLite: what the disk did to one is told as the system tells it of any other file. DESIGN.md section 4."""

from __future__ import annotations

import errno
import os
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_FULL = ("SQLITE_FULL", "SQLITE_IOERR_SHMSIZE")
_FAILED = "SQLITE_IOERR"
ROOM = 64 * 1024
"""Bytes that a disk with room takes."""


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
