"""The part of a program that a function needs does what the whole does."""

from __future__ import annotations

import pytest

from evosyn.environments import bundled
from evosyn.program_parts import part_for

WHOLE = '''"""Title."""
import heapq, math
from random import Random as Drawn
SIZE = 3
TABLE = {"a": 1}
LIST = []
LIST.append(SIZE)
def near(x):
    return x + len(LIST) + OTHER
def far(x):
    return Drawn(x)
OTHER = math.floor(2.5)
def verify(x):
    return near(x) > TABLE["a"]
'''


def load(text: str) -> dict[str, object]:
    space: dict[str, object] = {}
    exec(text, space)
    return space


def test_what_a_function_needs_stays_and_what_does_nothing_goes() -> None:
    part = part_for(WHOLE, "verify")
    assert part is not None
    assert all(word in part for word in ("near", "TABLE", "LIST.append", "SIZE", "OTHER", "math"))
    assert not any(word in part for word in ("far", "Drawn", "Title"))
    assert load(part)["verify"](0) is load(WHOLE)["verify"](0) is True  # type: ignore[operator]


@pytest.mark.parametrize(
    "does",
    [
        "def other(x=TABLE.clear()):\n    pass",
        "@TABLE.update\ndef other():\n    pass",
        "def other() -> TABLE.clear():\n    pass",
        "def other(x: TABLE.clear()):\n    pass",
        "class Other:\n    TABLE.clear()",
        "other = TABLE.clear()",
        "TABLE['a'] = 5",
        "from math import *",
    ],
)
def test_what_does_something_when_it_is_loaded_stays(does: str) -> None:
    part = part_for(f"TABLE = {{'a': 1}}\n{does}\ndef verify():\n    return TABLE\n", "verify")
    assert part is not None
    assert does.split("\n")[-1].strip() in part


@pytest.mark.parametrize("text", ["def verify(:", "x = 1\0", "(" * 3000])
def test_a_text_that_is_no_program_has_no_part(text: str) -> None:
    assert part_for(text, "verify") is None


def test_verifiers_of_the_environments_that_come_with_evosyn_are_parts_that_may_keep_company() -> None:
    from evosyn.domains.environment import _verifier

    programs = [path.read_text() for folder in ("known", "held-out") for path in bundled(folder).values()]
    assert sum(_verifier(program) != program for program in programs) >= 36


def test_a_module_inside_a_package_comes_with_its_package() -> None:
    part = part_for(
        "import collections.abc\nimport math\ndef verify(x):\n    return isinstance(x, collections.abc.Sized)\n",
        "verify",
    )
    assert part is not None and "import collections.abc" in part and "math" not in part
