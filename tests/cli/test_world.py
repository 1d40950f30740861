"""`evosyn world` and what `evosyn inspect` says of its directories."""

import json
import shutil
import sys
from xml.etree import ElementTree

import pytest
from click.testing import CliRunner
from simulation import AGENT

from evosyn.cli import group
from evosyn.errors import UsageError
from evosyn.view.answers import open_view
from evosyn.view.page import write_export
from evosyn.worlds.tools.files import (
    bundled,
    changed_files,
    read_graph,
    read_tasks,
    read_world,
    require_same_world,
    seal,
    write_world,
)


def run(*arguments):
    return CliRunner().invoke(group, [str(one) for one in arguments])


def test_a_rollout_is_written_told_and_can_be_looked_at(tmp_path):
    out = tmp_path / "r"
    found = run("world", "rollout", "builtin:library", "--agent", f"{AGENT}:gold", "--limit", 1, "--out", out, "--json")
    assert not found.exception, found.output
    report = json.loads(found.stdout)
    assert report["avg@1"] == 1.0 and report["simulated"] and json.loads((out / "report.json").read_text())["kept"] == 1
    (line,) = (out / "episodes.jsonl").read_text().splitlines()
    assert json.loads(line)["reward"] == 1.0 and json.loads(line)["trajectory"]["state"].startswith("st_")
    task = read_tasks("builtin:library")[0]
    shown = run("inspect", out, "--why", task.id)
    assert f"> {task.reference[0][0]} " in shown.stdout and "reward 1.0" in shown.stdout
    assert "avg@1" in run("inspect", out).stdout


def test_a_rollout_is_not_replaced_by_one_with_other_settings(tmp_path):
    command = ("world", "rollout", "builtin:library", "--limit", 1, "--out", tmp_path / "r", "--agent")
    noop = f"{AGENT}:noop"
    assert not run(*command, noop).exception
    before = (tmp_path / "r" / "report.json").read_bytes()
    for more in ((f"{AGENT}:gold",), (noop, "--episodes", 2), (noop, "--seed", 4)):
        found = run(*command, *more)
        assert "was started with other settings" in str(found.exception), found.output
    assert (tmp_path / "r" / "report.json").read_bytes() == before
    assert not run(*command, noop).exception


def test_worlds_that_come_with_evosyn_are_listed():
    rows = json.loads(run("world", "list", "--json").stdout)["worlds"]
    assert [row["name"] for row in rows] == ["clinic", "library", "parcel"]
    assert all(row["tools"] >= 11 and row["tables"] >= 5 and row["tasks"] >= 18 for row in rows)


def test_what_is_missing_is_said(tmp_path):
    assert "did you mean 'library'" in str(run("world", "check", "builtin:librari").exception)
    assert "no model is named" in str(run("world", "rollout", "builtin:library", "--out", tmp_path).exception)
    assert "greedy-distractor" in str(
        run("world", "rollout", "builtin:library", "--agent", f"{AGENT}:best", "--out", tmp_path).exception
    )
    told = str(run("world", "tasks", tmp_path, "--out", tmp_path).exception)
    assert "has no world.json" in told and "builtin:NAME" in told


def test_serving_a_task_without_the_package_says_which_extra_brings_it(monkeypatch):
    monkeypatch.setenv("EVOSYN_ALLOW_WEAK_SANDBOX", "1")
    monkeypatch.setitem(sys.modules, "mcp", None)
    found = run("world", "serve", "builtin:library", "--task", "0")
    assert "needs the package 'mcp': pip install 'evosyn[mcp]'" in str(found.exception)
    assert "no task of builtin:library" in str(run("world", "serve", "builtin:library", "--task", "k_none").exception)


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    out = tmp_path_factory.mktemp("made") / "w"
    shutil.copytree(bundled()["parcel"], out)
    (out / "manifest.json").write_text('{"kind": "world"}')
    return out


def test_a_world_is_told_with_its_tools_tables_tasks_and_graph(made, tmp_path):
    shown = run("inspect", made).stdout
    assert "find_customer" in shown and "customer" in shown and "(exempt)" in shown
    task = read_tasks(str(made))[0]
    assert task.id in shown
    chain = run("inspect", made, "--why", 0).stdout
    assert task.instruction in chain and all(name in chain for name, _ in task.chain)
    picture = tmp_path / "g.svg"
    listed = run("inspect", made, "--graph", picture).stdout
    graph = read_graph(str(made))
    drawn = ElementTree.fromstring(picture.read_text(encoding="utf-8"))
    kinds = {(one.kind, one.first, one.then) for one in graph.edges}
    assert listed.count(" -> ") == len(kinds) == len(drawn.findall("{*}line"))
    assert len(drawn.findall("{*}circle")) == len(read_world(str(made)).tools)


def test_the_page_of_a_world_holds_its_graph_and_each_task(made, tmp_path):
    view, page = open_view(made), tmp_path / "w.html"
    graph = view.answer("graph", {})
    assert {one["name"] for one in graph["nodes"]} == set(read_world(str(made)).tool)
    assert list(view.contents())[:2] == ["overview", "graph"]
    write_export(view, page)
    assert all(f"why/{task.id}" in page.read_text(encoding="utf-8") for task in read_tasks(str(made)))


def test_a_check_judges_the_tools_by_their_testings_and_names_what_was_changed(tmp_path):
    folder = tmp_path / "w"
    shutil.copytree(bundled()["library"], folder)
    (folder / "tasks.jsonl").write_text((folder / "tasks.jsonl").read_text().splitlines()[0] + "\n")
    tool = folder / "tools" / "list_loans.py"
    tool.write_text(tool.read_text().replace("ORDER BY loan_id", "ORDER BY loan_id DESC"))
    seal(folder)
    found = run("world", "check", folder, "--json")
    faults = json.loads(found.stdout)["faults"]
    assert "tools/list_loans.py" in {one["file"] for one in faults}
    assert any("its testing says FAIL: " in one["reason"] for one in faults), faults
    tool.unlink()
    world = json.loads((folder / "world.json").read_text())
    kept = [one for one in world["tools"] if one["name"] != "list_loans"]
    (folder / "world.json").write_text(json.dumps({**world, "tools": kept}))
    seal(folder)
    found = run("world", "check", folder)
    assert not found.exception, found.exception
    assert "testings.yaml: " in found.stdout and "is no tool of the world" in found.stdout
    assert "graph.json: " in found.stdout and "tasks.jsonl:1: " in found.stdout


def test_a_rollout_is_told_task_by_task(tmp_path):
    out = tmp_path / "r"
    words = ("--agent", f"{AGENT}:sloppy:1", "--limit", 2, "--episodes", 2)
    run("world", "rollout", "builtin:library", *words, "--out", out)
    (table,) = open_view(out).answer("overview", {})["tables"]
    assert [row[1] for row in table["rows"]] == [2, 2] and table["columns"][2] == "paid"


def test_a_directory_keeps_the_world_that_it_holds(tmp_path):
    """Tasks of another world there, or a tool of one, would be those of neither."""
    out, none = tmp_path / "w", tmp_path / "none"
    shutil.copytree(bundled()["parcel"], out)
    world = read_world(str(out))
    (out / "manifest.json").write_text(json.dumps({"kind": "world", "world": world.id}))
    before = {path: path.read_bytes() for path in out.rglob("*") if path.is_file()}
    for manifest in ({"kind": "world", "world": world.id}, {"kind": "world"}):
        (out / "manifest.json").write_text(json.dumps(manifest))
        refused = run("world", "tasks", "builtin:library", "--tasks", 1, "--out", out)
        assert isinstance(refused.exception, UsageError) and world.id in str(refused.exception)
        assert "choose another directory" in str(refused.exception)
    (out / "manifest.json").write_bytes(before[out / "manifest.json"])
    assert {path: path.read_bytes() for path in before} == before
    (out / "tools" / "strange.py").write_text("x = 1")
    assert "tools/strange.py" in str(run("world", "tasks", "builtin:parcel", "--tasks", 1, "--out", out).exception)
    for task in ("builtin:library", "builtin:parcel"):
        shown = run("world", "rollout", task, "--agent", f"{AGENT}:noop", "--limit", 1, "--out", none)
    assert isinstance(shown.exception, UsageError) and "was started with other settings (world: " in str(
        shown.exception
    )


def test_the_same_world_again_leaves_nothing_of_before(tmp_path):
    source, out = tmp_path / "source", tmp_path / "w"
    shutil.copytree(bundled()["parcel"], source)
    world = read_world(str(source))
    graph, tasks = read_graph(str(source)), read_tasks(str(source))
    write_world(str(source), out, graph, tasks)
    seal(out)
    assert (out / "testings.yaml").is_file() and not changed_files(out)
    (source / "testings.yaml").unlink()
    require_same_world(world, str(source), out, world.id)
    write_world(str(source), out, graph, tasks[:1])
    assert sorted(path.name for path in out.iterdir()) == [
        "graph.json", "policy.md", "schema.sql", "tasks.jsonl", "tools", "world.json",
    ]  # fmt: skip
    seal(out)
    assert not changed_files(out) and len(read_tasks(str(out))) == 1
