"""A program that answers a testing in another process: calls, and the objects that it keeps for the testing.

Everything here shares a process with the program, which may change any of it; that harms its own results only. What
cannot cross by value (functions, iterators, instances of its classes) stays here and is referred to by a number.
"""

from __future__ import annotations

import builtins
import functools
import importlib
import marshal
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from types import BuiltinFunctionType, FunctionType, MethodType
from typing import Any, NoReturn

from evosyn.sandbox._inside import child, kinds, objects, trees, wire
from evosyn.sandbox._inside.alarm import Alarm, JobLimits, TimeLimit
from evosyn.sandbox._inside.pipes import PipeReader, write_all

HELLO = b"N"
CALL, NEXT, ITERATE, ATTRIBUTE, ITEM, LENGTH, TEXT, SHOWN = range(8)
"""What a testing may ask of an object."""
PLAIN_ANSWER, WITH_CHANGES, AT_ITS_END = b"\0", b"\1", b"\2"
"""First byte of an answer."""
ABILITIES = ("__call__", "__getitem__", "__iter__", "__len__")
"""Operations of an object that give values and decide nothing."""
MESSAGE_CHARS, ANCESTORS, CHAIN = 10_000, 20, 5
"""Of an exception: characters, classes, and exceptions behind it, one behind the other."""

PURE = (
    "abs all any bool bytes chr complex dict divmod enumerate filter float frozenset hash hex int iter len list map "
    "max min next oct ord pow range repr reversed round set slice sorted str sum tuple zip Exception ArithmeticError "
    "AssertionError IndexError KeyError LookupError OverflowError RuntimeError TypeError ValueError ZeroDivisionError"
)
BUILTINS = frozenset(PURE.split())
"""Of Python's own, what crosses by its name."""
MODULES = frozenset({"math", "cmath", "operator"})
"""Functions of these cross by their names on the way to a program."""

_BEHIND = ("__cause__", "__context__", "__suppress_context__")
_FUNCTIONS = (FunctionType, BuiltinFunctionType, MethodType, functools.partial, type)


class Kept:
    """Objects of the program that the testing knows by a number."""

    def __init__(self) -> None:
        self.objects: list[Any] = []
        self._numbers: dict[int, int] = {}

    def stand_for(self, value: Any, _depth: int = 0, _way: trees.Way | None = None) -> Any:
        """What goes in place of an object that cannot cross."""
        kind = type(value)
        name = getattr(value, "__name__", None) if isinstance(value, type | BuiltinFunctionType) else None
        if type(name) is str and name in BUILTINS and getattr(builtins, name) is value:
            return (..., "builtin", name)
        number = self._numbers.setdefault(id(value), len(self.objects))
        if number == len(self.objects):
            self.objects.append(value)
        if isinstance(value, _FUNCTIONS):
            return (..., "function", number, name_of(value))
        if trees.is_iterator(kind):
            return (..., "stream", number, name_of(kind))
        able = {name for above in kind.__mro__ for name in vars(above)}
        abilities = sum([1 << place for place, name in enumerate(ABILITIES) if name in able])
        return (..., "object", number, name_of(kind), abilities)


def name_of(value: Any) -> str:
    name = getattr(value, "__name__", "")
    return name[:80] if type(name) is str else ""


class Answers:
    """What answering takes.

    Args:
        entry: the entry point.
        namespace: of the program, where its other functions are looked up by name.
        most: bytes of an answer, beside twice those of the question.
    """

    def __init__(self, entry: Callable[..., Any], namespace: Mapping[str, Any], most: int) -> None:
        self.entry, self.namespace, self.most = entry, namespace, most
        self.kept = Kept()

    def to(self, frame: bytes) -> tuple[int, bytes]:
        """Code and answer to a question.

        Raises:
            NotPlain: what it gives is nested too deeply.
            BaseException: whatever the program does to us.
        """
        sent = marshal.loads(frame)
        what, target, args, kwargs = sent[:4]
        given: list[Any] = []
        if len(sent) > 4:
            resolve = functools.partial(_resolved, self.kept)
            args, kwargs = wire.decode_live(frame, resolve, given, 2 + trees.ARGUMENT_DEPTH)[2:4]
        elif kwargs or not trees.SCALARS.issuperset(map(type, args)):
            objects.collect(args, given)
            objects.collect(kwargs, given)
        before = [objects.content_of(value) for value in given] if given else ()
        code = wire.OK
        try:
            is_entry = what == CALL and target == "" and not kwargs
            value = self.entry(*args) if is_entry else self._asked(what, target, args, dict(kwargs))
        except (MemoryError, TimeLimit):
            raise
        except BaseException as error:  # noqa: BLE001 - the sandbox boundary
            if what == NEXT and isinstance(error, StopIteration):
                return code, AT_ITS_END
            code, value = wire.EXCEPTION, _raised(error)
        if type(value) in trees.SCALARS and not given:
            return code, PLAIN_ANSWER + trees.encode(value)
        changes = [
            (place, objects.new_content(one))
            for place, (one, content) in enumerate(zip(given, before, strict=True))
            if objects.changed(one, content)
        ]
        way = trees.Way(self.kept.stand_for, trees.Seen(given), keeps=_keeps)
        if changes:
            return code, WITH_CHANGES + trees.encode((value, tuple(changes)), way)
        return code, PLAIN_ANSWER + trees.encode(value, way)

    def _asked(self, what: int, target: str | int, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        if isinstance(target, int):
            found = self.kept.objects[target]
        elif not target:
            found = self.entry
        elif target in self.namespace:
            found = self.namespace[target]
        else:
            raise NameError(f"name {target!r} is not defined")
        if what == CALL:
            return found(*args, **kwargs)
        if what == ATTRIBUTE:
            return getattr(found, args[0])
        if what == ITEM:
            return found[args[0]]
        return _ABOUT[what](found)


def _keeps(_function: Any) -> bool:
    return True


def _iterator(value: Any) -> Any:
    """One of Python's own iterators over the value, also where the value has one of another class."""
    found = iter(value)
    return found if trees.is_iterator(type(found)) else (item for item in found)


_ABOUT: dict[int, Callable[[Any], Any]] = {NEXT: next, ITERATE: _iterator, LENGTH: len, TEXT: str, SHOWN: repr}


def run_program(
    pipes: tuple[int, int], sources: Sequence[str], entry_point: str, limits: JobLimits, alarm: Alarm, to: child.Writer
) -> None:
    """Load the program, say hello, then answer until the testing is gone."""
    ask, answer = pipes
    entry = child.load_guarded(to, alarm, limits, sources, entry_point)
    if entry is None:
        return
    answers = Answers(entry, sys.modules["program"].__dict__, limits.output_kb * 1024)
    write_all(answer, wire.record(wire.OK, 0.0, HELLO))
    asked = PipeReader(ask)
    while True:
        frame = asked.read(int.from_bytes(asked.read(4), "little"))
        code, payload = answered(answers, frame, limits, alarm)
        write_all(answer, wire.record(code, alarm.stop(), payload))
        if code == wire.TIMEOUT:
            os._exit(child.EXIT_TIME)


def answered(answers: Answers, frame: bytes, limits: JobLimits, alarm: Alarm) -> tuple[int, bytes]:
    """What a question comes to under the alarm: a code, and the encoded answer or what went wrong."""
    try:
        alarm.start(limits)
        try:
            code, payload = answers.to(frame)
        except TimeLimit:
            raise
        except wire.NotPlain as error:
            code, payload = wire.NOT_PLAIN, str(error).encode("utf-8", "replace")
        except BaseException as error:  # noqa: BLE001 - the sandbox boundary
            code, payload = child.describe(error)
            code = wire.NOT_PLAIN if code == wire.EXCEPTION else code
        alarm.disarm()
    except TimeLimit:
        return wire.TIMEOUT, b""
    if len(payload) > answers.most + 2 * len(frame):
        return wire.OUTPUT_LIMIT, b"%d bytes" % len(payload)
    return code, payload


def _resolved(kept: Kept, name: str, parts: Sequence[Any]) -> Any:
    """What a testing sent that is no value."""
    if name == "object":
        return kept.objects[parts[0]]
    if name == "builtin":
        module, *path = parts
        return functools.reduce(getattr, path, importlib.import_module(module))
    return kinds.together(name, parts)


def _raised(error: BaseException, depth: int = 0) -> tuple[Any, ...]:
    """An exception as `raised` makes it anew: message, names of its classes, arguments or None, its cause and context
    in turn, and whether the context is not to be shown."""
    try:
        text = str(error)[:MESSAGE_CHARS]
    except TimeLimit:
        raise
    except BaseException:  # noqa: BLE001 - the sandbox boundary
        text = ""
    try:
        trees.encode(error.args, _VALUES)
        args: Any = error.args
    except Exception:  # noqa: BLE001 - the sandbox boundary
        args = None
    names = [_full_name(kind) for kind in type(error).__mro__[:ANCESTORS] if kind is not object]
    cause, context, is_quiet = (vars(BaseException)[name].__get__(error) for name in _BEHIND)
    behind = (cause, None if context is cause else context)
    chain = [None if one is None or depth >= CHAIN else _raised(one, depth + 1) for one in behind]
    return (text if type(text) is str else "", tuple(names), args, *chain, is_quiet)


def _refused(value: Any, _depth: int, _way: trees.Way) -> NoReturn:
    raise wire.NotPlain(trees.name_of(type(value)))


_VALUES = trees.Way(_refused)


def _full_name(kind: type) -> str:
    """`ValueError` of Python's own, `json.decoder.JSONDecodeError` of its modules, `.Odd` of the program."""
    module, name = str(kind.__module__)[:80], str(kind.__name__)[:80]
    if module == "builtins":
        return name
    return f".{name}" if module == "program" else f"{module}.{name}"
