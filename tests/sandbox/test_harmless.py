"""Which testing code may share a process with other testings: when in doubt, none."""

from __future__ import annotations

import pytest

from evosyn.sandbox._harmless import harmless


@pytest.mark.parametrize(
    "text",
    [
        "assert f(1) == 2",
        "def check(candidate):\n    assert candidate([1, 2.5, 'a\\'b']) == b'x'\n    assert candidate(1.) == 1e-5",
        "assert math.isclose(candidate(.5), 1.0)",
        "METADATA = {\n 'author': 'jt',\n}\nfor x in range(3):\n    assert abs(candidate(x) - x) < 1e-6  # fine",
        "assert f('''a\nb''') == 'in'",
        "assert 'a' in'ab'",
        "assert ____(1) == 2",
    ],
)
def test_plain_asserts_are_harmless(text: str) -> None:
    assert harmless(text)


@pytest.mark.parametrize(
    "text",
    [
        "import os",
        "import math",
        "import math, os",
        "import math as os",
        "from os import math",
        "x.__class__",
        "1.0.__class__",
        "(1).__class__",
        "1..real.gi_frame",
        "1_0.gi_frame",
        "1e5.gi_frame",
        "x.#c\ngi_frame",
        "x. gi_frame",
        "x.\tgi_frame",
        "x.\\\ngi_frame",
        "x.\n gi_frame",
        "# x\rimport os",
        "# x\fimport os",
        "f'{x.y}'",
        "rf'''a'''",
        "t'{x}'",
        "eval('1')",
        "getattr(a, 'b')",
        "__import__('os')",
        "__builtins__",
        "type(x)",
        "open('x')",
        "class A: pass",
        "with f: pass",
        "x.format(y)",
        "(x for x in y).gi_frame",
        "...",
        "\u0433 = 1",
        "x = 1\0",
        "assert f(1) == 2 # " + "x" * 100_001,
    ],
)
def test_what_could_reach_further_is_not(text: str) -> None:
    assert not harmless(text)
