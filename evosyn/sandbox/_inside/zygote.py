"""The warm, small, single-threaded process that forks one hardened child per program and reports what became of it.

It never runs or unpickles anything untrusted: programs reach it as bytes and leave it as bytes. It sleeps while a child
works, kills at the deadline, and answers its parent frame by frame. One zygote is one worker slot.
"""

from __future__ import annotations

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
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from evosyn.sandbox._inside import child, landlock, rpc, seccomp, wire

GRACE_S = 0.2
"""A program that swallows its alarm is killed this long after its time limit."""
RESULT_BYTES = 32 << 20
"""What one child may write into its result memfd."""
FRAME = struct.Struct("<I")

CALLS, CHECKS, STDIO, HARNESS, SHARE = range(5)


class Ended(NamedTuple):
    """How a child ended: wait status, whether we killed it, and when the last progress was seen."""

    status: int
    killed: bool
    seconds: float


class Zygote:
    """The main loop and the four kinds of job.

    Attributes:
        requests, replies: descriptors of the streams from and to the parent; they may be one.
    """

    def __init__(self, requests: int, replies: int, config: Mapping[str, Any]) -> None:
        self.requests, self.replies = requests, replies
        self.held = _confine(config)
        self._filter = seccomp.Filter(config["filter"]) if config["filter"] else None
        self._shared: dict[str, Any] = {}
        self.alarm = child.Alarm()
        self._harnesses: dict[str, Callable[[str, Any, Any], Any]] = {}

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
            return rpc.supervise(self, items, left_s, limits, body)
        if kind == STDIO:
            return self._stdio(items, left_s, limits, body)
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
    ) -> int:
        """Fork a hardened child that does `work` with a writer onto `memfd`; the child never returns.

        Args:
            hold: its writer may keep short records back.
            most: size of any file it writes, bytes.
        """
        pid = os.fork()
        if pid:
            return pid
        try:
            os.close(self.requests)
            if self.replies != self.requests:
                os.close(self.replies)
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
        poller = select.poll()
        handle = os.pidfd_open(pid)
        poller.register(handle, select.POLLIN)
        poller.register(self.requests, 0)
        began = progress = time.monotonic()
        size, killed = 0, False
        try:
            while True:
                now = time.monotonic()
                until = min(progress + wall_s + GRACE_S, began + left_s + wall_s + 2 * GRACE_S)
                if now >= until:
                    killed = True
                    os.kill(pid, signal.SIGKILL)
                    break
                events = poller.poll(max(1.0, min(until - now, max(wall_s / 8, 0.1)) * 1000))
                if any(number == handle for number, _ in events):
                    break
                if events:
                    os.kill(pid, signal.SIGKILL)
                    os._exit(0)
                grown = os.fstat(memfd).st_size
                if grown != size:
                    size, progress = grown, time.monotonic()
        finally:
            os.close(handle)
        return Ended(os.waitpid(pid, 0)[1], killed, time.monotonic() - progress)

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

    def _stdio(self, items: range, left_s: float, limits: child.JobLimits, body: bytes) -> list[wire.Record]:
        program, inputs = marshal.loads(body)
        memfd = os.memfd_create("r")
        try:
            pid = self.fork(limits, memfd, lambda to: child.compile_program(program, limits, self.alarm, to))
            ended = self.watch(pid, memfd, limits.wall_s, limits.wall_s)
            records = self.records(memfd, 1)
        finally:
            os.close(memfd)
        compiled = records[0] if records else failure(ended, limits, b"while compiling")
        if compiled.code != wire.OK:
            return [compiled] * len(items)
        found: list[wire.Record] = []
        began = time.monotonic()
        for item in items:
            if found and time.monotonic() - began > left_s:
                return found + [wire.Record(wire.NOT_RUN, 0.0, b"")] * (len(items) - len(found))
            found.append(self._run_program(compiled.payload, inputs[item], limits))
            if found[-1].code == wire.TIMEOUT:
                break
        return found

    def _run_program(self, code: bytes, text: bytes, limits: child.JobLimits) -> wire.Record:
        memfd, given, output = os.memfd_create("r"), os.memfd_create("i"), os.memfd_create("o")
        most = limits.output_kb * 1024
        try:
            os.write(given, text)
            os.lseek(given, 0, os.SEEK_SET)

            def work(to: child.Writer) -> None:
                os.dup2(given, 0)
                os.dup2(output, 1)
                os.close(given)
                os.close(output)
                child.run_program(code, self.alarm, limits.wall_s, to)

            pid = self.fork(limits, memfd, work, most=most + 4096)
            ended = self.watch(pid, memfd, limits.wall_s, limits.wall_s)
            records = self.records(memfd, 1)
            size = os.fstat(output).st_size
            if size > most:
                return wire.Record(wire.OUTPUT_LIMIT, ended.seconds, b"limit %d bytes" % most)
            status = os.waitstatus_to_exitcode(ended.status)
            result = records[0] if records else failure(ended, limits)
            if result.code == wire.OK or (not records and status == 0 and not ended.killed):
                return wire.Record(wire.OK, result.seconds, os.pread(output, most, 0))
            return result
        finally:
            os.close(memfd)
            os.close(given)
            os.close(output)

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


def failure(ended: Ended, limits: child.JobLimits, where: bytes = b"") -> wire.Record:
    """The record of an item whose process ended without writing one."""
    if ended.killed:
        return wire.Record(wire.TIMEOUT, ended.seconds, where or b"killed")
    status = os.waitstatus_to_exitcode(ended.status)
    if status == child.EXIT_TIME:
        return wire.Record(wire.TIMEOUT, ended.seconds, where)
    if status == child.EXIT_SETUP:
        return wire.Record(wire.INFRA, 0.0, b"the system-call filter could not be installed")
    if status == child.EXIT_FULL:
        return wire.Record(wire.KILLED, ended.seconds, b"memory or result limit of %d MB" % limits.memory_mb)
    reason = b"ended its process with status %d" % status if status >= 0 else b"signal %d" % -status
    return wire.Record(wire.KILLED, ended.seconds, reason + (b" " + where if where else b""))


def _confine(config: Mapping[str, Any]) -> list[str]:
    """Limits, identity and Landlock of the zygote itself; the names of what holds."""
    held = []
    for name, value in config["rlimits"].items():
        number = getattr(resource, name)
        hard = resource.getrlimit(number)[1]
        value = value if hard == resource.RLIM_INFINITY else min(value, hard)
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
