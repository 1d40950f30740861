"""Families about conduct: what a program does besides returning, and what testings do besides comparing."""

from __future__ import annotations

from reference_suite.drawing import Said, family

LISTS = ([], [1], [3, 1, 2], [2, 2, 1], [5, 3, 8, 1, 9])
NUMBERS = (0, 1, 2, 3, 5)

family(
    "sorting in place",
    ("def f(xs): xs.sort()", "def f(xs):\n    xs.sort()\n    return xs", "def f(xs): xs = sorted(xs)", "def f(xs): xs[:] = sorted(xs)", "def f(xs):\n    for i in range(len(xs)):\n        for j in range(len(xs) - 1):\n            if xs[j] > xs[j + 1]: xs[j], xs[j + 1] = xs[j + 1], xs[j]", "def f(xs): xs.reverse()"),
    ("xs = $xs\nf(xs)\nassert xs == sorted($xs)", "xs = $xs\nassert f(xs) is None and xs == sorted($xs)", "xs = $xs\nys = f(xs)\nassert ys is xs", "def check(c):\n    for n in range(4):\n        xs = list(range(n))[::-1]\n        c(xs)\n        assert xs == list(range(n))\n", "xs = ys = $xs\nf(xs)\nassert ys == sorted($xs)",
     "xs = $xs\nf(xs[:])\nassert xs == $xs", "d = {'k': $xs}\nf(d['k'])\nassert d == {'k': sorted($xs)}", "xs = $xs\nf(xs)\nf(xs)\nassert xs == sorted($xs)", "assert f($xs) is None", "xs = tuple($xs)\nf(list(xs))\nassert xs == tuple($xs)", "class L:\n    xs = $xs\nf(L.xs)\nassert L.xs == sorted($xs)"),
    xs=LISTS,
)  # fmt: skip
family(
    "changing arguments",
    ("def f(d, k):\n    d[k] = d.get(k, 0) + 1\n    return d", "def f(d, k): d.update({k: 1})", "def f(d, k): d = {**d, k: 1}", "def f(d, k):\n    d.clear()\n    d[k] = []\n    d[k].append(d[k] is not None)", "def f(d, k): return d.pop(k, None)"),
    ("d = {}\nf(d, $n)\nassert d == {$n: 1}", "d = {$n: 1}\nf(d, $n)\nassert d == {$n: 2}", "d = {1: 2}\nf(d, $n)\nassert list(d) == list({1: 2, $n: 1})", "d = {}\nassert f(d, $n) is d", "d = {$n: 5}\nassert f(d, $n) == 5 and d == {}", "d = {}\nf(d, $n)\nd[$n] = 9\nassert d == {$n: 9}",
     "def check(c):\n    d = {}\n    for i in range(3): c(d, i)\n    assert d == {0: 1, 1: 1, 2: 1}\n", "import collections\nd = collections.Counter()\nf(d, 'a')\nassert d['a'] == 1 and d['b'] == 0", "import collections\nd = collections.defaultdict(list)\nf(d, 'a')\nassert type(d) is collections.defaultdict and d['q'] == []"),
    n=NUMBERS,
)  # fmt: skip
family(
    "changing nested arguments",
    ("def f(grid):\n    for row in grid: row.append(0)", "def f(grid):\n    for row in grid: row[:] = [x * 2 for x in row]\n    return grid", "def f(grid): grid.append(grid[0])", "def f(grid): return [row + [0] for row in grid]", "def f(grid):\n    grid[0], grid[-1] = grid[-1], grid[0]"),
    ("g = [[1], [2]]\nf(g)\nassert g == [[1, 0], [2, 0]]", "g = [[1], [2]]\nassert f(g) == [[2], [4]] and g == [[2], [4]]", "row = [1]\ng = [row, row]\nf(g)\nassert g == [[1, 0, 0], [1, 0, 0]]", "row = [1]\ng = [row, [2]]\nf(g)\nassert row == [1, 0]", "g = [[1], [2]]\nf(g)\nassert g[-1] is g[0]", "g = [[1], [2]]\na, b = g\nf(g)\nassert g[0] is b and g[1] is a",
     "g = [[$n], [2]]\nr = f(g)\nr[0].append(7)\nassert g[0][-1] == 7", "def check(c):\n    g = [[0] * 2 for _ in range(2)]\n    c(g)\n    assert len(g[0]) == 3\n", "g = [[1], [2]]\nf([g[1], g[0]])\nassert g == [[1, 0], [2, 0]]", "g = [[$n]]\nf(g)\nf(g)\nassert len(g) > 0 and g[0][0] in ($n, 4 * $n)"),
    n=NUMBERS,
)  # fmt: skip
family(
    "changing sets, queues and byte arrays",
    ("def f(x, v):\n    x.add(v)", "def f(x, v):\n    x.append(v)", "def f(x, v):\n    x.discard(v)\n    return len(x)", "def f(x, v): x |= {v}", "def f(x, v): x = x + [v]", "def f(x, v):\n    x.extend([v, v])\n    x.pop()"),
    ("s = {1}\nf(s, $n)\nassert s == {1, $n}", "s = {1, $n}\nassert f(s, $n) == len(s) and $n not in s", "b = bytearray(b'a')\nf(b, 65)\nassert b == b'aA'", "import collections\nd = collections.deque([1], 2)\nf(d, 2)\nf(d, 3)\nassert list(d) == [2, 3]", "xs = [1]\nf(xs, $n)\nassert xs == [1, $n]", "t = ([1], {2})\nf(t[0], $n)\nassert t == ([1, $n], {2})",
     "s = frozenset({1})\nf(s, $n)", "s = set()\nfor i in range(3): f(s, i)\nassert s == {0, 1, 2}"),
    n=NUMBERS,
)  # fmt: skip
family(
    "an exception after a change",
    ("def f(xs):\n    xs.append(1)\n    raise ValueError('late')", "def f(xs):\n    raise ValueError('early')", "def f(xs):\n    try:\n        xs.append(1)\n    finally:\n        xs.append(2)\n    return xs[9]"),
    ("xs = []\ntry:\n    f(xs)\nexcept (ValueError, IndexError): pass\nassert xs == [1]", "xs = []\ntry:\n    f(xs)\nexcept Exception as e:\n    assert isinstance(e, (ValueError, LookupError))\nelse:\n    assert False", "def check(c):\n    xs = []\n    for _ in range(3):\n        try: c(xs)\n        except ValueError: pass\n    assert xs in ([1, 1, 1], [])\n", "f([])"),
)  # fmt: skip
family(
    "exceptions",
    ("def f(x):\n    if x < 0: raise ValueError('negative: %d' % x)\n    return x", "class Bad(ValueError): pass\ndef f(x):\n    if x < 0: raise Bad('negative: %d' % x)\n    return x", "def f(x):\n    if x < 0: raise Exception('negative')\n    return x", "def f(x): return 1 // (x + 1)", "def f(x): return {0: 0, 1: 1}[x]", "def f(x): return [0, 1, 2, 3, 4, 5][x]",
     "def f(x):\n    assert x >= 0, 'negative'\n    return x", "def f(x): return x", "def f(x): raise NotImplementedError", "import decimal\ndef f(x):\n    if x < 0: return decimal.Decimal(1) / decimal.Decimal(0)\n    return x", "def f(x): return f(x)", "def f(x): return x.real.nothing", "def f(x): return undefined_name", "def f(x): raise KeyboardInterrupt", "import sys\ndef f(x): sys.exit(x)"),
    ("try:\n    f($n)\nexcept ValueError:\n    pass\nelse:\n    assert False", "try:\n    f($n)\n    assert False\nexcept ValueError as e:\n    assert str(e) == 'negative: %d' % $n", "try:\n    f($n)\nexcept Exception as e:\n    assert 'negative' in str(e)\nelse:\n    assert $n >= 0", "try:\n    f($n)\nexcept (KeyError, IndexError, ZeroDivisionError) as e:\n    assert e.args",
     "assert f($n) == $n", "def check(c):\n    raised = False\n    try:\n        c($n)\n    except Exception:\n        raised = True\n    assert raised == ($n < 0)\n", "import contextlib\nwith contextlib.suppress(ValueError):\n    f($n)\n    assert $n >= 0", "class R:\n    def __enter__(self): return self\n    def __exit__(self, t, v, tb): return t is not None and issubclass(t, ValueError)\nwith R():\n    f($n)",
     "try:\n    f($n)\nexcept LookupError as e:\n    assert type(e) in (KeyError, IndexError)", "try:\n    f($n)\nexcept ArithmeticError: pass", "try:\n    f($n)\nexcept RecursionError: pass\nexcept AttributeError as e: assert 'nothing' in str(e)", "try:\n    f($n)\nfinally:\n    done = True\nassert done", "try:\n    try:\n        f($n)\n    except ValueError as e:\n        raise KeyError from e\nexcept KeyError: pass",
     "try:\n    f($n)\nexcept BaseException as e:\n    assert type(e).__name__ in ('ValueError', 'Bad', 'SystemExit', 'KeyboardInterrupt')", "try: f($n)\nexcept: pass", "def raises(kind, *args):\n    try: f(*args)\n    except kind: return True\n    return False\nassert raises(ValueError, $n) == ($n < 0)", "import decimal\ntry: f($n)\nexcept decimal.DecimalException: pass", "try: f($n)\nexcept NameError as e: assert 'undefined_name' in str(e)"),
    n=(-1, -3, 0, 1, 5),
)  # fmt: skip
family(
    "exceptions that end iterations",
    ("def f(x): raise StopIteration", "def f(x): return next(iter([]))", "def f(x): return x", "def f(x): raise GeneratorExit"),
    (Said("for a, b in zip(map(f, [1]), [2]): assert a == b", "ends of iterations"), Said("assert list(map(f, [1, 2])) == []", "ends of iterations"), "assert f(1) == 1", Said("try:\n    f(1)\nexcept StopIteration: pass", "ends of iterations"), "try:\n    f(1)\nexcept Exception: pass", "def check(c):\n    assert [c(x) for x in [1, 2]] == [1, 2]\n",
     Said("def check(c):\n    for got, want in zip(map(c, [1, 2]), [1, 2]):\n        assert got == want\n", "ends of iterations")),
)  # fmt: skip
family(
    "exceptions that steer",
    ("import sys\ndef f(x): sys.exit(x)", "def f(x): raise KeyboardInterrupt", "import unittest\ndef f(x): raise unittest.SkipTest('no')", "class Stop(BaseException): pass\ndef f(x): raise Stop(x)", "def f(x): return x", "def f(x): raise ValueError(x)"),
    (Said("try: f($n)\nexcept SystemExit: pass", "exceptions that steer"), "try: f($n)\nexcept SystemExit as e: assert e.code\nelse: assert False", Said("import unittest\nclass T(unittest.TestCase):\n    def test_a(self): self.assertEqual(f($n), $n)\nr = unittest.TestResult()\nT('test_a').run(r)\nassert r.wasSuccessful()", "exceptions that steer"),
     "try: f($n)\nexcept BaseException as e: assert type(e).__name__ in ('SystemExit', 'KeyboardInterrupt', 'SkipTest', 'Stop', 'ValueError')", "assert f($n) == $n", "try: f($n)\nexcept KeyboardInterrupt: pass\nelse: assert False"),
    n=NUMBERS,
)  # fmt: skip
family(
    "exceptions of one name",
    ("class Odd(Exception): pass\ndef f(x): raise Odd(x)", "class Odd(ValueError): pass\ndef f(x): raise Odd(x)", "def f(x): raise ValueError(x)"),
    (Said("class Odd(Exception): pass\ntry: f($n)\nexcept Odd: pass", "exceptions of one name"), "class Odd(Exception): pass\ntry:\n    if f($n): raise Odd\nexcept Odd: pass", "try: f($n)\nexcept ValueError as e: assert e.args == ($n,)", "try: f($n)\nexcept Exception as e: assert str(e) == str($n)"),
    n=NUMBERS,
)  # fmt: skip
family(
    "causes of exceptions",
    ("def f(x):\n    try: return {}[x]\n    except KeyError as e: raise ValueError('v') from e", "def f(x):\n    try: return {}[x]\n    except KeyError: raise ValueError('v')", "def f(x): raise ValueError('v') from None", "def f(x): raise ValueError('v') from TypeError(x)"),
    ("try: f($n)\nexcept ValueError as e: assert type(e.__cause__) is KeyError and e.__cause__.args == ($n,)", "try: f($n)\nexcept ValueError as e: assert e.__cause__ is None", "try: f($n)\nexcept ValueError as e: assert isinstance(e.__context__, KeyError)", "try: f($n)\nexcept ValueError as e: assert e.__suppress_context__", "def check(c):\n    try: c($n)\n    except ValueError as e: assert str(e.__cause__) in (str($n), 'None')\n"),
    n=NUMBERS,
)  # fmt: skip
family(
    "one object twice in a result",
    ("def f(n): return [[0] * n] * n", "def f(n): return [[0] * n for _ in range(n)]", "def f(n):\n    row = [0] * n\n    return [row for _ in range(n)]", "def f(n): return tuple([[0] * n] * n)", "import collections\ndef f(n): return collections.deque([[0] * n] * n)", "def f(n): return dict.fromkeys(range(n), [0] * n)"),
    ("m = f($n)\nm[0][0] = 1\nassert [m[k] for k in range($n)] == [[1] + [0] * ($n - 1)] + [[0] * $n] * ($n - 1)", "m = f($n)\nm[0][0] = 1\nassert all(m[k][0] == 1 for k in range($n))", "m = f($n)\nm[1][-1] += 2\nassert sum(map(sum, (m[k] for k in range($n)))) == 2", "assert f($n)[0] is not f($n)[0]", "m = f($n)\nassert m[0] is m[1]", "def check(c):\n    m = c($n)\n    m[0].append(5)\n    assert len(m[1]) == $n\n", "m = f($n)\nm[0].clear()\nassert len(m[0]) == 0 and len(m[1]) in (0, $n)"),
    n=(2, 3),
)  # fmt: skip
family(
    "dictionaries that make missing values",
    ("import collections\ndef f(x): return collections.defaultdict(lambda: x)", "import collections\ndef f(x): return collections.defaultdict(int, {x: 1})", "import collections\ndef f(x): return collections.defaultdict(list)", "import collections\ndef f(x): return collections.defaultdict(lambda: collections.defaultdict(int))", "def f(x): return {}", "import collections\ndef f(x): return collections.Counter([x])"),
    (Said("assert f($n)['q'] == $n", "missing values"), "d = f($n)\nassert d['q'] == $n", ("assert f($n)['q'] == []", "assert f($n) == {}"), "d = f($n)\nd['q']\nassert 'q' in d", "d = f($n)\nd['q'] = d['q'] or 0\nassert d.get('z') is None", "d = f($n)\nd['a']['b'] += 1\nassert d == {'a': {'b': 1}}", "def check(c):\n    d = c($n)\n    try: d['missing']\n    except KeyError: return\n    assert len(d) in (1, 2)\n", "assert f($n) == {} or len(f($n)) == 1"),
    n=NUMBERS,
)  # fmt: skip
family(
    "closures and state",
    ("def f(start):\n    n = start\n    def step():\n        nonlocal n\n        n += 1\n        return n\n    return step", "class Counter:\n    def __init__(self, n): self.n = n\n    def step(self):\n        self.n += 1\n        return self.n\ndef f(start): return Counter(start).step", "def f(start): return lambda: start + 1", "import itertools\ndef f(start): return itertools.count(start + 1).__next__"),
    ("g = f($n)\nassert [g(), g(), g()] == [$n + 1, $n + 2, $n + 3]", "g, h = f($n), f($n)\ng()\nassert h() == $n + 1", "assert f($n)() == $n + 1", "def check(c):\n    g = c($n)\n    while g() < $n + 3: pass\n    assert g() == $n + 4\n", "g = f($n)\nassert g() != g()", "assert f($n) is not f($n)"),
    n=NUMBERS,
)  # fmt: skip
family(
    "classes as entry points",
    ("class f:\n    def __init__(self): self.xs = []\n    def push(self, x): self.xs.append(x)\n    def pop(self): return self.xs.pop()\n    def __len__(self): return len(self.xs)\n    def __iter__(self): return iter(self.xs)\n    def __getitem__(self, i): return self.xs[i]",
     "class f:\n    def __init__(self): self.n = 0\n    def push(self, x): self.n += 1\n    def pop(self): return self.n"),
    ("s = f()\ns.push($n)\nassert s.pop() == $n", "s = f()\ns.push(1)\ns.push(2)\nassert len(s) == 2 and list(s) == [1, 2]", "s = f()\nfor x in range(3): s.push(x)\nassert s[1] == 1 and [s.pop() for _ in range(3)] == [2, 1, 0]", "a, b = f(), f()\na.push(1)\nb.push($n)\nassert b.pop() == $n", "def check(c):\n    s = c()\n    try: s.pop()\n    except IndexError: pass\n    else: assert False\n",
     Said("assert f() == f()", "own objects"), "s = f()\npush = s.push\npush(3)\nassert s.pop() == 3"),
    n=NUMBERS,
)  # fmt: skip
family(
    "classes that add to a plain type",
    ("class f(list):\n    push = list.append", "class f(list):\n    def push(self, x): self.append(x)"),
    (Said("s = f()\ns.push($n)\nassert s.pop() == $n", "type of a value"), "s = f()\ns.append($n)\nassert s.pop() == $n", "assert f([1, 2]) == [1, 2]", "assert len(f((1, 2, $n))) == 3"),
    n=NUMBERS,
)  # fmt: skip
family(
    "asyncio",
    ("import asyncio\nasync def g(x):\n    await asyncio.sleep(0)\n    return x + 1\ndef f(x): return asyncio.run(g(x))", "import asyncio\nasync def g(x): return x + 1\ndef f(x):\n    async def both(): return sum(await asyncio.gather(g(x), g(x))) // 2\n    return asyncio.run(both())", "import asyncio\nasync def f(x): return x + 1", "def f(x): return x + 1"),
    ("assert f($n) == $n + 1", "def check(c):\n    for x in range(2): assert c(x) == x + 1\n", "assert [f(x) for x in (1, $n)] == [2, $n + 1]", Said("import asyncio\nassert asyncio.run(f($n)) == $n + 1", "coroutines"), "x = f($n)\nassert x > 0"),
    n=NUMBERS,
)  # fmt: skip
family(
    "calls with state",
    ("seen = []\ndef f(x):\n    seen.append(x)\n    return len(seen)", "def f(x, seen=[]):\n    seen.append(x)\n    return len(seen)", "import functools\n@functools.lru_cache\ndef f(x): return x", "def f(x): return 1"),
    ("assert f($n) == 1", "a = f($n)\nassert f(a) in (1, 2, $n)", "def check(c):\n    assert c($n) == 1\n    n = c($n)\n    assert n == 2\n", Said(("assert f(1) == 1", "assert f(1) == 2"), "calls made once"), "assert f(1) == f(1)", "assert f(1) == 1 and f(1) == 2", Said(("assert f(1) == 1", "assert f(2) == 2"), "calls made once")),
    n=(1, 2),
)  # fmt: skip
family(
    "objects kept",
    ("kept = []\ndef f(xs):\n    kept.append(xs)\n    return kept[0]", "class S:\n    def __init__(self, xs): self.xs = xs\n    def total(self): return sum(self.xs)\ndef f(xs): return S(xs)", "def f(xs): return lambda: sum(xs)"),
    (Said("xs = [1]\ns = f(xs)\nxs.append(2)\nassert s.total() == 3", "objects that both sides keep"), "s = f([1, 2])\nassert s.total() == 3", "assert f([1, 2])() == 3", Said("xs = [1]\ng = f(xs)\nxs.append(2)\nassert g() == 3", "objects that both sides keep"), Said("a = f([1])\na.append(2)\nassert f([5]) == [1, 2]", "objects that both sides keep")),
)  # fmt: skip
family(
    "one object in two places",
    ("def f(x):\n    x[0].append(1)\n    return x", "def f(x): return x", "def f(x): return x[0] is x[1]", "def f(x):\n    x[-1] += [1]\n    return x[0]", "def f(x):\n    for one in x: one.append(len(one))\n    return x"),
    ("assert f([[0]] * 2) == [[0, 1], [0, 1]]", "assert f([[0]] * 2) == [[0, 1], [0]]", "assert f([[0], [0]]) == [[0, 1], [0]]", "assert f([[0] for _ in range(2)]) == [[0, 1], [0]]", "assert f(([$n],) * 2) == ([$n, 1],) * 2", "assert f([[0]] * 2)", "assert not f([[0], [0]])", "assert f([[]] * 2) == [0, 1] or f([[]] * 2) == [[0, 1]] * 2",
     "def check(c):\n    assert c([[]] * 3)[-1] == [1]\n", "def check(c):\n    assert c([[$n]] * 2) == [[$n, 1]] * 2\n", "a = [0]\nassert f([a, a]) == [[0, 1], [0, 1]]", "assert f(x=[[0]] * 2) == [[0, 1], [0, 1]]"),
    n=(0, 1, 3),
)  # fmt: skip
family(
    "arguments of all kinds",
    ("def f(x): return list(x)", "def f(x): return sorted(x)", "def f(x): return [y for y in x]", "def f(x): return len(x)", "def f(x): return x"),
    ("assert f(range($n)) == list(range($n))", "assert f({1: 2, 3: 4}) == [1, 3]", "assert f({3, 1, 2}) == [1, 2, 3]", "assert f('abc') == ['a', 'b', 'c']", "assert f((1, 2)) == [1, 2]", "assert f(x for x in [1, 2]) == [1, 2]", "assert f(map(str, [1, 2])) == ['1', '2']", "assert f(zip([1], [2])) == [(1, 2)]", "assert f(iter([1, 2])) == [1, 2]", "assert f({1: 2}.items()) == [(1, 2)]",
     "assert f([i * i for i in range($n)]) == [i * i for i in range($n)]", "assert f(b'ab') == [97, 98]", "assert f(bytearray(b'ab')) == [97, 98]", "import collections\nassert f(collections.deque([1, 2])) == [1, 2]", "import collections\nassert f(collections.Counter('a')) == ['a']", "import collections\nassert f(collections.OrderedDict(a=1)) == ['a']",
     "import collections\nP = collections.namedtuple('P', 'x y')\nassert f(P(1, 2)) == [1, 2]", "assert f(reversed([1, 2])) == [2, 1]", "assert f(enumerate('a')) == [(0, 'a')]", "assert f(open) == []", "assert f([None, True, 1.5, 2j, 'x', b'y', (1,), [2], {3: 4}, {5}, frozenset([6])])[0] is None", "from fractions import Fraction\nassert f([Fraction(1, 2)]) == [Fraction(1, 2)]",
     "from decimal import Decimal\nassert f([Decimal('1.5')]) == [1.5]", "def check(c):\n    assert c(list(range($n))) == list(range($n))\n    assert c(tuple(range($n))) == list(range($n))\n", "xs = [1]\nxs.append(xs)\nassert f(xs)[0] == 1", Said("it = iter([1, 2])\nf(it)\nassert list(it) == []", "iterators as arguments"), Said("it = iter([1, 2])\nf([it])\nassert list(it) == [1, 2]", "iterators as arguments"), "assert f(dict(a=1).keys()) == ['a']", "assert f(f([2, 1])) == [1, 2]"),
    n=(0, 1, 3),
)  # fmt: skip
family(
    "functions as arguments",
    ("def f(g, xs): return [g(x) for x in xs]", "def f(g, xs): return list(map(g, xs))", "def f(g, xs): return xs"),
    ("assert f(abs, [-1, 2]) == [1, 2]", "assert f(str, [1]) == ['1']", "assert f(str.upper, ['a']) == ['A']", "import math\nassert f(math.sqrt, [4]) == [2.0]", "import operator\nassert f(operator.neg, [1]) == [-1]", "assert f(len, [[1], []]) == [1, 0]", Said("assert f(lambda x: x + 1, [1]) == [2]", "arguments that cannot cross"), Said("def g(x): return x * 2\nassert f(g, [1]) == [2]", "arguments that cannot cross"),
     Said("def check(c):\n    assert c(lambda x: x, [1]) == [1]\n", "arguments that cannot cross"), Said("class A:\n    def __call__(self, x): return x\nassert f(A(), [1]) == [1]", "arguments that cannot cross"), Said("import functools\nassert f(functools.partial(pow, 2), [3]) == [8]", "arguments that cannot cross"), "assert f(int, ['1', '2']) == [1, 2]", "assert f(bool, [0, 1]) == [False, True]", "assert f(dict.fromkeys, [[1]]) == [{1: None}] or True"),
)  # fmt: skip
family(
    "what the starter code gives",
    ("def f(x): return helper(x) if 'helper' in globals() else x + LIMIT", "from typing import List\ndef f(x: int) -> List[int]: return [x]", "def helper(x): return -x\ndef f(x): return x + 3", "def f(x): return x + 3"),
    ("assert f($n) == helper($n)", "assert helper(f($n)) == $n + 6", "assert f($n) - LIMIT == $n", "assert math.floor(f($n)) == $n + 3", "def check(c):\n    assert c($n) == helper($n)\n    assert math.isclose(c($n), $n + LIMIT)\n", "assert f(helper($n)) == $n + 6", "assert f($n) == $n + 3", "x: List[int] = [f($n)]\nassert x == [$n + 3]", "assert isinstance(f($n), (int, List))"),
    starter="from typing import List\nimport math\nLIMIT = 3\ndef helper(x):\n    return x + LIMIT\ndef f(x):",
    n=NUMBERS,
)  # fmt: skip
family(
    "what the starter code declares",
    ("def encode(x): return [x]\ndef f(x): return x[0]", "def encode(x): return x\ndef f(x): return x", "def encode(x): return [x]\ndef f(x): return x"),
    ("assert f(encode($n)) == $n", "def check(c):\n    for x in range(3): assert c(encode(x)) == x\n", "assert encode($n) == [$n]", "assert list(map(f, map(encode, [1, 2]))) == [1, 2]", "assert f([$n]) == $n"),
    starter="def encode(x):\n    '''to be written'''\ndef f(x):",
    n=NUMBERS,
)  # fmt: skip
family(
    "names that nothing declares",
    ("def helper(x): return x\nimport heapq\ndef f(x): return x", "def f(x): return x", "helper = None\ndef f(x): return x"),
    (Said("assert f($n) == helper($n)", "names of solutions"), Said("def check(c):\n    assert helper(c($n)) == $n\n", "names of solutions"), Said("assert heapq.nlargest(1, [f($n)]) == [$n]", "names of solutions"), Said("if f($n) == 99: undefined()", "names on no path"), Said("def check(c):\n    assert c($n) == $n or undefined\n", "names on no path"), "assert f($n) == ____", "assert other == f($n)",
     "assert f($n) == $n", Said("assert 'helper' not in dir()", "names of a module"), Said("assert f.__name__ == 'f'", "what a function is"), Said("assert f.__doc__ is None and f.__code__.co_argcount == 1", "what a function is")),
    n=NUMBERS,
)  # fmt: skip
family(
    "testings that cannot run",
    ("def f(x): return x", "def f(x): return -x"),
    ("assert f($n) ==", "assert f($n) == $n)", "import nothing_of_that_name\nassert f($n) == $n", "assert f($n) == 1 / 0", "assert f(1 / 0) == 1", "assert f($n) == [1][3]", "def check(c):\n    assert c($n) == $n\n    import nothing_of_that_name\n", "def check(c):\n    return c($n)[\n", "def test(c):\n    assert c($n) == $n\n", "x = [][0]\nassert f($n) == $n", "raise SystemExit",
     "assert f($n) == $n\nraise ValueError('mine')", "def check(c):\n    x = 1 / 0\n    assert c($n) == $n\n", "def check():\n    assert f($n) == $n\n", "def check(a, b):\n    assert a($n) == $n\n", "import sys\nassert f($n) == $n\nsys.exit(0)", "import sys\nif f($n) != $n: sys.exit(1)\nsys.exit(0)", "check = 5\nassert f($n) == $n", "assert f('\\x00') and False"),
    n=NUMBERS,
)  # fmt: skip
family(
    "testings of several statements",
    ("def f(x): return x * 2", "def f(x): return x + x", "def f(x): return x ** 2"),
    ("x = $n\ny = f(x)\nassert y == 2 * x", "results = []\nfor x in range(4):\n    results.append(f(x))\nassert results == [0, 2, 4, 6]", "def double(x):\n    return x * 2\nassert f($n) == double($n)", "assert [f(x) for x in range(3) if x] == [2, 4]", "i = 0\nwhile i < 3:\n    assert f(i) == i * 2\n    i += 1", "def check(c):\n    def inner(x):\n        assert c(x) == x * 2\n    for x in (1, 2, $n): inner(x)\n",
     "def check(c):\n    cases = [(1, 2), (2, 4), ($n, 2 * $n)]\n    for given, wanted in cases:\n        got = c(given)\n        assert got == wanted, f'{given}: {got}'\n", "class T:\n    def run(self, g): return [g(x) for x in (1, 2)]\nassert T().run(f) == [2, 4]", "if (y := f($n)) > 3:\n    assert y == 2 * $n\nelse:\n    assert y <= 3", "a, *b = [f(x) for x in range(3)]\nassert a == 0 and b == [2, 4]",
     "match f($n):\n    case 0: assert $n == 0\n    case x: assert x == 2 * $n", "import random\nrandom.seed(1)\nfor _ in range(5):\n    x = random.randrange(100)\n    assert f(x) == 2 * x", "import unittest\nclass T(unittest.TestCase):\n    def test_it(self): self.assertEqual(f($n), 2 * $n)\nr = unittest.TextTestRunner(stream=open('/dev/null', 'w')).run(unittest.defaultTestLoader.loadTestsFromTestCase(T))\nassert r.wasSuccessful()",
     "def check(c):\n    total = 0\n    try:\n        total += c($n)\n    finally:\n        assert total == 2 * $n\n", "METADATA = {'author': 'x'}\n\ndef check(candidate):\n    assert candidate($n) == 2 * $n\n    assert candidate(0) == 0, 'zero'\n", "def check(candidate):\n    '''text'''\n    assert candidate(1) == 2\n\ncheck(f)", "from functools import reduce\nassert reduce(lambda a, x: a + f(x), range(4), 0) == 12", "print(f($n))\nassert f($n) == $n * 2",
     "assert (f)($n) == 2 * $n", "global_x = f($n)\ndef look(): return global_x\nassert look() == 2 * $n", "assert f(*(lambda: [$n])()) == 2 * $n", "del_me = f($n)\ndel del_me\ntry:\n    del_me\nexcept NameError: pass\nelse: assert False", "assert all([f(i) == 2 * i for i in range(5)]), 'all'", "assert not [i for i in range(5) if f(i) != 2 * i]", "def check(c, n=$n):\n    assert c(n) == 2 * n\n"),
    n=NUMBERS,
)  # fmt: skip
family(
    "what is left out of an expression",
    ("def f(x): return x", "def f(x): return None", "def f(x): return [x]"),
    ("assert f($n) == $n or 1 / 0", "assert f($n) is None and 1 / 0 or True", "assert (f($n) if f(0) == 0 else 1 / 0) == $n", "assert 0 <= f($n) <= (9 if f(1) else [][0])", "assert f($n) is None or f($n)[0] == $n", "assert f($n) in [$n, [$n], None]", "assert f($n) == $n if f($n) is not None else True", "assert not (f($n) is None and f(1) == 1)", "assert (f($n), 1)[1] == 1",
     "assert [f($n)][0] == $n", "assert {'k': f($n)}['k'] == $n", "assert f($n) == [$n] == f($n)", "assert f($n) < $n + 1 < 99", "assert max([f($n)], default=0) == $n", "assert f($n)[0:1] == [$n]", "assert -f($n) + f($n) == 0", "assert f($n) == $n, f(1)[0]", "assert f($n) == (lambda: $n)()", "assert f($n) == zip([$n])", "assert list(zip(f($n), f($n))) == [($n, $n)]", "assert list(reversed(f($n))) == [$n]", "assert dict(enumerate(f($n))) == {0: $n}"),
    n=NUMBERS,
)  # fmt: skip
family(
    "identity and odd equality",
    ("def f(x): return [float('nan')]", "NAN = float('nan')\ndef f(x): return [NAN]", "KEPT = [1]\ndef f(x): return KEPT", "def f(x): return [1]"),
    (Said("assert f(1) == f(1)", "identity"), Said("assert f(1) is f(1)", "identity"), "assert f(1) == [1]", "assert f(1) != [float('nan')]", Said("a, b = f(1), f(1)\nassert a == b", "identity"), "x = f(1)\nassert x is x and len(x) == 1", Said("x = f(1)\nassert x == x", "identity")),
)  # fmt: skip
family(
    "programs that do not come to an end",
    ("def f(x):\n    while True: pass", "def f(x):\n    if x: raise MemoryError\n    return x", "import os\ndef f(x): os._exit(0)", "def f(x): return 'x' * 10 ** 12", "x = 1 / 0\ndef f(x): return x", "def g(x): return x", "f = 5", "def f(x) return x", "def f(x): return input()"),
    ("assert f($n) == $n", "try:\n    f($n)\nexcept Exception: pass\nassert False", "def check(c):\n    for x in range(3): c(x)\n    assert c(0) == 1\n"),
    n=(1, 2),
)  # fmt: skip
family(
    "modules of the library",
    ("import re\ndef f(s): return re.findall('[a-z]+', s)", "import string\ndef f(s): return [w for w in s.split() if all(c in string.ascii_lowercase for c in w)]", "import json\ndef f(s): return json.loads(json.dumps(s.split()))", "import itertools\ndef f(s): return [''.join(g) for k, g in itertools.groupby(s, str.isalpha) if k]", "import bisect, heapq, copy, math, statistics\ndef f(s): return copy.deepcopy(s.split())", "import random\ndef f(s):\n    random.seed(1)\n    return sorted(s.split(), key=lambda _: random.random())"),
    ("assert f($s) == $s.split()", "assert sorted(f($s)) == sorted($s.split())", "import re\nassert f($s) == re.findall('[a-z]+', $s)", "assert ' '.join(f($s)) == $s", "def check(c):\n    assert len(c($s)) == len($s.split())\n    assert c('') == []\n", "assert all(isinstance(w, str) for w in f($s))", "import collections\nassert collections.Counter(f($s)) == collections.Counter($s.split())"),
    s=("a b c", "one two", "x1 y", "", "b a b"),
)  # fmt: skip
