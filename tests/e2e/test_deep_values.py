"""Values that models, files and programs nest deeply end as reasons and verdicts, through whole commands."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from evosyn.cli import group
from evosyn.domains import domain
from evosyn.pools import problem_from_json
from evosyn.strategies import load_known

TEACHER = "tests.recorded.deep:create"
SMALL = ("--problems", "2", "-M", "2", "-N", "2", "--quiet")


def nested(levels: int) -> object:
    """So many lists inside each other."""
    found: list[object] = []
    for _ in range(levels - 1):
        found = [found]
    return found


def run(*line: object) -> Result:
    return CliRunner().invoke(group, list(map(str, line)))


def made(out: Path, levels: int, *line: str) -> dict[str, object]:
    """The report of a run whose every reply is nested so deeply; run again, it has nothing to add."""
    for _ in range(2):
        ended = run(*line, "--teacher", f"{TEACHER}:{levels}", "--out", out)
        assert ended.exit_code in (0, 1) and not isinstance(ended.exception, ValueError), (
            ended.output,
            ended.exception,
        )
    return dict(json.loads((out / "report.json").read_text()))


@pytest.mark.parametrize("levels", [90, 148, 300, 2000])
def test_what_a_model_adds_to_the_uses_of_tools_ends_no_run(levels: int, tmp_path: Path) -> None:
    report = made(tmp_path / "out", levels, "world", "make", "bike-rental", "--tasks", "0", "-M", "2", "-N", "2",
                  "--strategy", "codet_medoid", "--quiet", "--set", "sizes.least_tools=3")  # fmt: skip
    asked = report["tools"]["asked"]  # type: ignore[index]
    assert asked if levels <= 150 - 2 else not asked
    assert report["kept"] == 0


@pytest.mark.parametrize(
    ("seeds", "levels", "made_of_two"),
    [("math-seeds", 90, 2), ("math-seeds", 149, 0), ("math-seeds", 300, 0), ("python-seeds", 2000, 0)],
)
def test_problems_that_are_nested_end_no_run(seeds: str, levels: int, made_of_two: int, tmp_path: Path) -> None:
    strategy = tmp_path / "strategy.py"
    strategy.write_text(load_known("codet"))
    report = made(tmp_path / "out", levels, "synthesize", str(strategy), "--seeds", f"builtin:{seeds}", *SMALL)
    assert report["stages"]["problem"]["left"] == made_of_two  # type: ignore[index]
    assert made_of_two or report["dropped"] == {"no-json": 2}


SEED = {"problem_id": "p", "domain": "python-function", "statement": "Write wrap(x).", "entry_point": "wrap"}
WRAPS = "def wrap(x):\n    for _ in range(300):\n        x = [x]\n    return x\n"


@pytest.mark.parametrize("levels", [260, 2000])
def test_a_testing_that_is_nested_too_deeply_is_none(levels: int) -> None:
    value = "[" * levels + "]" * levels
    text = f'{{"kind": "cases", "cases": [{{"input": [{value}], "output": 1}}]}}'
    assert domain("python-function").read("testing", f"```json\n{text}\n```", problem_from_json(SEED)).value is None


def line(value: object, **more: object) -> dict[str, object]:
    return {
        "problem_id": "wrap",
        "domain": "python-function",
        "statement": "Write wrap(x).",
        "entry_point": "wrap",
        "solutions": [WRAPS, "def wrap(x):\n    return x\n"],
        "testings": [{"kind": "cases", "cases": [{"input": [1], "output": value}]},
                     {"kind": "cases", "cases": [{"input": [1], "output": 1}]}],
        **more,
    }  # fmt: skip


@pytest.mark.parametrize("levels", [160, 300, 2000])
@pytest.mark.parametrize("field", ["testings", "meta", "payload"])
def test_a_line_that_is_nested_too_deeply_is_named(field: str, levels: int, tmp_path: Path) -> None:
    path = tmp_path / "pool.jsonl"
    value = f"{'[' * levels}{']' * levels}"
    given = line("@") if field == "testings" else line(1, **{field: {"free": "@"}})
    path.write_text(json.dumps(line(1, problem_id="first")) + "\n" + json.dumps(given).replace('"@"', value) + "\n")
    for command in (("pool", "check", path), ("crossexec", path, "--out", tmp_path / "out")):
        ended = run(*command)
        said = f"{ended.output}{ended.exception}"
        assert "pool.jsonl:2: " in said and "nested too deeply" in said


def test_a_program_that_returns_what_is_nested_too_deeply_fails(tmp_path: Path) -> None:
    path, out = tmp_path / "pool.jsonl", tmp_path / "out"
    path.write_text(json.dumps(line(nested(120), problem_id="deep")) + "\n")
    ended = run("crossexec", path, "--out", out)
    assert ended.exit_code == 0, (ended.output, ended.exception)
    assert json.loads((out / "matrices.jsonl").read_text())["verdicts"] == ["FF", "FP"]
