"""A room on one keeper: opened over a stack of layers, given commands, frozen into a layer."""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from evosyn.jobs import ScriptLanguage, ShellScript
from evosyn.records import Json
from evosyn.worlds.shell.keeping import KeeperLost, KeeperProcess
from evosyn.worlds.shell.states import ShellState, StateStore

OUTPUT_BYTES = 64 << 10
SCRIPT_BYTES = 120_000
"""A script travels as one argument, of which the kernel takes no more."""
ROOM_MB, CELL_MB = 256, 64
INODES = 20_000
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
GUARDED_PATH = "/usr/sbin:/usr/bin:/sbin:/bin:/usr/local/sbin:/usr/local/bin"
"""The image's own programs first: what a solution has put under /usr/local takes no name from them."""
ENVIRONMENT = {
    "PATH": PATH, "HOME": "/root", "USER": "root", "LOGNAME": "root", "SHELL": "/bin/bash",
    "LANG": "C.UTF-8", "TZ": "UTC", "TERM": "dumb",
}  # fmt: skip
CHECKING = {
    **ENVIRONMENT, "PATH": GUARDED_PATH, "PYTHONNOUSERSITE": "1", "GIT_CONFIG_COUNT": "1",
    "GIT_CONFIG_KEY_0": "core.fsmonitor", "GIT_CONFIG_VALUE_0": "false",
}  # fmt: skip
"""Of scripts of cells: programs run nothing of the state that they were not told to."""
GUARDED = {"PYTHONSAFEPATH": "1", "PYTHONPATH": "/dev/python"}
_COLOURS = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]|(?:\x1b\]|\x9d)[^\x07\x1b\x9c]*(?:\x07|\x1b\\|\x9c)?|\x1b[@-Z\\-_]"
)
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")


class RoomLost(Exception):
    """A room is gone, or could not be made."""


class RoomRefused(RoomLost):
    """The room itself could not be laid out over such a state; another try would end the same."""


class Ran(NamedTuple):
    """What a script came to.

    Attributes:
        exit: status, negative for a signal; None where it was over its limits.
        refused: why it could not be started at all.
    """

    exit: int | None
    out: str
    err: str
    seconds: float
    truncated: bool
    refused: str = ""


@dataclass
class Room:
    """An open room. Used by one thread at a time."""

    keeper: KeeperProcess
    store: StateStore
    cwd: str = "/root"

    def open(self, state: ShellState, *, guarded: bool, disk_mb: int, net: bool) -> None:
        """
        Raises:
            RoomLost: it cannot be made.
        """
        names = list(dict.fromkeys(state.layers))
        missing = self._ask({"do": "layers", "names": names})["missing"]
        for name in missing:
            with self.store.layer_file(name) as file:
                self._ask({"do": "layer", "name": name}, file.fileno())
        self._ask(
            {
                "do": "open",
                "layers": names,
                "first": state.first,
                "guarded": guarded,
                "disk_mb": disk_mb,
                "inodes": INODES,
                "net": net,
                "environment": ENVIRONMENT if net else {**CHECKING, **(GUARDED if guarded else {})},
            }
        )

    def run(
        self,
        script: ShellScript,
        arguments: tuple[str, ...] = (),
        *,
        cpu_s: float,
        wall_s: float,
        output: int = OUTPUT_BYTES,
        read: bool = False,
    ) -> Ran:
        """Run a script in a process of its own; nothing of it goes on afterwards.

        Args:
            read: only see whether it can be read: status 0.

        Raises:
            RoomLost: the room is gone.
        """
        words = [word.encode("utf-8", "replace") for word in (script.code, *arguments)]
        if any(len(word) > SCRIPT_BYTES or b"\0" in word for word in words):
            return Ran(None, "", "", 0.0, False, f"a script and an argument have at most {SCRIPT_BYTES} bytes, no NUL")
        started = (_READ if read else _STARTED)[script.language]
        request: dict[str, Json] = {"how": "run", "argv": started, "cpu_s": cpu_s, "stays": False}
        facts, data = self._command(request, b"\0".join(words), wall_s, min(output, OUTPUT_BYTES))
        if "refused" in facts:
            return Ran(None, "", "", 0.0, False, str(facts["refused"]))
        size = facts["sizes"][0]
        out, err = (part.decode("utf-8", "replace") for part in (data[:size], data[size:]))
        return Ran(facts["exit"], out, err, float(facts["seconds"]), bool(facts["truncated"]))

    def act(self, text: str, wall_s: float) -> tuple[Mapping[str, Json], str]:
        """A line for the room's one shell: what `_inside.shell.Shell.act` says, and the output, cleaned.

        Raises:
            RoomLost: the room is gone.
        """
        facts, data = self._command({"how": "act"}, text.encode("utf-8", "replace"), wall_s, OUTPUT_BYTES)
        return facts, cleaned(data)

    def _command(
        self, request: dict[str, Json], text: bytes, wall_s: float, output: int
    ) -> tuple[Mapping[str, Json], bytes]:
        request |= {"do": "command", "wall_s": wall_s, "output": output, "cwd": self.cwd}
        handle = os.memfd_create("command", os.MFD_CLOEXEC)
        try:
            os.write(handle, text)
            os.lseek(handle, 0, os.SEEK_SET)
            reply = self._reply(request, handle, wall_s + 90)
        finally:
            os.close(handle)
        return reply

    def freeze(self) -> str:
        """End every process; the digest of what the room has changed, stored as a layer.

        Raises:
            RoomLost: the room is gone.
            RoomRefused: it is too much to be kept.
        """
        with tempfile.TemporaryFile() as file:
            digest = str(self._ask({"do": "freeze"}, file.fileno())["digest"])
            self.store.keep(file, digest)
        return digest

    def close(self) -> None:
        self._ask({"do": "close"})

    def _ask(self, request: Mapping[str, Json], handle: int | None = None) -> Mapping[str, Json]:
        return self._reply(request, handle, 120)[0]

    def _reply(
        self, request: Mapping[str, Json], handle: int | None, longest_s: float
    ) -> tuple[Mapping[str, Json], bytes]:
        try:
            facts, output = self.keeper.ask(request, handle, longest_s)
        except KeeperLost as error:
            raise RoomLost(f"its keeper is gone: {error}") from error
        if "lost" in facts:
            raise RoomLost(str(facts["lost"]))
        if "error" in facts:
            raise RoomRefused(str(facts["error"]))
        return facts, output


_PYTHON, _BASH = ["python3", "-I", "-S", "-B", "-c"], ["bash", "--noprofile", "--norc", "-p"]
_STARTED: Mapping[ScriptLanguage, list[str]] = {"python": [*_PYTHON, ""], "bash": [*_BASH, "-c", "", "script"]}
_READ: Mapping[ScriptLanguage, list[str]] = {
    "python": [*_PYTHON, "import sys; compile(sys.argv[1], 'script', 'exec')", ""],
    "bash": [*_BASH, "-O", "extglob", "-n", "-c", "", "script"],
}
"""What may be read once it has run (`shopt -s extglob`) is read."""


def cleaned(data: bytes) -> str:
    """Output as text to be read: UTF-8 with replacement, without colours and control characters."""
    text = data.decode("utf-8", "replace").replace("\r\n", "\n")
    return _CONTROL.sub("", _COLOURS.sub("", text))
