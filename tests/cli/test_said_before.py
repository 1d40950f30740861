"""What is said before anything is spent, and what the small commands say: in this process, without a sandbox."""

import json
import subprocess
import sys

import click
import numpy as np
import pytest
from click.testing import CliRunner
from simulation import AGENT, TEACHER

from evosyn.cli import group
from evosyn.cli._inspect_summary import print_tables
from evosyn.cli._tables import show_estimate
from evosyn.errors import CorruptRun, EvosynError, InputError, UsageError
from evosyn.evaluators.draws import ConsistencyConfig, make_draws
from evosyn.reading.summaries import TableShown
from evosyn.records import PassMatrix
from evosyn.strategies import load_known, load_strategy, strategy_name
from evosyn.synthesis.exports import format_named
from evosyn.synthesis.search.inputs import Source
from evosyn.synthesis.search.seeds import few_held_out

SEED = {
    "problem_id": "double",
    "domain": "python-function",
    "statement": "Write double(x).",
    "entry_point": "double",
    "human_testing": {"kind": "cases", "cases": [{"input": [2], "output": 4}]},
    "reference_solution": "def double(x):\n    return 2 * x\n",
}


def run(*words):
    return CliRunner().invoke(group, [str(word) for word in words], standalone_mode=False)


def lines(path, *values):
    path.write_text("".join(json.dumps(value) + "\n" for value in values))
    return path


@pytest.fixture
def pool_check(tmp_path):
    def check(*values, more=()):
        return run("pool", "check", lines(tmp_path / "pool.jsonl", *values), *more)

    return check


def test_one_seed_is_refused_before_its_pools_are_drawn(tmp_path):
    path = lines(tmp_path / "one.jsonl", SEED)
    for more in ((), ("--dry-run",)):
        result = run("evolve", path, "--out", tmp_path / "run", "--teacher", TEACHER, *more)
        assert isinstance(result.exception, InputError) and "holds 1 seed problem; 4 are needed" in str(
            result.exception
        )
    assert not (tmp_path / "run").exists()


def test_a_k_above_m_is_refused_by_the_configuration(tmp_path):
    path = lines(tmp_path / "one.jsonl", SEED)
    result = run("evolve", path, "--out", tmp_path / "run", "-M", "4", "--set", "scoring.k=9")
    assert isinstance(result.exception, UsageError) and "k = 9 is above M = 4: criterion 2" in str(result.exception)


def test_the_advice_follows_the_reason():
    bare = PassMatrix("p", np.array([["P", "F"], ["F", "P"]]))
    with pytest.raises(UsageError, match=r"1 x no human verdicts\. Strategies are scored by human testings"):
        make_draws([bare], ConsistencyConfig())
    small = PassMatrix("p", np.array([["P", "F"], ["F", "P"]]), human_M=np.array(["P", "F"]))
    with pytest.raises(UsageError, match="Lower M or N"):
        make_draws([small], ConsistencyConfig(M=3, strict=True))


def test_a_known_strategy_is_not_shadowed_by_a_directory_of_its_name(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "codet").mkdir()
    assert load_strategy("codet") == load_known("codet") and strategy_name("codet") == "codet"
    with pytest.raises(UsageError, match=r"has no strategy\.py"):
        load_strategy("./codet")


def test_a_reference_that_does_not_compile_is_an_error_of_its_line(pool_check):
    result = pool_check(SEED, {**SEED, "problem_id": "b", "reference_solution": "def double(x:\n  return"})
    assert result.return_value == 1
    assert ":2: field 'reference_solution': is no Python program: line 1" in result.output


def test_it_is_said_whether_references_were_executed(pool_check):
    assert "nothing was executed; with --execute the references run" in pool_check(SEED).output
    bare = {**SEED, "human_testing": None}
    assert "no problem has a human testing" in pool_check(bare).output


def test_a_method_named_without_its_class_is_refused_with_the_right_name(pool_check):
    starter = "class Solution:\n    def double(self, x: int) -> int:"
    result = pool_check({**SEED, "starter_code": starter, "reference_solution": None})
    assert result.return_value == 1
    assert "field 'entry_point': is a method of class Solution" in result.output
    assert "Write Solution.double" in result.output
    named = {**SEED, "entry_point": "Solution.double", "starter_code": starter, "reference_solution": None}
    assert pool_check(named).return_value == 0


def test_a_cut_line_is_said_with_one_line_number(tmp_path):
    path = tmp_path / "cut.jsonl"
    path.write_text(json.dumps(SEED) + "\n" + json.dumps(SEED)[:40] + "\n")
    result = run("pool", "check", path)
    assert result.return_value == 1 and "cut.jsonl:2: is not JSON: " in result.output and "line 1" not in result.output


def test_a_file_that_is_no_pool_at_all_ends_as_one_with_errors(tmp_path):
    (tmp_path / "fake.jsonl.gz").write_text("no gzip")
    result = run("pool", "check", tmp_path / "fake.jsonl.gz")
    assert result.return_value == 1 and "is not gzip" in result.output


def ended(*words):
    done = subprocess.run(
        [sys.executable, "-m", "evosyn", *map(str, words)], capture_output=True, text=True, timeout=120, check=False
    )
    return done.returncode, done.stdout, done.stderr


def test_an_error_is_a_json_object_on_standard_output_where_json_was_asked_for(tmp_path):
    code, out, err = ended("pool", "check", tmp_path / "none.jsonl", "--json")
    assert code == 2 and "no such file" in err
    told = json.loads(out)["error"]
    assert (told["kind"], told["exit_code"]) == ("InputError", 2) and "no such file" in told["message"]
    code, out, _ = ended("evolve", "--json", "--nonsense")
    assert code == 2 and json.loads(out)["error"]["kind"] == "NoSuchOption"


def test_a_report_on_standard_output_is_followed_by_no_error_object(tmp_path):
    code, out, _ = ended("pool", "check", lines(tmp_path / "bad.jsonl", {"nonsense": 1}), "--json")
    assert code == 1 and json.loads(out)["errors"]


def test_few_held_out_problems_are_told_before_anything_is_drawn(tmp_path):
    path = lines(tmp_path / "six.jsonl", *({**SEED, "problem_id": f"p{number}"} for number in range(6)))
    dry = run("evolve", path, "--out", tmp_path / "run", "--dry-run", "-M", "2", "-N", "2", "--teacher", TEACHER)
    assert "warning: only 2 problems are held out" in dry.output
    assert "SIMULATED: the sample comes from a stand-in for a model" in dry.output
    assert Source(str(path)).notes(0.4) == [few_held_out(2)] and not Source("builtin:python-seeds").notes(0.4)


def test_a_value_out_of_range_is_told_in_plain_words(tmp_path):
    path = lines(tmp_path / "one.jsonl", SEED)
    result = run("evolve", path, "--out", tmp_path / "run", "--set", "heldout=1.5")
    assert "heldout: must be less than 1 (got 1.5)" in str(result.exception)


def test_an_export_without_a_format_names_the_formats(tmp_path):
    result = run("export", tmp_path)
    assert isinstance(result.exception, UsageError) and "name one of trl, verl, openrlhf" in str(result.exception)


MATRIX = {"verdicts": ["PF", "FP", "PP"], "human": "PFP"}


def test_a_refused_command_does_not_take_the_directory_for_its_source(tmp_path):
    first, second = (
        lines(tmp_path / name, *({**MATRIX, "problem_id": f"{name}{n}"} for n in range(6))) for name in "ab"
    )
    refused = run("evolve", first, "--out", tmp_path / "run", "-M", "9", "-N", "9", "--strict")
    assert "the largest that work" in str(refused.exception)
    again = run("evolve", second, "--out", tmp_path / "run", "-M", "9", "-N", "9", "--strict")
    assert "the largest that work" in str(again.exception), "and not: holds a run on other problems"


def test_a_directory_of_a_later_version_is_refused_by_name(tmp_path):
    path = lines(tmp_path / "m.jsonl", *({**MATRIX, "problem_id": f"p{n}"} for n in range(6)))
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "manifest.json").write_text(json.dumps({"kind": "evolve", "v": 9}))
    (tmp_path / "run" / "journal.jsonl").write_text("")
    refused = run("evolve", path, "--out", tmp_path / "run")
    assert "manifest.json: v is 9, this evosyn reads version 1" in str(refused.exception)


def test_a_matrices_file_is_no_pool_to_execute_and_the_other_way_is_named(tmp_path):
    path = lines(tmp_path / "m.jsonl", {**MATRIX, "problem_id": "p"})
    refused = run("crossexec", path, "--out", tmp_path / "run")
    assert "`evosyn score --pool` takes it" in str(refused.exception)


def test_a_k_above_the_solutions_of_a_pool_is_refused_by_score(tmp_path):
    path = lines(tmp_path / "m.jsonl", *({**MATRIX, "problem_id": f"p{n}"} for n in range(6)))
    refused = run("score", "--pool", path, "--k", "9")
    assert isinstance(refused.exception, UsageError) and "--k 9" in str(refused.exception)


def test_an_ablation_that_cannot_be_written_is_refused_before_it_takes_its_time(tmp_path):
    path = lines(tmp_path / "m.jsonl", *({**MATRIX, "problem_id": f"p{n}"} for n in range(6)))
    (tmp_path / "file").write_text("")
    refused = run("ablate", "k", "--pool", path, "--out", tmp_path / "file" / "below")
    assert isinstance(refused.exception, UsageError) and "cannot be used as a run directory" in str(refused.exception)


@pytest.mark.parametrize(
    ("text", "said"), [("{}\n{broken\n", r"rows.jsonl:2: .*\(column 2\)"), ("", "there is no row")]
)
def test_what_is_wrong_with_a_benchmark_file_is_said_with_one_line_number(tmp_path, text, said):
    (tmp_path / "rows.jsonl").write_text(text)
    refused = run("pool", "import", "humaneval", tmp_path / "rows.jsonl", "--out", tmp_path / "p.jsonl")
    with pytest.raises(EvosynError, match=said):
        raise refused.exception
    assert "line 1" not in str(refused.exception)


def test_a_directory_whose_report_lacks_something_is_damaged_and_no_crash(tmp_path):
    (tmp_path / "manifest.json").write_text('{"kind": "synthesize"}')
    (tmp_path / "report.json").write_text("{}")
    refused = run("inspect", tmp_path)
    assert isinstance(refused.exception, CorruptRun) and "another version" in str(refused.exception)


@pytest.mark.parametrize(
    "words",
    [
        ("env", "rows", "brackets"),
        ("env", "evolve", "--teacher", TEACHER),
        ("world", "tasks", "builtin:library"),
        ("world", "rollout", "builtin:library", "--agent", f"{AGENT}:gold"),
        ("ablate", "k", "--pool", "runs/none"),
    ],
    ids=" ".join,
)
def test_files_of_the_user_are_named_and_left_alone(tmp_path, words):
    lines(tmp_path / "thesis.tex", "mine")
    result = run(*words, "--out", tmp_path)
    assert isinstance(result.exception, UsageError), result.exception
    assert "holds files of something else (thesis.tex)" in str(result.exception)
    assert [one.name for one in tmp_path.iterdir() if not one.name.startswith((".", "replies."))] == ["thesis.tex"]


@pytest.mark.parametrize("name", ["data", "strategy", "environments", "openevolve"])
def test_a_dataset_in_a_directory_that_is_called_as_a_command_is_exported(tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    (tmp_path / name).mkdir()
    for words in ((name,), ("data", name)):
        exported = run("export", *words, "--format", "jsonl").exception
        assert isinstance(exported, UsageError) and f"{name}/dataset" in str(exported), exported


def test_a_command_of_export_stays_one_beside_a_directory_of_its_name(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "strategy").mkdir()
    assert "winning strategy" in run("export", "strategy", "--help").output
    assert isinstance(run("export", "strategy", "nowhere").exception, (UsageError, click.UsageError))


def test_a_format_is_looked_up_before_environments_are_checked(tmp_path):
    words = ("export", "environments", "no-such-environment", "--out", tmp_path / "out", "--format")
    assert "no such format" in str(run(*words, "nosuch").exception)
    assert "no-such-environment" in str(run(*words, "reasoning-gym").exception)
    assert format_named("reasoning-gym") == format_named("reasoning_gym") == "reasoning_gym"


def test_who_cannot_play_the_user_is_refused_before_a_directory_is_made(tmp_path):
    words = ("world", "rollout", "builtin:library", "--agent", f"{AGENT}:gold", "--user", "model")
    refused = run(*words, "--out", tmp_path / "out").exception
    assert isinstance(refused, UsageError) and "--user-model provider/name" in str(refused)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("words", "names"),
    [(("env", "make"), "evoenv, resyn"), (("evolve",), "paper"), (("coevolve",), "dejaq, evoenv, paper")],
)
def test_help_names_the_presets_of_the_command(words, names):
    told = " ".join(run(*words, "--help").output.split())
    assert f"below all that is given: {names}" in told


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("builtin:env-seeds",), "--recipe evoenv evolves; dejaq takes problems (builtin:math-seeds)"),
        (("builtin:math-seeds", "--recipe", "evoenv"), "--recipe dejaq evolves; evoenv takes environments"),
    ],
)
def test_seeds_of_one_recipe_that_are_given_to_the_other_name_it(tmp_path, words, told):
    refused = run("coevolve", *words, "--model", "builtin:tiny", "--out", tmp_path / "out").exception
    assert isinstance(refused, UsageError) and told in str(refused)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("group_name", ["env", "world"])
def test_a_group_lists_its_commands_with_whole_sentences(group_name):
    told = run(group_name, "--help").output
    assert "..." not in told.partition("Commands:")[2]


def test_the_first_help_names_what_the_groups_hold():
    told = " ".join(run("--help").output.split())
    for name in ("env", "world"):
        listed = run(name, "--help").output.partition("Commands:")[2]
        words = {line.split()[0] for line in listed.splitlines() if line.startswith("  ") and line[2] != " "}
        line = told.partition(f" {name} ")[2].partition(". ")[0]
        assert {word for word in words if word not in line} <= {"entropy"}, (name, line)


def test_what_a_name_of_an_environment_may_be_and_how_far_a_search_may_pass_are_said():
    assert "builtin:env-seeds" in run("env", "--help").output
    assert "so that a few more may be" in " ".join(run("env", "evolve", "--help").output.split())


@pytest.mark.parametrize("name", ["train", "coevolve", "distill", "calibrate", "eval"])
def test_no_option_has_a_default_for_its_only_text(name):
    command = group.get_command(click.Context(group), name)
    options = [one for one in command.params if isinstance(one, click.Option) and one.name != "preset"]
    assert all(one.help and not one.help.startswith("[default") for one in options)


def test_calibrate_says_what_a_student_may_be():
    assert "a directory of a local one, or builtin:tiny" in " ".join(run("calibrate", "--help").output.split())


@pytest.mark.parametrize(
    ("key", "things", "told"), [("problems", "mutations", "6 mutations"), ("drafts", "x", "6 drafts")]
)
def test_a_table_of_costs_is_headed_by_what_it_counts(capsys, key, things, told):
    figures = {"calls": 1, "calls_at_most": 1, "input_tokens": 1, "output_tokens": 1, "cost": 0.0}
    more = {"phases": {}, "executions": 1, "model_wall_s": 0, "simulated": False, key: 6}
    show_estimate({**figures, **more}, as_json=False, kept_in=None, things=things)
    assert told in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("no-such-environment",), "no such file, directory or environment"),
        (("builtin:subset-sum", "--environments", "9"), "--environments 9: builtin:subset-sum holds 1"),
    ],
)
def test_rows_of_environments_that_are_not_there_leave_no_directory(tmp_path, words, told):
    refused = run("env", "rows", *words, "--out", tmp_path / "out").exception
    assert isinstance(refused, UsageError) and told in str(refused)
    assert not (tmp_path / "out").exists()


def test_a_refusal_of_other_settings_names_the_options_that_set_them():
    make = group.get_command(click.Context(group), "world").get_command(click.Context(group), "make")
    assert (
        make._options_named(("tools.M", "config.unexecuted"))
        == "tools.M is the option -M, unexecuted is the option --no-execution"
    )
    assert make._options_named(("other_tools.M",)) == ""


def test_a_table_without_rows_is_not_printed(capsys):
    print_tables([TableShown("came back", ("phase",), ()), TableShown("dropped", ("reason",), (("none",),))])
    told = capsys.readouterr().out
    assert "dropped" in told and "came back" not in told
