"""A small dataset on disk, written through `evosyn.dataset`, and the sandbox for the training tests."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from evosyn.chat import Message
from evosyn.dataset import Sample, sample_id, write_dataset
from evosyn.ports import Sandbox
from evosyn.records import Json, content_id

# name, what it returns in words, right expressions, wrong expressions, inputs
FUNCTIONS: list[tuple[str, str, list[str], list[str], list[Json]]] = [
    ("total", "the sum of xs", ["sum(xs)", "sum(x for x in xs)"], ["len(xs)", "max(xs, default=0)"], [[1, 2], [], [5]]),
    ("count", "how many items xs has", ["len(xs)", "sum(1 for x in xs)"], ["sum(xs)", "0"], [[1, 2], [], [7, 7, 7]]),
    (
        "largest",
        "the largest item of xs, or 0",
        ["max(xs, default=0)"],
        ["min(xs, default=0)", "len(xs)"],
        [[1, 9], []],
    ),
    (
        "smallest",
        "the smallest item of xs, or 0",
        ["min(xs, default=0)"],
        ["max(xs, default=0)", "0"],
        [[1, 9], [4, 2]],
    ),
    ("ordered", "xs in ascending order", ["sorted(xs)", "sorted(list(xs))"], ["xs", "xs[::-1]"], [[2, 1], [3, 1, 2]]),
    ("backwards", "xs reversed", ["xs[::-1]", "list(reversed(xs))"], ["xs", "sorted(xs)"], [[1, 2], [3, 1, 2]]),
    ("doubled", "each item of xs times two", ["[2 * x for x in xs]"], ["xs", "[x + 2 for x in xs]"], [[1, 2], [5]]),
    ("tail", "xs without its first item", ["xs[1:]"], ["xs[:-1]", "xs"], [[1, 2, 3], [4, 5]]),
    ("evens", "the even items of xs", ["[x for x in xs if x % 2 == 0]"], ["[x for x in xs if x % 2]"], [[1, 2], [4]]),
    ("distinct", "how many different items xs has", ["len(set(xs))"], ["len(xs)", "sum(xs)"], [[1, 1, 2], [3, 3]]),
]


def reference(expression: str, inputs: list[Json]) -> list[Json]:
    """Outputs of one of the expressions above: text of this file, nothing untrusted."""
    return [eval(expression, {"xs": list(xs)}) for xs in inputs]


def program(name: str, expression: str) -> str:
    return f"def {name}(xs):\n    return {expression}\n"


def sample_of(index: int, setting: str) -> Sample:
    name, words, right, wrong, inputs = FUNCTIONS[index]
    shown = inputs if setting != "random" else inputs[:1]
    expected = reference(right[0], shown)
    testing = {
        "kind": "cases",
        "cases": [{"input": [xs], "output": out} for xs, out in zip(shown, expected, strict=True)],
    }
    ranked = [
        {
            "id": content_id("s_", program(name, text)),
            "source": program(name, text),
            "score": float(text in right),
            "passes": 3 if text in right else 1,
            "verdict": "P" if reference(text, shown) == expected else "F",
        }
        for text in [*right, *wrong]
    ]
    text = json.dumps(testing)
    statement = f"Write a function {name}(xs) that returns {words}."
    return Sample(
        id=sample_id(setting, name, text, ranked[0]["source"]),
        problem_id=name,
        domain="python-function",
        prompt=(Message("system", "You are a careful programmer."), Message("user", f"Solve this.\n\n{statement}")),
        statement=statement,
        payload=json.dumps({"entry_point": name}),
        testing=text,
        tests=len(shown),
        solution=ranked[0]["source"],
        solutions_ranked=json.dumps(ranked),
        scores="{}",
        matrix_digest="m_0",
        lineage="{}",
        model="written-for-the-tests",
        simulated=True,
        difficulty=0.5,
        cost=0.0,
        licence="Apache-2.0",
        setting=setting,
    )


def write_small_data(folder: Path) -> Path:
    for setting in ("evosyn", "relaxed", "random"):
        write_dataset(folder, setting, [sample_of(index, setting) for index in range(len(FUNCTIONS))])
    return folder


@pytest.fixture(scope="session")
def small_data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_small_data(tmp_path_factory.mktemp("data"))


@pytest.fixture(scope="session")
def sandbox() -> Iterator[Sandbox]:
    from evosyn.sandbox import open_sandbox

    with open_sandbox("local", workers=2, allow_weak=True) as opened:
        yield opened
