"""Rows that need packages: refused where programs do not see them, judged where they do, and never judged wrongly."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner
from simulation import TEACHER

import evosyn
from evosyn.cli import group
from evosyn.crossexec.judge import Cell, Judge
from evosyn.crossexec.references import check_references
from evosyn.domains import Domains, check_pool, check_task
from evosyn.errors import FormatError, UsageError
from evosyn.jobs import Call, CallsJob, Protection
from evosyn.matrices import load_matrices
from evosyn.pools import pool_from_json, pool_to_json
from evosyn.records import Verdict
from evosyn.sandbox import open_sandbox
from evosyn.sandbox.packages import lacking
from evosyn.tasks import task_from_json
from evosyn.train.scoring import Scorer, reward_judge
from evosyn.train.service import RewardService

SETTING = "--set workbench.sandbox.packages='[numpy]'"
REFERENCE = "import numpy as np\ndef f(x):\n    return int(np.sum(x))\n"
TESTING = {"kind": "asserts", "asserts": ["assert f([1, 2]) == 3"]}
SCRIPT = "import numpy as np\nprint(int(np.sum([int(x) for x in input().split()])))\n"
LINES = {
    "function": {
        "domain": "python-function",
        "entry_point": "f",
        "human_testing": TESTING,
        "reference_solution": REFERENCE,
        "solutions": [REFERENCE],
        "testings": [TESTING],
    },
    "stdin": {
        "domain": "python-stdin",
        "human_testing": {"kind": "stdin", "cases": [{"input": "1 2", "output": "3"}]},
        "reference_solution": SCRIPT,
        "solutions": [SCRIPT],
        "testings": [{"kind": "stdin", "cases": [{"input": "1 2", "output": "3"}]}],
    },
}


def line(name: str, *packages: str) -> dict[str, object]:
    more = {"packages": list(packages)} if packages else {}
    return {"problem_id": name, "statement": "Add the numbers.", **LINES[name], **more}


@pytest.fixture(params=LINES)
def asking(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A pool of problems that need numpy, without solutions."""
    path = tmp_path / "pool.jsonl"
    rows = [{**line(request.param, "numpy"), "problem_id": f"asking-{number}"} for number in range(6)]
    path.write_text("".join(json.dumps({**row, "solutions": [], "testings": []}) + "\n" for row in rows))
    return path


def with_solutions(pool: Path) -> None:
    rows = [json.loads(text) for text in pool.read_text().splitlines()]
    name = "function" if "entry_point" in rows[0] else "stdin"
    pool.write_text(
        "".join(json.dumps({**line(name, "numpy"), "problem_id": row["problem_id"]}) + "\n" for row in rows)
    )


def commands(pool: Path, out: Path) -> dict[str, list[str]]:
    return {
        "pool check": ["pool", "check", str(pool), "--execute"],
        "crossexec": ["crossexec", str(pool), "--out", str(out)],
        "reward serve": ["reward", "serve", "--pool", str(pool), "--port", "0"],
        "eval": ["eval", "--teacher", TEACHER, "--bench", str(pool), "--out", str(out)],
        "synthesize": [
            "synthesize",
            str(pool.parent / "mine.py"),
            "--teacher",
            TEACHER,
            "--seeds",
            str(pool),
            "--out",
            str(out),
        ],
        "evolve": ["evolve", str(pool), "--teacher", TEACHER, "--out", str(out)],
    }


@pytest.mark.parametrize("command", commands(Path(), Path()))
def test_a_command_refuses_the_row_before_anything_is_spent(command: str, asking: Path, tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(
        "def rank(evidence):\n    return evidence.passed.sum(1), evidence.passed.sum(0)\n"
    )
    if command == "crossexec":
        with_solutions(asking)
    with pytest.raises(UsageError) as refused:
        CliRunner().invoke(
            group, commands(asking, tmp_path / "out")[command], catch_exceptions=False, standalone_mode=False
        )
    assert SETTING in str(refused.value) and "asking-0" in str(refused.value)


def test_with_the_setting_the_row_is_judged(asking: Path, tmp_path: Path) -> None:
    with_solutions(asking)
    setting = ["--set", "workbench.sandbox.packages=[numpy]", "--allow-weak-sandbox"]
    for name in ("pool check", "crossexec"):
        line = [*commands(asking, tmp_path / "out")[name], *setting]
        assert not CliRunner().invoke(group, line, catch_exceptions=False, standalone_mode=False).return_value
    matrix, *_ = load_matrices(tmp_path / "out" / "matrices.jsonl")
    assert matrix.verdicts_MN.tolist() == [["P"]]
    assert "numpy" in str(matrix.meta["sandbox"]["packages"])


def test_where_programs_do_not_see_it_the_row_is_unknown_and_never_failed(asking: Path) -> None:
    with_solutions(asking)
    pool, *_ = evosyn.load(asking)
    cell = Cell(pool.problem, pool.solutions[0], pool.testings[0])
    with open_sandbox(workers=1, allow_weak=True) as sandbox:
        (result,) = Judge(sandbox, Domains()).verify([cell])
        with pytest.raises(UsageError, match="needs numpy"):
            evosyn.cross_execute([pool], sandbox=sandbox)
    assert result.verdict is Verdict.UNKNOWN and SETTING in result.detail


def test_only_what_is_missing_is_asked_for() -> None:
    pool, shown = pool_from_json(line("function", "numpy", "PyYAML", "six")), ("numpy 2.1", "needed-by-numpy 1")
    told = lacking(pool.problem, Protection("local", "strong", "1", packages=shown))
    assert "PyYAML, six" in told and "workbench.sandbox.packages" in told and "numpy" not in told
    assert not lacking(pool.problem, Protection("local", "strong", "1", packages=(*shown, "pyyaml 6", "six 1")))


def test_a_row_that_does_not_say_what_it_imports_is_told_how_it_is_shown() -> None:
    pool = pool_from_json(line("function"))
    with open_sandbox(workers=1, allow_weak=True) as sandbox:
        (error,) = check_references(Judge(sandbox, Domains()), "p.jsonl", [pool])
    assert "reference_solution" in str(error) and f"imports numpy, which programs do not see: {SETTING}" in str(error)
    assert "is wrong" not in str(error)


@pytest.mark.parametrize(
    "name, told", [("numpy", True), ("yaml", True), ("nothing_of_that_name", False), ("evosyn", False)]
)
def test_only_what_could_be_shown_is_offered(name: str, told: bool) -> None:
    with open_sandbox(workers=1, allow_weak=True) as sandbox:
        ((outcome,),) = sandbox.run([CallsJob(f"import {name}\ndef f(): return 1\n", "f", (Call(),))])
    assert f"No module named {name!r}" in outcome.detail
    assert ("--set workbench.sandbox.packages=" in outcome.detail) is told
    assert name != "yaml" or "[PyYAML]" in outcome.detail


def test_an_item_of_the_service_has_its_own_error() -> None:
    task = {"entry_point": "f", "testing": TESTING}
    items = [
        {"task": {**task, "packages": ["numpy"]}, "completion": "def f(x): return 3"},
        {"task": task, "completion": "def f(x): return 3"},
    ]
    with open_sandbox(workers=1, allow_weak=True) as sandbox:
        service = RewardService(Scorer(reward_judge(sandbox, Domains())), {}, port=0)
        answer = service.score(json.dumps({"items": items}).encode())
        service.close()
    asking, plain = answer[1]["scores"]
    assert asking["reward"] is None and SETTING in asking["error"]
    assert plain["reward"] == 1.0 and "error" not in plain


def test_packages_of_a_line_are_payload_and_are_read_back() -> None:
    for name in LINES:
        pool = pool_from_json(line(name, "numpy", "pandas"))
        assert pool.problem.payload["packages"] == ["numpy", "pandas"]
        assert pool_from_json(pool_to_json(pool)).problem == pool.problem
        assert pool_from_json(line(name)).problem.payload.get("packages") is None


@pytest.mark.parametrize("given", [["numpy; import os"], [""], "numpy", [1], {"numpy": 1}])
def test_what_is_no_list_of_distributions_is_refused_with_its_field(given: object) -> None:
    with pytest.raises(FormatError) as refused:
        check_pool(pool_from_json({**line("function"), "packages": given}))
    assert "packages" in refused.value.field
    with pytest.raises(UsageError, match="packages"):
        task_from_json({"entry_point": "f", "testing": TESTING, "packages": given}, "task", check_task)
