"""How a jail is started: its command line, its environment, and what it is told at the start.

Two kinds of jail: `bwrap` (bubblewrap: namespaces of its own, only the interpreter's files, read-only) and `bare` (no
namespaces; Landlock, the system-call filter and limits alone). As root the jail is built as root and its first process
then takes an unprivileged uid of its own, so that no user namespace is needed and process limits bind.
"""

from __future__ import annotations

import contextlib
import functools
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
from evosyn.sandbox.packages import NO_PACKAGES, SHOWN, Packages

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
        packages: what programs see beside the standard library; imported before the first job.
        hash_seed: PYTHONHASHSEED of the programs, so that set order repeats.
        landlock_abi: use no newer one, as on an older kernel.
    """

    kind: JailKind
    packages: Packages = NO_PACKAGES
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
    entering = enter(slot)
    ours, theirs = socket.socketpair()
    try:
        process = subprocess.Popen(
            [*entering, *_command(spec, theirs.fileno())],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            env=environment(spec.hash_seed, packages=bool(spec.packages.named)),
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


def shown(spec: JailSpec) -> list[str]:
    """The paths of the packages as programs find them."""
    return [source if spec.kind == "bare" else f"{SHOWN}/{place}" for place, source in spec.packages.sources()]


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
    bounds = {bound: bound for bound in _readable()}
    bounds |= {f"{SHOWN}/{place}": source for place, source in spec.packages.sources()}
    for folder in _parents([*bounds, *_DEVICES]):  # bubblewrap would make them 0700, closed to the uid inside
        command += ["--perms", "0755", "--dir", folder]
    for place, source in bounds.items():
        command += ["--ro-bind", source, place]
    for hidden in hidden_folders():
        command += ["--tmpfs", hidden]
    if spec.packages.named:  # one may look for the interpreter's libraries from where it was installed
        command += ["--setenv", "LD_LIBRARY_PATH", f"{os.path.realpath(sys.base_prefix)}/lib"]
    for device in _DEVICES:
        command += ["--dev-bind", device, device]
    sealed = [word for place in (*hidden_folders(), "/") for word in ("--remount-ro", place)]
    return [*command, "--dir", "/tmp", "--chdir", "/tmp", *sealed, "--", *python]


def _parents(paths: list[str]) -> list[str]:
    """Every folder above the paths, outermost first."""
    found = {str(parent) for path in paths for parent in Path(path).parents if parent != Path("/")}
    return sorted(folder for folder in found if not Path(folder).is_symlink())


def environment(hash_seed: int, *, packages: bool) -> dict[str, str]:
    """The whole environment of a jail."""
    found = {"PYTHONHASHSEED": str(hash_seed), "LANG": "C.UTF-8", "HOME": "/tmp", "PATH": "/nonexistent"}
    if packages:  # these start no threads when they are imported
        found |= {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
    return found


def _config(spec: JailSpec) -> dict[str, Json]:
    root, bare = os.geteuid() == 0, spec.kind == "bare"
    sources = [source for _, source in spec.packages.sources()]
    readable = [*_readable_parts(), *sources] if bare else [*_readable(), SHOWN]
    return {
        "filter": _filter.for_machine(),
        "rlimits": {
            **RLIMITS,
            "RLIMIT_NPROC": TASKS if spec.kind == "bwrap" or root else _own_tasks() + 512,
        },
        "uids": [FIRST_UID + (os.getpid() % 100_000) * 1000 + next(_started) % 1000, NOBODY] if root else [],
        "keep_read": root and bare and not all(map(_open_to_all, readable)),
        "die_with_parent": bare,
        "dumpable": False,
        "landlock_abi": spec.landlock_abi,
        "readable": [*readable, *_DEVICES],
        "writable": ["/dev/null"],
        "warm": WARM,
        "packages": {one.name: list(one.modules) for one in spec.packages.named},
        "path": list(dict.fromkeys(one.root for one in spec.packages.every)) if bare else [SHOWN],
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


@functools.cache
def _readable() -> tuple[str, ...]:
    """The interpreter, its library and the system's shared libraries: folders and files to be seen read-only."""
    found = [Path(interpreter()), *interpreter_folders()]
    triplet = sysconfig.get_config_var("MULTIARCH") or ""
    for folder in ("/usr/lib64", f"/usr/lib/{triplet}", "/usr/local/lib", "/lib64", f"/lib/{triplet}"):
        if folder.rstrip("/") not in ("/usr/lib", "/lib"):
            found.append(Path(folder))
    found += [Path("/etc/ld.so.cache"), Path("/usr/share/zoneinfo"), Path("/usr/lib/locale")]
    unique = [path for path in dict.fromkeys(map(Path.resolve, found)) if path.exists()]
    return tuple(str(path) for path in unique if not any(parent in unique for parent in path.parents))


def interpreter_folders() -> list[Path]:
    """The folders of the standard library and, off the system's own places, of the interpreter's shared libraries.

    Of the interpreter itself: a virtual environment calls the folder of its own packages one of the platform's library.
    """
    prefix = Path(os.path.realpath(sys.base_prefix))
    base = sysconfig.get_config_var("installed_platbase")
    folders = [Path(sysconfig.get_path("stdlib")), Path(sysconfig.get_path("platstdlib", vars={"platbase": base}))]
    return folders if str(prefix) == "/usr" else [prefix / "lib", *folders]


def own_folders() -> list[str]:
    """Where our own modules are imported from, but for folders of which something is bound."""
    package = str(Path(__file__).parents[1])
    entries = {os.path.realpath(entry): None for entry in (*sys.path, package) if entry and os.access(entry, os.R_OK)}
    standard = {f"{folder.resolve()}/lib-dynload" for folder in interpreter_folders()}
    above = {str(parent) for bound in _readable() for parent in (Path(bound), *Path(bound).parents)}
    above |= {str(folder.resolve()) for folder in interpreter_folders()}
    return [entry for entry in entries if Path(entry).is_dir() and entry not in above | standard]


@functools.cache
def hidden_folders() -> tuple[str, ...]:
    """Folders below what is bound that programs do not see: those of installed packages, and where ours come from."""
    bounds = _readable()
    found = dict.fromkeys([*landlock.installed(bounds), *own_folders()])
    below = [one for one in found if any(one.startswith(f"{bound}/") for bound in bounds)]
    return tuple(one for one in below if not any(one.startswith(f"{other}/") for other in below))


@functools.cache
def _readable_parts() -> tuple[str, ...]:
    """Of `_readable` all but what is hidden, for a jail without a view of its own."""
    return tuple(landlock.around(_readable(), hidden_folders()))


@functools.cache
def _sources() -> list[tuple[str, str]]:
    folder = resources.files("evosyn.sandbox._inside")
    return [(name, (folder / f"{name}.py").read_text(encoding="utf-8")) for name in MODULES]


@functools.cache
def _compiled() -> list[tuple[str, CodeType]]:
    return [(name, compile(text, name, "exec", optimize=2)) for name, text in _sources()]
