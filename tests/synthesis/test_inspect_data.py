"""`evosyn inspect DATA`: the funnel, samples side by side, and the whole story of a problem."""

import json

import pytest

from evosyn.cli import _inspect_data as view
from evosyn.cli._inspect_data import is_data_directory, matrix_lines, safe, show_data, side_by_side
from evosyn.dataset import read_dataset, read_rejects
from evosyn.errors import UsageError
from evosyn.synthesis.config import SynthesizeConfig
from evosyn.synthesis.instance import ledger_of

CONFIG = SynthesizeConfig(problems=24, solutions=5, testings=4)


@pytest.fixture
def data(toy, tmp_path):
    toy.run(tmp_path / "d", CONFIG)
    return tmp_path / "d"


def test_the_overview_shows_the_counts_of_the_report(data, capsys):
    show_data(data)
    shown = capsys.readouterr().out
    report = json.loads((data / "report.json").read_text())
    assert "SIMULATED" in shown
    for setting, counts in report["settings"].items():
        line = next(line for line in shown.splitlines() if line.startswith(setting))
        assert line.split()[1] == str(counts["kept"])
    show_data(data, as_json=True)
    assert json.loads(capsys.readouterr().out)["report"] == report


def test_why_walks_from_a_kept_row_back_to_seed_prompt_reply_matrix_and_ranking(data, capsys):
    row = read_dataset(data)[0]
    show_data(data, why=row.id)
    shown = capsys.readouterr().out
    lineage = json.loads(row.lineage)
    assert all(seed in shown for seed in lineage["seeds"])
    assert "problems like:" in shown
    assert row.statement in shown
    assert all(lineage[part]["call"] in shown for part in ("problem", "solution", "testing"))
    assert row.matrix_digest in shown
    assert "evosyn   kept" in shown


def test_why_names_the_rule_that_dropped_a_problem(data, capsys):
    for reject in read_rejects(data):
        if reject.item == "problem":
            show_data(data, why=str(reject.index))
            assert f"evosyn   dropped in {reject.stage}: {reject.reason}" in capsys.readouterr().out


def test_why_as_json_holds_the_instance_and_every_reply(data, capsys):
    show_data(data, why="syn-000000", as_json=True)
    story = json.loads(capsys.readouterr().out)
    assert story["instance"]["index"] == 0
    assert story["instance"]["usage"]["calls"] == len(story["replies"])


def test_samples_show_statement_matrix_testing_and_two_solutions(data, capsys):
    show_data(data, samples=2)
    shown = capsys.readouterr().out
    rows = read_dataset(data)
    assert rows[0].statement in shown
    assert shown.count("chosen testing:") == 2
    assert rows[0].solution in shown
    show_data(data, samples=1000, as_json=True)
    assert len(json.loads(capsys.readouterr().out)) == len(rows)


def test_the_matrix_is_shown_with_the_chosen_pair_first(data):
    row = read_dataset(data)[0]
    scores = json.loads(row.scores)
    instance = ledger_of(data).item(json.loads(row.lineage)["index"])
    lines = list(matrix_lines(instance, scores))
    assert lines[0].strip() == "v"
    assert lines[1].startswith(f"> s{scores['solution']}")
    assert lines[1][16 + lines[0].index("v") - 16] == "P"


def test_an_unknown_sample_is_refused_with_what_to_give(data):
    with pytest.raises(UsageError, match="d_"):
        show_data(data, why="d_nothing")


def test_an_unfinished_directory_says_how_to_go_on(data, capsys):
    (data / "report.json").unlink()
    show_data(data)
    assert "24 problems have ended; repeat" in capsys.readouterr().out


def test_a_data_directory_is_known_by_its_manifest(data, tmp_path):
    assert is_data_directory(data)
    assert not is_data_directory(tmp_path)


def test_control_characters_of_models_never_reach_the_terminal():
    assert safe("a\x1b[31mred\r\n\tb\x9b") == "a\\x1b[31mred\\r\n\tb\\x9b"
    assert "\x1b" not in "".join(side_by_side("a\x1b", "b\nc\nd"))


@pytest.mark.parametrize(
    ("testing", "shown"),
    [
        ({"cases": [{"input": [1, "a"], "output": None}]}, ['  [1, "a"]  ->  null']),
        ({"cases": {"python": "def build_cases():\n    return []"}}, ["  def build_cases():", "      return []"]),
        ({"asserts": ["assert f(1) == 2"]}, ["  assert f(1) == 2"]),
        ({"code": "def check(f):\n    assert f(1)"}, ["  def check(f):", "      assert f(1)"]),
    ],
)
def test_every_kind_of_testing_is_shown_line_by_line(testing, shown):
    assert list(view.testing_lines(testing)) == shown
