"""Short ways to write families down."""

from __future__ import annotations

from collections.abc import Mapping
from textwrap import dedent
from typing import Any

from hostile_suite.model import Attack, Draw, Family, Role, allow

Words = Mapping[str, frozenset[str]]
ANY_FAULT = allow()


def attack(name: str, setup: str = "", act: str = "return None", **rest: Any) -> Attack:
    """An attack whose texts may be indented as they stand in the source; `words` is what it may come to in the table
    mode, any fault elsewhere."""
    words = rest.pop("words", None)
    if words is not None:
        rest["allowed"] = allow(words)
    for key in ("whole", "before"):
        if rest.get(key) is not None:
            rest[key] = dedent(rest[key]).strip("\n")
    return Attack(name, dedent(setup).strip("\n"), dedent(act).strip("\n"), **rest)


def solutions(
    name: str,
    principle: str,
    attacks: list[Attack],
    *,
    words: str | Words = "",
    role: Role = Role.SOLUTION,
    draw: Draw | None = None,
    draws: int = 2,
    slow: bool = False,
    modes: tuple[str, ...] = (),
) -> Family:
    """A family of hostile solutions."""
    allowed = allow(words) if isinstance(words, str) else dict(words)
    fixed = tuple({one.name: one for one in attacks}.values())
    return Family(name, principle, role, allowed, fixed, draw, draws, slow, modes)


def calls(name: str, body: str, **rest: Any) -> Attack:
    """An attack that happens in the call."""
    return attack(name, "", body, **rest)


def loads(name: str, setup: str, **rest: Any) -> Attack:
    """An attack that happens while the program is loaded."""
    return attack(name, setup, "return None", **rest)
