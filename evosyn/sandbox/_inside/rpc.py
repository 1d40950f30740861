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
from types import CodeType, FrameType, SimpleNamespace
from typing import Any, TypeAlias

from evosyn.sandbox._inside import child, wire
from evosyn.sandbox._inside.alarm import Alarm, JobLimits, TimeLimit
from evosyn.sandbox._inside.answers import ATTRIBUTE, run_program
from evosyn.sandbox._inside.blame import TESTING, CheckText
from evosyn.sandbox._inside.peer import Gone, NoValue, Peer
from evosyn.sandbox._inside.pipes import EXIT_PEER, PipeReader, write_all

__all__ = ["EXIT_PEER", "Check", "Codes", "Peer", "run_program", "run_testing", "serve"]

KEPT_CHARS = 1 << 20
SAFE_MODULES = frozenset({"math", "cmath", "itertools"})
"""A testing may use these without an import; what a program imports is nothing to it."""
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
    check = CheckText(texts, namespace)
    peer.begin(check)
    status, detail = wire.OK, b"N"
    try:
        alarm.start(alarm.limits, waits=True)
        try:
            check.codes.append(codes.compile(texts[0], "exec"))
            exec(check.codes[0], namespace)
            if texts[1]:
                check.codes.append(codes.compile(texts[1], "eval"))
                eval(check.codes[1], namespace)
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

    Where the program has raised what no testing can have meant, the testing fails for that, however it says so.
    """
    detail = child.describe(error)[1]
    if error is peer.last_error or peer.strange is not None:
        return wire.EXCEPTION, b"program raised " + child.describe(peer.strange or error)[1]
    if isinstance(error, AssertionError):
        return wire.EXCEPTION, b"AssertionError" + detail[14:]
    if peer.calls == 0 or peer.check.is_own(error):
        return wire.TESTING_BROKEN, detail
    return wire.EXCEPTION, b"testing raised " + detail


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
