"""Whole programs over standard input and output: compiled once, then one hardened process for each input.

The process of the first input compiles the program, seals the code in a file of its own before any of it runs, and goes
on to run it; the others start from that code, which passes through nobody's hands but theirs.
"""

from __future__ import annotations

import marshal
import os
import time

from evosyn.sandbox._inside import wire, work
from evosyn.sandbox._inside.alarm import WAITING, JobLimits
from evosyn.sandbox._inside.ended import Ended, failure, for_all
from evosyn.sandbox._inside.forker import Order
from evosyn.sandbox._inside.remote import REPLY_BYTES, Remote, close, is_sealed, new_file
from evosyn.sandbox._inside.results import RESULT_BYTES, Results, believed, charged, hidden


def supervise(remote: Remote, items: range, left_s: float, limits: JobLimits, body: bytes) -> list[wire.Record]:
    """Run the program on these inputs; returns early after a timeout, and when the outputs are large."""
    program, inputs = marshal.loads(body)
    began = time.monotonic()
    found: list[wire.Record] = []
    with _Runs(remote, program, limits) as runs:
        for item in items:
            charged = max(sum([record.seconds for record in found]), (time.monotonic() - began) / WAITING)
            if found and charged > left_s:
                return found + [wire.Record(wire.NOT_RUN, 0.0, b"")] * (len(items) - len(found))
            record = runs.run(inputs[item])
            if runs.code is None:  # it does not compile
                return found + for_all(record, len(items) - len(found))
            found.append(record)
            if record.code == wire.TIMEOUT or sum([len(one.payload) for one in found]) >= REPLY_BYTES:
                break
    return found


class _Runs:
    """The runs of one program.

    Attributes:
        code: a file with the compiled program; None before the first run, and where it does not compile.
    """

    def __init__(self, remote: Remote, program: bytes, limits: JobLimits) -> None:
        self._remote, self._program, self._limits = remote, program, limits
        self._most = limits.output_kb * 1024
        self.code: int | None = None

    def __enter__(self) -> _Runs:
        return self

    def __exit__(self, *_: object) -> None:
        if self.code is not None:
            os.close(self.code)

    def run(self, text: bytes) -> wire.Record:
        """What the program does with this input: its output, or how it failed; compiles it where that is not done."""
        files = [new_file(), new_file(text), new_file()]
        if self.code is not None:
            try:
                return self._outcome(work.RUN, self.code, files, ())
            finally:
                close(*files)
        source, sealed = new_file(self._program), new_file()
        try:
            return self._outcome(work.COMPILE, source, files, (sealed,))
        finally:
            close(*files, source)
            if self.code != sealed:
                close(sealed)

    def _outcome(self, kind: int, given: int, files: list[int], sealed: tuple[int, ...]) -> wire.Record:
        """Of one run.

        Args:
            given: the source, or the sealed code.
            files: for records, input and output.
            sealed: the file to compile into, where that is to be done.
        """
        remote, limits = self._remote, self._limits
        output, results = files[2], Results(files[0], 2 if sealed else 1)
        most = RESULT_BYTES if sealed else self._most + work.OUTPUT_SLACK
        slot = remote.fork(Order(kind, limits, left_s=limits.cpu_s, most=most), (given, *files, *sealed))
        waited = remote.wait((slot,), results, limits, limits.cpu_s)
        exit_ = remote.end(slot)
        made = believed(results.read(), exit_.cpu_s, exit_.wall_s, limits.cpu_s)
        ended = Ended(exit_, max(waited.seconds, hidden(made, exit_.cpu_s)))
        made = charged(made, exit_.cpu_s)
        if sealed:
            if not is_sealed(sealed[0]):
                return made[0] if made else failure(ended, limits, b"while compiling")
            self.code = sealed[0]
            made = made[1:]
        size = os.fstat(output).st_size
        if size > self._most:
            return wire.Record(wire.OUTPUT_LIMIT, ended.seconds, b"limit %d bytes" % self._most)
        result = made[0] if made else failure(ended, limits)
        if result.code == wire.OK or (not made and ended.status == 0 and not ended.killed):
            return wire.Record(wire.OK, result.seconds, os.pread(output, size, 0))
        return result
