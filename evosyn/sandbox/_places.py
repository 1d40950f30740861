"""Where control groups of ours can be had, and making them there.

Below the group that we run in, or, with version 2, below the nearest one above it that we may use without getting rid
of a limit. A process that is not ours is never moved. Linux `cgroups(7)`; systemd, "Control Group APIs and Delegation".
"""

from __future__ import annotations

import contextlib
import os
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from evosyn.errors import SandboxUnavailable
from evosyn.sandbox import _groups, _owners
from evosyn.sandbox._machine import UNLIMITED, Hierarchy, number

PREFIX = "evosyn-"
_LIMITS = ("memory.max", "memory.high", "cpu.max", "cpuset.cpus")
"""What may be limited in a group that we would leave."""


class ReadablePlace(NamedTuple):
    """Where groups of ours could be made.

    Attributes:
        folders: the group of the memory tree; with version 1 the one of the tree of process numbers too.
        own: it is the group that we are in, and not one above it.
    """

    version: int
    folders: tuple[Path, ...]
    own: bool = True


def places(trees: Sequence[Hierarchy]) -> list[ReadablePlace]:
    """Where it can be tried, best first."""
    found = []
    for tree in trees:
        if tree.version == 1 and "memory" in tree.controllers and _counts_upwards(tree.own):
            pids = [other.own for other in trees if other.version == 1 and "pids" in other.controllers]
            found.append(ReadablePlace(1, (tree.own, *pids[:1])))
        if tree.version == 2:
            found += [ReadablePlace(2, (group,), group == tree.own) for group in _keeping_limits(tree)]
    return found


def _counts_upwards(group: Path) -> bool:
    """Version 1: what a group below uses counts here too, or nothing is limited here."""
    limit = number(group / "memory.limit_in_bytes")
    return number(group / "memory.use_hierarchy") == 1 or limit >= UNLIMITED


def _keeping_limits(tree: Hierarchy) -> list[Path]:
    """Version 2: our group and those above, as far as being below them instead loses no limit."""
    found = []
    for group in tree.upwards():
        found.append(group)
        if any((_groups.words(group / name) or ["max"])[0] != "max" for name in _LIMITS):
            break
    return found


def make(place: ReadablePlace, remove: Callable[[Path], None] = os.rmdir) -> _groups.Groups | None:
    """A folder of ours in a place, seen to take a process in; None where it cannot be had."""
    if place.version == 2 and not _is_divided(place):
        return None
    groups = _groups.Groups(place.version, (), remove)
    for parent in place.folders:
        remove_leftovers(parent, remove)
        folder = _new_folder(parent)
        if folder is not None and place.version == 2 and not _divide(folder):
            groups.folders = (folder,)
            groups.close()
            return None
        if folder is None and parent == place.folders[0]:
            return None
        groups.folders += (folder,) if folder is not None else ()
    if _takes_in(groups):
        return groups
    groups.close()
    return None


def _is_divided(place: ReadablePlace) -> bool:
    """Version 2: whether groups below this one can have limits of their own; for our own group this is seen to.

    A group that is divided must not hold processes itself. So we move into a group below, where we are the only
    process in ours and it is ours to divide; processes of others are never moved.
    """
    group = place.folders[0]
    if "memory" in _groups.words(group / "cgroup.subtree_control"):
        return True
    if not place.own or group.name.startswith(PREFIX) or not _is_ours_to_divide(group):
        return False
    if _divide(group):
        return True
    if _groups.words(group / "cgroup.procs") != [str(os.getpid())]:
        return False
    below = group / f"{PREFIX}{_owner()}-main"
    with contextlib.suppress(OSError):
        below.mkdir()
    if _groups.say(below / "cgroup.procs", os.getpid()) and _divide(group):
        return True
    _groups.say(group / "cgroup.procs", os.getpid())
    _groups.gone(below, os.rmdir)
    return False


def _is_ours_to_divide(group: Path) -> bool:
    """An ordinary user may write there or not; for root, systemd says what it has given away."""
    if os.geteuid() != 0 or not Path("/run/systemd/system").is_dir():
        return True
    for name in ("trusted.delegate", "user.delegate"):
        with contextlib.suppress(OSError):
            if os.getxattr(group, name) == b"1":
                return True
    return False


def _divide(group: Path) -> bool:
    """Both at once: the other alone would be taken from a group with processes in it, and make it one of threads."""
    control = group / "cgroup.subtree_control"
    return _groups.say(control, "+memory +pids") or _groups.say(control, "+memory")


def _new_folder(parent: Path) -> Path | None:
    for count in range(10_000):
        folder = parent / f"{PREFIX}{_owner()}-{count}"
        try:
            folder.mkdir()
        except FileExistsError:
            continue
        except OSError:
            return None
        return folder
    return None


def _takes_in(groups: _groups.Groups) -> bool:
    """Whether a process that enters is inside, and a limit can be said."""
    waits, pipe = ["/bin/sh", "-c", "echo inside; read wait"], subprocess.PIPE
    with (
        contextlib.suppress(OSError, SandboxUnavailable),
        subprocess.Popen([*groups.enter("try"), *waits], stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL) as process,
    ):
        assert process.stdin is not None and process.stdout is not None
        process.stdout.readline()
        inside = str(process.pid) in _groups.words(groups.folders[0] / "try" / "cgroup.procs")
        limited = groups.allow("try", 256)
        process.stdin.close()
        process.wait()
        groups.leave("try")
        return inside and limited
    return False


def remove_leftovers(parent: Path, remove: Callable[[Path], None] = os.rmdir) -> None:
    """Remove what processes that are gone have left in a place."""
    namespace = _namespace()
    for folder in parent.glob(f"{PREFIX}*-*-*-*"):
        pid, began, where = folder.name.removeprefix(PREFIX).split("-")[:3]
        if where == namespace and not _owners.is_alive(f"{pid}-{began}"):
            with contextlib.suppress(FileNotFoundError):  # another process takes it away at the same time
                for group in [*(path for path in folder.iterdir() if path.is_dir()), folder]:
                    _groups.end_all(group)
                    _groups.gone(group, remove)


def _owner() -> str:
    return f"{_owners.me()}-{_namespace()}"


def _namespace() -> str:
    """In which numbers mean processes: another container may see the same groups."""
    with contextlib.suppress(OSError):
        return str(os.stat("/proc/self/ns/pid").st_ino)  # noqa: PTH116 - a name of the kernel's
    return "0"
