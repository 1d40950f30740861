"""Worlds, language and table of `evosyn experiment worlds`, tasks that nobody ran; and all of it at smoke."""

from __future__ import annotations

import importlib.util
import json
import math
import random
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from evosyn.codec import dump
from evosyn.domains import Domains
from evosyn.domains.world_tool import NAME, ToolConditions, tool_problem, with_source, world_of
from evosyn.errors import UsageError
from evosyn.randomness import SeedTree
from evosyn.records import Json, Solution
from evosyn.simulation.experiment import tool_offices
from evosyn.simulation.experiment.tool_data import (
    WorldMaker,
    demonstrations,
    in_bundled,
    named,
    player_of,
    read_posed,
    write_tasks,
)
from evosyn.simulation.experiment.tool_language import (
    PosedTask,
    answer_of,
    message_of,
    plan_of,
    prompt_of,
    read_request,
    symbols_of,
    words_of,
)
from evosyn.simulation.experiment.tool_offices import (
    HELD,
    TRAIN,
    WARM,
    DrawnTool,
    by_lot,
    first,
    is_ours,
    office_of,
    ranked,
)
from evosyn.simulation.experiment.tool_runs import WorldsPlan, share_tasks
from evosyn.simulation.experiment.tool_table import markdown, summarize
from evosyn.simulation.world_author.replies import draw_tool
from evosyn.simulation.world_author.study import ToolStudy
from evosyn.worlds.tools.diff import differences
from evosyn.worlds.tools.faults import plantings
from evosyn.worlds.tools.gate import fault
from evosyn.worlds.tools.in_process import InProcessPlayer
from evosyn.worlds.tools.playing import Play


@pytest.fixture(scope="module")
def posed() -> list[PosedTask]:
    return list(WorldMaker(SeedTree(7)).tasks(office_of(3)[1], 4).tasks)


def test_no_noun_of_a_world_is_one_of_another() -> None:
    words = [word for listed in tool_offices._nouns().values() for word in listed]
    assert len(words) == len(set(words)) == 5 * 32
    assert not set(TRAIN) & set(HELD) and not set(WARM) & {*TRAIN, *HELD}
    for number in (0, 17, 31):
        office, world = office_of(number)
        assert world == office_of(number)[1] and len(world.tools) == len(office.sources) >= 9
        assert not any(fault(tool) for tool in world.tools)
    assert office_of(0)[1].id != office_of(1)[1].id


def test_language_tasks_and_table_need_no_train_extra() -> None:
    modules = ", ".join(f"evosyn.simulation.experiment.tool_{name}" for name in ("data", "language", "table"))
    program = f"import sys\nsys.modules.update(dict.fromkeys(['torch', 'transformers', 'trl']))\nimport {modules}"
    subprocess.run([sys.executable, "-c", program], check=True)


def test_a_request_is_read_as_words_and_values() -> None:
    text = (
        'Please write a note by Dr. Mira Adler on 2026-06-01: "handle with care". Then move Mira Adler to Oak Road 21.'
    )
    read = read_request(text)
    assert read.values == ("Mira Adler", "2026-06-01", "handle with care", "Oak Road 21")
    assert " ".join(read.words) == "please write a note by dr @1 on @2 @3 then move @1 to @4"


def solves(one: PosedTask, text: str) -> bool:
    plan = plan_of(one, text)
    assert plan is not None
    played = player_of([one]).one(one.world, Play(one.task.state, plan.calls))
    return not played.lost and not differences(one.world, one.task.state, one.task.gold, played.rows)


def test_the_reference_in_words_leaves_the_gold_state_and_a_slip_does_not(posed: list[PosedTask]) -> None:
    bundled = in_bundled()
    assert len(bundled) >= 20 and len({one.world.name for one in bundled}) == 3
    known = set(words_of([*(one.world for one in posed), *(one.world for one in bundled)]))
    for one in [*posed, *bundled]:
        answer = str(answer_of(one))
        assert {*answer.split(), *prompt_of(one).split()} - {"=>"} <= known
        assert solves(one, answer) and plan_of(one, answer).said == message_of(one)  # type: ignore[union-attr]
    for one in posed:
        answer = str(answer_of(one))
        assert not solves(one, answer.split(" ; ")[0]), "the first look-up alone changes nothing"
        assert solves(one, answer.partition(" say ")[0]), "what is said of it decides nothing"


@pytest.mark.parametrize(
    "text",
    [
        *("find", "find nobody @1", "find {person} @9", "find {person} @x", "find {person} @1 @1", "find #9 @1", "$1"),
        *("; ; find", "say say say ; x y"),
    ],
)
def test_what_is_no_plan_is_none(posed: list[PosedTask], text: str) -> None:
    plan = plan_of(posed[0], text.format(person=person_of(posed[0])))
    assert plan is None or not plan.calls


def person_of(posed: PosedTask) -> str:
    return symbols_of(posed.world, posed.naming)[tool_offices._nouns()["person"][3]]


def test_a_key_where_none_is_asked_for_or_given_is_refused_by_the_world_and_paid_by_nobody(
    posed: list[PosedTask],
) -> None:
    person = person_of(posed[0])
    assert not solves(posed[0], f"find {person} $1")
    assert not solves(posed[0], f"find {person} &3 ; find {person} $9")


def test_a_world_in_another_naming_has_other_symbols_and_the_same_answers(posed: list[PosedTask]) -> None:
    others = named(posed, range(50, 90), random.Random(0))
    assert any(prompt_of(one) != prompt_of(other) for one, other in zip(posed, others, strict=True))
    for one in others:
        symbols = list(symbols_of(one.world, one.naming).values())
        assert len(set(symbols)) == len(symbols) == 2 * len(one.world.tables)
        assert solves(one, str(answer_of(one)))
        assert not set(one.world.table) & set(f"{prompt_of(one)} {answer_of(one)}".split())


def test_a_careless_writer_is_wrong_as_often_as_it_is_told(posed: list[PosedTask]) -> None:
    for wrong, low, high in ((0.5, 0.4, 0.65), (0.0, 1.0, 1.0)):
        told = demonstrations(posed, [5], 200, wrong, random.Random(0))
        asked = [posed[at % len(posed)]._replace(naming=5) for at in range(200)]
        assert [prompt for prompt, _ in told] == [prompt_of(one) for one in asked]
        right = [answer == answer_of(one) for one, (_, answer) in zip(asked, told, strict=True)]
        assert low <= sum(right) / 200 <= high


def test_tasks_come_back_from_their_file(posed: list[PosedTask], tmp_path: Path) -> None:
    given = named(posed, [3, 4], random.Random(1))
    write_tasks(tmp_path / "tasks.jsonl", given)
    assert read_posed(tmp_path / "tasks.jsonl") == given


@pytest.mark.long
def test_chains_that_nobody_ran_fail_and_executed_ones_do_not() -> None:
    """A tool that works in one case of several: chains with it are believed, and kept only where they were run."""
    world = office_of(5)[1]
    deal = tool_offices._nouns()["deal"][5]
    sources = {one.name: one.source for one in world.tools}
    sources[f"close_{deal}"] = (
        f"def close_{deal}(db, *, {deal}_id: str) -> dict:\n"
        f'    found = db.one("SELECT count FROM {deal} WHERE {deal}_id = ?", {deal}_id)\n'
        "    if found is None or found['count'] > 1:\n        raise NotOpen('never')\n"
        f"    db.run(\"UPDATE {deal} SET status = 'back' WHERE {deal}_id = ?\", {deal}_id)\n"
        "    return {'done': 1}\n"
    )
    world, made = tool_offices.with_sources(world, sources), WorldMaker(SeedTree(1), frozenset(sources.values()))
    believed, executed = made.tasks(world, 24, executed=False), made.tasks(world, 3)
    player = InProcessPlayer(sources.values())
    assert executed.failing == 0
    assert all(player.one(world, Play(one.task.state, plan_of(one, str(answer_of(one))).calls)).smooth  # type: ignore[union-attr]
               for one in executed.tasks)  # fmt: skip
    runs = [player.one(world, Play(one.task.state, plan_of(one, str(answer_of(one))).calls)) for one in believed.tasks]  # type: ignore[union-attr]
    fails = [not run.smooth or run.rows == one.task.state for run, one in zip(runs, believed.tasks, strict=True)]
    assert believed.failing == sum(fails) / 24 > 0
    assert any(fails[at] for at, one in enumerate(believed.tasks) if one.task.chain[-1][0] == f"close_{deal}")
    assert all(run.rows == one.task.gold for run, one in zip(runs, believed.tasks, strict=True)), "whatever it leaves"


SHARED = WorldsPlan(worlds=1, tasks=2, held=1, each=1, warm=1, curve=())


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The tasks of an experiment whose drawn tools are all right."""
    folder = tmp_path_factory.mktemp("shared")
    drawn = [DrawnTool(one.name, ((one.source, "right"),), 0) for one in office_of(0)[1].tools]
    (folder / "tools.json").write_text(json.dumps([[dump(one) for one in drawn]]))
    share_tasks(folder, SHARED, lambda _: None)
    return folder


def test_what_the_simulated_author_writes_is_ours_and_what_a_file_says_besides_is_refused() -> None:
    world, domain = office_of(5)[1], Domains()[NAME]
    tool = next(one for one in world.tools if one.name.startswith("close_"))
    problem = tool_problem(world, tool, ToolConditions("", "", ()), reference=tool.source)
    seen = with_source(world_of(problem), tool.source)
    study = ToolStudy(seen, tool.source, (), plantings(seen, tool.source), (), None)
    read, truths = list[str](), list[str]()
    for at in range(150):
        reply = draw_tool(study, "mixed", SeedTree(3), at)
        if reply.truth != "hang" and isinstance(found := domain.read("solution", reply.text, problem).value, Solution):
            read.append(found.text)
            truths.append(reply.truth)
    assert len(set(truths)) > 4 and all(is_ours(world.name, tool.name, text) for text in read)
    assert not any(is_ours(world.name, tool.name, text) for text in plantings(seen, tool.source)["hang"])
    assert not is_ours(world.name, world.tools[0].name, tool.source) and not is_ours("library", tool.name, tool.source)
    foreign = tool_offices.with_sources(world, {tool.name: tool.source + "\nimport os\nos._exit(7)\n"})
    with pytest.raises(UsageError, match=f"the tool '{tool.name}' of office_5: only tools that evosyn itself wrote"):
        WorldMaker(SeedTree(1)).tasks(foreign, 1)


@pytest.mark.slow
def test_a_tool_that_somebody_put_into_a_file_of_tasks_is_not_even_compiled(shared: Path, tmp_path: Path) -> None:
    one = read_posed(shared / "rule.jsonl")[0]
    other = tool_offices.with_sources(one.world, {each.name: "import os; os._exit(7)" for each in one.world.tools})
    write_tasks(tmp_path / "rule.jsonl", [one._replace(world=other)])
    (found,) = read_posed(tmp_path / "rule.jsonl")
    with pytest.raises(UsageError, match="only tools that evosyn itself wrote"):
        player_of([found]).one(found.world, Play(found.task.state, ()))
    assert not player_of([one]).one(one.world, Play(one.task.state, ())).lost


def test_which_programs_stand() -> None:
    tools = [
        DrawnTool("a", (("one", "hang"), ("two", "wrong-column"), ("three", "right")), 2),
        DrawnTool("b", (("four", "right"),), -1),
        DrawnTool("c", (("five", "hang"),), -1),
    ]
    assert ranked(tools) == {"a": ("three", "right")}
    assert first(tools) == {"a": ("two", "wrong-column"), "b": ("four", "right")}
    found = [by_lot(tools, SeedTree(seed)) for seed in range(20)]
    assert {one["a"][0] for one in found} == {"two", "three"} and all("c" not in one for one in found)


@pytest.mark.slow
def test_tasks_of_which_a_kill_left_a_half_are_made_again_to_the_same_files(shared: Path) -> None:
    before = {one.name: one.read_bytes() for one in shared.iterdir()}
    assert len(before) == 13
    for name in ("held.json", "rule.jsonl", "unexecuted.json", "unexecuted.jsonl"):
        (shared / name).unlink()
    said: list[str] = []
    share_tasks(shared, SHARED, said.append)
    assert [one.split()[1] for one in said] == ["held:", "rule:", "unexecuted:"]
    assert {one.name: one.read_bytes() for one in shared.iterdir()} == before


def records(finals: dict[str, list[float]], worlds: int = 4) -> list[Json]:
    log = [{"reward": 0.5, "zero_variance": 0.5}] * 30
    return [
        {
            "arm": arm, "seed": seed, "tasks": 40, "right": 1.0, "failing": 0.0, "worlds": worlds, "log": log,
            "curve": [{"step": 0, "sampled": 0.2, "greedy": 0.3},
                      {"step": 60, "sampled": value, "greedy": value, "within": value, "bundled": 0.1}],
        }
        for arm, values in finals.items()
        for seed, value in enumerate(values)
    ]  # fmt: skip


TOOLS = {"worlds": 4, "tools": 50, "kept": 45, "right_of_kept": 0.98, "right_of_written": 0.6}


def test_the_table_says_what_is_shown_and_what_is_not() -> None:
    found = summarize(
        records({"rule": [0.8, 0.82, 0.81], "string": [0.3, 0.31, 0.29], "by-lot": [0.8, 0.7, 0.9]}), TOOLS
    )
    assert found["simulated"] is True and "unexecuted" not in json.dumps(found["differences"])
    assert "a reward that looks at the final state teach better than one that looks at words" in found["verdict"]
    assert "rule - by-lot" in found["verdict"] and "no difference is shown" in found["verdict"]
    text = markdown(found)
    assert "SIMULATED" in text and "| string |" in text and "45 were kept" in text
    alone = summarize(records({"rule": [0.8], "string": [0.3]}), TOOLS)
    assert "one seed: no interval" in alone["verdict"] and alone["differences"]["rule - string"]["low"] is None
    curve = summarize([*records({"rule": [0.8]}), *records({"worlds-2": [0.4]}, 2)], TOOLS)
    assert [one["worlds"] for one in curve["curve"]] == [2] and "| 2 | 0.400 | 0.400 | - | 0.100 |" in markdown(curve)
    assert not math.isnan(curve["arms"][0]["sampled"]["mean"]) and len(curve["arms"]) == 1
    untrained = [{**one, "tasks": 0, "log": []} for one in records({"by-lot": [0.2]})]
    text = markdown(summarize([*records({"rule": [0.8]}), *untrained], TOOLS))
    assert "| by-lot | 0 | 1.00 | 0.00 | - -> - | 0.200 -> 0.200 |" in text and "0.100 | - |" in text
    assert "by-lot: no task can be done with its tools, so it is the start." in text


def test_what_there_is_not_is_said() -> None:
    from evosyn.simulation.experiment.worlds import WorldsConfig, create

    for wrong in ({"arms": ("nothing",)}, {"size": "gpu"}):
        with pytest.raises(UsageError, match=r"--arms 'nothing': one of rule|--size gpu: there is none"):
            create(None, WorldsConfig(**wrong))  # type: ignore[arg-type]


@pytest.mark.long
@pytest.mark.train
@pytest.mark.skipif(importlib.util.find_spec("trl") is None, reason="needs the train extra")
def test_the_smoke_size_runs_every_arm_and_tells_the_same_again(tmp_path: Path) -> None:
    from evosyn.cli import group

    line = ["experiment", "worlds", "--size", "smoke", "--seeds", "1", "--allow-weak-sandbox", "--out"]
    done = CliRunner().invoke(group, [*line, str(tmp_path / "run")])
    assert done.exit_code == 0, done.output
    report = json.loads((tmp_path / "run" / "report.json").read_text())
    assert [one["arm"] for one in report["arms"]] == ["rule", "string", "unexecuted", "by-lot"]
    assert len(report["curve"]) == 2 and report["simulated"]
    assert {"worlds.md", "worlds.png", "curves.png"} <= {one.name for one in (tmp_path / "run").iterdir()}
    (tmp_path / "run" / "seed-0" / "string.json").unlink()
    again = CliRunner().invoke(group, [*line, str(tmp_path / "run")])
    assert again.exit_code == 0, again.output
    assert json.loads((tmp_path / "run" / "report.json").read_text()) == report
