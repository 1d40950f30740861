"""`evosyn score` as a user runs it: keys, exit codes, messages, and the real pool where it is at hand."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import numpy as np
import pytest

from evosyn.cli import main
from evosyn.matrices import write_matrices
from evosyn.records import PassMatrix

REAL = Path(__file__).parents[3] / "shared" / "data" / "humaneval_codegen16b_even.jsonl.gz"
WEAK = "--allow-weak-sandbox"


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as ended:
        main(["score", WEAK, *arguments])
    captured = capsys.readouterr()
    return int(ended.value.code or 0), captured.out, captured.err


@pytest.fixture
def matrices(tmp_path: Path) -> str:
    rng = np.random.default_rng(0)
    made = []
    for index in range(5):
        human = np.array(["P", "F", "P", "F"])
        cells = np.where(rng.random((4, 5)) < 0.3, "F", np.broadcast_to(human[:, None], (4, 5)))
        made.append(PassMatrix(f"p{index}", cells, human))
    path = tmp_path / "matrices.jsonl"
    write_matrices(path, made)
    return str(path)


def test_json_has_the_stable_keys(capsys: pytest.CaptureFixture[str], matrices: str) -> None:
    code, out, _ = run(capsys, "--pool", matrices, "-M", "3", "-N", "3", "--draws", "4", "--json")
    shown = json.loads(out)
    assert code == 0
    assert {"pool", "M", "N", "draws", "ties", "problems", "skipped", "oracle", "strategies"} <= set(shown)
    assert (shown["M"], shown["N"], shown["draws"], shown["problems"]) == (3, 3, 4, 5)
    assert {row["strategy"] for row in shown["strategies"]} >= {"initial", "gap", "codet", "random"}


def test_problems_that_say_the_same_narrow_no_interval(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    human = np.array(["P", "F", "P", "F"])
    cells = [np.where(rng.random((4, 5)) < rng.random(), "F", "P") for _ in range(12)]
    widths = {}
    for statement in ("Task {0}.", "Task {0}, said in way {1}."):
        made = [
            PassMatrix(f"p{index}-{copy}", cells[index], human, statement=statement.format(index, copy))
            for index in range(12)
            for copy in range(5)
        ]
        write_matrices(tmp_path / "m.jsonl", made)
        arguments = ("--pool", str(tmp_path / "m.jsonl"), "--strategy", "initial")
        shown = json.loads(run(capsys, *arguments, "--json")[1])
        low, high = shown["strategies"][0]["ci"]
        widths[statement] = high - low
        many = "48 problems say what another one says, and count as one task with it: p0-1, p0-2, "
        assert (many in run(capsys, *arguments)[1]) is (len(shown["repeated"]) == 48) is ("{1}" not in statement)
    same, different = widths.values()
    assert same > 2 * different > 0


def test_an_invalid_strategy_is_named_with_its_reason_and_ends_with_1(
    capsys: pytest.CaptureFixture[str], matrices: str, tmp_path: Path
) -> None:
    bad = tmp_path / "bad.py"
    bad.write_text("def rank(evidence):\n    return evidence.nothing\n")
    code, out, _ = run(capsys, "--pool", matrices, "--strategy", str(bad), "--strategy", "initial")
    assert code == 1
    assert "bad is invalid: AttributeError: evidence has no attribute 'nothing'" in out
    assert "preferred" not in out  # there is nothing that the other one was compared with


@pytest.mark.parametrize(
    ("program", "code", "told"),
    [
        ("    # evidence.values\n    return evidence.nothing", 1, "is invalid: AttributeError"),
        ("    if len(evidence.passed) < 0:\n        evidence.values\n    return 1 / 0", 1, "ZeroDivisionError"),
        ("    return evidence.values[0].sum(1), evidence.passed.sum(0)", 0, "is unknown here: evidence.values (None)"),
        ("    return list(map(len, evidence.solution_texts)), 0", 0, "unknown here: evidence.solution_texts (empty)"),
        (
            "    evidence.values\n    return evidence.passed.sum(1), evidence.passed.sum(0)",
            0,
            "values (5 of 5 problems), and ranks without",
        ),
    ],
)
def test_only_a_strategy_that_read_what_is_unknown_is_excused_for_being_invalid(
    capsys: pytest.CaptureFixture[str], matrices: str, tmp_path: Path, program: str, code: int, told: str
) -> None:
    (tmp_path / "own.py").write_text(f"def rank(evidence):\n{program}\n")
    ended, out, _ = run(capsys, "--pool", matrices, "--strategy", str(tmp_path / "own.py"))
    assert (ended, told in " ".join(out.split())) == (code, True), out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["-M", "99", "--strict"], "5 x fewer than 99 judged solutions"),
        (["--k", "30", "-M", "12"], "error: options: scoring: k = 30 is above M = 12: criterion 2 looks at the k best"),
        (["--strategy", "inital"], "did you mean 'initial'"),
    ],
)
def test_what_cannot_be_scored_ends_with_2_and_says_why(
    capsys: pytest.CaptureFixture[str], matrices: str, arguments: list[str], message: str
) -> None:
    code, _, err = run(capsys, "--pool", matrices, *arguments)
    assert code == 2
    assert message in err
    assert "{" not in err


def test_a_directory_with_matrices_is_a_pool(capsys: pytest.CaptureFixture[str], matrices: str) -> None:
    code, out, _ = run(capsys, "--pool", str(Path(matrices).parent), "--strategy", "initial", "--json")
    assert code == 0
    assert json.loads(out)["problems"] == 5


def test_a_directory_without_matrices_is_refused(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    code, _, err = run(capsys, "--pool", str(tmp_path))
    assert code == 2
    assert "holds no matrices" in err


@pytest.mark.skipif(not REAL.exists(), reason="the HumanEval pool is not here")
def test_on_real_model_output_strategies_come_in_the_order_that_was_measured_before(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    made = []
    with gzip.open(REAL, "rt") as lines:
        for line in lines:
            problem = json.loads(line)
            rows = problem["meta"]["recorded_verdicts"]
            if rows and rows[0]:
                human = np.array(list(problem["meta"]["recorded_human"]))
                made.append(PassMatrix(problem["problem_id"], np.array([list(row) for row in rows]), human))
    path = tmp_path / "real.jsonl"
    write_matrices(path, made)
    _, out, _ = run(capsys, "--pool", str(path), "-M", "16", "-N", "16", "--unit", "testing", "--json")
    board = json.loads(out)
    score = {row["strategy"]: row["score"] for row in board["strategies"]}
    assert score["gap"] == pytest.approx(score["coverage"], abs=0.005)
    assert score["codet_gap"] > score["codet"] > score["gap"] > score["hardness"] > score["exclusion"] > score["random"]
    assert score["inverse"] < score["random"] < 0.08
    assert 0.15 < score["initial"] < 0.26
    assert 0.33 < board["oracle"] < 0.47


def test_a_pool_without_matrices_is_executed_and_its_cells_are_remembered(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    pool, verdicts = tmp_path / "pool.jsonl", tmp_path / "cells.sqlite"
    lines = []
    for shift in (1, 2):
        right, wrong = (f"def f(x):\n    return x {sign} {shift}\n" for sign in "+-")
        good = {"kind": "asserts", "asserts": [f"assert f(1) == {1 + shift}", f"assert f(5) == {5 + shift}"]}
        half = {"kind": "asserts", "asserts": ["assert f(1) == 99", f"assert f(7) == {7 + shift}"]}
        problem = {"problem_id": f"add-{shift}", "domain": "python-function", "statement": f"Add {shift}."}
        tested = {"entry_point": "f", "human_testing": good, "solutions": [wrong, right], "testings": [half, good]}
        lines.append(json.dumps({**problem, **tested}))
    pool.write_text("\n".join(lines) + "\n")
    arguments = ("--pool", str(pool), "--strategy", "gap", "--json", "--verdicts", str(verdicts))
    code, out, _ = run(capsys, *arguments)
    whole = json.loads(out)
    assert code == 0
    assert (whole["problems"], whole["oracle"]) == (2, 1.0)
    assert whole["strategies"][0]["score"] == 1.0
    assert verdicts.exists()
    _, out, _ = run(capsys, *arguments, "--unit", "case", "-N", "2")
    assert json.loads(out)["skipped"] == {}


def test_seeds_without_recorded_solutions_are_refused_with_what_to_do(capsys: pytest.CaptureFixture[str]) -> None:
    code, _, err = run(capsys, "--pool", "builtin:python-seeds")
    assert code == 2
    assert "no problem has recorded solutions and testings" in err
    assert "evosyn evolve" in err
