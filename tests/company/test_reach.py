"""What can be reached at all: from everything that a language names, by its attributes, by calls and by going through,
no object comes up that would lead out of it, and none that could be changed and was there before. Systematic where the
fuzz is random.
"""

from __future__ import annotations

import gc
import importlib
import itertools
import os
import resource
from collections import defaultdict, deque
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import company_host
import pytest

from evosyn.sandbox.company import NUMPY, PLAIN, Language

ROUNDS, OF_A_KIND = 3, 6
MUTABLE = (list, dict, set, deque, bytearray)


def named(language: Language) -> Iterator[Any]:
    """Everything that the language has a name for; functions that may only be called are called."""
    import builtins

    yield from (getattr(builtins, name) for name in language.builtins if hasattr(builtins, name))
    for module, names in language.modules.items():
        whole = [name for name in names if f"{module}.{name}" not in language.called]
        yield from (getattr(importlib.import_module(module), name) for name in whole)
    for what, called in language.called.items():
        module, _, name = what.rpartition(".")
        function = getattr(importlib.import_module(module or "builtins"), name)
        yield from (made for given in arguments() if len(given) <= called.most for made in tried(function, given))


def function(value: Any = 1, *more: Any) -> list[Any]:
    return [value, more]


def generator() -> Iterator[int]:
    yield 1


def data() -> list[Any]:
    """Values of every kind, new each time: what is called may change them."""
    plain = [1, -1, True, 0.5, 1j, "ab", "a b", b"ab", [3, 1, 2], (1, "a"), {"a": 1}, {1, 2}, frozenset("a"), None]
    return [*plain, function, len, int, lambda: 1, range(3), deque([1]), defaultdict(list), ValueError("a"), list[int]]


def arguments() -> Iterator[tuple[Any, ...]]:
    yield ()
    yield from ((value,) for value in data())
    for first in range(6):
        for second in range(5):
            left, right = [function, len, int, 1, "ab", [3, 1]], [1, "a", [3, 1], {"a": 1}, int]
            yield left[first], right[second]


def tried(call: Any, given: tuple[Any, ...]) -> list[Any]:
    try:
        return [call(*given)]
    except Exception as error:  # noqa: BLE001 - whatever a call raises is a way on, too
        return [error]


def beyond(language: Language, value: Any) -> Iterator[Any]:
    """What one more step of a program leads to."""
    for name in language.methods:
        try:
            yield getattr(value, name)
        except Exception:  # noqa: BLE001
            continue
    if callable(value):
        for given in arguments():
            yield from tried(value, given)
    elif isinstance(value, (list, tuple, dict, set, Iterator)):
        for some in tried(lambda: list(itertools.islice(value, 4)), ()):
            yield from some if isinstance(some, list) else [some]


def reach(language: Language) -> set[str]:
    """Everything found that no program may get hold of."""
    found: set[str] = set()
    before = [value for value in gc.get_objects() if isinstance(value, MUTABLE)]
    shared = set(map(id, before))
    counts: dict[tuple[type, str], int] = defaultdict(int)
    layer: list[Any] = [*named(language), *data(), generator(), (v for v in (1, 2))]
    for _ in range(ROUNDS):
        following: list[Any] = []
        for value in layer:
            for step in beyond(language, value):
                look = company_host.Look(frozenset())
                look.at(step)
                found |= look.found
                if id(step) in shared:
                    found.add(f"a {type(step).__name__} that was there before: {step!r}"[:200])
                kind = (type(step), getattr(step, "__name__", "") if callable(step) else "")
                counts[kind] += 1
                if counts[kind] <= OF_A_KIND:
                    following.append(step)
        layer = following
    return found


def in_a_child(language: Language) -> set[str]:
    def work() -> list[str]:
        os.dup2(os.open("/dev/null", os.O_WRONLY), 1)
        resource.setrlimit(resource.RLIMIT_AS, (2 << 30, 2 << 30))
        return sorted(reach(language))

    made, died = company_host.forked(work)
    assert not died
    return set(made)


@pytest.mark.slow
@pytest.mark.parametrize("language", [PLAIN, NUMPY], ids=["plain", "numpy"])
def test_nothing_that_a_language_names_leads_out_of_it(language: Language) -> None:
    assert not in_a_child(language)


@pytest.mark.slow
def test_the_same_walk_finds_the_way_out_of_a_weaker_language() -> None:
    methods = PLAIN.methods | {"__class__"}
    assert in_a_child(replace(PLAIN, methods=methods))
    assert in_a_child(replace(PLAIN, called={}))
