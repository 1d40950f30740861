"""Families of testings that are data: cases of arguments and values, and texts for standard input and output."""

from __future__ import annotations

from reference_suite.drawing import Data, Said, family

NUMBERS = (0, 1, 2, 3, 5, 7, 12, -1, -4)
LISTS = ([], [1], [3, 1, 2], [2, 2, 1], [-1, 0, 4, 4], [5, 3, 8, 1, 9])
WORDS = ("", "a", "abc", "hello world", "Aa bB", "x y  z")

# ------------------------------------------------------------------------------------------------------------ cases
family(
    "cases of numbers",
    ("def f(x, y=2): return x * $a + y", "def f(x, y=2): return float(x * $a + y)", "def f(x, y=2): return x * $a + y + (x == 3)", "def f(x, y): return x * $a + y", "import fractions\ndef f(x, y=2): return fractions.Fraction(x * $a + y)", "def f(x, y=2): return str(x * $a + y)", "def f(x, y=2): return x > y",
     "def f(x, y=2): return [x * $a + y]", "import decimal\ndef f(x, y=2): return decimal.Decimal(x) * $a + y", "def f(x, y=2): return complex(x * $a + y)", "def f(*args, **kw): return sum(args) + sum(kw.values())"),
    (Data("[([x], x * a + 2), ([3], 3 * a + 2)]"), Data("[([x, 0], x * a)]"), Data("[({'x': x, 'y': 1}, x * a + 1)]"), Data("[([x], (x * a + 2) * 1.0)]"), Data("[([x, 1], True), ([1, 1], False)]"), Data("[([x, x + 1], False)]"), Data("[([x], str(x * a + 2))]"), Data("[([x], [x * a + 2])]"), Data("[([], 1)]"), Data("[([1, 2, 3], 6)]"), Data("[([0], 10 ** 30 * 0 + 2)]"), Data("[([10 ** 30], 10 ** 30 * a + 2)]")),
    a=NUMBERS, x=NUMBERS,
)  # fmt: skip
family(
    "cases of lists",
    ("def f(xs): return sorted(xs)", "def f(xs): return tuple(sorted(xs))", "def f(xs):\n    xs.sort()\n    return xs", "def f(xs): return sorted(set(xs))", "def f(xs): return iter(sorted(xs))", "def f(xs): return [xs, sorted(xs)]", "def f(xs): return (sorted(xs), len(xs))", "def f(xs): return set(xs)", "def f(xs): return frozenset(xs)",
     "def f(xs): return dict(enumerate(sorted(xs)))", "def f(xs): return dict.fromkeys(xs).keys()", "import collections\ndef f(xs): return collections.deque(sorted(xs))", "def f(xs): return range(len(xs))", "def f(xs): return xs.sort()", "def f(xs): return xs[0]", "def f(xs): return {'all': [xs, (1, tuple(xs))]}"),
    (Data("[([xs], sorted(xs))]"), Data("[([xs], tuple(sorted(xs)))]"), Data("[([xs], [xs, sorted(xs)])]"), Data("[([xs], [sorted(xs), len(xs)])]"), Data("[([xs], set(xs))]"), Data("[([xs], frozenset(xs))]"), Data("[([xs], None)]"), Data("[([xs], dict(enumerate(sorted(xs))))]"), Data("[([xs], sorted(set(xs)))]"), Data("[([xs], xs[0] if xs else 0)]"),
     Data("[([[2, 1]], [1, 2]), ([xs], sorted(xs))]"), Data("[([xs], {'all': [xs, [1, xs]]})]"), Data("[([(n, 0)], sorted([n, 0]))]"), Data("[([{'b': 1, 'a': 2}], ['a', 'b'])]"), Data("[([xs + [n]], sorted(xs + [n]))]")),
    xs=LISTS, n=NUMBERS,
)  # fmt: skip
family(
    "cases of texts",
    ("def f(s): return s[::-1]", "def f(s): return list(s[::-1])", "def f(s): return s[::-1].encode()", "def f(s): return s.split()", "def f(s): return tuple(s.split())", "def f(s): return {c: s.count(c) for c in s}", "import collections\ndef f(s): return collections.Counter(s)", "import collections\ndef f(s):\n    d = collections.defaultdict(int)\n    for c in s: d[c] += 1\n    return d",
     "def f(s): return len(s)", "def f(s): return s or None", "def f(s): return bytearray(s[::-1], 'utf-8')", "def f(s): return (c for c in s)", "class S(str): pass\ndef f(s): return S(s[::-1])", "def f(s): print(s[::-1])"),
    (Data("[([s], s[::-1])]"), Data("[([s], list(s[::-1]))]"), Data("[([s], s[::-1].encode())]"), Data("[([s], s.split())]"), Data("[([s], {c: s.count(c) for c in s})]"), Data("[([s], len(s)), (['xy'], 2)]"), Data("[([s], s or None)]"), Data("[([s], s)]"), Data("[(['\\u00e9\\u4e2d'], '\\u4e2d\\u00e9')]"), Data("[([s], [])]"), Data("[([s.encode()], s.encode()[::-1])]")),
    s=WORDS,
)  # fmt: skip
family(
    "cases of keys and nesting",
    ("def f(n): return {i: str(i) for i in range(n)}", "def f(n): return {str(i): i for i in range(n)}", "def f(n): return {(i, i): [i] for i in range(n)}", "def f(n): return [[i] * n for i in range(n)]", "def f(n): return tuple([(i,) * n for i in range(n)])", "def f(n): return {'rows': [(i, [i]) for i in range(n)], 'n': n}", "def f(n): return {True: n, None: [n]}",
     "def f(n): return {i: {i: (i,)} for i in range(n)}", "import collections\nP = collections.namedtuple('P', 'a b')\ndef f(n): return P(n, [n])", "import collections\ndef f(n): return collections.OrderedDict((i, str(i)) for i in reversed(range(n)))", "def f(n): return {frozenset([n]), (n,)}", "def f(n):\n    x = []\n    for _ in range(n): x = [x]\n    return x"),
    (Data("[([n], {i: str(i) for i in range(n)})]"), Data("[([n], {str(i): i for i in range(n)})]"), Data("[([n], {(i, i): [i] for i in range(n)})]"), Data("[([n], [[i] * n for i in range(n)])]"), Data("[([n], {'rows': [[i, [i]] for i in range(n)], 'n': n})]"), Data("[([n], {'n': n, 'rows': [(i, (i,)) for i in range(n)]})]"), Data("[([n], {True: n, None: (n,)})]"), Data("[([n], {i: {i: [i]} for i in range(n)})]"), Data("[([n], (n, [n]))]"), Data("[([n], {(n,), frozenset([n])})]"),
     Data("[([n], [n]), ([0], [])]"), Data("[([n], {})]"), Data("[([2], [[0, 0], [1, 1]])]"), Data("[([2], [[[]]])]")),
    n=(1, 2, 3, 5),
)  # fmt: skip
family(
    "cases of what cannot be",
    ("def f(x): raise ValueError(x)", "def f(x): return f(x)", "def f(x): return undefined", "import sys\ndef f(x): sys.exit(0)", "import os\ndef f(x): os._exit(0)", "def g(x): return x", "def f(x:", "raise ValueError", "f = 5", "def f(x): return [x]\nf = f(f)[0]", "def f(x): return x\nprint('loud')", "def f(x):\n    assert x\n    return x", "import json\ndef f(x): return json.loads(json.dumps(x))"),
    (Data("[([x], x)]"), Data("[([x], None)]"), Data("[([x], [x])]"), Data("[([1], 1), ([x], x)]"), Data("[([[x, 'a']], [x, 'a'])]")),
    x=(0, 1, "a", None, [1], {"k": [1]}),
)  # fmt: skip
family(
    "cases with state",
    ("seen = []\ndef f(x):\n    seen.append(x)\n    return len(seen)", "def f(x, kept=[]):\n    kept.append(x)\n    return kept", "import functools\n@functools.lru_cache\ndef f(x): return [x]", "def f(x):\n    if isinstance(x, list): x.append(1)\n    return x", "n = 0\ndef f(x):\n    global n\n    n += 1\n    return n"),
    (Data("[([x], 1)]"), Data("[([x], [x])]"), Data("[([[x]], [x, 1])]"), Data("[([x], x)]"), Data("[([x], 1), ([9], 2), ([8], 3)]"), Said(Data("[([x], 1), ([x], 2)]"), "calls made once"), Said(Data("[([[x]], [x, 1]), ([[x]], [x, 1, 1])]"), "calls made once")),
    x=NUMBERS,
)  # fmt: skip
family(
    "cases of own objects",
    ("class P:\n    def __eq__(self, o): return True\n    __hash__ = None\ndef f(x): return P()", "class P(int):\n    def __eq__(self, o): return True\n    def __ne__(self, o): return False\n    __hash__ = int.__hash__\ndef f(x): return P(7)", "def f(x): return object()", "def f(x): return f", "class P: pass\ndef f(x): return P", "import enum\nclass C(enum.IntEnum):\n    A = 3\ndef f(x): return C.A"),
    (Said(Data("[([x], x)]"), "own objects"), Said(Data("[([x], [x])]"), "own objects"), Said(Data("[([x], None)]"), "own objects")),
    x=(1, 3, "a"),
)  # fmt: skip

# ------------------------------------------------------------------------------------------------------------ stdin
READS = "import sys\nxs = [int(word) for word in sys.stdin.read().split()]\n"
family(
    "sums of lines",
    (f"{READS}print(sum(xs))", "print(sum(map(int, input().split())))", "n, *xs = map(int, open(0).read().split())\nprint(sum(xs))", f"{READS}print(sum(xs), end='')", f"{READS}print(sum(xs), max(xs))", f"{READS}print(*sorted(xs))", f"{READS}for x in xs: print(x)", f"{READS}print(float(sum(xs)))", f"{READS}print('%05d' % sum(xs))", f"{READS}print(sum(xs) / 3)",
     "import sys\nfor line in sys.stdin: print(sum(map(int, line.split())))", "total = 0\nwhile True:\n    try: total += sum(map(int, input().split()))\n    except EOFError: break\nprint(total)", f"{READS}sys.stdout.write(str(sum(xs)) + '\\n\\n \\n')", f"{READS}print(f' {{sum(xs)}}  ')", f"{READS}print(sum(xs))\nprint('more')", "import sys\nprint(sum(map(int, sys.stdin.buffer.read().split())))", "print(sum(map(int, __import__('fileinput').input())))"),
    (Data("[(' '.join(map(str, xs)) + '\\n', f'{sum(xs)}\\n')]"), Data("[(' '.join(map(str, xs)), str(sum(xs)))]"), Data("[('\\n'.join(map(str, xs)) + '\\n', f'{sum(xs)}\\n')]"), Data("[('\\n'.join(map(str, xs)) + '\\n', '\\n'.join(map(str, xs)))]"), Data("[(' '.join(map(str, xs)) + '\\n', ' '.join(map(str, sorted(xs))))]"), Data("[(' '.join(map(str, xs)) + '\\n', f'{float(sum(xs))}\\n')]"), Data("[(' '.join(map(str, xs)) + '\\n', f'{sum(xs)} {max(xs, default=0)}\\n')]"),
     Data("[('1 2\\n', '3\\n'), (' '.join(map(str, xs)) + '\\n', f'{sum(xs)}\\n')]"), Data("[('3\\n1 2\\n', '3\\n')]"), Data("[('1\\r\\n2\\r\\n', '3\\n')]"), Data("[(' '.join(map(str, xs)) + '\\n', f'{sum(xs) / 3}\\n')]"), Data("[('', '0\\n')]"), Data("[('1 x\\n', '1\\n')]"), Data("[(' '.join(map(str, xs)) + '\\n', f'{sum(xs)}\\nmore\\n\\n')]")),
    xs=LISTS,
)  # fmt: skip
family(
    "texts of lines",
    ("print(input()[::-1])", "import sys\nprint(sys.stdin.read())", "import sys\nsys.stdout.write(sys.stdin.read()[::-1])", "print(input().upper())", "s = input()\nprint(len(s), s)", "while True: print(input())", "import sys\nfor line in sys.stdin: print(line.strip()[::-1])", "print(*input().split(), sep='\\n')", "print(input().split())", "print(repr(input()))", "import sys\nprint(sys.stdin.readline(), end='')", "print(input(input()))", "import sys\nlines = sys.stdin.readlines()\nprint(len(lines))", "print(input(), flush=True)\nraise SystemExit", "import sys\nprint(input(), file=sys.stderr)"),
    (Data("[(s + '\\n', s[::-1] + '\\n')]"), Data("[(s + '\\n', s + '\\n')]"), Data("[(s, s.upper())]"), Data("[(s + '\\n', f'{len(s)} {s}')]"), Data("[(s + '\\n' + s, s + '\\n' + s)]"), Data("[(s + '\\n', '\\n'.join(s.split()))]"), Data("[(s + '\\n', str(s.split()))]"), Data("[(s + '\\n', repr(s))]"), Data("[(s + '\\n' + s + '\\n', '2')]"), Data("[(s + '\\n' + s + '\\n', s[::-1] + '\\n' + s[::-1])]"), Data("[(s + '\\n', '')]"), Data("[('a\\n', 'a'), (s + '\\n', s)]"), Data("[(s + '\\nb\\n', s + 'b')]"), Data("[('A  b\\n', 'A b')]"), Data("[('\\n\\na\\n', '\\n\\na\\n')]")),
    s=WORDS,
)  # fmt: skip
family(
    "ends of scripts",
    (f"{READS}print(sum(xs))\nsys.exit()", f"{READS}print(sum(xs))\nsys.exit(1)", f"{READS}print(sum(xs))\nsys.exit('no')", f"{READS}print(sum(xs))\nraise ValueError", f"{READS}print(sum(xs))\n1 / 0", f"{READS}print(sum(xs))\nexit()", f"{READS}import atexit\natexit.register(print, sum(xs))", f"{READS}import threading\nthreading.Thread(target=print, args=(sum(xs),)).start()", f"{READS}print(sum(xs))\nimport os\nos._exit(0)", f"{READS}print(sum(xs), flush=True)\nimport os\nos._exit(3)",
     f"{READS}if __name__ == '__main__': print(sum(xs))", f"{READS}def main(): print(sum(xs))\nmain()", f"{READS}sys.stdout.close()", f"{READS}print(sum(xs))\nsys.stdin.close()", f"{READS}class D:\n    def __del__(self): print(sum(xs))\nd = D()", f"{READS}print(sum(xs)", f"{READS}import sys as s; s.stdout.write(str(sum(xs)))", f"{READS}print(sum(xs), file=open(1, 'w', closefd=False))", f"{READS}exec('print(sum(xs))')", f"{READS}print(sum(xs))\nos._exit(0)", f"{READS}import asyncio\nasync def main(): print(sum(xs))\nasyncio.run(main())", f"{READS}sys.setrecursionlimit(10 ** 5)\ndef f(n): return n and 1 + f(n - 1)\nprint(sum(xs) + f(3000) - 3000)"),
    (Data("[(f'{n} 1\\n', str(n + 1))]"), Data("[(f'{n}\\n', f'{n}\\n'), ('1 2', '3')]"), Data("[(f'{n} 1\\n', f'{n}')]"), Data("[('', '0')]"), Data("[('1\\n', '1\\n\\n\\n')]")),
    n=NUMBERS,
)  # fmt: skip
family(
    "numbers as they are printed",
    ("x = float(input())\nprint(x)", "x = float(input())\nprint('%.2f' % x)", "x = float(input())\nprint(round(x, 1))", "x = float(input())\nprint(f'{x:e}')", "x = float(input())\nprint(int(x))", "x = input()\nprint(x)", "import decimal\nprint(decimal.Decimal(input()))", "x = float(input())\nprint(x, x)", "x = float(input())\nprint('x =', x)"),
    (Data("[(f'{x}\\n', f'{x}')]"), Data("[(f'{x}\\n', '%.2f' % x)]"), Data("[(f'{x}\\n', '%.3f' % x)]"), Data("[(f'{x}\\n', str(int(x)))]"), Data("[(f'{x}\\n', '%e' % x)]"), Data("[(f'{x}\\n', f'{x} {x}')]"), Data("[(f'{x}\\n', 'x = %.1f' % x)]"), Data("[(f'{x}\\n', f'x  =  {x} ')]"), Data("[(f'{x}\\n', f'0{x}')]"), Data("[(f'{x}\\n', f'+{x}')]")),
    x=(0, 1, 2.5, 0.1, 10.0, 1e3, 3.14159, 100),
)  # fmt: skip
