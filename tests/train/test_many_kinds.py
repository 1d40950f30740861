"""One run over rows of many domains: shares, solve rates by student, bands; the tiny model on four domains."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from simulation.scripted_server import ScriptedServer

from evosyn.chat import Request
from evosyn.cli.export import command as export
from evosyn.cli.inspect import command as inspect
from evosyn.configs.loading import load_config
from evosyn.dataset import Sample, read_dataset, write_dataset
from evosyn.domains import Domains
from evosyn.errors import UsageError
from evosyn.ports import Sandbox
from evosyn.randomness import SeedTree
from evosyn.rates import RowRate, calibrations, folder_of, in_band, rate_events
from evosyn.rundir import RunDir
from evosyn.train import tiny
from evosyn.train.calibrate import header_of, measure, report_of
from evosyn.train.config import CalibrateConfig, RlvrConfig
from evosyn.train.data import mixed
from evosyn.train.scoring import Scorer, reward_judge
from tests.train.conftest import FUNCTIONS, sample_of
from tests.train.reward_rows import posed

EXAMPLES = Path(__file__).parents[2] / "examples" / "short_answer"
HEADER = header_of(CalibrateConfig(samples=4), "student-a")


def samples(count: int = 4) -> list[Sample]:
    return [sample_of(index, "evosyn") for index in range(count)]


class Student:
    """Solves the first `right` of its samples for the problems that it knows; remembers what it was asked."""

    chunk, reasoning = 2, "auto"

    def __init__(self, right: dict[str, int], most: int = 1000) -> None:
        self._right, self._most = right, most
        self.asked: list[str] = []

    def generate(self, requests: Sequence[Request], names: Sequence[str]) -> list[list[str]]:
        if len(self.asked) >= self._most:
            raise KeyboardInterrupt
        self.asked += names
        return [self._drawn(request.problem.problem_id) for request in requests if request.problem is not None]

    def _drawn(self, name: str) -> list[str]:
        expression = next(right[0] for known, _, right, _, _ in FUNCTIONS if known == name)
        texts = [f"```python\ndef {name}(xs):\n    return {what}\n```" for what in (expression, "None")]
        return [texts[at >= self._right.get(name, 0)] for at in range(4)]


def test_a_mix_leaves_no_row_out_and_keeps_its_shares() -> None:
    parts = [samples(8), [replace(one, id=f"x{one.id}") for one in samples(3)]]
    found = mixed(parts, "1:3", SeedTree(1))
    counts = Counter(one.id for one in found)
    assert sum(counts[one.id] for one in parts[0]) == 8
    assert sum(counts[one.id] for one in parts[1]) == 24
    assert set(counts) == {one.id for part in parts for one in part}
    uneven = mixed(parts, "2:1.1", SeedTree(1))
    assert len(uneven) == 8 + 4
    assert uneven == mixed(parts, "2:1.1", SeedTree(1))
    assert mixed(parts, None, SeedTree(1)) == [*parts[0], *parts[1]]


@pytest.mark.parametrize("mix", ["2", "1:2:3", "1:0", "1:-1", "a:b", "1:inf", ""])
def test_a_mix_that_does_not_fit_the_data_is_refused(mix: str) -> None:
    with pytest.raises(UsageError, match="--mix"):
        mixed([samples(2), samples(2)], mix, SeedTree(0))


def test_the_easiest_problems_are_shared_out_among_domains() -> None:
    every = [*samples(10), *(replace(one, domain="other", problem_id=f"o-{one.problem_id}") for one in samples(10))]
    chosen = Counter(one.domain for one in tiny.easiest(every, 5))
    assert chosen == {"python-function": 3, "other": 2}
    assert len(tiny.easiest(every, 1)) == 2


def test_a_calibration_goes_on_where_it_stopped_and_draws_nothing_twice(sandbox: Sandbox, tmp_path: Path) -> None:
    rows = samples(4)
    scorer = Scorer(reward_judge(sandbox, Domains()))
    knows = {"total": 4, "count": 2, "largest": 1}
    with RunDir(tmp_path / "one") as run, pytest.raises(KeyboardInterrupt):
        measure(rows, Student(knows, most=2), scorer, run, HEADER)
    again = Student(knows)
    with RunDir(tmp_path / "one") as run:
        rates = measure(rows, again, scorer, run, HEADER)
    assert again.asked == [rows[2].id, rows[3].id]
    assert [(rates[row.id].passed, rates[row.id].n) for row in rows] == [(4, 4), (2, 4), (1, 4), (0, 4)]
    report = report_of(rows, rates, HEADER)
    assert (report["rated"], report["in_band"], report["never"], report["always"]) == (4, 2, 1, 1)
    assert report["fifths"] == [1, 1, 1, 0, 1]
    with RunDir(tmp_path / "one") as run, pytest.raises(UsageError, match="samples"):
        measure(rows, again, scorer, run, {**HEADER, "samples": 8})


def test_rows_that_could_not_be_judged_are_drawn_again(sandbox: Sandbox, tmp_path: Path) -> None:
    rows = samples(2)
    with RunDir(tmp_path) as run:
        events = rate_events(run.journal)
        events.begin(HEADER)
        for row in rows:
            events.append(RowRate(row.id, 3, 0, unknown=1 if row is rows[1] else 0))
        student = Student({"count": 3})
        rates = measure(rows, student, Scorer(reward_judge(sandbox, Domains())), run, HEADER)
    assert student.asked == [rows[1].id]
    assert rates[rows[1].id] == RowRate(rows[1].id, 4, 3)


def test_rates_that_do_not_fall_with_the_level_are_named() -> None:
    rows = [
        replace(one, id=f"{name}{level}", meta=json.dumps({"environment": name, "title": name, "level": level}))
        for name in ("falls", "flat", "always")
        for level, one in enumerate(samples(5), 1)
    ]
    passed = {"falls": [16, 12, 8, 4, 0], "flat": [8] * 5, "always": [16] * 5}
    rates = {
        f"{name}{at}": RowRate(f"{name}{at}", 16, one) for name in passed for at, one in enumerate(passed[name], 1)
    }
    found = {one["of"]: one["unfit"] for one in report_of(rows, rates, HEADER)["levels"]}
    assert found == {"falls": "", "flat": "flat", "always": "trivial"}


def test_a_band_takes_rows_by_the_rate_of_one_student(tmp_path: Path) -> None:
    rows = samples(4)
    with pytest.raises(UsageError, match="no solve rates"):
        in_band(rows, tmp_path, "evosyn", ".1:.9", None)
    _kept(tmp_path, HEADER, {row.id: at for at, row in enumerate(rows)})
    assert in_band(rows, tmp_path, "evosyn", ".25:.5", None) == rows[1:3]
    assert in_band(rows, tmp_path / "dataset" / "evosyn.parquet", "evosyn", "0:1", "student-a") == rows
    with pytest.raises(UsageError, match="widen"):
        in_band(rows, tmp_path, "evosyn", ".9:1", None)
    with pytest.raises(UsageError, match="1 of 5 rows"):
        in_band(samples(5), tmp_path, "evosyn", "0:1", None)
    with pytest.raises(UsageError, match="student-b"):
        in_band(rows, tmp_path, "evosyn", "0:1", "student-b")
    _kept(tmp_path, {**HEADER, "student": "student-b"}, {row.id: 2 for row in rows})
    with pytest.raises(UsageError, match="--student"):
        in_band(rows, tmp_path, "evosyn", ".5:.5", None)
    assert in_band(rows, tmp_path, "evosyn", ".5:.5", "student-b") == rows
    _kept(tmp_path, {**HEADER, "samples": 8}, {row.id: 1 for row in rows})
    assert in_band(rows, tmp_path, "evosyn", ".25:.25", "student-a") == rows


@pytest.mark.parametrize("band", ["", "1", ".9:.1", "0:2", "-1:1", "a:b", "..:1"])
def test_a_band_is_two_shares_in_order(band: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="--band"):
        in_band(samples(1), tmp_path, "evosyn", band, None)


def _kept(data: Path, header: dict[str, object], passed: dict[str, int]) -> None:
    run = RunDir(folder_of(data, header))
    events = rate_events(run.journal)
    events.begin(header)
    for row, count in passed.items():
        events.append(RowRate(row, 4, count))
    run.close()


def short_answers() -> list[Sample]:
    sums = [(2, 7), (3, 5), (4, 4)]
    return [
        replace(
            sample_of(0, "evosyn"),
            id=f"area-{a}",
            problem_id=f"area-{a}",
            domain="short_answer:create",
            statement=f"A rectangle is {a} m wide and {b} m long. What is its area?",
            payload=json.dumps({"unit": "m"}),
            testing=json.dumps({"kind": "answer", "accepts": [str(a * b)]}),
            solution=f"{a * b} m",
            solutions_ranked=json.dumps([{"id": "s", "source": f"{a * b} m", "verdict": "P"}]),
        )
        for a, b in sums
    ]


@pytest.mark.train
@pytest.mark.slow
@pytest.mark.skipif(importlib.util.find_spec("trl") is None, reason="needs the train extra")
def test_the_tiny_model_trains_on_four_domains(
    sandbox: Sandbox, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from evosyn.environments import environment
    from evosyn.environments.rows import EnvironmentRow, rows_of, samples_of
    from evosyn.environments.runner import EnvironmentRunner
    from evosyn.train.checkpoints import read_metrics
    from evosyn.train.rlvr import train_rlvr

    monkeypatch.syspath_prepend(str(EXAMPLES))
    made = rows_of(environment("brackets"), EnvironmentRunner(sandbox), 4, SeedTree(0))
    environments = samples_of([row for row in made if isinstance(row, EnvironmentRow)], Domains()["environment"])
    stdin = [posed("python-stdin", index).sample for index in range(0, 12, 4)]
    parts = {"function": samples(4), "stdin": stdin, "short": short_answers(), "environment": environments}
    for name, rows in parts.items():
        write_dataset(tmp_path / name, "evosyn", rows)
    _kept(tmp_path / "function", HEADER, {row.id: at for at, row in enumerate(parts["function"])})
    _kept(tmp_path / "stdin", HEADER, {row.id: 1 for row in stdin})
    for name in ("short", "environment"):
        _kept(tmp_path / name, HEADER, {row.id: 2 for row in parts[name]})
    sets = ["tiny.warm_steps=2", "rollout.max_completion=6", "rollout.prompts=8", "rollout.group=2", "steps=2"]
    flags = {"data": [str(tmp_path / name) for name in parts], "model": "builtin:tiny", "rows.mix": "1:1:1:2"}
    config = load_config(RlvrConfig, preset="train-tiny", sets=sets, flags={**flags, "rows.band": ".2:.9"})
    report = train_rlvr(config, tmp_path / "run", sandbox)
    counted = report["lineage"]["rows_by_domain"]
    assert sorted(counted) == ["environment", "python-function", "python-stdin", "short_answer:create"]
    assert counted["environment"] == 2 * counted["python-stdin"]
    assert (report["lineage"]["mix"], report["lineage"]["band"]) == ("1:1:1:2", ".2:.9")
    seen = {name for row in read_metrics(tmp_path / "run" / "metrics.jsonl") for name in row if "/" in name}
    assert {f"reward/{domain}" for domain in counted} & seen
    assert {f"pass_rate/{domain}" for domain in counted} <= set(report["metrics"])
    assert {one.id for one in read_dataset(tmp_path / "short")} == {one.id for one in parts["short"]}
    sys.modules.pop("short_answer", None)


def test_a_served_student_is_paid_once_and_its_rates_make_the_band_of_an_export(tmp_path: Path) -> None:
    names = [name for name, *_ in FUNCTIONS[:3]]

    def says(body: Mapping[str, Any], times: int) -> str:
        """Solves the first problem always, the second in the first of two samples, the third never."""
        place = next(at for at, name in enumerate(names) if f"{name}(xs)" in json.dumps(body))
        right = FUNCTIONS[place][2][0] if times < 2 - place else "None"
        return f"```python\ndef {names[place]}(xs):\n    return {right}\n```"

    data = tmp_path / "data"
    write_dataset(data, "evosyn", samples(3))
    with ScriptedServer(says) as server:
        line = [sys.executable, "-m", "evosyn", "calibrate", str(data), "--model", "openai/scripted", "--samples", "2"]
        line += ["--base-url", server.base_url, "--set=workbench.teacher.hedge=false", "--json", "--allow-weak-sandbox"]
        environment = {**os.environ, "OPENAI_API_KEY": "sk-secret-for-the-test"}
        runs = [subprocess.run(line, capture_output=True, text=True, env=environment, check=True) for _ in range(2)]
        assert runs[0].stdout == runs[1].stdout
        assert server.counts.requests == 6
        raised = [*line, "--samples", "3"]
        subprocess.run(raised, capture_output=True, text=True, env=environment, check=True)
        assert server.counts.requests == 9
    report = json.loads(runs[0].stdout)
    assert (report["solve_rate"], report["in_band"], report["never"], report["always"]) == (0.5, 1, 1, 1)
    shown = CliRunner().invoke(inspect, [str(data / "calibration" / path_of(data, 2))]).output
    assert "openai/scripted solves 0.500 of 3 rows" in shown
    for path in (data / "calibration").glob("*/*.*"):
        assert b"sk-secret" not in path.read_bytes()
    out = tmp_path / "out"
    told = CliRunner().invoke(export, [str(data), "--format", "sft", "--band", ".5:.9", "--out", str(out)])
    assert told.exit_code == 0, told.output
    assert len((out / "train.jsonl").read_text().splitlines()) == 1


def path_of(data: Path, count: int) -> str:
    return next(one.path.name for one in calibrations(data, "evosyn") if one.header["samples"] == count)
