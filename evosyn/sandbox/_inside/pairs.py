"""Who runs checks: a solution process for each program, and a testing process, watched from the zygote.

Checks that are plainly harmless go to one *warm* testing process, which serves one program after the other and keeps
what it compiled; every other check gets a testing process of its own. Where anything unusual happens to the warm one
(it hangs in C code, it dies), it is thrown away and the checks run again in a fresh pair, whose outcome counts.
"""

from __future__ import annotations

import fcntl
import marshal
import os
import select
import signal
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

from evosyn.sandbox._inside import child, rpc, wire
from evosyn.sandbox._inside.ended import Ended, failure

if TYPE_CHECKING:
    from evosyn.sandbox._inside.zygote import Zygote

DONE, PROGRAM_ENDED, TESTING_ENDED = range(3)
"""What `_Warm.run` waits for: the word that the checks are done, the end of the program or of the testing process."""


class Pairs:
    """Runs the checks of a program on one zygote."""

    def __init__(self, zygote: Zygote) -> None:
        self._zygote = zygote
        self._warm: _Warm | None = None

    def supervise(self, items: range, left_s: float, limits: child.JobLimits, body: bytes) -> list[wire.Record]:
        """Run these checks; returns early after a timeout."""
        program, entry_point, checks = marshal.loads(body)
        began = time.monotonic()
        found: list[wire.Record] = []
        while len(found) < len(items):
            start = items.start + len(found)
            left = left_s - (time.monotonic() - began)
            if left <= 0 and found:
                return found + [wire.Record(wire.NOT_RUN, 0.0, b"")] * (items.stop - start)
            stop = start + 1
            while checks[start][2] and stop < items.stop and checks[stop][2]:
                stop += 1
            records, loaded = self._run((program, entry_point), checks[start:stop], limits)
            if not loaded:
                return found + records * (items.stop - start)
            found += records
            if found[-1].code == wire.TIMEOUT:
                break
        return found

    def _run(
        self, program: tuple[str, str], checks: Sequence[rpc.Check], limits: child.JobLimits
    ) -> tuple[list[wire.Record], bool]:
        """Records and True, or the one record of a program that does not load and False."""
        if not checks[0][2]:
            return _fresh_pair(self._zygote, program, checks, limits)
        if self._warm is not None and self._warm.limits[2:] != limits[2:]:
            self._warm.end()
            self._warm = None
        if self._warm is None:
            self._warm = _Warm(self._zygote, limits)
        found = self._warm.run(program, checks, limits)
        if found is None:
            self._warm.end()
            self._warm = None
            return _fresh_pair(self._zygote, program, checks, limits)
        return found


class _Warm:
    """The testing process that stays, seen from the zygote.

    The pipes between it and the programs stay as well; after each program they are emptied and their flags set back,
    when that program is dead, so that it leaves nothing behind for the next.
    """

    def __init__(self, zygote: Zygote, limits: child.JobLimits) -> None:
        self.limits = limits
        self._zygote = zygote
        jobs_r, self._jobs = os.pipe()
        self._done, done_w = os.pipe()
        self._ask, ask_w = os.pipe()
        answer_r, self._answer = os.pipe()
        self._answers = os.dup(answer_r)
        self._records = os.memfd_create("t")
        theirs = (jobs_r, done_w, ask_w, answer_r)

        def work(_: child.Writer) -> None:
            _close(*self._ours[:-1])
            rpc.serve(theirs, self._records, limits, zygote.alarm)

        self._ours = (self._jobs, self._done, self._ask, self._answer, self._answers, self._records)
        self._pid = zygote.fork(limits, self._records, work)
        _close(*theirs)
        zygote.private.update(self._ours)
        zygote.helpers.add(self._pid)

    def end(self) -> None:
        """Kill it and close everything."""
        self._zygote.helpers.discard(self._pid)
        os.kill(self._pid, signal.SIGKILL)
        os.waitpid(self._pid, 0)
        for handle in self._ours:
            self._zygote.private.discard(handle)
            os.close(handle)

    def run(
        self, program: tuple[str, str], checks: Sequence[rpc.Check], limits: child.JobLimits
    ) -> tuple[list[wire.Record], bool] | None:
        """As `_fresh_pair`; None where this process must not be used any more."""
        zygote = self._zygote
        os.ftruncate(self._records, 0)
        os.lseek(self._records, 0, os.SEEK_SET)
        solution_fd = os.memfd_create("s")

        def solve(to: child.Writer) -> None:
            rpc.run_program((self._ask, self._answer), *program, limits, zygote.alarm, to)

        solution = zygote.fork(limits, solution_fd, solve, keep=(self._ask, self._answer))
        try:
            self._send((program[1], checks, limits))
            wall_s, left_s = limits.wall_s, limits.wall_s * (len(checks) + 1)
            ready, seconds = zygote.wait((self._done,), (solution, self._pid), self._records, wall_s, left_s)
            alone, status = os.waitpid(solution, os.WNOHANG)
            if not alone:
                os.kill(solution, signal.SIGKILL)
                status = os.waitpid(solution, 0)[1]
            loading = zygote.records(solution_fd, 1)
            if not self._finished(ready, loading):
                return None
            records = zygote.records(self._records, 1 + len(checks))
        except OSError:  # its pipe is broken
            return None
        finally:
            os.close(solution_fd)
        died = Ended(status, not alone, seconds)
        if not records:
            return _not_loaded(loading, died, limits), False
        records = records[1:]
        if len(records) < len(checks) and not (records and records[-1].code == wire.TIMEOUT):
            records.append(failure(died, limits))
        return records, True

    def _send(self, job: tuple[str, Sequence[rpc.Check], child.JobLimits]) -> None:
        entry_point, checks, limits = job
        frame = marshal.dumps((entry_point, list(checks), tuple(limits)), 2)
        rpc.write_all(self._jobs, len(frame).to_bytes(4, "little") + frame)

    def _finished(self, ready: int | None, loading: Sequence[wire.Record]) -> bool:
        """Bring the testing process to rest now that the program is dead; False where that does not work."""
        if ready == TESTING_ENDED or (ready is None and loading and loading[0].code == wire.OK):
            return False  # it died, or hangs where no alarm reaches it
        if ready != DONE:
            os.kill(self._pid, signal.SIGUSR1)
            ready, _ = self._zygote.wait((self._done,), (self._pid,), self._records, 1.0, 1.0)
            if ready != DONE:
                return False
        os.read(self._done, 1)
        for handle in (self._answers, self._ask):
            fcntl.fcntl(handle, fcntl.F_SETFL, 0)
            poller = select.poll()
            poller.register(handle, select.POLLIN)
            while poller.poll(0):
                os.read(handle, 1 << 16)
        fcntl.fcntl(self._answer, fcntl.F_SETFL, 0)
        return True


def _fresh_pair(
    zygote: Zygote, program: tuple[str, str], checks: Sequence[rpc.Check], limits: child.JobLimits
) -> tuple[list[wire.Record], bool]:
    """Records of a new process pair and True, or the one record of a program that does not load and False."""
    ask_r, ask_w = os.pipe()
    answer_r, answer_w = os.pipe()
    solution_fd, testing_fd = os.memfd_create("s"), os.memfd_create("t")

    def solve(to: child.Writer) -> None:
        _close(ask_w, answer_r, testing_fd)
        rpc.run_program((ask_r, answer_w), *program, limits, zygote.alarm, to)

    def test(to: child.Writer) -> None:
        _close(ask_r, answer_w, solution_fd)
        peer = rpc.Peer(ask_w, answer_r, limits.output_kb * 1024)
        rpc.run_testing(peer, program[1], checks, limits, zygote.alarm, to, rpc.Codes())

    try:
        solution = zygote.fork(limits, solution_fd, solve)
        testing = zygote.fork(limits, testing_fd, test)
        _close(ask_r, ask_w, answer_r, answer_w)
        ended = zygote.watch(testing, testing_fd, limits.wall_s, limits.wall_s * (len(checks) + 1))
        alone, status = os.waitpid(solution, os.WNOHANG)
        if not alone:
            os.kill(solution, signal.SIGKILL)
            status = os.waitpid(solution, 0)[1]
        records = zygote.records(testing_fd, 1 + len(checks))
        loading = zygote.records(solution_fd, 1)
    finally:
        _close(solution_fd, testing_fd)
    died = Ended(status, not alone, ended.seconds)
    if not records:
        return _not_loaded(loading, died, limits), False
    records = records[1:]
    if len(records) < len(checks) and not (records and records[-1].code == wire.TIMEOUT):
        if ended.killed:
            records.append(failure(ended, limits))
        elif alone and os.waitstatus_to_exitcode(ended.status) == rpc.EXIT_PEER:
            records.append(failure(died, limits))
        else:
            detail = failure(ended, limits).payload
            records.append(wire.Record(wire.TESTING_BROKEN, ended.seconds, b"the testing " + detail))
    return records, True


def _not_loaded(loading: list[wire.Record], died: Ended, limits: child.JobLimits) -> list[wire.Record]:
    if loading and loading[0].code != wire.OK:
        return loading
    return [failure(died, limits, b"while loading")]


def _close(*handles: int) -> None:
    for handle in handles:
        os.close(handle)
