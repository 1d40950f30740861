"""What the contracts share: how a plug-in is made, what is said where a hook is missing, texts that nobody expects."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from unittest import SkipTest

from evosyn.chat import Parsed
from evosyn.errors import UnavailableError
from evosyn.ports import Sandbox
from evosyn.sandbox import open_sandbox

NAMED_REASON = re.compile(r"[a-z][a-z-]*(: .+)?", re.DOTALL)
MEGABYTE = 1_000_000
ODD_TEXTS = (
    *("", " \n\t", "\x00", "\ud800", "\ufeff\u202e\U0001f40d", "I cannot help with that.", "Sure! What is it?"),
    *("```", "```\n", "```python\n", "```json\n{\n```", "``````\n~~~", "<<<<<<< SEARCH\n=======\n>>>>>>> REPLACE"),
    *("null", "NaN", "[]", "{}", '{"statement": 1}', '{"kind": [], "statement": null}', '{"kind": "\\u0000"}'),
    *("1e999", "-" * 500 + "1", "9" * 10_000, "def f(x):\n    return", "lambda: " * 2000, "x = " + "(" * 300),
    *(sign * MEGABYTE for sign in "[{(`\"'\n 0"),
    *('{"a":' * 20_000, "[" * 20_000 + "]" * 20_000),
)  # fmt: skip
"""Replies and programs as models write them on a bad day, and as an attacker would: none may make a reader raise."""


def _nothing() -> None:
    raise AssertionError("the test class needs `make = staticmethod(create)`, or a method of that name")


class Contract:
    """One kind of plug-in.

    Attributes:
        make: makes the plug-in anew at each call, with the same settings: `make = staticmethod(create)`, or a method.
    """

    make: Callable[..., Any] = staticmethod(_nothing)

    def given(self, hook: str, example: str) -> Any:
        """The value of a hook that the subclass has to set."""
        value = getattr(self, hook, None)
        assert value, f"{type(self).__name__} needs `{hook}`, such as: {example}"
        return value


def odd_texts(*good: str) -> Iterator[str]:
    """Texts that nobody expects: the odd ones, then good ones cut off, doubled, talked about, and with a NUL."""
    yield from ODD_TEXTS
    for text in good:
        half = len(text) // 2
        yield from (
            text[:half],
            text[half:],
            text + text,
            f"I think {text}\nis wrong.",
            f"{text[:half]}\x00{text[half:]}",
        )


@contextmanager
def told(what: str, text: str) -> Iterator[None]:
    """Adds to whatever is raised inside which text it was about."""
    try:
        yield
    except Exception as error:
        error.add_note(f"{what}, of a text of {len(text)} characters: {text[:60]!r}. Arbitrary text never raises")
        raise


def read_or_refused(parsed: Parsed[Any], what: str, text: str) -> None:
    """What was read of an odd text is there, or there is a named reason why not."""
    assert isinstance(parsed, Parsed), f"{what} gives a {type(parsed).__name__}, not a Parsed, for {text[:60]!r}"
    if parsed.value is None:
        named = NAMED_REASON.fullmatch(parsed.reason)
        assert named, f"{what} refuses {text[:60]!r} with {parsed.reason!r}; write `name: detail`"


@contextmanager
def a_sandbox() -> Iterator[Sandbox]:
    """The local sandbox for the time of a test, which is skipped where there is none."""
    try:
        opened = open_sandbox("local", workers=1, allow_weak=True)
    except UnavailableError as error:
        raise SkipTest(str(error)) from error
    with opened:
        yield opened
