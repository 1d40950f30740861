"""Texts that standard input cannot carry make their own testing broken, and nothing else."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from evosyn.crossexec.judge import Cell, Judge
from evosyn.domains.python_stdin import PythonStdin
from evosyn.errors import FormatError
from evosyn.jobs import Limits
from evosyn.records import Problem, Solution, Testing, Verdict
from evosyn.sandbox import open_sandbox

PROBLEM = Problem("p", "python-stdin", "Some text.")
ECHO = Solution("import sys\nsys.stdout.buffer.write(sys.stdin.buffer.read())\n")
SOUND = Testing("stdin", {"cases": [{"input": "é\n", "output": "é\n"}]})
CASES = {
    "an input": [{"input": {"python": "chr(0xD800)"}, "output": "1"}],
    "an input beside a sound one": [{"input": "1", "output": "1"}, {"input": {"python": "'1\\udfff'"}, "output": "1"}],
    "an output": [{"input": "1", "output": {"python": "'\\ud83d'"}}],
    "a whole list": {"python": "def build_cases():\n    return [{'input': '\\ud83d\\ude00', 'output': '1'}]\n"},
}


@pytest.fixture(scope="module")
def judge() -> Iterator[Judge]:
    with open_sandbox("local", workers=1) as opened:
        yield Judge(opened, {"python-stdin": PythonStdin()}, Limits(cpu_s=1.0, budget_s=10.0))


@pytest.mark.parametrize("place", CASES)
def test_a_generated_text_that_cannot_be_encoded_is_a_broken_testing(place: str, judge: Judge) -> None:
    testing = Testing("stdin", {"cases": CASES[place]})
    found = judge.verify([Cell(PROBLEM, ECHO, one) for one in (SOUND, testing, SOUND)])
    assert [cell.verdict for cell in found] == [Verdict.PASS, Verdict.BROKEN, Verdict.PASS]
    assert "surrogate" in found[1].detail or "encoded" in found[1].detail


def test_a_given_text_that_cannot_be_encoded_is_refused_when_read_and_broken_when_not(judge: Judge) -> None:
    testing = Testing("stdin", {"cases": [{"input": "\ud800", "output": "1"}]})
    with pytest.raises(FormatError, match="surrogate"):
        PythonStdin().check_shape(testing)
    (found,) = judge.verify([Cell(PROBLEM, ECHO, testing)])
    assert found.verdict is Verdict.BROKEN


def test_single_bytes_may_stand_as_escapes(judge: Judge) -> None:
    testing = Testing("stdin", {"cases": [{"input": "\udcff", "output": "255"}]})
    PythonStdin().check_shape(testing)
    (found,) = judge.verify([Cell(PROBLEM, Solution("import sys\nprint(sys.stdin.buffer.read()[0])\n"), testing)])
    assert found.verdict is Verdict.PASS
