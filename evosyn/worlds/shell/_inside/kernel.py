"""The system calls that Python 3.11 does not have, and the constants that go with them. Linux `mount(2)`,
`unshare(2)`, `open_tree(2)`, `capabilities(7)`."""

from __future__ import annotations

import ctypes
import errno
import fcntl
import os
import socket
import struct

NEWNS, NEWUTS, NEWIPC, NEWUSER, NEWPID, NEWNET = 0x20000, 0x4000000, 0x8000000, 0x10000000, 0x20000000, 0x40000000
RDONLY, NOSUID, NODEV, NOEXEC, REMOUNT, BIND, REC, PRIVATE = 1, 2, 4, 8, 32, 4096, 16384, 1 << 18
_DETACH, _AT_FDCWD, _EMPTY_PATH, _CLONE_TREE, _RECURSIVE = 2, -100, 0x1000, 1, 0x8000
_OPEN_TREE, _MOVE_MOUNT, _MOUNT_SETATTR = 428, 429, 442  # the same on every architecture
_NO_LINK, _NOSYMFOLLOW = 0x100, 1 << 21
_PIVOT_ROOT = {"x86_64": 155, "aarch64": 41}
_PDEATHSIG, _DUMPABLE, _CAPBSET_READ, _CAPBSET_DROP = 1, 4, 23, 24
KEPT = (0, 1, 3, 4, 5, 6, 7, 8, 10, 13, 27, 29, 31)
"""Capabilities of root in a room, which are those of its user namespace: what Docker leaves, but for chroot."""
SHORT = frozenset({errno.EAGAIN, errno.ENOMEM, errno.ENFILE, errno.EMFILE})
"""What is said where the machine has no more to give, or a limit of its user is reached."""
_libc = ctypes.CDLL(None, use_errno=True)


def _done(result: int, what: str) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")
    return result


def unshare(flags: int) -> None:
    try:
        _done(_libc.unshare(flags), f"unshare {flags:#x}")
    except OSError as error:
        if error.errno != errno.ENOSPC:  # said here of namespaces, which are no space of anybody's files
            raise
        raise OSError(errno.EAGAIN, f"unshare {flags:#x}: no more namespaces") from error


def enter_namespace(handle: int, kind: int) -> None:
    _done(_libc.setns(handle, kind), "setns")


def mount(source: str, target: str, kind: str | None = None, flags: int = 0, options: str = "") -> None:
    kind_ = kind.encode() if kind else None
    result = _libc.mount(source.encode(), os.fsencode(target), kind_, ctypes.c_ulong(flags), options.encode() or None)
    _done(result, f"mount {kind or source} on {target}")


def unmount(target: str) -> None:
    _done(_libc.umount2(os.fsencode(target), _DETACH), f"unmount {target}")


def tree_of(path: str, folder: int = _AT_FDCWD, *, followed: bool = True) -> int:
    """A mount of what lies at a path, a link too, attached nowhere yet; its links may be `followed`."""
    flags = _CLONE_TREE | _RECURSIVE | _NO_LINK | os.O_CLOEXEC
    tree = _done(_libc.syscall(_OPEN_TREE, folder, os.fsencode(path), flags), f"open_tree {path}")
    if not followed:
        change = struct.pack("<4Q", _NOSYMFOLLOW, 0, 0, 0)
        _done(_libc.syscall(_MOUNT_SETATTR, tree, b"", _EMPTY_PATH, change, len(change)), f"mount_setattr {path}")
    return tree


def attach(tree: int, target: str, folder: int = _AT_FDCWD) -> None:
    _done(_libc.syscall(_MOVE_MOUNT, tree, b"", folder, os.fsencode(target), 4), f"attach at {target}")
    os.close(tree)


def change_root(folder: str) -> None:
    """Make a mounted folder the root; the old one lies over it until `leave_old_root`."""
    os.chdir(folder)
    _done(_libc.syscall(_PIVOT_ROOT[os.uname().machine], b".", b"."), "pivot_root")


def leave_old_root() -> None:
    unmount(".")
    os.chdir("/")


def die_with_parent() -> None:
    _done(_libc.prctl(_PDEATHSIG, 9, 0, 0, 0), "die with the parent")


def dumpable(allowed: bool) -> None:
    _done(_libc.prctl(_DUMPABLE, int(allowed), 0, 0, 0), f"dumpable {allowed}")


def keep_capabilities() -> None:
    """Give up all but `KEPT`, also for what is started later."""
    for number in range(64):
        if _libc.prctl(_CAPBSET_READ, number, 0, 0, 0) < 0:
            break  # the kernel knows no more
        if number not in KEPT:
            _done(_libc.prctl(_CAPBSET_DROP, number, 0, 0, 0), f"give up capability {number}")
    low = sum(1 << number for number in KEPT)
    data = struct.pack("<IIIIII", low, low, 0, 0, 0, 0)
    _done(_libc.capset(struct.pack("<Ii", 0x20080522, 0), data), "capset")


def loopback_up() -> None:
    with socket.socket() as asking:
        fcntl.ioctl(asking, 0x8914, struct.pack("16sh22x", b"lo", 1 | 64))  # SIOCSIFFLAGS: up, running
