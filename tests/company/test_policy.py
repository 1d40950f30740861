"""What the company policy admits and what it refuses, rule by rule, in its three vocabularies."""

from __future__ import annotations

import importlib
import inspect

import numpy as np
import pytest

from evosyn.sandbox.company import CHECKS, NUMPY, PLAIN, Language, admits
from evosyn.strategies import known_names, load_known


def _lines(text: str) -> list[str]:
    """One program a line, in which `\\n` is the end of a line."""
    return [line.replace("\\n", "\n") for line in text.strip("\n").split("\n")]


ADMITTED = _lines(r"""
import math\nfrom typing import List\n\ndef f(x: int) -> List[int]:\n    return [math.isqrt(x), math.gcd(x, 4)]
import typing as t\ndef f(x: t.Dict[str, t.Optional[int]], g: t.Callable[[int], t.Any] = None) -> 't.Any':\n    pass
from __future__ import annotations\nimport math as m\nprint(m.pi)
from collections import Counter, defaultdict\ndef f(x: Counter):\n    return Counter(x).most_common(1), defaultdict(int)
from functools import lru_cache\n@lru_cache(maxsize=None)\ndef f(x):\n    return x if x < 2 else f(x - 1) + f(x - 2)
def f(x):\n    while x:\n        x -= 1\n        yield x\n    yield from (y for y in range(3) if y)
s = [True] * 9\ns[::3] = [False] * 3\ns[::2] += [1]\ns[1:] = iter(s)
if __name__ == '__main__':\n    print('%s and %d' % ('a', 1), sep='')
def f(*xs, key=None, **more):\n    global n\n    n = (m := len(xs))\n    return sorted(xs, key=key), m, {*xs}, [*xs]
""")
"""Programs of every vocabulary."""
REFUSED = _lines(r"""
import os
import os as math
from os import path
import collections.abc
from math import *
from . import math
import math\nmath.floor = len
import math\ndel math.pi
import math\nm = math
import math\ndef f(math):\n    return math.pi
import typing\ntyping.sys
import math\nprint(math)
import copy
import sys
import gc
from itertools import chain
import math\nfor math.pi in []: pass
import math\nimport string as math
from math import pi as __builtins__
import functools\nfunctools.wraps
getattr(1, 'real')
type(1)
vars()
globals()
eval('1')
open('x')
__builtins__
__import__('os')
object()
super()
memoryview(b'')
bytearray(3)
slice(1)
id(1)
hash(1)
format(1)
classmethod
def open():\n    pass
def f(input):\n    return input
ｏｐｅｎ('x')
global __name__\n__name__ = 1
def f(__x):\n    return __x
def __getattr__(name):\n    pass
dict(__a=1)
unknown
f = __spec__
(i for i in [1]).gi_frame
print.__self__
(lambda: 0).__globals__
''.format(1)
''.format_map({})
x = []\nx.y = 1
f = print\nf.a.b
[].__class__
try:\n    pass\nexcept Exception as e:\n    e.with_traceback
try:\n    pass\nexcept Exception as e:\n    e.args
from operator import attrgetter
(1)._x
(1).__doc__
class A:\n    pass
with open('x') as f:\n    pass
async def f():\n    pass
match 1:\n    case int(real=y):\n        pass
try:\n    pass\nexcept* ValueError:\n    pass
def f():\n    try:\n        yield 1\n    finally:\n        pass
def f():\n    try:\n        x = yield\n    except:\n        pass
iter(int, 1)
f = iter
iter(*[int, 1])
a = [1, 2]\na[::2] = (x for x in a)
a = [1]\na[::1], b = 1, 2
a = [1]\nfor a[::1] in []:\n    pass
from functools import cmp_to_key
from itertools import tee
from collections import Counter\nCounter.copy(int)
from collections import Counter\nc = Counter
import collections\ncollections.Counter.copy(int)
import collections as c\nlist(map(c.Counter, []))
from typing import List\nx = List
from typing import List\nx = List[1]
from typing import List\ndef f(x: List[1]):\n    pass
from typing import List\nd = {}\ndef f(x: d[List]):\n    pass
from typing import List\ndef f(x: List[int][str]):\n    pass
from typing import List, Optional\ndef f(x: Optional[List[int], int]):\n    pass
import typing\ndef f(x: print(typing)):\n    pass
from typing import List\ndef f(x: (y := List)):\n    pass
from typing import List\ndef f(x=List):\n    pass
print(**{'file': 1})
print(where=1)
print(dtype=1)
def f(x)
""")
BROKEN = ["def f(x)", "(" * 500 + ")" * 500, "def f(x):\0", "x = 1\n" * 40_000]
ARRAYS = _lines(r"""
np.divide(a, 2, out=np.zeros_like(a), where=a > 0)
np.sum(a, where=[True], initial=0)
np.linalg.norm(a)
np.zeros((2, 3), dtype=float)
a.astype(np.int64)
a.astype('float64', copy=False)
np.full(3, 0.0, dtype=a.dtype)
isinstance(a, np.float64)
a[np.newaxis].T @ a
max(a, key=lambda v: np.mean(v))
e.passed.sum(axis=1)
np.array([[1.0]], dtype=np.bool_).tolist()
""")
UNFILLED = _lines(r"""
np.empty(3)
np.empty_like(a)
np.ndarray(3)
np.resize(a, 9)
np.frombuffer(b'')
np.lib
np.random.rand()
np.divide(a, 2, where=a > 0)
np.divide(a, 2, out=None, where=a > 0)
np.divide(a, 2, out=a, where=a > 0)
np.divide(a, 2, out=np.abs(a), where=a > 0)
a.clip(0, 1, where=False)
np.clip(a, 0, 1, where=False)
np.add(1, 2, **{'where': False})
a.clip(0, 1, **{'where': False})
np.zeros(3, 'V8')
np.zeros(*[3, 'V8'])
np.zeros(3, dtype='V8')
np.zeros(3, dtype=object)
np.zeros(3, dtype=[('a', 'i4')])
np.full(3, 0, {'names': []})
a.astype('V8')
a.astype(object)
a.astype(float, 'C')
map(a.astype, [1])
f = np.add
map(np.zeros, [3])
np.add.at(a, 0, 1)
np.add.reduce(a)
np.add(a, 1, casting='unsafe')
np.array(a, like=a)
np.seterr(all='raise')
a.flags
a.base
a.data
a.view(int)
a.tobytes()
a.ctypes
a.setflags(write=True)
e._pack
np.float64.__mro__
a.T = 1
np.pi = 3
m = np
np.linalg
np.save('a', a)
np.vectorize(a)
np.put(a, 0, 1)
np.copyto(a, 1)
""")
"""Memory that was not filled, and arrays and settings of others."""


@pytest.mark.parametrize("text", ADMITTED)
@pytest.mark.parametrize("language", [PLAIN, NUMPY, CHECKS], ids=["plain", "numpy", "checks"])
def test_ordinary_programs_may_keep_company(text: str, language: Language) -> None:
    compile(text, "<program>", "exec")
    assert admits(text, language)


@pytest.mark.parametrize("text", [*REFUSED, *BROKEN])
@pytest.mark.parametrize("language", [PLAIN, NUMPY, CHECKS], ids=["plain", "numpy", "checks"])
def test_what_could_reach_beyond_itself_may_not(text: str, language: Language) -> None:
    assert not admits(text, language) or (language is CHECKS and text == "unknown")


@pytest.mark.parametrize("line", ARRAYS)
def test_arrays_that_are_filled_are_admitted(line: str) -> None:
    assert admits(
        f"import numpy as np\ndef rank(e: np.ndarray, a=1) -> tuple[np.ndarray, float]:\n    return {line}", NUMPY
    )


@pytest.mark.parametrize("line", UNFILLED)
def test_memory_that_was_not_filled_and_arrays_of_others_are_out_of_reach(line: str) -> None:
    assert not admits(f"import numpy as np\ndef rank(e, a=1):\n    {line}", NUMPY)


def test_a_kind_of_array_is_not_believed_where_its_name_has_another_meaning() -> None:
    assert admits("import numpy as np\nnp.zeros(3, dtype=float)", NUMPY)
    assert not admits("import numpy as np\nfloat = 'V8'\nnp.zeros(3, dtype=float)", NUMPY)
    assert not admits("import numpy as np\nfrom string import digits as float\nnp.zeros(3, dtype=float)", NUMPY)


def test_completions_have_no_arrays() -> None:
    assert not admits("import numpy", PLAIN)
    assert not admits("[].astype(int)", PLAIN)


@pytest.mark.parametrize("name", [name for name in known_names() if name != "random"])
def test_the_known_strategies_may_keep_company(name: str) -> None:
    assert admits(load_known(name), NUMPY)


def test_everything_on_the_lists_exists() -> None:
    for module, names in NUMPY.modules.items():
        assert not [name for name in names if not hasattr(importlib.import_module(module), name)]
    for what in [*NUMPY.silent, *NUMPY.called]:
        module, _, name = what.rpartition(".")
        assert hasattr(importlib.import_module(module or "builtins"), name), what


def test_what_is_called_cannot_be_given_a_type_or_a_place_by_position() -> None:
    """Of the functions that say what they take; the others are ufuncs, which take none of it by position."""
    checked = 0
    for what, called in NUMPY.called.items():
        module, _, name = what.rpartition(".")
        if not module.startswith("numpy"):
            continue
        function = getattr(importlib.import_module(module), name)
        if isinstance(function, np.ufunc):
            continue
        try:
            parameters = [*inspect.signature(function).parameters.values()]
        except ValueError:
            continue
        checked += 1
        given = [one.name for one in parameters[: called.most] if one.kind is not one.KEYWORD_ONLY]
        assert not {"dtype", "where", "like", "subok", "casting", "signature"} & {*given}, what
    assert checked > 70


@pytest.mark.parametrize(
    "text",
    [
        "assert f(1) == 2",
        "def check(candidate):\n    assert candidate([1, 2.5, 'a\\'b']) == b'x'\n    assert candidate(1.) == 1e-5",
        "assert math.isclose(candidate(.5), 1.0)",
        "METADATA = {\n 'author': 'jt',\n}\nfor x in range(3):\n    assert abs(candidate(x) - x) < 1e-6  # fine",
        "assert 'a' in'ab'",
        "assert ____(1) == 2",
        "import math\nassert math.isclose(f(1), math.pi)",
        "check(candidate)",
    ],
)
def test_testings_may_use_what_surrounds_them(text: str) -> None:
    assert admits(text, CHECKS)


def test_a_program_may_not_use_what_it_does_not_define_and_a_testing_may() -> None:
    assert not admits("f(1)", PLAIN)
    assert admits("f(1)", CHECKS)
