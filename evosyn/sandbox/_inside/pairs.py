"""Who runs checks: a solution process for each program, and a testing process, watched from the supervisor.

Checks that are plainly harmless go to one *warm* testing process, which serves one program after the other and keeps
what it compiled; every other check gets a testing process of its own. Where anything unusual happens to the warm one
(it hangs in C code, it dies), it is thrown away and the checks run again in a fresh pair, whose outcome counts. The
solution's process never descends from one that saw a check.
"""

from __future__ import annotations

import fcntl
import marshal
import os
import select
import signal
import time
from collections.abc import Sequence

from evosyn.sandbox._inside import rpc, wire, work
from evosyn.sandbox._inside.alarm import WAITING, JobLimits
from evosyn.sandbox._inside.answers import HELLO
from evosyn.sandbox._inside.ended import Ended, failure, for_all
from evosyn.sandbox._inside.forker import Order
from evosyn.sandbox._inside.remote import WORD, Remote, Waited, close, new_file
from evosyn.sandbox._inside.results import RESULT_BYTES, Results, believed, charged

FOREVER_S = 1e6
"""CPU seconds that a warm testing process may use in its life."""
REST_S = 1.0
"""How long a warm testing process may take to come to rest."""


class Pairs:
    """Runs the checks of programs."""

    def __init__(self, remote: Remote) -> None:
        self._remote = remote
        self._warm: _Warm | None = None

    def supervise(self, items: range, left_s: float, limits: JobLimits, body: bytes) -> list[wire.Record]:
        """Run these checks; returns early after a timeout."""
        sources, entry_point, checks = marshal.loads(body)
        began = time.monotonic()
        found: list[wire.Record] = []
        solution = new_file(marshal.dumps((sources, entry_point), 2))
        try:
            while len(found) < len(items):
                start = items.start + len(found)
                spent = max(sum([record.seconds for record in found]), (time.monotonic() - began) / WAITING)
                if spent >= left_s and found:
                    return found + [wire.Record(wire.NOT_RUN, 0.0, b"")] * (items.stop - start)
                stop = start + 1
                while checks[start][2] and stop < items.stop and checks[stop][2]:
                    stop += 1
                made, loaded = self._run(solution, entry_point, checks[start:stop], limits)
                if not loaded:
                    return found + for_all(made[0], items.stop - start)
                found += made
                if found[-1].code == wire.TIMEOUT:
                    break
        finally:
            os.close(solution)
        return found

    def _run(
        self, solution: int, entry_point: str, checks: Sequence[rpc.Check], limits: JobLimits
    ) -> tuple[list[wire.Record], bool]:
        """Records and True, or the one record of a program that does not load and False."""
        if not checks[0][2]:
            return _fresh_pair(self._remote, solution, entry_point, checks, limits)
        if self._warm is not None and self._warm.limits[3:] != limits[3:]:
            self._end_warm(self._warm)
        if self._warm is None:
            self._warm = _Warm(self._remote, limits)
        found = self._warm.run(solution, entry_point, checks, limits)
        if found is None:
            self._end_warm(self._warm)
            return _fresh_pair(self._remote, solution, entry_point, checks, limits)
        return found

    def _end_warm(self, warm: _Warm) -> None:
        warm.end()
        self._warm = None


class _Warm:
    """The testing process that stays.

    The pipes between it and the programs stay as well; after each program they are emptied and their flags set back,
    when that program is dead, so that it leaves nothing behind for the next.
    """

    def __init__(self, remote: Remote, limits: JobLimits) -> None:
        self.limits = limits
        self._remote = remote
        jobs_r, self._jobs = os.pipe()
        self._done, done_w = os.pipe()
        self._ask, ask_w = os.pipe()
        answer_r, self._answer = os.pipe()
        self._answers = os.dup(answer_r)
        self._records = new_file()
        order = Order(work.WARM, limits, left_s=FOREVER_S, most=RESULT_BYTES)
        self._slot = remote.fork(order, (jobs_r, self._records, done_w, ask_w, answer_r))
        close(jobs_r, done_w, ask_w, answer_r)

    def end(self) -> None:
        """Kill it and close everything."""
        self._remote.end(self._slot)
        close(self._jobs, self._done, self._ask, self._answer, self._answers, self._records)

    def run(
        self, solution: int, entry_point: str, checks: Sequence[rpc.Check], limits: JobLimits
    ) -> tuple[list[wire.Record], bool] | None:
        """As `_fresh_pair`; None where this process must not be used any more."""
        remote = self._remote
        os.ftruncate(self._records, 0)
        os.lseek(self._records, 0, os.SEEK_SET)
        results = Results(self._records, 1 + len(checks), wire.OF_TESTINGS)
        before_s = remote.cpu_seconds((self._slot,)) or 0.0
        loads = new_file()
        try:
            order = _order(work.PROGRAM, limits, checks)
            program = remote.fork(order, (solution, loads, self._ask, self._answer))
            both, waited = (program, self._slot), Waited(self._slot, 0.0)
            if self._send(entry_point, checks, limits):
                waited = remote.wait(both, results, limits, order.left_s, word=self._done, before_s=before_s)
            exit_ = remote.end(program)
            loading = Results(loads, 1).read()
        finally:
            os.close(loads)
        if not self._rests(waited.slot, results):
            return None
        died, computed_s = Ended(exit_, waited.seconds), remote.cpu_seconds((self._slot,))
        testing_s = exit_.wall_s if computed_s is None else computed_s - before_s
        made = results.read()
        missing = failure(died, limits, b"" if made else b"while loading")
        return _checked(made, checks, loading, died, testing_s, missing, limits)

    def _send(self, entry_point: str, checks: Sequence[rpc.Check], limits: JobLimits) -> bool:
        """Hand the checks over; False where the process is gone."""
        frame = marshal.dumps((entry_point, list(checks), tuple(limits)), 2)
        view = memoryview(len(frame).to_bytes(4, "little") + frame)
        try:
            while view:
                view = view[os.write(self._jobs, view) :]
        except OSError:
            return False
        return True

    def _rests(self, ready: int | None, results: Results) -> bool:
        """Bring the testing process to rest now that the program is dead; False where that does not work."""
        if ready == self._slot:
            return False  # it died
        if ready != WORD:
            self._remote.ring(self._slot)
            before_s = self._remote.cpu_seconds((self._slot,)) or 0.0
            rest = JobLimits(REST_S, REST_S, REST_S, 0, 0)
            waited = self._remote.wait((self._slot,), results, rest, REST_S, word=self._done, before_s=before_s)
            if waited.slot != WORD:
                return False
        if not os.read(self._done, 1):
            return False
        for handle in (self._answers, self._ask):
            fcntl.fcntl(handle, fcntl.F_SETFL, 0)
            poller = select.poll()
            poller.register(handle, select.POLLIN)
            while any(events & select.POLLIN for _, events in poller.poll(0)) and os.read(handle, 1 << 16):
                pass
        fcntl.fcntl(self._answer, fcntl.F_SETFL, 0)
        return True


def _fresh_pair(
    remote: Remote, solution: int, entry_point: str, checks: Sequence[rpc.Check], limits: JobLimits
) -> tuple[list[wire.Record], bool]:
    """Records of a new process pair and True, or the one record of a program that does not load and False."""
    ask_r, ask_w = os.pipe()
    answer_r, answer_w = os.pipe()
    texts = new_file(marshal.dumps((entry_point, list(checks)), 2))
    loads, judgements = new_file(), new_file()
    try:
        program = remote.fork(_order(work.PROGRAM, limits, checks), (solution, loads, ask_r, answer_w))
        order = _order(work.TESTING, limits, checks)
        testing = remote.fork(order, (texts, judgements, ask_w, answer_r))
        close(ask_r, ask_w, answer_r, answer_w)
        results = Results(judgements, 1 + len(checks), wire.OF_TESTINGS)
        waited = remote.wait((testing,), results, limits, order.left_s, beside=(program,))
        judged = remote.end(testing)
        exit_ = remote.end(program)
        loading, made = Results(loads, 1).read(), results.read()
        died, ended = Ended(exit_, waited.seconds), Ended(judged, waited.seconds)
        where = b"" if made else b"while loading"
        missing = failure(ended, limits, where)
        if ended.status == rpc.EXIT_PEER:
            missing = _left(died, limits, where)
        elif missing.code == wire.KILLED and made and not _is_done(made, checks):
            is_own = not _gets_to_a_call(remote, order, texts)
            blamed = b"the testing " if is_own else b"the testing ended on what the program answered: "
            code = wire.TESTING_BROKEN if is_own else wire.EXCEPTION
            missing = missing._replace(code=code, payload=blamed + missing.payload)
    finally:
        close(texts, loads, judgements)
    return _checked(made, checks, loading, died, judged.cpu_s, missing, limits)


def _left(program: Ended, limits: JobLimits, where: bytes) -> wire.Record:
    """What is said of a program whose testing found nobody at the other end of the pipes."""
    if program.killed and program.status == -signal.SIGKILL:  # by us, afterwards
        return wire.Record(wire.KILLED, program.seconds, b"it closed the pipes to its testing")
    return failure(program._replace(exit=program.exit._replace(alone=True)), limits, where)


def _gets_to_a_call(remote: Remote, order: Order, texts: int) -> bool:
    """Whether a testing that ended its process comes to ask its program for something: there is none now, only its word
    of having been loaded, so that what it does until then is its own; what it does with answers may be the program's
    choice."""
    ask_r, ask_w = os.pipe()
    answer_r, answer_w = os.pipe()
    judgements = new_file()
    try:
        os.write(answer_w, wire.record(wire.OK, 0.0, HELLO))
        close(ask_r, answer_w)
        testing = remote.fork(order, (texts, judgements, ask_w, answer_r))
        close(ask_w, answer_r)
        waited = remote.wait((testing,), Results(judgements, 1), order.limits, order.left_s)
        return Ended(remote.end(testing), waited.seconds).status == rpc.EXIT_PEER
    finally:
        close(judgements)


def _order(kind: int, limits: JobLimits, checks: Sequence[rpc.Check]) -> Order:
    return Order(kind, limits, left_s=limits.cpu_s * (len(checks) + 1), most=RESULT_BYTES)


def _checked(
    made: list[wire.Record],
    checks: Sequence[rpc.Check],
    loading: Sequence[wire.Record],
    died: Ended,
    testing_s: float,
    missing: wire.Record,
    limits: JobLimits,
) -> tuple[list[wire.Record], bool]:
    """What `_fresh_pair` returns.

    Args:
        made: by the testing: that the program has said hello, then a record a check; it cannot see what the program
            computes.
        loading: by the program, of its loading.
        testing_s: CPU seconds of the testing.
        missing: of the first check that has none, unless the one before it ran out of time, or of the loading.
    """
    if not made:
        said = believed(loading, died.exit.cpu_s, died.exit.wall_s, limits.cpu_s)
        return [said[0] if said and said[0].code != wire.OK else missing], False
    computed_s = died.exit.cpu_s + testing_s
    found = believed(made, computed_s, died.exit.wall_s, limits.cpu_s)
    return (charged(found, computed_s) if _is_done(made, checks) else [*found, missing])[1:], True


def _is_done(made: Sequence[wire.Record], checks: Sequence[rpc.Check]) -> bool:
    """Whether a testing has written all that it had to; behind a time that was up it writes nothing."""
    return len(made) > len(checks) or made[-1].code == wire.TIMEOUT
