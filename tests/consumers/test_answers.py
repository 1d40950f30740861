"""What math-verify says of our pairs of final answers: it differs from the truth just where the documents list it."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

pytestmark = pytest.mark.consumers
HOME = Path(__file__).parents[2]


ASKED = """
import json, sys
from math_verify import parse, verify
boxed = lambda text: parse("\\\\boxed{" + text + "}")
print(json.dumps([bool(verify(boxed(declared), boxed(given))) for declared, given in json.load(sys.stdin)]))
"""


def test_math_verify_differs_from_the_truth_where_the_documents_list_it() -> None:
    """In a process of its own: what it reads hangs on the version of antlr, and the documents name one."""
    asked = list(pairs())
    path = os.pathsep.join([os.environ["EVOSYN_ANTLR"], *filter(None, [os.environ.get("PYTHONPATH")])])
    said = subprocess.run(
        [sys.executable, "-c", ASKED],
        input=json.dumps([pair[:2] for pair in asked]),
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    assert said.returncode == 0, said.stderr
    found = {pair for pair, same in zip(asked, json.loads(said.stdout), strict=True) if same != pair[2]}
    assert found == set(listed())


def pairs() -> Iterator[tuple[str, str, bool]]:
    """(declared, given, whether they are the same), as in tests/domains/test_math_answer.py."""
    for row in yaml.safe_load((HOME / "tests" / "domains" / "answer_pairs.yaml").read_text(encoding="utf-8")):
        for truth in ("same", "other"):
            yield from ((row["declared"], text, truth == "same") for text in row[truth])


def listed() -> Iterator[tuple[str, str, bool]]:
    """The same, of the table of docs/math-answer.md."""
    text = (HOME / "docs" / "math-answer.md").read_text(encoding="utf-8")
    for line in re.findall(r"^\| `.*\|$", text.partition("| declared |")[2], re.M):
        declared, *cells = [re.findall(r"`([^`]+)`", cell) for cell in line.strip("|").split("|")]
        for cell, truth in zip(cells, (True, False), strict=True):
            yield from ((declared[0], given, truth) for given in cell)
