"""The forked process that runs one untrusted program: limits, filter, time limit, load, calls, records.

Everything here shares a process with the program, which may change any of it; that harms its own results only. Expected
values never come here. It ends with `os._exit`, whatever happens.
"""

from __future__ import annotations

import ctypes
import gc
import marshal
import os
import resource
import sys
from collections.abc import Callable, Mapping
from signal import ITIMER_REAL, SIGALRM, setitimer, signal
from time import monotonic
from types import FrameType, ModuleType
from typing import Any, NamedTuple, TypeVar

from evosyn.sandbox._inside import seccomp, wire

EXIT_FULL, EXIT_BUDGET, EXIT_SETUP, EXIT_TIME = 77, 78, 79, 80
REPEAT_S = 0.05
"""The alarm rings again at this interval, for a program that swallows it."""
HOLD_S, HOLD_BYTES = 0.02, 16384
"""Records are held back for this long, and no more than this."""

Made = TypeVar("Made")
_prctl = ctypes.CDLL(None).prctl


class JobLimits(NamedTuple):
    """`evosyn.jobs.Limits` as it travels."""

    wall_s: float
    budget_s: float
    memory_mb: int
    output_kb: int


class TimeLimit(BaseException):
    """Raised in the program when its time is up."""


class Alarm:
    """The soft time limit of the items of one child. There is one, set up in the zygote and inherited.

    The timer is set once and again only when it rings, for what is left of the running item: a system call per item
    would cost more than most calls of a program do.
    """

    def __init__(self) -> None:
        self.wall_s = 1.0
        self.armed = False
        self.started = 0.0
        self._ends = 0.0
        signal(SIGALRM, self._ring)

    def _ring(self, _number: int, _frame: FrameType | None) -> None:
        if not self.armed:
            self._ends = 0.0
            return
        left = self.started + self.wall_s - monotonic()
        if left > 0.0:
            setitimer(ITIMER_REAL, left, REPEAT_S)
        else:
            self._ends = 0.0
            raise TimeLimit

    def start(self, wall_s: float) -> None:
        """Begin an item; rings no earlier than its end, and again while it goes on."""
        self.wall_s = wall_s
        self.started = monotonic()
        self.armed = True
        if self._ends < self.started:
            self._ends = self.started + wall_s
            setitimer(ITIMER_REAL, wall_s, REPEAT_S)

    def stop(self) -> float:
        """Seconds since the start."""
        self.armed = False
        return monotonic() - self.started


class Writer:
    """Appends records to the result memfd.

    Attributes:
        hold: keep short records back and write them together; what a crash loses is run again with `hold` off.
    """

    def __init__(self, handle: int, limits: JobLimits, hold: bool = False) -> None:
        self._handle = handle
        self._most = limits.output_kb * 1024
        self.hold = hold
        self._held: list[bytes] = []
        self._size = 0
        self._since = monotonic()

    def encode(self, value: Any) -> tuple[int, bytes]:
        """Status code and bytes of a value; may run the program's own code, so this is done under the alarm."""
        kind = type(value)
        if (kind is str or kind is bytes) and len(value) > self._most:  # `in` would ask a metaclass
            return wire.OUTPUT_LIMIT, b"%d characters, limit %d" % (len(value), self._most)
        try:
            payload = wire.encode(value)
        except wire.NotPlain as error:
            return wire.NOT_PLAIN, str(error).encode("utf-8", "replace")[:200]
        if len(payload) > self._most:
            return wire.OUTPUT_LIMIT, b"%d bytes, limit %d" % (len(payload), self._most)
        return wire.OK, payload

    def put(self, code: int, seconds: float, payload: bytes) -> None:
        self._held.append(wire.RECORD.pack(code, seconds, len(payload)) + payload)
        self._size += len(payload)
        if not self.hold or self._size > HOLD_BYTES or monotonic() - self._since > HOLD_S:
            self.flush()

    def flush(self) -> None:
        data = b"".join(self._held)
        self._held.clear()
        self._size = 0
        self._since = monotonic()
        try:
            written = os.write(self._handle, data)
        except OSError:
            written = -1
        if written != len(data):
            os._exit(EXIT_FULL)


def harden(limits: JobLimits, result_bytes: int, filter_: seccomp.Filter | None) -> None:
    """Everything that is set once per child, the system-call filter last."""
    memory = limits.memory_mb << 20
    resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    limit_files(result_bytes)
    if filter_ is not None and not filter_.install():
        os._exit(EXIT_SETUP)
    gc.enable()


def limit_files(size: int) -> None:
    """From now on no file grows beyond `size` bytes."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))


def describe(error: BaseException) -> tuple[int, bytes]:
    """Status code and shortened `Type: message` of what a program raised; may run the program's own code."""
    if isinstance(error, MemoryError):
        return wire.KILLED, b"memory limit"
    name = type(error).__name__
    try:
        text = str(error)
    except TimeLimit:
        raise
    except BaseException:  # noqa: BLE001 - the sandbox boundary
        text = ""
    if type(name) is not str or type(text) is not str:
        name, text = "Exception", ""
    return wire.EXCEPTION, f"{name[:80]}: {text[:300]}".rstrip(": ").encode("utf-8", "backslashreplace")


def load(source: str, name: str) -> dict[str, Any]:
    """Compile and execute a program as a module of its own; whatever it raises passes through."""
    module = ModuleType(name)
    sys.modules[name] = module
    code = compile(source, "<program>", "exec", dont_inherit=True)
    exec(code, module.__dict__)
    return module.__dict__


def find_entry(namespace: Mapping[str, Any], entry_point: str) -> Callable[..., Any] | None:
    """The function of that name; `Class.method` makes an instance first."""
    head, _, rest = entry_point.partition(".")
    found = namespace.get(head)
    if rest and isinstance(found, type):
        found = getattr(found(), rest, None)
    return found if callable(found) else None


def load_guarded(
    writer: Writer, alarm: Alarm, wall_s: float, source: str, entry_point: str
) -> Callable[..., Any] | None:
    """Load under the alarm and write the load record; None where there is nothing to call."""

    def work() -> Callable[..., Any] | None:
        return find_entry(load(source, "program"), entry_point)

    return _guarded(work, b"while loading", entry_point.encode("utf-8", "replace")[:200], alarm, wall_s, writer)


def compile_guarded(body: bytes, alarm: Alarm, wall_s: float, writer: Writer) -> bytes | None:
    """Compile a program under the alarm, run nothing of it, write a record; its code, or None where it does not."""

    def work() -> bytes:
        return marshal.dumps(compile(marshal.loads(body), "<program>", "exec", dont_inherit=True))

    return _guarded(work, b"while compiling", b"", alarm, wall_s, writer)


def _guarded(
    work: Callable[[], Made | None], what: bytes, missing: bytes, alarm: Alarm, wall_s: float, writer: Writer
) -> Made | None:
    """What `work` makes, under the alarm and with a record; None, and NO_ENTRY, where that is None."""
    made = None
    code, detail = wire.OK, b""
    try:
        alarm.start(wall_s)
        try:
            made = work()
            if made is None:
                code, detail = wire.NO_ENTRY, missing
        except TimeLimit:
            raise
        except BaseException as error:  # noqa: BLE001 - the sandbox boundary
            code, detail = describe(error)
            code = wire.LOAD_ERROR if code == wire.EXCEPTION else code
    except TimeLimit:
        code, detail = wire.TIMEOUT, what
    writer.put(code, alarm.stop(), detail)
    return made if code == wire.OK else None


def run_calls(body: bytes, items: range, left_s: float, limits: JobLimits, alarm: Alarm, writer: Writer) -> None:
    """Load the program, then make these calls; a record each; ends after a timeout."""
    source, entry_point, calls = marshal.loads(body)
    ends = monotonic() + left_s
    entry = load_guarded(writer, alarm, limits.wall_s, source, entry_point)
    if entry is None:
        writer.flush()
        return
    for args, kwargs, python in calls[items.start : items.stop]:
        if not _call(entry, args, kwargs, python, alarm, limits.wall_s, writer):
            break
        if alarm.started > ends:
            writer.flush()
            os._exit(EXIT_BUDGET)
    writer.flush()


def _call(
    entry: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    python: str | None,
    alarm: Alarm,
    wall_s: float,
    to: Writer,
) -> bool:
    """One call and its record; False after a timeout, since what an interrupted call leaves behind is not trusted."""
    blame = wire.EXCEPTION
    try:
        alarm.start(wall_s)
        try:
            if python is not None:
                blame = wire.TESTING_BROKEN
                args, kwargs = arguments(python)
                blame = wire.EXCEPTION
            code, detail = to.encode(entry(*args, **kwargs))
            alarm.armed = False
        except TimeLimit:
            raise
        except BaseException as error:  # noqa: BLE001 - the sandbox boundary
            code, detail = describe(error)
            code = blame if code == wire.EXCEPTION else code
    except TimeLimit:
        to.put(wire.TIMEOUT, alarm.stop(), b"")
        return False
    to.put(code, alarm.stop(), detail)  # disarmed first: never two records for one item
    return True


def arguments(source: str) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Evaluate an expression, or a function body with `return`, to the arguments of a call.

    Raises:
        TypeError: it gave neither a list or tuple nor a dict with names as keys.
    """
    value = evaluate(source)
    if type(value) is dict:
        return (), value
    if type(value) in (list, tuple):
        return tuple(value), {}
    raise TypeError(f"arguments must be a list or a dict, not {type(value).__name__}")


def evaluate(source: str) -> Any:
    """The value of an expression, or of a function body with `return`."""
    namespace: dict[str, Any] = {"__name__": "arguments"}
    try:
        return eval(compile(source.strip(), "<arguments>", "eval", dont_inherit=True), namespace)
    except SyntaxError:
        pass
    import ast

    tree = ast.parse("def arguments():\n    pass", "<arguments>")
    function = tree.body[0]
    assert isinstance(function, ast.FunctionDef)
    function.body = ast.parse(source, "<arguments>").body
    exec(compile(ast.fix_missing_locations(tree), "<arguments>", "exec", dont_inherit=True), namespace)
    return namespace["arguments"]()


def run_program(code: bytes, alarm: Alarm, wall_s: float, writer: Writer) -> None:
    """A whole program over standard input and output; writes one record without the output."""
    status, detail = wire.OK, b""
    try:
        alarm.start(wall_s)
        try:
            module = ModuleType("__main__")
            sys.modules["__main__"] = module
            exec(marshal.loads(code), module.__dict__)
            sys.stdout.flush()
        except TimeLimit:
            raise
        except SystemExit as error:
            status, detail = _exited(error)
        except BaseException as error:  # noqa: BLE001 - the sandbox boundary
            status, detail = describe(error)
    except TimeLimit:
        status, detail = wire.TIMEOUT, b""
    writer.put(status, alarm.stop(), detail)


def _exited(error: SystemExit) -> tuple[int, bytes]:
    sys.stdout.flush()
    if error.code is None or (type(error.code) is int and error.code == 0):
        return wire.OK, b""
    return describe(error)


def run_harness(main: Callable[[], Any], limits: JobLimits, alarm: Alarm, writer: Writer) -> None:
    """`main()` of a harness of ours; one record."""
    try:
        alarm.start(limits.wall_s)
        try:
            code, detail = writer.encode(main())
            alarm.armed = False
        except TimeLimit:
            raise
        except BaseException as error:  # noqa: BLE001 - the sandbox boundary
            code, detail = describe(error)
    except TimeLimit:
        code, detail = wire.TIMEOUT, b""
    writer.put(code, alarm.stop(), detail)


def die_with_parent() -> None:
    """Ask the kernel to kill this process when its parent ends; changing the uid forgets it, so this comes after."""
    _prctl(1, 9, 0, 0, 0)
