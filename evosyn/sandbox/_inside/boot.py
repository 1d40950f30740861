"""The first thing that runs in a jail: warm up, confine, then become fork server and supervisor.

Both are made before the first byte of a job is read; only the supervisor keeps the stream.
"""

from __future__ import annotations

import _socket
import contextlib
import ctypes
import gc
import os
import resource
import signal
import struct
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from evosyn.sandbox._inside import child, forker, landlock, script, seccomp, work
from evosyn.sandbox._inside.alarm import Alarm
from evosyn.sandbox._inside.remote import Remote
from evosyn.sandbox._inside.supervisor import Supervisor

_PR_SET_DUMPABLE, _PR_SET_KEEPCAPS = 4, 8
_M_ARENA_MAX = -8


def start(requests: int, replies: int, config: Mapping[str, Any]) -> None:
    """Entry of the boot script; returns never."""
    sys.path[:] = config["path"] + [entry for entry in sys.path if entry not in ("", *config["path"])]
    for name in config["warm"]:
        try:
            __import__(name)
        except ImportError:
            if name == "numpy":
                raise
    script.prepare()
    own = {handle: os.dup(handle) for handle in {requests, replies}}
    for handle in {*own} - {0, 1, 2}:
        os.close(handle)  # nothing of the stream may be left where a child could find it
    null = os.open("/dev/null", os.O_RDWR)
    for handle in (0, 1):
        os.dup2(null, handle)
    for number in (signal.SIGINT, signal.SIGPIPE, signal.SIGXFSZ):
        signal.signal(number, signal.SIG_IGN)
    _one_heap()
    held = _confine(config)
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


def _one_heap() -> None:
    """Threads of a program share one heap: the GNU C library would reserve 64 MB of addresses for each, and these count
    against its limit."""
    with contextlib.suppress(AttributeError):  # another C library
        ctypes.CDLL(None).mallopt(_M_ARENA_MAX, 1)


def _confine(config: Mapping[str, Any]) -> list[str]:
    """Limits, identity and Landlock of this process and all that come of it; the names of what holds."""
    held = []
    for name, value in config["rlimits"].items():
        number = getattr(resource, name)
        hard = resource.getrlimit(number)[1]
        value = value if hard == resource.RLIM_INFINITY else min(value, hard)
        if name != "RLIMIT_STACK":  # scripts raise it, which costs them address space like all else
            hard = value
        with contextlib.suppress(ValueError, OSError):  # gVisor knows few limits; what holds is seen by the probes
            resource.setrlimit(number, (value, hard))
    places, newest = _places(config["readable"]), config.get("landlock_abi", landlock.NEWEST)
    if seccomp.no_new_privileges() and landlock.restrict(places, config["writable"], newest):
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


def _places(readable: Sequence[str]) -> list[str]:
    """The folders to be read; of "/" (in an image of its own) all but those that show other processes."""
    below = os.listdir("/") if "/" in readable else []  # noqa: PTH208 - no pathlib inside
    return [
        *(f"/{name}" for name in below if name not in ("proc", "sys")),
        *(place for place in readable if place != "/"),
    ]


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
