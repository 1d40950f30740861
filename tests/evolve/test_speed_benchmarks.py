"""The benchmarks of speed: every figure of the documents has a command, and those of strategies run in small."""

import importlib
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

from evosyn.strategies.evidence import MAYBE, evidence_of, unknown

ROOT = Path(__file__).parents[2]
BENCHMARKS = ROOT / "benchmarks"


@pytest.fixture
def evolve(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    return importlib.import_module("evolve")


def test_every_row_of_the_table_of_speed_has_a_command_that_makes_it(evolve):
    page = (ROOT / "docs" / "evolve.md").read_text()
    rows = page.partition("## How fast it is")[2].partition("\n## ")[0].splitlines()
    commands = [re.findall(r"`([^`]+)`", row.split("|")[2]) for row in rows if row.startswith("| ")][1:]
    assert len(commands) > 8 and all(commands)
    for command in {command for row in commands for command in row}:
        evolve.parser().parse_args(command.split())


def small(*arguments: str) -> dict[str, float]:
    command = [sys.executable, *arguments]
    found = subprocess.run(command, cwd=BENCHMARKS, capture_output=True, text=True, check=True).stdout
    return {line[:55].strip(): float(line[55:]) for line in found.splitlines()}


def test_programs_outside_the_grammar_are_measured_apart_from_grafts_and_all_are_valid():
    found = small("evolve.py", "outside", "--evaluations", "40")
    for name in ("known rules", "grafts on known rules"):
        assert found[f"evaluated/s and core, {name}"] > 0 and found[f"programs, {name}"] >= 10
        assert found[f"of them invalid, {name}"] == 0


def test_a_default_search_is_measured_on_draws_that_differ_and_without_texts_and_values():
    found = small("evolve.py", "default", "--evaluations", "30")
    assert found["evaluated/s and core"] > 0 and found["draws"] == 48 * (8 + 4)


def test_seeds_hold_all_that_evidence_may_hold_or_the_same_verdicts_alone(monkeypatch):
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    seeds = importlib.import_module("_seeds").seeds
    for one, other in zip(seeds(2, 4, 3), seeds(2, 4, 3, view=False), strict=True):
        assert (one.verdicts_MN == other.verdicts_MN).all() and (one.copies_M == other.copies_M).all()
        assert unknown(evidence_of(one)) == frozenset()
        assert unknown(evidence_of(other)) == {*MAYBE} - {"verdicts"}


def test_bursts_around_known_rules_are_part_of_a_search_that_is_measured(evolve, tmp_path):
    searches = importlib.import_module("_searches")
    start, stop, loop = evolve.START, evolve.StopConfig(proposals=120), evolve.LoopConfig(lag=4)
    made = searches.search(
        tmp_path / "j", evolve.SizeEvaluator(), evolve.GeneticProposer(4, evolve.Reader()), start, stop, loop,
        evolve.Reader(), searches.KnownRules(),
    )  # fmt: skip
    made.run()
    tallies = made.state.tallies
    assert tallies["written"].proposals >= 3 and tallies["arm"].candidates > 100 + 4 * tallies["arm"].proposals


def test_scoring_runs_a_rule_that_needs_values():
    command = [sys.executable, "scoring.py", "--candidates", "2", "--strategies", "mbr"]
    ran = subprocess.run(command, cwd=BENCHMARKS, capture_output=True, text=True, check=False)
    assert ran.returncode == 0 and "| mbr | plain program" in ran.stdout, ran.stderr
    ran = subprocess.run([*command, "--without"], cwd=BENCHMARKS, capture_output=True, text=True, check=False)
    assert ran.returncode and "MBR compares what solutions returned" in ran.stderr
