"""A canary that never sings is worth nothing: each falls where nothing protects, and stands where something should."""

from __future__ import annotations

import ctypes
import errno
import io
import json
import os
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from importlib import resources
from pathlib import Path

import pytest

from evosyn.errors import SandboxUnavailable
from evosyn.jobs import Call, CallsJob, Protection
from evosyn.sandbox import _filter, _jail, _probe, _syscalls
from evosyn.sandbox._inside import landlock
from evosyn.sandbox.docker import ContainerStream
from evosyn.sandbox.local import LocalSandbox

PROGRAM = resources.files("evosyn.sandbox").joinpath("_canaries.py").read_text(encoding="utf-8")
RUN = """
import json, sys
names = {}
exec(sys.stdin.readline().encode().decode("unicode_escape"), names)
for line in sys.stdin:
    name, argument = json.loads(line)
    print(json.dumps([name, names["canary"](name, argument)]), flush=True)
"""
CHANGES = ("write_file", "truncate", "rename", "unlink", "mkdir", "metadata")


@pytest.fixture
def victim() -> Iterator[int]:
    """A process of this user that may be looked into."""
    process = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    yield process.pid
    process.communicate(b"\n")


def tracing_is_ours_to_do() -> bool:
    scope = Path("/proc/sys/kernel/yama/ptrace_scope")
    return os.geteuid() == 0 or not scope.exists() or scope.read_text().strip() == "0"


def test_every_canary_falls_where_nothing_protects(victim: int, tmp_path: Path) -> None:
    arguments: dict[str, object] = {"environment": "HOME", "own_uid": os.getuid()}
    arguments["packages"] = _probe.installed_here([])
    arguments |= dict.fromkeys(("signals", "processes", "proc", "trace"), victim)
    for name in (*CHANGES, "read_file"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "target").write_text(name)
        arguments[name] = str(tmp_path / name / "target")
    with socket.create_server(("127.0.0.1", 0)) as server:
        arguments |= dict.fromkeys(("network", "datagrams"), server.getsockname()[1])
        tried = [name for name in _probe.NAMES if name != "time_limit"]
        lines = [
            PROGRAM.encode("unicode_escape").decode(),
            *(json.dumps([name, arguments.get(name)]) for name in tried),
        ]
        done = subprocess.run(
            [sys.executable, "-c", RUN], input="\n".join(lines), capture_output=True, text=True, check=True, timeout=60
        )
    held = {name for name, answer in map(json.loads, done.stdout.splitlines()) if answer is not False}
    assert len(done.stdout.splitlines()) == len(tried)
    assert held <= (set() if tracing_is_ours_to_do() else {"trace", "proc"})


def test_a_canary_that_cannot_do_anything_at_all_is_not_taken_for_one_that_held(tmp_path: Path) -> None:
    """Without a descriptor left nothing can be opened, whatever is allowed."""
    (tmp_path / "target").write_text("")
    ends = "import resource\nresource.setrlimit(resource.RLIMIT_NOFILE, (3, 3))\n"
    command = [sys.executable, "-c", f"{PROGRAM}\n{ends}canary('read_file', {str(tmp_path / 'target')!r})"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert "Too many open files" in done.stderr


def protection(abi: int, monkeypatch: pytest.MonkeyPatch) -> Protection:
    monkeypatch.setattr(_probe, "_cache", {})
    spec = _jail.JailSpec("bare", landlock_abi=abi)
    return _probe.protection_from("local", f"bare-{abi}", "test", _jail.launcher(spec), own_view=False)


needs_landlock = pytest.mark.skipif(landlock.abi() < 1, reason="this kernel has no Landlock")


@needs_landlock
@pytest.mark.parametrize("abi", range(1, landlock.NEWEST + 1))
def test_without_a_jail_everything_needed_holds_on_kernels_with_an_old_landlock(
    abi: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = protection(abi, monkeypatch)
    assert found.level == "medium"
    assert set(found.lacks) <= {_probe.NAMES["own_uid"]}


def test_without_a_jail_and_without_landlock_the_sandbox_is_weak(monkeypatch: pytest.MonkeyPatch) -> None:
    found = protection(0, monkeypatch)
    assert found.level == "weak"
    assert {"host files cannot be read", "host files cannot be written", "host files cannot be cut"} <= set(found.lacks)


@pytest.mark.skipif(_jail.bwrap_path() is None, reason="needs bubblewrap")
def test_in_a_jail_no_place_can_be_written_to_even_without_landlock(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_probe, "_cache", {})
    launch = _jail.launcher(_jail.JailSpec("bwrap", landlock_abi=0))
    found = _probe.protection_from("local", "bwrap-0", "test", launch, own_view=True)
    assert found.level == "strong"
    assert _probe.NAMES["anywhere"] in found.holds


@pytest.mark.parametrize(("limit", "named"), [("-v 900000", "address space"), ("-f 1", "File too large")])
def test_a_canary_that_could_not_be_run_says_why_and_nothing_is_lacking(limit: str, named: str) -> None:
    command = f"ulimit {limit}; exec {sys.executable} -m evosyn sandbox probe"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, timeout=120)
    assert done.returncode == 4 and named in done.stderr, done.stderr
    assert "lacks" not in done.stdout and "bubblewrap" not in done.stderr and "allow-weak" not in done.stderr


@needs_landlock
def test_a_worker_that_could_not_set_up_a_guard_runs_nothing() -> None:
    told = Protection("local", "medium", "test")
    bare, open_ = (_jail.launcher(_jail.JailSpec("bare", landlock_abi=abi)) for abi in (landlock.NEWEST, 0))
    job = CallsJob("def f(): return 1", "f", (Call(),))
    with LocalSandbox(bare, told, 1) as tried:
        assert tried.run([job])[0][0].value == 1 and "landlock" in tried.guards
        assert "RLIMIT_NPROC" in tried.guards
    refused = pytest.raises(SandboxUnavailable, match=r"guard .* could not be set up: landlock")
    with LocalSandbox(open_, told, 1, guards=tried.guards) as opened, refused:
        opened.run([job])


def test_what_a_container_says_before_it_is_ready_is_kept() -> None:
    ours, engine = socket.socketpair()
    words = io.BytesIO()
    stream = ContainerStream(ours, words)
    for part in (b"no such ", b"library"):
        engine.sendall(bytes([2, 0, 0, 0]) + len(part).to_bytes(4, "big") + part)
        with pytest.raises(BlockingIOError):
            stream.recv(100)
    assert words.read() == b"no such library"
    words.close()
    engine.sendall(bytes([2, 0, 0, 0]) + (1).to_bytes(4, "big") + b"x" + bytes([1, 0, 0, 0, 0, 0, 0, 2]) + b"ok")
    assert stream.recv(100) == b"ok"
    engine.close()
    stream.close()


def test_what_python_runs_the_programs_is_part_of_the_version(monkeypatch: pytest.MonkeyPatch) -> None:
    assert protection(landlock.NEWEST, monkeypatch).version == f"test, cpython {sys.version.split()[0]}"


@needs_landlock
@pytest.mark.parametrize(
    ("abi", "call", "lack"),
    [
        (2, "truncate", "host files cannot be cut"),
        (6, "fork", "no new processes"),
        (6, "memfd_create", "no way to the kernel but that of ordinary programs"),
    ],
)
def test_a_hole_in_the_filter_makes_the_sandbox_weak(
    abi: int, call: str, lack: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    numbers = {"truncate": (76, 45), "fork": (57, None), "memfd_create": (319, 279)}
    monkeypatch.setattr(_filter, "ALLOWED", _syscalls.ALLOWED | {call: numbers[call]})
    monkeypatch.setattr(_filter, "WRITING", {name: pair for name, pair in _syscalls.WRITING.items() if name != call})
    if call == "fork":  # the C library forks with clone
        monkeypatch.setitem(_filter._RULES, "clone", _filter.ALLOW)
    _filter.build.cache_clear()
    try:
        found = protection(abi, monkeypatch)
    finally:
        _filter.build.cache_clear()
    assert found.level == "weak"
    assert lack in found.lacks


@needs_landlock
@pytest.mark.parametrize("dumpable", [True, False])
def test_processes_that_could_be_looked_into_make_the_sandbox_weak(
    dumpable: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where `/proc` is readable only the processes themselves stand in the way."""
    ordinary = _jail._config

    def with_proc(spec: _jail.JailSpec) -> dict[str, object]:
        found = ordinary(spec)
        return found | {"readable": [*found["readable"], "/proc"], "dumpable": dumpable}

    monkeypatch.setattr(_jail, "_config", with_proc)
    found = protection(landlock.NEWEST, monkeypatch)
    assert (_probe.NAMES["proc"] in found.lacks) is dumpable
    assert found.level == ("weak" if dumpable else "medium")
    assert _probe.NAMES["processes"] in found.lacks


def test_landlock_refuses_to_open_what_is_not_readable_on_every_abi() -> None:
    """In a process of its own for each: what is restricted stays so."""
    if landlock.abi() < 1:
        pytest.skip("this kernel has no Landlock")
    with tempfile.TemporaryDirectory() as folder:
        open_to_all = Path(folder, "file")
        open_to_all.write_text("x")
        for abi in range(1, landlock.NEWEST + 1):
            pid = os.fork()
            if pid == 0:
                os._exit(_reads(open_to_all, abi))
            assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == errno.EACCES


def _reads(path: Path, abi: int) -> int:
    ctypes.CDLL(None).prctl(38, 1, 0, 0, 0)  # no new privileges
    if landlock.restrict(["/usr"], most=abi) != min(abi, landlock.abi()):
        return 1
    try:
        path.read_text()
    except OSError as error:
        return error.errno or 2
    return 3
