"""Arbitrary testing code against a program, each in a process of its own, with only plain data between them.

The testing process never sees the program's memory and decodes its answers with the strict decoder; the program's
process never sees the testing's text. A testing can still claim its own pass, as `assert True` can; testings that are
not plainly harmless get a process pair of their own, so that none can claim or spoil another's.
"""

from __future__ import annotations

import builtins
import importlib
import marshal
import os
import signal
import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NoReturn, TypeAlias

from evosyn.sandbox._inside import child, wire

if TYPE_CHECKING:
    from evosyn.sandbox._inside.zygote import Zygote

EXIT_PEER = 81
SAFE_MODULES = frozenset({"math", "cmath", "itertools"})
Check: TypeAlias = tuple[str, str, bool]


class NoValue(BaseException):
    """The program's answer cannot be handed to the testing; ends the check, whatever the testing catches."""

    def __init__(self, code: int, detail: bytes) -> None:
        super().__init__(code, detail)
        self.code, self.detail = code, detail


class Peer:
    """The testing's side of the pipes."""

    def __init__(self, ask: int, answer: int, most: int) -> None:
        self._ask, self._answer, self._most = ask, Reader(answer), most
        self.calls = 0
        self.last_error: BaseException | None = None

    def hello(self) -> Any:
        return self._reply()

    def call(self, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        try:
            frame = marshal.dumps((name, args, kwargs), 2)
        except ValueError:
            raise TypeError("an argument of the program is not plain data") from None
        self.calls += 1
        _write(self._ask, len(frame).to_bytes(4, "little") + frame)
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
    """Builtins of a testing, which find the program's other functions and harmless modules by name as well."""

    def __init__(self, peer: Peer, functions: Sequence[str], modules: Mapping[str, str]) -> None:
        super().__init__(builtins.__dict__)
        self._peer, self._functions, self._modules = peer, functions, modules

    def __missing__(self, name: str) -> Any:
        if name in self._functions:
            return proxy(self._peer, name)
        if self._modules.get(name) in SAFE_MODULES:
            return importlib.import_module(self._modules[name])
        raise KeyError(name)


def proxy(peer: Peer, name: str) -> Callable[..., Any]:
    def call(*args: Any, **kwargs: Any) -> Any:
        return peer.call(name, args, kwargs)

    call.__name__ = call.__qualname__ = name or "candidate"
    return call


def run_testing(
    peer: Peer,
    entry_point: str,
    checks: Sequence[Check],
    limits: child.JobLimits,
    alarm: child.Alarm,
    to: child.Writer,
) -> None:
    """Wait for the program, then run each check; a record each, after one for the loading."""
    functions, modules = peer.hello()
    names = Names(peer, functions, modules)
    to.put(wire.OK, 0.0, b"")
    alarm.wall_s = limits.wall_s
    for code, call, _ in checks:
        if not _check(peer, names, entry_point, (code, call), alarm, to):
            return


def _check(
    peer: Peer,
    names: Names,
    entry_point: str,
    texts: tuple[str, str],
    alarm: child.Alarm,
    to: child.Writer,
) -> bool:
    peer.calls, peer.last_error = 0, None
    namespace: dict[str, Any] = {"__name__": "testing", "__builtins__": names}
    namespace[entry_point.rpartition(".")[2]] = namespace["candidate"] = proxy(peer, "")
    status, detail = wire.OK, b"N"
    try:
        alarm.start(alarm.wall_s)
        try:
            exec(compile(texts[0], "<testing>", "exec", dont_inherit=True), namespace)
            if texts[1]:
                eval(compile(texts[1], "<testing>", "eval", dont_inherit=True), namespace)
            alarm.armed = False
        except child.TimeLimit:
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
    _write(handle, wire.record(code, 0.0, payload))


def _write(handle: int, data: bytes) -> None:
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


def supervise(zygote: Zygote, items: range, left_s: float, limits: child.JobLimits, body: bytes) -> list[wire.Record]:
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
        records, loaded = _pair(zygote, program, entry_point, checks[start:stop], limits)
        if not loaded:
            return found + records * (items.stop - start)
        found += records
        if found[-1].code == wire.TIMEOUT:
            break
    return found


def _pair(
    zygote: Zygote, program: str, entry_point: str, checks: Sequence[Check], limits: child.JobLimits
) -> tuple[list[wire.Record], bool]:
    """Records of a process pair and True, or the one record of a program that does not load and False."""
    ask_r, ask_w = os.pipe()
    answer_r, answer_w = os.pipe()
    solution_fd, testing_fd = os.memfd_create("s"), os.memfd_create("t")

    def solve(to: child.Writer) -> None:
        _close(ask_w, answer_r, testing_fd)
        run_program((ask_r, answer_w), program, entry_point, limits, zygote.alarm, to)

    def test(to: child.Writer) -> None:
        _close(ask_r, answer_w, solution_fd)
        run_testing(Peer(ask_w, answer_r, limits.output_kb * 1024), entry_point, checks, limits, zygote.alarm, to)

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
    from evosyn.sandbox._inside.zygote import Ended, failure

    died = Ended(status, not alone, ended.seconds)
    if not records:
        if loading and loading[0].code != wire.OK:
            return loading, False
        return [failure(died, limits, b"while loading")], False
    records = records[1:]
    if len(records) < len(checks) and not (records and records[-1].code == wire.TIMEOUT):
        if ended.killed:
            records.append(failure(ended, limits))
        elif alone and os.waitstatus_to_exitcode(ended.status) == EXIT_PEER:
            records.append(failure(died, limits))
        else:
            detail = failure(ended, limits).payload
            records.append(wire.Record(wire.TESTING_BROKEN, ended.seconds, b"the testing " + detail))
    return records, True


def _close(*handles: int) -> None:
    for handle in handles:
        os.close(handle)
