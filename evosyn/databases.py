"""Files of SQLite: what the disk did to one is told as the system tells it of any other file. DESIGN.md section 4."""

from __future__ import annotations

import errno
import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_FULL = ("database or disk is full", "disk I/O error")


@contextmanager
def disk_errors(path: Path | None) -> Iterator[None]:
    """
    Args:
        path: of the file that the block works with; None for one in memory.

    Raises:
        OSError: the disk is full; every other error is SQLite's own.
    """
    try:
        yield
    except sqlite3.DatabaseError as error:
        if not str(error).startswith(_FULL):
            raise
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), path and str(path)) from error
