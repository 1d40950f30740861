"""A keeper seen from our side: a process in namespaces of its own, and the packets that go to and fro.

What it answers comes from beside hostile rooms; so it is bounded, and read strictly. What runs there is `_inside`.
"""

from __future__ import annotations

import contextlib
import json
import os
import platform
import socket
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, NamedTuple

from evosyn.errors import SandboxUnavailable
from evosyn.records import Json
from evosyn.sandbox import _filter, _jail
from evosyn.worlds.shell.identity import Identity

PACKET = 400_000
START_S = 30.0
STORE_MB = 256
"""Of layers that a keeper has unpacked."""
_BOOT = """
import sys, types
for name in sys.argv[3:]:
    module = sys.modules[name] = types.ModuleType(name)
    module.__path__ = [sys.argv[2] + "/" + name.replace(".", "/")]
from evosyn.worlds.shell._inside import boot
boot.main()
"""
_PACKAGES = (
    *("evosyn", "evosyn.sandbox", "evosyn.sandbox._inside"),
    *("evosyn.worlds", "evosyn.worlds.shell", "evosyn.worlds.shell._inside"),
)


class KeeperLost(Exception):
    """A keeper is gone, or does not answer; whatever it held is gone with it."""


class KeeperReply(NamedTuple):
    """What a keeper answers: facts, and the bytes that a command wrote."""

    facts: Mapping[str, Json]
    output: bytes


@dataclass(frozen=True)
class KeeperSpec:
    """What keepers have in common.

    Attributes:
        image: folder of the image.
        usr: the machine's own programs lie over it.
        build: the image may be written to.
        memory_mb: of a room, to be watched by the keeper; 0 where a control group bounds it.
        consulted: `images.consulted`.
    """

    identity: Identity
    image: Path
    usr: bool = False
    build: bool = False
    memory_mb: int = 0
    consulted: tuple[str, ...] = ()


class KeeperProcess:
    """One keeper. Used by one thread at a time."""

    def __init__(self, spec: KeeperSpec, slot: int, enter: Sequence[str] = ()) -> None:
        """
        Args:
            enter: the beginning of a command line.

        Raises:
            SandboxUnavailable: it does not start here; the message says why.
        """
        self.slot = slot
        self._link, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        root = str(Path(__file__).parents[3])
        command = [_jail.interpreter(), "-I", "-S", "-B", "-c", _BOOT, str(theirs.fileno()), root, *_PACKAGES]
        with theirs:
            self._process = subprocess.Popen(
                [*enter, *command],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                env={"LANG": "C.UTF-8", "PATH": os.defpath},
                cwd="/",
                pass_fds=(theirs.fileno(),),
                start_new_session=True,
            )
        try:
            self._greet(spec, slot)
        except (KeeperLost, OSError) as error:
            words = self._last_words()
            self.kill()
            raise SandboxUnavailable(f"a room could not be made ready: {words or error}") from error
        except BaseException:
            self.kill()
            raise

    def _greet(self, spec: KeeperSpec, slot: int) -> None:
        program = _filter.build_for_rooms(platform.machine()) if platform.machine() in _filter.ARCHITECTURES else b""
        if not program:
            raise SandboxUnavailable(f"rooms are not known on {platform.machine()}: only on x86_64 and aarch64")
        config = {
            **spec.identity.config(slot),
            "image": str(spec.image),
            "usr": "/usr" if spec.usr else None,
            "build": spec.build,
            "consulted": list(spec.consulted),
            "memory_mb": spec.memory_mb,
            "store_mb": STORE_MB,
            "filter": program.decode("latin-1"),
        }
        self._link.settimeout(START_S)
        self._link.send(json.dumps(config).encode())
        said = self._link.recv(PACKET)
        if said.startswith(b"map "):
            spec.identity.give(int(said[4:]))
            self._link.send(b"mapped")
            said = self._link.recv(PACKET)
        if not said:
            raise KeeperLost("it ended")

    def ask(self, request: Mapping[str, Json], handle: int | None = None, longest_s: float = 120.0) -> KeeperReply:
        """Put a request, maybe with an open file, and wait for its answer.

        Raises:
            KeeperLost: there is none.
        """
        try:
            self._link.settimeout(longest_s)
            socket.send_fds(self._link, [json.dumps(request).encode()], [] if handle is None else [handle])
            line, _, output = self._link.recv(PACKET).partition(b"\n")
            facts = json.loads(line)
        except (OSError, ValueError) as error:
            raise KeeperLost(str(error) or "it ended") from error
        if not isinstance(facts, dict):
            raise KeeperLost("it talks nonsense")
        return KeeperReply(facts, output)

    @property
    def pid(self) -> int:
        return self._process.pid

    def _last_words(self) -> str:
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(2)
        self._process.kill()
        stream: IO[bytes] | None = self._process.stderr
        lines = stream.read(8000).decode("utf-8", "replace").strip().splitlines() if stream is not None else []
        return lines[-1] if lines else ""

    def kill(self) -> None:
        """End it and everything in its rooms; waits until it is gone."""
        self._link.close()
        self._process.kill()
        self._process.wait()
        if self._process.stderr is not None:
            self._process.stderr.close()
