"""The testing's side of a program in another process: what can be asked of it, and what its answers may be.

An answer is read strictly. What cannot be handed to the testing (a wrong message, a value that cannot be compared
without the program's own code) ends the check, and its verdict stays what it is whatever the testing catches.
"""

from __future__ import annotations

import builtins
import marshal
import sys
from collections.abc import Mapping, Sequence
from types import BuiltinFunctionType, MethodDescriptorType
from typing import Any, NoReturn

from evosyn.sandbox._inside import answers, kinds, objects, trees, wire
from evosyn.sandbox._inside.alarm import TimeLimit
from evosyn.sandbox._inside.answers import CALL, NEXT
from evosyn.sandbox._inside.blame import CheckText
from evosyn.sandbox._inside.pipes import PipeReader, write_all
from evosyn.sandbox._inside.proxies import ABILITIES, KINDS, End, Function, Opaque, Stream, make
from evosyn.sandbox._inside.raised import made_anew

HEAD_BYTES, HELLO_BYTES, DETAIL_BYTES = 1024, 64, 400
LONGEST_S = 1e6
ALLOWED = frozenset({wire.OK, wire.EXCEPTION, wire.TIMEOUT, wire.KILLED, wire.OUTPUT_LIMIT, wire.NOT_PLAIN})
"""What a program may say of a call; anything else is its own end."""
_LIED = (wire.KILLED, b"the program answered with what no program answers")


class Gone(BaseException):
    """The program has ended; ends the testing, whatever that catches."""


class NoValue(BaseException):
    """There is no value that could be handed to the testing; ends the check, whatever the testing catches."""


class Peer:
    """The program as the testing knows it.

    Attributes:
        calls: made since the check began; `seconds`: what the program says they were charged.
        last_error: what the program raised last.
        gone: the program has ended, so that nothing will answer.
        fixed: what the check came to, whatever it goes on to do: code and detail.
        dead: what every further check comes to: the answers are out of step, or were never in it.
        check: what the testing says by itself.
        strange: the first exception of the program in this check that no testing can have meant.
    """

    def __init__(self, ask: int, answer: int, most: int) -> None:
        self._ask, self._answer, self._most = ask, PipeReader(answer), most
        self._proxies: dict[int, Any] = {}
        self._given: Sequence[Any] = ()
        self.gone = False
        self.last_error: BaseException | None
        self.strange: BaseException | None
        self.fixed: tuple[int, bytes] | None
        self.dead: tuple[int, bytes] | None = None
        self.begin(CheckText())

    def begin(self, check: CheckText) -> None:
        """Begin a check."""
        self.calls, self.seconds = 0, 0.0
        self.last_error = self.strange = None
        self.fixed, self.check = self.dead, check

    def hello(self) -> None:
        """Wait until the program is loaded; with any other word than that it is dead."""
        code, _, size = wire.RECORD.unpack(self._answer.read(wire.RECORD.size))
        if code != wire.OK or size > HELLO_BYTES or self._answer.read(size) != answers.HELLO:
            self.dead = _LIED

    def call(self, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        return self.ask(CALL, name, args, kwargs)

    def ask(self, what: int, target: str | int, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
        """The answer to a question.

        Raises:
            NoValue, Gone, or what the program raised.
        """
        if self.fixed is not None:
            raise NoValue
        given: Sequence[Any] = ()
        if kwargs or not trees.SCALARS.issuperset(map(type, args)):
            frame, given = self._question(what, target, args, kwargs)
        else:
            frame = marshal.dumps((what, target, args, ()), 2)
        if self.gone:
            raise Gone
        self.calls += 1
        try:
            write_all(self._ask, len(frame).to_bytes(4, "little") + frame)
            code, seconds, size = wire.RECORD.unpack(self._answer.read(wire.RECORD.size))
            if 0.0 < seconds < LONGEST_S:
                self.seconds += seconds
            if code not in ALLOWED or size > self._most + 2 * len(frame) + HEAD_BYTES:
                self._is_out_of_step(code, size)
            payload = self._answer.read(size)
        except TimeLimit:
            self.dead = self.fixed = (wire.TIMEOUT, b"")  # the answer may yet come, out of step
            raise
        self._given = given
        try:
            if code == wire.OK:
                return self._value(payload, what)
            if code == wire.EXCEPTION:
                self.last_error, is_strange = made_anew(self._value(payload, CALL), self.check)
                self.strange = self.strange or (self.last_error if is_strange else None)
        except End:
            raise
        except Exception:  # noqa: BLE001 - the sandbox boundary: it is malformed, or does to us what nobody thought of
            self._is_out_of_step(-1, 0)
        if code != wire.EXCEPTION or self.last_error is None:
            self.fix(code, payload[:DETAIL_BYTES])
        raise self.last_error

    def fix(self, code: int, detail: bytes) -> NoReturn:
        """The check comes to this."""
        self.fixed = self.fixed or (code, detail)
        raise NoValue

    def _is_out_of_step(self, code: int, size: int) -> NoReturn:
        """Nothing that follows can be believed: no program answers so, or the answer is too long to be taken in."""
        self.dead = (wire.OUTPUT_LIMIT, b"%d bytes" % size) if code in ALLOWED else _LIED
        self.fix(*self.dead)

    def _question(
        self, what: int, target: str | int, args: tuple[Any, ...], kwargs: Mapping[str, Any]
    ) -> tuple[bytes, Sequence[Any]]:
        """Its bytes, and the mutable objects in the arguments.

        Raises:
            NoValue: an argument cannot cross.
        """
        if not kwargs:
            given = _flat(args)
            if given is not None:
                return marshal.dumps((what, target, args, ()), 2), given
        seen = trees.Seen()
        sent = (what, target, *self._arguments(args, kwargs, seen))
        return marshal.dumps((*sent, True) if seen.marked else sent, 2), seen.objects

    def _arguments(
        self, args: tuple[Any, ...], kwargs: Mapping[str, Any], seen: trees.Seen
    ) -> tuple[Any, tuple[tuple[str, Any], ...]]:
        way = trees.Way(self._beyond, seen, own_classes=False, keeps=_is_of_program)
        depth = trees.MAX_DEPTH - trees.ARGUMENT_DEPTH
        try:
            given = tuple([trees.tree(value, depth, way) for value in args])
            return given, tuple([(name, trees.tree(value, depth, way)) for name, value in kwargs.items()])
        except wire.NotPlain as error:
            self._cannot_cross(b"an argument: " + str(error).encode("utf-8", "replace"))

    def _beyond(self, value: Any, depth: int, way: trees.Way) -> Any:
        """What stands for an argument that is no value."""
        kind = type(value)
        if _is_of_program(value):
            return (..., "object", object.__getattribute__(value, "_number"))
        if trees.is_iterator(kind):
            return trees.given(value, depth, way)
        path = _path(value)
        if path is None:
            name = trees.name_of(kind).encode("utf-8", "replace")
            self._cannot_cross(b"an argument cannot be handed to another process: " + name)
        return (..., "builtin", *path)

    def _cannot_cross(self, detail: bytes) -> NoReturn:
        """An argument cannot; once the program has answered anything, it may have chosen which one is given."""
        self.fix(wire.NOT_PLAIN if self.calls else wire.TESTING_BROKEN, detail)

    def _value(self, payload: bytes, what: int) -> Any:
        """The value of an answer, after what the program changed in its arguments has been changed here.

        Raises:
            Malformed, End.
        """
        form = payload[:1]
        if form == answers.AT_ITS_END and len(payload) == 1 and what == NEXT:
            raise End
        if form != answers.PLAIN_ANSWER and form != answers.WITH_CHANGES:
            raise wire.Malformed("unknown form")
        value = wire.decode(payload[1:], self._special, [*self._given])
        if form == answers.PLAIN_ANSWER:
            return value
        if type(value) is not tuple or len(value) != 2:
            raise wire.Malformed("changes")
        _apply(value[1], self._given)
        return value[0]

    def _special(self, name: str, parts: list[Any]) -> Any:
        """What only this exchange knows, and the kinds of values."""
        if name in KINDS:
            number = _number(parts[:2], 2, 1 << 31)
            abilities = _number(parts[2:], 1, ABILITIES) if name == "object" else 0
            if number not in self._proxies:
                self._proxies[number] = make(self, name, number, parts[1], abilities)
            return self._proxies[number]
        if name == "builtin" and len(parts) == 1 and type(parts[0]) is str and parts[0] in answers.BUILTINS:
            return getattr(builtins, parts[0])
        if name == "iterator":
            raise wire.Malformed("not from here")
        return kinds.together(name, parts)


def _is_of_program(value: Any) -> bool:
    return issubclass(type(value), Function | Stream | Opaque)


def _flat(args: tuple[Any, ...]) -> list[Any] | None:
    """The mutable objects in arguments of the commonest form: scalars, and lists and tuples of scalars; else None."""
    given: list[Any] = []
    for value in args:
        kind = type(value)
        if kind in trees.SCALARS:
            continue
        if (kind is not list and kind is not tuple) or not trees.SCALARS.issuperset(map(type, value)):
            return None
        if kind is list:
            given.append(value)
    return given if len(given) < 2 or len(set(map(id, given))) == len(given) else None


def _number(parts: Sequence[Any], count: int, limit: int) -> int:
    number = parts[0] if len(parts) == count else None
    if type(number) is not int or not 0 <= number < limit or (count == 2 and type(parts[1]) is not str):
        raise wire.Malformed("not a number")
    return number


def _apply(changes: Any, given: Sequence[Any]) -> None:
    if type(changes) is not tuple:
        raise wire.Malformed("changes")
    found: dict[int, Any] = {}
    for change in changes:
        if type(change) is not tuple or len(change) != 2:
            raise wire.Malformed("changes")
        place = _number(change[:1], 1, len(given))
        if not objects.fits(given[place], change[1]):
            raise wire.Malformed("changes")
        found[place] = change[1]
    for place, content in found.items():
        objects.fill(given[place], content)


def _path(value: Any) -> tuple[str, ...] | None:
    """Module and names of one of Python's own functions and types."""
    if not isinstance(value, type | BuiltinFunctionType | MethodDescriptorType):
        return None
    owner = getattr(value, "__objclass__", None)
    module = getattr(owner or value, "__module__", None)
    path = (owner.__name__, value.__name__) if owner else (value.__name__,)
    if module == "_operator":
        module = "operator"
    if module not in answers.MODULES and (module != "builtins" or path[0] not in answers.BUILTINS):
        return None
    found = sys.modules.get(module)
    for name in path:
        found = getattr(found, name, None)
    return (module, *path) if found is value else None
