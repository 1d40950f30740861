"""A strategy that reads what the matrices of a synthesis do not hold: the report, the card and `inspect` say so."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from evosyn.cli._synthesis_view import warn
from evosyn.reading.conclusions import of_synthesis
from evosyn.records import Invalid, PassMatrix, Ranking
from evosyn.strategies import load_known
from evosyn.strategies.grammar.openings import OPENINGS
from evosyn.strategies.grammar.reader import Reader
from evosyn.synthesis.config import SynthesizeConfig
from evosyn.synthesis.recipes.shards import synthesize_shards
from evosyn.synthesis.shards.crews import Alone
from evosyn.synthesis.shift import EvolvedOn, evolved_on, read_evolved_on

CONFIG = SynthesizeConfig(problems=12, solutions=5, testings=4)
MBR = load_known("mbr")
GENETIC = Reader().write(OPENINGS["outputs"])
OWN = """
def rank(evidence):
    passed = evidence.passed.astype(float)
    return (passed.sum(1), passed.sum(0)) if evidence.values is None else (passed.sum(1) * 2, passed.sum(0))
"""
TIMED = """
def rank(evidence):
    return -evidence.durations.sum(1), evidence.passed.sum(0)
"""


class WithoutValues:
    """Ranks by pass counts; has no ranking by a rule that needs values, where there are none."""

    def rank(self, programs, evidences, tasks=None):  # noqa: ARG002
        return [self._ranked(program, evidences) for program in programs]

    def _ranked(self, program, evidences):
        if program == MBR and any(one.values_NMC is None for one in evidences):
            return Invalid("ValueError: MBR compares values", ("values",))
        passed = [one.passed_MN.astype(float) for one in evidences]
        return tuple(Ranking(one.sum(axis=1), one.sum(axis=0)) for one in passed)


def evolved(*, values: bool) -> EvolvedOn:
    """What a search keeps of six problems, with and without values."""
    rng = np.random.default_rng(0)
    run = []
    for number in range(6):
        cells = rng.choice(list("PF"), (5, 4))
        given = tuple(rng.integers(0, 3, (5, 2)).astype(np.uint64) for _ in range(4)) if values else None
        run.append(PassMatrix(f"p{number}", cells, cells[:, 0], values_NMC=given))
    report = json.loads(json.dumps({"evolved_on": evolved_on(run[:4], run[4:], 5, 4)}))
    found = read_evolved_on(report)
    assert found is not None
    return found


def made(toy, out: Path, strategy: str, known: EvolvedOn | None = None, config: SynthesizeConfig = CONFIG) -> dict:
    """The report of a synthesis whose matrices hold no values."""
    toy.inputs, toy.runner = replace(toy.inputs, strategy=strategy, evolved_on=known), WithoutValues()
    if config.shards.size is None:
        return toy.run(out, config)
    return synthesize_shards(
        toy.inputs, config, toy.bench(), out, crew=lambda setup: Alone(setup, lambda *_: toy.bench())
    )


def test_a_strategy_that_is_invalid_without_values_is_told_with_how_many_problems_that_cost(toy, tmp_path, capsys):
    report = made(toy, tmp_path / "d", MBR)
    found, count = report["lacking"], report["dropped"]["strategy-invalid"]
    assert (found["unknown"], found["problems"], found["invalid"]) == ({"values": count}, count, count)
    assert found["said"][0] == (
        f"the strategy reads what is unknown here, values ({count} of {count} problems), and is invalid on {count} of "
        f"{count} problems for that"
    )
    assert "evosyn evolve" in found["said"][-1] and "evosyn synthesize RULE.py" in found["said"][-1]
    warn(report)
    assert capsys.readouterr().err == "".join(f"warning: {line}\n" for line in found["said"])


@pytest.mark.parametrize(("strategy", "neutral"), [(GENETIC, True), (OWN, False)])
def test_a_program_in_which_it_is_neutral_is_told_apart_from_one_with_lines_for_it(toy, tmp_path, strategy, neutral):
    report = made(toy, tmp_path / "d", strategy, evolved(values=True))
    found = report["lacking"]
    assert (found["neutral"], found["invalid"]) == (neutral, 0) and "strategy-invalid" not in report["dropped"]
    assert ("genetic grammar in which that is neutral" in found["said"][0]) is neutral
    assert "scored on its held-out problems" in found["said"][1]
    assert found["evolved_without"] == {"values": 0.0}
    assert found["said"][0] in (tmp_path / "d" / "README.md").read_text()
    told = of_synthesis(report, {"strategy": "s_1", "strategy_from": "runs/a"}, 1).why
    assert any(line.startswith("The strategy reads what is unknown here, values") for line in told)


def test_what_the_search_did_without_as_well_is_no_reason_to_warn_unless_the_strategy_is_invalid(toy, tmp_path):
    known = evolved(values=False)
    assert made(toy, tmp_path / "a", GENETIC, known)["lacking"]["said"] == []
    assert "is invalid on" in made(toy, tmp_path / "b", MBR, known)["lacking"]["said"][0]


def test_nothing_is_said_of_a_strategy_that_reads_what_is_there(toy, tmp_path):
    assert made(toy, tmp_path / "d", load_known("codet_gap"), evolved(values=True))["lacking"] is None
    assert "that they do not hold" not in (tmp_path / "d" / "README.md").read_text()


def test_a_run_in_shards_counts_the_same(toy, tmp_path):
    whole = made(toy, tmp_path / "d", MBR)["lacking"]
    parts = CONFIG.model_copy(update={"shards": CONFIG.shards.model_copy(update={"size": 5})})
    assert made(toy, tmp_path / "s", MBR, config=parts)["lacking"] == whole


def test_a_run_of_a_search_that_counted_nothing_is_read(toy, tmp_path):
    known = replace(evolved(values=True), unknown=None)
    found = made(toy, tmp_path / "d", GENETIC, known)["lacking"]
    assert found["evolved_without"] == {"values": None} and len(found["said"]) == 2


def test_a_strategy_that_reads_durations_which_nobody_measured_is_told_so(toy, tmp_path):
    found = made(toy, tmp_path / "d", TIMED, evolved(values=True))["lacking"]
    assert (set(found["unknown"]), found["evolved_without"]) == ({"durations"}, {"durations": 1.0})
    assert found["said"] == [], "the search did without them as well"


def test_what_a_search_did_not_count_yet_is_not_said_to_have_been_in_view(toy, tmp_path):
    whole = evolved(values=True)
    assert whole.unknown is not None and whole.lacked("durations") == whole.lacked("solution_texts") == 1.0
    assert (whole.lacked("values"), whole.lacked("calls")) == (0.0, 1.0)
    before = replace(whole, unknown={"calls": 6, "statement": 6, "payload": 6})
    assert before.lacked("durations") is before.lacked("solution_texts") is before.lacked("testing_texts") is None
    assert (before.lacked("values"), before.lacked("calls")) == (0.0, 1.0)
    found = made(toy, tmp_path / "d", TIMED, before)["lacking"]
    assert found["evolved_without"] == {"durations": None} and len(found["said"]) == 2
