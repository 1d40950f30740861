"""Published benchmarks as pools: rows of every form become problems that are right, or are refused with the reason."""

import base64
import gzip
import json
import os
import pickle
import zlib
from pathlib import Path

import pytest
from click.testing import CliRunner

from evosyn.cli import group
from evosyn.crossexec.judge import Cell, Judge
from evosyn.datafiles import data_rows
from evosyn.domains import Domains, load_pools
from evosyn.domains.published import converter, formats, import_rows
from evosyn.errors import CheckFailed, InputError, UsageError
from evosyn.pools import pool_from_json
from evosyn.records import Solution, Verdict
from evosyn.sandbox import open_sandbox

REAL = Path(os.environ.get("EVOSYN_BENCHMARKS") or Path(__file__).parents[3] / "shared" / "data")
"""Where a user's own copies lie, if they do."""
STARTER = "class Solution:\n    def total(self, numbers: List[int], most: int) -> int:\n        "
LEETCODE = {
    "question_title": "Total",
    "question_content": "Add the numbers, at most `most`.",
    "platform": "leetcode",
    "question_id": "3001",
    "contest_id": "weekly-1",
    "contest_date": "2025-02-09T00:00:00",
    "starter_code": STARTER,
    "difficulty": "easy",
    "public_test_cases": json.dumps([{"input": "[1, 2]\n9", "output": "3", "testtype": "functional"}]),
    "private_test_cases": json.dumps([{"input": "[5, 6]\n9", "output": "9", "testtype": "functional"}]),
    "metadata": json.dumps({"func_name": "total"}),
}
ATCODER = {
    **LEETCODE,
    "question_id": "abc_1",
    "starter_code": "",
    "contest_date": "2025-04-30T00:00:00",
    "public_test_cases": json.dumps([{"input": "1 2\n", "output": "3\n", "testtype": "stdin"}]),
    "private_test_cases": json.dumps([{"input": "4 5\n", "output": "9\n", "testtype": "stdin"}]),
    "metadata": "{}",
}
HUMANEVAL = {
    "task_id": "HumanEval/0",
    "prompt": 'from typing import List\n\n\ndef twice(x: int) -> int:\n    """Return twice x."""\n',
    "entry_point": "twice",
    "canonical_solution": "    return 2 * x\n",
    "test": "def check(candidate):\n    assert candidate(2) == 4\n",
}
MBPP = {
    "task_id": 7,
    "text": "Write a function to add two numbers.",
    "code": "def helper(x):\r\n  return x\r\ndef plus(a, b=1):\r\n  return helper(a) + b",
    "test_list": ["assert plus(1, 2) == 3", "assert plus(4) == 5"],
    "test_setup_code": "",
    "challenge_test_list": [],
}
APPS_CALL = {
    "problem_id": 4,
    "question": "Reverse a text.",
    "solutions": json.dumps(["print 'two'", "def turn(s):\n    return s[::-1]\n"]),
    "input_output": json.dumps({"fn_name": "turn", "inputs": [["ab"], ["xyz"]], "outputs": [["ba"], ["zyx"]]}),
    "difficulty": "introductory",
    "starter_code": "",
}
APPS_STREAM = {
    "question": "Add two numbers.",
    "solutions": json.dumps(["print(sum(map(int, input().split())))\n"]),
    "input_output": json.dumps({"inputs": ["1 2\n", ["3 4"]], "outputs": ["3\n", ["7"]]}),
}


def packed(value: object) -> str:
    return base64.b64encode(zlib.compress(pickle.dumps(value))).decode()


class Harmful:
    def __reduce__(self) -> tuple[object, ...]:
        return (os.mkdir, ("harmed",))


def one(form: str, row: dict[str, object], tmp_path: Path) -> tuple[dict[str, object] | None, str]:
    path = tmp_path / "rows.jsonl"
    path.write_text(json.dumps(row) + "\n")
    (found,) = import_rows(converter(form), [path], (None, None))
    return found.line, found.reason


ROWS = [
    (
        "livecodebench",
        LEETCODE,
        "class Solution:\n    def total(self, numbers, most):\n        return min(most, sum(numbers))\n",
    ),
    ("livecodebench", ATCODER, "print(sum(map(int, input().split())))\n"),
    ("humaneval", HUMANEVAL, None),
    ("mbpp", MBPP, None),
    ("apps", APPS_CALL, None),
    ("apps", APPS_STREAM, None),
]


@pytest.fixture(scope="module")
def judge():
    with open_sandbox("local", workers=1, allow_weak=True) as sandbox:
        yield Judge(sandbox, Domains())


@pytest.mark.parametrize(("form", "row", "right"), ROWS, ids=lambda value: value if isinstance(value, str) else "")
def test_a_right_program_passes_the_tests_of_its_row_and_a_wrong_one_does_not(form, row, right, judge, tmp_path):
    line, reason = one(form, row, tmp_path)
    assert not reason
    (tmp_path / "pool.jsonl").write_text(json.dumps(line) + "\n")
    (pool,) = load_pools(tmp_path / "pool.jsonl")
    problem = pool.problem
    right = right or problem.reference_solution
    wrong = right.replace("sum(", "len(").replace("2 * x", "x").replace("+ b", "- b").replace("[::-1]", "")
    cells = [Cell(problem, Solution(text), problem.human_testing) for text in (right, wrong)]
    first, second = (result.verdict for result in judge.verify(cells))
    assert first is Verdict.PASS and second in (Verdict.FAIL, Verdict.ERROR) and wrong != right


ANSWERS = [
    ("gsm8k", {"question": "Ann has 3 bags of 4.", "answer": "3*4 = <<3*4=12>>12\n#### 12"}, ["12", "12.0"], "13"),
    (
        "math500",
        {"problem": "Half of 1?", "solution": "So \\boxed{\\frac{1}{2}}.", "answer": "\\frac{1}{2}", "level": 1},
        ["1/2", "0.500"],
        "2",
    ),
    ("math500", {"problem": "Half of 1?", "solution": "So \\boxed{\\frac{1}{2}}.", "type": "Algebra"}, ["1/2"], "2"),
    ("aime", {"ID": "2024-I-1", "Problem": "How many?", "Answer": 204, "Solution": "Long."}, ["204"], "24"),
    (
        "bbh",
        {"input": "Who?\nOptions:\n(A) Alice\n(B) Bob and Carl", "target": "(B)"},
        ["(B)", "B", "Bob and Carl"],
        "Alice",
    ),
    ("bbh", {"input": "not ( True ) is", "target": "False"}, ["False", "false"], "True"),
]


@pytest.mark.parametrize(
    ("form", "row", "right", "wrong"), ANSWERS, ids=lambda value: value if isinstance(value, str) else ""
)
def test_a_final_answer_of_a_benchmark_is_read_in_the_forms_in_which_it_is_given(
    form, row, right, wrong, judge, tmp_path
):
    line, reason = one(form, row, tmp_path)
    assert not reason and line["domain"] == "math-answer"
    (tmp_path / "pool.jsonl").write_text(json.dumps(line) + "\n")
    (pool,) = load_pools(tmp_path / "pool.jsonl")
    given = [pool.problem.reference_solution, *(f"So \\boxed{{{text}}}" for text in (*right, wrong))]
    cells = [Cell(pool.problem, Solution(text), pool.problem.human_testing) for text in given]
    found = [result.verdict for result in judge.verify(cells)]
    assert found == [Verdict.PASS] * (1 + len(right)) + [Verdict.FAIL]
    assert "<<" not in pool.problem.reference_solution


@pytest.mark.parametrize("indent", [None, 2])
def test_one_object_that_holds_all_rows_is_read_too(indent, tmp_path):
    rows = [{"input": f"Is it {n}?", "target": "yes"} for n in range(3)]
    path = tmp_path / "task.json"
    path.write_text(json.dumps({"canary": "c", "examples": rows}, indent=indent))
    found = list(import_rows(converter("bbh"), [path], (None, None)))
    assert [one.name for one in found] == ["task.json:1", "task.json:2", "task.json:3"]
    assert not any(one.reason for one in found)


def test_a_row_without_a_final_answer_is_left_out(tmp_path):
    line, reason = one("gsm8k", {"question": "How many?", "answer": "I do not know."}, tmp_path)
    assert line is None and reason == "no-answer: the row says no final answer"


def test_a_method_is_called_on_an_instance_and_its_starter_code_is_whole(tmp_path):
    line, _ = one("livecodebench", LEETCODE, tmp_path)
    assert line["entry_point"] == "Solution.total"
    assert line["starter_code"].startswith("from typing import List\n") and line["starter_code"].endswith("pass\n")
    assert line["human_testing"]["cases"][1] == {"input": [[5, 6], 9], "output": 9}
    assert line["meta"] == {
        "title": "Total", "date": "2025-02-09", "platform": "leetcode", "contest_id": "weekly-1", "difficulty": "easy"
    }  # fmt: skip


@pytest.mark.parametrize("protocol", range(2, pickle.HIGHEST_PROTOCOL + 1))
def test_private_tests_are_read_out_of_their_pickle_without_loading_it(protocol, tmp_path):
    text = json.dumps([{"input": "1 2\n", "output": "3\n", "testtype": "stdin"}] * 9)
    raw = base64.b64encode(zlib.compress(pickle.dumps(text, protocol))).decode()
    line, reason = one("livecodebench", {**ATCODER, "private_test_cases": raw}, tmp_path)
    assert not reason and len(line["human_testing"]["cases"]) == 10


@pytest.mark.parametrize(
    ("form", "row", "reason"),
    [
        ("livecodebench", {**ATCODER, "private_test_cases": packed(Harmful())}, "unsafe-pickle"),
        ("livecodebench", {**ATCODER, "private_test_cases": packed(["a"])}, "unsafe-pickle"),
        ("livecodebench", {**ATCODER, "private_test_cases": "no base64!"}, "bad-private-tests"),
        ("livecodebench", {**ATCODER, "private_test_cases": packed("x")[:-8] + "AAAAAAA="}, "bad-private-tests"),
        ("livecodebench", {**ATCODER, "public_test_cases": "[]", "private_test_cases": ""}, "no-tests"),
        ("livecodebench", {**LEETCODE, "metadata": "{}"}, "no-function"),
        ("livecodebench", {**LEETCODE, "metadata": json.dumps({"func_name": "other"})}, "bad-starter-code"),
        (
            "livecodebench",
            {
                **LEETCODE,
                "starter_code": f"class Solution:\n    def __init__(self, x):\n        pass\n\n{STARTER[16:]}",
            },
            "class-with-arguments",
        ),
        ("livecodebench", {**LEETCODE, "private_test_cases": ATCODER["private_test_cases"]}, "mixed-tests"),
        ("mbpp", {**MBPP, "test_setup_code": "root = Node(1)"}, "needs-setup"),
        ("mbpp", {**MBPP, "test_list": ["assert other(1)"]}, "no-function"),
        ("mbpp", {**MBPP, "test_list": []}, "no-tests"),
        ("apps", {**APPS_CALL, "input_output": ""}, "no-tests"),
        ("apps", {**APPS_CALL, "input_output": "{"}, "bad-input-output"),
        ("apps", {**APPS_CALL, "question": " "}, "no-question"),
        ("humaneval", {**HUMANEVAL, "test": ""}, "no-test"),
        ("humaneval", {**HUMANEVAL, "entry_point": "two words"}, "not-a-problem"),
    ],
)
def test_what_cannot_be_right_is_refused_with_its_reason(form, row, reason, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    line, said = one(form, row, tmp_path)
    assert line is None and said.startswith(f"{reason}:") and not (tmp_path / "harmed").exists()


def test_days_outside_are_not_given_and_rows_without_a_day_are_an_error(tmp_path):
    path = tmp_path / "rows.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in (LEETCODE, ATCODER)))
    found = list(import_rows(converter("livecodebench"), [path], ("2025-03-01", "2025-05-01")))
    assert [one.name for one in found] == ["abc_1"]
    path.write_text(json.dumps(HUMANEVAL) + "\n")
    with pytest.raises(UsageError, match=r"rows.jsonl:1 has no date"):
        list(import_rows(converter("humaneval"), [path], ("2025-03-01", None)))


def test_a_day_that_there_is_not_and_days_without_a_row_are_told(tmp_path):
    (tmp_path / "rows.jsonl").write_text(json.dumps(ATCODER) + "\n")
    line = ["livecodebench", str(tmp_path / "rows.jsonl"), "--out", str(tmp_path / "out.jsonl"), "--from"]
    for day, told in (("2025-13-01", "'2025-13-01'"), ("2999-01-01", "of these days")):
        with pytest.raises((UsageError, CheckFailed), match=told):
            group.main(["pool", "import", *line, day], standalone_mode=False)


def test_every_form_of_file_is_read_alike(tmp_path):
    import pyarrow
    import pyarrow.parquet

    rows = [{**ATCODER, "question_id": str(number)} for number in range(3)]
    lines = "".join(json.dumps(row) + "\n" for row in rows)
    (tmp_path / "a.jsonl").write_text(lines)
    (tmp_path / "a.jsonl.gz").write_bytes(gzip.compress(lines.encode()))
    (tmp_path / "a.json").write_text(json.dumps(rows, indent=1))
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist(rows), tmp_path / "a.parquet")
    read = [
        [row.fields for row in data_rows(tmp_path / name)] for name in ("a.jsonl", "a.jsonl.gz", "a.json", "a.parquet")
    ]
    assert read == [rows] * 4
    (tmp_path / "bad.parquet").write_text("no")
    with pytest.raises(InputError, match="is not a parquet file"):
        list(data_rows(tmp_path / "bad.parquet"))


def run(*words: object):
    return CliRunner().invoke(group, ["pool", "import", *map(str, words)], catch_exceptions=False)


def test_the_command_writes_a_pool_and_names_what_it_left_out(tmp_path):
    rows = [APPS_STREAM, APPS_CALL, APPS_CALL, {**APPS_CALL, "problem_id": 5, "input_output": ""}]
    (tmp_path / "a.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    said = run("apps", tmp_path / "a.jsonl", "--out", tmp_path / "pool.jsonl.gz").output
    assert "2 problems; 2 rows left out (1 x duplicate-id, 1 x no-tests)" in said and "left out 4: duplicate-id" in said
    assert [pool.problem.problem_id for pool in load_pools(tmp_path / "pool.jsonl.gz")] == ["a.jsonl:1", "4"]
    told = json.loads(run("apps", tmp_path / "a.jsonl", "--out", tmp_path / "p.jsonl", "--limit", 1, "--json").output)
    assert told == {"pool": str(tmp_path / "p.jsonl"), "problems": 1, "left_out": {}}


def test_a_pool_that_would_be_empty_is_not_written(tmp_path):
    (tmp_path / "a.jsonl").write_text(json.dumps({**APPS_CALL, "input_output": ""}) + "\n")
    with pytest.raises(CheckFailed, match=r"not written: no row could be used; 1 left out \(1 x no-tests\)"):
        run("apps", tmp_path / "a.jsonl", "--out", tmp_path / "pool.jsonl")
    assert not (tmp_path / "pool.jsonl").exists()


def test_an_unknown_format_names_the_known_ones(tmp_path):
    assert set(formats()) == {"aime", "apps", "bbh", "gsm8k", "humaneval", "livecodebench", "math500", "mbpp"}
    told = run("--help").output
    assert all(name in told for name in formats())
    with pytest.raises(UsageError, match="did you mean 'livecodebench'"):
        run("livecodebnch", tmp_path / "a.jsonl", "--out", tmp_path / "pool.jsonl")


@pytest.mark.parametrize("name", ["humaneval", "mbpp"])
def test_the_real_files_come_in_nearly_whole(name):
    path = REAL / f"problems_{name}.jsonl.gz"
    if not path.is_file():
        pytest.skip(f"no copy of the benchmark in {REAL}")
    found = list(import_rows(converter(name), [path], (None, None)))
    assert sum(one.line is not None for one in found) >= 0.99 * len(found)


APPS_FLOATS = {
    **APPS_STREAM,
    "input_output": json.dumps({"inputs": ["1 3\n"], "outputs": ["0.333333333333333\n"]}),
}
THIRDS = "a, b = map(int, input().split())\nprint(a / b)\n"


THIRD = json.dumps([{"input": "1 3\n", "output": "0.333333333333333\n", "testtype": "stdin"}])
ATCODER_FLOATS = {**ATCODER, "private_test_cases": "", "public_test_cases": THIRD}


@pytest.mark.parametrize(
    ("compare", "program", "letter"),
    [
        (None, THIRDS, "P"),
        ("contest", THIRDS, "P"),
        ("official", THIRDS, "F"),
        ("official", "print('0.3333333333333330')", "P"),
        ("official", "print(Decimal('0.333333333333333'))", "E"),
        (None, "print('%.15f' % sqrt(1 / 9))", "P"),
    ],
)
@pytest.mark.parametrize(("form", "row"), [("apps", APPS_FLOATS), ("livecodebench", ATCODER_FLOATS)], ids=["a", "l"])
def test_contests_have_their_graders_names_and_comparison(judge, tmp_path, form, row, compare, program, letter):
    (tmp_path / "rows.jsonl").write_text(json.dumps(row) + "\n")
    (found,) = import_rows(converter(form, compare), [tmp_path / "rows.jsonl"], (None, None))
    problem = pool_from_json(found.line).problem
    assert problem.payload["prelude"] == "builtin:livecodebench"
    (result,) = judge.verify([Cell(problem, Solution(program), problem.human_testing)])
    assert result.verdict.value == letter, result


def test_a_tolerance_is_given_to_floats_and_never_to_integers(tmp_path) -> None:
    outputs = [[0.5], [[0.5, 1.5]], [5], [[1, 0.5]], [True], ["x"], [[]], [[[0.5]]]]
    tests = {"fn_name": "f", "inputs": [[1]] * len(outputs), "outputs": outputs}
    row = {**APPS_CALL, "input_output": json.dumps(tests)}
    for compare, close in (("contest", [1e-6, 1e-6, *[None] * 6]), ("official", [None] * 8)):
        path = tmp_path / "rows.jsonl"
        path.write_text(json.dumps(row) + "\n")
        (found,) = import_rows(converter("apps", compare), [path], (None, None))
        assert [case.get("tolerance") for case in found.line["human_testing"]["cases"]] == close


def test_a_comparison_is_asked_for_only_where_there_are_two() -> None:
    with pytest.raises(UsageError, match="--compare: humaneval"):
        converter("humaneval", "official")
