"""The warm, small, single-threaded process that forks one hardened child per program and reports what became of it.

It never runs or unpickles anything untrusted: programs reach it as bytes and leave it as bytes. It sleeps while a child
works, kills at the deadline, and answers its parent frame by frame. One zygote is one worker slot.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import gc
import marshal
import os
import resource
import select
import signal
import struct
import sys
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, NoReturn

from evosyn.sandbox._inside import child, landlock, pairs, seccomp, stdio, wire
from evosyn.sandbox._inside.ended import RESULT_BYTES, Ended, failure

GRACE_S = 0.2
"""A program that swallows its alarm is killed this long after its time limit."""
LOOK_S = 0.002
"""How often to look whether a child has ended, where no descriptor tells."""
FRAME = struct.Struct("<I")

CALLS, CHECKS, STDIO, HARNESS, SHARE = range(5)


class Zygote:
    """The main loop and the four kinds of job.

    Attributes:
        requests, replies: descriptors of the streams from and to the parent; they may be one.
        private: descriptors that no child may keep.
        helpers: long-lived children, to be ended with us.
    """

    def __init__(self, requests: int, replies: int, config: Mapping[str, Any]) -> None:
        self.requests, self.replies = requests, replies
        self.private = {requests, replies}
        self.helpers: set[int] = set()
        self.held = _confine(config)
        self._filter = seccomp.Filter(config["filter"]) if config["filter"] else None
        self._pid = os.getpid()
        self._has_pidfds = _has_pidfds()
        self._die_with_parent = config["die_with_parent"]  # in a jail, the jail's end is theirs
        self._shared: dict[str, Any] = {}
        self.alarm = child.Alarm()
        self._harnesses: dict[str, Callable[[str, Any, Any], Any]] = {}
        self._pairs = pairs.Pairs(self)

    def serve(self) -> None:
        """Answer jobs until the parent closes the stream."""
        self._send(marshal.dumps({"held": self.held, "pid": os.getpid(), "uid": os.getuid()}, 2))
        gc.collect()
        gc.freeze()
        gc.disable()
        while True:
            frame = self._receive()
            kind, first, stop, left_s, limits, body = marshal.loads(frame)
            reply = self.run(kind, range(first, stop), left_s, child.JobLimits(*limits), body)
            self._send(b"".join([wire.record(*item) for item in reply]))

    def run(self, kind: int, items: range, left_s: float, limits: child.JobLimits, body: bytes) -> list[wire.Record]:
        """The records of these items; fewer than there are where the rest should be asked again."""
        if kind == CALLS:
            return self._calls(items, left_s, limits, body)
        if kind == CHECKS:
            return self._pairs.supervise(items, left_s, limits, body)
        if kind == STDIO:
            return stdio.supervise(self, items, left_s, limits, body)
        if kind == HARNESS:
            return self._harness(limits, body)
        key, pickled = marshal.loads(body)
        import pickle

        self._shared[key] = pickle.loads(pickled)
        gc.freeze()
        return [wire.Record(wire.OK, 0.0, b"N")]

    def fork(
        self,
        limits: child.JobLimits,
        memfd: int,
        work: Callable[[child.Writer], None],
        hold: bool = False,
        most: int = RESULT_BYTES,
        keep: Collection[int] = (),
    ) -> int:
        """Fork a hardened child that does `work` with a writer onto `memfd`; the child never returns.

        Args:
            hold: its writer may keep short records back.
            most: size of any file it writes, bytes.
            keep: private descriptors that this one keeps.
        """
        pid = os.fork()
        if pid:
            return pid
        try:
            for handle in self.private:
                if handle not in keep:
                    os.close(handle)
            if self._die_with_parent:
                child.die_with_parent()
                if os.getppid() != self._pid:  # it has ended already
                    os._exit(0)
            child.harden(limits, most, self._filter)
            work(child.Writer(memfd, limits, hold))
        except MemoryError:
            os._exit(child.EXIT_FULL)
        except child.TimeLimit:
            os._exit(child.EXIT_TIME)
        finally:
            os._exit(0)

    def watch(self, pid: int, memfd: int, wall_s: float, left_s: float) -> Ended:
        """Sleep until the child ends; kill it where no record came for `wall_s` or the job's budget is long over."""
        ready, seconds = self.wait((), (pid,), memfd, wall_s, left_s)
        if ready is None:
            os.kill(pid, signal.SIGKILL)
        return Ended(os.waitpid(pid, 0)[1], ready is None, seconds)

    def wait(
        self, handles: Sequence[int], pids: Sequence[int], memfd: int, wall_s: float, left_s: float
    ) -> tuple[int | None, float]:
        """Sleep until a handle is readable or a child has ended, which is left to be waited for.

        Args:
            memfd: a file whose growth is progress.

        Returns:
            The place in `handles` and then `pids` of the first that is, or None where nothing grew for `wall_s` or
            `left_s` is long over; and the seconds since the last progress.
        """
        watched = [*handles, *self._pidfds(pids)]
        poller = select.poll()
        for handle in watched:
            poller.register(handle, select.POLLIN)
        poller.register(self.requests, 0)
        began = progress = time.monotonic()
        size = 0
        try:
            while True:
                now = time.monotonic()
                until = min(progress + wall_s + GRACE_S, began + left_s + wall_s + 2 * GRACE_S)
                if now >= until:
                    return None, now - progress
                pause = min(until - now, max(wall_s / 8, 0.1)) if self._has_pidfds else LOOK_S
                events = {number for number, _ in poller.poll(max(1.0, pause * 1000))}
                for place, handle in enumerate(watched):
                    if handle in events:
                        return place, time.monotonic() - progress
                if self.requests in events:
                    self._leave(pids)
                if not self._has_pidfds:
                    for place, pid in enumerate(pids):
                        if os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT):
                            return len(handles) + place, time.monotonic() - progress
                grown = os.fstat(memfd).st_size
                if grown != size:
                    size, progress = grown, time.monotonic()
        finally:
            for handle in watched[len(handles) :]:
                os.close(handle)

    def _pidfds(self, pids: Sequence[int]) -> list[int]:
        """A descriptor for each child, readable when it has ended; none where the kernel (old gVisor) has no such."""
        return [os.pidfd_open(pid) for pid in pids] if self._has_pidfds else []

    def _leave(self, pids: Sequence[int]) -> NoReturn:
        """Our parent is gone."""
        for pid in (*pids, *self.helpers):
            os.kill(pid, signal.SIGKILL)
        os._exit(0)

    def records(self, memfd: int, limit: int) -> list[wire.Record]:
        size = min(os.fstat(memfd).st_size, RESULT_BYTES)
        return wire.read_records(os.pread(memfd, size, 0), limit)

    def _calls(self, items: range, left_s: float, limits: child.JobLimits, body: bytes) -> list[wire.Record]:
        began = time.monotonic()
        found: list[wire.Record] = []
        hold = True
        while len(found) < len(items):
            todo, left = items[len(found) :], left_s - (time.monotonic() - began)
            if left <= 0 and found:
                return found + [wire.Record(wire.NOT_RUN, 0.0, b"")] * len(todo)
            memfd = os.memfd_create("r")
            try:
                work = functools.partial(child.run_calls, body, todo, left, limits, self.alarm)
                ended = self.watch(self.fork(limits, memfd, work, hold), memfd, limits.wall_s, left)
                records = self.records(memfd, 1 + len(todo))
            finally:
                os.close(memfd)
            if len(records) == 1 + len(todo):
                return found + records[1:]
            if records and records[0].code != wire.OK:
                return found + [records[0]] * len(todo)
            found += records[1:]
            if len(records) > 1 and records[-1].code == wire.TIMEOUT:
                return found  # the rest is asked again, perhaps of another worker
            if hold:
                hold = False  # what the crash took with it runs again, each record written at once
                continue
            status = os.waitstatus_to_exitcode(ended.status)
            if status in (child.EXIT_BUDGET, child.EXIT_FULL) and len(records) > 1:
                continue
            if not records:
                return found + [failure(ended, limits, b"while loading")] * len(todo)
            found.append(failure(ended, limits))
            if ended.killed:
                return found
        return found

    def _harness(self, limits: child.JobLimits, body: bytes) -> list[wire.Record]:
        source, program, key, argument = marshal.loads(body)
        main = self._harnesses.get(source)
        if main is None:
            main = self._harnesses[source] = child.load(source, "harness")["main"]
            gc.freeze()
        context = None if key is None else self._shared[key]
        memfd = os.memfd_create("r")
        try:
            pid = self.fork(
                limits,
                memfd,
                functools.partial(
                    child.run_harness, functools.partial(main, program, context, argument), limits, self.alarm
                ),
            )
            ended = self.watch(pid, memfd, limits.wall_s, limits.wall_s)
            records = self.records(memfd, 1)
        finally:
            os.close(memfd)
        return records or [failure(ended, limits)]

    def _send(self, frame: bytes) -> None:
        view = memoryview(FRAME.pack(len(frame)) + frame)
        while view:
            view = view[os.write(self.replies, view) :]

    def _receive(self) -> bytes:
        (size,) = FRAME.unpack(self._exactly(FRAME.size))
        return self._exactly(size)

    def _exactly(self, size: int) -> bytes:
        parts = []
        while size:
            part = os.read(self.requests, min(size, 1 << 20))
            if not part:
                os._exit(0)
            parts.append(part)
            size -= len(part)
        return b"".join(parts)


def _has_pidfds() -> bool:
    try:
        os.close(os.pidfd_open(os.getpid()))
    except (AttributeError, OSError):
        return False
    return True


def _confine(config: Mapping[str, Any]) -> list[str]:
    """Limits, identity and Landlock of the zygote itself; the names of what holds."""
    held = []
    for name, value in config["rlimits"].items():
        number = getattr(resource, name)
        hard = resource.getrlimit(number)[1]
        value = value if hard == resource.RLIM_INFINITY else min(value, hard)
        with contextlib.suppress(ValueError, OSError):  # gVisor knows few limits; what holds is seen by the probes
            resource.setrlimit(number, (value, value))
    if seccomp.no_new_privileges() and landlock.restrict(config["readable"], config["writable"]):
        held.append("landlock")
    if _take_uid(config["uids"], config["keep_read"]):
        held.append("own uid")
    if config["die_with_parent"]:
        child.die_with_parent()
    if config["filter"]:
        held.append("seccomp")
    return held


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
            libc.prctl(8, int(keep_read), 0, 0, 0)  # PR_SET_KEEPCAPS
            os.setresuid(uid, uid, uid)
        except OSError:
            continue
        wanted = 1 << 2 if keep_read else 0  # CAP_DAC_READ_SEARCH
        libc.capset(struct.pack("<Ii", 0x20080522, 0), struct.pack("<IIIIII", wanted, wanted, 0, 0, 0, 0))
        return True
    return False


def start(requests: int, replies: int, config: Mapping[str, Any]) -> None:
    """Entry of the boot script: warm up, confine, serve."""
    sys.path[:] = config["path"] + [entry for entry in sys.path if entry not in ("", *config["path"])]
    for name in config["warm"]:
        try:
            __import__(name)
        except ImportError:
            if name == "numpy":
                raise
    own = {handle: os.dup(handle) for handle in {requests, replies}}
    for handle in {*own} - {0, 1, 2}:
        os.close(handle)  # nothing of the stream may be left where a child could find it
    null = os.open("/dev/null", os.O_RDWR)
    for handle in (0, 1, 2):
        os.dup2(null, handle)
    os.close(null)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGPIPE, signal.SIG_IGN)
    if hasattr(signal, "SIGXFSZ"):
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    Zygote(own[requests], own[replies], config).serve()
