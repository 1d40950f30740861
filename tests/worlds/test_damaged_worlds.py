"""A world on disk that somebody changed: each change is named with its file, or refused in words; nothing breaks down."""

import json
import os
import random
import shutil
from dataclasses import replace

import pyarrow.parquet
import pytest
import yaml
from tool_shop import rows, shop

from evosyn.crossexec.judge import Judge
from evosyn.dataset import write_dataset
from evosyn.domains import domain
from evosyn.domains.tool_use import NAME as TOOL_USE
from evosyn.domains.world_tool import NAME
from evosyn.domains.world_tool_pools import tool_problems
from evosyn.environments.rows import SETTING
from evosyn.errors import UsageError
from evosyn.jobs import Limits
from evosyn.randomness import SeedTree
from evosyn.records import canonical_json
from evosyn.rundir import write_atomic
from evosyn.sandbox import open_sandbox
from evosyn.synthesis.recipes.worlds import rows_of_world
from evosyn.synthesis.worlds import examining
from evosyn.synthesis.worlds.finishing import write_files
from evosyn.worlds.tools.checking import WorldFault, check_world
from evosyn.worlds.tools.files import read_graph, read_tasks, read_world, seal, write_world
from evosyn.worlds.tools.graph import find_graph
from evosyn.worlds.tools.playing import Player
from evosyn.worlds.tools.tasks import make_tasks

SEED = random.randrange(10**6)
DEEP = "[" * 100_000
WORLD = shop()
ITEM = ["item_id", "name", "price", "stock", "sold", "kind"]
CASES = {
    "buy": [
        {"state": "desk", "args": {"item_id": "I1000", "count": 2}, "returns": {"sale_id": "S0001", "price": 5.0},
         "changes": {"sale": {"S0001": {"item_id": "I1000", "count": 2, "note": ""}}, "item": {"I1000": {"stock": 7, "sold": 2}}}},
        {"state": "desk", "args": {"item_id": "I9", "count": 1}, "refuses": "NotFound"},
        {"state": "desk", "args": {"item_id": "I1000", "count": 99}, "refuses": "SoldOut"},
    ],
    "find_item": [{"state": "desk", "args": {"name": "Thing 1"}, "returns": [{"item_id": "I1001", "name": "Thing 1", "stock": 9}]}],
}  # fmt: skip
TESTINGS = {
    "states": {"desk": {"item": [[row[one] for one in ITEM] for row in rows()["item"]]}},
    "tools": {
        name: {"before": "what it needs", "after": "what it gives", "cases": cases}
        | ({"writes": ["sale", "item"]} if name == "buy" else {})
        for name, cases in CASES.items()
    },
}


@pytest.fixture(scope="module")
def sandbox():
    with open_sandbox(workers=2) as opened:
        yield opened


@pytest.fixture(scope="module")
def checked(sandbox):
    """What a check of a directory comes to, as the command tells it."""
    player, judge = Player(sandbox), Judge(sandbox, {NAME: domain(NAME)}, Limits(cpu_s=1.0, budget_s=3.0))

    def check(folder) -> list[WorldFault]:
        found = check_world(str(folder), player)
        faults = [*found.faults, *examining.testing_faults(str(folder), judge)]
        return [*faults, *examining.dataset_faults(str(folder), domain(TOOL_USE))]

    return check


@pytest.fixture(scope="module")
def made(tmp_path_factory, sandbox):
    folder = tmp_path_factory.mktemp("made") / "w"
    write_files(folder, WORLD)
    write_atomic(folder / "testings.yaml", yaml.safe_dump(TESTINGS, sort_keys=False))
    world = read_world(str(folder))
    player = Player(sandbox)
    graph = find_graph(world, player, SeedTree(0))
    tasks = make_tasks(world, graph, player, 2, SeedTree(0)).tasks
    write_world(str(folder), folder, graph, tasks)
    write_dataset(folder, SETTING, rows_of_world(world, tasks, domain(TOOL_USE)))
    write_atomic(folder / "report.json", '{"kept": 2}\n')
    write_atomic(folder / "manifest.json", canonical_json({"kind": "world", "world": world.id}) + "\n")
    seal(folder)
    return folder


@pytest.fixture
def folder(made, tmp_path):
    found = tmp_path / "w"
    shutil.copytree(made, found)
    return found


def told(checked, folder) -> str:
    """The faults, or why it is no world, as one text."""
    try:
        return "\n".join(f"{one.file}: {one.reason}" for one in checked(folder))
    except UsageError as error:
        return str(error)


def test_the_world_as_it_is_has_no_fault(made, checked):
    assert checked(made) == [] and len(read_tasks(str(made))) == 2


FILES = [
    "world.json", "policy.md", "schema.sql", "graph.json", "tasks.jsonl", "testings.yaml", "digests.json", "report.json",
    "manifest.json", "tools/buy.py", "tools/find_item.py", "dataset/evosyn.parquet",
]  # fmt: skip


@pytest.mark.parametrize("file", FILES)
def test_a_changed_byte_anywhere_is_named(folder, checked, file):
    rng = SeedTree(SEED).child(file).random()
    raw = (folder / file).read_bytes()
    for _ in range(6):
        at, byte = rng.randrange(len(raw)), rng.choice([0, 0xFF, ord("["), ord('"'), ord("-"), rng.randrange(256)])
        (folder / file).write_bytes(raw[:at] + bytes([byte]) + raw[at + 1 :])
        if byte != raw[at]:
            assert file in told(checked, folder), (SEED, file, at, byte)
            seal(folder)
            told(checked, folder)  # whatever it says, it says it in words
        shutil.rmtree(folder)
        shutil.copytree(os.environ["MADE"], folder)


def test_a_tool_without_its_file_names_both_files(folder, checked):
    text = (folder / "world.json").read_text()
    for name in ("bue", "buyé", "b" * 300):
        (folder / "world.json").write_text(text.replace('"buy"', f'"{name}"'))
        found = told(checked, folder)
        assert "world.json: field 'tools'" in found and f"tools/{name[:3]}" in found, found


@pytest.fixture(autouse=True)
def _made_is_known(made, monkeypatch):
    monkeypatch.setenv("MADE", str(made))


@pytest.mark.parametrize("file", FILES)
@pytest.mark.parametrize("how", ["gone", "pipe", "directory", "empty"])
def test_a_file_that_is_none_is_named_and_nobody_waits_for_it(folder, checked, file, how):
    (folder / file).unlink()
    if how == "pipe":
        os.mkfifo(folder / file)
    elif how == "directory":
        (folder / file).mkdir()
    elif how == "empty":
        (folder / file).write_bytes(b"")
    for sealed in (False, True):
        found = told(checked, folder)
        assert file in found or sealed or "has no tasks" in found, found
        if file != "digests.json":
            seal(folder)


def graph(**edge):
    def change(given):
        given["edges"][0].update(edge)

    return change


@pytest.mark.parametrize(
    ("change", "field"),
    [
        (graph(parameter=None), "edges[0].parameter"),
        (graph(kind=["data"]), "edges[0].kind"),
        (graph(kind="rumour"), "edges[0].kind"),
        (graph(first=1), "edges[0].first"),
        (graph(states="st_1"), "edges[0].states"),
        (graph(colour="red"), "edges[0].colour"),
        (graph(path="\ud800"), "edges.0.path"),
        (lambda given: given.update(edges=None), "edges"),
        (lambda given: given.update(wrote="buy"), "wrote"),
        (lambda given: given.update(seeds={"root": "0", "path": []}), "seeds"),
        (lambda given: given.update(seeds={"root": 10**30, "path": []}), "seeds.root"),
        (lambda given: given.update(seeds={"root": 0, "path": [None]}), "seeds.path[0].str"),
    ],
)
def test_a_graph_of_other_values_names_the_field(folder, checked, change, field):
    given = json.loads((folder / "graph.json").read_text())
    change(given)
    (folder / "graph.json").write_text(json.dumps(given))
    seal(folder)
    (found,) = checked(folder)
    assert found.file == "graph.json" and f"field '{field}'" in found.reason
    with pytest.raises(UsageError, match=r"graph\.json"):
        read_graph(str(folder))


@pytest.mark.parametrize(
    "file", ["graph.json", "digests.json", "world.json", "tasks.jsonl", "testings.yaml", "report.json"]
)
@pytest.mark.parametrize(
    "text", [DEEP, '{"states": ' + DEEP, "states: " + DEEP, "9" * 5000, '{"a": NaN}', '{"a": 1, "a": 1}', "null", "[]", "\x00"]
)  # fmt: skip
def test_what_is_no_file_of_its_kind_is_named(folder, checked, file, text):
    (folder / file).write_text(text)
    if file != "digests.json" and file != "world.json":
        seal(folder)
    assert file in told(checked, folder) or file == "report.json"


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ("Thing 1", "2026-02-31", "testing"),
        ("count: 2", "count: " + "9" * 5000, "so many digits"),
        ("count: 2", "count: 99999999999999999999", "64 bits"),
        ("count: 2", "count: .nan", ".nan is no number"),
        ("count: 2", "count: -.inf", "-.inf is no number"),
        ("count: 2", "count: 1e999", "1e999 is no number"),
        ("count: 2", "count: 2026-02-21", "BROKEN"),
        ("count: 2", "count: !!binary aGVsbG8=", "a tag"),
        ("count: 2", "count: !!set {a, b}", "a tag"),
        ("count: 2", "count: !!python/object:os.system {}", "a tag"),
        ("count: 2", "count: &a 2\n      other: *a", "an alias"),
        ("count: 2", "count: 2\n        count: 2", "twice"),
        ("count: 2", "1: 2", "must be a text"),
        ("count: 2", 'count: "\\uD800"', "testings.yaml"),
        ("before: what it needs", "before: [1]", "tools.buy.before"),
        ("before: what it needs", "brefore: what it needs", "tools.buy"),
        ("    cases:", "    casses:", "tools.buy"),
        ("  buy:", "  sell:", "is no tool of the world"),
        ("    item:\n    - - I1000", "    itm:\n    - - I1000", "is no table of the world"),
        ("- toy", "- toy\n      - more", "has the columns item_id, name"),
        ("state: desk", "state: [desk]", "BROKEN"),
        ("state: desk", "state: office", "BROKEN"),
        ("states:", "---\nstates:", ""),
        ("tools:", "---\ntools:", "must hold one object"),
    ],
)
def test_testings_that_are_none_name_what_and_where(folder, checked, old, new, reason):
    text = (folder / "testings.yaml").read_text()
    assert old in text
    (folder / "testings.yaml").write_text(text.replace(old, new, 1))
    seal(folder)
    found = told(checked, folder)
    assert reason in found and (not reason or "testings.yaml" in found or reason == "testing"), found
    try:
        tool_problems(str(folder))
    except UsageError as error:
        assert "testings.yaml" in str(error)


def retold(folder, **change):
    """Has the first task say something else of itself, and the world sealed again."""
    first, *rest = (folder / "tasks.jsonl").read_text().splitlines()
    task = json.loads(first)
    task |= {name: one(task) if callable(one) else one for name, one in change.items()}
    (folder / "tasks.jsonl").write_text("\n".join([json.dumps(task), *rest]) + "\n")
    seal(folder)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"shown": []}, "must have the tools of the chain"),
        ({"shown": ["buy"]}, "must have the tools of the chain, also find_item"),
        ({"shown": ["buy", "find_item", "buy"]}, "names a tool twice"),
        ({"misses": 999}, "`misses` is 999"),
        ({"misses": 0}, "`misses` is 0"),
        ({"misses": "12"}, "must have texts as texts"),
        ({"complexity": -5}, "`complexity` is -5"),
        ({"complexity": 3}, "`complexity` is 3"),
        ({"distractors": -1}, "`distractors` is -1"),
        ({"distractors": 10**4}, "`distractors` is 10000"),
        ({"index": -1}, "`index` is -1"),
        ({"reference": lambda task: task["reference"][:-1]}, "the reference is not what the chain gives"),
        ({"reference": lambda task: [*task["reference"][:-1], ["buy", {"item_id": "I1", "count": 1}]]}, "reference does not run"),
        ({"gold": lambda task: {**task["gold"], "sale": [{**one, "count": -1} for one in task["gold"]["sale"]]}}, "breaks the schema"),
        ({"gold": lambda task: {**task["gold"], "sale": [{**one, "note": [1]} for one in task["gold"]["sale"]]}}, "a text, a number or null"),
        ({"gold": lambda task: {**task["gold"], "sale": [{**one, "count": 2**70} for one in task["gold"]["sale"]]}}, "64 bits"),
        ({"gold": lambda task: {**task["gold"], "sale": [{**one, "note": "\ud800"} for one in task["gold"]["sale"]]}}, "UTF-8"),
        ({"chain": lambda task: [["buy", {"item_id": {"is": ["I1"]}}], *task["chain"][1:]]}, "must be {know, is}"),
        ({"chain": lambda task: [["buy", {"item_id": {"from": [0]}}], *task["chain"][1:]]}, "must be {know, is}"),
        ({"chain": lambda task: [["buy", {"item_id": "I1"}], *task["chain"][1:]]}, "must be {know, is}"),
        ({"sentences": "buy"}, "must be a list"),
    ],
)  # fmt: skip
def test_a_task_that_says_what_cannot_be_is_named_though_the_world_was_sealed_again(folder, checked, change, reason):
    retold(folder, **change)
    found = [one for one in checked(folder) if one.file == "tasks.jsonl:1"]
    assert len(found) == 1 and reason in found[0].reason, found


def test_a_task_told_twice_is_named(folder, checked):
    first, *rest = (folder / "tasks.jsonl").read_text().splitlines()
    (folder / "tasks.jsonl").write_text("\n".join([first, first, *rest]) + "\n")
    seal(folder)
    found = checked(folder)
    assert {one.file for one in found} == {"tasks.jsonl:2", f"dataset/{SETTING}.parquet"}


def test_a_dataset_that_the_tasks_do_not_give_is_named_though_the_world_was_sealed_again(folder, checked):
    path, world, tasks = folder / "dataset" / f"{SETTING}.parquet", read_world(str(folder)), read_tasks(str(folder))
    rows_ = rows_of_world(world, tasks, domain(TOOL_USE))
    wrong = {
        "row 2": [rows_[0], replace(rows_[1], testing=rows_[0].testing)],
        "row 1": rows_[::-1],
        "has 1 rows": rows_[:1],
        "has 3 rows": [*rows_, rows_[0]],
        "has 0 rows": [],
    }
    for reason, given in wrong.items():
        write_dataset(folder, SETTING, given)
        seal(folder)
        (found,) = checked(folder)
        assert found.file == f"dataset/{SETTING}.parquet" and reason in found.reason
    write_dataset(folder, SETTING, rows_)
    (folder / "dataset" / "evosyn-00000-of-00001.parquet").write_bytes(path.read_bytes())
    seal(folder)
    assert [one.file for one in checked(folder)] == ["dataset/evosyn-00000-of-00001.parquet"]
    (folder / "dataset" / "evosyn-00000-of-00001.parquet").unlink()
    table = pyarrow.parquet.read_table(path)
    pyarrow.parquet.write_table(table, path, compression="none")
    seal(folder)
    assert checked(folder) == []
    for raw in (b"garbage", b"", path.read_bytes()[:-9], b"PAR1" * 5):
        path.write_bytes(raw)
        seal(folder)
        assert {one.file for one in checked(folder)} == {f"dataset/{SETTING}.parquet"}
