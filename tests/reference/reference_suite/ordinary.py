"""Ordinary programs and testings, as people and models write them: a table of ours, the bundled seeds, and of
HumanEval and MBPP, where a copy lies, the functions alone, right and with one thing changed.

Of the table every program meets every testing of its group.
"""

from __future__ import annotations

import ast
import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path

from evosyn.datafiles import data_rows
from evosyn.domains import load_pools
from evosyn.domains.published import humaneval, mbpp
from evosyn.records import Json
from reference_suite.drawing import Data, Family, Pair, Said, filled

REAL = Path(os.environ.get("EVOSYN_BENCHMARKS") or Path(__file__).parents[4] / "shared" / "data")
"""Where a user's own copies lie, if they do."""
CHANGES = (("==", "!="), (" + ", " - "), ("<", ">="), ("return ", "return not "))
MBPP_EVERY = 4
DIFFERENT = {"596": "names of solutions"}
"""MBPP 596 reads `sys` in its asserts, which only solutions import."""

GROUPS = (
    Family(
        "a class with state",
        ("class Solution:\n    def __init__(self): self.ans = []\n    def f(self, x):\n        self.ans.append(x)\n        return self.ans", "class Solution:\n    ans = []\n    def f(self, x):\n        self.ans = [x]\n        return self.ans", "class Solution:\n    def f(self, x): return [x]", "class Solution:\n    def f(self, x): return x", "class Solution:\n    @staticmethod\n    def f(x): return [x]", "class Solution:\n    @classmethod\n    def f(cls, x): return [x] * len(cls.__name__[:1])", "class Base:\n    def f(self, x): return [x]\nclass Solution(Base): pass",
         "class Solution:\n    def __init__(self, n): self.n = n\n    def f(self, x): return [x]", "class Solution:\n    def __init__(self): raise ValueError('no')\n    def f(self, x): return [x]", "class Other:\n    def f(self, x): return [x]"),
        ("assert f(1) == [1]", ("assert f(1) == [1]", "assert f(2) == [2]", "assert f(3) == [3]"), "def check(c):\n    assert c(1) == [1]\n    assert c(2) == [2]\n", "s = Solution()\nassert s.f(5) == [5]", "x = Solution().f(1)\ny = Solution().f(2)\nassert x + y == [1, 2]", Data("[([1], [1]), ([2], [2])]")),
        {}, "class Solution:\n    def f(self, x):\n        pass\n", "Solution.f",
    ),
    Family(
        "static and class methods",
        ("class Solution:\n    @staticmethod\n    def f(n): return n * 2", "class Solution:\n    k = 2\n    @classmethod\n    def f(cls, n): return n * cls.k", "class Solution:\n    @staticmethod\n    def f(n): return n", "class Solution:\n    def __init__(self, must): pass\n    @staticmethod\n    def f(n): return n * 2"),
        ("assert Solution.f(2) == 4", "x = Solution.f(3)\nassert x == 6", "def check(c):\n    assert [c(i) for i in range(3)] == [0, 2, 4]\n", Data("[([0], 0), ([5], 10)]"), "try:\n    Solution.f()\nexcept TypeError:\n    pass\nelse:\n    assert False"),
        {}, "class Solution:\n    def f(n):\n        pass\n", "Solution.f",
    ),
    Family(
        "the function alone",
        ("def f(xs: List[int]) -> Optional[int]: return max(xs) if xs else None", "def f(xs: List[int]): return helper(xs)", "def f(xs): return math.floor(max(xs)) if xs else None", "LIMIT = 1\ndef f(xs): return max(xs[:LIMIT], default=None)", "def helper(xs): return 0\ndef f(xs): return helper(xs)", "def f(xs): return xs[:LIMIT][-1] if xs else None", "def f(xs: Tuple): return max(xs)", "def f(xs):\n    n = Node(None)\n    for x in xs: n = Node(x) if n.v is None or x > n.v else n\n    return n.v"),
        ("assert f([1, 3, 2]) == 3", "assert f([]) is None", "assert f([2, 1]) == helper([2, 1])", "def check(c):\n    for n in range(LIMIT):\n        assert c(list(range(n + 1))) == n\n", Data("[([[4]], 4), ([[1, 2]], 2)]")),
        {}, "from typing import List, Optional\nimport math\nLIMIT = 3\nclass Node:\n    def __init__(self, v): self.v = v\ndef helper(xs):\n    return max(xs) if xs else None\ndef f(xs: List[int]) -> Optional[int]:\n    '''The largest.'''\n",
    ),
    Family(
        "generators",
        ("def f(n):\n    a, b = 0, 1\n    for _ in range(n):\n        yield a\n        a, b = b, a + b", "def f(n):\n    out = [0, 1]\n    while len(out) < n: out.append(out[-1] + out[-2])\n    return out[:n]", "def f(n): return (x for x in [0, 1, 1, 2, 3, 5][:n])", "def f(n):\n    yield 0\n    yield from f(n - 1) if n > 1 else ()"),
        ("assert list(f(5)) == [0, 1, 1, 2, 3]", "got = []\nfor x in f(4): got.append(x)\nassert got == [0, 1, 1, 2]", "assert sum(f(6)) == 12", "it = iter(f(3))\nassert [next(it), next(it), next(it)] == [0, 1, 1]\nassert next(it, None) is None", "def check(c):\n    assert max(c(6)) == 5\n    assert len(list(c(1))) == 1\n", "a, b, c = f(3)\nassert (a, b, c) == (0, 1, 1)", "assert dict(enumerate(f(2))) == {0: 0, 1: 1}"),
        {},
    ),
    Family(
        "dataclasses, named tuples and enumerations",
        ("from dataclasses import dataclass\n@dataclass\nclass P:\n    x: int\n    y: int = 0\ndef f(n): return P(n)", "from dataclasses import dataclass, field\n@dataclass(order=True, frozen=True)\nclass P:\n    x: int\n    y: int = field(default=0, compare=False)\ndef f(n): return P(n)", "from collections import namedtuple\nP = namedtuple('P', 'x y')\ndef f(n): return P(n, 0)", "from typing import NamedTuple\nclass P(NamedTuple):\n    x: int\n    y: int = 0\ndef f(n): return P(n)", "class P:\n    __slots__ = ('x', 'y')\n    def __init__(self, x, y=0): self.x, self.y = x, y\ndef f(n): return P(n)"),
        ("assert f(1).x == 1", "p = f(2)\nassert (p.x, p.y) == (2, 0)", "assert [p.x for p in map(f, [3, 1, 2])] == [3, 1, 2]", "assert max(f(1).x, f(2).x) == 2", "def check(c):\n    total = 0\n    for i in range(3):\n        total += c(i).x\n    assert total == 3\n", "x = f(4).z\nassert x", Said("assert f(1) == f(1)", "own objects"), Said("assert f(1) == (1, 0)", "own objects"), Said("assert f(1) < f(2)", "own objects")),
        {},
    ),
    Family(
        "results that alias",
        ("def f(n): return [[0] * n for _ in range(n)]", "def f(n):\n    row = [0] * n\n    return [row for _ in range(n)]", "def f(n): return [[0] * n] * n", "def f(n): return tuple([0] * n for _ in range(n))"),
        ("m = f(2)\nm[0][0] = 1\nassert m == [[1, 0], [0, 0]]", "m = f(2)\nm[0][0] = 1\nassert m == [[1, 0], [1, 0]]", "m = f(3)\nm[0].append(5)\nassert [len(r) for r in m] == [4, 3, 3]", "assert f(2) == [[0, 0], [0, 0]]", "m = f(2)\nassert m[0] is not m[1]", "def check(c):\n    m = c(2)\n    for i in range(2):\n        for j in range(2): m[i][j] += i * 2 + j\n    assert [list(r) for r in m] == [[0, 1], [2, 3]]\n", "a, b = f(2), f(2)\na[0][0] = 9\nassert b[0][0] == 0"),
        {},
    ),
    Family(
        "arguments that are changed and returned",
        ("def f(xs):\n    xs.sort()\n    return xs", "def f(xs): return sorted(xs)", "def f(xs):\n    xs[:] = sorted(xs)", "def f(xs, seen=[]):\n    seen.extend(xs)\n    return sorted(seen)", "def f(xs):\n    for i in range(len(xs)):\n        for j in range(i):\n            if xs[j] > xs[i]: xs[i], xs[j] = xs[j], xs[i]\n    return xs"),
        ("assert f([3, 1, 2]) == [1, 2, 3]", "xs = [2, 1]\nf(xs)\nassert xs == [1, 2]", "xs = [2, 1]\nys = f(xs)\nassert xs == [2, 1] and ys == [1, 2]", "xs = [2, 1]\nassert f(xs) is xs", "a = [[2], [1]]\nb = f(a)\nb[0].append(0)\nassert a == [[1, 0], [2]]", "def check(c):\n    assert c([1]) == [1]\n    assert c([2]) == [2]\n", Data("[([[2, 1]], [1, 2]), ([[]], [])]")),
        {},
    ),
    Family(
        "exceptions that are meant",
        ("def f(x):\n    if x < 0: raise ValueError('negative')\n    return x ** .5", "def f(x):\n    if x < 0: raise ArithmeticError('negative')\n    return x ** .5", "class Bad(ValueError):\n    def __init__(self, x):\n        super().__init__('bad %d' % x)\n        self.x = x\ndef f(x):\n    if x < 0: raise Bad(x)\n    return x ** .5", "def f(x):\n    try:\n        return {4: 2.0, 0: 0.0}[x]\n    except KeyError as e:\n        raise ValueError('unknown') from e", "def f(x):\n    assert x >= 0\n    return x ** .5", "import math\ndef f(x): return math.sqrt(x)", "def f(x): return x ** .5", "import sys\ndef f(x): return x ** .5 if x >= 0 else sys.exit('negative')"),
        ("assert f(4) == 2", "try:\n    f(-1)\nexcept ValueError:\n    pass\nelse:\n    assert False, 'no error'", "try:\n    f(-1)\n    raised = None\nexcept Exception as e:\n    raised = type(e).__name__\nassert raised in ('ValueError', 'Bad')", "import unittest\nclass T(unittest.TestCase):\n    def test(self):\n        with self.assertRaises(ValueError): f(-1)\nr = unittest.TestResult()\nT('test').run(r)\nassert r.wasSuccessful()", "try:\n    f(-2)\nexcept (ValueError, ArithmeticError) as e:\n    assert str(e)", "def check(c):\n    assert c(0) == 0\n    try:\n        c(-4)\n    except ValueError as e:\n        assert e.args\n    else:\n        assert False\n", "import contextlib\nwith contextlib.suppress(ValueError):\n    f(-1)\n    assert False", "assert f('a')"),
        {},
    ),
    Family(
        "texts and files of numbers on standard input",
        ("n = int(input())\nprint(sum(int(input()) for _ in range(n)))", "import sys\nn, *xs = map(int, sys.stdin.read().split())\nprint(sum(xs[:n]))", "def main():\n    n = int(input())\n    total = 0\n    for _ in range(n): total += int(input())\n    return total\nif __name__ == '__main__':\n    print(main())", "import sys\nxs = list(map(int, sys.stdin))\nsys.stdout.write(str(sum(xs[1:])))", "print(sum(map(int, open(0))))", "n = int(input())\nprint(float(sum(int(input()) for _ in range(n))))", "import sys\nsys.exit(int(input()))", "from collections import Counter\nimport sys\nc = Counter(map(int, sys.stdin.read().split()[1:]))\nprint(sum(k * v for k, v in c.items()))"),
        (Data("[('2\\n3\\n4\\n', '7\\n')]"), Data("[('1\\n5\\n', '5'), ('0\\n', '0\\n')]"), Data("[('3\\n1\\n1\\n-2\\n', '0\\n')]")),
        {},
    ),
    Family(
        "recursion, closures and caches",
        ("from functools import lru_cache\n@lru_cache(None)\ndef f(n): return n if n < 2 else f(n - 1) + f(n - 2)", "memo = {}\ndef f(n):\n    if n not in memo: memo[n] = n if n < 2 else f(n - 1) + f(n - 2)\n    return memo[n]", "def f(n):\n    def go(a, b, k): return a if k == 0 else go(b, a + b, k - 1)\n    return go(0, 1, n)", "f = lambda n: n if n < 2 else f(n - 1) + f(n - 2)", "calls = 0\ndef f(n):\n    global calls\n    calls += 1\n    return calls", "def f(n, *, memo={0: 0, 1: 1}):\n    return memo[n] if n in memo else memo.setdefault(n, f(n - 1) + f(n - 2))"),
        ("assert f(10) == 55", "assert [f(i) for i in range(6)] == [0, 1, 1, 2, 3, 5]", "x = f(1)\ny = f(1)\nassert x == y", "def check(c):\n    assert c(2) == 1\n    assert c(12) == 144\n", ("assert f(1) == 1", "assert f(2) == 1"), Data("[([0], 0), ([7], 13)]"), "try:\n    f(-1)\nexcept (RecursionError, KeyError): pass"),
        {},
    ),
)  # fmt: skip


def ours() -> Iterator[Pair]:
    for group in GROUPS:
        for program in group.programs:
            for testing in group.testings:
                yield filled(group, program, testing, {})


def bundled() -> Iterator[Pair]:
    for pool in load_pools("builtin:python-seeds"):
        problem, testing = pool.problem, pool.problem.human_testing
        cases = testing.body["cases"] if testing is not None and testing.kind in ("cases", "stdin") else {}
        if '"python"' in json.dumps(cases) or not cases or not problem.reference_solution:
            continue
        pairs = repr([(case["input"], case["output"]) for case in cases])
        starter, entry = (str(problem.payload.get(name) or "") for name in ("starter_code", "entry_point"))
        kind = "stdin" if problem.domain == "python-stdin" else "cases"
        yield from _both(problem.problem_id, starter, problem.reference_solution, (kind, (pairs,)), entry)


def published(name: str, convert: Callable[[dict[str, Json]], dict[str, Json]]) -> Iterator[Pair]:
    for number, row in data_rows(REAL / f"problems_{name}.jsonl.gz"):
        if name == "mbpp" and number % MBPP_EVERY:
            continue
        line = convert(dict(row))
        testing, entry, source = line["human_testing"], line["entry_point"], line["reference_solution"]
        texts = [testing["code"]] if testing["kind"] == "program" else testing["asserts"]
        if name == "humaneval":  # the function alone, as models send it
            body = [node for node in ast.parse(source).body if isinstance(node, ast.FunctionDef) and node.name == entry]
            source = ast.unparse(body[-1])
        for pair in _both(line["problem_id"], line["starter_code"], source, (testing["kind"], tuple(texts)), entry):
            yield pair._replace(difference=DIFFERENT.get(pair.family, ""))


def _both(name: str, starter: str, source: str, testing: tuple[str, tuple[str, ...]], entry: str) -> Iterator[Pair]:
    """The program, and the same with one thing changed."""
    other = next((source.replace(old, new, 1) for old, new in CHANGES if old in source), source + "\n")
    for program in (source, other):
        yield Pair(name, starter, program, *testing, "", entry)


SOURCES: dict[str, Callable[[], Iterator[Pair]]] = {
    "ours": ours,
    "bundled": bundled,
    "humaneval": lambda: published("humaneval", humaneval.convert),
    "mbpp": lambda: published("mbpp", mbpp.convert),
}


def is_here(source: str) -> bool:
    """Whether the pairs of this source can be made."""
    return source in ("ours", "bundled") or (REAL / f"problems_{source}.jsonl.gz").is_file()
