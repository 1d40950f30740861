"""Directories of the other commands as answers: their kind, their figures, how far they are."""

import json

import pytest
import yaml
from click.testing import CliRunner

from evosyn.cli.inspect import command
from evosyn.errors import UsageError
from evosyn.journal import Journal
from evosyn.reading.opening import kind_of, open_directory
from evosyn.view.answers import encoded, open_view

MEAN = {"mean": 0.25, "low": 0.1, "high": 0.4}
EVAL = {"bench": "b", "problems": 3, "samples": 1, "ks": [1], "models": [
    {"model": "m", "problems": 3, "unknown": 0, "pass@1": MEAN, "levels": {"easy": {"problems": 3, "pass@1": MEAN}}},
]}  # fmt: skip
EXPERIMENT = {"note": "n" * 200, "arms": [{"arm": "evosyn", "seeds": 1, "sampled": {"mean": 0.5, "low": None}}],
              "differences": {"evosyn - random": MEAN}, "verdict": "v", "remarks": ["beware"]}  # fmt: skip
TRAINED = {"command": "train", "steps": 2, "label": None, "warnings": ["flat"], "lineage": {"simulated": True},
           "metrics": {"reward": {"start": 0.1, "end": 0.3, "window": 1}}}  # fmt: skip


def written(folder, **files):
    for name, value in files.items():
        (folder / f"{name}.json").write_text(json.dumps(value))
    return folder


def inspected(folder) -> str:
    result = CliRunner().invoke(command, [str(folder)], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.output


def training(folder):
    config = {"command": "train", "data": "d", "setting": "evosyn", "model": "builtin:tiny", "steps": 2, "seed": 0}
    (folder / "config.yaml").write_text(yaml.safe_dump(config))
    rows = [{"step": step, "seconds": 1.0, "reward": step / 10, "loss": 0.5} for step in (1, 2)]
    (folder / "metrics.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows) + '{"step": 3, "rew')
    return folder


@pytest.mark.parametrize(
    ("report", "kind"),
    [
        (EVAL, "eval"),
        (EXPERIMENT, "experiment"),
        (TRAINED, "train"),
        ({"cells": 1, "executed": 1, "human_cells": 0}, "crossexec"),
        ({"kind": "evoenv"}, "evoenv"),
        ({"anything": 1}, "report"),
    ],
)
def test_the_kind_is_told_by_the_report_where_there_is_no_manifest(tmp_path, report, kind):
    assert kind_of(written(tmp_path, report=report)) == kind == open_directory(tmp_path).kind


def test_a_training_that_runs_has_its_curve_and_says_how_far_it_is(tmp_path):
    seen = open_directory(training(tmp_path)).overview()
    assert seen.kind == "train" and not seen.finished and "step 2 of 2" in seen.progress
    assert seen.curves["reward"] == ((1, 0.1), (2, 0.2)) and set(seen.curves) == {"loss", "reward"}
    assert seen.facts["model"] == "builtin:tiny"
    assert json.loads(encoded(open_view(tmp_path).answer("overview", {})))["curves"]["reward"] == [[1, 0.1], [2, 0.2]]
    assert "reward" in inspected(tmp_path) and "step 2 of 2" in inspected(tmp_path)


def test_a_training_that_has_ended_has_its_metrics_and_its_warnings(tmp_path):
    seen = open_directory(written(training(tmp_path), report=TRAINED)).overview()
    assert seen.finished and seen.simulated and seen.notes == ("flat",)
    (table,) = seen.tables
    assert table.columns == ("", "start", "end", "window") and table.rows == (("reward", 0.1, 0.3, 1),)
    assert "note: flat" in inspected(tmp_path)


def test_means_stand_with_their_intervals(tmp_path):
    (table,) = open_directory(written(tmp_path, report=EVAL)).overview().tables
    assert dict(zip(table.columns, table.rows[0], strict=True)) == {
        "model": "m", "problems": 3, "unknown": 0, "pass@1": "0.250 [0.100, 0.400]",
        "levels easy problems": 3, "levels easy pass@1": "0.250 [0.100, 0.400]",
    }  # fmt: skip
    assert "0.250 [0.100," in inspected(tmp_path)


def test_an_experiment_has_its_arms_its_differences_and_its_remarks(tmp_path):
    seen = open_directory(written(tmp_path, report=EXPERIMENT)).overview()
    assert [table.title for table in seen.tables] == ["arms", "differences"]
    assert seen.tables[0].rows == (("evosyn", 1, "0.500"),)
    assert seen.facts["verdict"] == "v" and seen.notes == ("n" * 200, "beware")


def test_an_execution_that_runs_says_how_many_problems_are_done(tmp_path):
    (tmp_path / "verdicts.sqlite").touch()
    journal = Journal(tmp_path / "journal.jsonl")
    journal.append({"key": "x", "matrix": {}})
    journal.close()
    assert "1 problems are executed" in open_directory(tmp_path).overview().progress


def test_what_is_no_directory_of_ours_is_refused(tmp_path):
    with pytest.raises(UsageError, match="is not a directory"):
        open_directory(tmp_path / "none")
    with pytest.raises(UsageError, match=r"holds nothing that an evosyn command writes.*manifest.json"):
        open_directory(tmp_path)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--islands"], "--islands: .* holds none; it takes no such option"),
        (["--islands", "--why", "x"], "--islands and --why: give one of them"),
        (["--strategy", "codet"], "name a problem with --matrix"),
    ],
)
def test_an_option_that_says_nothing_here_is_refused(tmp_path, options, said):
    result = CliRunner().invoke(command, [str(written(tmp_path, report=EVAL)), *options])
    assert isinstance(result.exception, UsageError)
    with pytest.raises(UsageError, match=said):
        raise result.exception
