"""Programs of the plain kind, which may share a process in large batches of completions.

They use nothing but what looks plain: no class, no foreign module, no hidden name. None of them finds what another one
computed, leaves anything that another one meets, or takes time and memory from another one's verdict.
"""

from __future__ import annotations

from hostile_suite.families._make import attack, solutions
from hostile_suite.model import REWARD, TABLE, Attack, Family, Role

QUIET = "wrong exception killed timeout output-limit not-plain-data"
MODES = (TABLE, REWARD)


def plain(name: str, body: str, head: str = "") -> Attack:
    """A plain program; `x` is the argument."""
    lines = "".join(f"    {line}\n" for line in body.strip("\n").splitlines())
    return attack(name, whole=f"{head}\ndef ENTRY(x):\n{lines}", dressed=False, modes=MODES)


LEFT = solutions(
    "plain programs that leave something",
    "Nothing that a plain program changes is met by a program that runs after it in the same process.",
    [
        plain(name, body, head)
        for name, (head, body) in {
            "names of builtins at module level": (
                "len = sum = sorted = range = print = int = lambda *a: 0",
                "return len([])",
            ),
            "global names of builtins": ("", "global len, range, pow\nlen = range = pow = lambda *a: 0\nreturn 0"),
            "the loader's names": ("PROGRAMS = {}\nloaded = {}\ntogether = None", "return 0"),
            "the loader's names by global": (
                "",
                "global PROGRAMS, loaded, together, sys\nPROGRAMS = loaded = together = sys = None\nreturn 0",
            ),
            "lists of modules": ("import string, math", "a = string.ascii_letters\na += 'x'\nreturn 0"),
            "partial of a module": (
                "from functools import partial, reduce\nimport operator",
                "f = partial(operator.add, 1)\nf.func = None\nreturn 0",
            ),
            "a cache that is full": (
                "from functools import lru_cache\n@lru_cache(maxsize=None)\ndef g(n):\n    return [n] * 100",
                "for n in range(20000): g(n)\nreturn 0",
            ),
            "defaults that are kept": ("def g(a, kept=[]):\n    kept.append(a)\n    return kept", "return g(x)"),
            "generators left open": (
                "kept = []\ndef g():\n    try:\n        while True: yield 1\n    finally:\n        kept.append(print('left'))",
                "a = g()\nnext(a)\nkept.append(a)\nreturn 0",
            ),
            "a generator that will not close": (
                "kept = []\ndef g():\n    while True:\n        try:\n            yield 1\n        except Exception:\n            pass",
                "a = g()\nnext(a)\nkept.append(a)\nreturn 0",
            ),
            "a recursion limit reached": (
                "def g(n):\n    return g(n + 1)",
                "try:\n    return g(0)\nexcept RuntimeError:\n    return g(0)",
            ),
            "exceptions kept": (
                "kept = []",
                "try:\n    1 / 0\nexcept ZeroDivisionError as e:\n    kept.append(e)\nraise kept[0]",
            ),
            "StopIteration": ("", "raise StopIteration(x)"),
            "shared empty values": ("", "a = ()\na += (1,)\nb = ''\nb += 'x'\nc = frozenset()\nreturn [a, b]"),
            "prints": ("", "print('x' * 100000)\nreturn 0"),
            "prints verdicts": ("", "print({'status': 'ok'}, flush=True)\nreturn True"),
            "iterators of chained things": (
                "import itertools",
                "a = itertools.chain.from_iterable(itertools.repeat([1], 3))\nreturn list(itertools.tee(a, 3)[0])",
            ),
            "deep copies": ("import copy", "a = []\na.append(a)\nreturn len(copy.deepcopy([a] * 9)) - 9"),
            "heaps and bisections with keys": (
                "import heapq, bisect",
                "a = [3, 1]\nheapq.heapify(a)\nreturn bisect.insort(a, x, key=lambda y: a.clear() or 0)",
            ),
            "sorting that changes the list": ("", "a = [3, 2, 1]\na.sort(key=lambda y: a.append(y) or y)\nreturn a"),
            "a function that deletes itself": ("", "global ENTRY\ndel ENTRY\nreturn 0"),
            "a counter of many": (
                "from collections import Counter, defaultdict",
                "a = Counter(range(100000))\nb = defaultdict(lambda: b)\nreturn len(b[1]) + len(a)",
            ),
        }.items()
    ],
    words=QUIET,
    role=Role.COMPANY,
    draws=0,
)

FOUND = solutions(
    "plain programs that look for another's",
    "A plain program finds neither the programs, the values nor the names of those it shares a process with.",
    [
        plain(name, body, head)
        for name, (head, body) in {
            "names that others define": (
                "",
                "for f in (lambda: _right(x), lambda: _inner(x), lambda: inner(), lambda: honest(x)):\n    try: return f()\n    except NameError: pass",
            ),
            "names of the loader": (
                "",
                "for f in (lambda: PROGRAMS, lambda: loaded, lambda: together, lambda: number, lambda: sys, lambda: module):\n    try: return f()\n    except NameError: pass",
            ),
            "other programs by number": (
                "",
                "for n in range(64):\n    try: return loaded[n](x)\n    except NameError: return 0\n    except Exception: pass",
            ),
            "other programs by recursion": ("", "try: return together(0, (x,), {})\nexcept NameError: return 0"),
            "iteration over what is shared": (
                "import operator, functools",
                "return functools.reduce(operator.add, [x, x])",
            ),
            "items of functions": (
                "import operator",
                "try: return operator.itemgetter('ENTRY')(ENTRY)\nexcept TypeError: return 0",
            ),
            "caches of another": ("from functools import cache\n@cache\ndef g(n):\n    return n", "return g(x)"),
            "texts of functions": ("", "return str(ENTRY) + repr(print)"),
            "texts of exceptions": ("", "try:\n    return undefined\nexcept NameError as e:\n    return str(e)"),
            "numbers that stay": ("", "return id_(x) if False else hash_(x) if False else -1"),
            "the identity of equal texts": ("", "a = str(x)\nreturn a is str(x)"),
            "what is printed by another": ("", "return print(x)"),
            "typing": ("from typing import Any, List", "return str(List[Any])"),
            "bytes of nothing": ("", "return bytes(bytearray(64)) == bytes(64) and -1"),
            "format of a function": ("", "return '%s %r' % (ENTRY, print)"),
            "unpacked defaults": ("", "return max(ENTRY, ENTRY, key=lambda f: 0) == ENTRY and 5"),
            "deep copy of a function": ("import copy", "return copy.copy(ENTRY) == ENTRY and 5"),
            "a generator's frame by name": ("def g():\n    yield 1", "a = g()\nreturn str(a)"),
        }.items()
    ],
    words=QUIET,
    role=Role.COMPANY,
    draws=0,
)

TAKES = solutions(
    "plain programs that take too much",
    "A plain program that takes too long, too much or errs in a shared process changes no neighbour's verdict.",
    [
        plain(name, body, head)
        for name, (head, body) in {
            "a loop": ("", "while True: pass"),
            "a loop while loading": ("while True: pass", "return 0"),
            "a slow call": ("", "return sum(range(10 ** 8))"),
            "a little too slow": ("", "a = 0\nfor n in range(10 ** 7): a += n\nreturn a"),
            "a power": ("", "return 7 ** 10 ** 8"),
            "a permutation": ("import itertools", "return sum(1 for a in itertools.permutations(range(13)))"),
            "memory in steps": ("", "a = []\nwhile True: a.append(bytearray(50000000))"),
            "memory at once": ("", "return bytearray(10 ** 12)"),
            "a list that doubles": ("", "a = [0]\nwhile True: a = a + a"),
            "memory that is kept": ("kept = []", "kept.append(bytearray(200000000))\nreturn 0"),
            "a large value": ("", "return [0] * 10 ** 7"),
            "a value that is large when written": ("", "a = [0] * 10\nfor n in range(8): a = [a] * 10\nreturn a"),
            "a deep value": ("", "a = []\nfor n in range(100000): a = [a]\nreturn a"),
            "colliding keys": ("", "return len({n * (2 ** 61 - 1): n for n in range(30000)})"),
            "recursion": ("", "return ENTRY(x)"),
            "a flood": ("", "while True: print('x' * 100000)"),
            "swallows what ends it": ("", "while True:\n    try:\n        while True: x\n    except Exception: pass"),
            "an integer of 5,000 digits": ("", "return 10 ** 5000"),
            "keys of 5,000 digits": ("", "return {10 ** 5000 + n: n for n in range(3)}"),
            "a function for a value": ("", "return ENTRY"),
            "no value": ("", "return (n for n in range(3))"),
            "a text that multiplies": ("", "return len('x' * 10 ** 9)"),
            "a regression of exceptions": (
                "def g(n):\n    try:\n        return g(n + 1)\n    except Exception:\n        return g(n)",
                "return g(0)",
            ),
        }.items()
    ],
    words=QUIET,
    role=Role.COMPANY,
    slow=True,
    draws=0,
)

FAMILIES: tuple[Family, ...] = (LEFT, FOUND, TAKES)
