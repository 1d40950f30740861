"""The program that tries what must not work in a sandbox: a function for each, True where it did not work.

It is never imported: `_probe` sends its text into the sandbox, and looks from outside whether anything changed.
"""

from __future__ import annotations

import errno
import itertools
import os
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

MOST_FOLDERS = 20_000
REFUSALS = (errno.EPERM, errno.EACCES, errno.ENOSYS)
STUCK = (errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.EAGAIN, errno.EINTR, errno.EIO)
"""Errors of a process that can do nothing at all, which say nothing of what it may do."""


def refused(acts: Iterable[Callable[[], object]]) -> bool:
    """Whether none of these works. What is not there counts as refused: that it is there, `_probe` sees from outside.

    Raises:
        OSError: it could not be tried.
    """
    for act in acts:
        try:
            act()
        except OSError as error:
            if error.errno in STUCK:
                raise
            continue
        return False
    return True


def network(port: int) -> bool:
    import socket

    return refused([partial(socket.create_connection, ("127.0.0.1", port), 1)])


def datagrams(port: int) -> bool:
    import socket

    return refused([lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b"x", ("127.0.0.1", port))])


def read_file(path: str) -> bool:
    return refused([partial(os.open, path, os.O_RDONLY)])


def write_file(path: str) -> bool:
    return refused([*(partial(open, path, mode) for mode in ("w", "a", "r+")), partial(open, path + "2", "x")])


def truncate(path: str) -> bool:
    modes = (os.O_RDONLY, os.O_WRONLY, os.O_RDWR, os.O_RDWR | os.O_WRONLY)
    return refused([partial(os.truncate, path, 0), *(partial(os.open, path, mode | os.O_TRUNC) for mode in modes)])


def rename(path: str) -> bool:
    return refused(partial(way, path, path + "2") for way in (os.rename, os.replace, os.link, os.symlink))


def unlink(path: str) -> bool:
    return refused([partial(os.unlink, path), partial(os.rmdir, path.rpartition("/")[0])])


def mkdir(path: str) -> bool:
    return refused(partial(way, path + "2") for way in (os.mkdir, os.mkfifo, os.mknod))


def anywhere(_: object) -> bool:
    """Whether no folder that can be seen takes a new file."""
    seen = (folder for folder, _, _ in itertools.islice(os.walk("/"), MOST_FOLDERS))
    for folder in ("/tmp", "/var/tmp", "/dev/shm", "/run", ".", *seen):
        path = f"{folder}/evosyn-canary-{os.getpid()}"
        try:
            os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY))
        except OSError:
            continue
        os.unlink(path)
        return False
    return True


def metadata(path: str) -> bool:
    acts: list[Callable[[], object]] = [partial(os.chmod, path, 0o600), partial(os.utime, path, (1, 1))]
    acts += [partial(os.chown, path, os.getuid(), os.getgid()), partial(os.setxattr, path, "user.x", b"x")]
    return refused(acts)


def fork(_: object) -> bool:
    return refused([lambda: os.fork() or os._exit(0)])


def execute(_: object) -> bool:
    """Called so that it does nothing where it is open: no program need be there, and this one goes on."""
    return all(call(*door) in REFUSALS for door in ((numbered(59, 221), 0, 0, 0), (numbered(322, 281), -1, 0, 0, 0, 0)))


def signals(pid: int) -> bool:
    return refused([partial(os.kill, pid, 0), partial(os.kill, os.getppid(), 0)])


def environment(name: str) -> bool:
    return name not in os.environ


def own_uid(uid: int) -> bool:
    return os.getuid() not in (uid, 0)


def processes(pid: int) -> bool:
    return refused([partial(os.open, f"/proc/{pid}/status", os.O_RDONLY)])


def packages(installed: dict[str, list[str]]) -> bool:
    """Whether of what is installed nothing can be imported, read or listed but what is shown."""
    shown, standard = installed["shown"], os.path.dirname(os.__file__)
    if not all(comes_from(name, standard, shown) for name in installed["names"]):
        return False
    for path in installed["unseen"]:
        try:
            seen = os.listdir(path) if os.path.isdir(path) else [os.open(path, os.O_RDONLY)]
        except OSError:
            continue
        if seen:
            return False
    tops = ("/", os.path.dirname(standard), standard)
    folders = itertools.islice((found for top in tops for found in os.walk(top)), MOST_FOLDERS)
    names = (name for _, below, files in folders for name in (*below, *files))
    return not any(name.endswith((".dist-info", ".egg-info")) for name in names)


def comes_from(name: str, standard: str, shown: list[str]) -> bool:
    """Whether importing it gives a module of the standard library, of what is shown, or none."""
    from importlib.util import find_spec

    try:
        spec = find_spec(name)
    except (ImportError, ValueError):  # it is loaded, and nobody knows from where
        return False
    if spec is None or spec.origin in ("built-in", "frozen"):
        return True
    places = [spec.origin] if spec.has_location else list(spec.submodule_search_locations or ())
    return all(
        any(place == one or place.startswith(f"{one}/") or one.startswith(f"{place}/") for one in shown)
        or (place.startswith(f"{standard}/") and "-packages/" not in place)
        for place in places
        if place
    )


def others(pid: int) -> set[int]:
    """Processes that are not ours: evosyn itself, those that made us, those made beside us."""
    near = range(max(1, os.getpid() - 8), os.getpid() + 8)
    return {pid, os.getppid(), 1, *near} - {os.getpid()}


def proc(pid: int) -> bool:
    """What the kernel tells about other processes of this user."""
    names = ("mem", "environ", "maps", "auxv")
    return refused(partial(look, f"/proc/{other}/{name}") for other in others(pid) for name in names)


def look(path: str) -> None:
    """Read something of it; of a process that has ended there is nothing."""
    handle = os.open(path, os.O_RDONLY)
    try:
        if not os.pread(handle, 1, id(None) if path.endswith("mem") else 0):
            raise FileNotFoundError(path)
    except OSError as error:
        if isinstance(error, FileNotFoundError) or not path.endswith("mem"):
            raise  # else it could be opened, and has nothing at our address
    finally:
        os.close(handle)


def call(number: int, *arguments: Any) -> int:
    """A raw system call; its error number, or 0."""
    import ctypes

    libc = ctypes.CDLL(None, use_errno=True)
    words = [ctypes.c_long(value) if isinstance(value, int) else value for value in arguments]
    return ctypes.get_errno() if libc.syscall(ctypes.c_long(number), *words) == -1 else 0


def numbered(x86_64: int, aarch64: int) -> int:
    return aarch64 if os.uname().machine == "aarch64" else x86_64


def trace(pid: int) -> bool:
    """Attaching to another process, and reading its memory; an address that is not there is an answer too."""
    import ctypes

    there = ctypes.create_string_buffer(16)
    vector = (ctypes.c_size_t * 2)(ctypes.addressof(there), 16)
    attach, read = numbered(101, 117), numbered(310, 270)
    for other in (pid, os.getppid()):
        found = (call(attach, 0x4206, other, 0, 0), call(read, other, vector, 1, vector, 1, 0))
        if any(said not in (*REFUSALS, errno.ESRCH) for said in found):
            call(attach, 17, other, 0, 0)
            return False
    return True


def calls(_: object) -> bool:
    """Doors of the kernel that no ordinary program needs, each called so that it does nothing where it is open."""
    import ctypes

    zeros = ctypes.create_string_buffer(256)
    doors = (
        (numbered(319, 279), zeros, 0),  # memfd_create
        (numbered(323, 282), 0),  # userfaultfd
        (numbered(425, 425), 1, zeros),  # io_uring_setup
        (numbered(298, 241), zeros, 0, -1, -1, 0),  # perf_event_open
        (numbered(321, 280), 0, zeros, 0),  # bpf
        (numbered(250, 219), 0, -3, 0),  # keyctl
        (numbered(438, 438), 0, 0, 0),  # pidfd_getfd
        (numbered(272, 97), 0x10000000),  # unshare, a user namespace
        (numbered(308, 268), 0, 0),  # setns
        (numbered(41, 198), 1, 1, 0),  # socket
        (numbered(29, 194), 0, 4096, 0o1600),  # shmget
        (numbered(73, 32), 0, 8),  # flock
    )
    return all(call(*door) in REFUSALS for door in doors)


def memory(_: object) -> bool:
    try:
        bytes(2 << 30)
    except MemoryError:
        return True
    return False


def maps(_: object) -> bool:
    """Many maps, shared ones too, of which each is far below the limit."""
    import mmap

    held = []
    try:
        for place in range(80):
            held.append(mmap.mmap(-1, 32 << 20, flags=(mmap.MAP_SHARED, mmap.MAP_PRIVATE)[place % 2]))
    except OSError:
        return True
    return False


def time_limit(_: object) -> None:
    try:
        while True:
            len("x")
    except BaseException:  # noqa: BLE001 - what it is about
        pass
    while True:
        len("x")


def canary(name: str, argument: object) -> object:
    """What a canary says; one that is refused half-way has done the first half."""
    try:
        return globals()[name](argument)
    except OSError as error:
        if error.errno in STUCK:
            raise
        return False
