"""Pool files in YAML: one document a problem, the values that JSON has, and every error with its line."""

import json
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from evosyn.documents import scan_documents
from evosyn.errors import InputError
from evosyn.matrices import is_matrices_file
from evosyn.pools import load_pools, pool_to_json, scan_pools, write_pools

TEXTS = st.text(st.characters(min_codepoint=32, max_codepoint=126))
SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXTS
VALUES = st.recursive(SCALARS, lambda inner: st.lists(inner) | st.dictionaries(TEXTS, inner), max_leaves=12)


def scanned(tmp_path: Path, text: str) -> list:
    path = tmp_path / "some.yaml"
    path.write_text(text, encoding="utf-8", errors="surrogatepass")
    return list(scan_documents(path))


@given(value=st.dictionaries(TEXTS, VALUES))
def test_an_object_written_as_json_is_read_as_it_was(tmp_path_factory, value):
    path = tmp_path_factory.mktemp("yaml") / "one.yaml"
    path.write_text(json.dumps(value))
    (found,) = scan_documents(path)
    assert not isinstance(found, InputError), str(found)
    assert found.value == value


def test_words_times_and_days_are_texts_and_numbers_are_numbers(tmp_path):
    (found,) = scanned(
        tmp_path, "a: [yes, off, 12:30, 2024-01-01, '7', 7, +7, 1.5e3, ~, null, true, True]\nb: |\n  x\n"
    )
    assert found.value["a"] == ["yes", "off", "12:30", "2024-01-01", "7", 7, 7, 1500.0, None, None, True, True]
    assert found.value["b"] == "x\n"


def test_documents_are_numbered_by_the_line_that_they_begin_in(tmp_path):
    found = scanned(tmp_path, "# first\na: 1\n---\n# nothing\n---\n\nb: 2\n")
    assert [(one.number, one.value) for one in found] == [(2, {"a": 1}), (7, {"b": 2})]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a: 1\na: 2\n", ":2: is not YAML: the key 'a' stands twice"),
        ("a: &x [1]\nb: *x\n", "an alias"),
        ("a: !!python/object:os.system x\n", "a tag"),
        ("1: 2\n", "must be a text; write it in quotes"),
        ("- 1\n", "must be an object, not list"),
        ("a: [1\n", "is not YAML"),
        ("a: " + "9" * 5000, "so many digits"),
        ("a: " + "[" * 100_000 + "]" * 100_000, "nested too deeply"),
        ("a: \x00", "control characters"),
    ],
)
def test_what_is_no_object_of_json_is_an_error_of_its_line(tmp_path, text, said):
    (found,) = scanned(tmp_path, text)
    assert isinstance(found, InputError) and said in str(found)


def test_a_pool_is_the_same_in_both_forms(tmp_path):
    line = {
        "problem_id": "double",
        "domain": "python-function",
        "statement": "Write double(x).",
        "entry_point": "double",
        "human_testing": {"kind": "cases", "cases": [{"input": [2], "output": 4}]},
        "reference_solution": "def double(x):\n    return 2 * x\n",
        "solutions": ["def double(x): return x + x"],
        "testings": [{"kind": "asserts", "asserts": ["assert double(1) == 2"]}],
    }
    other = {**line, "problem_id": "twice"}
    (tmp_path / "p.yaml").write_text(yaml.safe_dump_all([line, other]))
    pools = load_pools(tmp_path / "p.yaml")
    write_pools(tmp_path / "p.jsonl", pools)
    assert [pool_to_json(one) for one in load_pools(tmp_path / "p.jsonl")] == [pool_to_json(one) for one in pools]
    assert not is_matrices_file(tmp_path / "p.yaml")


def test_a_bad_document_is_named_and_the_others_are_read(tmp_path):
    (tmp_path / "p.yaml").write_text("problem_id: a\nnonsense: 1\n---\nproblem_id: b\ndomain: d\nstatement: s\n")
    bad, *_, good = scan_pools(tmp_path / "p.yaml")
    assert isinstance(bad, InputError) and "p.yaml:1: field 'nonsense'" in str(bad)
    assert good.problem.problem_id == "b" and good.problem.line == 4
    (tmp_path / "empty.yaml").write_text("# nothing yet\n")
    with pytest.raises(InputError, match="holds no problem"):
        load_pools(tmp_path / "empty.yaml")
