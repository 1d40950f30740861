"""Landlock by raw system calls: read-only files below given folders, no TCP, no signals or abstract sockets to outside.

Set once on the first process of a jail; its children inherit it. Linux `landlock(7)`; on an older ABI the newer rights
are left out, and the system-call filter alone refuses what they would (cutting files, TCP, signals).
"""

from __future__ import annotations

import ctypes
import os
import struct
from collections.abc import Collection, Iterable, Iterator, Sequence

_CREATE, _ADD, _RESTRICT = 444, 445, 446
_VERSION_FLAG = 1
_RULE_PATH = 1
_READ_FILE, _READ_DIR = 1 << 2, 1 << 3
_ALL_FS = (1 << 13) - 1  # ABI 1
NEWEST = 6
"""The last ABI of which we use what it brought."""
_PACKAGES = ("site-packages", "dist-packages")
METADATA = (".dist-info", ".egg-info")
_WRITE_FS = sum(1 << bit for bit in (1, 2, 3, 4, 5, 7, 8, 13, 14))


def abi(libc: ctypes.CDLL | None = None) -> int:
    """The ABI that the kernel offers; 0 or less where there is none."""
    library = libc or ctypes.CDLL(None, use_errno=True)
    return int(library.syscall(_CREATE, None, ctypes.c_size_t(0), _VERSION_FLAG))


def restrict(readable: Sequence[str], writable: Sequence[str] = (), most: int = NEWEST) -> int:
    """Confine this process and its children to reading below `readable` (and writing below `writable`).

    Args:
        most: use no newer ABI than this, as an older kernel would.

    Returns:
        The ABI in force; 0 where nothing could be enforced. `no_new_privs` must be set before.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    version = min(abi(libc), most)
    if version < 1:
        return 0
    handled = _ALL_FS
    if version >= 2:
        handled |= 1 << 13  # refer
    if version >= 3:
        handled |= 1 << 14  # truncate
    if version >= 5:
        handled |= 1 << 15  # ioctl of devices
    network = 3 if version >= 4 else 0
    scoped = 3 if version >= 6 else 0
    attributes = struct.pack("<QQQ", handled, network, scoped)[: 8 if version < 4 else 16 if version < 6 else 24]
    ruleset = libc.syscall(_CREATE, attributes, ctypes.c_size_t(len(attributes)), 0)
    if ruleset < 0:
        return 0
    try:
        for paths, rights in ((readable, _READ_FILE | _READ_DIR), (writable, handled & _WRITE_FS)):
            for path in paths:
                if not _allow(libc, ruleset, path, rights):
                    return 0
        if libc.syscall(_RESTRICT, ruleset, 0) != 0:
            return 0
    finally:
        os.close(ruleset)
    return version


def installed(folders: Iterable[str]) -> list[str]:
    """The folders of installed packages below these, found by looking, not by any installation's layout: those that are
    called so, and those that hold what installers write about a package."""
    found = []
    for top in folders:
        for folder, names, files in os.walk(top):
            if folder != top and any(name.endswith(METADATA) for name in (*names, *files)):
                found.append(folder)
                names.clear()
            found += [os.path.realpath(f"{folder}/{name}") for name in names if name in _PACKAGES]
            names[:] = [name for name in names if name not in _PACKAGES]
    return found


def around(places: Iterable[str], hidden: Collection[str]) -> Iterator[str]:
    """These places, but of one that holds a hidden folder what lies beside that: a rule holds for all below a place.

    Links among that are left out: what they lead to is allowed by its own name or not at all.
    """
    for place in places:
        if place in hidden:
            continue
        if any(folder.startswith(f"{place}/") for folder in hidden):
            beside = [entry.path for entry in os.scandir(place) if not entry.is_symlink()]
            yield from around(beside, hidden)
        else:
            yield place


def _allow(libc: ctypes.CDLL, ruleset: int, path: str, rights: int) -> bool:
    try:
        handle = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except FileNotFoundError:
        return True
    except OSError:
        return False
    try:
        folder = os.path.isdir(path)  # noqa: PTH112 - pathlib is not loaded inside
        allowed = rights if folder else rights & ~(_READ_DIR | (_WRITE_FS & ~((1 << 1) | (1 << 2) | (1 << 14))))
        rule = struct.pack("<Qi", allowed, handle)
        return bool(libc.syscall(_ADD, ruleset, _RULE_PATH, rule, 0) == 0)
    finally:
        os.close(handle)
