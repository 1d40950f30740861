"""Pool files: what is read back, and the message for each kind of bad input."""

import gzip
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from evosyn.domains import check_pool, iter_pools, load_pools
from evosyn.errors import FormatError, InputError
from evosyn.pools import pool_from_json, pool_to_json, write_pools
from evosyn.records import Json, Pool, Provenance, Solution, Testing

GOOD: dict[str, Any] = {
    "problem_id": "double",
    "domain": "python-function",
    "statement": "Return twice x.",
    "entry_point": "double",
    "starter_code": "def double(x):\n    pass\n",
    "human_testing": {"kind": "cases", "cases": [{"input": [2], "output": 4}]},
    "reference_solution": "def double(x):\n    return 2 * x\n",
    "meta": {"topic": "arithmetic"},
    "solutions": ["def double(x):\n    return x + x\n", "def double(x):\n    return \ud800\n"],
    "testings": [{"kind": "asserts", "asserts": ["assert double(1) == 2"]}],
}


def file_with(tmp_path: Path, *lines: str | dict[str, Any]) -> Path:
    path = tmp_path / "pool.jsonl"
    path.write_text("\n".join(line if isinstance(line, str) else json.dumps(line) for line in lines) + "\n")
    return path


def changed(**fields: Any) -> dict[str, Any]:
    return {key: value for key, value in {**GOOD, **fields}.items() if value is not ...}


@pytest.mark.parametrize("name", ["pool.jsonl", "pool.jsonl.gz"])
def test_a_pool_is_read_back_as_it_was_written(tmp_path: Path, name: str) -> None:
    pools = load_pools(file_with(tmp_path, GOOD))
    assert write_pools(tmp_path / name, pools) == 1
    again = load_pools(tmp_path / name)
    assert again == pools
    assert again[0].problem.human_testing is not None
    assert again[0].solutions[1].text.endswith("\ud800\n")
    first = (tmp_path / name).read_bytes()
    write_pools(tmp_path / name, again)
    assert (tmp_path / name).read_bytes() == first


def test_a_gzip_file_is_known_by_its_content_not_its_name(tmp_path: Path) -> None:
    path = tmp_path / "pool.jsonl"
    path.write_bytes(gzip.compress(json.dumps(GOOD).encode()))
    assert load_pools(path)[0].problem.problem_id == "double"


def test_blank_lines_are_skipped_and_line_numbers_stay_those_of_the_file(tmp_path: Path) -> None:
    path = file_with(tmp_path, "", GOOD, "  ", changed(problem_id="other"))
    assert [pool.problem.line for pool in load_pools(path)] == [2, 4]


def test_a_large_file_is_read_one_problem_at_a_time(tmp_path: Path) -> None:
    path = file_with(tmp_path, GOOD, "not json")
    pools = iter_pools(path)
    assert next(pools).problem.problem_id == "double"
    with pytest.raises(InputError, match=r"pool\.jsonl:2: is not JSON"):
        next(pools)


def case(*, kind: str = "cases", **fields: Any) -> dict[str, Any]:
    return changed(human_testing={"kind": kind, **fields})


def stdin_case(**fields: Any) -> dict[str, Any]:
    line = changed(domain="python-stdin", entry_point=..., human_testing={"kind": "stdin", **fields})
    return {key: value for key, value in line.items() if key not in ("solutions", "testings")}


BAD_LINES: list[tuple[str, dict[str, Any] | str, str]] = [
    ("not json", '{"problem_id": ', r":1: is not JSON"),
    ("not an object", "[1]", r":1: must be a JSON object, not list"),
    ("nan", '{"problem_id": NaN}', r"NaN is not JSON"),
    ("too deep", "[" * 100_000, r":1: is not JSON: nested too deeply"),
    ("a matrix", {"problem_id": "p", "verdicts": ["PF"]}, "the line is a matrix, not a problem. `evosyn evolve`"),
    ("no id", changed(problem_id=...), r":1: field 'problem_id': is missing"),
    ("id of wrong type", changed(problem_id=3), r"field 'problem_id': must be a text, not int \(got 3\)"),
    ("blank statement", changed(statement="  "), r"field 'statement': must not be blank"),
    ("unknown domain", changed(domain="python-functoin"), r"unknown domain .*Did you mean 'python-function'"),
    ("unknown field", changed(testing=[]), r"field 'testing': is not a field.*Did you mean 'testings'"),
    ("no entry point", changed(entry_point=None), r"field 'entry_point': is missing"),
    ("entry point is no name", changed(entry_point="a b"), r"field 'entry_point': must be the name of a function"),
    ("meta of wrong type", changed(meta=[1]), r"field 'meta': must be an object, not list"),
    ("solutions of wrong type", changed(solutions="x"), r"field 'solutions': must be a list, not str"),
    (
        "a solution of wrong type",
        changed(solutions=["x", 1]),
        r"'solutions\[1\]': must be a text, not int \(got 1\)",
    ),
    ("testing of wrong type", changed(testings=["x"]), r"field 'testings\[0\]': must be an object with a 'kind'"),
    ("testing of unknown kind", case(kind="tests"), r"'human_testing.kind': unknown kind of testing.*One of cases"),
    ("no cases", case(), r"'human_testing.cases': is missing"),
    ("empty cases", case(cases=[]), r"must not be empty: a testing without a check accepts everything"),
    ("case without output", case(cases=[{"input": [1]}]), r"'human_testing.cases\[0\].output': is missing"),
    ("case with text input", case(cases=[{"input": "1", "output": 1}]), r"cases\[0\].input': must be a list or an obj"),
    ("case with a typo", case(cases=[{"input": [], "output": 1, "outptu": 1}]), r"cases\[0\].outptu': is not a field"),
    ("huge tolerance", case(cases=[{"input": [1], "output": 1}], tolerance=10**400), r"tolerance': must be a number"),
    ("bad tolerance", case(cases=[{"input": [1], "output": 1}], tolerance=-1), r"tolerance': must be a number, 0 or"),
    ("stdin with a number", stdin_case(cases=[{"input": 1, "output": ""}]), r"input': must be a text, not int"),
    ("asserts of wrong type", case(kind="asserts", asserts=[1]), r"asserts\[0\]': must be a text"),
    ("empty asserts", case(kind="asserts", asserts=[]), r"asserts': must not be empty"),
    ("program without code", case(kind="program"), r"code': must be Python source"),
    ("unknown testing field", case(kind="program", code="x", call="y"), r"call': is not a field of this kind"),
]


@pytest.mark.parametrize(("line", "message"), [row[1:] for row in BAD_LINES], ids=[row[0] for row in BAD_LINES])
def test_a_bad_line_is_named_with_file_line_field_and_rule(
    tmp_path: Path, line: dict[str, Any] | str, message: str
) -> None:
    with pytest.raises(InputError, match=message) as caught:
        load_pools(file_with(tmp_path, line))
    assert caught.value.line == 1
    assert str(tmp_path) in str(caught.value)


def test_each_fault_of_a_line_is_told_once() -> None:
    line = {"problem_id": "m", "domain": "math-answer", "statement": "s", "entry_point": "f", "starter_code": "x = 1"}
    with pytest.raises(FormatError) as found:
        check_pool(pool_from_json(line))
    assert [one.field for one in found.value.every()] == ["entry_point", "starter_code"]


def test_duplicate_ids_name_both_lines(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r":3: field 'problem_id': duplicate id \(got 'double'\). It stands in line 1"):
        load_pools(file_with(tmp_path, GOOD, "", GOOD))


def test_missing_file_directory_and_empty_file_are_told_apart(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such file"):
        load_pools(tmp_path / "nowhere.jsonl")
    with pytest.raises(InputError, match="is a directory"):
        load_pools(tmp_path)
    for content in ("", "\n\n"):
        (tmp_path / "empty.jsonl").write_text(content)
        with pytest.raises(InputError, match=r"is empty|holds no problem"):
            load_pools(tmp_path / "empty.jsonl")


def test_a_file_that_is_not_the_gzip_it_claims_to_be(tmp_path: Path) -> None:
    path = tmp_path / "pool.jsonl.gz"
    path.write_text(json.dumps(GOOD))
    with pytest.raises(InputError, match=r"named \.gz but is not gzip"):
        load_pools(path)
    path.write_bytes(gzip.compress(json.dumps(GOOD).encode() * 1000)[:-20])
    with pytest.raises(InputError, match="damaged gzip"):
        load_pools(path)


def test_an_unknown_bundled_pool_names_the_known_ones() -> None:
    with pytest.raises(InputError, match=r"no such bundled pool.*builtin:python-seeds") as refused:
        load_pools("builtin:python-seed")
    named = str(refused.value).partition("Known: ")[2].split(", ")
    assert all(load_pools(one) for one in named)
    assert "builtin:world-tools" in named


@pytest.mark.parametrize(
    ("field", "value", "said"),
    [
        ("problem_id", "x" * 5000, "is too long: 5,000 characters, 200 at most"),
        ("statement", "a" * 1_000_001, "is too long"),
        ("statement", "a\x00b", r"holds the character '\x00'"),
        ("statement", "a\ud800b", r"holds the character '\ud800'"),
    ],
)
def test_what_no_file_or_page_can_hold_is_refused(field, value, said):
    line = {"problem_id": "p", "domain": "python-function", "statement": "Say.\n\tTwice.", field: value}
    with pytest.raises(FormatError) as found:
        pool_from_json(line)
    assert found.value.field == field and said in found.value.reason


def test_what_is_known_of_a_drawn_pool_is_read_back_as_it_was_written(tmp_path: Path) -> None:
    pool = load_pools("builtin:python-seeds")[0]
    made = [
        Provenance("openai/m", call="c_1", detail={"slot": n, "logprob": {"mean": -0.5, "sum": -5.0, "tokens": 10}})
        for n in range(2)
    ]
    testing = Testing(
        "cases", {"cases": [{"input": [1], "output": 2}]}, Provenance("openai/m", detail={"logprobs": [None, -1]})
    )
    drawn = Pool(pool.problem, tuple(Solution(f"x = {n}", one) for n, one in enumerate(made)), (testing,))
    write_pools(tmp_path / "p.jsonl.gz", [drawn])
    (again,) = load_pools(tmp_path / "p.jsonl.gz")
    for one, other in zip((*drawn.solutions, *drawn.testings), (*again.solutions, *again.testings), strict=True):
        ours, theirs = one.provenance, other.provenance
        assert (ours.source, ours.call, ours.detail) == (theirs.source, theirs.call, theirs.detail)
    assert pool_to_json(again) == pool_to_json(drawn)
    several = replace(drawn, solutions=(*drawn.solutions, Solution("x", Provenance("other/m", detail={"slot": 1}))))
    assert "drawn" not in pool_to_json(several), "of several models nobody is named"


@pytest.mark.parametrize(
    ("told", "said"),
    [
        ({"solutions": []}, r"drawn.solutions': must be 1, one for each"),
        ({"solutions": [{"logprob": -1.0}]}, r"drawn.solutions\[0\]': `logprob` has a mean"),
        ({"solutions": [{"logprob": {"mean": 0.5}}]}, r"drawn.solutions\[0\]': `logprob` has a mean"),
        ({"solutions": [{"logprob": {"mean": float("nan")}}]}, "NaN|logprob"),
        ({"testings": [{"logprobs": -1}]}, r"drawn.testings\[0\]': `logprob` has a mean"),
        ({"testings": [{"logprobs": ["-1"]}]}, r"drawn.testings\[0\]': `logprob` has a mean"),
        ({"testings": [3]}, "drawn"),
        ({"testings": [{"call": 3}]}, r"drawn.testings\[0\].call': must be a text"),
        ({"model": 3}, "drawn.model"),
    ],
)
def test_what_is_wrong_with_what_is_known_of_a_drawn_pool_is_named(
    told: dict[str, Json], said: str, tmp_path: Path
) -> None:
    line = {
        "problem_id": "p", "domain": "python-function", "statement": "s", "entry_point": "f", "solutions": ["x = 1"],
        "testings": [{"kind": "cases", "cases": [{"input": [1], "output": 2}]}],
        "drawn": {"model": "m", "solutions": [{}], "testings": [{}], **told},
    }  # fmt: skip
    (tmp_path / "p.jsonl").write_text(json.dumps(line) + "\n")
    with pytest.raises(InputError, match=said):
        load_pools(tmp_path / "p.jsonl")
