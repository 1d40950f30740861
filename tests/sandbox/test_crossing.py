"""What a testing in one process and a program in another mean to each other: what Python means in one, or a named end."""

from __future__ import annotations

import collections
import marshal
import time

import pytest

from evosyn.jobs import Call, CallsJob, Check, ChecksJob, ItemOutcome, Limits, Status
from evosyn.ports import Sandbox
from evosyn.sandbox._inside import arguments, trees, wire

SHORT = Limits(cpu_s=1.0, wall_s=60.0, budget_s=60.0, memory_mb=512)

PROGRAM = """
import collections, enum, fractions, json
class Odd(Exception): pass
class Strange(ValueError):
    def __str__(self): return 'told in another way'
class Ends(StopIteration): pass
class Node:
    def __init__(self, value): self.value, self.next = value, None
    def both(self): return [self.value, self.next]
    def __len__(self): return self.value
class Liar(int):
    def __eq__(self, other): return True
    __hash__ = int.__hash__
class Pile(list):
    def top(self): return self[-1]
class Colour(enum.IntEnum): RED = 5
class Access(enum.IntFlag): READ = 1; WRITE = 2
class Cunning(enum.IntFlag):
    READ = 1
    def __or__(self, other): return 7
Point = collections.namedtuple('Point', 'x y')
VALUES = {
    'range': range(2, 9, 3), 'keys': {'b': 1, 'a': 2}.keys(), 'values': {'b': 1}.values(), 'items': {'b': [1]}.items(),
    'fraction': fractions.Fraction(1, 3), 'point': Point(1, [2]), 'member': Colour.RED, 'pile': Pile([1, 2]),
    'counter': collections.Counter('aab'), 'ordered': collections.OrderedDict(b=1, a=2), 'deque': collections.deque([1, 2], 3),
    'default': collections.defaultdict(list, a=[1]), 'bytes': bytearray(b'ab'), 'liar': Liar(5), 'node': Node(3),
    'object': object(), 'int': int, 'flags': Access.READ | Access.WRITE, 'cunning': Cunning.READ, 'function': lambda x: x + 1, 'nodes': [Node(1), Node(2)], 'endless': None,
}
def f(what, *args, **kwargs):
    if what == 'steps': return (n * n for n in args[0])
    if what == 'endless': return iter(int, 1)
    if what == 'raise': raise {'odd': Odd('o'), 'strange': Strange(1), 'stop': StopIteration(), 'ends': Ends(),
        'key': KeyError('k'), 'system': SystemExit(3), 'generator': GeneratorExit()}[args[0]]
    if what == 'json': return json.loads('{')
    if what == 'call': return args[0](*args[1:])
    if what == 'same': return args[0]
    if what == 'sort': args[0].sort(); return None
    if what == 'spoil':
        for one in args[0].values() if type(args[0]) is dict else args[0]: one.clear()
        raise ValueError('after the deed')
    if what == 'put': args[0][args[1]] = args[2]; return args[0]
    if what == 'keep': args[0].append(Node(1)); return None
    if what == 'half':
        def halves():
            yield 1
            raise ValueError('no more')
        return halves()
    return VALUES[what]
"""


def check(sandbox: Sandbox, code: str, program: str = PROGRAM) -> ItemOutcome:
    ((outcome,),) = sandbox.run([ChecksJob(program, "f", (Check(code),), SHORT)])
    return outcome


@pytest.mark.parametrize(
    "code",
    [
        "assert f('range') == range(2, 9, 3) and list(f('range')) == [2, 5, 8] and f('range') != [2, 5, 8]",
        "assert list(f('keys')) == ['b', 'a'] and f('keys') == {'a', 'b'} and f('keys') != ['b', 'a']",
        "assert list(f('values')) == [1] and f('values') != [1] and ('b', [1]) in f('items')",
        "from fractions import Fraction\nassert f('fraction') == Fraction(1, 3) and 3 * f('fraction') == 1",
        "p = f('same', f('point'))\nassert p == (1, [2]) and p.x == 1 and p._asdict() == {'x': 1, 'y': [2]} and repr(p) == 'Point(x=1, y=[2])'",
        "p = f('point')\ntry:\n    p.x = 2\nexcept AttributeError:\n    pass\nelse:\n    assert False",
        "assert f('member') == 5 and f('pile') == [1, 2] and f('bytes') == b'ab'",
        "assert f('counter') == {'a': 2, 'b': 1} and f('counter')['c'] == 0 and f('counter').most_common(1) == [('a', 2)]",
        "assert f('flags') == 3 and f('flags') & 1 and f('flags') | 4 == 7",
        "import collections\nassert f('ordered') != collections.OrderedDict(a=2, b=1) and f('ordered') == {'a': 2, 'b': 1}",
        "d = f('deque')\nd.append(3)\nd.append(4)\nassert list(d) == [2, 3, 4] and d != [2, 3, 4]",
        "assert f('default')['b'] == [] and f('int') is int",
    ],
)
def test_a_value_of_pythons_own_types_means_what_python_means(sandbox: Sandbox, code: str) -> None:
    assert check(sandbox, code).status is Status.OK


@pytest.mark.parametrize(
    "code",
    [
        "steps = f('steps', range(3))\nassert next(steps) == 0 and list(steps) == [1, 4] and list(steps) == []",
        "assert [a for a, _ in zip(f('endless'), range(3))] == [0, 0, 0]",
        "halves = f('half')\nassert next(halves) == 1\ntry:\n    next(halves)\nexcept ValueError as e:\n    assert str(e) == 'no more'",
        "assert f('steps', (n for n in [1, 2])) != [1, 4] and list(f('steps', (n for n in [1, 2]))) == [1, 4]",
        "assert f('function')(4) == 5 and callable(f('function')) and f('function') is f('function')",
        "n = f('node')\nassert n.value == 3 and n.both() == [3, None] and len(n) == 3 and n is f('node') and not callable(n)",
        "assert [n.value for n in f('nodes')] == [1, 2] and f('same', f('node')) is f('node')",
        "f('object')\nassert f('object') is not None and not hasattr(f('node'), 'nothing')",
        "assert f('call', len, [1, 2]) == 2 and f('call', str.upper, 'a') == 'A'\nimport math\nassert f('call', math.sqrt, 4) == 2",
    ],
)
def test_what_stays_with_the_program_can_be_used_from_the_testing(sandbox: Sandbox, code: str) -> None:
    assert check(sandbox, code).status is Status.OK


@pytest.mark.parametrize(
    "code",
    [
        "x = [3, 1]\nf('sort', x)\nassert x == [1, 3]",
        "x = [3, 1]\ny = f('same', x)\nassert y is x and f('same', [x])[0] is x",
        "inner = {1}\nd = {'a': inner, 'b': inner}\ntry:\n    f('spoil', d)\nexcept ValueError:\n    assert inner == set() and d['a'] is inner",
        "row = [0]\ngrid = [row, row]\nf('put', row, 0, 7)\nassert grid == [[7], [7]]",
        "row = [0]\nassert f('put', [row, row], 0, 7) == [7, [0]]",
        "x = []\nf('put', {}, 'k', x)\nd = {}\nf('put', d, 'k', x)\nassert d['k'] is x",
        "x = [1]\nx.append(x)\nassert f('same', x) is x and x[1] is x",
        "x = []\nf('keep', x)\nassert len(x) == 1 and x[0].value == 1",
        "b = bytearray(b'ab')\nf('put', b, 0, 120)\nassert b == b'xb'",
        "import collections\nc = collections.Counter('a')\nf('put', c, 'z', 9)\nassert c == {'a': 1, 'z': 9} and type(c) is collections.Counter",
        "d = {2: 'a', 1: 'b'}\nf('put', d, 0, 'c')\nassert list(d.items()) == [(2, 'a'), (1, 'b'), (0, 'c')]",
    ],
)
def test_what_a_program_changes_in_place_is_changed_for_the_testing(sandbox: Sandbox, code: str) -> None:
    assert check(sandbox, code).status is Status.OK


@pytest.mark.parametrize(
    "code",
    [
        "try:\n    f('raise', 'strange')\nexcept ValueError as e:\n    assert str(e) == 'told in another way' and type(e).__name__ == 'Strange'",
        "class Odd(Exception): pass\ntry:\n    f('raise', 'odd')\nexcept Odd as e:\n    assert e.args == ('o',)",
        "try:\n    f('raise', 'key')\nexcept LookupError as e:\n    assert e.args == ('k',) and str(e) == \"'k'\"",
        "import json\ntry:\n    f('json')\nexcept json.JSONDecodeError:\n    pass",
        "try:\n    f('raise', 'system')\nexcept SystemExit as e:\n    assert e.code == 3",
    ],
)
def test_an_exception_of_the_program_can_be_caught_by_its_class(sandbox: Sandbox, code: str) -> None:
    assert check(sandbox, code).status is Status.OK


@pytest.mark.parametrize("how", ["stop", "ends", "generator"])
@pytest.mark.parametrize(
    "code",
    [
        "for got, want in zip((f('raise', '{}') for _ in [1]), [1]): assert got == want",
        "for got, want in zip(map(f, ['raise'], ['{}']), [1]): assert got == want",
        "assert list(map(f, ['raise'], ['{}'])) == []",
    ],
)
def test_an_exception_of_the_program_never_ends_a_loop_of_the_testing(sandbox: Sandbox, code: str, how: str) -> None:
    assert check(sandbox, code.format(how)).status is Status.EXCEPTION


@pytest.mark.parametrize(
    "value",
    [
        [[1], *[((..., "same", 1), (..., "same", 1)) for _ in range(60)], {((..., "same", 1),): 1}],
        [b"x" * 10**6, *[(..., "bytearray", (..., "same", 0)) for _ in range(10_000)]],
        (..., "same", 0),
        [(..., "same", 1)],
        [[1], (..., "same", -1)],
        [[1], (..., "same", True)],
        [[1], {(..., "same", 1): 1}],
        [[1], (..., "set", ((..., "same", 1),))],
        [(1,), (..., "same", 1)],
        (..., "deque", ((..., "same", 0),), None),
        [(..., "default", (..., "same", 0), ())],
    ],
)
def test_arguments_that_a_testing_wrote_by_hand_cost_no_more_than_their_bytes(value: object) -> None:
    began = time.process_time()
    found = arguments._checked(wire.Record(wire.OK, 0.0, marshal.dumps(value, 2)))
    assert (found.code, found.payload) == (wire.EXCEPTION, b"not a value")
    assert time.process_time() - began < 5


@pytest.mark.parametrize("depth", [60, 50_000])
def test_lists_of_one_list_each_cost_no_more_than_their_bytes(depth: int) -> None:
    """However many paths lead through them."""
    began = time.process_time()
    data = marshal.dumps([[1], *[[(..., "same", at), (..., "same", at)] for at in range(1, depth)]], 2)
    made = wire.decode_live(data)
    assert made[-1][0] is made[-1][1] is made[-2]
    with pytest.raises(wire.Malformed):
        wire.decode(data)  # our own process knows no such value: what it pays for is what it sees
    assert time.process_time() - began < 5


def test_arguments_that_are_one_object_arrive_as_one() -> None:
    inner, pair = [1], ([2],)
    value = [inner, {"a": inner, 3: [inner, inner]}, pair, pair, (4,), (4,), {5}, collections.deque([inner])]
    made = wire.decode_live(trees.encode(value, trees.keeping()))
    assert made == value
    assert made[0] is made[1]["a"] is made[1][3][0] is made[1][3][1] is made[7][0] and made[2][0] is made[3][0]
    assert trees.encode([[1], [1]], trees.keeping()) == trees.encode([[1], [1]])


@pytest.mark.parametrize("name", ["liar", "cunning", "object", "node"])
@pytest.mark.parametrize(
    "code",
    [
        "assert {} == 5",
        "assert 5 == {}",
        "assert {} != 6",
        "assert {} in [5]",
        "assert 3 in {}",
        "assert {}",
        "assert not {} or True",
        "assert {{{}}} == {{5}}",
        "assert sorted([{}, 4])",
        "assert {} + 0 == 5",
        "try:\n    assert {} == 5\nexcept:\n    pass",
        "try:\n    assert {} == 5\nexcept BaseException:\n    assert f('member') == 5",
        "import contextlib\nwith contextlib.suppress(BaseException):\n    assert {} == 5",
    ],
)
def test_an_object_of_the_program_cannot_decide_whether_it_is_right(sandbox: Sandbox, code: str, name: str) -> None:
    assert check(sandbox, code.format(f"f('{name}')")).status is Status.NOT_PLAIN


@pytest.mark.parametrize(
    "wrap", ["{}", "try:\n    {}\nexcept:\n    pass", "try:\n    {}\nexcept Exception:\n    pass\nassert False"]
)
@pytest.mark.parametrize(
    "call",
    [
        "f('same', lambda x: x)",
        "f('call', open, 'x')",
        "f('same', (lambda: 1).__call__)",
        "f('same', [type('Own', (), {})()])",
        "f('same', x=__import__('sys').stdout)",
        "f('same', type('Own', (list,), {})([1]))",
    ],
)
def test_an_argument_that_cannot_cross_makes_the_testing_broken(sandbox: Sandbox, call: str, wrap: str) -> None:
    outcome = check(sandbox, wrap.format(call))
    assert outcome.status is Status.TESTING_BROKEN
    assert "argument" in outcome.detail


@pytest.mark.parametrize(
    "code",
    [
        "def check(f):\n    for v in f(3): last = v\n    assert last == 3\ncheck(f)",
        "for v in f(3): last = v\nassert last == 3",
        "if f(3): y = 1\nassert y",
        "x = 1\nif not f(3): del x\nassert x",
        "def outer(f):\n    for v in f(3): last = v\n    return lambda: last\nouter(f)()",
        "match f(3):\n    case [one]: pass\nassert one",
        "".join(f"n{n} = 0\n" for n in range(300)) + "for v in f(3): last = v\nassert last == 3",
    ],
)
def test_a_program_that_leaves_a_name_of_the_testing_unbound_fails(sandbox: Sandbox, code: str) -> None:
    assert check(sandbox, code, "def f(x): return []").status is Status.EXCEPTION


def test_each_nan_that_a_program_gives_is_its_own(sandbox: Sandbox) -> None:
    for code in ("a = f(1)\nb = f(2)\nassert [a] == [b]", "assert len({f(1), f(2)}) == 1", "assert f(1) in [f(2)]"):
        assert check(sandbox, code, "def f(x): return float('nan')").status is not Status.OK


@pytest.mark.parametrize(
    ("code", "program"),
    [
        ("assert eval(f(1)) == 3", "def f(x): return 'undefined'"),
        ("assert eval(f(1)) == 3", "def f(x): return '('"),
        ("exec(f(1))", "def f(x): return 'import nothing_of_that_name'"),
        ("__import__(f(1))", "def f(x): return 'nothing_of_that_name'"),
        ("import importlib\nimportlib.import_module(f(1))", "def f(x): return 'nothing_of_that_name'"),
        ("import sys\nif f(1) != 2: sys.exit(1)", "def f(x): return 1"),
        ("assert 'x' * f(1)", "def f(x): return 10 ** 18"),
        ("assert 'x' * f(1)", "def f(x): return 10 ** 9"),
        ("assert f(f(1)) == 3", "def f(x):\n    y = []\n    for _ in range(99): y = [y]\n    return [y]"),
        ("assert f([f(1)]) == 3", "def f(x):\n    y = []\n    for _ in range(98): y = [y]\n    return y"),
    ],
)
def test_a_program_cannot_make_the_testing_broken(sandbox: Sandbox, code: str, program: str) -> None:
    assert check(sandbox, code, program).status not in (Status.OK, Status.TESTING_BROKEN, Status.INFRASTRUCTURE)


@pytest.mark.parametrize(
    "code",
    [
        "f(1)\nundefined_name",
        "f(1)\nimport nothing_of_that_name",
        "f(1)\nfrom math import nothing",
        "1 / 0",
        "(",
        "x: int = y",
    ],
)
def test_a_testing_that_cannot_run_is_broken_after_a_call_as_before_one(sandbox: Sandbox, code: str) -> None:
    assert check(sandbox, code, "def f(x): return x").status is Status.TESTING_BROKEN


def test_no_name_of_a_program_exists_for_a_testing_that_does_not_declare_it(sandbox: Sandbox) -> None:
    program = "import heapq\nHELP = 1\ndef isclose(*_): return True\ndef f(x): return 0\n"
    for name in ("isclose", "heapq", "HELP"):
        assert check(sandbox, f"f(1)\n{name}", program).status is Status.TESTING_BROKEN
    assert check(sandbox, "isclose = __solution__('isclose')\nassert isclose(f(1), 2)", program).status is Status.OK
    outcome = check(sandbox, "other = __solution__('other')\nassert other(1)", program)
    assert outcome.detail.startswith("program raised NameError")


PATCHES = """
import sys
wire = sys.modules['evosyn.sandbox._inside.wire']
answers = sys.modules['evosyn.sandbox._inside.answers']
trees = sys.modules['evosyn.sandbox._inside.trees']
record = wire.record
"""


@pytest.mark.parametrize("code", range(4, 256, 7))
def test_a_program_says_of_its_calls_only_what_a_program_may_say(sandbox: Sandbox, code: int) -> None:
    program = PATCHES + f"def f(x):\n    wire.record = lambda c, s, p: record({code}, s, p)\n    return 1\n"
    texts = ("assert f(1) == 2", "try:\n    f(1)\nexcept:\n    pass", "assert True", "assert f(1) == 1")
    job = ChecksJob(program, "f", tuple(map(Check, texts)), SHORT)
    (outcomes,) = sandbox.run([job])
    allowed = {6: Status.OUTPUT_LIMIT, 7: Status.NOT_PLAIN}
    wanted = allowed.get(code, Status.KILLED)
    assert [outcome.status for outcome in outcomes if outcome.status is not wanted] in ([], [Status.OK])
    assert outcomes[0].status is outcomes[1].status is outcomes[3].status is wanted


@pytest.mark.parametrize(
    "spoils",
    [
        "answers.HELLO = b'x' * (1 << 20)",
        "answers.HELLO = b'T'",
        "answers.HELLO = b''",
        "wire.record = lambda c, s, p: b'\\xff' * 500",
        "wire.record = lambda c, s, p: record(c, s, p)[:-1] + b'\\x00' * 3",
        "wire.record = lambda c, s, p: record(c, float('nan'), p) + b'more'",
        "wire.record = lambda c, s, p: wire.RECORD.pack(c, s, 0xffffffff) + p",
        "trees.encode = lambda *_: b'T'",
        "trees.encode = lambda *_: b'(\\x02\\x00\\x00\\x00.u\\x05\\x00\\x00\\x00range'",
        "trees.encode = lambda *_: b'(\\x03\\x00\\x00\\x00.u\\x04\\x00\\x00\\x00samei\\x09\\x00\\x00\\x00'",
        "trees.encode = lambda *_: b'(\\x03\\x00\\x00\\x00.u\\x08\\x00\\x00\\x00functionT'",
        "answers.PLAIN_ANSWER = b'\\x02'",
        "answers.PLAIN_ANSWER = b'\\x01'",
        "answers.PLAIN_ANSWER = b''",
        "answers._raised = lambda *_: 5",
        "answers._raised = lambda *_: ('x', ('evosyn.sandbox._inside.peer.Gone',), None)",
        "answers._raised = lambda *_: ('x', ('StopIteration',), None)",
    ],
)
def test_a_program_that_answers_wrongly_fails_its_own_checks_at_once(sandbox: Sandbox, spoils: str) -> None:
    program = PATCHES + f"{spoils}\ndef f(x):\n    if x: return 7\n    raise ValueError\n"
    texts = ("assert f(1) == 8", "try:\n    assert f(1) == 8\nexcept:\n    pass", "f(0)", "list(map(f, [0]))")
    honest = ChecksJob("def f(x): return 8", "f", tuple(map(Check, texts)), SHORT)
    (before,), (spoilt,), (after,) = (
        sandbox.run([job]) for job in (honest, ChecksJob(program, "f", tuple(map(Check, texts)), SHORT), honest)
    )
    assert [outcome.status for outcome in before] == [outcome.status for outcome in after] == [Status.OK] * 4
    assert not {outcome.status for outcome in spoilt} & {Status.INFRASTRUCTURE, Status.TESTING_BROKEN, Status.NOT_RUN}
    assert [outcome.status for place, outcome in enumerate(spoilt) if place in (0, 2, 3)].count(Status.OK) == 0


def test_a_program_that_ends_itself_fails_a_check_that_catches_everything(sandbox: Sandbox) -> None:
    for text in (
        "try:\n    f(1)\nexcept:\n    pass",
        "for _ in range(9):\n    try:\n        f(1)\n    except BaseException:\n        pass",
    ):
        for ends in (
            "import os; os._exit(0)",
            "import ctypes; ctypes.string_at(0)",
            "while True: pass",
            "return 'x' * (9 << 20)",
        ):
            outcome = check(sandbox, text, f"def f(x):\n    {ends}")
            assert outcome.status in (Status.KILLED, Status.TIMEOUT, Status.OUTPUT_LIMIT), (text, ends)


@pytest.mark.parametrize(
    ("body", "value"),
    [
        ("return range(x)", range(3)),
        ("return {x: 1}.keys()", {3: 1}.keys()),
        ("return type('I', (int,), {})(3)", 3),
        ("return type('I', (str,), {'__str__': lambda s: 'y'})('x')", None),
        ("return type('I', (list,), {'__len__': lambda s: 7})([1])", None),
        ("return (lambda: 1)", None),
    ],
)
def test_a_call_gives_what_can_be_represented(sandbox: Sandbox, body: str, value: object) -> None:
    ((outcome,),) = sandbox.run([CallsJob(f"def f(x): {body}", "f", (Call((3,)),), SHORT)])
    assert (outcome.status is Status.OK) == (value is not None)
    assert outcome.value == value


def test_what_an_iterator_gives_comes_back_from_a_call(sandbox: Sandbox) -> None:
    program = "def f(x):\n    for n in range(x): yield n\n    if x == 2: raise ValueError('at last')\n"
    ((three, two),) = sandbox.run([CallsJob(program, "f", (Call((3,)), Call((2,))), SHORT)])
    assert list(three.value) == list(three.value) == [0, 1, 2]
    assert three.value != [0, 1, 2]
    assert two.value.error == "ValueError: at last"


def test_an_argument_that_is_computed_arrives_as_what_it_is(sandbox: Sandbox) -> None:
    texts = ("[range(3)]", "[iter([1, 2])]", "[(n for n in (1, 2))]", "[{1: 2}.keys()]", "[lambda: 5]", "[10 ** 5000]")
    program = "def f(x): return type(x).__name__, list(x) if hasattr(x, '__iter__') else x() if callable(x) else x"
    (outcomes,) = sandbox.run([CallsJob(program, "f", tuple(Call(python=text) for text in texts), SHORT)])
    assert [outcome.value[1] for outcome in outcomes] == [[0, 1, 2], [1, 2], [1, 2], [1], 5, 10**5000]
    assert [outcome.value[0] for outcome in outcomes[:4:3]] == ["range", "dict_keys"]


GIVES = """
import collections, dataclasses, enum
class Pile(list): pass
Point = collections.namedtuple('Point', 'x y')
@dataclasses.dataclass
class Plain: x: int = 1
kept = [7]
def f(what, *args):
    if what == 'rows': return [[0] * args[0]] * args[0]
    if what == 'names': return {'a': kept, 'b': kept, 'c': (kept, {'d': kept})}
    if what == 'piles': return [Pile([1])] * 2
    if what == 'deques': one = collections.deque([kept], 3); return [one, one, kept]
    if what == 'points': return [Point(1, kept), kept]
    if what == 'itself':
        one = [1]; one.append(one); return one
    if what == 'both': args[0].append(kept); return [kept, args[0]]
    if what == 'late': grid = [[0] * 2] * 2; return grid[0], grid
    if what == 'counts': return collections.defaultdict(lambda: 0, a=1)
    if what == 'lists': return collections.defaultdict(list)
    if what == 'nested': return collections.defaultdict(lambda: collections.defaultdict(int))
    if what == 'counters': return collections.defaultdict(collections.Counter)
    if what == 'plains': return collections.defaultdict(Plain)
    if what == 'get': return args[0][args[1]]
    if what == 'same': return args[0]
    if what == 'consume': return [list(args[0]), args[1].append(5)]
    if what == 'from':
        try: {}['k']
        except KeyError as error: raise ValueError('v', kept) from error
    if what == 'within':
        try: f('from')
        except ValueError: raise TypeError('t')
    if what == 'quiet': raise ValueError from None
    if what == 'deep':
        try: f('deep') if len(args) == 0 else None; return f('deep', 1)
        except RecursionError as error: raise ValueError('deep') from error
    if what == 'set': one = eval(args[0]); return one, list(one)
"""


@pytest.mark.parametrize(
    "code",
    [
        "m = f('rows', 3)\nm[0][0] = 1\nassert m == [[1, 0, 0]] * 3",
        "d = f('names')\nd['a'].append(8)\nassert d['b'] == [7, 8] and d['c'][1]['d'] is d['a'] is d['c'][0]",
        "a, b = f('piles')\na.append(2)\nassert b == [1, 2]",
        "a, b, c = f('deques')\nassert a is b and a[0] is c and a.maxlen == 3",
        "p, k = f('points')\nk.append(8)\nassert p.y == [7, 8]",
        "x = f('itself')\nassert x[1] is x and len(x) == 2",
        "x = []\nr = f('both', x)\nassert r[1] is x and x[0] is r[0]",
        "row, grid = f('late')\nrow[0] = 5\nassert grid == [[5, 0], [5, 0]] and f('late')[1] == [[0, 0], [0, 0]]",
        "m = f('rows', 2)\nassert f('get', m, 0) is m[0] is m[1] is f('same', m)[1]",
        "x = [1]\nassert f('consume', iter([[1], [2]]), x) == [[[1], [2]], None] and x == [1, 5]",
        "x = [1.5, 46, 'a.b', [2.5, '.', {3, '.'}]]\nassert f('same', x) is x and x[3] is f('get', x, 3)",
    ],
)
def test_what_is_one_object_to_the_program_is_one_to_the_testing(sandbox: Sandbox, code: str) -> None:
    assert check(sandbox, code, GIVES).status is Status.OK


@pytest.mark.parametrize(
    "code",
    [
        "d = f('counts')\nassert d['q'] == 0 and d == {'a': 1, 'q': 0} and 'z' not in d",
        "d = f('lists')\nd['z'].append(3)\nassert d == {'z': [3]}",
        "d = f('nested')\nd['x']['y'] += 1\nassert d == {'x': {'y': 1}}",
        "assert f('counters')['x']['y'] == 0 and f('plains')[1].x == 1",
        "assert f('get', f('counts'), 'q') == 0 and f('get', f('lists'), 'q') == []",
        "import collections\nd = collections.defaultdict(lambda: 5)\nassert f('same', d) is d and d[1] == 5",
    ],
)
def test_a_dictionary_makes_missing_values_as_the_program_says(sandbox: Sandbox, code: str) -> None:
    assert check(sandbox, code, GIVES).status is Status.OK


@pytest.mark.parametrize(
    "code",
    [
        "try: f('from')\nexcept ValueError as e:\n    assert type(e.__cause__) is type(e.__context__) is KeyError\n    assert e.__cause__.args == ('k',) and e.args == ('v', [7]) and e.__suppress_context__",
        "try: f('within')\nexcept TypeError as e:\n    assert e.__cause__ is None and type(e.__context__.__cause__) is KeyError and not e.__suppress_context__",
        "try: f('quiet')\nexcept ValueError as e: assert e.__suppress_context__ and e.__cause__ is None",
        "try: f('deep')\nexcept ValueError as e: assert isinstance(e.__cause__, RecursionError)",
        "try:\n    try: {}[1]\n    except KeyError: f('quiet')\nexcept ValueError as e: assert type(e.__context__) is KeyError",
    ],
)
def test_an_exception_of_the_program_has_its_cause_and_context(sandbox: Sandbox, code: str) -> None:
    assert check(sandbox, code, GIVES).status is Status.OK


@pytest.mark.parametrize(
    "made",
    [
        "{3, 1, 2}",
        "set('hello world')",
        "{'b', 'a', (1, 2), None, 1.5}",
        "set([1, 100, 50]) | set([33, 70])",
        "set(range(1000)) - set(range(5, 995))",
        "{13, 5}",
        "set(map(str, range(40)))",
    ],
)
def test_a_set_is_gone_through_in_the_order_of_the_program(sandbox: Sandbox, made: str) -> None:
    assert check(sandbox, f"one, order = f('set', {made!r})\nassert list(one) == order", GIVES).status is Status.OK


@pytest.mark.parametrize(
    ("body", "statuses"),
    [
        ("x = [0]\n    for _ in range(60): x = [x, x]\n    return x", {Status.TIMEOUT}),
        ("import collections\n    x = collections.deque()\n    x.append(x)\n    return x", {Status.NOT_PLAIN}),
        ("x = [0]\n    for _ in range(5000): x = [x]\n    return x", {Status.NOT_PLAIN}),
        ("x = []\n    x.append(x)\n    return x", {Status.EXCEPTION}),
    ],
)
def test_a_value_of_endless_work_costs_its_own_check_only(sandbox: Sandbox, body: str, statuses: set[Status]) -> None:
    program = f"def f(n):\n    if n: return n\n    {body}"
    texts = (
        "assert f(1) == 1",
        "assert f(0) == f(0)",
        "import os\nassert f(0) == [1] or f(0) == f(0)",
        "assert f(1) == 1",
    )
    (outcomes,) = sandbox.run([ChecksJob(program, "f", tuple(map(Check, texts)), SHORT)])
    assert outcomes[0].status is outcomes[3].status is Status.OK
    assert {outcome.status for outcome in outcomes[1:3]} == statuses, outcomes
