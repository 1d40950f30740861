"""How a jail is started: its command line, its environment, and what it is told at the start.

Two kinds of jail: `bwrap` (bubblewrap: namespaces of its own, only the interpreter's files, read-only) and `bare` (no
namespaces; Landlock, the system-call filter and limits alone). As root the jail is built as root and its first process
then takes an unprivileged uid of its own, so that no user namespace is needed and process limits bind.
"""

from __future__ import annotations

import contextlib
import functools
import importlib.util
import itertools
import marshal
import os
import shutil
import socket
import subprocess
import sys
import sysconfig
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from types import CodeType
from typing import Literal

from evosyn.errors import SandboxUnavailable
from evosyn.records import Json
from evosyn.sandbox import _filter
from evosyn.sandbox._inside import landlock
from evosyn.sandbox._inside.child import KEPT
from evosyn.sandbox._inside.hosts import MOST, MOST_HARNESSES

JailKind = Literal["bwrap", "bare"]
MODULES = (
    "colliding", "kinds", "trees", "wire", "seccomp", "landlock", "alarm", "child", "script", "forker", "pipes",
    "objects", "answers", "proxies", "blame", "raised", "peer", "rpc", "work", "results", "remote", "ended",
    "arguments", "hosts", "pairs", "stdio", "supervisor", "boot",
)  # fmt: skip
"""In the order in which they need each other."""
WARM = (
    "math", "re", "collections", "itertools", "functools", "typing", "string", "heapq", "bisect", "copy", "operator",
)  # fmt: skip
FIRST_UID = 2_000_000_000
_started = itertools.count()
"""Jails of this process: each has a user of its own, whose tasks the kernel counts."""
NOBODY = 65534
RLIMITS = {
    "RLIMIT_CORE": 0,
    "RLIMIT_NOFILE": 128,
    "RLIMIT_STACK": 16 << 20,
    "RLIMIT_MEMLOCK": 0,
    "RLIMIT_MSGQUEUE": 0,
}
TASKS = 64 + MOST + MOST_HARNESSES + KEPT
"""Processes and threads of a worker: so many of a program, however many hosts live beside it."""
_DEVICES = ("/dev/null", "/dev/zero", "/dev/random", "/dev/urandom")

BOOT = """
import sys, os, marshal
requests, replies = map(int, sys.argv[1:3])
def read(size):
    data = b""
    while len(data) < size:
        part = os.read(requests, size - len(data))
        if not part:
            os._exit(0)
        data += part
    return data
modules, config = marshal.loads(read(int.from_bytes(read(8), "little")))
kind = type(sys)
for name in ("evosyn", "evosyn.sandbox", "evosyn.sandbox._inside"):
    sys.modules[name] = kind(name)
    sys.modules[name].__path__ = []
package = sys.modules["evosyn.sandbox._inside"]
for name, code in modules:
    full = "evosyn.sandbox._inside." + name
    module = sys.modules[full] = kind(full)
    setattr(package, name, module)
    module.__builtins__ = dict(__builtins__.__dict__)  # a program that patches builtins does not patch ours
    exec(compile(code, name, "exec") if type(code) is str else code, module.__dict__)
package.boot.start(requests, replies, config)
"""


@dataclass(frozen=True)
class JailSpec:
    """What the workers of one sandbox have in common.

    Attributes:
        kind: how they are confined.
        numpy: numpy is imported before the first job.
        hash_seed: PYTHONHASHSEED of the programs, so that set order repeats.
        landlock_abi: use no newer one, as on an older kernel.
    """

    kind: JailKind
    numpy: bool = False
    hash_seed: int = 0
    landlock_abi: int = landlock.NEWEST


def bwrap_path() -> str | None:
    return shutil.which("bwrap")


def spawn(
    spec: JailSpec, enter: Callable[[int], list[str]], slot: int
) -> tuple[subprocess.Popen[bytes], socket.socket]:
    """Start a jail; its first frame says when it is ready. The calling thread must live as long as the jail.

    Raises:
        SandboxUnavailable: it could not be started at all.
    """
    ours, theirs = socket.socketpair()
    try:
        process = subprocess.Popen(
            [*enter(slot), *_command(spec, theirs.fileno())],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            env=environment(spec.hash_seed, numpy=spec.numpy),
            cwd="/",
            pass_fds=(theirs.fileno(),),
            start_new_session=True,
        )
    except OSError as error:
        ours.close()
        raise SandboxUnavailable(f"the sandbox process could not be started: {error}") from error
    finally:
        theirs.close()
    blob = boot_blob(_config(spec), same_python=True)
    with contextlib.suppress(OSError):  # it died at once; the missing first frame tells
        ours.sendall(blob)
    ours.setblocking(False)
    return process, ours


def launcher(
    spec: JailSpec, enter: Callable[[int], list[str]] = lambda _slot: []
) -> Callable[[int], tuple[subprocess.Popen[bytes], socket.socket]]:
    """Starts workers of this kind.

    Args:
        enter: the beginning of the command line of a slot's worker, such as `Memory.enter`.
    """
    return functools.partial(spawn, spec, enter)


def boot_blob(config: Mapping[str, Json], *, same_python: bool) -> bytes:
    """What the boot script reads first: the modules that run inside, and the configuration of the jail.

    Args:
        same_python: it is our interpreter that reads it, so that the modules can go compiled: a fork server that has
            not compiled them is smaller by a sixth, and every fork of it cheaper.
    """
    blob = marshal.dumps((_compiled() if same_python else _sources(), dict(config)), 2)
    return len(blob).to_bytes(8, "little") + blob


def _command(spec: JailSpec, control: int) -> list[str]:
    python = [interpreter(), "-s", "-S", "-P", "-B", "-X", "utf8", "-c", BOOT, str(control), str(control)]
    if spec.kind == "bare":
        return python
    command = [
        bwrap_path() or "bwrap",
        *("--unshare-ipc", "--unshare-pid", "--unshare-net", "--unshare-uts", "--unshare-cgroup-try"),
        *("--die-with-parent", "--new-session", "--hostname", "sandbox", "--cap-drop", "ALL"),
    ]
    if os.geteuid() == 0:
        command += ["--cap-add", "CAP_SETUID", "--cap-add", "CAP_SETGID"]
    else:
        command += ["--unshare-user", "--disable-userns", "--uid", str(NOBODY), "--gid", str(NOBODY)]
    for top in ("/lib", "/lib64", "/lib32"):
        path = Path(top)
        if path.is_symlink():
            command += ["--symlink", str(path.readlink()), top]
    bounds = _readable(spec)
    for folder in _parents([*bounds, *_DEVICES]):  # bubblewrap would make them 0700, closed to the uid inside
        command += ["--perms", "0755", "--dir", folder]
    for bound in bounds:
        command += ["--ro-bind", bound, bound]
    for hidden in _hidden():
        command += ["--tmpfs", hidden]
    for device in _DEVICES:
        command += ["--dev-bind", device, device]
    sealed = [word for place in (*_hidden(), "/") for word in ("--remount-ro", place)]
    return [*command, "--dir", "/tmp", "--chdir", "/tmp", *sealed, "--", *python]


def _parents(paths: list[str]) -> list[str]:
    """Every folder above the paths, outermost first."""
    found = {str(parent) for path in paths for parent in Path(path).parents if parent != Path("/")}
    return sorted(folder for folder in found if not Path(folder).is_symlink())


def environment(hash_seed: int, *, numpy: bool) -> dict[str, str]:
    """The whole environment of a jail."""
    found = {"PYTHONHASHSEED": str(hash_seed), "LANG": "C.UTF-8", "HOME": "/tmp", "PATH": "/nonexistent"}
    if numpy:
        found |= {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
    return found


def _config(spec: JailSpec) -> dict[str, Json]:
    root = os.geteuid() == 0
    return {
        "filter": _filter.for_machine(),
        "rlimits": {
            **RLIMITS,
            "RLIMIT_NPROC": TASKS if spec.kind == "bwrap" or root else _own_tasks() + 512,
        },
        "uids": [FIRST_UID + (os.getpid() % 100_000) * 1000 + next(_started) % 1000, NOBODY] if root else [],
        "keep_read": root and spec.kind == "bare" and not all(map(_open_to_all, _readable(spec))),
        "die_with_parent": spec.kind == "bare",
        "dumpable": False,
        "landlock_abi": spec.landlock_abi,
        "readable": [*_readable(spec), *_DEVICES],
        "writable": ["/dev/null"],
        "warm": [*WARM, *(["numpy", "pickle"] if spec.numpy else [])],
        "path": [str(numpy_root())] if spec.numpy else [],
    }


def _open_to_all(path: str) -> bool:
    return all(parent.stat().st_mode & 0o001 for parent in Path(path).parents)


def _own_tasks() -> int:
    """Threads of this user now: the process limit counts them all where there is no user namespace."""
    total = 0
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            if entry.stat().st_uid == os.geteuid():
                total += len(list((entry / "task").iterdir()))
        except OSError:
            continue
    return total


def interpreter() -> str:
    return os.path.realpath(getattr(sys, "_base_executable", None) or sys.executable)


def _readable(spec: JailSpec) -> list[str]:
    """The interpreter, its library and the system's shared libraries: folders and files to be seen read-only."""
    found = [Path(interpreter()), *interpreter_folders()]
    triplet = sysconfig.get_config_var("MULTIARCH") or ""
    for folder in ("/usr/lib64", f"/usr/lib/{triplet}", "/usr/local/lib", "/lib64", f"/lib/{triplet}"):
        if folder.rstrip("/") not in ("/usr/lib", "/lib"):
            found.append(Path(os.path.realpath(folder)))
    found += [Path("/etc/ld.so.cache"), Path("/usr/share/zoneinfo"), Path("/usr/lib/locale")]
    if spec.numpy:
        root = numpy_root()
        found += [root / "numpy", root / "numpy.libs"]
    unique = [path for path in dict.fromkeys(found) if path.exists()]
    return [str(path) for path in unique if not any(parent in unique for parent in path.parents)]


def interpreter_folders() -> list[Path]:
    """The folders of the standard library and, off the system's own places, of the interpreter's shared libraries."""
    prefix = Path(os.path.realpath(sys.base_prefix))
    folders = [Path(sysconfig.get_path("stdlib")), Path(sysconfig.get_path("platstdlib"))]
    return folders if str(prefix) == "/usr" else [prefix / "lib", *folders]


def _hidden() -> list[str]:
    """Folders of installed packages below what is bound: programs see the standard library only."""
    stdlib = Path(sysconfig.get_path("stdlib"))
    folders = [stdlib / "site-packages", stdlib / "dist-packages"]
    return [str(folder) for folder in folders if folder.is_dir()]


def numpy_root() -> Path:
    spec = importlib.util.find_spec("numpy")
    if spec is None or spec.origin is None:
        raise SandboxUnavailable("numpy workers were asked for, but numpy is not installed")
    return Path(spec.origin).resolve().parent.parent


@functools.cache
def _sources() -> list[tuple[str, str]]:
    folder = resources.files("evosyn.sandbox._inside")
    return [(name, (folder / f"{name}.py").read_text(encoding="utf-8")) for name in MODULES]


@functools.cache
def _compiled() -> list[tuple[str, CodeType]]:
    return [(name, compile(text, name, "exec", optimize=2)) for name, text in _sources()]
