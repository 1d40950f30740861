"""What the contracts share: how a plug-in is made, what is said where a hook is missing, texts that nobody expects."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any
from unittest import SkipTest

from evosyn.chat import Parsed
from evosyn.errors import UnavailableError, UsageError
from evosyn.ports import Sandbox
from evosyn.ports.plugins import TOOLS
from evosyn.records import Json
from evosyn.registry import Plugin
from evosyn.registry import plugin as as_plugin
from evosyn.workbench import SandboxConfig, Workbench, WorkbenchConfig

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


class Contract:
    """What is held to its port.

    Attributes:
        make: makes it anew at each call, with the same settings.
    """

    make: Callable[..., Any]

    def given(self, hook: str, example: str) -> Any:
        """The value of a hook that the subclass has to set."""
        value = getattr(self, hook, None)
        assert value, f"{type(self).__name__} needs `{hook}`, such as: {example}"
        return value


class PluginContract(Contract):
    """A plug-in of a kind that the registry makes: `create(tools, config)`.

    Attributes:
        kind: of the registry.
        create: the plug-in's: `create = staticmethod(create)`.
        options: of its config.
    """

    kind = ""
    create: Callable[..., Any] | None = None
    options: Mapping[str, Json] = {}

    def make(self) -> Any:
        """The plug-in, made anew with the same tools and options."""
        return self.plugin.make(self.tools(), self.options)

    def tools(self) -> object:
        """What it is lent."""
        return TOOLS[self.kind]()

    @property
    def plugin(self) -> Plugin:
        """
        Raises:
            AssertionError: `create` has another form.
        """
        create = self.given("create", "create = staticmethod(create)")
        try:
            return as_plugin(self.kind, getattr(create, "__qualname__", repr(create)), create)
        except UsageError as error:
            raise AssertionError(str(error)) from error

    def test_its_create_takes_tools_and_a_config_with_defaults_that_refuses_an_unknown_key(self) -> None:
        found = self.plugin
        marked = found.argument_field
        lacking = [name for name, field in found.config.model_fields.items() if field.is_required() and name != marked]
        assert not lacking, f"config: {lacking} have no default, which only the argument after the name needs not"
        try:
            found.configured({**self.options, "no_such_option": 1})
        except UsageError as error:
            assert "no_such_option" in str(error), f"config: an unknown key is refused by its name, not with {error}"
        else:
            raise AssertionError("config: takes an unknown key; leave `model_config` as PluginConfig has it")


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
    """The local sandbox, with rooms where they are asked for, for the time of a test, which is skipped where there is
    none."""
    try:
        with Workbench(WorkbenchConfig(sandbox=SandboxConfig(workers=1, allow_weak=True))) as workbench:
            yield workbench.sandbox
    except UnavailableError as error:
        raise SkipTest(str(error)) from error
