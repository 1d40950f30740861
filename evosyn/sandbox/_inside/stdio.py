"""Whole programs over standard input and output: compiled once, then one hardened process for each input.

The process of the first input compiles the program, seals the code in a file of its own before any of it runs, and goes
on to run it; the others start from that code. The files that carry input and output are made once per job and emptied
between runs, when nobody else is left who could hold them.
"""

from __future__ import annotations

import fcntl
import marshal
import os
import time
from typing import TYPE_CHECKING

from evosyn.sandbox._inside import child, wire
from evosyn.sandbox._inside.ended import RESULT_BYTES, failure

if TYPE_CHECKING:
    from evosyn.sandbox._inside.zygote import Zygote

_SEALS = fcntl.F_SEAL_WRITE | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_SEAL
_SLACK = 4096
"""What a program may write beyond its limit, so that it is seen to have done so."""


def supervise(zygote: Zygote, items: range, left_s: float, limits: child.JobLimits, body: bytes) -> list[wire.Record]:
    """Run the program on these inputs; returns early after a timeout."""
    program, inputs = marshal.loads(body)
    began = time.monotonic()
    found: list[wire.Record] = []
    with _Runs(zygote, program, limits) as runs:
        for item in items:
            if found and time.monotonic() - began > left_s:
                return found + [wire.Record(wire.NOT_RUN, 0.0, b"")] * (len(items) - len(found))
            record = runs.run(inputs[item])
            if runs.code is None:  # it does not compile
                return found + [record] * (len(items) - len(found))
            found.append(record)
            if record.code == wire.TIMEOUT:
                break
    return found


class _Runs:
    """The runs of one program. While it is open, descriptors 0 and 1 of the zygote are the program's.

    Attributes:
        code: the compiled program, marshalled; None before the first run, and where it does not compile.
    """

    def __init__(self, zygote: Zygote, program: bytes, limits: child.JobLimits) -> None:
        self._zygote, self._program, self._limits = zygote, program, limits
        self._most = limits.output_kb * 1024
        self.code: bytes | None = None

    def __enter__(self) -> _Runs:
        self._records, self._given, self._output = (os.memfd_create(name) for name in ("r", "i", "o"))
        os.dup2(self._given, 0)
        os.dup2(self._output, 1)
        os.close(self._given)
        os.close(self._output)
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._records)
        os.dup2(2, 0)  # /dev/null, as before
        os.dup2(2, 1)

    def run(self, text: bytes) -> wire.Record:
        """What the program does with this input: its output, or how it failed; compiles it where that is not done."""
        for handle in (0, 1, self._records):
            os.ftruncate(handle, 0)
            os.lseek(handle, 0, os.SEEK_SET)
        os.pwrite(0, text, 0)
        if self.code is not None:
            return self._ended(self.code, None)
        sealed = os.memfd_create("c", os.MFD_ALLOW_SEALING)
        try:
            return self._ended(None, sealed)
        finally:
            os.close(sealed)

    def _ended(self, code: bytes | None, sealed: int | None) -> wire.Record:
        zygote, limits = self._zygote, self._limits

        def work(to: child.Writer) -> None:
            ready = code if sealed is None else self._compile(sealed, to)
            if ready is not None:
                child.run_program(ready, zygote.alarm, limits.wall_s, to)

        pid = zygote.fork(limits, self._records, work, most=self._most + _SLACK if sealed is None else RESULT_BYTES)
        ended = zygote.watch(pid, self._records, limits.wall_s, limits.wall_s)
        records = zygote.records(self._records, 2)
        if sealed is not None:
            if not fcntl.fcntl(sealed, fcntl.F_GET_SEALS) & fcntl.F_SEAL_WRITE:
                return records[0] if records else failure(ended, limits, b"while compiling")
            self.code = os.pread(sealed, os.fstat(sealed).st_size, 0)
            records = records[1:]
        size = os.fstat(1).st_size
        if size > self._most:
            return wire.Record(wire.OUTPUT_LIMIT, ended.seconds, b"limit %d bytes" % self._most)
        result = records[0] if records else failure(ended, limits)
        status = os.waitstatus_to_exitcode(ended.status)
        if result.code == wire.OK or (not records and status == 0 and not ended.killed):
            return wire.Record(wire.OK, result.seconds, os.pread(1, size, 0))
        return result

    def _compile(self, sealed: int, to: child.Writer) -> bytes | None:
        """In the program's process: nothing of the program has run when the code is sealed."""
        ready = child.compile_guarded(self._program, self._zygote.alarm, self._limits.wall_s, to)
        if ready is not None:
            if os.write(sealed, ready) != len(ready):
                os._exit(child.EXIT_FULL)
            fcntl.fcntl(sealed, fcntl.F_ADD_SEALS, _SEALS)
            child.limit_files(self._most + _SLACK)
        os.close(sealed)
        return ready
