"""`evosyn env evolve`: what a run writes is the same at any concurrency, after any kill and any spent budget; another student
is another epoch of it; what it keeps goes on to the other commands."""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from simulation import TEACHER
from simulation.offline import OfflineConfig, OfflineTeacher
from simulation.offline import create as create_offline

from evosyn.budget import Budget
from evosyn.chat import Reply, Request
from evosyn.cli.env import command
from evosyn.cli.inspect import command as inspect
from evosyn.environments import sources
from evosyn.errors import BudgetSpent, UsageError
from evosyn.journal import Journal
from evosyn.ports import TeacherTools
from evosyn.reading.opening import open_directory
from evosyn.view.answers import open_view
from evosyn.view.page import exported

SEED = os.environ.get("EVOSYN_TEST_SEED", "0")
SMALL = ("--from", "builtin:subset-sum", "--from", "builtin:circuit", "--evaluations", "8", "--per-level", "4",
         "--reviews", "1", "--quiet", "--set", "ladder.seeds=4", "--teacher", TEACHER)  # fmt: skip
FILES = ("journal.jsonl", "environments.jsonl", "calibration.jsonl", "rejects.jsonl")


BUDGETS: list[Budget] = []


class Metered(OfflineTeacher):
    """The simulation as if it were paid for."""

    budget: Budget

    async def complete(self, request: Request) -> Reply:
        await self.budget.reserve()
        reply = await super().complete(request)
        self.budget.settle(reply)
        return reply


def create_metered(tools: TeacherTools, config: OfflineConfig) -> Metered:
    made = create_offline(tools, config)
    made.__class__ = Metered
    made.budget = tools.budget
    BUDGETS.append(tools.budget)
    return made


def evolve(out: Path, *more: str, small: tuple[str, ...] = SMALL) -> Result:
    return CliRunner().invoke(command, ["evolve", "--out", str(out), *small, *more])


def written(out: Path) -> Mapping[str, object]:
    """What a run wrote for others: seconds are no part of it, nor is the name of its directory."""
    found: dict[str, object] = {name: (out / name).read_bytes() for name in FILES}
    found |= {path.name: path.read_bytes() for path in sorted((out / "programs").glob("*.py"))}
    found["card"] = (out / "README.md").read_bytes().partition(b"\n")[2]
    report = json.loads((out / "report.json").read_text())
    assert set(report["digests"]) <= set(report["files"])
    return {**found, "report": {**report, "wall_s": 0, "digests": None}}


def paid(out: Path) -> list[str]:
    """The replies of evaluations, each by what was asked."""
    events = [event for file in (out / "evaluations").glob("*.jsonl") for event in Journal(file).events()]
    return [json.dumps(event["key"]) for event in events if event["event"] == "reply"]


@pytest.fixture(scope="module")
def evolved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("evolved") / "run"
    ended = evolve(out, "--set", "workbench.teacher.calls=32")
    assert ended.exit_code == 0, (ended.output, ended.exception)
    return out


def test_one_at_a_time_writes_the_same_bytes_as_many(evolved: Path, tmp_path: Path) -> None:
    ended = evolve(tmp_path / "one", "--set", "loop.concurrency=1", "--set", "workbench.teacher.calls=1")
    assert ended.exit_code == 0, (ended.output, ended.exception)
    assert written(tmp_path / "one") == written(evolved)


def test_continue_adds_to_what_was_made_where_the_command_names_no_limit(evolved: Path, tmp_path: Path) -> None:
    out = shutil.copytree(evolved, tmp_path / "more")
    before = json.loads((out / "report.json").read_text())["evaluations"]
    at = SMALL.index("--evaluations")
    ended = evolve(out, "--continue", "2", small=SMALL[:at] + SMALL[at + 2 :])
    assert ended.exit_code == 0, (ended.output, ended.exception)
    assert before + 2 <= json.loads((out / "report.json").read_text())["evaluations"] < before + 10


def killed(out: Path, lines: int) -> None:
    """A run that is killed as soon as its evaluations have so many lines."""
    line = [sys.executable, "-m", "evosyn", "env", "evolve", "--out", str(out), *SMALL]
    process = subprocess.Popen(line, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    until = time.monotonic() + 300
    while process.poll() is None and time.monotonic() < until:
        if sum(file.read_bytes().count(b"\n") for file in out.glob("evaluations/*.jsonl")) >= lines:
            break
        time.sleep(0.005)
    process.kill()
    process.wait()


def _killed_and_resumed(evolved: Path, out: Path, share: float) -> None:
    lines = sum(file.read_bytes().count(b"\n") for file in evolved.glob("evaluations/*.jsonl"))
    killed(out, 1 + int(share * lines))
    before = paid(out)
    ended = evolve(out)
    assert ended.exit_code == 0, (ended.output, ended.exception)
    assert written(out) == written(evolved)
    assert paid(out)[: len(before)] == before and len(set(paid(out))) == len(paid(out))  # nothing was paid twice


@pytest.mark.slow
@pytest.mark.parametrize("share", [0.15, 0.7])
def test_a_killed_run_ends_as_one_that_was_not(evolved: Path, tmp_path: Path, share: float) -> None:
    _killed_and_resumed(evolved, tmp_path / "run", share)


@pytest.mark.long
@pytest.mark.parametrize("share", [random.Random(f"evolve/{SEED}/{at}").random() for at in range(20)])
def test_a_run_killed_at_any_instant_ends_as_one_that_was_not(evolved: Path, tmp_path: Path, share: float) -> None:
    _killed_and_resumed(evolved, tmp_path / "run", share)


def test_a_finished_run_is_not_made_again(evolved: Path) -> None:
    before, replies = written(evolved), paid(evolved)
    assert evolve(evolved).exit_code == 0
    assert (written(evolved), paid(evolved)) == (before, replies)
    for name in (*FILES[1:], "README.md"):
        (evolved / name).unlink()
        assert evolve(evolved).exit_code == 0
        assert (written(evolved), paid(evolved)) == (before, replies)


@pytest.mark.slow
def test_a_budget_is_never_passed_and_the_same_command_goes_on(tmp_path: Path) -> None:
    out, metered = tmp_path / "run", ("--teacher", f"{__name__}:create_metered")
    BUDGETS.clear()
    ended = evolve(out, *metered, "--max-calls", "60")
    assert isinstance(ended.exception, BudgetSpent)
    (budget,) = set(BUDGETS)
    assert budget.spent.calls == 60  # of the author and of the student, in loops of their own
    assert json.loads((out / "report.json").read_text())["stopped"] == "cost"
    before = paid(out)
    assert evolve(out).exit_code in (0, 1)  # proposals that ran into the budget were free ones: another search went on
    assert paid(out)[: len(before)] == before and len(set(paid(out))) == len(paid(out))
    report = json.loads((out / "report.json").read_text())
    assert report["stopped"] == "evaluations" and report["evaluations"] >= 8


def test_every_candidate_is_kept_or_has_a_reason_and_the_simulation_is_named(evolved: Path) -> None:
    report = json.loads((evolved / "report.json").read_text())
    assert report["kind"] == "environment-search" and report["simulated"] is True
    assert report["kept"] + sum(report["dropped"].values()) == report["asked"] == report["evaluations"] >= 8
    assert report["kept"] == len(report["environments"]) == report["new"] + report["begun"]["kept"] > 0
    assert "SIMULATED by offline-teacher" in (evolved / "README.md").read_text()
    rows = [json.loads(line) for line in (evolved / "environments.jsonl").read_text().splitlines()]
    assert all(0 <= row["score"] <= 1 and len(row["rates"]) == 5 for row in rows)
    rates = [json.loads(line) for line in (evolved / "calibration.jsonl").read_text().splitlines()]
    assert {line["environment"] for line in rates} == {row["id"] for row in rows}
    assert all(0 <= line["solved"] <= line["n"] == 4 for line in rates)


@pytest.mark.slow
def test_another_student_is_another_epoch_in_which_all_members_are_measured_anew(evolved: Path, tmp_path: Path) -> None:
    out = tmp_path / "run"
    shutil.copytree(evolved, out)
    ended = evolve(out, "--student", f"{TEACHER}:strong", "--json")
    assert ended.exit_code in (0, 1), (ended.output, ended.exception)  # a strong one may find nothing hard enough
    before = json.loads((evolved / "report.json").read_text())
    after = json.loads((out / "report.json").read_text())
    assert after["epoch"] != before["epoch"] and after["reassessed"] > 0 == before["reassessed"]
    assert after["evaluations"] == before["evaluations"]
    assert len(list((out / "evaluations").glob("*.jsonl"))) == 2
    (event,) = [one for one in Journal(out / "journal.jsonl").events() if one["event"] == "reassess"]
    assert event["epoch"] == after["epoch"] and len(event["evaluations"]) == after["reassessed"]
    again = (out / "journal.jsonl").read_bytes()
    assert evolve(out, "--student", f"{TEACHER}:strong").exit_code == ended.exit_code
    assert (out / "journal.jsonl").read_bytes() == again


def test_another_run_in_the_same_directory_is_refused(evolved: Path) -> None:
    ended = evolve(evolved, "--seed", "1")
    assert isinstance(ended.exception, UsageError) and "seed" in str(ended.exception)


def test_what_no_search_can_begin_with_is_said(tmp_path: Path) -> None:
    (tmp_path / "broken.py").write_text("import os\n")
    small = ("--from", str(tmp_path / "broken.py"), "--quiet", "--teacher", TEACHER)
    ended = evolve(tmp_path / "run", small=small)
    assert isinstance(ended.exception, UsageError) and "broken: l1: no-generate" in str(ended.exception)


@pytest.mark.slow
def test_a_dry_run_says_what_it_would_take_and_writes_nothing(tmp_path: Path) -> None:
    ended = evolve(tmp_path / "dry", "--dry-run", "--json")
    assert ended.exit_code == 0, (ended.output, ended.exception)
    found = json.loads(ended.output)
    assert found["phases"]["answer"]["calls"] == 8 * 5 * 4 and found["phases"]["review"]["calls"] == 8
    assert found["calls"] == sum(phase["calls"] for phase in found["phases"].values())
    assert found["cost"] == 0.0 and found["evaluations"] == 8 and not (tmp_path / "dry" / "journal.jsonl").exists()


def test_what_was_kept_is_a_name_for_the_other_commands(evolved: Path, tmp_path: Path) -> None:
    rows = [json.loads(line) for line in (evolved / "environments.jsonl").read_text().splitlines()]
    assert {Path(name).stem for name in sources([str(evolved)])} == {row["id"] for row in rows}
    asked = ["rows", str(evolved), "--out", str(tmp_path / "rows"), "--per-env", "5"]
    ended = CliRunner().invoke(command, asked)
    assert ended.exit_code == 0, ended.output
    assert json.loads((tmp_path / "rows" / "report.json").read_text())["kept"] == 5 * len(rows)


def test_inspect_says_what_was_kept_and_why_and_where_it_came_from(evolved: Path) -> None:
    def told(*asked: str) -> str:
        ended = CliRunner().invoke(inspect, [str(evolved), *asked])
        assert ended.exit_code == 0, (asked, ended.output, ended.exception)
        return ended.output

    report = json.loads((evolved / "report.json").read_text())
    first = told()
    assert f"{report['kept']} of {report['asked']} candidates are kept" in first and "SIMULATED" in first
    (best, *_) = [json.loads(line) for line in (evolved / "environments.jsonl").read_text().splitlines()]
    why = told("--why", best["id"])
    assert best["candidate"] in why and "student: right at level 1:" in why and "review: accepts" in why
    assert "def verify(" in told("--program", best["candidate"])
    lineage = told("--lineage", best["candidate"]).splitlines()
    assert lineage[0].startswith(best["candidate"]) and "initial" in lineage[-1]
    assert "everything ever kept" in told("--islands")
    for reject in [json.loads(line) for line in (evolved / "rejects.jsonl").read_text().splitlines()]:
        if reject["item"] == "environment":
            assert reject["reason"] in told("--why", reject["problem_id"])
    answer = json.loads(told("--json"))
    assert answer["kind"] == "environment-search" and answer["tables"][0]["rows"]
    assert len(answer["grids"]["axes"]) == 3


def test_the_page_answers_the_same(evolved: Path) -> None:
    reading = open_directory(evolved)
    assert list(reading.highlights(3))[:2] == ["overview", "candidates"]
    html = exported(open_view(evolved))
    assert "showEnvironmentSearch" in html and "environment-search" in html and "def verify(" in html
