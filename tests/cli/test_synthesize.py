"""`evosyn synthesize`: bad input gets a message with what to do and exit 2, before anything is asked or executed."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner
from simulation import TEACHER

from evosyn.cli._making import nothing_kept
from evosyn.cli.synthesize import _inputs, command
from evosyn.errors import CheckFailed, TeacherUnavailable, UsageError
from evosyn.strategies import strategy_id

SEED = {
    "problem_id": "double",
    "domain": "python-function",
    "statement": "Return twice x.",
    "entry_point": "double",
    "human_testing": {"kind": "cases", "cases": [{"input": [1], "output": 2}]},
}


@pytest.mark.parametrize(
    ("reasons", "kind", "told"),
    [
        (("reply-transport", "reply-server"), TeacherUnavailable, "See that the model answers"),
        (("reply-truncated", "reply-server"), CheckFailed, "--set sampling.problem.max_tokens=16000. See why"),
        (("reply-window-full", "reply-truncated"), CheckFailed, "Serve the model with a longer context"),
        (("reply-refused", "reply-bad-request"), CheckFailed, "dropped. See why"),
        (("too-few",), CheckFailed, "dropped. See why"),
    ],
)
def test_a_run_that_kept_nothing_blames_the_endpoint_only_where_no_reply_came(reasons, kind, told):
    ended = nothing_kept("all were dropped", reasons, "problem", "See why")
    assert type(ended) is kind and told in str(ended)


@pytest.fixture
def place(tmp_path: Path) -> Path:
    (tmp_path / "strategy.py").write_text("def rank(evidence):\n    return [], []\n")
    (tmp_path / "seeds.jsonl").write_text(json.dumps(SEED) + "\n")
    return tmp_path


def refused(place: Path, *arguments: str) -> str:
    ended = CliRunner().invoke(command, [*arguments, "--out", str(place / "data")])
    assert isinstance(ended.exception, UsageError), ended.output
    assert ended.exception.exit_code == 2
    assert not (place / "data" / "journal.jsonl").exists()
    return str(ended.exception)


def test_a_run_without_a_strategy_is_refused(place):
    assert "nowhere: no such directory; give a directory that `evosyn evolve" in refused(place, str(place / "nowhere"))
    (place / "empty").mkdir()
    assert "has no strategy.py" in refused(place, str(place / "empty"))


def test_a_strategy_file_needs_seeds(place):
    assert "--seeds POOL" in refused(place, str(place / "strategy.py"))


def test_the_strategy_file_of_a_run_is_known_as_the_run_is(place):
    text = (place / "strategy.py").read_text()
    best = {"id": strategy_id(text), "heldout_score": 0.5}
    board = {"heldout": {"problems": 40, "tasks": 40}}
    told = {"best": best, "initial": {"heldout_score": 0.4}, "leaderboard": board, "digests": {}}
    (place / "report.json").write_text(json.dumps(told))
    (place / "manifest.json").write_text(json.dumps({"kind": "evolve", "source": str(place / "seeds.jsonl")}))
    by_file, by_run = (_inputs(path, None, None) for path in (place / "strategy.py", place))
    assert by_file == by_run and by_file.standing is not None and "0.500 on 40" in by_file.standing.text
    (place / "strategy.py").write_text(f"{text}\n# changed by hand\n")
    assert "--seeds POOL" in refused(place, str(place / "strategy.py"))
    assert _inputs(place / "strategy.py", str(place / "seeds.jsonl"), None).standing is None


def test_bad_seeds_are_named_by_line_and_field(place):
    (place / "seeds.jsonl").write_text(json.dumps({**SEED, "statment": "x"}) + "\n")
    message = refused(place, str(place / "strategy.py"), "--seeds", str(place / "seeds.jsonl"))
    assert "seeds.jsonl:1" in message
    assert "'statement'" in message


def test_seeds_that_a_run_evolved_on_recorded_matrices_cannot_give_are_asked_for(place):
    (place / "manifest.json").write_text(json.dumps({"kind": "evolve", "source": str(place / "matrices.jsonl")}))
    (place / "matrices.jsonl").write_text(
        json.dumps({"v": 4, "problem_id": "a", "verdicts": ["P"], "human": "P"}) + "\n"
    )
    assert "--seeds POOL" in refused(place, str(place))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--set", "filter.dedup.treshold=0.5"), "did you mean 'threshold'"),
        (("--set", "sampling.attempts=0"), "sampling.attempts"),
        (("--model", "gpt-4o-mini"), "provider/name"),
        (("--model", "openai/x", "--teacher", TEACHER), "exclude each other"),
        (("--teacher", TEACHER, "--decontaminate", "none.jsonl"), "no such benchmark file"),
        (("--teacher", TEACHER, "--set", "problem.domains=[python-stdin]"), "problem.domains"),
    ],
)
def test_bad_options_are_refused_with_what_to_do(place, arguments, message):
    seeds = ("--seeds", str(place / "seeds.jsonl"), "--problems", "2")
    assert message in refused(place, str(place / "strategy.py"), *seeds, *arguments)


def test_help_is_quick_to_load_and_pulls_in_nothing_heavy():
    code = (
        "import sys\nfrom evosyn.cli import main\n"
        "try:\n    main(['synthesize', '--help'])\nexcept SystemExit:\n    pass\n"
        "heavy = {'torch', 'litellm', 'datasets', 'matplotlib', 'pyarrow'} & sys.modules.keys()\n"
        "sys.exit(f'imported {heavy}' if heavy else 0)\n"
    )
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    assert "--decontaminate" in ended.stdout


@pytest.mark.parametrize(
    ("text", "said"), [("def rank(evidence:\n", "does not parse"), ("x = 1\n", "defines none of rank")]
)
def test_what_is_no_strategy_is_refused_before_anything_is_drawn(place, text, said):
    (place / "strategy.py").write_text(text)
    assert said in refused(place, str(place / "strategy.py"), "--seeds", str(place / "seeds.jsonl"))
