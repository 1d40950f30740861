"""Single tools of worlds as problems: their testings, what is decided of a tool, and what faults are caught."""

import json
from dataclasses import replace

import pytest
from tool_shop import BUY, rows, shop

from evosyn.crossexec.judge import Cell, Judge
from evosyn.domains import domain, load_pools
from evosyn.domains.world_tool import NAME, STATES, ToolConditions, tool_problem, with_source, world_of
from evosyn.jobs import ItemOutcome, Limits, Status
from evosyn.randomness import SeedTree
from evosyn.records import Solution, Testing, Verdict
from evosyn.sandbox import open_sandbox
from evosyn.synthesis.worlds.planting import HELD_OUT, LOOKED_AT, ExaminedTool, fault_figures, planted
from evosyn.worlds.tools.faults import FAULTS, plantings, silenced
from evosyn.worlds.tools.playing import Player
from evosyn.worlds.tools.probing import alike

POOLS = {pool.problem.problem_id: pool.problem for pool in load_pools("builtin:world-tools")}
OWN = domain(NAME)
WORLD = shop()
CONDITIONS = ToolConditions("NotFound (no such item), SoldOut (too few)", "a new sale", ("sale", "item"))
BOUGHT = tool_problem(WORLD, WORLD.tool["buy"], CONDITIONS, reference=BUY)
SOLD = {"sale": {"S0005": {"item_id": "I1001", "count": 2, "note": ""}}, "item": {"I1001": {"stock": 7, "sold": 2}}}
WORKS = {
    "state": "s",
    "args": {"item_id": "I1001", "count": 2},
    "returns": {"sale_id": "S0005", "price": 5.0},
    "changes": SOLD,
}
CASES = [
    WORKS,
    {"state": "s", "args": {"item_id": "I9", "count": 1}, "refuses": "NotFound"},
    {"state": "s", "set": {"item": {"I1002": {"stock": 0}}}, "args": {"item_id": "I1002", "count": 1}, "refuses": "SoldOut"},
]  # fmt: skip


def outcomes(*cases, state=None):
    return Testing(STATES, {"states": {"s": state or rows()}, "cases": list(cases or CASES)})


def changed(number, **values):
    return outcomes(*[{**one, **values} if at == number else one for at, one in enumerate(CASES)])


@pytest.fixture(scope="module")
def sandbox():
    with open_sandbox(workers=2) as opened:
        yield opened


@pytest.fixture(scope="module")
def judge(sandbox):
    return Judge(sandbox, {NAME: OWN}, Limits(cpu_s=1.0, budget_s=3.0))


def test_every_bundled_tool_has_a_testing_that_it_passes_and_that_canaries_fail(judge):
    assert len(POOLS) == 34
    cells = []
    for problem in POOLS.values():
        assert OWN.check_testing(problem, problem.human_testing) is None
        assert 8 <= len(problem.human_testing.body["cases"]) <= 12
        canaries = OWN.canaries(problem, [problem.human_testing])
        assert len(canaries) == 1 + bool(problem.payload.get("writes"))
        texts = [problem.reference_solution, *(one.text for one in canaries)]
        cells.append([Cell(problem, Solution(text), problem.human_testing) for text in texts])
    results = iter(judge.verify([cell for one in cells for cell in one]))
    for row in cells:
        right, *wrong = [next(results) for _ in row]
        assert right.verdict is Verdict.PASS, (row[0].problem.problem_id, right)
        assert {one.verdict for one in wrong} <= {Verdict.FAIL, Verdict.ERROR}


@pytest.mark.parametrize(
    ("source", "letters"),
    [
        (BUY, "PPP"),
        (BUY.replace('raise NotFound("item")', 'raise SoldOut("item")'), "PFP"),
        (BUY.replace('raise NotFound("item")', 'raise ValueError("item")'), "PEP"),
        (BUY.replace('raise NotFound("item")', "return {}"), "PFP"),
        (
            BUY.replace("stock = stock - ?", "stock = stock - 1 * ?").replace("count, count,", "count + 1, count,"),
            "FPP",
        ),
        (BUY.replace('item["price"] * count}', 'item["price"]}'), "FPP"),
        (BUY.replace("INSERT INTO sale", "INSERT INTO sales"), "EPP"),
        (BUY.replace("    sale_id =", "    while True:\n        pass\n    sale_id ="), "TPP"),
        (BUY.replace('"SELECT stock', 'f"SELECT stock'), "EEE"),
        (BUY.replace("    sale_id =", '    db.run("UPDATE item SET price = 9e999")\n    sale_id ='), "EPP"),
        (BUY.replace('item["price"] * count}', "1e308 * 10}"), "EPP"),
        ("import os\n" + BUY, "EEE"),
        ("def buy(db", "EEE"),
    ],
)
def test_a_tool_is_judged_case_by_case(judge, source, letters):
    (found,) = judge.verify([Cell(BOUGHT, Solution(source), outcomes())])
    assert "".join(found.cases) == letters, found
    assert (found.verdict is Verdict.PASS) == (set(letters) == {"P"})


def test_a_refusal_that_leaves_other_rows_is_judged_wrong_by_whoever_plays_it():
    """From outside: also a process that does not put the rows back."""
    plan = OWN.plan(BOUGHT, Solution(BUY), [outcomes()], Limits())
    for emptied, verdict in ((False, Verdict.PASS), (True, Verdict.FAIL)):
        left = {**rows(), "sale": []} if emptied else rows()
        said = {"outcome": "rejected", "exception": "NotFound", "detail": "", "args": {}}
        item = ItemOutcome(Status.OK, [{"broken": "", "calls": [said], "rows": left}])
        (found,) = plan.judge([(item,) * 3])
        assert found.cases[1] is verdict, found


@pytest.mark.parametrize("number", [10**400, -(10**400)])
def test_a_number_beyond_all_that_a_tool_can_give_is_another_one(judge, number):
    (found,) = judge.verify([Cell(BOUGHT, Solution(BUY), changed(0, returns={"sale_id": "S0005", "price": number}))])
    assert "".join(found.cases) == "FPP", found


@pytest.mark.parametrize("body", ["return chr(55296)", "return {'a': [chr(57343)]}", "raise ValueError(chr(55296))"])
def test_half_a_letter_is_no_result(judge, body):
    head = BUY[: BUY.index(":\n") + 2]
    (found,) = judge.verify([Cell(BOUGHT, Solution(f"{head}    {body}\n"), changed(0))])
    assert found.verdict is Verdict.ERROR and set(found.cases) == {Verdict.ERROR}
    found.detail.encode()


@pytest.mark.parametrize(
    ("testing", "reason"),
    [
        (changed(0, args={"item_id": "I1001"}), "bad-arguments: case 1"),
        (changed(0, args={"item_id": "I1001", "count": "2"}), "bad-arguments: case 1"),
        (changed(0, state="t"), "bad-state: case 1: no state"),
        (changed(0, set={"item": {"I1001": {"stock": 99}}}), "bad-state: case 1: item: CHECK"),
        (changed(0, set={"item": {"I7777": None}}), "bad-state: case 1: item: no row"),
        (changed(0, set={"shop": {}}), "bad-state: case 1: no table"),
        (changed(0, changes={"sale": {"S0005": {"item_id": "I1", "count": 1}}}), "bad-changes: case 1: sale: FOREIGN"),
        (changed(0, changes={"sale": {"S0005": {"item_id": "I1001"}}}), "bad-state: case 1: sale: S0005"),
        (changed(0, changes={}), "blind: "),
        (changed(1, refuses="Gone"), "bad-refusal: case 2"),
        (changed(1, returns=1), "bad-refusal: case 2"),
        (outcomes(*CASES[:2]), "uncovered: no call is refused by SoldOut"),
        (outcomes(*CASES[1:]), "uncovered: no call that works"),
        (Testing(STATES, {"states": {}, "cases": CASES}), "bad-testing: "),
        (Testing(STATES, {"states": {"s": rows()}, "cases": CASES, "more": 1}), "bad-testing: "),
    ],
)
def test_a_testing_that_is_none_of_its_tool_is_broken_for_a_reason(judge, testing, reason):
    assert OWN.check_testing(BOUGHT, testing).startswith(reason)
    (found,) = judge.verify([Cell(BOUGHT, Solution(BUY), testing)])
    assert found.verdict is Verdict.BROKEN and found.detail.startswith(reason[:20])


def test_equal_calls_of_several_testings_are_made_once():
    other = outcomes(*[{**one, "changes": {"item": {"I1001": {"stock": 6}}}} if one is WORKS else one for one in CASES])
    plan = OWN.plan(BOUGHT, Solution(BUY), [outcomes(), other], Limits())
    assert [len(job.calls) for job in plan.jobs] == [3]
    assert "S0005" not in repr(plan.jobs) and "SoldOut" not in repr(plan.jobs[0].calls)


def test_a_key_that_a_tool_makes_may_have_another_name_than_the_testing_says(judge):
    named = {
        **WORKS,
        "returns": {"sale_id": "S0099", "price": 5.0},
        "changes": {**SOLD, "sale": {"S0099": SOLD["sale"]["S0005"]}},
    }
    (found,) = judge.verify([Cell(BOUGHT, Solution(BUY), outcomes(named, *CASES[1:]))])
    assert found.verdict is Verdict.PASS, found


def test_what_a_process_says_that_ran_a_tool_is_never_taken_for_the_testings_fault():
    plan = OWN.plan(BOUGHT, Solution(BUY), [outcomes()], Limits())
    for value in ([{"broken": "x", "calls": [], "rows": None}], [], None, [{"broken": "", "calls": [{}], "rows": None}],
                  [{"broken": "", "calls": [{"outcome": "ok", "value": {}, "wrote": True}], "rows": {"item": [{}]}}]):  # fmt: skip
        (found,) = plan.judge([(ItemOutcome(Status.OK, value),) * 3])
        assert found.verdict in (Verdict.ERROR, Verdict.FAIL), (value, found)


def test_strategies_see_which_tools_do_the_same_in_a_case():
    calls = OWN.calls(BOUGHT, outcomes())
    assert len(calls) == 3 and len({one.arguments for one in calls}) == 3
    assert OWN.calls(BOUGHT, changed(0, state="t")) is None


def test_a_reply_with_a_tool_is_read_by_the_gate_first():
    for use in ("", "Test:\n```python\nfrom tools import buy\nbuy(db)\n```\n"):
        assert OWN.read("solution", f"I do it.\n```python\n{BUY}```\n{use}", BOUGHT).value.text.strip() == BUY.strip()
    assert OWN.read("solution", f"```python\nimport os\n{BUY}```", BOUGHT).reason.startswith("impure: line")
    assert OWN.read("solution", "```python\ndef sell(db):\n    return 1\n```", BOUGHT).reason.startswith("no-function")
    reply = f"```json\n{json.dumps(outcomes().body)}\n```"
    assert OWN.read("testing", reply, BOUGHT).value.body == outcomes().body


def test_the_problem_of_a_tool_tells_no_program_and_no_request():
    text = json.dumps([BOUGHT.statement, BOUGHT.payload])
    assert (
        "raise" not in text.replace("raises", "") and "buy {count}" not in text and "CREATE TABLE" in BOUGHT.statement
    )
    assert with_source(world_of(BOUGHT), BUY).tools[0].source == BUY


def test_every_class_of_faults_has_places_and_each_plants_one_that_is_another_text():
    found = plantings(WORLD, BUY)
    assert set(found) == set(FAULTS) and all(found.values())
    for texts in found.values():
        assert len(set(texts)) == len(texts) and BUY not in texts
    assert (
        "db.run" not in silenced(BUY) and silenced("def f(db):\n    return 1\n") is None and silenced("def (") is None
    )


def test_planted_faults_are_caught_and_untouched_tools_are_not(judge, sandbox):
    problem = POOLS["library-checkout"]
    tool = ExaminedTool(problem, problem.reference_solution, problem.human_testing)
    faults = [one for one in planted([tool], 2, SeedTree(1)) if one.kind != "hang"]
    found = fault_figures(judge, Player(sandbox), [tool], faults)
    assert found["kept"] and not found["missed"]
    assert found["untouched"] == {"count": 2, "refused": [], "share": 0.0}
    body = problem.human_testing.body
    cases = [{**one, "args": {**one["args"], "days": 14}} for one in body["cases"][4:8]]
    bare = replace(problem.human_testing, body={**body, "cases": [body["cases"][1], body["cases"][10], *cases]})
    bounds = [one for one in planted([tool._replace(testing=bare)], 99, SeedTree(1)) if one.kind == "wrong-comparison"]
    seen = fault_figures(judge, Player(sandbox), [tool._replace(testing=bare)], bounds)
    assert [one["class"] for one in seen["missed"]] == ["wrong-comparison"], "nobody asks for the fewest days"


def test_the_halves_of_faults_share_none_and_depend_on_the_text_alone():
    tools = [ExaminedTool(one, one.reference_solution, one.human_testing) for one in list(POOLS.values())[::6]]
    first, second = planted(tools, 5, SeedTree(1)), planted(tools[::-1], 500, SeedTree(2))
    half = {one.source: one.half for one in second}
    assert all(half[one.source] == one.half for one in first)
    assert {one.half for one in first} == {HELD_OUT, LOOKED_AT}


def test_a_fault_that_changes_nothing_is_told_from_one_that_does(sandbox):
    right = with_source(world_of(BOUGHT), BUY)
    same = with_source(
        world_of(BOUGHT),
        BUY.replace("item = db", "found = db").replace("item[", "found[").replace("if item", "if found"),
    )
    wrong = with_source(world_of(BOUGHT), BUY.replace("< count", "<= count"))
    assert alike(Player(sandbox), right, [same, wrong], SeedTree(3)) == [True, False]
