"""The forked process that runs one untrusted program: limits, filter, time limit, load, calls, records.

Everything here shares a process with the program, which may change any of it; that harms its own results only. Expected
values never come here. It ends with `os._exit`, whatever happens.
"""

from __future__ import annotations
import __future__

import ctypes
import gc
import itertools
import marshal
import os
import resource
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import CodeType, ModuleType
from typing import Any, NamedTuple, TypeAlias, TypeVar

from evosyn.sandbox._inside import seccomp, trees, wire
from evosyn.sandbox._inside.alarm import Alarm, JobLimits, TimeLimit

EXIT_FULL, EXIT_TIME = 77, 80
BOM = "\ufeff"
"""Python itself skips this at the start of a file."""

_FUTURE = __future__.annotations.compiler_flag

Made = TypeVar("Made")
WayOf: TypeAlias = Callable[[], trees.Way]
_prctl = ctypes.CDLL(None).prctl


class Writer:
    """Appends records to the result memfd, each at once: whatever ends the process, it has lost none."""

    def __init__(self, handle: int, limits: JobLimits) -> None:
        self._handle = handle
        self._most = limits.output_kb * 1024

    def encode(self, value: Any, way_of: WayOf | None = None) -> tuple[int, bytes]:
        """Status code and bytes of a value; may run the program's own code, so this is done under the alarm."""
        kind = type(value)
        if (kind is str or kind is bytes) and len(value) > self._most:  # `in` would ask a metaclass
            return wire.OUTPUT_LIMIT, b"%d characters, limit %d" % (len(value), self._most)
        try:
            payload = wire.encode(value, None if way_of is None else way_of())
        except wire.NotPlain as error:
            return wire.NOT_PLAIN, str(error).encode("utf-8", "replace")[:200]
        if len(payload) > self._most:
            return wire.OUTPUT_LIMIT, b"%d bytes, limit %d" % (len(payload), self._most)
        return wire.OK, payload

    def put(self, code: int, seconds: float, payload: bytes) -> None:
        data = wire.RECORD.pack(code, seconds, len(payload)) + payload
        try:
            written = os.write(self._handle, data)
        except OSError:
            written = -1
        if written != len(data):
            os._exit(EXIT_FULL)


KEPT = 16
"""Processes that no program can take from who starts them, whatever threads it has."""


def harden(limits: JobLimits, cpu_s: float, result_bytes: int, filter_: seccomp.Filter | None) -> bytes:
    """Everything that is set once per child, the system-call filter last; why something cannot be set, or nothing.

    Args:
        cpu_s: CPU seconds after which the kernel ends the process, whoever else forgets it.
        result_bytes: size of any file that it writes.
    """
    memory, seconds = limits.memory_mb << 20, int(min(cpu_s, 1e6)) + 1
    tasks = resource.getrlimit(resource.RLIMIT_NPROC)[1] - KEPT
    for name, number, value in (
        (b"address space (ulimit -v), bytes", resource.RLIMIT_AS, memory),
        (b"processor time (ulimit -t), seconds", resource.RLIMIT_CPU, seconds),
        (b"processes (ulimit -u)", resource.RLIMIT_NPROC, tasks if tasks > 0 else resource.RLIM_INFINITY),
        (b"size of files (ulimit -f), bytes", resource.RLIMIT_FSIZE, result_bytes),
    ):
        try:
            if value != resource.RLIM_INFINITY:
                resource.setrlimit(number, (value, value))
        except (ValueError, OSError):
            return b"limit of %s: %d asked for, %d allowed here" % (name, value, resource.getrlimit(number)[1])
    if filter_ is not None and not filter_.install():
        return b"its filter of system calls cannot be installed"
    gc.enable()
    return b""


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


def compiled(sources: Sequence[str]) -> list[CodeType]:
    """The code of a program and of what runs before it, as they follow each other in one module: what that imports from
    `__future__` holds for the program too. Whatever `compile` raises passes through."""
    codes: list[CodeType] = []
    for source in sources:
        future = codes[-1].co_flags & _FUTURE if codes else 0
        codes.append(compile(source.removeprefix(BOM), "<program>", "exec", future, dont_inherit=True))
    return codes


def load(sources: Sequence[str], name: str, own: str = "") -> dict[str, Any]:
    """Compile and execute a program as a module of its own; whatever it raises passes through. The last
    of the sources is the program, which alone may bind its `own` name."""
    module = ModuleType(name)
    sys.modules[name] = module
    for code in compiled(sources):
        module.__dict__.pop(own, None)
        exec(code, module.__dict__)
    return module.__dict__


def find_entry(namespace: Mapping[str, Any], entry_point: str) -> Callable[..., Any] | None:
    """The function of that name; of `Class.method` one that makes an instance for each call, where the method is not a
    static or class method."""
    head, _, method = entry_point.partition(".")
    found = namespace.get(head)
    if not method:
        return found if callable(found) else None
    if not isinstance(found, type):
        return None
    owner = found
    kept = next((vars(above)[method] for above in owner.__mro__ if method in vars(above)), None)
    if isinstance(kept, staticmethod | classmethod):
        return getattr(owner, method)  # type: ignore[no-any-return]
    if not callable(kept) and not callable(getattr(owner(), method, None)):
        return None
    return lambda *args, **kwargs: getattr(owner(), method)(*args, **kwargs)


def load_guarded(
    writer: Writer, alarm: Alarm, limits: JobLimits, sources: Sequence[str], entry_point: str
) -> Callable[..., Any] | None:
    """Load under the alarm and write the load record; None where there is nothing to call."""
    entry, record = _loaded(sources, entry_point, alarm, limits)
    writer.put(*record)
    return entry


def _loaded(
    sources: Sequence[str], entry_point: str, alarm: Alarm, limits: JobLimits
) -> tuple[Callable[..., Any] | None, wire.Record]:
    def work() -> Callable[..., Any] | None:
        return find_entry(load(sources, "program", entry_point.partition(".")[0]), entry_point)

    return _guarded(work, b"while loading", entry_point.encode("utf-8", "replace")[:200], alarm, limits)


def compile_guarded(body: bytes, alarm: Alarm, limits: JobLimits, writer: Writer) -> bytes | None:
    """Compile a program under the alarm, run nothing of it, write a record; its code, or None where it does not."""

    def work() -> bytes:
        return marshal.dumps(compiled(marshal.loads(body)))

    code, record = _guarded(work, b"while compiling", b"", alarm, limits)
    writer.put(*record)
    return code


def _guarded(
    work: Callable[[], Made | None], what: bytes, missing: bytes, alarm: Alarm, limits: JobLimits
) -> tuple[Made | None, wire.Record]:
    """What `work` makes under the alarm, and how that went: None, and NO_ENTRY, where it makes None."""
    made = None
    code, detail = wire.OK, b""
    try:
        alarm.start(limits)
        try:
            made = work()
            if made is None:
                code, detail = wire.NO_ENTRY, missing
        except TimeLimit:
            raise
        except BaseException as error:  # noqa: BLE001 - the sandbox boundary
            code, detail = describe(error)
            code = wire.LOAD_ERROR if code == wire.EXCEPTION else code
        alarm.disarm()
    except TimeLimit:
        code, detail = wire.TIMEOUT, what
    return (made if code == wire.OK else None), wire.Record(code, alarm.stop(), detail)


class Work(NamedTuple):
    """How a child works, whatever it works on.

    Attributes:
        limits: of one item.
        left_s: what all items together may still be charged.
        alarm: the soft limit.
        to: where the records go.
    """

    limits: JobLimits
    left_s: float
    alarm: Alarm
    to: Writer


def run_calls(
    head: bytes, group: Callable[[int], bytes], items: range, computed: Callable[[int], bytes | None], work: Work
) -> None:
    """Load the program, then make these calls; a record each; ends after a timeout, and where memory was short.

    Args:
        group: reads the calls of a group; the head says how many each has. Each is read when it is needed, so that what
            one takes is no other's burden; a call that cannot be read has failed.
        computed: for calls whose arguments are an expression, by position: the encoded value, or None where only this
            process can have it (it is no plain data). Raises KeyError where neither is there: an empty record.
    """
    sources, entry_point, counts = marshal.loads(head)
    entry = load_guarded(work.to, work.alarm, work.limits, sources, entry_point)
    if entry is None:
        return

    def call_computed(python: str, item: int) -> Any:
        try:
            encoded = computed(item)
        except KeyError:
            return None
        value = plain_arguments(python) if encoded is None else wire.decode_live(encoded)
        return entry(**value) if type(value) is dict else entry(*value)

    spent, first = 0.0, 0
    for number, count in enumerate(counts):
        mine = range(max(first, items.start), min(first + count, items.stop))
        try:
            calls = marshal.loads(group(number)) if mine else ()
        except MemoryError:
            work.to.put(wire.KILLED, 0.0, b"memory limit: its arguments cannot be read")
            break
        for item in mine:
            args, kwargs, python = calls[item - first]
            charged = (
                _call(entry, args, kwargs, work) if python is None else _call(call_computed, (python, item), {}, work)
            )
            spent = work.left_s + 1.0 if charged is None else spent + charged
            if spent > work.left_s:
                break
        if spent > work.left_s:
            break
        first += count
        calls = ()


def run_company(members: Iterable[bytes], work: Work) -> None:
    """Programs that may follow each other: each is read, loaded and called when the records of the last have left.

    Args:
        members: bodies as `run_calls` takes them, each read when it is asked for.
    """
    work.to.put(wire.OK, 0.0, b"")
    spent = 0.0
    for body in members:
        sources, entry_point, groups = marshal.loads(body)
        entry, record = _loaded(sources, entry_point, work.alarm, work.limits)
        spent += record.seconds
        for args, kwargs, _ in itertools.chain.from_iterable(map(marshal.loads, groups)):
            if entry is None:
                work.to.put(*record)
                continue
            charged = _call(entry, args, kwargs, work)
            if charged is None:
                return
            spent += charged
        if record.code == wire.TIMEOUT:
            return
        entry = None
        sys.modules.pop("program", None)
        gc.collect()  # what it leaves behind must not be its successors' burden
        if spent > work.left_s:
            return


def run_arguments(body: bytes, work: Work) -> None:
    """The value of an expression that a testing computes arguments with, encoded; no program is near."""
    work.to.put(wire.OK, 0.0, b"")
    _call(plain_arguments, (marshal.loads(body),), {}, work, trees.keeping)


def run_harness(main: Callable[[str, Any], Any], programs: Iterable[bytes], argument: Any, work: Work) -> None:
    """`main` of a harness of ours around each program; a record each, which leaves before the next program is read."""
    work.to.put(wire.OK, 0.0, b"")
    for program in programs:
        if _call(main, (marshal.loads(program), argument), {}, work) is None:
            break


def _call(
    entry: Callable[..., Any],
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
    work: Work,
    way_of: WayOf | None = None,
) -> float | None:
    """One call and its record; what it is charged, or None after a timeout, since what an interrupted call leaves
    behind is not trusted, and where memory was short, since what fills it is not the next call's."""
    alarm, to = work.alarm, work.to
    try:
        alarm.start(work.limits)
        try:
            code, detail = to.encode(entry(*args, **kwargs), way_of)
        except TimeLimit:
            raise
        except BaseException as error:  # noqa: BLE001 - the sandbox boundary
            code, detail = describe(error)
        alarm.disarm()
    except TimeLimit:
        to.put(wire.TIMEOUT, alarm.stop(), b"")
        return None
    seconds = alarm.stop()
    to.put(code, seconds, detail)
    return None if code == wire.KILLED else seconds


def plain_arguments(source: str) -> Any:
    """The value of an expression, or of a function body with `return`: a list or tuple of arguments, or a dict.

    Raises:
        TypeError: it gave something else.
    """
    value = evaluate(source)
    if type(value) not in (dict, list, tuple):
        raise TypeError(f"arguments must be a list or a dict, not {type(value).__name__}")
    return value


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


def die_with_parent() -> None:
    """Ask the kernel to kill this process when its parent ends; changing the uid forgets it, so this comes after."""
    _prctl(1, 9, 0, 0, 0)
