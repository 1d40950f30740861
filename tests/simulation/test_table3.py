"""The small world of table 3: its language, its tasks in real rooms, its student; and a smoke run of everything."""

from __future__ import annotations

import importlib.util
import json
import random
from pathlib import Path

import pytest
from click.testing import CliRunner

from evosyn.cli import group
from evosyn.domains import check_problem
from evosyn.errors import SandboxUnavailable, UsageError
from evosyn.jobs import Limits, ShellCell, ShellJob, ShellScript
from evosyn.shell_world import world_in
from evosyn.simulation.experiment.shell_language import (
    CHOICES,
    COMMANDS,
    ENDS,
    FAMILIES,
    SEE,
    UNTRAINED,
    Errors,
    careless_testing,
    draw_task,
    plan_of,
    whole,
)
from evosyn.worlds.shell import open_shells

needs_train = pytest.mark.skipif(importlib.util.find_spec("trl") is None, reason="needs the train extra")
CAREFUL = Errors(0.0, 0.0, lost=0.0, weak=0.0, empty=0.0, unreadable=0.0)


@pytest.fixture(scope="module")
def shells():
    try:
        opened = open_shells(workers=2)
    except SandboxUnavailable as error:
        pytest.skip(str(error))
    with opened:
        yield opened


def test_the_language_is_as_large_as_is_said_and_no_untrained_family_is_new_in_its_halves():
    assert len(set(COMMANDS)) == len(COMMANDS) == 62
    assert len(FAMILIES) == 12 and len(set(UNTRAINED)) == 4
    trained = set(FAMILIES) - set(UNTRAINED)
    for choice, end in UNTRAINED:
        assert choice in {one for one, _ in trained} and end in {one for _, one in trained}


@pytest.mark.parametrize("family", FAMILIES, ids="-".join)
def test_a_careful_author_errs_never_and_a_careless_one_as_often_as_is_said(family):
    rng = random.Random(1)
    task = draw_task(family, rng)
    check_problem(task.problem("p"))
    right = {whole(*family)} | {f"{one}; {two}" for one in CHOICES[family[0]].right for two in ENDS[family[1]].right}
    made = careless_testing(task, CAREFUL, rng).to_json()
    assert made in [task.testing(script).to_json() for script in right]
    plans = [plan_of(task, Errors(lost=0.0), rng) for _ in range(2000)]
    assert max(map(len, plans)) == 4
    done = ["; ".join(str(call.arguments["script"]) for call in plan[-3:-1] if call.name == "bash") for plan in plans]
    share = sum(any(one.endswith(script) for script in right) for one in done) / len(done)
    assert share == pytest.approx(0.49, abs=0.06)


@pytest.mark.parametrize("choice", CHOICES)
def test_in_a_world_every_mistake_shows_and_right_ways_agree(choice, shells):
    """What a choice lists, and what each end makes of the right list, in one look each."""
    step = CHOICES[choice]
    for number, end in enumerate(ENDS):
        task = draw_task((choice, end), random.Random(f"{choice}{end}"))
        world = world_in(task.problem("p").payload)
        look = SEE if task.asks == "state" else ":"

        def cell(first, last, task=task, look=look):
            return ShellCell(ShellScript(task.filled(f"{{ {first}; {last}; }} 2>/dev/null; cd /; {look}")))

        ways = [(step.right[0], one) for one in (*ENDS[end].right, *ENDS[end].wrong)]
        if number == 0:
            ways += [(one, "sort /tmp/list") for one in (*step.right, *step.wrong)]
        cells = tuple(cell(*way) for way in ways)
        seen = [str(one.value["out"]) for one in shells.run([ShellJob(world.text, cells, None, Limits())])[0]]
        ended, listed = seen[:5], seen[5:]
        assert ended[0] == ended[1] and ended[0].strip() and ended[0] not in ended[2:], (choice, end, ended)
        if listed:
            assert listed[0] == listed[1] and listed[0] not in listed[2:], listed


@needs_train
def test_a_student_reads_what_was_done_and_types_it_again():
    from evosyn.simulation.experiment.shell_policy import STOP, Vocabulary, done, read, said
    from evosyn.text.tool_calls import ToolCall

    words, rng = Vocabulary(), random.Random(0)
    assert len(set(words.tokens)) == len(words)
    for family in FAMILIES:
        task = draw_task(family, rng)
        reading = read(task.statement)
        assert 2 not in words.ids(reading.words), "every word of a task is known"
        for call in plan_of(task, Errors(), rng):
            if call.name == "bash":
                typed = ToolCall("bash", {"script": task.filled(str(call.arguments["script"]))})
                assert done(said(task, typed), reading.values, "") == typed
        assert done(["answer", STOP], reading.values, "7") == ToolCall("answer", {"answer": "7"})
        for odd in (
            [],
            [STOP],
            [STOP, "answer", STOP],
            ["@1", STOP],
            [COMMANDS[0], STOP],
            [COMMANDS[0], "@1", "@3", "@1", STOP],
            ["finish"],
        ):
            assert done(odd, reading.values, "") is None


@needs_train
@pytest.mark.train
@pytest.mark.long
def test_the_smoke_size_runs_every_arm_in_rooms_and_goes_on_where_it_stopped(shells, tmp_path: Path):
    assert shells.level
    out = tmp_path / "run"
    line = ["experiment", "table3", "--size", "smoke", "--seeds", "1", "--out", str(out), "--allow-weak-sandbox"]
    found = CliRunner().invoke(group, [*line, "--arms", "evosyn,random"], catch_exceptions=False)
    assert found.exit_code == 0
    report = json.loads((out / "report.json").read_text())
    assert [row["arm"] for row in report["arms"]] == ["evosyn", "random", "teacher", "start"]
    assert report["simulated"] and "SIMULATED" in found.stdout and (out / "table3.md").is_file()
    assert {"evosyn - random", "evosyn - teacher", "evosyn - start"} <= set(report["differences"])
    rows = {row["arm"]: row for row in report["arms"]}
    assert rows["evosyn"]["right"] is not None and rows["teacher"]["sampled"]["mean"] > 0
    turns = (out / "seed-0" / "turns.jsonl").read_bytes()
    (out / "seed-0" / "random.json").unlink()
    again = CliRunner().invoke(group, [*line, "--arms", "evosyn,random", "--json"], catch_exceptions=False)
    assert json.loads(again.stdout)["arms"] == report["arms"]
    assert (out / "seed-0" / "turns.jsonl").read_bytes() == turns, "no episode is run twice"
    other = CliRunner().invoke(group, [*line, "--arms", "evosyn,random", "--split", "paper"])
    assert isinstance(other.exception, UsageError) and "split" in str(other.exception)


@needs_train
def test_as_in_the_paper_students_are_measured_on_the_seeds_and_the_table_says_so(tmp_path: Path):
    from evosyn.rundir import RunDir
    from evosyn.simulation.experiment.choices import Sizes
    from evosyn.simulation.experiment.shell_data import Tasks
    from evosyn.simulation.experiment.table3 import BESIDE, publish_shell

    paper, unseen = (Tasks(3, Sizes(8, 4, 6, 4), split) for split in ("paper", "unseen"))
    names = {
        part: {one.problem.problem_id for one in getattr(unseen, part)} for part in ("measured", "seeds", "training")
    }
    assert paper.measured == unseen.seeds and not names["measured"] & (names["seeds"] | names["training"])
    last = {"step": 1, "greedy": 0.5, "sampled": 0.5, "trained": 0.5}
    records = [{"arm": arm, "seed": 0, "curve": [last]} for arm in ("evosyn", "random", *BESIDE)]
    facts = {"kept": 1, "problems": 1, "arms": {arm: {"rows": 1} for arm in ("evosyn", "random")}}
    with RunDir(tmp_path) as run:
        publish_shell(run, records, [facts], "paper")
    told = (tmp_path / "table3.md").read_text()
    assert "SIMULATED" in told and "the strategy was evolved on them" in told and "| 0.500 | - |" in told
