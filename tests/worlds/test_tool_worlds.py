"""Tool worlds: states, calls, the sessions of agents, and worlds on disk."""

import json
import random
import shutil
import sqlite3
from dataclasses import replace

import pytest
from tool_shop import BUY, rows, shop

from evosyn.errors import UsageError
from evosyn.jobs import ItemOutcome, Limits, Status
from evosyn.randomness import SeedTree
from evosyn.sandbox import open_sandbox
from evosyn.worlds.tools.chains import ChainMaker
from evosyn.worlds.tools.checking import check_world
from evosyn.worlds.tools.ddl import schema, statements
from evosyn.worlds.tools.files import bundled, changed_files, read_graph, read_tasks, read_world, seal
from evosyn.worlds.tools.gate import fault
from evosyn.worlds.tools.graph import ToolGraph
from evosyn.worlds.tools.kind import INVALID, OK, REJECTED, ToolPlace, ToolWorlds, action_of
from evosyn.worlds.tools.playing import Play, Player, minutes
from evosyn.worlds.tools.records import ToolWorld, WorldTable, state_id
from evosyn.worlds.tools.states import _kept, draw_state
from evosyn.worlds.tools.users import DONE, ScriptedUser

CALL = ("buy", {"item_id": "I1000", "count": 2})


@pytest.fixture(scope="module")
def sandbox():
    with open_sandbox(workers=2) as opened:
        yield opened


@pytest.fixture(scope="module")
def player(sandbox):
    return Player(sandbox)


def changed(table, **values):
    state = rows()
    state[table][0].update(values)
    return state


@pytest.mark.parametrize(
    ("state", "breaks"),
    [
        (rows(), False),
        (changed("item", stock=-1), True),
        (changed("item", stock=51), True),
        (changed("item", kind="food"), True),
        (changed("item", kind="tool"), False),
        (changed("item", name=None), True),
        (changed("item", name="Thing 1"), True),
        (changed("item", sold=110), True),
        (changed("item", sold=109), False),
        (changed("item", price="dear"), True),
        (changed("item", price=float("inf")), True),
        (changed("item", colour="red"), True),
        (changed("sale", note=None), False),
        (changed("sale", item_id="I9999"), True),
        (changed("sale", at="yesterday"), True),
    ],
)
def test_a_state_is_one_where_it_keeps_to_the_schema(player, state, breaks):
    found = player.one(shop(), Play(state, ()))
    assert found.lost.startswith("state: ") is breaks, found.lost


def test_the_same_calls_leave_the_same_state_and_say_the_same(player):
    calls = minutes(
        [CALL, ("find_item", {"name": "Thing 1"}), ("buy", {"item_id": {"from": [1, "0.item_id"]}, "count": 1})]
    )
    first, then = player.play(shop(), [Play(rows(), calls), Play(rows(), calls)])
    assert first == then and first.smooth
    assert [row["sale_id"] for row in first.rows["sale"]] == ["S0004", "S0005", "S0006"]
    assert first.rows["sale"][1]["at"] == "2026-01-05T10:01:00" and first.rows["item"][1]["stock"] == 8
    assert first.calls[0].value == {"sale_id": "S0005", "price": 5.0}
    assert "item.stock" in first.calls[0].writes and "item.price" in first.calls[0].reads


@pytest.mark.parametrize(
    ("source", "outcome"),
    [
        (BUY.replace('return {"sale_id"', 'raise SoldOut("late")\n    return {"sale_id"'), "rejected"),
        (BUY.replace('return {"sale_id"', 'raise ValueError("late")\n    return {"sale_id"'), "failed"),
        (BUY.replace("sold = sold + ?", "sold = sold + 1000 * ?"), "failed"),
        (BUY.replace('"price": item["price"] * count', '"price": 1e999'), "failed"),
        (BUY.replace('"price": item["price"] * count', '"price": "x" * 200000'), "failed"),
    ],
)
def test_a_call_that_does_not_work_leaves_nothing(player, source, outcome):
    found = player.one(shop(source), Play(rows(), minutes([CALL, ("find_item", {"name": "Thing 0"})])))
    assert found.calls[0].outcome == outcome and found.rows == rows() and found.calls[1].outcome == "ok"


def test_a_session_that_plays_anew_is_one_long_run(sandbox, player):
    world = shop()
    session = ToolWorlds(sandbox).open(ToolPlace(world, rows(), ("buy", "find_item")))
    calls = [CALL, ("buy", {"item_id": "I1001", "count": 99}), ("find_item", {"name": "Thing 2"}), CALL]
    seen = [session.act(action_of(*call)) for call in calls]
    whole = player.one(world, Play(rows(), minutes(calls)))
    told = [json.loads(one.out) for one in seen]
    assert [one.exit for one in seen] == [OK, REJECTED, OK, OK]
    assert told == [
        {"ok": whole.calls[0].value},
        {"error": "SoldOut: stock"},
        {"ok": whole.calls[2].value},
        {"ok": whole.calls[3].value},
    ]
    assert session.freeze() == state_id(whole.rows) != state_id(rows())


@pytest.mark.parametrize(
    "action",
    [
        "no json",
        action_of("sell", {}),
        action_of("buy", {"item_id": "I1000"}),
        action_of("buy", {"item_id": "I1000", "count": "2"}),
        action_of("buy", {"item_id": "I1000", "count": True}),
        action_of("buy", {"item_id": "I1000", "count": 1, "colour": "red"}),
        action_of("buy", {"item_id": {"from": [0, ""]}, "count": 1}),
        action_of("ask_user", {"message": "hello"}),
    ],
)
def test_a_call_that_is_none_is_told_so_and_runs_nothing(action):
    session = ToolWorlds(None).open(ToolPlace(shop(), rows(), ("buy",)))
    seen = session.act(action)
    assert seen.exit == INVALID and "error" in json.loads(seen.out)


def test_a_tool_that_is_ended_leaves_the_state_of_before_and_the_next_call_works(sandbox):
    world = shop(BUY.replace("if count < 1", "while count == 5:\n        pass\n    if count < 1"))
    session = ToolWorlds(sandbox, Limits(cpu_s=1.0)).open(ToolPlace(world, rows(), ("buy",)))
    session.act(action_of(*CALL))
    assert session.act(action_of("buy", {"item_id": "I1000", "count": 5})).out == '{"error":"tool failed"}'
    assert session.act(action_of(*CALL)).exit == OK


class Failing:
    """A sandbox that is lost."""

    def run(self, jobs, **_):
        return [(ItemOutcome(Status.INFRASTRUCTURE, detail="gone"),) for _ in jobs]


def test_our_own_failure_loses_the_session_and_is_no_outcome():
    session = ToolWorlds(Failing()).open(ToolPlace(shop(), rows(), ("buy",)))
    assert session.act(action_of(*CALL)).ended == "lost"


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"clock": "noon"}, "clock"),
        ({"clock": "2026-13-45T99:99:99"}, "clock"),
        ({"clock": "9999-12-31T23:59:59"}, "clock"),
        ({"clock": "\u0662\u0660\u0662\u0666-01-05T10:00:00"}, "clock"),
        ({"colour": "red"}, "colour"),
        ({"tables": []}, "tables"),
    ],
)
def test_a_world_that_is_none_names_the_field(tmp_path, change, field):
    folder = tmp_path / "world"
    shutil.copytree(bundled()["library"], folder)
    given = json.loads((folder / "world.json").read_text())
    (folder / "world.json").write_text(json.dumps({**given, **change}))
    with pytest.raises(UsageError, match=field):
        read_world(str(folder))


@pytest.mark.parametrize(
    "text", ["[" * 100_000, '{"tools": []}', '{"tools": [{"name": "a\\u0000b"}]}', '{"tools": [{"name": "\\ud800"}]}']
)
@pytest.mark.parametrize("tools", [True, False])
def test_a_damaged_world_is_an_error_with_its_file(tmp_path, text, tools):
    (tmp_path / "world.json").write_text(text)
    if tools:
        (tmp_path / "tools").mkdir()
    with pytest.raises(UsageError, match=r"world\.json|policy\.md"):
        read_world(str(tmp_path))


def test_circles_and_references_to_nothing_are_refused():
    given = shop().model_dump(mode="json")
    given["tables"][1]["columns"].append({"name": "best", "references": "sale"})
    with pytest.raises(ValueError, match="circle"):
        ToolWorld.model_validate(given)
    given["tables"][1]["columns"][-1]["references"] = "shelf"
    with pytest.raises(ValueError, match="'shelf', which is no table"):
        ToolWorld.model_validate(given)


def spoilt(change):
    given = shop().model_dump(mode="json")
    change({one["name"]: one for one in given["tables"]}, {one["name"]: one for one in given["tools"]})
    return given


def checked(*checks):
    return lambda tables, _: tables["item"].update(checks=list(checks))


def asked(text):
    return lambda _, tools: tools["buy"].update(request=text)


DEEP = ["not", "stock"]
for _ in range(900):
    DEEP = ["not", DEEP]


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (checked(["<=", "stock"]), "'<=' takes 2 parts, not 1"),
        (checked(["not", "stock", "sold"]), "'not' takes 1 parts, not 2"),
        (checked(["<", "name", 5]), "'<' takes two numbers or two texts"),
        (checked(["=", ["+", "name", 1], 2]), r"'\+' takes numbers"),
        (checked("stock"), "alone is no condition"),
        (checked([["<"], 1, 2]), "is none of: a column, an integer"),
        (checked(["<", "stock", 10**400]), "is none of: a column, an integer"),
        (checked(DEEP), "more than 20 operators"),
        (lambda tables, _: tables["item"]["columns"][3].update(minimum=60), "minimum 60 is above maximum 50"),
        (lambda tables, _: tables["item"]["columns"][3].update(maximum=10**400), "9007199254740992"),
        (lambda tables, _: tables["item"]["columns"][1].update(draw="books"), "draw 'books' is none of person, book"),
        (lambda tables, _: tables["item"]["columns"][5].update(values=["toy", 1]), "the value 1 is not of type text"),
        (
            lambda tables, _: tables["item"]["columns"].append({"name": "big", "type": "integer", "values": [10**5000]}),
            "a value of big is beyond 9007199254740992",
        ),
        (lambda tables, _: tables["item"]["columns"].append({"name": "name"}), "the column 'name' stands twice"),
        (lambda tables, _: tables["sale"].update(name="sqlite_sale"), "SQLite keeps such names for itself"),
        (lambda tables, _: tables["item"].update(called="{colour}"), "{colour} is none of {item_id}"),
        (lambda tables, _: tables["item"].update(called="{name:>9999999999}"), "{name:>9999999999} is none of"),
        (lambda tables, _: tables["item"].update(called="{name"), "expected '}'"),
        (lambda tables, _: tables["item"].update(called="{name}" * 200) or tables["sale"].update(called="{item_id}" * 9),
         "more than 2000 characters"),
        (lambda tables, _: tables["item"]["columns"].append({"name": "part", "references": "item"})
         or tables["item"].update(called="{part}"), "called by another of the same table"),
        (asked("buy {count} of {item_id} with {note} for {name}"), "{name} is none of {item_id}, {count}, {note}"),
        (asked("buy {count:>9999999999} of {item_id} with {note}"), "{count:>9999999999} is none of"),
        (asked("buy {count.real} of {item_id} with {note}"), "{count.real} is none of"),
        (asked("buy {count!r} of {item_id} with {note}"), "{count!r} is none of"),
        (asked("buy {} of {item_id}"), "{} is none of"),
        (asked("buy some of {item_id} with {note}"), "does not say {count}"),
        (lambda _, tools: tools["buy"]["parameters"][1].update(maximum=0), "minimum 1 is above maximum 0"),
        (lambda _, tools: tools["buy"]["parameters"][2].update(draw="notes"), "draw 'notes'"),
        (lambda _, tools: tools["buy"]["parameters"][1].update(name="note"), "the parameter 'note' stands twice"),
        (lambda _, tools: tools["buy"].update(name="finish"), "the tool 'finish'"),
        (lambda _, tools: tools["buy"].update(name="ask_user"), "the tool 'ask_user'"),
    ],
)  # fmt: skip
def test_a_world_that_could_not_be_drawn_or_acted_in_is_refused(change, reason):
    with pytest.raises(ValueError, match=reason):
        ToolWorld.model_validate(spoilt(change))


@pytest.mark.parametrize(
    ("check", "row"),
    [
        (["<=", "out", "copies"], {"out": None, "copies": 1}),
        (["and", ["<", "out", 1], ["<", "copies", 1]], {"out": None, "copies": 0}),
        (["and", ["<", "out", 1], ["<", "copies", 1]], {"out": None, "copies": 2}),
        (["or", ["<", "out", 1], ["<", "copies", 1]], {"out": None, "copies": 2}),
        (["not", ["or", ["<", "out", 1], ["<", "copies", 1]]], {"out": None, "copies": 0}),
        (["=", ["and", 5, 3], 1], {"out": 0, "copies": 0}),
        (["=", ["-", "out"], ["*", "copies", -1]], {"out": 3, "copies": 3}),
        (["<", ["*", ["*", 2**53, 2**53], "out"], "copies"], {"out": 3, "copies": 3}),
    ],
)
def test_a_drawn_row_keeps_to_a_check_where_sqlite_says_so(check, row):
    columns = [{"name": "k"}, *({"name": name, "type": "integer", "nullable": True} for name in row)]
    table = WorldTable.model_validate(
        {"name": "t", "prefix": "T", "called": "x", "columns": columns, "checks": [check]}
    )
    base = sqlite3.connect(":memory:")
    (statement,) = statements(shop().model_copy(update={"tables": (table,)}))
    base.execute(statement)
    try:
        base.execute("INSERT INTO t VALUES ('T1', ?, ?)", tuple(row.values()))
    except sqlite3.IntegrityError:
        kept = False
    else:
        kept = True
    assert _kept(check, row) is kept


def test_a_nullable_column_in_a_check_and_a_bound_below_zero_are_drawn():
    given = spoilt(checked(["<=", "sold", "stock"], ["<", "rate", 0]))
    given["tables"][1]["columns"][3].update(nullable=True)
    given["tables"][1]["columns"].append({"name": "rate", "type": "number", "maximum": -3})
    rows = draw_state(ToolWorld.model_validate(given), {"item": 40, "sale": 3}, random.Random(1))
    assert {one["stock"] is None for one in rows["item"]} == {True, False}
    assert all(-12 <= one["rate"] <= -3 for one in rows["item"])


def test_in_a_state_that_breaks_the_schema_there_is_no_chain_and_nothing_ends(player):
    maker = ChainMaker(shop(), ToolGraph((), ("buy",)), player, rows(stock=99), {}, random.Random(0))
    assert maker.make(1) == "chain-infeasible"


@pytest.mark.parametrize("name", bundled())
def test_every_bundled_world_is_one(name):
    world = read_world(f"builtin:{name}")
    assert not [reason for one in world.tools if (reason := fault(one))]
    assert schema(world) == (bundled()[name] / "schema.sql").read_text()
    assert len(read_tasks(f"builtin:{name}")) >= 6 and len(world.tools) >= 11


@pytest.mark.parametrize(
    "file", ["tools/renew_loan.py", "tasks.jsonl", "policy.md", "schema.sql", "graph.json", "digests.json"]
)
def test_one_changed_byte_is_found_and_the_file_is_named(tmp_path, file):
    folder = tmp_path / "world"
    shutil.copytree(bundled()["library"], folder)
    assert not changed_files(folder)
    raw = bytearray((folder / file).read_bytes())
    place = raw.rindex(b"\n") if file == "digests.json" else len(raw) // 2
    raw[place] = ord("a") if raw[place] != ord("a") else ord("b")
    (folder / file).write_bytes(bytes(raw[:-1] + b" ") if file == "digests.json" else bytes(raw))
    assert list(changed_files(folder)) == [file]


def test_a_task_of_another_gold_state_is_no_task_even_where_the_digests_were_made_anew(tmp_path, player):
    folder = tmp_path / "world"
    shutil.copytree(bundled()["library"], folder)
    first, *rest = read_tasks(str(folder))
    gold = {**first.gold, "member": [{**row, "status": "suspended"} for row in first.gold["member"]]}
    (folder / "tasks.jsonl").write_text(json.dumps(replace(first, gold=gold).to_json()) + "\n")
    seal(folder)
    faults = check_world(str(folder), player).faults
    assert rest and [one.file for one in faults] == ["tasks.jsonl:1"] and "gold state" in faults[0].reason


def test_each_line_that_is_no_task_of_its_world_is_named_and_the_others_are_checked(tmp_path, player):
    folder = tmp_path / "world"
    shutil.copytree(bundled()["library"], folder)
    first, second, *_, right = (folder / "tasks.jsonl").read_text().splitlines()
    task = json.loads(first)
    tool = task["chain"][0][0]
    damaged = {
        "chain.0": first.replace(f'["{tool}"', '["zool"', 1),
        "reference.0": json.dumps({**task, "reference": [["zool", {}], *task["reference"][1:]]}),
        "shown.1": json.dumps({**task, "shown": [task["shown"][0], "zool"]}),
        "state": json.dumps({**task, "state": {**task["state"], "zember": []}}),
        "gold": json.dumps({**task, "gold": {name: one for name, one in task["gold"].items() if name != "member"}}),
        "gold.member.0": json.dumps({**task, "gold": {**task["gold"], "member": [{"member_id": "M1"}]}}),
        "id": '"availably"'.join(second.rsplit('"available"', 1)),
        "is not JSON": first[:-1],
    }
    (folder / "tasks.jsonl").write_text("\n".join([*damaged.values(), right]) + "\n")
    seal(folder)
    found = check_world(str(folder), player)
    assert [one.file for one in found.faults] == [f"tasks.jsonl:{number}" for number in range(1, len(damaged) + 1)]
    for field, fault_ in zip(damaged, found.faults, strict=True):
        assert field in fault_.reason
    assert found.tasks == 1 and found.misses >= 10
    with pytest.raises(UsageError, match=r"tasks.jsonl:1: field 'chain.0': is no tool of the world"):
        read_tasks(str(folder))


def test_a_graph_that_its_states_do_not_show_is_named(tmp_path, player):
    folder = tmp_path / "world"
    shutil.copytree(bundled()["library"], folder)
    (folder / "tasks.jsonl").write_text((folder / "tasks.jsonl").read_text().splitlines()[0] + "\n")
    given = json.loads((folder / "graph.json").read_text())
    assert read_graph(str(folder)).seeds == SeedTree(0).child("world", read_world(str(folder)).id)
    for change, reason in [
        ({"edges": given["edges"][1:]}, "is not what the states show (1 edges differ)"),
        ({"wrote": given["wrote"][1:]}, "`wrote` names other tools"),
        ({"seeds": None}, "does not say what its states were drawn from"),
        ({"seeds": {"root": "0", "path": []}}, "is no graph"),
    ]:
        (folder / "graph.json").write_text(json.dumps({**given, **change}))
        seal(folder)
        faults = check_world(str(folder), player).faults
        assert [one.file for one in faults] == ["graph.json"] and reason in faults[0].reason


def test_a_scripted_user_tells_what_is_asked_then_the_rest():
    user = ScriptedUser(
        ("Please renew the loan of Ada.", "Then charge Ben a fine of 20 cents.", "Then cancel the hold of Cleo.")
    )
    assert user.answer("Which hold should I cancel?") == "Then cancel the hold of Cleo."
    assert user.answer("Anything else?") == "Then charge Ben a fine of 20 cents."
    assert user.answer("Anything else?") == DONE


ASKED = (
    "Please place a hold on The Silent Garden for Ada Adler.",
    "Then charge Ben Bauer a fine of 20 cents for The Silent Garden.",
)


@pytest.mark.parametrize(
    ("heard", "said"),
    [
        (["The hold on The Silent Garden for Ada Adler is placed. Anything else?"] * 2, [ASKED[1], DONE]),
        (["I have placed the hold on The Silent Garden for Ada Adler, can I help with anything else?"] * 3,
         [ASKED[1], DONE, DONE]),
        (["Done: the hold on The Silent Garden for Ada Adler."] * 2, [ASKED[1], DONE]),
        (["Anything else?", "Which hold should be on The Silent Garden?"], [ASKED[1], ASKED[0]]),
        (["Anything else?", "How many cents is the fine of Ben Bauer?"], [ASKED[1], ASKED[1]]),
        (["What?", "What?"], [ASKED[1], DONE]),
    ],
)  # fmt: skip
def test_a_scripted_user_never_repeats_what_was_done_unless_somebody_asks_about_it(heard, said):
    user = ScriptedUser(ASKED)
    assert [user.answer(one) for one in heard] == said
