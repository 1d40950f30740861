"""What a program raised, made anew in the process of its testing.

Its class is one that the language or the problem names: an exception of Python's own, one that the starter code or the
testing defines, one of the standard library that the testing names. Whatever else it says to be, it is a class of its
own below those, or below `Exception` or `BaseException` as it is: nothing that a framework, at work in the testing,
would read as its own.
"""

from __future__ import annotations

import builtins
import sys
from collections.abc import Mapping
from typing import Any, NamedTuple

from evosyn.sandbox._inside.answers import ANCESTORS
from evosyn.sandbox._inside.blame import CheckText
from evosyn.sandbox._inside.script import is_success
from evosyn.sandbox._inside.wire import Malformed

_ENDING = (StopIteration, StopAsyncIteration)
"""These end an iteration, and arrive as what Python itself makes of them in a generator: a RuntimeError."""
_ONLY_IF_NAMED = (SystemExit, KeyboardInterrupt)
"""Nobody reads these as an error of a program but who names them."""
_FIELDS: Mapping[type, tuple[str, ...]] = {
    OSError: ("errno", "strerror", "filename"),
    UnicodeDecodeError: ("encoding", "object", "start", "end", "reason"),
    UnicodeEncodeError: ("encoding", "object", "start", "end", "reason"),
    UnicodeTranslateError: ("object", "start", "end", "reason"),
    SyntaxError: ("msg",),
    ImportError: ("msg",),
    SystemExit: ("code",),
}
"""What these classes of Python's own make of their arguments."""


class Raised(NamedTuple):
    """An exception of a program.

    Attributes:
        is_strange: the testing cannot have meant it, so that it fails for it if it fails: it says to be what it may not
            be here, or nothing that anybody names, or a failed assertion, which only the testing's own would be.
    """

    error: BaseException
    is_strange: bool


def made_anew(value: Any, check: CheckText) -> Raised:
    """The exception of what `answers` wrote of it; raises `Malformed` where it wrote nothing of the kind."""
    if type(value) is not tuple or len(value) != 6:
        raise Malformed("not an exception")
    text, names, args, *chain, is_quiet = value
    good = type(text) is str and type(names) is tuple and all(type(name) is str for name in names)
    if (
        not good
        or not 0 < len(names) <= ANCESTORS
        or (args is not None and type(args) is not tuple)
        or type(is_quiet) is not bool
    ):
        raise Malformed("not an exception")
    found = {place: kind for place, name in enumerate(names) if (kind := _found(name, check)) is not None}
    kinds = {place: kind for place, kind in found.items() if _crosses(kind, args, check)}
    if any(issubclass(kind, _ENDING) for kind in found.values()):
        kinds = {1: RuntimeError}
    kinds = kinds or {len(names): Exception if Exception in found.values() else BaseException}
    error = _made(names[0].rpartition(".")[2], text, args, kinds)
    error.__cause__, context = (None if one is None else made_anew(one, check).error for one in chain)
    error.__context__ = error.__cause__ if context is None else context
    error.__suppress_context__ = is_quiet
    refused = {kind for place, kind in found.items() if place not in kinds} - {BaseException}
    first = next(iter(kinds.values()))
    is_nothing_said = first in (Exception, BaseException) and first is not found.get(0)
    is_assert = issubclass(first, AssertionError) and "AssertionError" not in check.names
    return Raised(error, bool(refused) or is_nothing_said or is_assert)


def _made(
    label: str, text: str, args: tuple[Any, ...] | None, kinds: Mapping[int, type[BaseException]]
) -> BaseException:
    """Of the class itself where it crosses, else of a new one below those that do."""
    if 0 in kinds and _is_plain(kinds[0]):
        found = _instance(kinds[0], args, text)
        if found is not None and _text(found) == text:
            return found
    some = list(kinds.values())
    bases = tuple([kind for kind in some if not any(kind is not one and issubclass(one, kind) for one in some)])
    fields = next((_FIELDS[one] for kind in bases for one in kind.__mro__ if one in _FIELDS), ())
    own = dict(zip(fields, args or (), strict=False))
    space = {**own, "__str__": lambda _: text, "__module__": bases[0].__module__}
    label = label if label.isidentifier() else "ProgramError"
    try:
        new = type(label, bases, space)
    except TypeError:  # they cannot be bases of one class
        new = type(label, bases[:1], space)
    built_in = max([one for one in new.__mro__ if one.__module__ == "builtins"], key=lambda one: one.__basicsize__)
    make: Any = built_in.__new__  # no constructor of a testing
    made: BaseException = make(new)
    made.args = (text,) if args is None else args
    return made


def _found(name: str, check: CheckText) -> type[BaseException] | None:
    """The class of that name that there is in this process: of the testing, of Python, of a module."""
    module, _, last = name.rpartition(".")
    own = check.namespace if name[:1] == "." else vars(builtins)
    found = (getattr(sys.modules.get(module), "__dict__", {}) if module else own).get(last)
    return found if isinstance(found, type) and issubclass(found, BaseException) else None


def _crosses(kind: type[BaseException], args: tuple[Any, ...] | None, check: CheckText) -> bool:
    """Whether a program's exception may be of this class here."""
    if issubclass(kind, SystemExit) and (args is None or len(args) != 1 or is_success(args[0])):
        return False  # a good end is the testing's to say
    of_kinds = kind.__mro__[: kind.__mro__.index(BaseException)]
    return bool(of_kinds) and all(_is_meant(one, check) for one in of_kinds)


def _is_meant(kind: type, check: CheckText) -> bool:
    """Whether the language or the problem names this class, not counting what it is derived from."""
    name, module = kind.__name__, str(kind.__module__)
    if module == "builtins":
        is_error = issubclass(kind, Exception) and not issubclass(kind, BaseExceptionGroup)
        return is_error or (kind in _ONLY_IF_NAMED and name in check.names)  # what is in a group does not cross
    if module == "testing":
        return name not in check.made
    return name in check.names and not _is_at_work(module.partition(".")[0])


def _is_at_work(package: str) -> bool:
    """Whether code of this package is running around the call that is waited for, in any thread: it would take an
    exception of that class for one of its own."""
    frames = list(sys._current_frames().values())
    for frame in frames:
        if str(frame.f_globals.get("__name__")).partition(".")[0] == package:
            return True
        frames += [frame.f_back] if frame.f_back else []
    return False


def _is_plain(kind: type[BaseException]) -> bool:
    """Whether making an instance runs no code, beside a testing's own, that takes a program's arguments to be sound:
    Python's own exceptions with more than arguments in them do (`str` of a UnicodeDecodeError reads where its positions
    say)."""
    for one in kind.__mro__:
        if one.__module__ == "builtins":
            if one is not object and one.__basicsize__ != BaseException.__basicsize__:
                return False
        elif one.__module__ != "testing" and not {"__init__", "__new__", "__str__"}.isdisjoint(vars(one)):
            return False
    return True


def _instance(kind: type[BaseException], args: tuple[Any, ...] | None, text: str) -> BaseException | None:
    for given in (args, (text,)):
        if given is not None:
            try:
                return kind(*given)
            except Exception:  # noqa: BLE001 - the sandbox boundary: a class of the testing's own, or one that wants more
                continue
    return None


def _text(error: BaseException) -> str | None:
    try:
        return str(error)
    except Exception:  # noqa: BLE001 - the sandbox boundary
        return None
