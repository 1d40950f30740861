"""Arbitrary testing code against a program, each in a process of its own, with only plain data between them.

The testing process never sees the program's memory and decodes its answers with the strict decoder; the program's
process never sees the testing's text. A testing can still claim its own pass, as `assert True` can; testings that are
not plainly harmless get a process pair of their own, so that none can claim or spoil another's. Who forks the processes
and watches them is `pairs`.
"""

from __future__ import annotations

import builtins
import importlib
import marshal
import os
import signal
from collections.abc import Callable, Mapping, Sequence
from types import CodeType, FrameType, SimpleNamespace
from typing import Any, NoReturn, TypeAlias

from evosyn.sandbox._inside import child, wire

EXIT_PEER = 81
KEPT_CHARS = 1 << 20
SAFE_MODULES = frozenset({"math", "cmath", "itertools"})
Check: TypeAlias = tuple[str, str, bool]


class Gone(BaseException):
    """The program has ended; ends the testing, whatever that catches."""


class NoValue(BaseException):
    """The program's answer cannot be handed to the testing; ends the check, whatever the testing catches."""

    def __init__(self, code: int, detail: bytes) -> None:
        super().__init__(code, detail)
        self.code, self.detail = code, detail


class Peer:
    """The testing's side of the pipes.

    Attributes:
        calls: made since the check began.
        last_error: what the program raised last.
        gone: the program has ended, so that nothing will answer.
    """

    def __init__(self, ask: int, answer: int, most: int) -> None:
        self._ask, self._answer, self._most = ask, Reader(answer), most
        self.calls = 0
        self.last_error: BaseException | None = None
        self.gone = False

    def hello(self) -> Any:
        return self._reply()

    def call(self, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        try:
            frame = marshal.dumps((name, args, kwargs), 2)
        except ValueError:
            raise TypeError("an argument of the program is not plain data") from None
        if self.gone:
            raise Gone
        self.calls += 1
        write_all(self._ask, len(frame).to_bytes(4, "little") + frame)
        return self._reply()

    def _reply(self) -> Any:
        code, _, size = wire.RECORD.unpack(self._answer.read(wire.RECORD.size))
        if size > self._most + 1024:
            raise NoValue(wire.OUTPUT_LIMIT, b"%d bytes" % size)
        payload = self._answer.read(size)
        if code == wire.OK:
            try:
                return wire.decode(payload)
            except wire.Malformed as error:
                raise NoValue(wire.NOT_PLAIN, str(error).encode()) from None
        if code != wire.EXCEPTION:
            raise NoValue(code, payload[:400])
        self.last_error = _exception(payload[:400].decode("utf-8", "replace"))
        raise self.last_error


def _exception(text: str) -> BaseException:
    """An exception of the named builtin type, or of a new type of that name."""
    name, _, message = text.partition(": ")
    kind = getattr(builtins, name, None)
    if isinstance(kind, type) and issubclass(kind, BaseException) and not issubclass(kind, MemoryError):
        try:
            return kind(message)
        except TypeError:
            pass
    made: type[Exception] = type(name if name.isidentifier() else "ProgramError", (Exception,), {})
    return made(message)


class Names(dict[str, Any]):
    """Builtins of a testing, which find the program's other functions and harmless modules by name as well.

    Of a module there is a new copy each time, so that what a testing does to it reaches no other.
    """

    def __init__(self, peer: Peer, functions: Sequence[str], modules: Mapping[str, str]) -> None:
        super().__init__(builtins.__dict__)
        self._peer, self._functions, self._modules = peer, functions, modules

    def __missing__(self, name: str) -> Any:
        if name in self._functions:
            return proxy(self._peer, name)
        if self._modules.get(name) in SAFE_MODULES:
            return SimpleNamespace(**vars(importlib.import_module(self._modules[name])))
        raise KeyError(name)


def proxy(peer: Peer, name: str) -> Callable[..., Any]:
    def call(*args: Any, **kwargs: Any) -> Any:
        return peer.call(name, args, kwargs)

    call.__name__ = call.__qualname__ = name or "candidate"
    return call


class Codes:
    """Compiled texts, kept; emptied when there are many."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, str], CodeType] = {}
        self._chars = 0

    def compile(self, text: str, mode: str) -> CodeType:
        """The code of a text; whatever `compile` raises passes through."""
        found = self._known.get((text, mode))
        if found is None:
            found = compile(text, "<testing>", mode, dont_inherit=True)
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
    limits: child.JobLimits,
    alarm: child.Alarm,
    to: child.Writer,
    codes: Codes,
) -> None:
    """Wait for the program, then run each check; a record each, after one for the loading."""
    functions, modules = peer.hello()
    names = Names(peer, functions, modules)
    to.put(wire.OK, 0.0, b"")
    alarm.wall_s = limits.wall_s
    for code, call, _ in checks:
        namespace: dict[str, Any] = {"__name__": "testing", "__builtins__": names}
        namespace[entry_point.rpartition(".")[2]] = namespace["candidate"] = proxy(peer, "")
        if not _check(peer, namespace, (code, call), codes, alarm, to):
            return


def _check(
    peer: Peer,
    namespace: dict[str, Any],
    texts: tuple[str, str],
    codes: Codes,
    alarm: child.Alarm,
    to: child.Writer,
) -> bool:
    peer.calls, peer.last_error = 0, None
    status, detail = wire.OK, b"N"
    try:
        alarm.start(alarm.wall_s)
        try:
            exec(codes.compile(texts[0], "exec"), namespace)
            if texts[1]:
                eval(codes.compile(texts[1], "eval"), namespace)
            alarm.armed = False
        except (child.TimeLimit, Gone):
            raise
        except NoValue as error:
            status, detail = error.code, error.detail
        except BaseException as error:  # noqa: BLE001 - the sandbox boundary
            status, detail = _blame(error, peer)
    except child.TimeLimit:
        to.put(wire.TIMEOUT, alarm.stop(), b"")
        return False
    to.put(status, alarm.stop(), detail)
    return True


def _blame(error: BaseException, peer: Peer) -> tuple[int, bytes]:
    """Whose exception it is: the program's, a failed assertion, or the testing's own."""
    code, detail = child.describe(error)
    if error is peer.last_error:
        return wire.EXCEPTION, b"program raised " + detail
    if code != wire.EXCEPTION:
        return wire.TESTING_BROKEN, detail
    if isinstance(error, AssertionError):
        return wire.EXCEPTION, b"AssertionError" + detail[14:]
    if peer.calls == 0 or isinstance(error, (NameError, SyntaxError, ImportError, SystemExit)):
        return wire.TESTING_BROKEN, detail
    return wire.EXCEPTION, b"testing raised " + detail


def serve(pipes: tuple[int, int, int, int], memfd: int, limits: child.JobLimits, alarm: child.Alarm) -> None:
    """Run harmless checks against one program after the other, until the zygote is gone.

    Args:
        pipes: jobs come in, a byte goes out after each, calls go out, answers come in.
        memfd: where the records go; the zygote empties it between jobs.
        limits: of this process; each job brings its own time limits.
    """
    jobs, done, ask, answer = pipes
    reader, codes = Reader(jobs), Codes()
    peer: Peer | None = None

    def ring(_number: int, _frame: FrameType | None) -> None:
        if peer is not None:
            peer.gone = True
            raise Gone

    signal.signal(signal.SIGUSR1, ring)
    while True:
        size = int.from_bytes(reader.read(4), "little")
        entry_point, checks, own = marshal.loads(reader.read(size))
        limits = child.JobLimits(*own)
        try:
            peer = Peer(ask, answer, limits.output_kb * 1024)
            run_testing(peer, entry_point, checks, limits, alarm, child.Writer(memfd, limits), codes)
            peer = None
        except Gone:
            peer = None
            alarm.stop()
        write_all(done, b"!")


def run_program(
    pipes: tuple[int, int],
    source: str,
    entry_point: str,
    limits: child.JobLimits,
    alarm: child.Alarm,
    to: child.Writer,
) -> None:
    """Load the program, say hello, then answer calls until the testing is gone."""
    ask, answer = pipes
    entry = child.load_guarded(to, alarm, limits.wall_s, source, entry_point)
    if entry is None:
        return
    import sys

    namespace = sys.modules["program"].__dict__
    public = {name: value for name, value in namespace.items() if type(name) is str and name[:1] != "_"}
    functions = [name for name, value in public.items() if callable(value)][:500]
    modules = {name: value.__name__ for name, value in public.items() if type(value) is type(sys)}
    _answer(answer, wire.OK, wire.encode((functions, modules)))
    asked = Reader(ask)
    while True:
        size = int.from_bytes(asked.read(4), "little")
        name, args, kwargs = marshal.loads(asked.read(size))
        try:
            value = wire.encode((namespace[name] if name else entry)(*args, **kwargs))
            if len(value) > limits.output_kb * 1024:
                _answer(answer, wire.OUTPUT_LIMIT, b"%d bytes" % len(value))
            else:
                _answer(answer, wire.OK, value)
        except wire.NotPlain as error:
            _answer(answer, wire.NOT_PLAIN, str(error).encode("utf-8", "replace"))
        except BaseException as error:  # noqa: BLE001 - the sandbox boundary
            _answer(answer, *child.describe(error))


def _answer(handle: int, code: int, payload: bytes) -> None:
    write_all(handle, wire.record(code, 0.0, payload))


def write_all(handle: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        try:
            view = view[os.write(handle, view) :]
        except OSError:
            _gone()


class Reader:
    """Reads exact numbers of bytes from a pipe with few system calls; ends the process where the peer is gone."""

    def __init__(self, handle: int) -> None:
        self._handle = handle
        self._data = b""

    def read(self, size: int) -> bytes:
        while len(self._data) < size:
            part = os.read(self._handle, max(size - len(self._data), 1 << 16))
            if not part:
                _gone()
            self._data += part
        data, self._data = self._data[:size], self._data[size:]
        return data


def _gone() -> NoReturn:
    os._exit(EXIT_PEER)
