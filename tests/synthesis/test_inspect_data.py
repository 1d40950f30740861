"""`evosyn inspect DATA`: the funnel, samples side by side, and the whole story of a problem."""

import json

import pytest
from click.testing import CliRunner

from evosyn.cli import _inspect_data as printed
from evosyn.cli._texts import matrix_lines
from evosyn.cli.inspect import command
from evosyn.dataset import read_dataset, read_rejects
from evosyn.domains import Domains
from evosyn.environments.rows import EnvironmentRow, samples_of
from evosyn.escaping import safe
from evosyn.reading.data import DataReading, SampleStory
from evosyn.records import Problem, Solution, Testing
from evosyn.synthesis.config import SynthesizeConfig

CONFIG = SynthesizeConfig(problems=24, solutions=5, testings=4)


def inspect(*arguments: object) -> str:
    result = CliRunner().invoke(command, list(map(str, arguments)), catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.output


@pytest.fixture
def data(toy, tmp_path):
    toy.run(tmp_path / "d", CONFIG)
    return tmp_path / "d"


def test_the_overview_shows_the_counts_of_the_report(data):
    shown = inspect(data)
    report = json.loads((data / "report.json").read_text())
    assert "SIMULATED" in shown
    for setting, counts in report["settings"].items():
        line = next(line for line in shown.splitlines() if line.startswith(setting))
        assert line.split()[1] == str(counts["kept"])
    assert json.loads(inspect(data, "--json"))["report"] == report


def test_why_walks_from_a_kept_row_back_to_seed_prompt_reply_matrix_and_ranking(data):
    row = read_dataset(data)[0]
    shown = inspect(data, "--why", row.id)
    lineage = json.loads(row.lineage)
    assert all(seed in shown for seed in lineage["seeds"])
    assert "problems like:" in shown
    assert row.statement in shown
    assert all(lineage[part]["call"] in shown for part in ("problem", "solution", "testing"))
    assert row.matrix_digest in shown
    assert "evosyn   kept" in shown


def test_why_names_the_rule_that_dropped_a_problem(data):
    for reject in read_rejects(data):
        if reject.item == "problem":
            shown = inspect(data, "--why", reject.index)
            assert f"evosyn   dropped in {reject.stage}: {reject.reason}" in shown


def test_why_as_json_holds_the_problem_and_every_reply(data):
    story = json.loads(inspect(data, "--why", "syn-000000", "--json"))
    assert story["index"] == 0
    assert story["usage"]["calls"] == len(story["replies"])


def test_samples_show_statement_matrix_testing_and_two_solutions(data):
    shown = inspect(data, "--sample", 2)
    rows = read_dataset(data)
    assert rows[0].statement in shown
    assert shown.count("chosen testing:") == 2
    assert rows[0].solution in shown
    assert len(json.loads(inspect(data, "--sample", 1000, "--json"))) == len(rows)


def test_the_matrix_is_shown_with_the_chosen_pair_first(data):
    row = read_dataset(data)[0]
    scores = json.loads(row.scores)
    lines = list(matrix_lines(DataReading(data, "synthesize").matrix(row.problem_id)))
    assert lines[0].strip() == "v"
    assert lines[1].startswith(f"> s{scores['solution']}")
    assert lines[1][16 + lines[0].index("v") - 16] == "P"


def test_an_unknown_sample_is_refused_with_what_to_give(data):
    result = CliRunner().invoke(command, [str(data), "--why", "d_nothing"])
    assert "give a sample id (d_...)" in str(result.exception)


def test_an_unfinished_directory_says_how_to_go_on(data):
    (data / "report.json").unlink()
    assert "24 problems have ended. The same command goes on" in inspect(data)


def test_control_characters_of_models_never_reach_the_terminal():
    assert safe("a\x1b[31mred\r\n\tb\x9b") == "a\\x1b[31mred\\r\n\tb\\x9b"
    assert "\x1b" not in "".join(printed.side_by_side("a\x1b", "b\nc\nd"))


@pytest.mark.parametrize(
    ("testing", "shown"),
    [
        ({"cases": [{"input": [1, "a"], "output": None}]}, ['  1, "a"  ->  null']),
        ({"cases": [{"input": "1 2\n", "output": "3\n"}]}, ["  1 2\\n  ->  3\\n"]),
        ({"cases": {"python": "def build_cases():\n    return []"}}, ["  def build_cases():", "      return []"]),
        ({"asserts": ["assert f(1) == 2"]}, ["  assert f(1) == 2"]),
        ({"code": "def check(f):\n    assert f(1)"}, ["  def check(f):", "      assert f(1)"]),
    ],
)
def test_every_kind_of_testing_is_shown_line_by_line(testing, shown):
    assert list(printed.testing_lines(json.dumps(testing))) == shown


def test_a_row_of_an_environment_shows_its_program_as_lines_and_one_solution(capsys):
    program = "def generate(rng):\n    return 3, 4\n\n\ndef verify(instance, answer):\n    return True\n"
    testing = Testing("verifier", {"program": program, "instance": 3, "reference": 4})
    row = EnvironmentRow(Problem("p", "environment", "Say it."), testing, Solution("4"))
    (sample,) = samples_of([row], Domains()["environment"])
    printed.print_samples([SampleStory(sample, None)])
    shown = capsys.readouterr().out
    assert "  def verify(instance, answer):\n" in shown and "\\n" not in shown
    assert "refuses" not in shown and "worst" not in shown
    assert shown.rstrip().endswith("solution (P)\n4")
