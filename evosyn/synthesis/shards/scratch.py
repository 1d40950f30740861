"""Where a worker makes a shard: the directory that the run names, or a private one of this machine.

What lies there is believed (`shipping.restore` takes journal lines from it), so among the temporary files of a machine,
whose name anybody can guess, only a directory counts that nobody else can write to. docs/scale.md.
"""

from __future__ import annotations

import os
import stat
import tempfile
from pathlib import Path

from evosyn.errors import UnavailableError
from evosyn.synthesis.shards.orders import ShardSetup

OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH


def scratch_of(setup: ShardSetup) -> Path:
    """The directory of this machine for the shards of a run.

    Raises:
        UnavailableError: somebody else has made it, or may write to it.
        OSError: it cannot be made.
    """
    if setup.scratch:
        return Path(setup.scratch)
    above = Path(tempfile.gettempdir()) / f"evosyn-shards-{os.geteuid()}"
    return private(private(above) / setup.run)


def private(path: Path) -> Path:
    """The directory, made for this user alone, or found to be so.

    Raises:
        UnavailableError: it is not.
        OSError: it cannot be made.
    """
    try:
        path.mkdir(mode=0o700)
    except FileExistsError:
        found = path.lstat()
        if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.geteuid() or found.st_mode & OTHERS_WRITE:
            raise UnavailableError(
                f"{path}: is not a directory that this user alone can write to, so what lies there is not believed; "
                "remove it, or name a place with --set shards.scratch=DIR"
            ) from None
    return path
