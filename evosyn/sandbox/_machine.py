"""How much memory there is for us: the machine's, or less where the control groups that we run under allow less.

Reads only. Both versions of control groups, the real places of which come from `/proc/self/mountinfo` and
`/proc/self/cgroup`. Linux `cgroups(7)`.
"""

from __future__ import annotations

import contextlib
import functools
import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

UNLIMITED = 1 << 60
_FILES = {
    1: ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"),
    2: ("memory.max", "memory.current", "inactive_file"),
}
"""By version: the limit, what is used, and in `memory.stat` the pages of files that nobody used lately."""


class Hierarchy(NamedTuple):
    """A tree of control groups that is mounted here.

    Attributes:
        version: 1 or 2.
        controllers: what it controls; of version 2, those that our own group has.
        mount: where it is mounted.
        own: the group that we are in.
    """

    version: int
    controllers: frozenset[str]
    mount: Path
    own: Path

    def upwards(self) -> Iterator[Path]:
        """Our own group and those above it, as far as they can be seen."""
        for folder in (self.own, *self.own.parents):
            yield folder
            if folder == self.mount:
                return


def hierarchies(proc: Path = Path("/proc")) -> list[Hierarchy]:
    """The trees that are mounted and hold a group of ours."""
    ours: dict[frozenset[str], str] = {}
    for line in _lines(proc / "self" / "cgroup"):
        _, joined, path = line.split(":", 2)
        ours[frozenset(joined.split(",")) - {""}] = path
    found = []
    for line in _lines(proc / "self" / "mountinfo"):
        before, _, after = line.partition(" - ")
        root, mount = before.split()[3:5]
        kind, _, options = after.split(maxsplit=2)
        if kind == "cgroup2" and frozenset() in ours:
            own = _below(mount, root, ours[frozenset()])
            found += [Hierarchy(2, _words(own / "cgroup.controllers"), Path(mount), own)] if own else []
        if kind == "cgroup":
            for names in (key for key in ours if key and key <= {*options.split(",")}):
                own = _below(mount, root, ours[names])
                found += [Hierarchy(1, names, Path(mount), own)] if own else []
    return found


def _below(mount: str, root: str, path: str) -> Path | None:
    """Where our group is seen, of which the mount shows what lies below `root`; None where it lies outside."""
    if path.startswith("/..") or root.startswith("/.."):
        return None
    relative = os.path.relpath(path, root)
    return Path(mount) if relative.startswith("..") else Path(mount, relative)


@dataclass(frozen=True)
class Machine:
    """What there is to be used; `proc` is `/proc`, or what stands in for it."""

    proc: Path = Path("/proc")
    trees: list[Hierarchy] = field(default_factory=hierarchies)

    @functools.cached_property
    def total_mb(self) -> int:
        """Memory of the machine, or the least that a group of ours or above it may use."""
        return min([self._meminfo("MemTotal"), *(limit for limit, _, _ in self._limited)]) >> 20

    def available_mb(self) -> int:
        """What could still be used before somebody is ended, or pages are written out."""
        found = [self._meminfo("MemAvailable")]
        for limit, used, cache in self._limited:
            stat = dict(line.split(maxsplit=1) for line in _lines(used.with_name("memory.stat")) if " " in line)
            if (now := number(used)) < UNLIMITED:
                found.append(limit - now + int(stat.get(cache, "0")))
        return max(0, min(found)) >> 20

    @functools.cached_property
    def _limited(self) -> list[tuple[int, Path, str]]:
        """Groups above us that have a limit: the limit, the file that says what is used, what of it can be had back."""
        found = []
        for tree in (tree for tree in self.trees if tree.version == 2 or "memory" in tree.controllers):
            limit, used, cache = _FILES[tree.version]
            sizes = [(number(group / limit), group / used, cache) for group in tree.upwards()]
            found += [size for size in sizes if size[0] < UNLIMITED]
        return found

    def _meminfo(self, name: str) -> int:
        for line in _lines(self.proc / "meminfo"):
            if line.startswith(f"{name}:"):
                return int(line.split()[1]) << 10
        return UNLIMITED


def number(path: Path) -> int:
    """The number in a file of a control group; `UNLIMITED` where it says so, or is not there."""
    with contextlib.suppress(OSError, ValueError):
        return min(int(path.read_text()), UNLIMITED)
    return UNLIMITED


def _words(path: Path) -> frozenset[str]:
    with contextlib.suppress(OSError):
        return frozenset(path.read_text().split())
    return frozenset()


def _lines(path: Path) -> list[str]:
    with contextlib.suppress(OSError):
        return path.read_text().splitlines()
    return []
