"""Which programs may follow each other in one process: the known ones, and none that could leave anything behind."""

from __future__ import annotations

import ast
import builtins

import numpy as np
import pytest

from evosyn.strategies import known_names, load_known
from evosyn.strategies._pure import NUMPY, is_pure

NAMES = frozenset(vars(builtins))


def pure(text: str) -> bool:
    return is_pure(ast.parse(text), NAMES)


@pytest.mark.parametrize("name", [name for name in known_names() if name != "random"])
def test_the_known_strategies_are_plain_functions(name: str) -> None:
    assert pure(load_known(name))


def test_every_numpy_name_on_the_list_exists() -> None:
    assert not [name for name in NUMPY if not hasattr(np, name) and not hasattr(np.linalg, name)]


@pytest.mark.parametrize(
    "text",
    [
        "import os", "import numpy.random", "from numpy import sum", "import builtins", "from math import *",
        "np.sum = None", "np.x += 1", "for np.x in y: pass", "del np.sum", "global x", "class A: pass",
        "evidence.__class__", "evidence._pack", "x.__dict__", "__builtins__", "__import__('os')", "f.__globals__",
        "getattr(np, 'sum')", "setattr(np, 'sum', 1)", "vars(np)", "globals()", "locals()", "eval('1')", "exec('1')",
        "open('x')", "print(1)", "type(x)", "object()", "memoryview(x)", "super()", "id(x)", "input()", "dir(np)",
        "np.random.rand(3)", "np.seterr(all='raise')", "np.set_printoptions(1)", "np.save('a', x)", "np.load('a')",
        "np.fromfile('a')", "np.memmap('a')", "np.lib", "np.core", "np.ctypeslib", "np.testing", "np.empty(3)",
        "np.frombuffer(x)", "np.put(x, 0, 1)", "np.copyto(x, 1)", "np.add.at(x, 0, 1)", "x.setflags(write=True)",
        "x.flags", "x.base", "x.data", "x.ctypes", "x.view(int)", "x.tofile('a')", "x.resize(9)",
        "'{0.__class__}'.format(x)", "f'{x}'", "while True: pass", "try:\\n    pass\\nexcept: pass",
        "with x: pass", "raise ValueError", "assert x", "@x\\ndef f(): pass", "def f():\\n    yield 1",
        "async def f(): pass", "lambda: (yield)", "{1, 2}", "{x for x in y}", "(x := 1)", "match x:\\n    case 1: pass",
        "def __getattr__(name): pass", "x: int = 1",
    ],
)  # fmt: skip
def test_what_could_reach_beyond_its_own_values_is_not_pure(text: str) -> None:
    assert not pure(text.replace("\\n", "\n"))
