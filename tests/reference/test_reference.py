"""Python means Python: drawn programs and testings get the verdict that one plain Python process gives them."""

from __future__ import annotations

import random
import re
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from hostile_suite.seed import run_seed
from reference_suite import ordinary
from reference_suite.comparing import EITHER_WAY, NEVER_ACCEPTS_MORE, compare, report, told
from reference_suite.drawing import FAMILIES, Pair, Said, draw

from evosyn.ports import Sandbox
from evosyn.sandbox import open_sandbox

DOCUMENT = Path(__file__).parents[2] / "docs" / "crossexec.md"


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    with open_sandbox("local", workers=2) as opened:
        yield opened


def agree(sandbox: Sandbox, seed: str, pairs: Sequence[Pair]) -> None:
    found = compare(sandbox, pairs)
    sys.stdout.write(f"\nseed {seed}\n{report(found)}\n")
    wrong = [one for one in found if not one.is_documented]
    assert not wrong, f"seed {seed}: {len(wrong)} differ\n" + "\n".join(told(one) for one in wrong[:12])


@pytest.mark.slow
def test_a_drawn_sample_means_what_python_means(sandbox: Sandbox) -> None:
    agree(sandbox, run_seed(), draw(run_seed(), 100))


@pytest.mark.long
def test_thousands_of_different_pairs_mean_what_python_means(sandbox: Sandbox) -> None:
    agree(sandbox, run_seed(), draw(run_seed(), 2000))


@pytest.mark.slow
def test_a_sample_of_ordinary_programs_means_what_python_means(sandbox: Sandbox) -> None:
    pairs = [pair for name, made in ordinary.SOURCES.items() if ordinary.is_here(name) for pair in made()]
    agree(sandbox, run_seed(), random.Random(run_seed()).sample(pairs, 60))


@pytest.mark.long
@pytest.mark.parametrize("source", ordinary.SOURCES)
def test_all_ordinary_programs_mean_what_python_means(sandbox: Sandbox, source: str) -> None:
    if not ordinary.is_here(source):
        pytest.skip(f"{ordinary.REAL} holds no copy of {source}; the other sources are compared")
    pairs = list(ordinary.SOURCES[source]())
    agree(sandbox, source, pairs)


def test_no_pair_is_drawn_twice_and_each_kind_of_testing_is_drawn() -> None:
    pairs = draw(run_seed(), 2000)
    must = [pair for pair in pairs if not pair.difference]
    assert len(set(pairs)) == len(pairs) and len(must) >= 2000
    kinds = Counter(pair.kind for pair in must)
    assert min(kinds[kind] for kind in ("asserts", "program", "cases", "stdin")) >= 100, kinds
    assert len(must) > 8 * (len(pairs) - len(must)), "classes of difference are few beside what must agree"


def test_every_class_of_difference_is_drawn_and_documented_by_its_name() -> None:
    drawn = {testing.difference for one in FAMILIES for testing in one.testings if isinstance(testing, Said)}
    assert drawn == NEVER_ACCEPTS_MORE | EITHER_WAY
    documented = set(re.findall(r"^\| \*\*(.+?)\*\* \|", DOCUMENT.read_text(encoding="utf-8"), re.MULTILINE))
    assert documented == drawn
