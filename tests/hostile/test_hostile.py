"""Every hostile program against every sandbox that works here: the verdict is right and the host is untouched."""

from __future__ import annotations

import contextlib
import importlib.util
import os
import re
import secrets
import socket
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from evosyn.errors import EvosynError
from evosyn.jobs import Call, CallsJob, ItemOutcome, Limits, Protection, Status
from evosyn.ports import Sandbox
from evosyn.sandbox import _image, _jail, open_sandbox
from evosyn.sandbox.local import LocalSandbox
from evosyn.synthesis.domains._compare import same_value

_spec = importlib.util.spec_from_file_location("hostile_cases", Path(__file__).with_name("cases.py"))
assert _spec is not None and _spec.loader is not None
cases = importlib.util.module_from_spec(_spec)
sys.modules["hostile_cases"] = cases
_spec.loader.exec_module(cases)

LIMITS = Limits(wall_s=1.0, budget_s=10.0, memory_mb=400, output_kb=256)
HONEST = "def f(x): return x * 7 + 3"
CALLS = (Call((2,)), Call((5,)))
EXPECTED = (17, 38)


@dataclass
class Host:
    """Things of ours that a program might reach, and what they looked like before."""

    folder: Path
    secret: str = field(default_factory=lambda: secrets.token_hex(16))

    def __post_init__(self) -> None:
        (self.folder / "secret").write_text(self.secret)
        (self.folder / "target").write_text("untouched")
        self.folder.chmod(0o777)
        (self.folder / "secret").chmod(0o644)
        (self.folder / "target").chmod(0o666)
        self.tcp = socket.create_server(("127.0.0.1", 0))
        self.udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.udp.bind(self.tcp.getsockname())
        self.abstract_name = f"evosyn-{secrets.token_hex(6)}"
        self.abstract = socket.socket(socket.AF_UNIX)
        self.abstract.bind("\0" + self.abstract_name)
        self.abstract.listen()
        self.datagram = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        for listening in (self.tcp, self.udp, self.abstract, self.datagram):
            listening.setblocking(False)
        os.environ["EVOSYN_TEST_SECRET"] = self.secret

    def fill(self, program: str) -> str:
        program = program.replace("HOST_SECRET", str(self.folder / "secret")).replace(
            "HOST_TARGET", str(self.folder / "target")
        )
        program = program.replace("HOST_PORT", str(self.tcp.getsockname()[1])).replace(
            "HOST_ABSTRACT", self.abstract_name
        )
        return program.replace("HOST_PID", str(os.getpid()))

    def effects(self) -> list[str]:
        found = []
        if (self.folder / "target").read_text() != "untouched" or len(list(self.folder.iterdir())) != 2:
            found.append("a host file was changed")
        for name, listening in (("TCP", self.tcp), ("abstract socket", self.abstract)):
            with contextlib.suppress(BlockingIOError):
                listening.accept()
                found.append(f"connection by {name}")
        with contextlib.suppress(BlockingIOError):
            self.udp.recv(10)
            found.append("datagram")
        return found

    def close(self) -> None:
        for listening in (self.tcp, self.udp, self.abstract, self.datagram):
            listening.close()


def descendants() -> set[int]:
    parents: dict[int, int] = {}
    for entry in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            fields = (entry / "stat").read_text().rpartition(")")[2].split()
            if fields[0] != "Z":
                parents[int(entry.name)] = int(fields[1])
    found = {os.getpid()}
    while True:
        more = {pid for pid, parent in parents.items() if parent in found} - found
        if not more:
            return found - {os.getpid()}
        found |= more


def strangers() -> set[int]:
    """Processes of the uids that jails take, outside our tree."""
    found = set()
    for entry in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if (entry / "stat").stat().st_uid >= _jail.FIRST_UID:
                found.add(int(entry.name))
    return found - descendants()


def _open(backend: str) -> Sandbox:
    if backend == "docker":
        client = _image.docker_client()
        if not client.images.list(name="evosyn-sandbox"):
            _image.build_from_host(client, "evosyn-sandbox")
        return open_sandbox("docker", workers=1)
    from evosyn.sandbox import _probe

    kind: _jail.JailKind = "bwrap" if backend == "bwrap" else "bare"
    protection = _probe.protection_of(kind)
    return LocalSandbox(_jail.launcher(_jail.JailSpec(kind)), protection, 1)


@pytest.fixture(scope="module", params=["bwrap", "bare", pytest.param("docker", marks=pytest.mark.docker)])
def sandbox(request: pytest.FixtureRequest) -> Iterator[Sandbox]:
    try:
        opened = _open(request.param)
    except EvosynError as error:
        pytest.skip(f"{request.param}: {error}")
    with opened:
        yield opened


@pytest.fixture(scope="module")
def host(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Host]:
    made = Host(tmp_path_factory.mktemp("host"))
    yield made
    made.close()


def word(outcome: ItemOutcome, expected: int) -> str:
    if outcome.status is not Status.OK:
        return outcome.status.value
    return "pass" if same_value(expected, outcome.value) else "wrong"


@pytest.mark.parametrize("case", cases.CASES, ids=lambda case: re.sub(r"[^a-z0-9]+", "-", case.name.lower()))
def test_hostile_program_gets_its_verdict_and_leaves_the_host_alone(case: object, sandbox: Sandbox, host: Host) -> None:
    sandbox.run([CallsJob(HONEST, "f", CALLS)])
    before, outside = len(descendants()), strangers()
    began = time.monotonic()
    (outcomes,) = sandbox.run([CallsJob(host.fill(case.program), "f", CALLS, LIMITS)])
    took = time.monotonic() - began
    words = {word(outcome, expected) for outcome, expected in zip(outcomes, EXPECTED, strict=True)}
    assert words <= case.verdicts, [(outcome.status.value, outcome.detail) for outcome in outcomes]
    for outcome in outcomes:
        assert host.secret not in repr(outcome.value)[:10_000]
        assert host.secret not in outcome.detail
    assert host.effects() == []
    assert took < 4 * LIMITS.wall_s + 20
    (honest,) = sandbox.run([CallsJob(HONEST, "f", CALLS)])
    assert [word(outcome, expected) for outcome, expected in zip(honest, EXPECTED, strict=True)] == ["pass", "pass"]
    assert len(descendants()) <= before
    assert strangers() <= outside


def test_protection_is_strong_enough_to_have_been_opened(sandbox: Sandbox) -> None:
    protection: Protection = sandbox.protection
    assert protection.level in ("strong", "medium")
    assert "no TCP" in protection.holds
    assert "host files cannot be read" in protection.holds
