"""What a file says never steers a terminal: every command escapes it on its way out, and JSON stays JSON."""

from __future__ import annotations

import ast
import copy
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import evosyn.cli
from evosyn.cli import main
from evosyn.matrices import write_matrices
from evosyn.records import PassMatrix

HOSTILE = "\x1b]0;t\x07\x1b[2J\x9b31m\u202e\x00\r\x08\u2028 x"
POOL = {
    "problem_id": "double", "domain": "python-function", "statement": "Return twice x.", "entry_point": "double",
    "starter_code": "def double(x):\n    pass\n", "reference_solution": "def double(x):\n    return 2 * x\n",
    "human_testing": {"kind": "cases", "cases": [{"input": [2], "output": 4}]}, "meta": {"topic": "sums"},
    "solutions": ["def double(x):\n    return x + x\n"], "title": "Double",
    "testings": [{"kind": "asserts", "asserts": ["assert double(1) == 2"]}],
}  # fmt: skip


def leaves(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Where the texts of a JSON value stand."""
    if isinstance(value, str):
        yield path
    elif isinstance(value, dict | list):
        for key, one in value.items() if isinstance(value, dict) else enumerate(value):
            yield from leaves(one, (*path, key))


def replaced(value: Any, path: tuple[Any, ...]) -> Any:
    made = copy.deepcopy(value)
    place = made
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] += HOSTILE
    return made


def printed(capsys: pytest.CaptureFixture[str], *words: object) -> str:
    """What a command writes to the terminal."""
    with pytest.raises(SystemExit):
        main([str(word) for word in words])
    out, err = capsys.readouterr()
    assert not [one for one in out + err if not (one in "\n\t" or one.isprintable())], (words, out + err)
    return out


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("run")
    right = np.array(list("PF"))
    made = [PassMatrix(f"p{at}", np.array([list("PF"), list("FP")]), human_M=right) for at in range(6)]
    write_matrices(folder / "m.jsonl", made)
    with pytest.raises(SystemExit):
        words = ("-M", "2", "-N", "2", "--evaluations", "1", "--set", "scoring.draws=1", "--allow-weak-sandbox")
        main(["evolve", str(folder / "m.jsonl"), "--out", str(folder / "out"), *words])
    return folder / "out"


def test_no_text_of_a_report_reaches_the_terminal_as_it_is(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    report = json.loads((run / "report.json").read_text())
    found = list(leaves(report))
    assert len(found) > 30
    for path in found:
        (run / "report.json").write_text(json.dumps(replaced(report, path)))
        printed(capsys, "inspect", run)
        json.loads(printed(capsys, "inspect", run, "--json"))
    (run / "report.json").write_text(json.dumps(report))


def test_no_text_of_a_pool_or_of_matrices_reaches_the_terminal(
    tmp_path: Path, run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "pool.jsonl"
    for path in leaves(POOL):
        file.write_text(json.dumps(replaced(POOL, path)) + "\n")
        printed(capsys, "pool", "check", file)
        json.loads(printed(capsys, "pool", "check", file, "--json"))
    matrix = json.loads((run.parent / "m.jsonl").read_text().splitlines()[0])
    for path in leaves(matrix):
        file.write_text(json.dumps(replaced(matrix, path)) + "\n")
        printed(capsys, "score", "--pool", file, "--strategy", "initial", "--allow-weak-sandbox")
    printed(capsys, "inspect", f"{tmp_path}/{HOSTILE.replace(chr(0), '')}")
    printed(capsys, "inspect", run, "--why", HOSTILE.replace(chr(0), ""))
    printed(capsys, f"insp{HOSTILE}")


def test_commands_write_through_one_door() -> None:
    folder = Path(evosyn.cli.__file__).parent
    raw = []
    for path in folder.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            called = ast.unparse(node.func) if isinstance(node, ast.Call) else ""
            if path.name != "_output.py" and called in ("click.echo", "click.secho", "click.style", "print", "Console"):
                raw.append(f"{path.name}:{node.lineno}")
    assert not raw
