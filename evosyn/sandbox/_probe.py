"""What a sandbox holds on this machine, found out by trying: canary programs attempt what must not work.

Nothing is read from settings: a kernel may offer less than it says. The result is cached for the process.
"""

from __future__ import annotations

import os
import secrets
import socket
import tempfile
from collections.abc import Mapping, Sequence
from importlib import resources
from pathlib import Path
from typing import Literal, NamedTuple

from evosyn.errors import SandboxUnavailable
from evosyn.jobs import Call, CallsJob, ItemOutcome, Limits, Protection, Status
from evosyn.records import Json
from evosyn.sandbox import _jail
from evosyn.sandbox._inside import landlock
from evosyn.sandbox._worker import Launch
from evosyn.sandbox.local import LocalSandbox

VERSION = "local-2"

NAMES = {
    "network": "no TCP",
    "datagrams": "no UDP",
    "read_file": "host files cannot be read",
    "write_file": "host files cannot be written",
    "truncate": "host files cannot be cut",
    "rename": "host files cannot be renamed or linked",
    "unlink": "host files cannot be removed",
    "mkdir": "no new files or folders",
    "anywhere": "no place that can be written to",
    "metadata": "modes, times and owners of host files cannot be changed",
    "fork": "no new processes",
    "execute": "no other programs",
    "signals": "no signals to other processes",
    "environment": "our environment is not visible",
    "own_uid": "a uid of its own",
    "processes": "our processes are not visible",
    "proc": "memory and environment of other processes cannot be read",
    "trace": "no tracing of other processes",
    "packages": "nothing installed but the packages that were named",
    "calls": "no way to the kernel but that of ordinary programs",
    "memory": "memory limit",
    "maps": "memory limit, also for many maps",
    "time_limit": "time limit, also for a program that catches it",
}
_FILES = ("write_file", "truncate", "rename", "unlink", "mkdir", "metadata")
"""Each gets a folder and a file of its own that anybody may change."""
_OPTIONAL = ("own_uid", "processes", "time_limit")
"""What may be missing from a sandbox that is not weak."""
_PYTHON = "import sys\ndef python(): return f'{sys.implementation.name} {sys.version.split()[0]}'"
_cache: dict[tuple[str, str], Protection] = {}
_seen: set[tuple[str, ...]] = set()
_guards: dict[tuple[str, str], tuple[str, ...]] = {}


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
        SandboxUnavailable: such workers do not start, or a canary could not be run: then nobody knows what they hold.
    """
    key = (backend, kind)
    if key not in _cache:
        held, python, _guards[key] = _try(launch)
        lacks = [canary for canary in NAMES if canary not in held]
        enough = set(lacks) <= set(_OPTIONAL)
        level: Literal["strong", "medium", "weak"] = "medium" if enough else "weak"
        if enough and own_view and "processes" in held:
            level = "strong"
        holds, missing = (tuple(NAMES[name] for name in names) for names in (held, lacks))
        _cache[key] = Protection(backend, level, f"{version}, {python}", holds, missing)
    return _cache[key]


def guards_of(backend: str, kind: str) -> tuple[str, ...]:
    """What workers like those of `protection_from` could set up when they were tried."""
    return _guards[backend, kind]


def with_packages(sandbox: LocalSandbox, shown: Sequence[str]) -> LocalSandbox:
    """The sandbox, once a worker of it was seen to start with its packages and to show no others.

    Raises:
        SandboxUnavailable: naming the package that cannot be shown, or others are seen; the sandbox is closed.
    """
    key = (sandbox.protection.backend, sandbox.protection.programs, *shown)
    if not shown or key in _seen:
        return sandbox
    try:
        call = Call(("packages", installed_here(shown)))
        ((tried,),) = sandbox.run([CallsJob(_canaries(), "canary", (call,), Limits(wall_s=20.0, budget_s=60.0))])
        if tried.value is not True and NAMES["packages"] not in sandbox.protection.lacks:
            why = tried.detail or "another one can be imported, read or listed"
            raise SandboxUnavailable(f"programs would not see the named packages alone: {why}; see docs/sandbox.md")
    except BaseException:
        sandbox.close()
        raise
    _seen.add(key)
    return sandbox


def _canaries() -> str:
    return resources.files("evosyn.sandbox").joinpath("_canaries.py").read_text(encoding="utf-8")


def installed_here(shown: Sequence[str]) -> Json:
    """What is installed here: what its modules are called, and folders and files of which nothing may be seen."""
    folders = dict.fromkeys([*_jail.own_folders(), *landlock.installed(map(str, _jail.interpreter_folders()))])
    entries = [entry for folder in folders for entry in Path(folder).iterdir()]
    modules = (entry.name.partition(".")[0] for entry in entries if entry.suffix in ("", ".py", ".so"))
    unseen = [*folders, __file__, *(str(entry) for entry in entries if entry.name.endswith(landlock.METADATA))]
    names = {name for name in modules if name.isidentifier() and not name.startswith("__")}
    return {"names": sorted({*names, "evosyn"}), "unseen": unseen, "shown": list(shown)}


class _Tried(NamedTuple):
    """The canaries that held, what Python runs them, and what workers could set up for it."""

    held: list[str]
    python: str
    guards: tuple[str, ...]


def _try(launch: Launch) -> _Tried:
    name = f"EVOSYN_CANARY_{secrets.token_hex(4).upper()}"
    unknown = Protection("local", "weak", VERSION)
    with (
        tempfile.TemporaryDirectory() as folder,
        socket.create_server(("127.0.0.1", 0)) as server,
        LocalSandbox(launch, unknown, 1) as sandbox,
    ):
        Path(folder).chmod(0o755)
        targets = {canary: _target(Path(folder, canary)) for canary in (*_FILES, "read_file")}
        port, pid = server.getsockname()[1], os.getpid()
        arguments: dict[str, Json] = {canary: str(target) for canary, target in targets.items()}
        arguments |= {"network": port, "datagrams": port, "environment": name, "own_uid": os.getuid()}
        arguments["packages"] = installed_here([])
        arguments |= dict.fromkeys(("signals", "processes", "proc", "trace"), pid)
        program = _canaries()
        os.environ[name] = "secret"
        try:
            calls = tuple(Call((canary, arguments.get(canary))) for canary in NAMES if canary != "time_limit")
            hanging = (Call(("time_limit", None)),)
            outcomes, (hung,), (python,) = sandbox.run(
                [
                    CallsJob(program, "canary", calls, Limits(wall_s=20.0, budget_s=60.0)),
                    CallsJob(program, "canary", hanging, Limits(wall_s=0.1)),
                    CallsJob(_PYTHON, "python", (Call(),)),
                ]
            )
        finally:
            del os.environ[name]
        asked = [*(str(call.args[0]) for call in calls), "python"]
        _require_ran({**dict(zip(asked, (*outcomes, python), strict=True)), "time_limit": hung})
        guards = sandbox.guards
        changed = {canary for canary, target in targets.items() if not _is_untouched(target)}
    held = [call.args[0] for call, outcome in zip(calls, outcomes, strict=True) if outcome.value is True]
    if hung.status is Status.TIMEOUT:
        held.append("time_limit")
    return _Tried([canary for canary in held if canary not in changed], str(python.value), guards)


def _require_ran(outcomes: Mapping[str, ItemOutcome]) -> None:
    """Raises SandboxUnavailable where a canary was not run to an answer, or to the end that it is about."""
    for name, outcome in outcomes.items():
        if outcome.status is not Status.OK and (name, outcome.status) != ("time_limit", Status.TIMEOUT):
            said = f"{outcome.status}: {outcome.detail}".rstrip(": ")
            raise SandboxUnavailable(f"the canary {name!r} could not be run, so that nobody knows what holds ({said})")


def _target(folder: Path) -> Path:
    """A file in a folder, both for everybody to change."""
    folder.mkdir()
    folder.chmod(0o777)
    target = folder / "target"
    target.write_text(folder.name)
    target.chmod(0o666)
    os.utime(target, (0, 0))
    return target


def _is_untouched(target: Path) -> bool:
    if not target.is_file() or [*target.parent.iterdir()] != [target]:
        return False
    seen = target.stat()
    return target.read_text() == target.parent.name and seen.st_mode & 0o777 == 0o666 and seen.st_mtime == 0
