"""Honest testings in unusual styles: what Python itself would pass passes.

Where two processes cannot mean what Python means, a testing may be broken with a reason, never failed by the program.
"""

from __future__ import annotations

from typing import Any

from hostile_suite.families._make import attack, solutions
from hostile_suite.model import FRESH, WARM, Attack, Family, Role, only

PASSES = only("pass")
PASSES_OR_BROKEN = only("pass broken")


def pair(name: str, solution: str, text: str, mode: str = WARM, **rest: Any) -> Attack:
    """A right solution and a testing that Python passes."""
    return attack(
        name, setup=solution, body={"kind": "asserts", "asserts": [text]}, modes=(mode,), dressed=False, **rest
    )


PAIRS = {
    "a list against a tuple": (
        "def ENTRY(x): return [x, (1, 2)]",
        "got = ENTRY(1)\nassert got == [1, (1, 2)] and got != [1, [1, 2]]",
    ),
    "state between calls": (
        "n = 0\ndef ENTRY():\n    global n\n    n += 1\n    return n",
        "assert ENTRY() == 1 and ENTRY() == 2",
    ),
    "a text formatted": (
        "def ENTRY(x): return 'ab'",
        "assert '%s!' % ENTRY(1) == 'ab!' and '%s %s' % (1, ENTRY(2)) == '1 ab'",
    ),
    "a range compared": ("def ENTRY(x): return range(3)", "assert ENTRY(1) == range(3)"),
    "a range as a list": ("def ENTRY(x): return range(3)", "assert list(ENTRY(1)) == [0, 1, 2]"),
    "keys as a list": ("def ENTRY(x): return {'a': 1}.keys()", "assert list(ENTRY(1)) == ['a']"),
    "items sorted": (
        "def ENTRY(x): return {'b': 1, 'a': 2}.items()",
        "assert sorted(ENTRY(1)) == [('a', 2), ('b', 1)]",
    ),
    "values summed": ("def ENTRY(x): return {'b': 1, 'a': 2}.values()", "assert sum(ENTRY(1)) == 3"),
    "a generator as a list": ("def ENTRY(x): return (n for n in range(3))", "assert list(ENTRY(1)) == [0, 1, 2]"),
    "a map as a list": ("def ENTRY(x): return map(abs, [-1, 2])", "assert list(ENTRY(1)) == [1, 2]"),
    "a reversed list": ("def ENTRY(x): return reversed([1, 2])", "assert list(ENTRY(1)) == [2, 1]"),
    "a deque": ("from collections import deque\ndef ENTRY(x): return deque([1, 2])", "assert list(ENTRY(1)) == [1, 2]"),
    "a counter": (
        "from collections import Counter\ndef ENTRY(x): return Counter('aab')",
        "assert ENTRY(1) == {'a': 2, 'b': 1}",
    ),
    "a default dictionary": (
        "from collections import defaultdict\ndef ENTRY(x):\n    d = defaultdict(list); d['a'].append(1); return d",
        "assert ENTRY(1) == {'a': [1]}",
    ),
    "an ordered dictionary": (
        "from collections import OrderedDict\ndef ENTRY(x): return OrderedDict(a=1)",
        "assert ENTRY(1) == {'a': 1}",
    ),
    "a named tuple": (
        "from collections import namedtuple\nP = namedtuple('P', 'a b')\ndef ENTRY(x): return P(1, 2)",
        "assert ENTRY(1) == (1, 2)",
    ),
    "an integer enumeration": (
        "import enum\nclass E(enum.IntEnum):\n    A = 5\ndef ENTRY(x): return E.A",
        "assert ENTRY(1) == 5",
    ),
    "a text enumeration": (
        "import enum\nclass E(str, enum.Enum):\n    A = 'a'\ndef ENTRY(x): return E.A",
        "assert ENTRY(1) == 'a'",
    ),
    "a fraction": ("from fractions import Fraction\ndef ENTRY(x): return Fraction(1, 2)", "assert ENTRY(1) == 0.5"),
    "a decimal": ("from decimal import Decimal\ndef ENTRY(x): return Decimal('0.5')", "assert ENTRY(1) == 0.5"),
    "an array": (
        "from array import array\ndef ENTRY(x): return array('i', [1, 2])",
        "xs = ENTRY(1)\nassert list(xs) == [1, 2]",
    ),
    "an iterator of its own": (
        "class C:\n    def __init__(self): self.n = 0\n    def __iter__(self): return self\n    def __next__(self):\n        self.n += 1\n        if self.n > 3: raise StopIteration\n        return self.n\ndef ENTRY(x): return C()",
        "xs = ENTRY(1)\nassert [x for x in xs] == [1, 2, 3]",
    ),
    "a byte array": ("def ENTRY(x): return bytearray(b'ab')", "assert ENTRY(1) == b'ab'"),
    "a set and a frozen set": ("def ENTRY(x): return frozenset([1, 2])", "assert ENTRY(1) == {1, 2}"),
    "an integer of 5,000 digits": ("def ENTRY(x): return 10 ** 5000 + x", "assert ENTRY(1) == 10 ** 5000 + 1"),
    "an integer of 5,000 digits, lifted": ("def ENTRY(x): return 10 ** 5000", "assert ENTRY(1) == 10 ** 5000"),
    "an argument of 5,000 digits": ("def ENTRY(x): return x % 7", "assert ENTRY(10 ** 5000) == 10 ** 5000 % 7"),
    "a NaN": ("def ENTRY(x): return float('nan')", "got = ENTRY(1)\nassert got != got"),
    "floats that are close": ("def ENTRY(x): return 0.1 + 0.2", "assert abs(ENTRY(1) - 0.3) < 1e-9"),
    "truth and numbers": ("def ENTRY(x): return x > 0", "assert ENTRY(1) == 1 and ENTRY(1) is True and not ENTRY(-1)"),
    "identity with None": ("def ENTRY(x): return None", "assert ENTRY(1) is None"),
    "sorted in place": ("def ENTRY(x): x.sort()", "xs = [3, 1, 2]\nENTRY(xs)\nassert xs == [1, 2, 3]"),
    "appended in place": (
        "def ENTRY(x):\n    x.append(7)\n    return x",
        "xs = [1]\ngot = ENTRY(xs)\nassert xs == [1, 7] and got == xs",
    ),
    "a dictionary changed in place": (
        "def ENTRY(x): x['k'] = 1; x.pop('a')",
        "d = {'a': 0}\nENTRY(d)\nassert d == {'k': 1}",
    ),
    "a set changed in place": ("def ENTRY(x): x.add(3)", "s = {1}\nENTRY(s)\nassert s == {1, 3}"),
    "nested lists changed in place": (
        "def ENTRY(x):\n    for row in x: row.reverse()",
        "m = [[1, 2], [3, 4]]\nENTRY(m)\nassert m == [[2, 1], [4, 3]]",
    ),
    "arguments left alone": (
        "def ENTRY(x): return sorted(x)",
        "xs = [3, 1]\nassert ENTRY(xs) == [1, 3] and xs == [3, 1]",
    ),
    "aliases among arguments": (
        "def ENTRY(a, b):\n    a.append(1)\n    return len(b)",
        "xs = []\nassert ENTRY(xs, xs) == 1",
    ),
    "a right exception": (
        "def ENTRY(x): raise ValueError('no')",
        "try:\n    ENTRY(1)\n    ok = False\nexcept ValueError:\n    ok = True\nassert ok",
    ),
    "the text of an exception": (
        "def ENTRY(x): raise ValueError('no')",
        "try:\n    ENTRY(1)\nexcept ValueError as e:\n    assert str(e) == 'no'\nelse:\n    assert False",
    ),
    "a subclass of an exception": (
        "class Mine(KeyError): pass\ndef ENTRY(x): raise Mine('k')",
        "try:\n    ENTRY(1)\nexcept LookupError:\n    pass\nelse:\n    assert False",
    ),
    "keyword arguments": ("def ENTRY(x, *, y=2): return x + y", "assert ENTRY(x=1, y=3) == 4 and ENTRY(1) == 3"),
    "unpacked arguments": (
        "def ENTRY(*xs, **kw): return sum(xs) + sum(kw.values())",
        "assert ENTRY(*[1, 2], **{'a': 3}) == 6",
    ),
    "calls of calls": ("def ENTRY(x): return x + 1", "assert ENTRY(ENTRY(ENTRY(1))) == 4"),
    "calls in comprehensions": (
        "def ENTRY(x): return x * x",
        "assert [ENTRY(x) for x in range(5)] == [0, 1, 4, 9, 16]",
    ),
    "calls as a key": ("def ENTRY(x): return -x", "assert sorted([1, 3, 2], key=ENTRY) == [3, 2, 1]"),
    "a text of a value": ("def ENTRY(x): return [1, 'a']", "assert str(ENTRY(1)) == \"[1, 'a']\""),
    "the order of keys": ("def ENTRY(x): return {'b': 1, 'a': 2}", "assert list(ENTRY(1)) == ['b', 'a']"),
    "the type of a value": (
        "def ENTRY(x): return (1, 2)",
        "assert isinstance(ENTRY(1), tuple) and type(ENTRY(1)) is tuple",
    ),
    "a chain of comparisons": ("def ENTRY(x): return x", "assert 0 < ENTRY(1) <= ENTRY(2) < 3"),
    "deep values": (
        "def ENTRY(x):\n    a = []\n    for _ in range(98): a = [a]\n    return a",
        "a = []\nfor n in range(98):\n    a = [a]\nassert ENTRY(1) == a",
    ),
    "unicode": ("def ENTRY(x): return 'é\\u200d\\U0001f600' + x", "assert ENTRY('ß') == 'é\\u200d\\U0001f600ß'"),
    "negative zero and infinity": (
        "def ENTRY(x): return [-0.0, float('inf')]",
        "assert ENTRY(1) == [0.0, float('inf')]",
    ),
    "a helper in the testing": (
        "def ENTRY(x): return x + 0.0001",
        "import math\nassert math.isclose(ENTRY(1), 1.0001)",
    ),
    "asyncio in a testing": (
        "def ENTRY(x): return x",
        "import asyncio\nasync def go(): return ENTRY(1)\nassert asyncio.run(go()) == 1",
    ),
}
BETWEEN = {
    "a generator as a list",
    "a map as a list",
    "a reversed list",
    "a deque",
    "a named tuple",
    "an integer enumeration",
    "a text enumeration",
    "a fraction",
    "a decimal",
    "an array",
    "a subclass of an exception",
    "aliases among arguments",
    "a byte array",
}
"""Values that only Python's own process has whole: there a testing may be broken, with the reason; never failed."""
TESTINGS = solutions(
    "honest testings",
    "What an assert means in Python it means here, or the testing is broken with a reason; a right program never fails it.",
    [
        pair(
            name,
            solution,
            text,
            FRESH if "import" in text else WARM,
            allowed=PASSES_OR_BROKEN if name in BETWEEN or "in place" in name else PASSES,
        )
        for name, (solution, text) in PAIRS.items()
    ],
    words=PASSES,
    role=Role.HONEST,
    draws=0,
)
FAMILIES: tuple[Family, ...] = (TESTINGS,)
