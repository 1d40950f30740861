"""Arbitrary testing code against a program, each in a process of its own, with only values between them.

The testing process never sees the program's memory and decodes its answers with the strict decoder; the program's
process never sees the testing's text. A testing can still claim its own pass, as `assert True` can; testings that are
not plainly harmless get a process pair of their own, so that none can claim or spoil another's. Who forks the processes
and watches them is `pairs`; what can be asked of a program is `peer`, and how it answers `answers`.
"""

from __future__ import annotations

import builtins
import importlib
import marshal
import signal
from collections.abc import Callable, Sequence
from opcode import opmap
from types import CodeType, FrameType, SimpleNamespace, TracebackType
from typing import Any, TypeAlias

from evosyn.sandbox._inside import child, wire
from evosyn.sandbox._inside.alarm import Alarm, JobLimits, TimeLimit
from evosyn.sandbox._inside.answers import ATTRIBUTE, run_program
from evosyn.sandbox._inside.peer import Gone, NoValue, Peer
from evosyn.sandbox._inside.pipes import EXIT_PEER, PipeReader, write_all

__all__ = ["EXIT_PEER", "Check", "Codes", "Peer", "run_program", "run_testing", "serve"]

KEPT_CHARS = 1 << 20
SAFE_MODULES = frozenset({"math", "cmath", "itertools"})
"""A testing may use these without an import; what a program imports is nothing to it."""
TESTING = "<testing>"
_BUILTINS = dict(builtins.__dict__)  # before `script` adds what scripts have: a testing that calls `exit()` is broken
Check: TypeAlias = tuple[str, str, bool]


class Names(dict[str, Any]):
    """Builtins of a testing, the harmless modules among them, and a way to what the problem says that solutions define.

    Of a module there is a new copy each time, so that what a testing does to it reaches no other.
    """

    def __init__(self, peer: Peer) -> None:
        super().__init__(_BUILTINS)
        self["__solution__"] = lambda name: Defined(peer, str(name))

    def __missing__(self, name: str) -> Any:
        if name in SAFE_MODULES:
            return SimpleNamespace(**vars(importlib.import_module(name)))
        raise KeyError(name)


def proxy(peer: Peer) -> Callable[..., Any]:
    def candidate(*args: Any, **kwargs: Any) -> Any:
        return peer.call("", args, kwargs)

    return candidate


class Defined:
    """What the problem says that solutions define, by its name: a function, or a class and what stands in it."""

    def __init__(self, peer: Peer, name: str) -> None:
        self._peer, self.__name__ = peer, name

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._peer.call(self.__name__, args, kwargs)

    def __getattr__(self, name: str) -> Any:
        if name[:1] == "_":
            raise AttributeError(name)
        return self._peer.ask(ATTRIBUTE, self.__name__, (name,), {})


class Codes:
    """Compiled texts, kept; emptied when there are many."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, str], CodeType] = {}
        self._chars = 0

    def compile(self, text: str, mode: str) -> CodeType:
        """The code of a text; whatever `compile` raises passes through."""
        found = self._known.get((text, mode))
        if found is None:
            found = compile(text.removeprefix(child.BOM), TESTING, mode, dont_inherit=True)
            if self._chars > KEPT_CHARS:
                self._known.clear()
                self._chars = 0
            self._known[text, mode] = found
            self._chars += len(text)
        return found


def run_testing(
    peer: Peer,
    entry_point: str,
    checks: Sequence[Check],
    limits: JobLimits,
    alarm: Alarm,
    to: child.Writer,
    codes: Codes,
) -> None:
    """Wait for the program, then run each check; a record each, after one for the loading."""
    peer.hello()
    names = Names(peer)
    to.put(wire.OK, 0.0, b"")
    alarm.limits = limits
    for code, call, _ in checks:
        if peer.dead is not None:
            to.put(peer.dead[0], 0.0, peer.dead[1])
            continue
        namespace: dict[str, Any] = {"__name__": "testing", "__builtins__": names}
        namespace[entry_point.rpartition(".")[2]] = namespace["candidate"] = proxy(peer)
        if not _check(peer, namespace, (code, call), codes, alarm, to):
            return


def _check(
    peer: Peer,
    namespace: dict[str, Any],
    texts: tuple[str, str],
    codes: Codes,
    alarm: Alarm,
    to: child.Writer,
) -> bool:
    peer.begin(namespace)
    status, detail = wire.OK, b"N"
    try:
        alarm.start(alarm.limits, waits=True)
        try:
            exec(codes.compile(texts[0], "exec"), namespace)
            if texts[1]:
                eval(codes.compile(texts[1], "eval"), namespace)
        except (TimeLimit, Gone):
            raise
        except NoValue:
            pass
        except BaseException as error:  # noqa: BLE001 - the sandbox boundary
            status, detail = _blame(error, peer)
        alarm.disarm()
    except TimeLimit:
        to.put(wire.TIMEOUT, alarm.stop(peer.seconds), b"")
        return False
    if peer.gone:
        raise Gone  # the testing caught it
    status, detail = peer.dead or peer.fixed or (status, detail)
    to.put(status, alarm.stop(peer.seconds), detail)
    return status != wire.TIMEOUT


def _blame(error: BaseException, peer: Peer) -> tuple[int, bytes]:
    """Whose exception it is: the program's, a failed assertion, or the testing's own.

    After a call it is the testing's own only where no value of a program can have had a part in it.
    """
    detail = child.describe(error)[1]
    if error is peer.last_error:
        return wire.EXCEPTION, b"program raised " + detail
    if isinstance(error, AssertionError):
        return wire.EXCEPTION, b"AssertionError" + detail[14:]
    if peer.calls == 0 or _is_in_the_text(error):
        return wire.TESTING_BROKEN, detail
    return wire.EXCEPTION, b"testing raised " + detail


def _is_in_the_text(error: BaseException) -> bool:
    """Whether the testing's own text imports what is not there, or names what it binds nowhere; where it does, what a
    program gave may have led around it."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    if trace is None or trace.tb_frame.f_code.co_filename != TESTING:
        return False
    if isinstance(error, ImportError):
        return trace.tb_frame.f_code.co_code[trace.tb_lasti] in _IMPORTS
    if not isinstance(error, NameError) or isinstance(error, UnboundLocalError) or error.name is None:
        return False
    return error.name not in {*trace.tb_frame.f_code.co_freevars, *_bound(error.__traceback__)}


def _bound(trace: TracebackType | None) -> set[str]:
    """The global names that the testing's text binds, at any time, in the code of a traceback."""
    found: set[str] = set()
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == TESTING:
            found |= _bound_in(trace.tb_frame.f_code)
        trace = trace.tb_next
    return found


def _bound_in(code: CodeType) -> set[str]:
    found, index = set(), 0
    for operation, argument in zip(code.co_code[::2], code.co_code[1::2], strict=True):
        index = index << 8 | argument
        if operation in _BINDING:
            found.add(code.co_names[index])
        index = index if operation == _WIDER else 0
    return found.union(*(_bound_in(one) for one in code.co_consts if isinstance(one, CodeType)))


_BINDING = frozenset(opmap[name] for name in ("STORE_NAME", "STORE_GLOBAL", "DELETE_NAME", "DELETE_GLOBAL"))
_WIDER = opmap["EXTENDED_ARG"]
_IMPORTS = frozenset({opmap["IMPORT_NAME"], opmap["IMPORT_FROM"]})


def serve(pipes: tuple[int, int, int, int], memfd: int, limits: JobLimits, alarm: Alarm) -> None:
    """Run harmless checks against one program after the other, until the supervisor is gone.

    Args:
        pipes: jobs come in, a byte goes out after each, calls go out, answers come in.
        memfd: where the records go; the supervisor empties it between jobs.
        limits: of this process; each job brings its own time limits.
    """
    jobs, done, ask, answer = pipes
    reader, codes = PipeReader(jobs), Codes()
    peer: Peer | None = None

    def ring(_number: int, _frame: FrameType | None) -> None:
        if peer is not None:
            peer.gone = True
            raise Gone

    signal.signal(signal.SIGUSR1, ring)
    while True:
        size = int.from_bytes(reader.read(4), "little")
        entry_point, checks, own = marshal.loads(reader.read(size))
        limits = JobLimits(*own)
        try:
            peer = Peer(ask, answer, limits.output_kb * 1024)
            run_testing(peer, entry_point, checks, limits, alarm, child.Writer(memfd, limits), codes)
            peer = None
        except Gone:
            peer = None
            alarm.stop()
        write_all(done, b"!")
