"""Which uids a keeper may have here, and giving them to it: root's choice, a user's own range, or one uid alone.

Linux `user_namespaces(7)`, `newuidmap(1)`, `subuid(5)`.
"""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from evosyn.errors import SandboxUnavailable
from evosyn.sandbox import _jail

Kind = Literal["root", "range", "single"]
SPAN = 65536
ROOM_ROOT = 1_900_000_000
"""Started by root: who is root in a room is this uid outside, a user of nobody."""
_CREATORS = ROOM_ROOT + 100_000
PROCESSES = 200
"""Of all uids of a room together."""


@dataclass(frozen=True)
class Identity:
    """How keepers of this process get their uids.

    Attributes:
        kind: `root`: we are root and choose; `range`: `/etc/subuid` gives us one; `single`: our own uid is root inside,
            and there is no other.
        first_uid, first_gid: of the range in `/etc/subuid` and `/etc/subgid`.
    """

    kind: Kind
    first_uid: int = ROOM_ROOT
    first_gid: int = ROOM_ROOT

    @property
    def many(self) -> bool:
        """Whether a room has users of its own."""
        return self.kind != "single"

    def config(self, slot: int) -> dict[str, int | bool]:
        """What a keeper is told (`_inside.start`)."""
        if self.kind == "root":
            creator = _CREATORS + os.getpid() % 10_000 * 1000 + slot % 1000
            return {"first": ROOM_ROOT, "count": SPAN, "creator": creator, "middle": False, "single": False,
                    "processes": PROCESSES}  # fmt: skip
        many = self.kind == "range"
        # where there is one uid, the limit counts every process of the user on this machine
        processes = PROCESSES if many else PROCESSES + _jail._own_tasks()
        return {"first": int(many), "count": SPAN if many else 1, "creator": 40_000, "middle": True,
                "single": not many, "processes": processes}  # fmt: skip

    def give(self, pid: int) -> None:
        """Write the map of a process's new user namespace.

        Raises:
            SandboxUnavailable: it was refused.
        """
        uid, gid = os.getuid(), os.getgid()
        try:
            if self.kind == "range":
                for tool, own, first in (("newuidmap", uid, self.first_uid), ("newgidmap", gid, self.first_gid)):
                    command = [tool, str(pid), "0", str(own), "1", "1", str(first), str(SPAN)]
                    subprocess.run(command, check=True, capture_output=True, text=True)
            else:
                folder = Path("/proc", str(pid))
                (folder / "setgroups").write_text("deny")
                (folder / "uid_map").write_text(f"0 {uid} 1")
                (folder / "gid_map").write_text(f"0 {gid} 1")
        except subprocess.CalledProcessError as error:
            raise SandboxUnavailable(f"{error.cmd[0]}: {error.stderr.strip()}") from error
        except OSError as error:
            raise SandboxUnavailable(f"a user namespace could not be given its uids: {error}") from error


def identities() -> list[Identity]:
    """Those that could be had, best first; whether they work is found out by doing."""
    if os.geteuid() == 0:
        return [Identity("root")]
    found = []
    uids, gids = _range(Path("/etc/subuid")), _range(Path("/etc/subgid"))
    if uids is not None and gids is not None and shutil.which("newuidmap") and shutil.which("newgidmap"):
        found.append(Identity("range", uids, gids))
    return [*found, Identity("single")]


def _range(path: Path) -> int | None:
    """The first of at least 65,536 ids that a file gives to this user."""
    try:
        names = {str(os.getuid()), pwd.getpwuid(os.getuid()).pw_name}
    except KeyError:
        names = {str(os.getuid())}
    lines = path.read_text(encoding="utf-8").splitlines() if path.is_file() else []
    for words in (line.split(":") for line in lines):
        if len(words) == 3 and words[0] in names and words[2].isdigit() and int(words[2]) >= SPAN:
            return int(words[1])
    return None
