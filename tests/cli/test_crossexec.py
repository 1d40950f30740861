"""`evosyn crossexec` and `evosyn pool check`, as a user runs them."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from evosyn.domains.base import BaseDomain
from evosyn.matrices import load_matrices
from evosyn.ports import DomainTools, PluginConfig
from evosyn.records import Problem, Solution, Testing

SEED = {
    "problem_id": "double", "domain": "python-function", "statement": "Return twice x.", "entry_point": "double",
    "starter_code": "def double(x):\n    pass\n",
    "human_testing": {"kind": "cases", "cases": [{"input": [3], "output": 6}]},
    "reference_solution": "def double(x):\n    return 2 * x\n",
}  # fmt: skip
RECORDED = {
    **SEED,
    "meta": {"copies": [5, 1, 2]},
    "solutions": ["def double(x):\n    return 2 * x\n", "def double(x):\n    return x * x\n", "def double(:\n"],
    "testings": [
        {"kind": "asserts", "asserts": ["assert double(2) == 4"]},
        {"kind": "asserts", "asserts": ["assert ____"]},
    ],
}


def evosyn(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "evosyn", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)


def pool_file(tmp_path: Path, *lines: dict[str, Any]) -> Path:
    path = tmp_path / "pool.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def test_a_pool_becomes_matrices_and_a_report(tmp_path: Path) -> None:
    pool = pool_file(tmp_path, RECORDED, {**SEED, "problem_id": "empty"})
    done = evosyn("crossexec", pool, "--out", tmp_path / "x", "--json", "--allow-weak-sandbox")
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert (report["cells"], report["human_cells"], report["executed"], report["cached"]) == (6, 3, 9, 0)
    assert (report["problems"], report["skipped"], report["unknown"], report["flaky"]) == (1, 1, 0, 0)
    assert (report["broken_testings"], report["vacuous_testings"]) == (1, 0)
    assert report["wall_s"] > 0
    assert report["cells_per_s"] > 0
    (matrix,) = load_matrices(tmp_path / "x" / "matrices.jsonl")
    assert ["".join(row) for row in matrix.verdicts_MN] == ["PB", "PB", "EB"]
    assert "".join(matrix.human_M if matrix.human_M is not None else ()) == "PFE"
    assert matrix.copies_M is not None
    assert matrix.copies_M.tolist() == [5, 1, 2]
    again = evosyn("crossexec", pool, "--out", tmp_path / "x", "--json", "--allow-weak-sandbox")
    assert "nothing to do" in again.stderr
    assert json.loads(again.stdout) == {"v": 1, **report}, "the figures stay those of the run that executed"


def test_m_and_n_take_the_first_and_must_not_exceed_the_pool(tmp_path: Path) -> None:
    pool = pool_file(tmp_path, RECORDED)
    done = evosyn("crossexec", pool, "--out", tmp_path / "x", "-M", 2, "-N", 1, "--json", "--allow-weak-sandbox")
    assert json.loads(done.stdout)["cells"] == 2
    (matrix,) = load_matrices(tmp_path / "x" / "matrices.jsonl")
    assert matrix.copies_M is not None
    assert matrix.copies_M.tolist() == [5, 1]
    for flag, most in (("-M", "3 solutions"), ("-N", "2 testings")):
        done = evosyn("crossexec", pool, "--out", tmp_path / "y", flag, 4)
        assert done.returncode == 2
        assert f"{flag} 4: no problem has more than {most}" in done.stderr
        assert not (tmp_path / "y").exists(), "nothing was begun"


def test_another_pool_or_other_settings_in_the_same_directory_are_refused(tmp_path: Path) -> None:
    pool = pool_file(tmp_path, RECORDED)
    assert evosyn("crossexec", pool, "--out", tmp_path / "x", "--allow-weak-sandbox").returncode == 0
    done = evosyn("crossexec", pool, "--out", tmp_path / "x", "--timeout", 1, "--allow-weak-sandbox")
    assert done.returncode == 2
    assert "other settings" in done.stderr


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ([SEED], "no problem has recorded solutions and testings"),
        ([RECORDED, {**RECORDED, "problem_id": "b", "testings": [{"kind": "x"}]}], ":2: field 'testings[0].kind'"),
        ([RECORDED, RECORDED], ":2: field 'problem_id': duplicate id"),
    ],
)
def test_bad_input_ends_with_2_before_anything_is_spent(
    tmp_path: Path, lines: list[dict[str, Any]], message: str
) -> None:
    done = evosyn("crossexec", pool_file(tmp_path, *lines), "--out", tmp_path / "x")
    assert done.returncode == 2
    assert message in done.stderr
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "x").exists()


def many(count: int, seconds: float) -> list[dict[str, Any]]:
    return [
        {
            **RECORDED,
            "problem_id": f"p{n}",
            "solutions": [
                f"import time\ndef double(x):\n    time.sleep({seconds})\n    return x + {m}\n" for m in range(3)
            ],
        }
        for n in range(count)
    ]


@pytest.mark.parametrize("name", ["SIGKILL", pytest.param("SIGINT", marks=pytest.mark.long)])
def test_a_run_that_was_ended_goes_on_and_ends_the_same(tmp_path: Path, name: str) -> None:
    pool = pool_file(tmp_path, *many(400, 0.01))
    command = [
        sys.executable,
        "-m",
        "evosyn",
        "crossexec",
        str(pool),
        "--out",
        str(tmp_path / "x"),
        "--allow-weak-sandbox",
    ]
    running = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    journal = tmp_path / "x" / "journal.jsonl"
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline and not (journal.exists() and journal.read_bytes().count(b"\n") > 1):
        assert running.poll() is None, running.communicate()
        time.sleep(0.02)
    os.kill(running.pid, getattr(signal, name))
    began = time.monotonic()
    running.communicate(timeout=60)
    if name == "SIGINT":
        assert running.returncode == 130
        assert time.monotonic() - began < 10
    done = evosyn("crossexec", pool, "--out", tmp_path / "x", "--json", "--allow-weak-sandbox")
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert 0 < report["resumed"] <= 400
    assert [matrix.problem_id for matrix in load_matrices(tmp_path / "x" / "matrices.jsonl")] == [
        f"p{n}" for n in range(400)
    ]


def test_pool_check_shows_every_error_at_once_and_ends_with_1(tmp_path: Path) -> None:
    path = pool_file(tmp_path, SEED, {**SEED, "problem_id": "b", "domain": "python"}, {**SEED, "statement": ""})
    with path.open("a") as file:
        file.write("{\n")
    done = evosyn("pool", "check", path)
    assert done.returncode == 1
    assert done.stdout.count("error: ") == 3
    for part in (":2: field 'domain'", ":3: field 'statement'", ":4: is not JSON", "3 errors"):
        assert part in done.stdout
    good = evosyn("pool", "check", pool_file(tmp_path, SEED, {**RECORDED, "problem_id": "c"}))
    assert good.returncode == 0
    assert "good; 2 problems" in good.stdout
    assert "note: " in good.stdout
    assert "1 of 2 cannot run" in good.stdout


def test_pool_check_names_declared_answers_that_only_the_same_words_meet(tmp_path: Path) -> None:
    answers = ("384", "x is at least 3", "(B)", "y = 2x", "60 widgets per hour", "3, 4")
    rows = [
        {"problem_id": f"a{place}", "domain": "math-answer", "statement": "How many?",
         "human_testing": {"kind": "answer", "answer": answer}}
        for place, answer in enumerate(answers)
    ]  # fmt: skip
    done = evosyn("pool", "check", pool_file(tmp_path, *rows))
    notes = [line for line in done.stdout.splitlines() if line.startswith("note: ")]
    assert done.returncode == 0 and len(notes) == 2
    for note, place in zip(
        notes, (":2: field 'human_testing.answer'", ":5: field 'human_testing.answer'"), strict=True
    ):
        assert place in note and "words" in note


def test_pool_check_executes_references_and_alternatives(tmp_path: Path) -> None:
    wrong = {
        **SEED,
        "reference_solution": "def double(x):\n    return x\n",
        "meta": {"alternatives": ["def double(x):\n    return x + x\n", "def double(x):\n    raise KeyError(x)\n"]},
    }
    path = pool_file(tmp_path, SEED, {**wrong, "problem_id": "wrong"})
    assert evosyn("pool", "check", path).returncode == 0, "reading alone cannot know"
    done = evosyn("pool", "check", path, "--execute", "--json", "--allow-weak-sandbox")
    assert done.returncode == 1
    errors = json.loads(done.stdout)["errors"]
    assert len(errors) == 2
    assert ":2: field 'reference_solution': FAIL on the human testing at case 0" in errors[0]
    assert ":2: field 'meta.alternatives[1]': ERROR on the human testing at case 0: KeyError: 3" in errors[1]


def test_pool_check_of_a_missing_file_ends_with_2(tmp_path: Path) -> None:
    done = evosyn("pool", "check", tmp_path / "nowhere.jsonl")
    assert done.returncode == 2
    assert "no such file" in done.stderr


def test_pool_check_of_a_directory_ends_with_1_as_any_file_that_is_no_pool(tmp_path: Path) -> None:
    done = evosyn("pool", "check", tmp_path)
    assert done.returncode == 1
    assert "is a directory" in done.stdout


class Value(BaseModel):
    value: float


class Picky(BaseDomain):
    """A domain that fails on a text it did not expect."""

    name = "picky"
    kinds = {"equals": Value}  # noqa: RUF012

    def same(self, problem: Problem, solution: Solution) -> str:  # noqa: ARG002
        return str(float(solution.text))

    def decide(self, problem: Problem, solution: Solution, testing: Testing) -> bool:  # noqa: ARG002
        return float(solution.text) == testing.body["value"]


def picky(tools: DomainTools, config: PluginConfig) -> Picky:  # noqa: ARG001
    return Picky()


def number(**fields: Any) -> dict[str, Any]:
    right = {"kind": "equals", "value": 4}
    line = {"problem_id": "four", "domain": "tests.cli.test_crossexec:picky", "statement": "Two and two?"}
    return {**line, "human_testing": right, "testings": [right], **fields}


def test_a_text_that_a_domain_fails_on_is_unknown_and_ends_no_run(tmp_path: Path) -> None:
    pool = pool_file(tmp_path, number(solutions=["4", "about four", "5", "4.0"]))
    done = evosyn("crossexec", pool, "--out", tmp_path / "x", "--json", "--allow-weak-sandbox")
    assert done.returncode == 0, done.stderr
    assert "domain 'tests.cli.test_crossexec:picky', problem 'four': same failed: ValueError" in done.stderr
    (matrix,) = load_matrices(tmp_path / "x" / "matrices.jsonl")
    assert ["".join(row) for row in matrix.verdicts_MN] == ["P", "U", "F", "P"]
    assert json.loads(done.stdout)["unknown"] == 1


def test_pool_check_names_human_testings_that_accept_everything_or_cannot_run(tmp_path: Path) -> None:
    anything = {"kind": "asserts", "asserts": ["assert True"]}
    broken = {"kind": "cases", "cases": {"python": "1 / 0"}}
    path = pool_file(
        tmp_path,
        {**SEED, "problem_id": "anything", "human_testing": anything},
        {**SEED, "problem_id": "broken", "human_testing": broken, "meta": {"alternatives": ["x = 1\n"]}},
        number(solutions=["4", "4.0"]),
    )
    done = evosyn("pool", "check", path, "--execute", "--json", "--allow-weak-sandbox")
    found = json.loads(done.stdout)
    first, second = found["errors"]
    assert done.returncode == 1
    assert ":1: field 'human_testing': accepts a solution that is surely wrong" in first
    assert ":2: field 'human_testing': cannot run" in second
    assert "ZeroDivisionError" in second
    assert ":3: field 'human_testing': accepts all 2 recorded solutions" in "\n".join(found["warnings"])


def test_pool_check_says_all_errors_of_a_line_in_the_order_of_lines_for_several_files(tmp_path: Path) -> None:
    misfit = {**SEED, "human_testing": {"kind": "cases", "cases": [{"input": [1, 2, 3], "output": 1}]}}
    path = pool_file(tmp_path, misfit, {**SEED, "problem_id": 3, "statement": 4, "foo": 1})
    good = tmp_path / "good.jsonl"
    good.write_text(json.dumps({**RECORDED, "meta": {"copies": [1]}}) + "\n")
    done = evosyn("pool", "check", path, good)
    lines = done.stdout.splitlines()
    assert done.returncode == 1
    assert [line.partition("pool.jsonl:")[2][:20] for line in lines[:4]] == [
        "1: field 'human_test", "2: field 'foo': is n", "2: field 'problem_id", "2: field 'statement'",
    ]  # fmt: skip
    assert lines[4].endswith("4 errors")
    assert "field 'meta.copies': is not read: it must be 3 whole numbers" in lines[5]
    assert "good.jsonl: good" in lines[-2]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b'[{"problem_id": "a"}]', "is a JSON array. Write one object a line: jq -c '.[]'"),
        (b'{"problem_id": "a", "problem_id": "b"}', "the key 'problem_id' stands twice in an object"),
        ('{"problem_id": "é"}'.encode("latin-1"), "is not UTF-8"),
        ('{"problem_id": "a"}\n'.encode("utf-16"), "is not UTF-8"),
    ],
)
def test_a_file_of_another_form_is_named_with_what_to_do(tmp_path: Path, content: bytes, said: str) -> None:
    (tmp_path / "pool.jsonl").write_bytes(content)
    done = evosyn("pool", "check", tmp_path / "pool.jsonl")
    assert done.returncode != 0
    assert said in done.stdout + done.stderr
