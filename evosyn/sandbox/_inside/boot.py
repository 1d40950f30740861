"""The first thing that runs in a jail: warm up, confine, then become fork server and supervisor.

Both are made before the first byte of a job is read; only the supervisor keeps the stream.
"""

from __future__ import annotations

import _socket
import contextlib
import ctypes
import gc
import marshal
import os
import resource
import signal
import struct
import sys
from collections.abc import Iterable, Mapping, Sequence
from importlib.machinery import FileFinder
from typing import Any

from evosyn.sandbox._inside import child, forker, landlock, script, seccomp, work
from evosyn.sandbox._inside.alarm import Alarm
from evosyn.sandbox._inside.remote import Remote
from evosyn.sandbox._inside.supervisor import FRAME, Supervisor

_CLONE_THREAD = 0x10000
_PACKAGES = "/packages"
_PR_SET_DUMPABLE, _PR_SET_KEEPCAPS = 4, 8
_M_ARENA_MAX = -8


def start(requests: int, replies: int, config: Mapping[str, Any]) -> None:
    """Entry of the boot script; returns never."""
    own = {handle: os.dup(handle) for handle in {requests, replies}}
    for handle in {*own} - {0, 1, 2}:
        os.close(handle)  # nothing of the stream may be left where a child could find it
    null = os.open("/dev/null", os.O_RDWR)
    for handle in (0, 1):
        os.dup2(null, handle)
    for number in (signal.SIGINT, signal.SIGPIPE, signal.SIGXFSZ):
        signal.signal(number, signal.SIG_IGN)
    _one_heap()
    readable = _places(config["readable"], config["path"])
    _find_only(readable)
    sys.path[:] = [*(entry for entry in sys.path if entry), *config["path"]]
    if trouble := _warm(config["warm"], config["packages"]):
        said = marshal.dumps({"trouble": trouble}, 2)
        os.write(own[replies], FRAME.pack(len(said)) + said)
        os._exit(1)
    script.prepare()
    del sys.modules["evosyn"]  # programs import nothing of that name
    held = _confine(config, readable)
    filter_ = seccomp.Filter(config["filter"]) if config["filter"] else None
    root = forker.Boot(filter_, config["die_with_parent"], Alarm(), work.KINDS)
    words = os.dup(2)
    os.dup2(null, 2)  # a failure is told until here, and that of the supervisor, from whom no program comes
    os.close(null)
    gc.collect()
    gc.freeze()
    gc.disable()
    ours, theirs = _socket.socketpair(_socket.AF_UNIX, _socket.SOCK_SEQPACKET)
    server = os.getpid()
    if os.fork():
        for handle in own.values():
            os.close(handle)
        os.close(words)
        ours.close()
        forker.Server(theirs, root).serve()
    theirs.close()
    os.dup2(words, 2)
    os.close(words)
    child.die_with_parent()
    if os.getppid() != server:
        os._exit(0)
    greeting = {"held": held, "pid": os.getpid(), "uid": os.getuid()}
    Supervisor(own[requests], own[replies], Remote(ours, own[requests])).serve(greeting)


def _warm(names: Iterable[str], packages: Mapping[str, Sequence[str]]) -> str:
    """Import what every program finds loaded; why a package cannot be shown, "" where all can."""
    for name in names:
        _imported(name)
    for package, modules in packages.items():
        failed = [said for module in modules if (said := _imported(module))]
        if failed and len(failed) == len(modules):
            return f"the package {package} cannot be shown: its import fails here: {failed[0]}"
        if _threads():
            return f"the package {package} cannot be shown: it starts threads when it is imported"
    if packages:
        _imported("pickle")
    return ""


def _imported(module: str) -> str:
    """Import it; what went wrong, where it does."""
    try:
        __import__(module)
    except BaseException as error:  # noqa: BLE001 - whatever a package does
        return f"{type(error).__name__}: {error}"[:300]
    return ""


def _threads() -> bool:
    """Whether this process has further threads, which a fork would lose."""
    try:
        return len(os.listdir("/proc/self/task")) > 1  # noqa: PTH208 - no pathlib inside
    except OSError:  # the kernel refuses it to a process with threads, and it changes nothing in one without
        return bool(ctypes.CDLL(None).unshare(_CLONE_THREAD) != 0)


def _find_only(readable: Sequence[str]) -> None:
    """Imports find in a folder of which parts alone may be read these parts, and need not list it."""
    kind: Any = FileFinder
    fill = kind._fill_cache

    def filled(finder: Any) -> None:
        above = f"{finder.path}/"
        parts = {place[len(above) :].partition("/")[0] for place in readable if place.startswith(above)}
        if parts:
            finder._path_cache = finder._relaxed_path_cache = parts
        else:
            fill(finder)

    kind._fill_cache = filled
    sys.path_importer_cache.clear()


def _one_heap() -> None:
    """Threads of a program share one heap: the GNU C library would reserve 64 MB of addresses for each, and these count
    against its limit."""
    with contextlib.suppress(AttributeError):  # another C library
        ctypes.CDLL(None).mallopt(_M_ARENA_MAX, 1)


def _confine(config: Mapping[str, Any], readable: Sequence[str]) -> list[str]:
    """Limits, identity and Landlock of this process and all that come of it; the names of what holds."""
    held = []
    for name, value in config["rlimits"].items():
        number = getattr(resource, name)
        hard = resource.getrlimit(number)[1]
        value = value if hard == resource.RLIM_INFINITY else min(value, hard)
        if name != "RLIMIT_STACK":  # scripts raise it, which costs them address space like all else
            hard = value
        with contextlib.suppress(ValueError, OSError):  # gVisor knows few limits
            resource.setrlimit(number, (value, hard))
            held.append(name)
    newest = config.get("landlock_abi", landlock.NEWEST)
    if seccomp.no_new_privileges() and landlock.restrict(readable, config["writable"], newest):
        held.append("landlock")
    if _take_uid(config["uids"], config["keep_read"]):
        held.append("own uid")
    # the memory of the processes here is no file that another of the same user could open
    if ctypes.CDLL(None).prctl(_PR_SET_DUMPABLE, int(config["dumpable"]), 0, 0, 0) == 0 and not config["dumpable"]:
        held.append("undumpable")
    if config["die_with_parent"]:
        child.die_with_parent()
    if config["filter"]:
        held.append("seccomp")
    return held


def _places(readable: Sequence[str], path: Sequence[str]) -> Sequence[str]:
    """The folders to be read; of "/" (in an image of its own) all but those that show other processes, where they are
    not named themselves, and of the packages in it those on this path."""
    if "/" not in readable:
        return readable
    tops = [entry.path for entry in os.scandir("/") if not entry.is_symlink() and entry.name not in ("proc", "sys")]
    packages = [entry.path for entry in os.scandir(_PACKAGES)] if _PACKAGES in tops else []
    about = [entry.path for folder in path for entry in os.scandir(folder) if entry.name.endswith(landlock.METADATA)]
    installed = landlock.installed([top for top in tops if top != _PACKAGES])
    hidden = {*installed, *about, *(folder for folder in packages if folder not in path)}
    return [*landlock.around(tops, hidden), *(one for one in readable if one != "/")]


def _take_uid(uids: Sequence[int], keep_read: bool) -> bool:
    """Become the first of these users that works; True if one did.

    Args:
        keep_read: the interpreter lies below a folder that only root may enter (and there is no jail with a view of
            its own): keep the right to read past permissions. Landlock still confines reading to the interpreter.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    for uid in uids:
        try:
            os.setgroups([])
            os.setresgid(uid, uid, uid)
            libc.prctl(_PR_SET_KEEPCAPS, int(keep_read), 0, 0, 0)
            os.setresuid(uid, uid, uid)
        except OSError:
            continue
        wanted = 1 << 2 if keep_read else 0  # CAP_DAC_READ_SEARCH
        libc.capset(struct.pack("<Ii", 0x20080522, 0), struct.pack("<IIIIII", wanted, wanted, 0, 0, 0, 0))
        return True
    return False
