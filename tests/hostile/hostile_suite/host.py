"""Things of ours that a hostile text might reach, and how to see that one did.

Files, listening sockets, signals to us, our environment and our own settings; and the processes, files and shared memory
that a text might leave behind. It uses no privilege of its own.
"""

from __future__ import annotations

import contextlib
import os
import resource
import secrets
import signal
import socket
import time
from collections.abc import Callable, Collection
from pathlib import Path
from types import FrameType

from evosyn.records import Json

PLACES = ("/tmp", "/var/tmp", "/dev/shm", "/run", "/dev/mqueue")
WATCHED = ("SIGHUP", "SIGUSR1", "SIGUSR2", "SIGWINCH", "SIGIO", "SIGURG", "SIGCONT")
SETTLE_S = 5.0


class Host:
    """Our side of the wall. `fill` puts its names into a text; `effects` says what was touched since the last time."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.secret = secrets.token_hex(16)
        self.mark = f"left{secrets.token_hex(6)}"
        self._signals: list[int] = []
        self._files()
        self._sockets()
        os.environ["EVOSYN_TEST_SECRET"] = self.secret
        self._handlers = {number: signal.getsignal(number) for name in WATCHED if (number := getattr(signal, name))}
        with contextlib.suppress(ValueError):  # not the main thread
            for number in self._handlers:
                signal.signal(number, self._signalled)
        self._settings, self._clock = _settings(), time.time() - time.monotonic()
        self._shared = _shared_memory()

    def _files(self) -> None:
        self.folder.chmod(0o777)
        for name, text, mode in (("secret", self.secret, 0o644), ("target", "untouched " * 9, 0o666)):
            (self.folder / name).write_text(text)
            (self.folder / name).chmod(mode)
        self._before = self._folder()

    def _folder(self) -> list[tuple[str, int, int, int, str]]:
        found = []
        for entry in sorted(self.folder.iterdir()):
            stat = entry.lstat()
            text = entry.read_text() if entry.name in ("secret", "target") and entry.is_file() else ""
            found.append((entry.name, stat.st_mode, stat.st_ino, stat.st_mtime_ns if text else 0, text))
        return found

    def _sockets(self) -> None:
        self.tcp = socket.create_server(("127.0.0.1", 0))
        self.udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.udp.bind(self.tcp.getsockname())
        self.abstract = socket.socket(socket.AF_UNIX)
        self.abstract.bind(f"\0{self.mark}")
        self.abstract.listen()
        self.datagram = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.datagram.bind(f"\0{self.mark}-dgram")
        for listening in (self.tcp, self.udp, self.abstract, self.datagram):
            listening.setblocking(False)

    def _signalled(self, number: int, _frame: FrameType | None) -> None:
        self._signals.append(number)

    def fill(self, text: str) -> str:
        """Put our names in place of `HOST_SECRET`, `HOST_TARGET`, `HOST_PORT`, `HOST_ABSTRACT`, `HOST_PID`, `HOST_MARK`
        (to be part of every name that a text leaves behind), `HOST_FOLDER`."""
        for name, value in (
            ("HOST_SECRET", str(self.folder / "secret")),
            ("HOST_TARGET", str(self.folder / "target")),
            ("HOST_FOLDER", str(self.folder)),
            ("HOST_PORT", str(self.tcp.getsockname()[1])),
            ("HOST_ABSTRACT", self.mark),
            ("HOST_PID", str(os.getpid())),
            ("HOST_MARK", self.mark),
        ):
            text = text.replace(name, value)
        return text

    def effects(self) -> list[str]:
        """What changed on our side; afterwards that counts as known."""
        found = self._received()
        folder = self._folder()
        if folder != self._before:
            found.append("a host file was changed")
            for name in ("secret", "target"):
                (self.folder / name).unlink(missing_ok=True)
            self._files()
        if self._signals:
            found.append(f"signals to us: {sorted(set(self._signals))}")
            self._signals.clear()
        left = [path for place in PLACES for path in _listed(place) if self.mark in path]
        if left:
            found.append(f"left behind: {left}")
        settings, shared = _settings(), _shared_memory()
        if settings != self._settings:
            found.append("our own limits, priority or affinity were changed")
            self._settings = settings
        if abs(time.time() - time.monotonic() - self._clock) > 30:
            found.append("the clock was set")
        if shared > self._shared:
            found.append("shared memory or message queues were left behind")
            self._shared = shared
        return found

    def _received(self) -> list[str]:
        found = []
        for name, listening in (("TCP", self.tcp), ("abstract socket", self.abstract)):
            with contextlib.suppress(BlockingIOError):
                listening.accept()[0].close()
                found.append(f"connection by {name}")
        for name, listening in (("UDP", self.udp), ("abstract datagram", self.datagram)):
            with contextlib.suppress(BlockingIOError):
                listening.recv(10)
                found.append(f"datagram by {name}")
        return found

    def close(self) -> None:
        for listening in (self.tcp, self.udp, self.abstract, self.datagram):
            listening.close()
        os.environ.pop("EVOSYN_TEST_SECRET", None)
        with contextlib.suppress(ValueError):
            for number, handler in self._handlers.items():
                signal.signal(number, handler if handler is not None else signal.SIG_DFL)


def mentions(value: Json, secret: str, left: int = 10_000) -> bool:
    """Whether plain data holds a text; looks at the first few thousand parts."""
    todo = [value]
    while todo and left > 0:
        left -= 1
        one = todo.pop()
        if isinstance(one, str):
            if secret in one:
                return True
        elif isinstance(one, bytes | bytearray):
            if secret.encode() in one:
                return True
        elif isinstance(one, dict):
            todo += [*list(one.values())[:left], *list(one)[:left]]
        elif isinstance(one, list | tuple | set | frozenset):
            todo += list(one)[:left]
    return False


def descendants(roots: Collection[int]) -> set[int]:
    """The processes below these that have not ended."""
    parents: dict[int, int] = {}
    for name in filter(str.isdigit, os.listdir("/proc")):  # noqa: PTH208 - ten times a second, for each of hundreds
        with contextlib.suppress(OSError), open(f"/proc/{name}/stat", "rb") as stat:  # noqa: PTH123
            state, parent, *_ = stat.read().rpartition(b")")[2].split(maxsplit=2)
            if state != b"Z":
                parents[int(name)] = int(parent)
    found = set(roots)
    while more := {pid for pid, parent in parents.items() if parent in found} - found:
        found |= more
    return found - set(roots)


def seen_below(roots: Collection[int]) -> set[int]:
    """The same ten times a second, and also those that have just ended: from the lists of children where the kernel keeps
    them, in which one that ends meanwhile may hide its siblings for once."""
    if not os.path.exists(f"/proc/self/task/{os.getpid()}/children"):  # noqa: PTH110
        return descendants(roots)
    found: set[int] = set()
    todo = list(roots)
    while todo:
        folder = f"/proc/{todo.pop()}/task"
        with contextlib.suppress(OSError):
            for thread in os.listdir(folder):  # noqa: PTH208
                with contextlib.suppress(OSError), open(f"{folder}/{thread}/children", "rb") as children:  # noqa: PTH123
                    more = {*map(int, children.read().split())} - found
                    found |= more
                    todo += more
    return found - set(roots)


def parent_of(pid: int) -> int | None:
    """Of a process that has not ended."""
    with contextlib.suppress(OSError):
        state, parent, *_ = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split(maxsplit=2)
        return int(parent) if state not in "ZX" else None
    return None


def named(beginnings: tuple[str, ...]) -> set[int]:
    """The processes whose names begin like one of these."""
    found = set()
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if (process / "comm").read_text().startswith(beginnings):
                found.add(int(process.name))
    return found


def settled(count: Callable[[], int], most: int) -> int:
    """The count, once it is no more than `most` or has had time to become so."""
    ends = time.monotonic() + SETTLE_S
    while (found := count()) > most and time.monotonic() < ends:
        time.sleep(0.05)
    return found


def forget_own_memory() -> None:
    """From now on `own_memory_mb` tells of what comes."""
    Path("/proc/self/clear_refs").write_text("5")


def own_memory_mb() -> int:
    """The largest resident size that this process had since that was forgotten."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM:")) // 1024


def _settings() -> tuple[object, ...]:
    names = [name for name in dir(resource) if name.startswith("RLIMIT_") and name != "RLIMIT_AS"]
    limits = [resource.getrlimit(getattr(resource, name)) for name in names]
    return (*limits, os.getpriority(os.PRIO_PROCESS, 0), tuple(sorted(os.sched_getaffinity(0))), os.uname().nodename)


def _listed(place: str) -> list[str]:
    with contextlib.suppress(OSError):
        return [str(path) for path in Path(place).iterdir()]
    return []


def _shared_memory() -> int:
    """System V segments, semaphores and queues on this machine."""
    total = 0
    for kind in ("shm", "sem", "msg"):
        with contextlib.suppress(OSError):
            total += len(Path(f"/proc/sysvipc/{kind}").read_text().splitlines())
    return total
