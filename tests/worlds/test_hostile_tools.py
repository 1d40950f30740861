"""Twenty hostile tools, one property each: refused by the gate, or held by the sandbox and the database's guards; in
either case nothing of it stays, and the next honest call works."""

from dataclasses import dataclass

import pytest
from tool_shop import BUY, rows, shop

from evosyn.jobs import Limits
from evosyn.sandbox import open_sandbox
from evosyn.worlds.tools.diff import unchanged
from evosyn.worlds.tools.gate import fault
from evosyn.worlds.tools.playing import Play, Player, ToolCalled, minutes

HONEST = ("buy", {"item_id": "I1000", "count": 2})


@dataclass(frozen=True)
class Hostile:
    """A tool, whether the gate must refuse it, and what comes of it where it is run all the same (None: it may work,
    since what it does harms nobody)."""

    name: str
    body: str
    refused: bool
    outcome: str | None = "failed"


CASES = [
    Hostile(
        "endless_recursion_in_sql",
        'db.all("WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT count(*) AS c FROM n")',
        False,
    ),
    Hostile("endless_loop", "while True:\n        pass", False, "lost"),
    Hostile("memory_bomb", "found = [0]\n    while True:\n        found = found + found", False, "lost"),
    Hostile("zeroblob_bomb", 'db.one("SELECT length(zeroblob(900000000)) AS c")', False),
    Hostile("attach_a_file", "db.run(\"ATTACH '/tmp/evosyn-hostile.db' AS other\")", True),
    Hostile("writable_schema", 'db.run("PRAGMA writable_schema = ON")', True),
    Hostile("drop_table", 'db.run("DROP TABLE sale")', True),
    Hostile("trigger", 'db.run("CREATE TRIGGER t AFTER INSERT ON sale BEGIN DELETE FROM sale; END")', True),
    Hostile("vacuum_into", "db.run(\"VACUUM INTO '/tmp/evosyn-hostile.db'\")", True),
    Hostile("load_extension", "db.one(\"SELECT load_extension('x') AS c\")", False),
    Hostile("import_os", "import os\n    os.abort()", True),
    Hostile(
        "frames_of_an_error",
        "try:\n        raise NotFound(1)\n    except NotFound as error:\n        return error.__traceback__.tb_frame.f_globals",
        True,
    ),
    Hostile("rebinding_the_database", "db.one = None", True),
    Hostile("module_state", "global count\n    count = 1", True, None),
    Hostile("commit", 'db.run("COMMIT")', True),
    Hostile("sql_from_an_argument", 'name = "DROP TABLE sale"\n    db.run(name)', True),
    Hostile("writes_before_a_refusal", 'db.run("DELETE FROM sale")\n    raise NotFound("late")', False, "rejected"),
    Hostile("reads_the_schema_to_guess", 'return db.all("SELECT * FROM sqlite_master")', False),
    Hostile("ten_megabytes", 'return "x" * 10000000', False),
    Hostile("forged_refusal", 'raise type("NotFound", (Exception,), {})("x")', True),
]


@pytest.fixture(scope="module")
def sandbox():
    with open_sandbox(workers=2) as opened:
        yield opened


def world_of(case):
    return shop(BUY, **{case.name: f"def {case.name}(db) -> dict:\n    {case.body}\n    return {{}}\n"})


def test_there_are_twenty():
    assert len({case.name for case in CASES}) == 20


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_the_gate_refuses_what_it_can_see_and_names_the_line(case):
    reason = fault(world_of(case).tool[case.name])
    assert bool(reason) is case.refused, reason
    assert not reason or ": line " in reason


def test_a_tool_that_is_nested_too_deeply_is_none():
    deep = f"def buy(db) -> dict:\n    return {{'a': {'+'.join('1' * 600)}}}\n"
    assert fault(shop(deep).tool["buy"]) == "does-not-parse: nested too deeply"


def test_what_runs_all_the_same_leaves_nothing_and_the_next_call_works(sandbox):
    """Past the gate, as if it had a hole."""
    plays = [Play(rows(), minutes([(case.name, {}), HONEST])) for case in CASES]
    for case, play in zip(CASES, plays, strict=True):
        lost = case.outcome == "lost"
        player = Player(sandbox, Limits(cpu_s=1.0, memory_mb=256)) if lost else Player(sandbox)
        alone = player.one(world_of(case), play)
        if lost:  # the limit ends it, or is told to it first
            assert alone.lost or alone.calls[0].outcome == "failed", case.name
            continue
        assert not alone.lost, (case.name, alone.lost)
        assert case.outcome is None or alone.calls[0].outcome == case.outcome, (case.name, alone.calls[0])
        honest = player.one(shop(), Play(rows(), (play.calls[1],)))
        assert alone.calls[1].outcome == "ok" and alone.rows == honest.rows, case.name


BEFORE_A_REFUSAL = {
    "or_rollback": 'db.run("DELETE FROM sale")\n    try:\n        db.run("INSERT OR ROLLBACK INTO item SELECT * FROM item")\n'
    "    except Exception:\n        pass\n    db.run(\"UPDATE item SET stock = 0\")\n    raise NotFound('x')",
    "or_rollback_uncaught": 'db.run("DELETE FROM sale")\n    db.run("INSERT OR ROLLBACK INTO item SELECT * FROM item")',
    "or_fail": 'db.run("DELETE FROM sale")\n    try:\n        db.run("INSERT OR FAIL INTO item SELECT * FROM item")\n'
    "    except Exception:\n        raise NotFound('x')",
    "or_replace": 'db.run("INSERT OR REPLACE INTO item SELECT * FROM item")\n    raise NotFound("x")',
    "a_step_limit": 'db.run("DELETE FROM sale")\n    try:\n        db.run("UPDATE item SET stock = (WITH RECURSIVE n(x) AS (SELECT 1 '
    "UNION ALL SELECT x + 1 FROM n) SELECT count(*) FROM n)\")\n    except Exception:\n        pass\n    raise NotFound('x')",
    "keys_that_it_made": 'db.new_id("sale")\n    db.run("DELETE FROM sale")\n    raise NotFound("x")',
}


@pytest.mark.parametrize("name", BEFORE_A_REFUSAL)
def test_whatever_sql_ran_a_call_that_does_not_work_leaves_the_state_as_it_was(sandbox, name):
    world = shop(BUY, writer=f"def writer(db) -> dict:\n    {BEFORE_A_REFUSAL[name]}\n    return {{}}\n")
    refused, honest = ("writer", {}), Player(sandbox).one(shop(), Play(rows(), minutes([HONEST, HONEST])))
    found = Player(sandbox).one(world, Play(rows(), minutes([refused])))
    assert found.calls[0].outcome != "ok" and not found.calls[0].wrote
    assert unchanged(world, rows(), found.rows), found.rows
    (first, second) = minutes([HONEST, HONEST])
    mixed = Play(rows(), (first, ToolCalled("writer", {}, 1), second, ToolCalled("writer", {}, 2)))
    assert Player(sandbox).one(world, mixed).rows == honest.rows


TEXT = "name = 'UPDATE item SET stock = 0'"
"""A text that came from anywhere but the program's own lines."""
LENT = {
    "another_name": "d = db; d.run(name)",
    "a_function_by_another_name": "f = db.run; f(name)",
    "by_map": "list(map(db.all, [name]))",
    "by_a_loop": "for d in [db]: d.run(name)",
    "by_a_walrus": "(d := db).run(name)",
    "by_a_walrus_of_a_function": "(f := db.run)(name)",
    "by_unpacking": "(d, *rest) = (db, 1); d.run(name)",
    "by_a_default": "def inner(d=db):\n        d.run(name)\n    inner()",
    "by_a_default_of_a_function": "def inner(f=db.run):\n        f(name)\n    inner()",
    "by_a_parameter": "def inner(d):\n        d.run(name)\n    inner(db)",
    "by_a_parameter_of_its_name": "def inner(db):\n        db.run('DELETE FROM sale')\n    inner(1)",
    "by_a_lambda": "(lambda d=db: d.run(name))()",
    "by_getattr": "getattr(db, 'run')(name)",
    "by_vars": "vars(db)['run'](name)",
    "by_a_place": "db[4](name)",
    "by_slicing_it": "db[4:][0](name)",
    "by_itemgetter": "import operator\n    operator.itemgetter(4)(db)(name)",
    "by_partial": "import functools\n    functools.partial(db.run, name)()",
    "by_a_star": "db.run(*[name])",
    "by_two_stars": "db.run(**{'sql': name})",
    "by_a_keyword": "db.run(sql=name)",
    "by_a_list": "[one(name) for one in [db.run]]",
    "in_a_comprehension": "[d.run(name) for d in (db,)]",
    "as_what_a_comprehension_binds": "[db.run('DELETE FROM sale') for db in [1]]",
    "in_a_dictionary": "{'run': db.run}['run'](name)",
    "by_zip": "for f, q in zip(db, [name]): f(q)",
    "by_a_condition": "(db.run if name else db.all)(name)",
    "by_or": "(None or db).run(name)",
    "by_a_match": "match db:\n        case d:\n            d.run(name)",
    "by_a_match_with_as": "match [db]:\n        case [_ as d]:\n            d.run(name)",
    "as_what_a_match_binds": "match 1:\n        case db:\n            pass",
    "as_the_rest_of_a_match": "match {}:\n        case {**db}:\n            pass",
    "as_the_star_of_a_match": "match []:\n        case [*db]:\n            pass",
    "as_an_error": "try:\n        pass\n    except NotFound as db:\n        pass",
    "as_an_import": "import math as db",
    "as_a_function": "def db():\n        pass",
    "as_a_global": "global db",
    "as_a_loop": "for db in [1]: pass",
    "as_an_augmented_value": "db += ()",
    "by_deleting_it": "del db",
    "by_with": "with db as d: d.run(name)",
    "by_a_decorator": "@db.run\n    def inner():\n        pass",
    "by_an_annotation": "x: db = 1",
    "by_raising_it": "raise NotFound(db)",
    "by_returning_it": "return db",
    "by_yielding_it": "def inner():\n        yield db\n    for d in inner(): d.run(name)",
    "by_a_text": "f'{db}'",
    "by_comparing_it": "db == 1",
    "of_another_thing": "name.run(name)",
    "by_an_f_string": "db.run(f'UPDATE item SET stock = {name}')",
    "by_joining": "db.run('UPDATE item SET name = ' + name)",
    "by_formatting": "db.run('UPDATE item SET name = %s' % name)",
    "by_format": "db.run('UPDATE item SET name = {}'.format(name))",
    "by_join": "db.run(' '.join(['DELETE', 'FROM', 'sale']))",
    "by_a_choice": "db.run('DELETE FROM sale' if name else name)",
    "a_write_that_begins_with_with": "db.one('WITH a AS (SELECT 1) DELETE FROM sale')",
    "a_write_behind_a_comment": "db.all('WITH a AS (SELECT \\')\\') /* select */ UPDATE item SET stock = 0')",
    "a_write_behind_a_name_that_ends_like_a_reading": "db.one('WITH a$select AS (SELECT 1) DELETE FROM sale')",
    "a_write_behind_another": "db.one('WITH a\u2022select AS (SELECT 1) DELETE FROM sale')",
    "replace_behind_with": "db.all('WITH a AS (SELECT 1) REPLACE INTO sale VALUES (1, 2, 3, 4, 5)')",
}
SOUND = [
    "db.one('WITH a AS (SELECT 1 AS c) SELECT replace(c, 1, 2) AS c FROM a')",
    "db.one('SELECT 1 AS \"update\"')",
    "[db.one('SELECT 1 AS c WHERE ? = 1', one) for one in [1, 2]]",
    "def inner(key):\n        return db.one('SELECT stock FROM item WHERE item_id = ?', key)\n    inner('I1000')",
    "db.all('SELECT item_id FROM item WHERE item_id IN (?, ?)', *['I1000', 'I1001'])",
]


def lent(body):
    return shop(BUY, lent=f"def lent(db):\n    {TEXT}\n    {body}\n    return 1\n")


@pytest.mark.parametrize("name", LENT)
def test_the_database_has_no_other_name_and_no_text_but_a_literal_becomes_sql(name):
    reason = fault(lent(LENT[name]).tool["lent"])
    assert reason.split(":")[0] in ("impure", "sql", "does-not-parse") and ": line " in reason, reason


@pytest.mark.parametrize("body", SOUND)
def test_what_asks_the_database_by_literals_is_a_tool(sandbox, body):
    assert not fault(lent(body).tool["lent"])
    assert Player(sandbox).one(lent(body), Play(rows(), minutes([("lent", {})]))).smooth


def test_a_text_of_any_depth_and_length_is_read_at_once():
    for piece in ("(", "/*", "'", "[", "--", "with "):
        assert fault(lent(f"db.one({'WITH a ' + piece * 4000!r})").tool["lent"])


@pytest.mark.parametrize(
    "sql",
    [
        "WITH a AS (SELECT 1) DELETE FROM sale",
        "WITH a AS (SELECT 1) UPDATE item SET stock = 0",
        "INSERT INTO item VALUES ('I9', 'n', 1.0, 1, 1, 'toy') RETURNING item_id",
        "REPLACE INTO item VALUES ('I9', 'n', 1.0, 1, 1, 'toy')",
        "DELETE FROM sale RETURNING sale_id",
        "DELETE FROM sale",
        "PRAGMA foreign_keys = OFF",
        "ATTACH ':memory:' AS other",
        "COMMIT",
    ],
)
@pytest.mark.parametrize("query", ["one", "all"])
def test_what_reads_cannot_write_whatever_its_text(sandbox, sql, query):
    """Past the gate, and after a call that wrote."""
    source = f"def lent(db):\n    db.run('UPDATE item SET sold = 1')\n    db.{query}({sql!r})\n    return 1\n"
    world = shop(BUY, lent=source)
    found = Player(sandbox).one(world, Play(rows(), minutes([("lent", {}), HONEST])))
    assert found.calls[0].outcome == "failed" and "not authorized" in found.calls[0].detail
    assert found.calls[1].outcome == "ok" and [row["sold"] for row in found.rows["item"]] == [2, 0, 0]
