"""What a sandbox holds on this machine, found out by trying: canary programs attempt what must not work.

Nothing is read from settings: a kernel may offer less than it says. The result is cached for the process.
"""

from __future__ import annotations

import os
import secrets
import socket
import tempfile
from pathlib import Path
from typing import Literal

from evosyn.jobs import Call, CallsJob, Limits, Protection, Status
from evosyn.sandbox import _jail
from evosyn.sandbox._worker import Launch
from evosyn.sandbox.local import LocalSandbox

VERSION = "local-1"

_CANARIES = """
import os, sys

def network(port):
    import socket
    try:
        socket.create_connection(("127.0.0.1", port), 1).close()
    except OSError:
        return True
    return False

def datagrams(port):
    import socket
    try:
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b"x", ("127.0.0.1", port))
    except OSError:
        return True
    return False

def read_file(path):
    try:
        return not open(path, "rb").read()
    except OSError:
        return True

def write_file(path):
    try:
        open(path, "w").write("x")
    except OSError:
        return True
    return False

def fork(_):
    try:
        pid = os.fork()
    except OSError:
        return True
    if pid == 0:
        os._exit(0)
    os.waitpid(pid, 0)
    return False

def execute(_):
    try:
        os.execv("/bin/true", ["true"])
    except OSError:
        return True

def signals(pid):
    try:
        os.kill(pid, 0)
    except OSError:
        return True
    return False

def environment(name):
    return name not in os.environ

def own_uid(uid):
    return os.getuid() != uid and os.getuid() != 0

def processes(pid):
    try:
        open("/proc/%d/status" % pid).read()
    except OSError:
        return True
    return False

def memory(_):
    try:
        bytearray(2 << 30)
    except MemoryError:
        return True
    return False

def time_limit(_):
    try:
        while True:
            len("x")
    except BaseException:
        pass
    while True:
        len("x")

def canary(name, argument):
    return globals()[name](argument)
"""
_NAMES = {
    "network": "no TCP",
    "datagrams": "no UDP",
    "read_file": "host files cannot be read",
    "write_file": "host files cannot be written",
    "fork": "no new processes",
    "execute": "no other programs",
    "signals": "no signals to us",
    "environment": "our environment is not visible",
    "own_uid": "a uid of its own",
    "processes": "our processes are not visible",
    "memory": "memory limit",
    "time_limit": "time limit, also for a program that catches it",
}
_NEEDED = ("network", "datagrams", "read_file", "write_file", "fork", "execute", "signals", "environment", "memory")
_cache: dict[tuple[str, str], Protection] = {}


def protection_of(kind: _jail.JailKind) -> Protection:
    """The protection that local workers of this kind give here.

    Raises:
        SandboxUnavailable: such workers do not start.
    """
    return protection_from("local", kind, VERSION, _jail.launcher(_jail.JailSpec(kind)), own_view=kind == "bwrap")


def protection_from(backend: str, kind: str, version: str, launch: Launch, *, own_view: bool) -> Protection:
    """The protection that workers started like this give here.

    Args:
        kind: what tells them apart from others of the backend; the answer is kept for it.
        own_view: they have namespaces of their own, so that they count as strong where nothing is missing.

    Raises:
        SandboxUnavailable: such workers do not start.
    """
    key = (backend, kind)
    if key not in _cache:
        held = _try(launch)
        lacks = [canary for canary in _NAMES if canary not in held]
        enough = all(canary in held for canary in _NEEDED)
        level: Literal["strong", "medium", "weak"] = "medium" if enough else "weak"
        if enough and own_view and "processes" in held:
            level = "strong"
        _cache[key] = Protection(
            backend, level, version, tuple(_NAMES[name] for name in held), tuple(_NAMES[name] for name in lacks)
        )
    return _cache[key]


def _try(launch: Launch) -> list[str]:
    """The canaries that held."""
    name = f"EVOSYN_CANARY_{secrets.token_hex(4).upper()}"
    unknown = Protection("local", "weak", VERSION)
    with (
        tempfile.TemporaryDirectory() as folder,
        socket.create_server(("127.0.0.1", 0)) as server,
        LocalSandbox(launch, unknown, 1) as sandbox,
    ):
        Path(folder).chmod(0o755)
        secret, target = Path(folder, "secret"), Path(folder, "target")
        secret.write_text("secret")
        secret.chmod(0o644)
        target.write_text("")
        target.chmod(0o666)
        port = server.getsockname()[1]
        arguments = {"network": port, "datagrams": port, "read_file": str(secret), "write_file": str(target)}
        arguments |= {"signals": os.getpid(), "environment": name, "own_uid": os.getuid(), "processes": os.getpid()}
        os.environ[name] = "secret"
        try:
            calls = tuple(Call((canary, arguments.get(canary))) for canary in _NAMES if canary != "time_limit")
            hanging = (Call(("time_limit", None)),)
            outcomes, (hung,) = sandbox.run(
                [
                    CallsJob(_CANARIES, "canary", calls, Limits(wall_s=20.0, budget_s=60.0)),
                    CallsJob(_CANARIES, "canary", hanging, Limits(wall_s=0.1)),
                ]
            )
        finally:
            del os.environ[name]
    held = [call.args[0] for call, outcome in zip(calls, outcomes, strict=True) if outcome.value is True]
    return [*held, "time_limit"] if hung.status is Status.TIMEOUT else held
