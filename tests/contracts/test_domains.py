"""Every domain that the registry finds, and the one of the example outside of the package, keeps their contract."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_short_answer import TestShortAnswer
from tool_shop import BUY, rows, shop

from evosyn import registry
from evosyn.contracts import DomainContract, DomainSample
from evosyn.contracts.domains import items
from evosyn.domains import domain as domain_named
from evosyn.domains import load_pools
from evosyn.domains.tool_use import task_payload
from evosyn.domains.world_tool import ToolConditions, tool_problem
from evosyn.jobs import Limits
from evosyn.records import Problem, Solution, Testing
from evosyn.trajectories import FINISH, ToolUse, Trajectory
from evosyn.worlds.tools.kind import ToolPlace

__all__ = ["TestShortAnswer"]
NAMES = registry.names("domains")
DOUBLE = Problem("double", "python-function", "Return the text twice, one after the other.", {"entry_point": "f"})
TWICE = Problem("twice", "python-stdin", "Read a line and print it twice, one after the other.")
ONCE = "def f(text):\n    return text\n"
RIGHT = "def f(text):\n    return 2 * text\n"
CASES = [{"input": ["ab "], "output": "ab ab "}, {"input": [""], "output": ""}]
MADE = {"cases": {"python": "def build_cases():\n    return [{'input': ['ab'], 'output': 'abab'}]\n"}}
VERIFIER = "def verify(instance, reference, answer):\n    return answer == instance['word'] * reference\n"
BODY = {"program": VERIFIER, "instance": {"word": "ab"}, "reference": 2}
ENVIRONMENT = Problem("e_1/1/0", "environment", "Write the word ab twice, one after the other.")
ROOT = {"image": "host", "init": [{"code": "mkdir -p /root/d && touch /root/d/a /root/d/.b"}]}
COUNTED = Problem(
    "counted", "os-shell", "How many files are in /root/d, hidden ones too?", {"world": ROOT, "asks": "answer"}
)
EMPTIED = Problem("emptied", "os-shell", "Remove the hidden files of /root/d.", {"world": ROOT, "asks": "state"})
LOOK = {"code": "ls -A /root/d"}
GONE = {"code": "[ -e /root/d/.b ] && echo false || echo true"}
COUNTS = ("ls -A /root/d | wc -l", "ls /root/d | wc -l")
CLEANS = ("rm /root/d/.b", "rm -rf /root/d/.b /root/d/a")
APPLES = Problem("apples", "math-answer", "Ann has 12 bags of 32 apples. How many apples has she?")
BOUGHT = Problem("bought", "tool-use", "Please buy 2 of Thing 1.", task_payload(ToolPlace(shop(), rows(), ("buy",))))
SOLD = {
    **rows(),
    "item": [{**row, **({"stock": 7, "sold": 2} if row["item_id"] == "I1001" else {})} for row in rows()["item"]],
}
SOLD["sale"] = [
    *SOLD["sale"],
    {"sale_id": "S0005", "item_id": "I1001", "count": 2, "note": "", "at": "2026-01-05T10:01:00"},
]


BUYING = tool_problem(shop(), shop().tool["buy"], ToolConditions("NotFound, SoldOut", "a new sale", ("sale", "item")))
OUTCOMES = {
    "states": {"shop": rows()},
    "cases": [
        {"state": "shop", "args": {"item_id": "I1001", "count": 2}, "returns": {"sale_id": "S0005", "price": 5.0},
         "changes": {"item": {"I1001": {"stock": 7, "sold": 2}}, "sale": {"S0005": {"item_id": "I1001", "count": 2, "note": ""}}}},
        {"state": "shop", "args": {"item_id": "I1009", "count": 2}, "refuses": "NotFound"},
        {"state": "shop", "args": {"item_id": "I1001", "count": 10}, "refuses": "SoldOut"},
    ],
}  # fmt: skip


def bought(count):
    return Trajectory((ToolUse("buy", {"item_id": "I1001", "count": count}),), FINISH).text


SAMPLES = {
    "math-answer": (
        DomainSample(APPLES, Testing("answer", {"answer": "384"}), "12 * 32 = 384\n\n\\boxed{384}", "\\boxed{44}"),
        DomainSample(APPLES, Testing("answer", {"answer": "three hundred"}), "3 hundreds", "3"),
    ),
    "tool-use": (DomainSample(BOUGHT, Testing("final-state", {"gold": SOLD}), bought(2), bought(1)),),
    "os-shell": (
        DomainSample(COUNTED, Testing("value", {"expected": "2", "compare": "integer"}), *COUNTS),
        DomainSample(COUNTED, Testing("answer", {"script": {"code": "find /root/d -type f | wc -l"}}), *COUNTS),
        DomainSample(EMPTIED, Testing("observe", {"observe": LOOK, "expect": "a"}), *CLEANS),
        DomainSample(EMPTIED, Testing("observe", {"observe": LOOK, "expect": {"code": "echo a"}}), *CLEANS),
        DomainSample(EMPTIED, Testing("state", {"script": GONE}), CLEANS[0], "ls /root/d"),
        DomainSample(
            EMPTIED,
            Testing(
                "checks",
                {
                    "checks": [
                        {"kind": "state", "body": {"script": GONE}},
                        {"kind": "observe", "body": {"observe": LOOK, "expect": "a"}},
                    ]
                },
            ),
            *CLEANS,
        ),
    ),
    "world-tool": (
        DomainSample(BUYING, Testing("states", OUTCOMES), BUY, BUY.replace("stock - ?", "stock + ?"), "S0005"),
    ),
    "environment": (DomainSample(ENVIRONMENT, Testing("environment", BODY), "abab", "ab"),),
    "python-function": (
        DomainSample(DOUBLE, Testing("cases", {"cases": CASES}), RIGHT, ONCE, "ab ab "),
        DomainSample(DOUBLE, Testing("cases", MADE), RIGHT, ONCE, "abab"),
        DomainSample(DOUBLE, Testing("asserts", {"asserts": ["assert f('ab') == 'abab'"]}), RIGHT, ONCE, "abab"),
        DomainSample(
            DOUBLE, Testing("program", {"code": "def check(f):\n    assert f('ab').count('ab') == 2\n"}), RIGHT, ONCE
        ),
    ),
    "python-stdin": (
        DomainSample(
            TWICE,
            Testing("stdin", {"cases": [{"input": "ab\n", "output": "abab\n"}]}),
            "print(input() * 2)\n",
            "print(input())\n",
            "abab",
        ),
        DomainSample(
            TWICE,
            Testing("stdin", {"cases": [{"input": {"python": "return 'ab' * 3"}, "output": "abababababab"}]}),
            "print(input() * 2)\n",
            "raise SystemExit(1)\n",
            "abababababab",
        ),
    ),
}
noise = st.text(max_size=200) | st.lists(
    st.sampled_from(
        [
            *(
                "```",
                "```json\n",
                "```python\n",
                "\n",
                *"[]{}:,'1",
                '"input"',
                '"output"',
                '"statement"',
                "NaN",
                "None",
            ),
            *("def f(x):\n", "    return 1\n", "assert ", "def build_cases():\n", "\x00", "\ud800"),
        ]
    ),
    max_size=40,
).map("".join)


class TestFound(DomainContract):
    @pytest.fixture(autouse=True, params=NAMES)
    def _named(self, request):
        self.create, self.samples = registry.find("domains", request.param).create, SAMPLES.get(request.param, ())

    def test_every_bundled_problem_fits_and_its_reference_is_read_back(self):
        domain = self.make()
        seeds = [pool.problem for pool in load_pools("builtin:python-seeds") if pool.problem.domain == domain.name]
        for problem in seeds:
            assert domain.check_testing(problem, problem.human_testing) is None, problem.problem_id
            reply = f"First I think.\n\n```python\n{problem.reference_solution}```\nDone."
            parsed = domain.read("solution", reply, problem)
            assert parsed.value.text.strip() == problem.reference_solution.strip(), problem.problem_id

    def test_equal_testings_add_no_work(self):
        domain, (problem, testing, right, *_) = self.make(), self.samples[0]
        plans = [domain.plan(problem, Solution(right), (testing,) * count, Limits()) for count in (1, 3)]
        assert len({tuple(items(job) for job in plan.jobs) for plan in plans}) == 1


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=300, deadline=None)
@given(text=noise)
def test_drawn_texts_never_raise_either(name, text):
    DomainContract.reads_or_refuses(domain_named(name), SAMPLES[name][0].problem, text)
