"""The small world of the experiment, its choices, its table; and a smoke run of everything."""

from __future__ import annotations

import importlib.util
import json
import random
import subprocess
import sys
from pathlib import Path

import pytest

from evosyn.errors import UsageError
from evosyn.records import Json, Provenance
from experiments.table2.__main__ import command
from experiments.table2.table import gap_closed, markdown, paired, summarize, sweep_markdown
from experiments.table2.toy_language import (
    OPERATIONS,
    Noise,
    confuse,
    confusions,
    draw_specs,
    inputs,
    is_good,
    make_pool,
    make_testing,
    run,
    source,
)


def test_every_statement_means_in_python_what_the_table_says() -> None:
    generator = random.Random(1)
    for word in OPERATIONS:
        namespace: dict[str, object] = {}
        exec(source((word,)), namespace)
        for _ in range(20):
            xs = inputs(generator)
            assert namespace["f"](list(xs)) == run((word,), list(xs))  # type: ignore[operator]


def test_specs_are_distinct_and_each_confusion_changes_them() -> None:
    specs = draw_specs(60, random.Random(0))
    assert len(set(specs)) == 60
    probes = [inputs(random.Random(number)) for number in range(200)]
    for spec in specs:
        for other in confusions(spec):
            assert any(run(spec, list(xs)) != run(other, list(xs)) for xs in probes)


def test_a_pool_without_noise_is_right_and_with_noise_errs_as_often_as_said() -> None:
    (spec,) = draw_specs(1, random.Random(3))
    clean = make_pool(spec, 5, Noise(0.0, 0.0, 0.0, 0.0, 0.0), random.Random(0))
    assert {solution.text for solution in clean.solutions} == {source(spec)}
    generator = random.Random(5)
    right = sum(confuse(spec, 0.3, generator) == spec for _ in range(4000)) / 4000
    assert right == pytest.approx(0.7**3, abs=0.03)
    lost = [Noise(lost=0.25).of_problem(generator).solution == 0.8 for _ in range(4000)]
    assert sum(lost) / 4000 == pytest.approx(0.25, abs=0.03)


def test_a_good_testing_tells_every_confusion_and_a_trivial_one_does_not() -> None:
    spec = ("reverse", "double", "evens")
    generator = random.Random(0)
    assert is_good(make_testing(spec, [inputs(generator) for _ in range(40)], Provenance()), spec)
    assert not is_good(make_testing(spec, [[], []], Provenance()), spec)
    assert not is_good(
        make_testing(("double", "double", "evens"), [inputs(generator) for _ in range(9)], Provenance()), spec
    )


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (("--arms", "nope"), "nope"),
        (("--noise", "default,nope"), "nope"),
        (("--data", "DATA"), "needs --model and --bench"),
        (("--data", "DATA", "--model", "m", "--bench", "b", "--noise", "worse"), "--noise"),
        (("--data", "DATA", "--model", "m", "--bench", "b", "--set", "train.step=2"), "did you mean 'steps'"),
        (("--model", "m"), "belongs to --data"),
        (("--bench", "b"), "belongs to --data"),
        (("--set", "train.steps=2"), "belongs to --data"),
        (("--seeds", "0"), "seeds"),
    ],
)
def test_bad_usage_is_an_error_in_words(line: tuple[str, ...], message: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=message):
        run_program(*line, "--out", str(tmp_path / "out"))
    assert not (tmp_path / "out").exists()


def run_program(*line: str) -> None:
    command.main(list(line), standalone_mode=False)


def records(finals: dict[str, list[float]]) -> list[Json]:
    found = []
    for arm, values in finals.items():
        for seed, value in enumerate(values):
            curve = [{"step": 0, "sampled": 0.2, "greedy": 0.5}, {"step": 10, "sampled": value, "greedy": value}]
            found.append({"arm": arm, "seed": seed, "curve": curve, "log": [{"step": 1, "reward": 0.1}]})
    return found


def facts(**good: float) -> list[Json]:
    return [{"kept": 9, "problems": 10, "arms": {arm: {"rows": 9, "good": value} for arm, value in good.items()}}]


def verdict(finals: dict[str, list[float]], **good: float) -> str:
    return str(summarize(records(finals), facts(**good))["verdict"])


def test_the_gap_and_the_paired_interval_are_those_of_the_means_and_differences() -> None:
    found = records({"evosyn": [0.8, 0.9, 0.85], "random": [0.4, 0.5, 0.45], "oracle": [0.9, 1.0, 0.95]})
    assert gap_closed(found) == (0.8, 0.8, 0.8)
    difference = paired(found, "evosyn", "random")
    assert difference is not None
    assert difference.mean == pytest.approx(0.4)
    assert difference.low == pytest.approx(0.4)
    assert "beats a random choice" in summarize(found, [])["verdict"]


def test_the_share_of_a_gap_needs_a_gap_and_has_the_range_of_leaving_out_a_seed() -> None:
    floor, top = {"random": [0.4, 0.4, 0.4]}, {"oracle": [0.8, 0.9, 0.7]}
    found = gap_closed(records({"evosyn": [0.8, 0.6, 0.5], **floor, **top}))
    assert found is not None
    assert found == pytest.approx((0.7 / 1.2, 0.3 / 0.8, 0.5 / 0.7), abs=1e-4)
    worse = gap_closed(records({"evosyn": [0.3, 0.3, 0.3], **floor, **top}))
    assert worse is not None and worse.share < 0
    assert (
        gap_closed(records({"evosyn": [0.8, 0.6], "random": [0.4, 0.6], "oracle": [0.9, 0.61]})) is None
    )  # holds zero
    assert gap_closed(records({"evosyn": [0.8], "random": [0.4], "oracle": [0.9]})) is None  # no interval
    table = summarize(records({"evosyn": [0.8, 0.6, 0.5], **floor, **top}), facts(evosyn=0.5, random=0.1))
    assert (table["gap_closed"], table["gap_leaving_out_a_seed"]) == (found.share, [found.least, found.greatest])
    assert "closed by evosyn: 0.58 (leaving out a seed: 0.38 to 0.71)" in markdown(table)
    assert "| 0.58 (leaving out a seed: 0.38 to 0.71) |" in sweep_markdown({"default": table})


def test_the_verdict_says_so_where_filtering_does_not_help() -> None:
    same = {"evosyn": [0.5, 0.4, 0.6], "random": [0.4, 0.6, 0.5]}
    assert "more seeds or more steps" in verdict(same, evosyn=0.8, random=0.2)
    assert "no better than chance" in verdict(same, evosyn=0.21, random=0.2)
    assert "had little to gain" in verdict(same | {"oracle": [0.5, 0.5, 0.5]}, evosyn=0.9, random=0.5)
    worse = verdict({"evosyn": [0.2, 0.21, 0.2], "random": [0.6, 0.6, 0.61]}, evosyn=0.1, random=0.2)
    assert "random choice is better" in worse
    assert "no better than chance" in worse
    assert "evosyn audit" in verdict(same)
    assert "no conclusion" in verdict({"evosyn": [0.9], "random": [0.1]})
    assert "nothing is compared" in verdict({"evosyn": [0.9]})
    assert gap_closed(records({"evosyn": [0.9], "random": [0.5], "oracle": [0.4]})) is None


def test_the_table_shows_every_arm_that_ran() -> None:
    found = records({"evosyn": [0.8, 0.9], "random": [0.4, 0.5]})
    text = markdown(summarize(found, facts(evosyn=0.5, random=0.1)))
    assert "| evosyn | 9 | 0.50" in text
    assert "| random | 9 | 0.10" in text
    assert "no evidence about language models" in text


def test_a_reward_that_rises_while_accuracy_falls_is_named() -> None:
    found = records({"initial": [0.01, 0.02], "evosyn": [0.8, 0.9]})
    for record in found:
        record["log"] = [{"step": step, "reward": 0.5 + 0.02 * step} for step in range(20)]
    (remark,) = summarize(found, [])["remarks"]
    assert remark.startswith(
        "initial: the reward rose from 0.59 to 0.79 while held-out accuracy fell from 0.200 to 0.015"
    )


def test_a_sweep_shows_every_teacher_and_arm_with_what_its_table_says() -> None:
    tables = {
        noise: summarize(
            records({"evosyn": [0.8, 0.9], "random": [chance, 0.5], "oracle": [0.9, 0.9]}), facts(evosyn=0.7)
        )
        for noise, chance in (("better", 0.6), ("worse", 0.2))
    }
    text = sweep_markdown(tables)
    assert "| better | evosyn | 2 | 0.70 | 0.850" in text
    assert "| worse | random | 2 | - | 0.350" in text
    assert "| worse | 9 of 10 | +0.500" in text
    assert text.count("- better: evosyn - random = +0.300") == 1


@pytest.mark.train
@pytest.mark.long
@pytest.mark.skipif(importlib.util.find_spec("trl") is None, reason="needs the train extra")
def test_the_smoke_size_runs_every_arm_and_goes_on_where_it_stopped(tmp_path: Path) -> None:
    line = ["--size", "smoke", "--seeds", "1", "--out", str(tmp_path / "run"), "--allow-weak-sandbox"]
    run_program(*line, "--arms", "evosyn,distill-best")
    kept = (tmp_path / "run" / "seed-0" / "evosyn.json").read_bytes()
    more = ["--arms", "evosyn,random,oracle,distill-best", "--json"]
    second = subprocess.run(
        [sys.executable, "-m", "experiments.table2", *line, *more], check=True, capture_output=True, timeout=600
    )
    assert (tmp_path / "run" / "seed-0" / "evosyn.json").read_bytes() == kept
    report = json.loads((tmp_path / "run" / "report.json").read_text())
    assert {"v": 1, **json.loads(second.stdout)} == report
    assert [row["arm"] for row in report["arms"]] == ["evosyn", "random", "oracle", "distill-best"]
    good = {row["arm"]: row["good"] for row in report["arms"]}
    assert good["oracle"] > good["evosyn"] > good["random"]
    assert (tmp_path / "run" / "curves.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.train
@pytest.mark.slow
@pytest.mark.skipif(importlib.util.find_spec("trl") is None, reason="needs the train extra")
def test_the_users_own_data_is_compared_setting_by_setting(small_data: Path, tmp_path: Path) -> None:
    from evosyn.pools import write_pools
    from evosyn.records import Pool, Problem, Testing

    testing = Testing("cases", {"cases": [{"input": [[1, 2]], "output": 3}]})
    problem = Problem(
        "total", "python-function", "Write total(xs).", payload={"entry_point": "total"}, human_testing=testing
    )
    write_pools(tmp_path / "bench.jsonl", [Pool(problem, (), ())])
    small = ["steps=2", "tiny.problems=10", "tiny.warm_steps=2", "rollout.max_completion=16", "rollout.group=2"]
    small = [f"train.{one}" for one in small]
    line = ["--data", str(small_data), "--model", "builtin:tiny", "--seeds", "1"]
    line += ["--bench", str(tmp_path / "bench.jsonl"), "--arms", "evosyn,random", "--samples", "2"]
    line += ["--max-tokens", "16", "--out", str(tmp_path / "run"), "--allow-weak-sandbox"]
    run_program(*line, *(part for one in small for part in ("--set", one)))
    report = json.loads((tmp_path / "run" / "report.json").read_text())
    assert [(row["arm"], row["rows"]) for row in report["arms"]] == [("evosyn", 10), ("random", 10)]
    assert (tmp_path / "run" / "seed-0" / "random" / "report.json").is_file()
