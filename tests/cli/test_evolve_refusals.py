"""What `evosyn evolve` and its companions refuse before anything is executed or drawn, and in which words."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import yaml
from click.testing import CliRunner
from search_reports import board, search_report, side
from simulation import TEACHER

from evosyn.cli import group
from evosyn.cli._evolve_view import SearchView
from evosyn.cli.evolve import MODEL_ARMS, command
from evosyn.errors import CorruptRun, OtherSettings, UsageError
from evosyn.evolve.stopping import StopConfig
from evosyn.journal import Events, Journal
from evosyn.matrices import write_matrices
from evosyn.reading.conclusions import of_search
from evosyn.records import PassMatrix
from evosyn.running.progress import ReplyCounts
from evosyn.synthesis.search.config import EvolveConfig
from evosyn.synthesis.search.inputs import Source
from evosyn.synthesis.search.seeds import LeftOut, few_held_out, select
from evosyn.synthesis.search.sources import labels, shared_tasks
from evosyn.teachers.cache import ReplyCache

PROBLEM = {
    "domain": "python-function",
    "statement": "Write double(x).",
    "entry_point": "double",
    "human_testing": {"kind": "cases", "cases": [{"input": [2], "output": 4}]},
    "solutions": ["def double(x):\n    return 2 * x\n", "def double(x):\n    return x\n"] * 4,
    "testings": [{"kind": "asserts", "asserts": [f"assert double({x}) == {2 * x}"]} for x in range(8)],
}


def run(*words):
    return CliRunner().invoke(group, [str(word) for word in words], standalone_mode=False)


def pool(path: Path, *, prefix: str = "p", count: int = 10, **changed: object) -> Path:
    lines = [{"problem_id": f"{prefix}{number}", **PROBLEM, **changed} for number in range(count)]
    lines = [{name: value for name, value in line.items() if value is not ...} for line in lines]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--teacher", "foo"), "teachers: nothing is named 'foo'"),
        (("--proposer", "foo"), "proposers: nothing is named 'foo'"),
        (("--proposer", "rewrite"), "no model is named: --model provider/name"),
        (("--search", "openevolve"), "give --model openai/NAME"),
        (("--sandbox", "foo"), "sandboxes: nothing is named 'foo'"),
        (("--set", "axes=[foo]"), "axes: nothing is named 'foo'"),
        (("--start", "nofile.py"), "strategy nofile.py: no such file or directory"),
        (("--start", "random"), "--start random: is a control"),
        (("--set", "proposers.options.genetic.foo=1"), "foo"),
        (("--continue", "5"), "holds no run to go on with"),
    ],
)
@pytest.mark.parametrize("dry", [(), ("--dry-run",)])
def test_a_search_that_cannot_be_is_refused_before_its_pools_are_executed(words, told, dry, tmp_path):
    source = pool(tmp_path / "pool.jsonl")
    result = run("evolve", source, "-M", "4", "-N", "4", "--out", tmp_path / "run", *words, *dry)
    assert isinstance(result.exception, UsageError) and told in str(result.exception)
    assert not (tmp_path / "run").exists(), "nothing is written, executed or drawn"


@pytest.mark.parametrize("teacher", ["mailbox:letters", TEACHER])
def test_a_teacher_that_is_named_is_asked_for_proposals_as_a_model_is(teacher, tmp_path):
    result = run("evolve", "m.jsonl", "--out", tmp_path / "run", "--teacher", teacher, "--print-config")
    shown = yaml.safe_load(result.output)
    assert shown["proposers"]["arms"] == MODEL_ARMS
    assert shown["stop"]["proposals"] == 200


@pytest.mark.parametrize(
    "words",
    [("evolve", "a.jsonl", "--out", "run"), ("env", "make", "--out", "e"), ("env", "evolve", "--out", "e"),
     ("synthesize", "run", "--out", "d"), ("score", "--pool", "a.jsonl"), ("crossexec", "a.jsonl", "--out", "x")],
)  # fmt: skip
def test_every_command_with_a_configuration_shows_it_and_stops(words, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = run(*words, "--set", "workbench.sandbox.workers=3", "--print-config")
    assert result.exception is None
    assert yaml.safe_load(result.output)["workbench"]["sandbox"]["workers"] == 3
    assert not list(tmp_path.iterdir())
    assert run(words[0], "--help").exception is None


def test_what_is_shown_is_what_a_run_repeats_from(tmp_path):
    shown = run("evolve", "a.jsonl", "-M", "5", "--seed", "3", "--out", tmp_path / "run", "--print-config").output
    (tmp_path / "c.yaml").write_text(shown)
    again = run("evolve", "--config", tmp_path / "c.yaml", "--out", tmp_path / "run", "--print-config").output
    assert again == shown


def test_the_same_pool_twice_is_refused_by_name(tmp_path):
    one = pool(tmp_path / "one.jsonl")
    other = tmp_path / "copy.jsonl"
    other.write_bytes(one.read_bytes())
    with pytest.raises(UsageError, match=r"one\.jsonl is named twice, and would count twice"):
        Source(str(one), str(one))
    with pytest.raises(UsageError, match=r"copy\.jsonl holds the same as .*one\.jsonl"):
        Source(str(one), str(other))


def test_problems_that_several_pools_have_count_once_where_few_are_held_out(tmp_path):
    one = pool(tmp_path / "one.jsonl")
    other = pool(tmp_path / "other.jsonl", statement="Write double(x), please.")
    source = Source(str(one), str(other))
    assert source.notes(0.4) == [few_held_out(4)]
    config = EvolveConfig(scoring={"M": 4, "N": 4})
    human, verdicts = np.array(list("PFPF")), np.array([list("PPPP"), list("FFFF")] * 2)
    made = [source.marked(PassMatrix(name, verdicts, human_M=human)) for name in source.origins]
    seeds = select(made, config, simulated=False)
    assert len(seeds.split.heldout) == 8
    assert few_held_out(4) in replace(seeds, left_out={"x": LeftOut("small", "small")}).notes()


def test_few_tasks_decide_nothing_however_many_problems_they_are():
    gain = {"heldout": 0.8, "ci": [0.5, 0.9]}
    few = board(problems=12, tasks=6)
    report = search_report(few, best=side(score=0.9), initial=side(score=0.1), difference=gain, beats_initial=True)
    found = of_search(report, None, "finished", None)
    assert found.worked == "unclear" and "Only 6 problems were held out" in found.did
    assert "chance could explain" not in found.did, "its interval has no zero"


def test_names_of_one_task_are_matched_by_the_rule_of_several_pools():
    assert shared_tasks(["HumanEval/0", "HumanEval/1", "x"], {"0", "17"}) == [True, False, False]
    assert shared_tasks(["0", "2"], {"HumanEval/0"}) == [True, False]


@pytest.mark.parametrize(
    ("names", "found"),
    [
        (["a/x.jsonl", "b/x.jsonl", "y", "c/x.jsonl.gz"], ["x", "x~2", "y", "x~3"]),
        (["x~2.jsonl", "d/x.jsonl"], ["x~2", "x~3"]),
        (["a/x", "x~3", "b/x", "c/x", "x~3"], ["x", "x~3", "x~4", "x~5", "x~3~2"]),
    ],
)
def test_each_of_several_pools_has_a_label_of_its_own(names, found):
    assert labels(names) == found and len(set(found)) == len(names)


def test_seeds_without_a_human_testing_are_refused_by_their_field_and_nothing_else_is_said(tmp_path):
    source = pool(tmp_path / "pool.jsonl", human_testing=...)
    result = run("evolve", source, "--out", tmp_path / "run")
    assert "field human_testing" in str(result.exception) and "10 seed problems without one" in str(result.exception)
    assert "no teacher is named" not in result.output


def test_of_several_bad_lines_the_first_is_told_and_where_the_others_are(tmp_path):
    source = pool(tmp_path / "pool.jsonl", entry_point=3)
    result = run("evolve", source, "--out", tmp_path / "run")
    assert "pool.jsonl:1: field 'entry_point'" in str(result.exception)
    assert f"`evosyn pool check {source}` names this and 9 more things in this file" in str(result.exception)
    one = pool(tmp_path / "one.jsonl", count=1, entry_point=3)
    assert "pool check" not in str(run("evolve", one, "--out", tmp_path / "run").exception)


def test_what_is_null_is_called_so(tmp_path):
    (tmp_path / "pool.jsonl").write_text("null\n")
    assert "must be a JSON object, not null" in str(run("evolve", tmp_path / "pool.jsonl", "--out", "x").exception)


def test_a_file_of_the_user_is_never_advised_to_be_deleted(tmp_path):
    source = pool(tmp_path / "pool.jsonl")
    before = source.read_bytes()
    result = run("score", "--pool", source, "--verdicts", source)
    assert isinstance(result.exception, UsageError) and "left as it is" in str(result.exception)
    assert "delete" not in str(result.exception) and source.read_bytes() == before
    with pytest.raises(CorruptRun, match="left as it is") as refused:
        ReplyCache(source)
    assert "remove" not in str(refused.value) and source.read_bytes() == before


def test_a_strategy_that_looks_like_a_path_is_a_missing_file(tmp_path):
    for spec in ("nofile.py", "./none", str(tmp_path / "none")):
        error = str(run("score", "--pool", "m.jsonl", "--strategy", spec).exception)
        assert f"strategy {spec}: no such file or directory" in error
    assert "did you mean 'codet" in str(run("score", "--pool", "m.jsonl", "--strategy", "codett").exception)


def test_the_goal_of_the_line_is_what_the_run_may_come_to():
    class State:
        evaluations, steps, replies, best_score, record = 324, 20, 0, 0.5, ()

    class Proposed:
        index = 0

    shown = SearchView(StopConfig(evaluations=300), ReplyCounts())
    shown.limited(StopConfig(evaluations=358))
    shown.committed(State(), Proposed(), ())
    assert shown().startswith("searching: 324/358 evaluations")


def test_other_problems_are_told_in_words(tmp_path):
    events = Events(Journal(tmp_path / "journal.jsonl"), {})
    events.begin({"kind": "evolve", "config": {"seed": 0}, "inputs": "i_1"})
    with pytest.raises(OtherSettings) as refused:
        events.begin({"kind": "evolve", "config": {"seed": 1}, "inputs": "i_2"})
    assert "config.seed: 0 there, 1 asked for; the problems, or their parts, are other ones" in str(refused.value)
    assert "i_1" not in str(refused.value)


@pytest.mark.parametrize(
    ("manifest", "told"),
    [
        ({"source": "a.jsonl b.jsonl", "pools": ["a", "b"]}, "was evolved on several pools together (a.jsonl b.jsonl)"),
        ({"source": "matrices.jsonl"}, "was evolved on recorded matrices (matrices.jsonl)"),
        ({}, "its manifest.json does not say"),
    ],
)
def test_a_run_that_gives_no_seeds_says_why(manifest, told, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_matrices(Path("matrices.jsonl"), [PassMatrix("a", np.array([["P"]]), human_M=np.array(["P"]))])
    folder = tmp_path / "run"
    folder.mkdir()
    (folder / "strategy.py").write_text("def rank(evidence):\n    return evidence.copies, evidence.passed.sum(0)\n")
    (folder / "manifest.json").write_text(json.dumps({"kind": "evolve", **manifest}))
    error = str(run("synthesize", folder, "--out", tmp_path / "d").exception)
    assert told in error and "--seeds POOL" in error


def test_a_rule_that_is_preferred_alone_is_no_best_of_one(tmp_path):
    right = np.array(list("PPFF"))
    verdicts = np.where(right[:, None] == "P", "P", "F").repeat(4, axis=1)
    write_matrices(tmp_path / "m.jsonl", [PassMatrix(f"p{at}", verdicts, human_M=right) for at in range(30)])
    backwards = tmp_path / "backwards.py"
    backwards.write_text("def rank(e):\n    return -1.0 * e.passed.sum(1), 1.0 * e.passed.sum(0)\n")
    words = ("score", "--pool", tmp_path / "m.jsonl", "--strategy", "initial", "--strategy", backwards)
    shown = run(*words, "--draws", "2", "--allow-weak-sandbox").output
    assert "preferred: initial (the best score, by more than chance could explain)" in shown


def test_held_out_problems_are_those_of_a_run(tmp_path):
    source = pool(tmp_path / "pool.jsonl")
    result = run("score", "--pool", source, "--problems", "heldout")
    assert "give the run itself as --pool RUN" in str(result.exception)


def test_the_option_is_named_in_help():
    assert "--print-config" in CliRunner().invoke(command, ["--help"]).output
