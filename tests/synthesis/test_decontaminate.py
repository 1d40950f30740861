"""Decontamination: overlapping problems are found with the file and item named; bad files are refused by line."""

import gzip
import json
from pathlib import Path

import pytest

from evosyn.errors import InputError
from evosyn.synthesis.decontaminate import BenchmarkItem, DecontaminateConfig, OverlapIndex, load_benchmark, open_index

TEXT = (
    "Given a list of integers and a threshold, check whether any two numbers in the list are closer to each other than "
    "the given threshold, and return True if they are"
)


def index(*texts: str, **config: float) -> OverlapIndex:
    items = [BenchmarkItem(f"bench#{number}", text) for number, text in enumerate(texts)]
    return OverlapIndex(items, DecontaminateConfig.model_validate(config))


@pytest.mark.parametrize(
    "text",
    [
        TEXT,
        TEXT.upper(),
        f"Story first. {TEXT}. And then other words that say nothing.",
        TEXT[:120],
    ],
    ids=["same", "case", "embedded", "half of it"],
)
def test_a_repeated_benchmark_problem_is_found_and_named(text):
    found = index("nothing like it at all", TEXT).find(text)
    assert found is not None
    assert found.of == "bench#1"
    assert found.overlap >= 0.5


def test_shared_phrases_are_not_contamination():
    other = "Write a function that returns True if a word in the list is a palindrome, and the number of such words"
    assert index(TEXT).find(other) is None


def test_the_share_is_of_the_shorter_text_and_the_limit_is_inclusive():
    words = [f"w{number}" for number in range(20)]
    shared = " ".join([*words[:10], *(f"x{number}" for number in range(30))])
    found = index(" ".join(words), overlap=0.5).find(shared)
    assert found is not None
    assert found.overlap == 0.5
    assert index(" ".join(words), overlap=0.51).find(shared) is None


def test_a_text_shorter_than_the_ngram_matches_only_as_a_whole():
    found = index("add two numbers").find("Add two numbers!")
    assert found is not None
    assert index("add two numbers").find("add two numbers and then some") is None


POOL_LINE = (
    '{"problem_id": "a", "domain": "python-function", "statement": "Add.", "entry_point": "f", "solutions": [], '
    '"human_testing": {"kind": "cases", "cases": [{"input": [1], "output": 2}]}}\n'
)


@pytest.mark.parametrize("suffix", [".jsonl", ".jsonl.gz", ".json"])
def test_benchmarks_are_read_in_their_usual_shapes(tmp_path: Path, suffix: str):
    rows = [{"task_id": "A/1", "prompt": TEXT}, {"question_id": 7, "question_content": "another text"}]
    text = json.dumps(rows) if suffix == ".json" else "".join(json.dumps(row) + "\n" for row in rows)
    path = tmp_path / f"bench{suffix}"
    path.write_bytes(gzip.compress(text.encode()) if suffix.endswith("gz") else text.encode())
    items = load_benchmark(str(path))
    assert [item.text for item in items] == [TEXT, "another text"]
    assert items[0].name == f"bench{suffix}#A/1"
    assert open_index(DecontaminateConfig(files=(str(path),))).find(TEXT) is not None


def test_parquet_and_a_named_field_are_read(tmp_path: Path):
    import pyarrow
    import pyarrow.parquet

    path = tmp_path / "bench.parquet"
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist([{"id": 3, "body": TEXT}]), path)
    assert load_benchmark(f"{path}::body")[0] == BenchmarkItem("bench.parquet#3", TEXT)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "is empty"),
        ('{"prompt": "a"}\nnot json\n', ":2: is not JSON"),
        ('{"x": 1}\n', "no text"),
        ("[1, 2]", ":1: is not a JSON object"),
        (POOL_LINE + POOL_LINE.replace('"kind": "cases"', '"kind": 7'), "bench.jsonl:2: field 'human_testing"),
        (POOL_LINE.replace('"f"', "7"), "bench.jsonl:1: field 'entry_point"),
    ],
)
def test_bad_benchmark_files_are_refused_by_line(tmp_path: Path, content: str, message: str):
    path = tmp_path / "bench.jsonl"
    path.write_text(content)
    with pytest.raises(InputError, match=message):
        load_benchmark(str(path))


def test_a_missing_benchmark_file_is_refused(tmp_path: Path):
    with pytest.raises(InputError, match="no such benchmark file"):
        load_benchmark(str(tmp_path / "none.jsonl"))


@pytest.mark.parametrize("name", ["problems_humaneval.jsonl.gz", "problems_mbpp.jsonl.gz"])
def test_no_benchmark_problem_passes_its_own_decontamination(name: str):
    path = Path(__file__).parents[3] / "shared" / "data" / name
    if not path.exists():
        pytest.skip("the real data is not here")
    whole = open_index(DecontaminateConfig(files=(str(path),)))
    assert all(whole.find(item.text) is not None for item in load_benchmark(str(path)))


RETOLD = (
    "You get the list of all deposits and withdrawals of a bank account that begins with a balance of zero, in order. "
    "Say whether at some moment the balance of the account falls below zero"
)
ORIGINAL = (
    "You are given a list of deposit and withdrawal operations on a bank account that starts with zero balance. Your "
    "task is to detect if at any point the balance of the account falls below zero, and then to return True"
)
OTHERS = ("Count the vowels of a word and the consonants, upper and lower case letters alike", "Sort boxes by weight")


def test_a_problem_that_is_told_anew_is_found_by_its_content():
    found = index(*OTHERS, ORIGINAL, TEXT).find(RETOLD)
    assert found is not None
    assert (found.of, found.by) == ("bench#2", "content")
    assert index(*OTHERS, ORIGINAL, TEXT, content=1.0).find(RETOLD) is None


def test_few_words_are_not_enough_to_be_alike():
    assert index("Add two given numbers", TEXT).find("Add the numbers that are given") is None


def test_rows_of_a_pool_bring_their_testing_and_others_none(tmp_path):
    row = {
        "problem_id": "a",
        "domain": "python-function",
        "statement": ORIGINAL,
        "entry_point": "f",
        "human_testing": {"kind": "cases", "cases": [{"input": [1], "output": 2}]},
    }
    file = tmp_path / "bench.jsonl"
    file.write_text("\n".join(json.dumps(one) for one in ({**row, "solutions": [], "testings": []}, {"prompt": TEXT})))
    benchmark = open_index(DecontaminateConfig(files=(str(file),)))
    assert [item.name for item in benchmark.nearest(RETOLD, "python-function")] == ["bench.jsonl#a"]
    assert benchmark.nearest(RETOLD, "python-stdin") == []
