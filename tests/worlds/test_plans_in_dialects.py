"""Plans are paid by what they do, however the family of their model writes a call; what is not finished is not paid."""

import json

import pytest

from evosyn.domains import domain, shown, tool_tasks
from evosyn.records import Verdict
from evosyn.tasks import Task
from evosyn.text.tool_calls import ToolCall, spoken
from evosyn.train.rollouts import Rollout
from evosyn.train.scoring import Scorer
from evosyn.train.service import RewardService
from evosyn.workbench import Workbench
from evosyn.worlds.tools.files import read_tasks, read_world
from tests.text.tool_forms import WRITERS

FOUND = ("search_member", {"name": "Nils Ekberg"})
CHARGED = {"cents": 3123, "reason": "the cover is torn"}
BAD = '<tool_call>\n{"name": "search_member", "arguments": {"name": }}\n</tool_call>'


def plan(dialect, *, at=0, **changed):
    charged = ("charge_fine", {"member_id": {"from": [at, "0.member_id"]}, **CHARGED, **changed})
    texts = [WRITERS[dialect](*one) for one in (FOUND, charged)]
    return f"{texts[0][:-1]}, {texts[1][1:]}" if dialect == "pythonic" else "\n".join(texts)


@pytest.fixture(scope="module")
def task():
    world, first = read_world("builtin:library"), read_tasks("builtin:library")[0]
    return Task("t", tool_tasks.problem_of(world, first), tool_tasks.testing_of(first))


@pytest.fixture(scope="module")
def scorer():
    with Workbench() as bench:
        yield Scorer(bench.judge)


def paid(scorer, task, *texts):
    return [one.verdict is Verdict.PASS for one in scorer.score([task] * len(texts), texts)]


def test_a_plan_in_any_dialect_is_paid_and_one_that_is_cut_is_not(scorer, task):
    texts = {name: plan(name) for name in WRITERS}
    assert dict(zip(texts, paid(scorer, task, *texts.values()), strict=True)) == dict.fromkeys(texts, True)
    cut = {name: text[: text.index("torn")] for name, text in texts.items()}
    assert not any(paid(scorer, task, *cut.values()))
    thought = [f"<think>{text}" for name, text in texts.items() if name != "qwen3_coder"]  # its call ends thoughts
    assert not any(paid(scorer, task, *thought))


def test_a_bad_call_keeps_its_place_and_those_behind_it_are_paid(scorer, task):
    good = plan("hermes", at=1)
    assert paid(scorer, task, f"{BAD}\n{good}", f"{BAD}\n{plan('hermes')}", BAD, f"{plan('hermes')}\n{BAD}") == [
        True, False, False, True,
    ]  # fmt: skip
    unended = f'{plan("hermes")}\n<tool_call>\n{{"name": "charge_fine", "arguments": {{"cents": 1'
    assert paid(scorer, task, unended) == [False], "what was not finished is not paid"
    assert domain("tool-use").read("solution", unended, task.problem).reason.startswith("cut-in-call")


@pytest.mark.parametrize(
    ("dialect", "cents", "worth"),
    [("hermes", 3123.0, True), ("hermes", "3123", False), ("hermes", 3123.5, False), ("hermes", True, False),
     ("qwen3_coder", "3123", True), ("qwen3_coder", 3123.0, True), ("glm45", "3123", True), ("glm45", "3,123", False),
     ("minimax_m2", "3123", True), ("deepseek_v32", "3123", False), ("pythonic", 3123.0, True)],
)  # fmt: skip
def test_an_argument_is_of_the_type_that_its_tool_says(scorer, task, dialect, cents, worth):
    assert paid(scorer, task, plan(dialect, cents=cents)) == [worth]


def test_a_whole_number_with_a_point_is_an_integer_in_every_way_to_call(task):
    rollout = Rollout(task)
    member = json.loads(rollout.do(ToolCall(*FOUND)))["ok"][0]["member_id"]
    assert '"ok"' in rollout.do(ToolCall("charge_fine", {"member_id": member, **CHARGED, "cents": 3123.0}))
    rollout.do(ToolCall("finish", {}))
    assert rollout.reward() == 1.0


def test_a_plan_has_sixty_calls_at_most_whatever_they_are(task):
    one, finish, own = WRITERS["hermes"](*FOUND), WRITERS["hermes"]("finish", {}), domain("tool-use")
    for calls, fits in (
        ([one] * 60 + [finish], True),
        ([one] * 61, False),
        ([one, *[BAD] * 60], False),
        ([one] * 5000, False),
    ):
        read = own.read("solution", "\n".join(calls), task.problem)
        assert (read.value is not None) is fits and (fits or read.reason.startswith("too-long"))


def test_an_item_of_the_service_names_its_dialect(scorer, task):
    service = RewardService(scorer, {"t": task}, port=0)
    asked = [
        ("hermes", "hermes"),
        ("hermes", "qwen3_coder"),
        ("kimi_k2", "kimi_k2"),
        ("kimi_k2", "auto"),
        ("kimi_k2", "x"),
    ]
    items = [{"id": "t", "completion": f"So.\n{plan(one)}", "dialect": name} for one, name in asked]
    cut = plan("hermes") + '\n<tool_call>\n{"name": "charge_fine", "argu'
    items += [{"id": "t", "completion": cut, "dialect": "hermes"}]
    other = {"entry_point": "f", "testing": {"kind": "cases", "cases": [{"input": [1], "output": 1}]}}
    items += [{"task": other, "completion": "", "dialect": "auto"}]
    told = service.score(json.dumps({"items": items}).encode()).value["scores"]
    service.close()
    assert [one["reward"] for one in told] == [1.0, 0.0, 1.0, 1.0, None, 0.0, None]
    assert (
        "items[4].dialect" in told[4]["error"]
        and "kimi_k2" in told[4]["error"]
        and "items[6].dialect" in told[6]["error"]
    )


def test_a_plan_is_shown_to_a_student_with_all_its_calls(task):
    text = domain("tool-use").read("solution", plan("qwen3_coder"), task.problem).value.text
    (turn,) = shown(task.problem, text)
    assert [one["function"]["name"] for one in turn["tool_calls"]] == ["search_member", "charge_fine"]
    said = "\n".join(
        spoken(ToolCall(one["function"]["name"], one["function"]["arguments"])) for one in turn["tool_calls"]
    )
    assert domain("tool-use").read("solution", said, task.problem).value.text == text
