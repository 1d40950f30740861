"""What runs for a solution: prelude, what it needs of the starter code, itself; a fresh instance for each call."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping

import pytest

from evosyn.crossexec.judge import Cell, Judge
from evosyn.domains import check_task, domains_named
from evosyn.domains.base import BaseDomain
from evosyn.domains.python.payload import PRELUDES, FunctionPayload, ProgramPayload
from evosyn.domains.python.program import program_of
from evosyn.errors import FormatError, UsageError
from evosyn.jobs import CellResult, Limits, StdioJob
from evosyn.pools import pool_from_json, pool_to_json
from evosyn.records import Json, Problem, Solution, Testing, Verdict
from evosyn.sandbox import open_sandbox
from evosyn.tasks import task_from_json, task_text

DOMAINS = domains_named(("python-function", "python-stdin"))
STARTER = '''from __future__ import annotations
import math
import itertools as it
from typing import List
LIMIT = 3
TABLE = {}
TABLE["a"] = LIMIT
def helper(n):
    return inner(n) + TABLE["a"]
def inner(n):
    return math.floor(n)
class Node:
    def __init__(self, value): self.value = value
def todo(x):
    """Yours."""
BROKEN = 1 // 0
def f(xs: List[int]) -> int:
    """Sum."""
'''


@pytest.fixture(scope="module")
def judge() -> Iterator[Judge]:
    with open_sandbox("local", workers=2) as sandbox:
        yield Judge(sandbox, DOMAINS, Limits(wall_s=5.0))


def problem(entry: str = "f", **payload: Json) -> Problem:
    return Problem("p", "python-function", "Do it.", payload={"entry_point": entry, **payload})


def cases(*pairs: tuple[list[Json], Json]) -> Testing:
    return Testing("cases", {"cases": [{"input": given, "output": wanted} for given, wanted in pairs]})


def asserts(*texts: str) -> Testing:
    return Testing("asserts", {"asserts": list(texts)})


def decide(judge: Judge, asked: Problem, text: str, testing: Testing) -> CellResult:
    return judge.verify([Cell(asked, Solution(text), testing)])[0]


ALONE = {
    "an annotation": ("def f(xs: List[int]): return sum(xs)", "P"),
    "an import": ("def f(xs): return math.prod([1]) + sum(xs) - 1", "P"),
    "an import under another name": ("def f(xs): return sum(it.chain(xs))", "P"),
    "a constant": ("def f(xs): return sum(xs[:LIMIT])", "P"),
    "a helper and what it needs": ("def f(xs): return sum(xs) + helper(0.5) - 3", "P"),
    "a class": ("def f(xs): return Node(sum(xs)).value", "P"),
    "at its top": ("SIZE = LIMIT + 1\ndef f(xs): return sum(xs[:SIZE])", "P"),
    "postponed annotations": ("def f(xs: Nothing[int]): return sum(xs)", "P"),
    "a future import of its own": (
        "'''Doc.'''\nfrom __future__ import annotations\ndef f(xs: List): return sum(xs)",
        "P",
    ),
    "a byte order mark": ("\ufeffdef f(xs: List): return sum(xs)", "P"),
    "its own binding wins": ("LIMIT = 0\ndef f(xs): return sum(xs[LIMIT:])", "P"),
    "its own binding wins over an import": ("class math:\n    x = 0\ndef f(xs): return sum(xs) + math.x", "P"),
    "its own helper serves the lent one": ("def inner(n): return 7\ndef f(xs): return helper(0) - 10 + sum(xs)", "P"),
    "a local name alike": ("def f(LIMIT): return sum(LIMIT)", "P"),
    "a local name of what raises": ("def f(xs):\n    BROKEN = sum(xs)\n    return BROKEN", "P"),
    "a helper in a text": ("def f(xs): return eval('sum(xs) + helper(0) - 3')", "P"),
    "a helper by its name": ("def f(xs): return sum(xs) + globals()['hel' + 'per'](0) - 3", "P"),
    "a helper of its module": ("import sys\ndef f(xs): return sys.modules[f.__module__].helper(0) - 3 + sum(xs)", "P"),
    "an import in a text": (
        "def f(xs):\n    names = {}\n    exec('n = math.floor(0.5)', globals(), names)\n    return sum(xs) + names['n']",
        "P",
    ),
    "a constant in a text": ("def f(xs): return sum(xs[:eval('LIMIT')])", "P"),
    "what raises in a text": ("def f(xs): return sum(xs) + eval('BROKEN')", "E"),
    "a text that names nothing": ("def f(xs): return eval('sum(xs)', {'xs': xs})", "P"),
    "its own binding wins over what a text names": ("LIMIT = 0\ndef f(xs): return sum(xs[eval('LIMIT'):])", "P"),
    "what is only declared is not lent to a text": ("def f(xs): return eval('todo')(sum(xs)) or sum(xs)", "E"),
    "what is only declared is not lent": ("def f(xs): return todo(sum(xs)) or sum(xs)", "E"),
    "what raises is its reader's": ("def f(xs): return sum(xs) + BROKEN", "E"),
    "a name that nobody binds": ("def f(xs): return sum(xs) + Tuple", "E"),
    "the whole program": (STARTER.replace("BROKEN = 1 // 0\n", "") + "    return sum(xs)\n", "P"),
}


@pytest.mark.parametrize("name", ALONE)
def test_a_solution_has_of_the_starter_code_what_it_reads_and_does_not_bind(judge: Judge, name: str) -> None:
    text, letter = ALONE[name]
    for testing in (cases(([[1, 2]], 3)), asserts("assert f([1, 2]) == 3", "x = f([1])\nassert x == 1")):
        found = decide(judge, problem(starter_code=STARTER), text, testing)
        assert found.verdict.value == letter, found


@pytest.mark.parametrize("read", ["eval('helper(0)')", "globals()['hel' + 'per'](0)", "helper(0)"])
def test_a_testing_has_the_helpers_that_a_text_may_name(judge: Judge, read: str) -> None:
    found = decide(judge, problem(starter_code=STARTER), "def f(xs): return 3", asserts(f"assert f([]) == {read}"))
    assert found.verdict is Verdict.PASS, found


CHANGED = """import sys
LIMIT = 1
LIMIT += 1
TABLE = {}
TABLE.update(a=1)
for place in range(3):
    TABLE[place] = place
try:
    from math import lcm
except ImportError:
    lcm = None
if sys.version_info > (3,):
    def helper(n):
        return n
sys.stdout.write("no\\n")
f(0)
"""


@pytest.mark.parametrize("read", ["LIMIT == 2", "TABLE['a'] == 1", "TABLE[2] == 2", "lcm(2, 3) == 6", "helper(5) == 5"])
def test_a_solution_has_constants_as_the_whole_starter_code_leaves_them(judge: Judge, read: str) -> None:
    asked = problem(starter_code=CHANGED + "def f(x):\n    pass\n")
    assert decide(judge, asked, f"def f(x):\n    return x if {read} else None", cases(([4], 4))).verdict is Verdict.PASS
    script = Problem("p", "python-stdin", "Echo.", payload={"starter_code": CHANGED})
    testing = Testing("stdin", {"cases": [{"input": "", "output": "True\n"}]})
    text = f"sys.stdout.write(str({read}) + chr(10))"
    assert decide(judge, script, text, testing).verdict is Verdict.PASS


STARRED = "from math import *\nfrom heapq import *\nfrom builtins import *\n"


@pytest.mark.parametrize(
    ("entry", "text", "more", "letter"),
    [
        ("gcd", "x = 1", {"prelude": STARRED}, "E"),
        ("gcd", "def f(a, b): return gcd(a, b)", {"prelude": STARRED}, "E"),
        ("gcd", "from math import gcd", {"prelude": STARRED}, "P"),
        ("gcd", "x = 1", {"starter_code": STARRED + "def gcd(a, b):\n    pass\n"}, "E"),
        ("gcd", "x = 1", {"starter_code": "from math import gcd\n"}, "E"),
        ("gcd", "x = 1", {"starter_code": "def given(a, b): return 2\ngcd = given\n"}, "E"),
        ("gcd", "def f(): return given", {"starter_code": "def given(a, b): return 2\ngcd = given\n"}, "E"),
        ("S.gcd", "x = 1", {"prelude": "import math\nclass S:\n    def gcd(self, a, b): return math.gcd(a, b)\n"}, "E"),
        ("S.gcd", "class S:\n    def gcd(self, a, b): return gcd(a, b)", {"prelude": STARRED}, "P"),
    ],
)  # fmt: skip
def test_nothing_that_is_lent_stands_for_the_entry_point(
    judge: Judge, entry: str, text: str, more: Mapping[str, Json], letter: str
) -> None:
    for testing in (cases(([4, 6], 2)), asserts(f"x = {entry.rpartition('.')[2]}(4, 6)\nassert x == 2")):
        assert decide(judge, problem(entry, **more), text, testing).verdict.value == letter


def test_the_lines_of_a_solution_keep_their_numbers(judge: Judge) -> None:
    text = "import sys\n\n\ndef f():\n    LIMIT\n    return sys._getframe().f_lineno\n"
    asked = problem(starter_code=STARTER, prelude="a = 1\nb = 2\n")
    assert decide(judge, asked, text, cases(([], 6))).verdict is Verdict.PASS
    bad = decide(judge, asked, "LIMIT\n\nreturn 5\n", cases(([], 6)))
    assert bad.verdict is Verdict.ERROR and "line 3" in bad.detail


def test_scripts_have_prelude_and_starter_code_too(judge: Judge) -> None:
    script = Problem(
        "p", "python-stdin", "Echo.", payload={"starter_code": "import sys\n", "prelude": "from math import *"}
    )
    testing = Testing("stdin", {"cases": [{"input": "9\n", "output": "3.0\n"}]})
    text = "if __name__ == '__main__':\n    print(sqrt(int(sys.stdin.readline())))\n"
    assert decide(judge, script, text, testing).verdict is Verdict.PASS
    job = DOMAINS["python-stdin"].run(script, Solution(text), testing, Limits())
    assert isinstance(job, StdioJob) and job.before == ("from math import *", "import sys\n") and job.program == text


def test_livecodebenchs_prelude_is_what_its_own_grader_runs(judge: Judge) -> None:
    source = PRELUDES["builtin:livecodebench"]
    starred = [node for node in ast.parse(source).body if isinstance(node, ast.ImportFrom)]
    assert len(starred) == 18 and source.endswith("sys.setrecursionlimit(50000)\n")
    text = (
        "class Solution:\n    def f(self, xs: List[int]) -> Optional[int]:\n"
        "        def deep(n): return n and 1 + deep(n - 1)\n"
        "        return [deep(20000), pow(2, 5, 7), Counter(xs)[1], sum(accumulate(xs)), inf > 1, bisect_left(xs, 2)]\n"
    )
    asked = problem("Solution.f", prelude="builtin:livecodebench")
    assert decide(judge, asked, text, cases(([[1, 2]], [20000, 4, 1, 4, True, 1]))).verdict is Verdict.PASS


def test_a_prelude_travels_and_is_part_of_what_decides() -> None:
    line = {"problem_id": "p", "domain": "python-function", "statement": "x", "entry_point": "f", "prelude": "a = 1\n"}
    pool = pool_from_json(line)
    assert pool.problem.payload["prelude"] == "a = 1\n"
    assert pool_from_json(pool_to_json(pool)).problem == pool.problem
    other = pool_from_json({**line, "prelude": None}).problem
    domain = DOMAINS["python-function"]
    assert domain.key(pool.problem) != domain.key(other) and pool.problem.id != other.id
    task = task_from_json({"entry_point": "f", "prelude": "a = 1\n", "testing": cases(([], 1)).to_json()})
    assert task_from_json(task_text(task)).problem.payload == {"entry_point": "f", "prelude": "a = 1\n"}
    assert program_of(task.problem, Solution("x")).before == ("a = 1\n",)


@pytest.mark.parametrize("prelude", ["builtin:nothing", "def f(", "\x00", 5])
@pytest.mark.parametrize("domain", ["python-function", "python-stdin"])
def test_a_prelude_that_is_no_program_is_refused_by_its_name(domain: str, prelude: Json) -> None:
    payload: dict[str, Json] = {"prelude": prelude, **({"entry_point": "f"} if domain == "python-function" else {})}
    with pytest.raises(FormatError, match="prelude"):
        DOMAINS[domain].check_problem(Problem("p", domain, "x", payload=payload))


@pytest.mark.parametrize(
    "entry", ["f.__class__", "__f", "__init__", "S.__init__", "f.__call__", "class", "S.def", "a.b.c", "", "S."]
)
def test_an_entry_point_is_a_name_and_none_of_pythons_own(entry: str) -> None:
    with pytest.raises(FormatError, match="entry_point"):
        DOMAINS["python-function"].check_problem(problem(entry))
    assert {"prelude", "starter_code"} <= FunctionPayload.model_fields.keys() & ProgramPayload.model_fields.keys()


STATEFUL = """class S:
    made = 0
    def __init__(self): self.ans = []
    def f(self, x):
        self.ans.append(x)
        return self.ans
    @staticmethod
    def s(x): return [x]
    @classmethod
    def c(cls, x): return [x] if cls is S else None
    g = lambda self, x: self.f(x)
class Base:
    def h(self, x): return [x, x][1:]
class D(S, Base):
    pass
"""


@pytest.mark.parametrize("entry", ["S.f", "S.s", "S.c", "S.g", "D.f", "D.h", "D.s"])
def test_each_call_of_a_method_has_an_instance_of_its_own(judge: Judge, entry: str) -> None:
    name, owner = entry.rpartition(".")[2], entry.partition(".")[0]
    testings = [
        cases(([1], [1]), ([2], [2]), ([3], [3])),
        asserts(f"assert {name}(1) == [1]", f"x = {name}(4)\nassert x + {name}(5) == [4, 5]"),
        Testing(
            "program",
            {"code": "def check(c):\n    got = [c(n) for n in range(3)]\n    assert got == [[0], [1], [2]]\n"},
        ),
        asserts(f"s = {owner}()\nassert s.{name}(6) == [6]"),
    ]
    asked = problem(entry)
    for testing in (*testings, *testings[::-1]):
        assert decide(judge, asked, STATEFUL, testing).verdict is Verdict.PASS
    results = judge.rows(asked, testings, {"only": Solution(STATEFUL + "# all at once\n")}, by="text")
    judge.decide(results)
    assert [one.verdict.value for one in results[0].found()] == ["P"] * 4


@pytest.mark.parametrize(
    ("entry", "code", "letter"),
    [
        ("S.s", "x = S.s(2)\nassert x == [2]", "P"),
        ("S.s", "x = S().s(2)\nassert x == [2]", "P"),
        ("S.c", "x = S.c(2)\nassert x == [3]", "F"),
        ("S.f", "x = S.made\nassert x == 0", "P"),
        ("S.f", "x = S.nothing\nassert x == 0", "E"),
        ("S.f", "x = S.f(2)\nassert x", "E"),
        ("S.f", "x = S._secret\nassert x", "B"),
    ],
)
def test_a_testing_may_ask_the_class_for_what_stands_in_it(judge: Judge, entry: str, code: str, letter: str) -> None:
    assert decide(judge, problem(entry), STATEFUL, asserts(code)).verdict.value == letter


@pytest.mark.parametrize(
    ("entry", "text"),
    [
        ("S.f", "class S:\n    pass\n"),
        ("S.f", "def S(): pass\nS.f = lambda x: x\n"),
        ("S.f", "class S:\n    f = 3\n"),
        ("S.mro", "class S:\n    pass\n"),
        ("S.f", "class S:\n    def __init__(self, x): pass\n    def f(self, x): return x\n"),
    ],
)
def test_what_is_no_method_of_the_class_is_an_error_of_the_solution(judge: Judge, entry: str, text: str) -> None:
    assert decide(judge, problem(entry), text, cases(([1], 1))).verdict is Verdict.ERROR


def test_what_decides_does_not_hang_on_where_a_solution_comes_from(judge: Judge) -> None:
    reply = "```python\ndef f(xs: List[int]) -> int:\n    return sum(xs) + helper(0) - LIMIT\n```"
    domain = DOMAINS["python-function"]
    assert isinstance(domain, BaseDomain)
    asked = problem(starter_code=STARTER)
    read = domain.read("solution", reply, asked).value
    assert read is not None and read.text == "def f(xs: List[int]) -> int:\n    return sum(xs) + helper(0) - LIMIT\n"
    assert decide(judge, asked, read.text, cases(([[1, 2]], 3))).verdict is Verdict.PASS


READERS = [
    "import sys\ndef f(): return sys._getframe().f_lineno",
    "from sys import _getframe as g\ndef f(): return g().f_lineno",
    "from sys import *\ndef f():\n    try: 1 // 0\n    except ZeroDivisionError: return exc_info()[2].tb_lineno",
    "def f():\n    try: 1 // 0\n    except ZeroDivisionError as e: return e.__traceback__.tb_lineno",
    "def f():\n    try: 1 // 0\n    except ZeroDivisionError as e: return int('{0.__traceback__.tb_lineno}'.format(e))",
    "def f():\n    t = '{0.__trace' + 'back__.tb_lineno}'\n    try: 1 // 0\n    except ZeroDivisionError as e: return int(t.format(e))",
    "def f():\n    try: 1 // 0\n    except ZeroDivisionError as e: return getattr(getattr(e, '__trace' + 'back__'), 'tb_li' + 'neno')",
    "import operator\ndef f():\n    try: 1 // 0\n    except ZeroDivisionError as e: return operator.attrgetter('__traceback__.tb_lineno')(e)",
    "import traceback\ndef f(): return traceback.extract_stack()[-1][1]",
    "import inspect\ndef f(): return inspect.stack()[0][2]",
    "import dataclasses\ndef f(): return dataclasses.inspect.stack()[0][2]",
    "from dataclasses import inspect as i\ndef f(): return i.stack()[0][2]",
    "def f(): return f.__code__.co_firstlineno",
    "def f(): return int(str(f.__code__).split()[-1].strip('>'))",
    "def f(): return (lambda: (yield))().gi_frame.f_lineno",
    "def f(): return eval('f.__co' 'de__.co_firstlineno')",
    "import logging\ndef f():\n    got = []\n    h = logging.Handler()\n    h.emit = lambda r: got.append(r.lineno)\n    logging.getLogger().addHandler(h)\n    logging.error('x')\n    return got[0]",
    "class C:\n    def __enter__(self): pass\n    def __exit__(self, t, v, tb):\n        self.at = tb.tb_lineno\n        return True\ndef f():\n    c = C()\n    with c: 1 // 0\n    return c.at",
    "import warnings\ndef f():\n    with warnings.catch_warnings(record=True) as w:\n        warnings.simplefilter('always')\n        warnings.warn('x')\n    return w[0].lineno",
    "import sys\ndef f():\n    got = []\n    sys.settrace(lambda frame, *_: got.append(frame.f_lineno))\n    len([])\n    (lambda: 1)()\n    sys.settrace(None)\n    return got[0]",
    "import ast\ndef f(): return __import__('sys')._getframe().f_lineno",
]  # fmt: skip
ORDINARY = [
    "def f(): return 5",
    "import math, re, sys\nfrom collections import Counter\nfrom datetime import datetime\ndef f(): return math.floor(5.5)",
    "class N:\n    def __init__(self, v): self.v, self._n, self.__p = v, 1, 2\n    def __lt__(self, o): return self.v < o.v\ndef f(): return N(5).v",
    "def f(): return int('{:.0f}'.format(5.2)) if '{0}{a}'.format(1, a=2) else f'{5!r}'",
    "import re\ndef f(): return len(re.compile('a').sub('b', 'aaaaa'))",
    "import sys\ndef f():\n    sys.setrecursionlimit(9999)\n    try: return 5 // 1\n    except ZeroDivisionError as e: return str(e)",
    "if __name__ == '__main__':\n    print(1)\ndef f(): return 5",
]  # fmt: skip


@pytest.mark.parametrize("text", [*READERS, *ORDINARY])
def test_programs_count_as_one_only_where_none_can_tell_its_lines(judge: Judge, text: str) -> None:
    domain, asked, moved = DOMAINS["python-function"], problem(), f"# lower\n\n{text}\n"
    alike = domain.same(asked, Solution(text)) == domain.same(asked, Solution(moved))
    assert alike is (text in ORDINARY)
    given = judge.rows(asked, [cases(([], 5))], {one: Solution(one) for one in (text, moved)}, by="text")
    judge.decide(given)
    first, second = (row.found()[0] for row in given)
    assert (first.values == second.values) is alike and 0 not in (*first.values, *second.values)


@pytest.mark.parametrize("lent", [{"starter_code": "import traceback as tb\n"}, {"prelude": "import traceback as tb"}])
def test_what_runs_before_a_program_may_tell_it_its_lines(judge: Judge, lent: Mapping[str, Json]) -> None:
    text = "def f(): return tb.extract_stack()[-1][1]"
    domain, asked = DOMAINS["python-function"], problem(**lent)
    assert domain.same(asked, Solution(text)) != domain.same(asked, Solution("\n" + text))
    assert decide(judge, asked, "\n" + text, cases(([], 2))).verdict is Verdict.PASS
    quiet = problem(prelude="builtin:livecodebench", starter_code=STARTER)
    assert domain.same(quiet, Solution("def f(x): return gcd(x, LIMIT)")) == domain.same(
        quiet, Solution("# hi\ndef f(x):\n    return gcd(x, LIMIT)")
    )


def test_a_task_with_an_entry_point_of_pythons_own_is_refused_by_its_name() -> None:
    with pytest.raises(UsageError, match=r"items\[0\].*entry_point"):
        task_from_json({"entry_point": "f.__class__", "testing": cases(([], 1)).to_json()}, "items[0]", check_task)
