"""Families about values: what a program returns, and how testings look at it."""

from __future__ import annotations

from reference_suite.drawing import Said, family

NUMBERS = (0, 1, 2, 3, 5, 7, 10, -1, -4, 12)
LISTS = ([], [1], [3, 1, 2], [2, 2, 1], [-1, 0, 4, 4], [5, 3, 8, 1, 9])
WORDS = ("", "a", "abc", "hello world", "Aa bB", "xyzzy", "12 ab")

family(
    "linear integers",
    ("def f(x, y=2): return x * $a + y", "def f(x, y=2): return x * $a + y + (x == 3)", "f = lambda x, y=2: $a * x + y"),
    (
        "assert f($x) == $x * $a + 2",
        ("assert f($x, 0) == $a * $x", "assert f(x=$x, y=1) == $a * $x + 1", "assert f(*[$x], **{'y': 3}) == $a * $x + 3"),
        "def check(candidate):\n    for x in range(5):\n        assert candidate(x) == x * $a + 2\n        assert candidate(x, y=x) == x * ($a + 1)\n",
        "def check(candidate):\n    assert candidate(3) == 3 * $a + 2, 'three'\n    assert candidate($x) - 2 == $a * $x\n",
        "assert 0 <= abs(f($x)) < 10 ** 3 and isinstance(f($x), int)",
        "assert f($x) != f($x) + 1 and not f(0, 0)",
        "assert f($x) == $x * $a + 2.0 and f($x) is not None",
        "assert f($x) == '5'",
        "assert f() == 1",
        "assert f(1, 2, 3) == 1",
        "assert sum(f(i) for i in range(4)) == 6 * $a + 8",
        "assert (lambda g: g($x))(f) == $a * $x + 2",
    ),
    a=NUMBERS, x=NUMBERS,
)  # fmt: skip
family(
    "integers of any size",
    ("def f(n): return 10 ** n", "import math\ndef f(n): return 10 ** n + math.factorial(n) * 0", "def f(n): return int('1' + '0' * n)", "def f(n): return 10 ** n + 1"),
    ("assert f($n) == 10 ** $n", "assert f($n) % 7 == pow(10, $n, 7)", "assert f($n) == 10 ** $n or f(1) == 5", "assert {f($n): 1} == {10 ** $n: 1}", "assert f($n).bit_length() > $n",
     "def check(c):\n    assert [c(n) for n in ($n, 2)] == [10 ** $n, 100]\n", "assert len(str(f($n))) == $n + 1", "assert f($n) == float('1e%d' % $n)", "assert -f($n) < 0 and f($n) // 10 == f($n - 1)",
     "assert f($n) in (10 ** $n, 3)", "assert max(f($n), 1) == 10 ** $n", "assert repr(f($n))[0] == '1'", "assert f(n=$n) == int('1' + '0' * $n)"),
    n=(1, 3, 30, 200, 4000, 5000, 9000),
)  # fmt: skip
family(
    "integers of any size as arguments",
    ("def f(n): return n + 1", "def f(n): return n", "def f(n): return {n: n}"),
    ("assert f(10 ** $n) == 10 ** $n + 1", "assert f(10 ** $n) == {10 ** $n: 10 ** $n}", "x = 10 ** $n\nassert f(x) == x", "def check(c):\n    for n in range($n, $n + 2):\n        assert c(10 ** n) == 10 ** n + 1\n",
     "assert f([10 ** $n][0]) - 1 == 10 ** $n", "assert f(int('1' * 9, 16) ** $n) > 0"),
    n=(1, 40, 5000),
)  # fmt: skip
family(
    "floats",
    ("def f(x): return x / 3", "def f(x): return round(x / 3, 2)", "def f(x): return float(x)", "def f(x): return x * 0.1 + x * 0.2", "def f(x): return -0.0 * x", "def f(x): return float('inf') if x else float('nan')"),
    ("assert abs(f($x) - $x / 3) < 1e-6", "assert f($x) == $x / 3", "import math\nassert math.isclose(f($x), $x / 3)", "assert round(f($x), 2) == round($x / 3, 2)", "assert f($x) == f($x)", "assert str(f($x)) == str($x / 3)",
     "assert f($x) * 3 == $x", "assert f($x) != f($x)", "assert f(0) == 0.0 and str(f(0)) == '0.0'", "assert f($x) < 1e9", "assert isinstance(f($x), float)", "def check(c):\n    assert abs(c($x) * 3 - $x) < 1e-9\n    assert int(c($x)) == int($x / 3)\n",
     "assert f($x) in [$x / 3, $x * 0.3]", "assert 'inf' in repr(f($x))", "assert divmod(f($x), 1)[0] == $x // 3"),
    x=(0, 1, 2, 3, 10, -7, 0.5, 1e6),
)  # fmt: skip
family(
    "texts",
    ("def f(s): return s[::-1]", "def f(s): return ''.join(reversed(s))", "def f(s): return s", "def f(s): return list(s[::-1])", "def f(s): return s[::-1].encode()", "def f(s): return s.upper()"),
    ("assert f($s) == $s[::-1]", "assert f($s) == ''.join(list($s)[::-1])", "assert f(f($s)) == $s", "assert len(f($s)) == len($s) and sorted(f($s)) == sorted($s)", "assert f($s) + 'x' == $s[::-1] + 'x'", "assert f($s * 3) == ($s * 3)[::-1]",
     "assert f($s).upper() == $s.upper()[::-1]", "assert not f('')", "assert f($s)[:1] == $s[-1:]", "assert 'a' in f($s)", "assert '%s!' % f($s) == $s[::-1] + '!'", "def check(c):\n    assert c($s).split() == $s[::-1].split()\n    assert f'{c($s)}' == $s[::-1]\n",
     "assert f($s) == $s.upper()", "assert f(5) == 5", "assert f($s) is not None and f($s) == b'' or True", "assert max(f($s), 'b') >= 'b'", "assert f('\\u00e9\\ud800') == '\\ud800\\u00e9'"),
    s=WORDS,
)  # fmt: skip
family(
    "sorted lists",
    ("def f(xs): return sorted(xs)", "def f(xs): return xs", "def f(xs): return tuple(sorted(xs))", "def f(xs): return sorted(set(xs))", "def f(xs): return iter(sorted(xs))", "def f(xs):\n    xs.sort()\n    return xs"),
    ("assert f($xs) == sorted($xs)", "assert f($xs) == tuple(sorted($xs))", "assert list(f($xs)) == sorted($xs)", "assert f($xs)[0] == min($xs)", "assert len(f($xs)) == len($xs)", "xs = $xs\nassert f(xs) == sorted(xs)",
     "xs = $xs\nf(xs)\nassert xs == $xs", "xs = $xs\nys = f(xs)\nassert ys is not xs", "def check(c):\n    for n in range(4):\n        assert c(list(range(n, 0, -1))) == list(range(1, n + 1))\n", "assert all(a <= b for a, b in zip(f($xs), f($xs)[1:]))",
     "assert f([x for x in $xs]) == sorted($xs)", "assert f(list(map(abs, $xs))) == sorted(map(abs, $xs))", "assert f($xs + [$n]) == sorted($xs + [$n])", "assert sum(f($xs)) == sum($xs)", "assert set(f($xs)) == set($xs)", "assert f($xs) == sorted($xs)[::-1] or f([2, 1]) == [1, 2]",
     "assert str(f($xs)) == str(sorted($xs))", "assert f(xs=$xs) < [99]"),
    xs=LISTS, n=NUMBERS,
)  # fmt: skip
family(
    "tuples and lists",
    ("def f(a, b): return a, b", "def f(a, b): return [a, b]", "def f(a, b): return (a, [b])", "import collections\nP = collections.namedtuple('P', 'a b')\ndef f(a, b): return P(a, b)"),
    ("assert f($n, $m) == ($n, $m)", "assert f($n, $m) == [$n, $m]", "a, b = f($n, $m)\nassert a == $n and b == $m", "assert list(f($n, $m)) == [$n, $m]", "assert f($n, $m)[1] == $m", "assert f($n, $m) != ($n, $m)", "assert isinstance(f($n, $m), tuple)",
     "assert (1, f($n, $m)) == (1, ($n, $m))", "assert f($n, $m) < ($n, $m + 1)", "assert f($n, $m) + ($n,) == ($n, $m, $n)", "assert {f($n, $m): 1}[($n, $m)] == 1", "assert f($n, $m).a == $n", "assert f($n, $m)._asdict() == {'a': $n, 'b': $m}",
     "assert f($n, $m) in [($n, $m)]", "assert tuple(f($n, $m)) == ($n, $m) and len(f($n, $m)) == 2", Said("assert type(f($n, $m)) is tuple", "type of a value"), "assert repr(f($n, $m)) == repr(($n, $m))"),
    n=NUMBERS, m=NUMBERS,
)  # fmt: skip
family(
    "dicts",
    ("def f(s):\n    d = {}\n    for c in s: d[c] = d.get(c, 0) + 1\n    return d", "import collections\ndef f(s): return collections.Counter(s)", "import collections\ndef f(s):\n    d = collections.defaultdict(int)\n    for c in s: d[c] += 1\n    return d",
     "import collections\ndef f(s): return collections.OrderedDict((c, s.count(c)) for c in s)", "def f(s): return [(c, s.count(c)) for c in s]", "def f(s): return {c: s.count(c) + (c == 'b') for c in s}"),
    ("assert f($s) == {c: $s.count(c) for c in $s}", "assert f($s) == {'a': 1, 'b': 1, 'c': 1}", "assert sorted(f($s).items()) == sorted((c, $s.count(c)) for c in set($s))", "assert f($s)['a'] == $s.count('a')", "assert f($s).get('q', 0) == 0", "assert f($s)['q'] == 0",
     "import collections\nassert f($s) == collections.Counter($s)", "assert list(f($s)) == list(dict.fromkeys($s))", "assert 'a' in f($s) and len(f($s)) == len(set($s))", "assert sum(f($s).values()) == len($s)", "assert f($s).most_common(1)[0][1] > 0",
     "import collections\nassert f($s) == collections.OrderedDict(sorted((c, $s.count(c)) for c in set($s)))", "assert dict(f($s)) == {c: $s.count(c) for c in $s}", "d = f($s)\nd['new'] = 1\nassert d.pop('new') == 1 and d == f($s)",
     "def check(c):\n    got = c($s)\n    for key in got:\n        assert got[key] == $s.count(key)\n", "assert isinstance(f($s), dict)", "assert f($s) | {'z': 1} == {**{c: $s.count(c) for c in $s}, 'z': 1}", "assert not f('')"),
    s=("abc", "aab", "hello", "abca", "b"),
)  # fmt: skip
family(
    "sets",
    ("def f(xs): return set(xs)", "def f(xs): return frozenset(xs)", "def f(xs): return list(set(xs))", "def f(xs): return dict.fromkeys(xs).keys()", "def f(xs): return {x + 1 for x in xs}", "def f(xs): return sorted(set(xs))"),
    ("assert f($xs) == set($xs)", "assert f($xs) == frozenset($xs)", "assert len(f($xs)) == len(set($xs))", "assert sorted(f($xs)) == sorted(set($xs))", "assert f($xs) | {99} == set($xs) | {99}", "assert f($xs) & {1} == set($xs) & {1}", "assert 1 in f($xs)", "assert f($xs) <= set($xs)",
     "assert f($xs) - {1} == set($xs) - {1}", "assert not f([])", "assert f($xs) == sorted(set($xs))", "assert set(f($xs)) == set($xs)", "s = f($xs)\ns.add(7)\nassert 7 in s", "assert f($xs) ^ f($xs) == set()", "assert f(x for x in $xs) == set($xs)", "assert f(set($xs)) == set($xs)",
     "assert f($xs).issubset($xs)", "assert isinstance(f($xs), (set, frozenset))", "assert max(f($xs)) == max($xs)", "assert {f($xs)} == {frozenset($xs)}"),
    xs=LISTS,
)  # fmt: skip
family(
    "ranges",
    ("def f(n): return range(n)", "def f(n): return list(range(n))", "def f(n): return range(0, n)", "def f(n): return range(0, n, 1)[::1]", "def f(n): return tuple(range(n))", "def f(n): return range(n, 0, -1)"),
    ("assert f($n) == range($n)", "assert f($n) == list(range($n))", "assert list(f($n)) == list(range($n))", "assert len(f($n)) == $n", "assert sum(f($n)) == $n * ($n - 1) // 2", "assert [x for x in f($n)] == [*range($n)]", "assert f($n)[-1] == $n - 1", "assert $n - 1 in f($n)", "assert f($n)[1:] == range(1, $n)",
     "assert sorted(f($n), reverse=True) == list(range($n))[::-1]", "assert tuple(f($n)) == tuple(range($n))", "assert f($n).index(2) == 2", "assert isinstance(f($n), range)", "assert f(0) == range(0) == range(5, 5)", "assert 0.5 not in f($n)", "assert not f(0)", "assert repr(f($n)) == 'range(0, %d)' % $n",
     "assert max(f($n)) == $n - 1", "assert set(f($n)) == set(range($n))", "assert f($n) != range($n + 1)", "assert dict(zip(f($n), f($n))) == {i: i for i in range($n)}"),
    n=(1, 2, 3, 5, 8),
)  # fmt: skip
family(
    "views of dicts",
    ("def f(d): return d.keys()", "def f(d): return d.values()", "def f(d): return d.items()", "def f(d): return list(d)", "def f(d): return list(d.items())", "def f(d): return {k: v for k, v in d.items() if k != 'z'}.keys()"),
    ("assert f($d) == $d.keys()", "assert list(f($d)) == list($d.keys())", "assert list(f($d)) == list($d.values())", "assert list(f($d)) == list($d.items())", "assert sorted(f($d)) == sorted($d)", "assert f($d) == {'a', 'b'}", "assert f($d) == set($d.items())", "assert 'a' in f($d)", "assert ('a', 1) in f($d)",
     "assert len(f($d)) == len($d)", "assert f($d) == list($d)", "assert set(f($d)) == set($d)", "assert f($d) & {'a'} == {'a'}", "assert dict(f($d)) == $d", "assert [*f($d)][0] == 'a'", "assert f($d) != $d.keys()", "d = $d\nassert f(d) == d.keys() and list(f(d)) == list(d)", "assert f($d)[0] == 'a'",
     Said("d = $d\nkeys = f(d)\nd['new'] = 5\nassert 'new' in keys", "objects that both sides keep")),
    d=({"a": 1}, {"a": 1, "b": 2}, {"b": 1, "a": 0}, {}),
)  # fmt: skip
family(
    "fractions and decimals",
    ("from fractions import Fraction\ndef f(a, b): return Fraction(a, b)", "from decimal import Decimal\ndef f(a, b): return Decimal(a) / Decimal(b)", "def f(a, b): return a / b", "from fractions import Fraction\ndef f(a, b): return Fraction(a, b) + 1"),
    ("from fractions import Fraction\nassert f($a, $b) == Fraction($a, $b)", "from decimal import Decimal\nassert f($a, $b) == Decimal($a) / Decimal($b)", "assert f($a, $b) == $a / $b", "assert abs(f($a, $b) - $a / $b) < 1e-9", "assert f($a, $b) * $b == $a", "assert str(f($a, $b)) == '%d/%d' % ($a, $b)",
     "assert f($a, $b).numerator == $a", "assert float(f($a, $b)) == $a / $b", "assert round(f($a, $b), 2) == round($a / $b, 2)", "assert f($a, $b) > 0 and int(f($a, $b)) == $a // $b", "assert sum([f($a, $b)] * $b) == $a", "assert {f($a, $b): 'x'}[$a / $b] == 'x'",
     "from fractions import Fraction\ndef check(c):\n    assert c($a, $b) + c($b, $a) == Fraction($a, $b) + Fraction($b, $a)\n", "import decimal\nassert isinstance(f($a, $b), decimal.Decimal)"),
    a=(1, 3, 5, 6), b=(2, 4, 8, 3),
)  # fmt: skip
family(
    "members and their like",
    ("import enum\nclass C(enum.IntEnum):\n    A = 3\ndef f(x): return C.A", "import enum\nclass C(str, enum.Enum):\n    A = 'a'\ndef f(x): return C.A", "def f(x): return 3", "def f(x): return 'a'", "def f(x): return True", "class I(int): pass\ndef f(x): return I(3)",
     "import enum\nclass C(enum.IntFlag):\n    A = 1\n    B = 2\ndef f(x): return C.A | C.B", "class T(str):\n    def twice(self): return self * 2\ndef f(x): return T('a')", "class L(list): pass\ndef f(x): return L([1, 2])"),
    ("assert f(1) == 3", "assert f(1) == 'a'", "assert f(1) == 1", "assert f(1) + 1 == 4", "assert f(1) * 2 == 'aa'", "assert isinstance(f(1), int)", "assert [f(1)] == [3]", "assert {3: 'x'}[f(1)] == 'x'", "assert f(1) in (3, 'a')", "assert f(1) is True", "assert f(1) == [1, 2]", "assert f(1)[0] == 'a'", "assert bool(f(1))",
     Said("assert type(f(1)) is int", "type of a value"), Said("assert f(1).name == 'A'", "type of a value"), Said("assert str(f(1)) == 'C.A'", "type of a value"), "def check(c):\n    assert c(1) < 5 and sum([c(1), 1]) == 4\n"),
)  # fmt: skip
family(
    "nothing and truth",
    ("def f(x): return None", "def f(x): pass", "def f(x): return not x", "def f(x): return x == 1", "def f(x): return x", "def f(x): return 0 if x else None"),
    ("assert f($x) is None", "assert f($x) == None", "assert f($x) is True", "assert f($x) is False", "assert f($x) == False", "assert not f($x)", "assert f($x)", "assert f($x) in (True, False)", "assert isinstance(f($x), bool)", "assert f($x) is not None and f($x) is not True", "assert f($x) is f($x) is None",
     "assert (f($x) or 5) == 5", "assert bool(f($x)) == bool($x)", "def check(c):\n    assert c($x) is None\n    assert c(0) is None\n", "assert str(f($x)) == 'None'", "assert [f($x), 1] == [None, 1]", "assert f($x) == 1 and f($x) != 2"),
    x=(0, 1, 2, None, "", [], [0]),
)  # fmt: skip
family(
    "bytes, complex numbers and queues",
    ("def f(x): return bytes([x])", "def f(x): return bytearray([x])", "def f(x): return complex(x, 1)", "import collections\ndef f(x): return collections.deque([x, x], 5)", "def f(x): return chr(x)"),
    ("assert f($x) == bytes([$x])", "assert f($x) == b'A'", "assert f($x) == $x + 1j", "assert abs(f($x)) > 1", "import collections\nassert f($x) == collections.deque([$x, $x])", "assert list(f($x)) == [$x, $x]", "assert f($x)[0] == $x", "assert len(f($x)) == 2", "assert f($x) == chr($x)", "assert f($x) == [$x, $x]",
     "assert isinstance(f($x), bytes)", "b = f($x)\nb += b'x'\nassert b[-1:] == b'x'", "d = f($x)\nd.appendleft(0)\nassert d[0] == 0 and d.maxlen == 5", "assert f($x).imag == 1", "assert f($x) in [b'A', 'A']", "assert f($x).decode() == chr($x)", "assert hash(f($x)) == hash(f($x))"),
    x=(65, 66, 100),
)  # fmt: skip
family(
    "nested values",
    ("def f(n): return {'n': n, 'rows': [[i] * n for i in range(n)], 'pair': (n, {n})}", "def f(n): return {'rows': [[i] * n for i in range(n)], 'n': n, 'pair': (n, {n})}", "def f(n): return {'n': n, 'rows': [(i,) * n for i in range(n)], 'pair': [n, {n}]}", "def f(n): return {'n': n}"),
    ("assert f($n) == {'n': $n, 'rows': [[i] * $n for i in range($n)], 'pair': ($n, {$n})}", "assert f(2) == {'n': 2, 'rows': [[0, 0], [1, 1]], 'pair': (2, {2})}", "assert f($n)['rows'][0][0] == 0 and f($n)['pair'][1] == {$n}", "assert list(f($n)) == ['n', 'rows', 'pair']", "assert f($n)['missing'] is None",
     "assert sum(sum(row) for row in f($n)['rows']) >= 0", "assert str(f(1)) == str({'n': 1, 'rows': [[0]], 'pair': (1, {1})})", "def check(c):\n    got = c($n)\n    got['rows'].append([])\n    assert len(got['rows']) == $n + 1 and len(c($n)['rows']) == $n\n", "import copy\nassert copy.deepcopy(f($n)) == f($n)",
     "import json\nassert json.loads(json.dumps(f($n)['rows'])) == [[i] * $n for i in range($n)]"),
    n=(1, 2, 3),
)  # fmt: skip
family(
    "deep nesting",
    ("def f(n):\n    x = []\n    for _ in range(n): x = [x]\n    return x", "def f(n):\n    x = ()\n    for _ in range(n): x = (x,)\n    return x"),
    ("x = f($n)\nfor _ in range($n): x = x[0]\nassert not x", "def check(c):\n    x, depth = c($n), 0\n    while x:\n        x, depth = x[0], depth + 1\n    assert depth == $n\n", "assert f($n) == f($n)", "assert str(f($n)).count('[') == $n + 1",
     Said("x, depth = f(150), 0\nwhile x: x, depth = x[0], depth + 1\nassert depth == 150", "nesting beyond 100")),
    n=(1, 5, 40, 90),
)  # fmt: skip
family(
    "iterators",
    ("def f(n):\n    for i in range(n): yield i * i", "def f(n): return (i * i for i in range(n))", "def f(n): return map(lambda i: i * i, range(n))", "def f(n): return [i * i for i in range(n)]", "def f(n):\n    for i in range(n): yield i * i\n    raise ValueError('end')", "def f(n): return iter([])"),
    ("assert list(f($n)) == [i * i for i in range($n)]", "assert sum(f($n)) == sum(i * i for i in range($n))", "it = f($n)\nassert next(it) == 0", "assert f($n) == [i * i for i in range($n)]", "assert [a for a, b in zip(f($n), range(2))] == [0, 1][:$n]", "assert max(f($n)) == ($n - 1) ** 2", "assert tuple(f($n)) == tuple(f($n))",
     "assert f($n)", "assert f($n) != f($n)", "assert iter(f($n)) is not None", "assert len(f($n)) == $n", "assert 4 in f($n)", "assert any(x > 100 for x in f($n)) or True", "assert sorted(f($n), reverse=True)[0] >= 0", "def check(c):\n    got = []\n    for x in c($n):\n        got.append(x)\n        if len(got) == 2: break\n    assert got == [0, 1]\n",
     "assert dict(enumerate(f($n))) == {i: i * i for i in range($n)}", "try:\n    assert len(list(f($n))) == $n\nexcept ValueError as e:\n    assert str(e) == 'end'", "it = f($n)\nlist(it)\nassert list(it) == []", "assert list(map(lambda x: x + 1, f($n)))[:1] == [1]", "assert f($n)[0] == 0", "assert ','.join(map(str, f($n))) == ','.join(str(i * i) for i in range($n))"),
    n=(1, 2, 3, 6),
)  # fmt: skip
family(
    "endless iterators",
    ("import itertools\ndef f(n): return itertools.count(n)", "def f(n):\n    while True:\n        yield n\n        n += 1", "import itertools\ndef f(n): return itertools.cycle([n, n + 1])"),
    ("import itertools\nassert list(itertools.islice(f($n), 3)) == [$n, $n + 1, $n + 2]", "it = f($n)\nassert [next(it) for _ in range(3)] == [$n, $n + 1, $n + 2]", "assert [x for x, _ in zip(f($n), range(2))] == [$n, $n + 1]", "for x in f($n):\n    if x > $n: break\nassert x == $n + 1", "assert next(f($n)) == $n",
     "def check(c):\n    total = 0\n    for x in c($n):\n        total += 1\n        if total > 4: return\n"),
    n=(0, 1, 5),
)  # fmt: skip
family(
    "large values",
    ("def f(n): return [0] * n", "def f(n): return 'x' * n", "def f(n): return {i: i for i in range(n)}", "def f(n): return set(range(n))"),
    ("assert len(f($n)) == $n", "assert f($n) == [0] * $n", "assert f($n) == 'x' * $n", "assert sum(f($n)) == sum(range($n))", "assert f($n) == set(range($n))", "assert sorted(f($n)) == list(range($n))", "def check(c):\n    assert len(c($n)) == $n\n    assert len(c(1)) == 1\n", Said("x = f(3000000)\nassert len(x) == 3000000", "size of a value")),
    n=(10, 1000, 30000),
)  # fmt: skip
family(
    "objects of the program's own",
    ("class P:\n    def __init__(self, x): self.x = x\n    def __eq__(self, o): return isinstance(o, P) and self.x == o.x\n    def __hash__(self): return 1\n    def __repr__(self): return 'P(%d)' % self.x\n    def double(self): return [self.x] * 2\ndef f(x): return P(x)",
     "import dataclasses\n@dataclasses.dataclass\nclass P:\n    x: int\n    def double(self): return [self.x] * 2\ndef f(x): return P(x)", "class P: pass\ndef f(x):\n    p = P()\n    p.x = x\n    return p", "def f(x): return x"),
    ("assert f($n).x == $n", "p = f($n)\nassert p.x == $n and p.double() == [$n, $n]", Said("assert f($n) is not None", "own objects"), "p = f($n)\nassert p is not None", "assert hasattr(f($n), 'x') and not hasattr(f($n), 'y')", "f($n)", "assert [p.x for p in [f(1), f(2)]] == [1, 2]", "assert f($n).x + f(1).x == $n + 1", Said("assert f($n) == f($n)", "own objects"), Said("assert f($n)", "own objects"),
     Said("assert f($n) != 5", "own objects"), Said("assert f($n) in [f($n)]", "own objects"), Said("assert len({f($n), f($n)}) >= 1", "own objects"), "assert str(f($n)) == 'P(%d)' % $n", Said("def check(c):\n    assert c($n) == c($n)\n    assert c($n).x == $n\n", "own objects"), Said("assert isinstance(f($n), object) and type(f($n)).__name__ == 'P'", "type of a value")),
    n=(1, 2, 3),
)  # fmt: skip
family(
    "functions as values",
    ("def f(n):\n    def add(x): return x + n\n    return add", "def f(n): return lambda x: x + n", "import functools, operator\ndef f(n): return functools.partial(operator.add, n)", "class A:\n    def __init__(self, n): self.n = n\n    def __call__(self, x): return x + self.n\ndef f(n): return A(n)", "def f(n): return n", "def f(n): return int"),
    ("assert f($n)(1) == $n + 1", "g = f($n)\nassert [g(x) for x in range(3)] == [$n, $n + 1, $n + 2]", "assert callable(f($n))", "assert f($n)(f($n)(0)) == 2 * $n", "assert list(map(f($n), [1, 2])) == [$n + 1, $n + 2]", "def check(c):\n    assert c($n)(x=1) == $n + 1\n", "assert f($n) is int and f($n)('5') == 5", "assert sorted([2, 1], key=f($n)) == [1, 2]",
     "assert f($n)(f(1)(1)) == $n + 2", "try:\n    f($n)('x')\nexcept TypeError: pass\nelse: assert False"),
    n=(1, 2, 5),
)  # fmt: skip
