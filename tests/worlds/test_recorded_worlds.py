"""Replies that were written by hand to the prompts of `evosyn world make`, through the whole command: three worlds of
three tools, and three that get no tables. tests/recorded/README.md tells what is odd about each."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner

from evosyn.cli.inspect import command as inspect
from evosyn.cli.world import command
from evosyn.jsonlines import read_lines
from evosyn.worlds.tools.files import changed_files, read_graph, read_tasks, read_world, seal
from tests.recorded.playing import HERE, teacher, written

WRITTEN = HERE / "worlds"
NAMES = "locker desk,plant swap,choir library,bike shed,quiz night,seed bank"
SIZES = {"least_tools": 3, "kept_tools": 3, "least_tables": 2}


def make(out: Path, *more: str) -> None:
    line = ["make", NAMES, "--out", str(out), "--teacher", teacher(WRITTEN), "-M", "2", "-N", "2", "--tasks", "2"]
    sets = [part for name, size in SIZES.items() for part in ("--set", f"sizes.{name}={size}")]
    ended = CliRunner().invoke(command, [*line, "--strategy", "codet_medoid", "--quiet", *sets, *more])
    assert ended.exit_code == 0, (ended.output, ended.exception)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("written") / "worlds"
    make(out)
    return out


def rows(out: Path, name: str) -> list[dict[str, object]]:
    return [line.value for line in read_lines(out / name)]


def test_three_worlds_stand_with_all_of_their_tools(made: Path) -> None:
    report = json.loads((made / "report.json").read_text())
    assert report["kept"] == 3 and report["tools"]["kept"] == 9 and report["simulated"] is False
    assert report["calls"] == len(list(WRITTEN.glob("*.md")))
    assert report["dropped"] == {"tables: bad-world": 1, "tables: no-json": 2}
    for name in ("locker_desk", "plant_swap", "choir_library"):
        world = read_world(str(made / name))
        assert len(world.tools) == 3 and read_tasks(str(made / name)) and not changed_files(made / name)
        assert read_graph(str(made / name)).edges


def test_what_was_made_stands_when_all_of_it_is_judged_and_played_again(made: Path, tmp_path: Path) -> None:
    ended = CliRunner().invoke(command, ["check", str(made / "locker_desk"), "--json"])
    assert json.loads(ended.stdout)["faults"] == []
    other = tmp_path / "other"
    shutil.copytree(made / "locker_desk", other)
    tool = other / "tools" / "find_guest.py"
    tool.write_text(tool.read_text().replace(" = ?", " <> ?"))
    seal(other)
    faults = json.loads(CliRunner().invoke(command, ["check", str(other), "--json"]).stdout)["faults"]
    assert any(one["file"] == "tools/find_guest.py" and "its testing says FAIL" in one["reason"] for one in faults)


def test_a_wrong_program_and_a_wrong_testing_are_not_chosen(made: Path) -> None:
    found = {one["tool"]: one for one in rows(made, "tools.jsonl")}
    assert found["find_guest"]["chosen"][1] == 0  # the other testing wants a search that ignores case
    assert found["give_locker"]["chosen"][0] == 0 and found["give_plant"]["chosen"][0] == 1
    assert (
        '"SELECT points FROM member WHERE member_id = ?", plant["member_id"]'
        in read_world(str(made / "plant_swap")).tool["give_plant"].source
    )


def test_a_tool_that_no_testing_accepts_is_repaired(made: Path) -> None:
    found = {one["tool"]: one for one in rows(made, "tools.jsonl")}
    assert found["free_locker"]["rounds"] == 3 and found["free_locker"]["chosen"][0] == 2
    assert found["free_locker"]["verdicts"][2] == "PP"


def test_a_testing_that_was_rewritten_to_fit_a_wrong_program_does_not_vouch_for_it(made: Path) -> None:
    found = {one["tool"]: one for one in rows(made, "tools.jsonl")}["find_piece"]
    assert found["rounds"] == 3 and found["chosen"][0] == 3 and found["verdicts"] == ["FF", "FF", "FF", "PP"]
    assert "LIKE" not in read_world(str(made / "choir_library")).tool["find_piece"].source
    assert written(WRITTEN, "world-debug") >= 12 and written(WRITTEN, "world-tables") >= 12


def test_replies_that_cannot_be_used_are_counted_by_their_reason(made: Path) -> None:
    report = json.loads((made / "report.json").read_text())
    assert report["unusable_replies"] == {
        "debug: impure": 1,
        "debug: no-json": 4,
        "debug: own-test": 1,
        "solution: impure": 1,
        "solution: no-function": 2,
        "solution: sql": 1,
        "testing: bad-state": 1,
        "testing: blind": 1,
        "testing: no-json": 1,
        "testing: uncovered": 1,
        "world-tables: bad-world": 4,
        "world-tables: no-json": 4,
        "world-tables: no-uses": 1,
        "world-tools: bad-tool": 2,
        "world-tools: no-json": 3,
        "world-tools: too-many-or-few": 1,
    }
    rejects = rows(made, "rejects.jsonl")
    assert len([one for one in rejects if one["item"] == "reply"]) == sum(report["unusable_replies"].values())


def test_a_finished_run_asks_nothing_again_and_stays_as_it_is(made: Path) -> None:
    before = {path.relative_to(made): path.read_bytes() for path in made.rglob("*") if path.is_file()}
    make(made)
    after = {path.relative_to(made): path.read_bytes() for path in made.rglob("*") if path.is_file()}
    changed = {str(name) for name in before if before[name] != after.get(name)}
    assert {name for name in changed if not name.startswith(("verdicts", "replies", ".lock"))} == set()


def test_inspect_shows_worlds_and_the_matrix_of_a_tool(made: Path) -> None:
    shown = CliRunner().invoke(inspect, [str(made)])
    assert shown.exit_code == 0 and "locker_desk" in shown.output, shown.output
    why = CliRunner().invoke(inspect, [str(made), "--why", "free_locker"])
    assert why.exit_code == 0 and "<- chosen, by testing" in why.output, why.output
    assert CliRunner().invoke(inspect, [str(made), "--why", "nothing"]).exit_code != 0
