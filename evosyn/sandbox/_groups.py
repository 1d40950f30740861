"""Control groups: one for each worker, so that the kernel bounds what all processes of a worker use together.

`_places` finds where they can be made. What they hold is found out by `hold`, never read from settings. Linux
`cgroups(7)`, kernel documents `cgroup-v1/memory`, `cgroup-v2`.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from evosyn.errors import SandboxUnavailable

PIDS = 256
GONE_S = 2.0
"""How long the kernel may take to see that a group is empty."""
_ENTER = 'n=$1; shift; while [ "$n" -gt 0 ]; do echo $$ >"$1" || exit; shift; n=$((n-1)); done; exec "$@"'


@dataclass
class Groups:
    """The groups of one sandbox: a folder of ours (in each tree), and in it one for each worker slot.

    Attributes:
        remove: takes a group away; the kernel's files go with it.
    """

    version: int
    folders: tuple[Path, ...]
    remove: Callable[[Path], None] = os.rmdir
    _dying: list[Path] = field(default_factory=list)

    def enter(self, slot: int | str) -> list[str]:
        """Make a slot's group; the beginning of a command line that enters it, or ends, before anything else is done.

        Raises:
            SandboxUnavailable: the kernel makes none.
        """
        doors = []
        for folder in self.folders:
            group = folder / str(slot)
            try:
                group.mkdir(exist_ok=True)
            except OSError as error:
                raise SandboxUnavailable(f"no control group can be made: {error}") from error
            say(group / "pids.max", PIDS)
            doors.append(str(group / "cgroup.procs"))
        return ["/bin/sh", "-c", _ENTER, "sh", str(len(doors)), *doors]

    def allow(self, slot: int | str, share_mb: int) -> bool:
        """Limit what a slot uses in all; False where that could not be said."""
        group, size = self.folders[0] / str(slot), share_mb << 20
        if self.version == 2:
            say(group / "memory.swap.max", 0)
            return say(group / "memory.max", size)
        # memory and swap together may never be less than memory alone
        raised = say(group / "memory.memsw.limit_in_bytes", size)
        done = say(group / "memory.limit_in_bytes", size)
        if not raised:
            say(group / "memory.memsw.limit_in_bytes", size)
        say(group / "memory.swappiness", 0)
        return done

    def leave(self, slot: int | str) -> None:
        """End what is left of a slot, and remove its groups when the kernel lets them go."""
        for folder in self.folders:
            group = folder / str(slot)
            if group.is_dir():
                end_all(group)
                self._dying.append(group)
        self._sweep()

    def close(self) -> None:
        """Remove everything."""
        for folder in self.folders:
            for group in [*folder.iterdir()] if folder.is_dir() else []:
                if group.is_dir():
                    end_all(group)
                    self._dying.append(group)
            self._dying.append(folder)
        until = time.monotonic() + GONE_S
        while self._sweep() and time.monotonic() < until:
            time.sleep(0.005)

    def _sweep(self) -> bool:
        """Whether something could not be removed yet."""
        self._dying = [group for group in dict.fromkeys(self._dying) if not gone(group, self.remove)]
        return bool(self._dying)


def end_all(group: Path) -> None:
    if say(group / "cgroup.kill", 1):
        return
    for word in words(group / "cgroup.procs"):
        if word.isdigit() and int(word) not in (0, os.getpid()):
            with contextlib.suppress(OSError):
                os.kill(int(word), signal.SIGKILL)


def gone(group: Path, remove: Callable[[Path], None]) -> bool:
    try:
        remove(group)
    except FileNotFoundError:
        return True
    except OSError:
        return False
    return True


def say(path: Path, value: int | str) -> bool:
    """Whether the kernel took it. It makes no new files there; a folder that stands in for it does."""
    try:
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    except OSError:
        return False
    try:
        os.write(handle, str(value).encode())
    except OSError:
        return False
    finally:
        os.close(handle)
    return True


def words(path: Path) -> list[str]:
    with contextlib.suppress(OSError):
        return path.read_text().split()
    return []


_CANARIES = {
    "little": "held = bytearray(b'x') * (share // 4)",
    "together": """
(asked, ask), (answer, say) = os.pipe(), os.pipe()
ours = os.fork() != 0
for end in (asked, say) if ours else (ask, answer):
    os.close(end)
held = bytearray(b"x") * (share * 6 // 10)
if not ours:
    os.write(say, os.read(asked, 1))  # after both have their memory
    signal.pause()
try:
    os.write(ask, b"x")
    sys.exit(not os.read(answer, 1))
except BrokenPipeError:
    sys.exit(1)
""",
    "unmapped": """
file = os.memfd_create("canary")
for _ in range(share * 3 // 2 >> 20):
    os.write(file, bytes(1 << 20))
""",
}


def hold(groups: Groups, share_mb: int = 64) -> bool:
    """Whether a worker cannot use more than its share: not over two processes, not in files of memory either.

    The processes that try are ended by the kernel, which writes so into its log.
    """
    ended = {}
    for name, program in _CANARIES.items():
        text = f"import os, signal, sys\nshare = {share_mb << 20}\n{program}"
        try:
            command = groups.enter(name)
            groups.allow(name, share_mb)
            done = subprocess.run([*command, sys.executable, "-I", "-S", "-c", text], timeout=30, check=False)
            ended[name] = done.returncode
        except (OSError, SandboxUnavailable, subprocess.TimeoutExpired):
            return False
        finally:
            groups.leave(name)
    return ended["little"] == 0 and ended["together"] != 0 and ended["unmapped"] != 0
