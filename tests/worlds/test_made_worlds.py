"""Worlds that a model makes: how schemas are read, how tools are chosen, and whole runs of the simulation."""

import copy
import json
import random
import signal
import subprocess
import sys
import time
from collections import defaultdict
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from simulation import TEACHER
from simulation.world_author.grammar import office
from simulation.world_author.replies import _break

from evosyn.cli.world import command
from evosyn.domains import domain, load_pools
from evosyn.domains.world_tool import NAME, with_source
from evosyn.errors import UsageError
from evosyn.journal import Journal
from evosyn.jsonlines import read_lines
from evosyn.randomness import SeedTree
from evosyn.records import ParsedCall, PassMatrix
from evosyn.sandbox import open_sandbox
from evosyn.synthesis.recipes.made_worlds import estimate, names_of
from evosyn.synthesis.worlds.asking import WorldName, read_tables, read_tools, tables_request, tools_request
from evosyn.synthesis.worlds.choosing import agreement_of
from evosyn.synthesis.worlds.config import MakeWorldsConfig, SizesConfig
from evosyn.synthesis.worlds.draft import MadeTool, WorldDraft, slug_of, world_of_parts
from evosyn.worlds.tools.files import read_world
from evosyn.worlds.tools.gate import fault
from evosyn.worlds.tools.playing import Player
from evosyn.worlds.tools.probing import alike

GOLDEN = Path(__file__).parents[1] / "golden" / "worlds_prompts.md"
SIZES = SizesConfig(least_tools=3, least_tables=2)
TREE = SeedTree(0).child("a test")
OFFICE = office(TREE, "bike_rental")


def test_the_prompts_are_what_they_were():
    world = WorldName("bike-rental", "bike_rental")
    schema = {"title": OFFICE.tools["title"], "tools": OFFICE.tools["tools"][:1]}
    problem = load_pools("builtin:world-tools")[0].problem
    requests = [
        tools_request(world, SizesConfig(), {}),
        tables_request(world, schema, SizesConfig(), {}),
        domain(NAME).ask("solution", problem, 0, {}),
        domain(NAME).ask("testing", problem, 0, {}),
    ]
    text = "\n---\n".join(one.messages[0].content for one in requests)
    assert text == GOLDEN.read_text(encoding="utf-8"), "see the difference, then write the file anew"


@pytest.mark.parametrize("name", names_of("builtin:domains"))
def test_an_office_of_the_grammar_is_a_world_with_tools_that_are_tools(name):
    slug = slug_of(name)
    found = office(TREE, slug)
    assert read_tools(json.dumps(found.tools), SizesConfig(least_tools=10)).value == found.tools
    assert (
        read_tables(f"```json\n{json.dumps(found.tables)}\n```", slug, found.tools, SizesConfig()).value == found.tables
    )
    world = world_of_parts(slug, found.tools, found.tables)
    for tool in world.tools:
        assert not fault(tool.model_copy(update={"source": found.sources[tool.name]}))
    assert office(TREE, slug) == found and office(SeedTree(1), slug) != found


def spoiled(change):
    tools, tables = copy.deepcopy(OFFICE.tools), copy.deepcopy(OFFICE.tables)
    change(tools, tables)
    return tools, tables


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda tools, _: tools["tools"].clear(), "too-many-or-few"),
        (lambda tools, _: tools["tools"].append(tools["tools"][0]), "bad-tool: find_rider: stands twice"),
        (lambda tools, _: tools["tools"][0].pop("after"), "bad-tool: find_rider: no text after"),
        (lambda tools, _: tools["tools"][3].update(before=""), "bad-tool: list_rentals: `before` does not say"),
        (lambda tools, _: tools["tools"][0]["parameters"][0].update(draw="x"), "bad-world: name: draw 'x'"),
        (lambda tools, _: tools["tools"][0]["parameters"][0].update(draw=["x"]), "bad-world: name: draw"),
        (lambda tools, _: tools["tools"][0].update(name="finish"), "bad-tool: the tool 'finish'"),
        (lambda tools, _: tools["tools"][-1].update(request="do {x:>9999999999}"), "bad-tool: "),
        (lambda tools, _: tools["tools"][0].update(raises=["x"], before="x"), "bad-tool: find_rider: raises.0"),
        (lambda tools, _: tools.pop("title"), "no-tools"),
        (lambda tools, _: tools.pop("tools"), "no-json"),
        (lambda _, tables: tables.pop("uses"), "no-uses"),
        (lambda _, tables: tables["uses"].pop("find_rider"), "bad-uses: find_rider"),
        (lambda _, tables: tables["uses"]["find_rider"].update(reads=["cars"]), "bad-uses: find_rider"),
        (lambda _, tables: tables["tables"].pop(0), "bad-world: "),
        (lambda _, tables: tables["tables"][0]["columns"].append({"name": "x", "policy": "exempt"}), "bad-world: x: a policy"),
        (lambda _, tables: tables["tables"][0].update(prefix="P"), "bad-world: two tables have one prefix"),
        (lambda _, tables: tables["tables"].append(
            {"name": "idle", "prefix": "Z", "called": "x", "columns": [{"name": "idle_id"}]}), "bad-uses: no tool uses"),
        (lambda _, tables: tables["tables"][0].update(sql="DROP TABLE x"), "bad-world: tables.0.sql"),
        (lambda _, tables: tables["tables"][0].update(name="x; --"), "bad-world: tables.0.name"),
        (lambda _, tables: tables["tables"][0].update(checks=[["in", "room", 1]]), "bad-world: "),
        (lambda _, tables: tables["tables"][0]["columns"].append({"name": "x", "values": ["a\0b"]}), "bad-world: "),
        (lambda _, tables: tables["tables"][0]["columns"].append({"name": "x", "values": ["\ud800"]}), "bad-json: "),
        (lambda tools, _: tools.update(title="half \ud800"), "bad-json: "),
        (lambda tools, _: tools["tools"][0]["parameters"][0].update(values=["a\0b"]), "bad-tool: find_rider.name: a value"),
    ],
)  # fmt: skip
def test_a_schema_that_is_none_is_refused_with_its_reason(change, reason):
    tools, tables = spoiled(change)
    found = read_tools(json.dumps(tools), SIZES)
    if found.value is not None:
        found = read_tables(json.dumps(tables), "bike_rental", found.value, SIZES)
    assert found.value is None and found.reason.startswith(reason), found.reason


def test_of_uses_only_what_tools_read_and_write_is_kept():
    _, tables = spoiled(lambda _, tables: tables["uses"].update(note=[[["x"]]]))
    tables["uses"]["find_rider"]["why"] = {"a": 1}
    found = read_tables(json.dumps(tables), "bike_rental", OFFICE.tools, SIZES).value
    assert found is not None and found["uses"] == OFFICE.tables["uses"]


@pytest.mark.parametrize("text", ["", "null", "[]", "{}", '{"tools": 1}', '{"tools": [1]}', '{"tables": [], "uses": []}',
                                  '{"tables": 1, "uses": {}}', '{"title": "x", "tools": [{"name": 1}]}', "[" * 9000])  # fmt: skip
def test_any_reply_is_read_or_refused(text):
    assert read_tools(text, SIZES).value is None
    assert read_tables(text, "bike_rental", OFFICE.tools, SIZES).value is None


def test_tables_that_only_dropped_tools_used_go_with_them():
    kept = ("find_rider", "list_rentals", "set_rider")
    tools = tuple([MadeTool(name, source=OFFICE.sources[name]) for name in kept])
    draft = WorldDraft(0, "bike-rental", OFFICE.tools, OFFICE.tables, tools)
    left = draft.left()
    assert {one.name for one in left.tools} == set(kept)
    assert {one.name for one in left.tables} == {"rider", "rental", "bike", "station"}  # a rental refers to the others
    assert not left.tool["find_rider"].raises and left.tool["find_rider"].source == OFFICE.sources["find_rider"]


def matrix(values, calls):
    letters = np.full((len(values), 1), "P")
    asked = (tuple([ParsedCall(one, None) for one in calls]),)
    return PassMatrix("p", letters, calls_N=asked, values_NMC=(np.array(values, dtype=np.uint64),))


def test_the_vote_counts_each_call_once_and_a_failure_is_never_with_most():
    found = matrix([[5, 7, 7], [5, 8, 8], [5, 8, 8], [0, 0, 0]], ["a", "b", "b"])
    assert agreement_of(found, 0) == (0.5, (0, 1)) and agreement_of(found, 1) == (1.0, (-1, -1))
    assert agreement_of(found, 3)[0] == 0.0 and agreement_of(matrix([[0], [0]], ["a"]), 0)[0] == 0.0


def test_names_are_a_list_a_file_or_the_bundled_ones(tmp_path):
    file = tmp_path / "names.txt"
    file.write_text("ferry desk\n\nferry desk\nbee keepers\n")
    assert names_of(str(file)) == ("ferry desk", "bee keepers") == names_of("ferry desk, bee keepers")
    assert len(names_of("builtin:domains")) == 8
    for wrong in (str(tmp_path / "none.txt"), ",", "ferry desk,ferry-desk"):
        with pytest.raises(UsageError):
            names_of(wrong)


def test_calls_are_known_before_anything_is_asked():
    config = MakeWorldsConfig.model_validate({"sizes": {"least_tools": 20, "most_tools": 20}})
    assert estimate(config, ["a"])["calls"] == 322 == estimate(config, ["a"])["calls_with_most_tools"]
    believed = estimate(config.model_copy(update={"unexecuted": True}), ["a"])
    assert believed["calls"] == 22 and believed["calls_at_most"] == 44 and believed["a_tool"] == 1


SMALL = ("bike-rental", "--tasks", "2", "-M", "3", "-N", "3", "--strategy", "codet_medoid", "--quiet",
         "--teacher", TEACHER)  # fmt: skip


def line(out, *more):
    return [sys.executable, "-m", "evosyn", "world", "make", *SMALL, "--out", str(out), *more]


def bytes_of(out):
    kept = {path.relative_to(out): path.read_bytes() for path in sorted(out.rglob("*")) if path.is_file()}
    others = ("journal.jsonl", "verdicts", "replies", ".lock", "config.yaml", "README.md")
    return {str(name): raw for name, raw in kept.items() if not str(name).startswith(others)}


@pytest.mark.long
def test_a_run_ends_in_the_same_bytes_at_any_concurrency_and_after_any_kill(tmp_path):
    whole, other, killed = tmp_path / "whole", tmp_path / "other", tmp_path / "killed"
    subprocess.run(line(whole, "--set", "workbench.teacher.calls=32"), check=True, capture_output=True, timeout=900)
    subprocess.run(line(other, "--set", "workbench.teacher.calls=1"), check=True, capture_output=True, timeout=900)
    assert bytes_of(whole) == bytes_of(other)
    for seconds in (4, 9, 15, 25):
        process = subprocess.Popen(line(killed), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(seconds)
        process.send_signal(signal.SIGKILL)
        process.wait()
    subprocess.run(line(killed), check=True, capture_output=True, timeout=900)
    assert bytes_of(whole) == bytes_of(killed)


@pytest.mark.long
def test_chosen_tools_are_right_and_drawn_ones_often_not(tmp_path):
    """Of the bundled names, with the default strategy, as far as 200 drawn calls of each tool show."""
    out = tmp_path / "made"
    line = [sys.executable, "-m", "evosyn", "world", "make", "builtin:domains", "--out", str(out), "--set", "tasks=0"]
    subprocess.run([*line, "--teacher", TEACHER, "--quiet"], check=True, capture_output=True, timeout=1800)
    report = json.loads((out / "report.json").read_text())
    asked, kept = report["tools"]["asked"], report["tools"]["kept"]
    assert report["simulated"] is True and asked == kept + sum(report["tools"]["dropped"].values())
    rejects = [line.value for line in read_lines(out / "rejects.jsonl")]
    assert sum(one["item"] == "reply" for one in rejects) == sum(report["unusable_replies"].values())
    with open_sandbox(workers=2) as sandbox:
        found = [rights(Player(sandbox), out, draft) for draft in report["worlds"] if not draft["dropped"]]
    chosen, drawn = ([one for pair in found for one in pair[at]] for at in (0, 1))
    assert len(chosen) >= 40
    assert np.mean(chosen) >= 0.95 and np.mean(drawn) <= 0.75, (sum(chosen), len(chosen), np.mean(drawn))


def rights(player, out, draft):
    """Of the tools of a made world whether the chosen program is right, and whether each that could be read is."""
    slug, names = draft["world"], names_of("builtin:domains")
    truth = office(SeedTree(0).child("offline-teacher", "mixed").child("worlds"), slug).sources
    world, replies = read_world(str(out / slug)), defaultdict(list)
    for event in Journal(out / "journal.jsonl").events():
        if event["event"] == "reply" and event["key"][0] == names.index(draft["name"]):
            replies[event["key"][1]].append(event["reply"]["text"])
    chosen, drawn = [], []
    for pool in load_pools(out / slug / "testings.jsonl"):
        tool = world.tool[str(pool.problem.meta["tool"])]
        alone = world.model_copy(update={"tools": (tool,)})
        asked = replies[f"solution:{tool.name}"]
        read = [domain(NAME).read_solution(text, pool.problem).value for text in asked]
        others = [with_source(alone, one.text) for one in read if one is not None]
        first, *more = alike(player, with_source(alone, truth[tool.name]), [alone, *others], SeedTree(5))
        chosen, drawn = [*chosen, first], [*drawn, *more]
    return chosen, drawn


def test_the_simulation_breaks_a_schema_also_where_no_table_has_a_row():
    body = {"states": {"s1": {}}, "cases": []}
    _break(world_of_parts("bike_rental", OFFICE.tools, OFFICE.tables), body, random.Random(0))
    assert body["states"]["s1"]


def test_a_dry_run_asks_nothing(tmp_path):
    found = CliRunner().invoke(command, ["make", "a,b", "--out", str(tmp_path / "x"), "--dry-run", "--json"])
    assert found.exit_code == 0 and json.loads(found.output)["worlds"] == 2 and not (tmp_path / "x").exists()


@pytest.mark.long
def test_a_world_that_nobody_runs_believes_what_is_written_and_says_how_often_it_is_wrong(tmp_path):
    out = tmp_path / "believed"
    run = line(out, "--no-execution", "--json", "--set", "tasks=12")
    report = json.loads(subprocess.run(run, check=True, capture_output=True, timeout=900).stdout)
    assert report["executions"] == 0 and report["tools"]["repaired"] == 0
    kept = [one for one in report["worlds"] if not one["dropped"]]
    assert kept and np.mean([one["failing"] for one in kept]) >= 0.2
    assert report["calls"] == 2 + report["tools"]["asked"] + sum(report["unusable_replies"].values()), "one a tool"
    tools = [one.value for one in read_lines(out / "tools.jsonl")]
    assert all((one["solutions"], one["testings"]) == (1, 0) for one in tools if not one["reason"])
    assert not any(one["chosen"] or one["verdicts"] for one in tools)
    assert not (out / kept[0]["world"] / "testings.jsonl").exists()
    again = subprocess.run(line(out), check=False, capture_output=True, text=True, timeout=900)
    assert again.returncode == 2 and "unexecuted" in again.stderr
