"""Twenty hostile tools, one property each: refused by the gate, or held by the sandbox and the database's guards; in
either case nothing of it stays, and the next honest call works."""

from dataclasses import dataclass

import pytest
from tool_shop import BUY, rows, shop

from evosyn.jobs import Limits
from evosyn.sandbox import open_sandbox
from evosyn.worlds.tools.gate import fault
from evosyn.worlds.tools.playing import Play, Player, minutes

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
