"""What stands in a testing for the objects that stay with a program: functions, iterators, and all others.

Each operation is a question to the program, whose answer is a value of the testing's own. An operation that would let
the program's own code decide (comparing, telling true from false) has no answer: the check ends there.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping
from typing import Any, NoReturn, Protocol

from evosyn.sandbox._inside import answers, wire
from evosyn.sandbox._inside.answers import ATTRIBUTE, CALL, ITEM, ITERATE, LENGTH, NEXT, SHOWN, TEXT

KINDS = frozenset({"function", "stream", "object"})
ABILITIES = 1 << len(answers.ABILITIES)


class End(Exception):
    """An iterator of the program has ended."""


class Answerer(Protocol):
    """Whom the questions go to."""

    def ask(self, what: int, target: str | int, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any: ...

    def fix(self, code: int, detail: bytes) -> NoReturn: ...


def make(peer: Answerer, kind: str, number: int, name: str, abilities: int) -> Any:
    """The stand-in for object `number` of the program.

    Args:
        kind: one of `KINDS`.
        abilities: for any other object, which of `answers.ABILITIES` it has.
    """
    if kind == "object":
        return _opaque(abilities)(peer, number, name)
    return Function(peer, number, name) if kind == "function" else Stream(peer, number)


class Function:
    """A function of the program; compared by identity, as functions are."""

    def __init__(self, peer: Answerer, number: int, name: str) -> None:
        self._peer, self._number = peer, number
        self.__name__ = self.__qualname__ = name

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._peer.ask(CALL, self._number, args, kwargs)


class Stream:
    """An iterator of the program; compared by identity, as iterators are."""

    def __init__(self, peer: Answerer, number: int) -> None:
        self._peer, self._number = peer, number

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        try:
            return self._peer.ask(NEXT, self._number, (), {})
        except End:
            raise StopIteration from None


class Opaque:
    """Any other object of the program: it gives values, but what would decide by its own code has no value here."""

    __slots__ = ("_name", "_number", "_peer")

    def __init__(self, peer: Answerer, number: int, name: str) -> None:
        object.__setattr__(self, "_peer", peer)
        object.__setattr__(self, "_number", number)
        object.__setattr__(self, "_name", name)

    def __getattr__(self, name: str) -> Any:
        if name[:1] == "_":
            raise AttributeError(name)
        return self._peer.ask(ATTRIBUTE, self._number, (name,), {})

    def __setattr__(self, name: str, value: object) -> None:
        _undecided(self)

    def __str__(self) -> str:
        text = self._peer.ask(TEXT, self._number, (), {})
        return text if type(text) is str else _undecided(self)

    def __repr__(self) -> str:
        text = self._peer.ask(SHOWN, self._number, (), {})
        return text if type(text) is str else _undecided(self)


def _call(self: Opaque, *args: Any, **kwargs: Any) -> Any:
    return self._peer.ask(CALL, self._number, args, kwargs)


def _item(self: Opaque, key: Any) -> Any:
    return self._peer.ask(ITEM, self._number, (key,), {})


def _iterate(self: Opaque) -> Iterator[Any]:
    found = self._peer.ask(ITERATE, self._number, (), {})
    return found if isinstance(found, Stream) else _undecided(self)


def _length(self: Opaque) -> int:
    length = self._peer.ask(LENGTH, self._number, (), {})
    return length if type(length) is int else _undecided(self)


@functools.cache
def _opaque(abilities: int) -> type[Opaque]:
    """The class of objects that can do so much."""
    operations = zip(answers.ABILITIES, (_call, _item, _iterate, _length), strict=True)
    able = {name: operation for place, (name, operation) in enumerate(operations) if abilities >> place & 1}
    return type("Opaque", (Opaque,), {"__slots__": (), **able})


def _undecided(opaque: Opaque, *_: object) -> NoReturn:
    """The operation would ask the program whether it is right."""
    name = str(object.__getattribute__(opaque, "_name"))
    object.__getattribute__(opaque, "_peer").fix(wire.NOT_PLAIN, f"{name!a} is not plain data".encode())
    raise AssertionError  # `fix` never returns


_OPERATIONS = (
    "eq ne lt le gt ge bool hash contains int float complex index add radd sub rsub mul rmul truediv rtruediv floordiv "
    "rfloordiv mod rmod divmod rdivmod pow rpow matmul rmatmul and rand or ror xor rxor lshift rlshift rshift rrshift "
    "neg pos abs invert round iadd isub imul ior iand ixor next reversed setitem delitem delattr enter exit"
)
for _operation in _OPERATIONS.split():
    setattr(Opaque, f"__{_operation}__", _undecided)
