"""`evosyn evolve` and `evosyn inspect` as commands: kills, interrupts, bad input, and what they write."""

import itertools
import json
import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import yaml

from evosyn.evolve.events import Committed, events_of
from evosyn.matrices import write_matrices
from evosyn.records import PassMatrix, Testing
from evosyn.rundir import RunDir
from evosyn.strategies import is_control, load_strategy
from evosyn.strategies.known import random as random_control

SETS = ("scoring.draws=2", "islands.count=2", "proposers.burst=4", "finalists=5")
SMALL = ["-M", "8", "-N", "6", *(f"--set={key}" for key in SETS)]
"""Whole matrices, which have one draw, so that a search ends soon."""


def matrices(path: Path, *, problems: int = 14, rows: int = 8, columns: int = 6, seed: int = 3) -> Path:
    """Problems on which good testings follow the truth and bad ones accept almost everybody."""
    rng = np.random.default_rng(seed)
    made = []
    for number in range(problems):
        right = rng.random(rows) < 0.5
        right[0], right[1] = True, False
        good = rng.random(columns) < 0.5
        chance = np.where(good[None, :], np.where(right[:, None], 0.95, 0.1), 0.9)
        verdicts = np.where(rng.random((rows, columns)) < chance, "P", "F")
        made.append(PassMatrix(f"problem-{number}", verdicts, human_M=np.where(right, "P", "F")))
    write_matrices(path, made)
    return path


def command(source: Path, out: Path, *more: str) -> list[str]:
    return [sys.executable, "-m", "evosyn", "evolve", str(source), "--out", str(out), *SMALL, *more]


def run(*arguments: object, **options: object) -> subprocess.CompletedProcess:
    return subprocess.run([str(one) for one in arguments], capture_output=True, text=True, timeout=300, **options)


def evosyn(*arguments: object) -> subprocess.CompletedProcess:
    return run(sys.executable, "-m", "evosyn", *arguments)


@pytest.fixture(scope="module")
def finished(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("run")
    result = run(*command(matrices(folder / "m.jsonl"), folder / "out", "--evaluations", "250"))
    assert result.returncode in (0, 1), result.stderr
    return folder / "out"


def child(out: Path) -> str:
    """The last program of a run that has a parent."""
    events = [event for event in events_of(RunDir(out).journal) if isinstance(event, Committed)]
    return [trial.candidate.id for event in events for trial in event.step.trials if trial.candidate.parents][-1]


def test_it_writes_strategy_report_config_manifest_and_journal(finished):
    report = json.loads((finished / "report.json").read_text())
    assert {"id", "score", "heldout_score", "heldout_ci"} <= set(report["best"])
    assert {"evaluations", "model_calls", "cost", "wall_s", "seed", "initial"} <= set(report)
    assert report["evaluations"] >= 250 and report["model_calls"] == 0
    assert "def rank(evidence)" in (finished / "strategy.py").read_text()
    card = (finished / "card.md").read_text()
    for part in (
        "# Strategy card",
        "| held out |",
        "won",
        "What its terms are worth",
        "Cost to find it",
        "def rank(evidence)",
    ):
        assert part in card
    for name in ("config.yaml", "manifest.json", "journal.jsonl", "matrices/matrices.jsonl.gz"):
        assert (finished / name).is_file()
    scores = {row["strategy"]: row["score"] for row in report["leaderboard"]["heldout"]["strategies"]}
    assert scores["evolved"] == report["best"]["heldout_score"]
    assert report["beats_initial"] == (scores["evolved"] > scores["initial"])


def test_repeating_the_command_shows_the_result_and_changes_nothing(finished):
    names = ("journal.jsonl", "strategy.py", "report.json")
    before = [(finished / name).read_bytes() for name in names]
    result = run(*command(finished.parent / "m.jsonl", finished, "--evaluations", "250"))
    assert "held out" in result.stdout and "scoring train" not in result.stderr
    assert [(finished / name).read_bytes() for name in names] == before


@pytest.mark.parametrize(
    ("held", "field"),
    [
        ({"spent": {"check": 5}}, "spent.check"),
        ({"spent": []}, "spent"),
        ({"unusable_replies": {"a": "b"}}, "unusable"),
    ],
)
def test_a_manifest_with_other_values_is_damaged_and_names_the_field(held, field, finished, tmp_path):
    copied = shutil.copytree(finished, tmp_path / "run")
    manifest = json.loads((copied / "manifest.json").read_text())
    (copied / "manifest.json").write_text(json.dumps({**manifest, **held}))
    result = run(*command(finished.parent / "m.jsonl", copied, "--evaluations", "260"))
    assert result.returncode == 5 and "Traceback" not in result.stderr
    assert "manifest.json: is damaged" in result.stderr and field in result.stderr


@pytest.mark.parametrize(
    "name",
    [
        pytest.param("strategy.py", marks=pytest.mark.long),
        pytest.param("card.json", marks=pytest.mark.long),
        "report.json",
    ],
)
def test_a_file_that_was_lost_is_written_again(name, finished, tmp_path):
    copied = shutil.copytree(finished, tmp_path / "run")
    (copied / name).write_text("{") if name == "report.json" else (copied / name).unlink()
    run(*command(finished.parent / "m.jsonl", copied, "--evaluations", "250"))
    assert (copied / name).read_text()[:200] == (finished / name).read_text()[:200]


def test_continue_goes_on_from_a_finished_run(finished, tmp_path):
    source = finished.parent / "m.jsonl"
    whole = tmp_path / "whole"
    run(*command(source, whole, "--evaluations", "100"))
    before = json.loads((whole / "report.json").read_text())["evaluations"]
    run(*command(source, whole, "--evaluations", "100", "--continue", "60"))
    after = json.loads((whole / "report.json").read_text())["evaluations"]
    assert before + 40 < after <= before + 64


@pytest.mark.long
def test_continue_and_a_plain_repeat_go_by_what_began_the_run_not_by_the_default(finished, tmp_path):
    source, out = finished.parent / "m.jsonl", tmp_path / "run"

    def made() -> int:
        return json.loads((out / "report.json").read_text())["evaluations"]

    run(*command(source, out, "--evaluations", "60"))
    before = made()
    for _ in range(2):
        run(*command(source, out, "--continue", "20"))
        assert before + 20 <= made() < before + 32
        before = made()
    run(*command(source, out))
    assert made() == before
    planned = yaml.safe_load((out / "config.yaml").read_text())["stop"]["evaluations"]
    assert planned <= before < planned + 12, "it repeats the whole run, with what was granted on top"


@pytest.mark.slow
@pytest.mark.parametrize("kills", [2, pytest.param(10, marks=pytest.mark.long)])
def test_killed_several_times_it_ends_in_the_state_of_an_undisturbed_run(kills, tmp_path):
    source, rng = matrices(tmp_path / "m.jsonl"), random.Random(11)
    arguments = ("--evaluations", "600", "--quiet")
    whole, broken = tmp_path / "whole", tmp_path / "broken"
    started = time.monotonic()
    assert run(*command(source, whole, *arguments)).returncode in (0, 1)
    seconds = time.monotonic() - started
    for _ in range(kills):
        with subprocess.Popen(
            command(source, broken, *arguments), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        ) as process:
            time.sleep(rng.uniform(0.2, 1.0) * seconds)
            process.send_signal(signal.SIGKILL)
    result = run(*command(source, broken, *arguments))
    assert result.returncode in (0, 1), result.stderr
    assert (broken / "journal.jsonl").read_bytes() == (whole / "journal.jsonl").read_bytes()
    assert (broken / "strategy.py").read_bytes() == (whole / "strategy.py").read_bytes()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_ends_within_two_seconds_and_is_resumable(number, tmp_path):
    source, out = matrices(tmp_path / "m.jsonl"), tmp_path / "out"
    with subprocess.Popen(
        command(source, out, "--evaluations", "1000000"), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        while not ((out / "journal.jsonl").exists() and (out / "journal.jsonl").stat().st_size > 100_000):
            assert process.poll() is None, process.stderr.read()
            time.sleep(0.05)
        process.send_signal(number)
        asked = time.monotonic()
        _, errors = process.communicate(timeout=20)
        assert time.monotonic() - asked < 2.0
    assert process.returncode == 130
    assert "repeat the same command" in errors and "Traceback" not in errors
    size = (out / "journal.jsonl").stat().st_size
    done = evosyn("inspect", out, "--json")
    count = json.loads(done.stdout)["counts"]["evaluations"]
    result = run(*command(source, out, "--evaluations", str(count + 50)))
    assert result.returncode in (0, 1), result.stderr
    assert (out / "journal.jsonl").stat().st_size > size


def test_a_run_repeats_from_its_configuration_alone(tmp_path):
    source = matrices(tmp_path / "m.jsonl")
    first, second = tmp_path / "first", tmp_path / "second"
    run(*command(source, first, "--evaluations", "40", "--seed", "4", "--workers", "1"), check=False)
    given = yaml.safe_load((first / "config.yaml").read_text())
    assert (given["source"], given["workbench"]["sandbox"]["workers"]) == (str(source), 1)
    evosyn("evolve", "--config", first / "config.yaml", "--out", second)
    assert (second / "journal.jsonl").read_bytes() == (first / "journal.jsonl").read_bytes()
    assert (second / "strategy.py").read_text() == (first / "strategy.py").read_text()
    refused = evosyn("evolve", "--out", tmp_path / "third")
    assert refused.returncode == 2
    assert "SOURCE" in refused.stderr


def test_same_seed_same_journal_at_any_concurrency_and_another_seed_another(tmp_path):
    source = matrices(tmp_path / "m.jsonl")
    journals = []
    for name, more in {
        "a": ["--set", "loop.concurrency=1"],
        "b": ["--set", "loop.concurrency=16"],
        "c": ["--seed", "9"],
    }.items():
        assert run(*command(source, tmp_path / name, "--evaluations", "120", *more)).returncode in (0, 1)
        journals.append((tmp_path / name / "journal.jsonl").read_bytes())
    assert journals[0] == journals[1] != journals[2]


@pytest.mark.parametrize(
    ("make", "more", "said"),
    [
        (lambda path: path / "none.jsonl", (), "no such file"),
        (lambda path: matrices(path / "m.jsonl", problems=2), (), "4 are needed"),
        (lambda path: matrices(path / "m.jsonl"), ("-M", "50", "--strict"), "the largest that work: -M 8 -N 6"),
        (lambda path: matrices(path / "m.jsonl"), ("--proposer", "nonsense"), "nothing is named 'nonsense'"),
        (lambda path: matrices(path / "m.jsonl"), ("--proposer", "rewrite"), "--model provider/name"),
        (lambda path: matrices(path / "m.jsonl"), ("--set", "islands.cuont=3"), "did you mean 'count'"),
        (lambda path: matrices(path / "m.jsonl"), ("--start", "no-such-strategy"), "no such strategy"),
        (lambda path: matrices(path / "m.jsonl"), ("--set", "heldout=1.5"), "heldout"),
    ],
)
def test_bad_input_is_named_before_anything_is_spent(tmp_path, make, more, said):
    result = run(*command(make(tmp_path), tmp_path / "out", "--evaluations", "50", *more))
    assert result.returncode == 2
    assert said in result.stderr and "Traceback" not in result.stderr
    assert not (tmp_path / "out" / "journal.jsonl").exists()


def test_a_pool_without_a_right_solution_is_refused(tmp_path):
    path = matrices(tmp_path / "m.jsonl")
    path.write_text(
        "".join(
            line.replace('"human":"', '"human":"').replace("P", "F") + "\n" for line in path.read_text().splitlines()
        )
    )
    result = run(*command(path, tmp_path / "out", "--evaluations", "50"))
    assert result.returncode == 2 and "no solution of any problem passes" in result.stderr


def test_other_settings_or_another_source_in_a_used_directory_are_refused(finished, tmp_path):
    result = run(*command(finished.parent / "m.jsonl", finished, "--evaluations", "250", "--seed", "5"))
    assert result.returncode == 2 and "seed" in result.stderr
    other = matrices(tmp_path / "m.jsonl", seed=8)
    result = run(*command(other, finished, "--evaluations", "250"))
    assert result.returncode == 2 and "holds a run on other problems" in result.stderr


def test_a_strategy_that_does_not_beat_the_initial_one_ends_with_1_and_is_written(tmp_path):
    result = run(
        *command(matrices(tmp_path / "m.jsonl"), tmp_path / "out", "--search", "hillclimb", "--iterations", "0")
    )
    assert result.returncode == 2
    few = ("--set", "stop.target=0.0", "--evaluations", "10")
    found = run(*command(matrices(tmp_path / "m.jsonl"), tmp_path / "first", *few, "--json"))
    best = json.loads(found.stdout)["selection"]["known"]
    result = run(*command(matrices(tmp_path / "m.jsonl"), tmp_path / "out", *few, "--set", f'start=["{best}"]'))
    assert result.returncode == 1
    assert "does not beat the initial strategy" in result.stderr
    assert (tmp_path / "out" / "strategy.py").is_file()


def test_a_directory_with_files_of_the_user_is_refused_and_left_alone(tmp_path):
    source = matrices(tmp_path / "m.jsonl")
    result = run(*command(source, tmp_path, "--evaluations", "50"))
    assert result.returncode == 2 and "holds files of something else (m.jsonl)" in result.stderr
    assert [one.name for one in tmp_path.iterdir() if not one.name.startswith(".")] == ["m.jsonl"]


def test_a_directory_that_is_written_to_is_refused(tmp_path):
    out = tmp_path / "out"
    out.mkdir()
    import fcntl

    with (out / ".lock").open("a+") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        result = run(*command(matrices(tmp_path / "m.jsonl"), out, "--evaluations", "50"))
    assert result.returncode == 2 and "another process" in result.stderr


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ((), "proposers"),
        (("--islands",), "island 1"),
        (("--program", "best"), "def rank(evidence)"),
        (("--lineage", "a child"), "genetic"),
        (("--why", "best"), "its behaviour"),
        (("--diff", "initial", "best"), "+++ c_"),
        (("--matrix", "problem-3"), "ranked by c_"),
        (("--matrix", "problem-3", "--strategy", "tfidf"), "ranked by tfidf"),
    ],
)
@pytest.mark.parametrize("as_json", [False, True])
def test_inspect_shows_every_side_of_a_run(finished, options, said, as_json):
    options = [child(finished) if option == "a child" else option for option in options]
    result = evosyn("inspect", finished, *options, *(["--json"] if as_json else []))
    assert result.returncode == 0, result.stderr
    if as_json:
        assert json.loads(result.stdout)
    else:
        assert said in result.stdout


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--program", "c_zzz"), "no candidate"),
        (("--program", "c_"), "give more of the id"),
        (("--prompt", "best"), "asks no model"),
        (("--matrix", "nope"), "no such problem"),
    ],
)
def test_inspect_says_what_is_not_there(finished, options, said):
    result = evosyn("inspect", finished, *options)
    assert result.returncode == 2 and said in result.stderr


def test_inspect_refuses_a_directory_that_is_not_ours(tmp_path):
    result = evosyn("inspect", tmp_path)
    assert result.returncode == 2 and "manifest.json" in result.stderr


def test_the_plan_costs_nothing(tmp_path):
    result = run(*command(matrices(tmp_path / "m.jsonl"), tmp_path / "out", "--dry-run", "--json"))
    assert json.loads(result.stdout)["problems"] == 14
    assert not (tmp_path / "out").exists()


def test_score_looks_at_the_held_out_problems_of_a_run_unless_told_otherwise(finished):
    report = json.loads((finished / "report.json").read_text())
    held, train = (report["leaderboard"][side]["problems"] for side in ("heldout", "train"))

    def score(*more):
        result = evosyn("score", "--pool", finished, "--strategy", finished, "--strategy", "initial", "--json", *more)
        assert result.returncode == 0, result.stderr
        return json.loads(result.stdout)

    default, everything = score(), score("--problems", "all")
    assert (default["of_run"], default["problems"], default["chosen_on"]) == ("heldout", held, {})
    assert (everything["of_run"], everything["problems"]) == ("all", held + train)
    assert everything["chosen_on"] == {finished.name: train}
    scores = {row["strategy"]: row["score"] for row in default["strategies"]}
    assert scores[finished.name] == report["best"]["heldout_score"], "with the M, N and draws of the run"
    assert score("-M", "3", "-N", "3")["M"] == 3
    shown = evosyn("score", "--pool", finished, "--strategy", finished, "--problems", "train").stdout
    halves = ("-M", "4", "-N", "4", "--out", finished.parent / "ablations")
    ablated = evosyn("ablate", "k", "--pool", finished, "--strategy", finished, "--ks", "1", *halves)
    assert f"was chosen on {train} of these problems" in ablated.stdout, ablated.stderr
    assert "(train problems)" in shown and f"was chosen on {train} of these problems" in shown
    assert f"`evosyn score --pool {finished} --problems heldout` (what it held out)" in shown


def test_score_warns_of_a_program_that_was_chosen_on_these_problems_also_by_its_file(finished, tmp_path):
    def chosen_on(program):
        result = evosyn(
            "score", "--pool", finished, "--problems", "all", "--strategy", program, "--json", "--draws", "2"
        )
        assert result.returncode == 0, result.stderr
        return json.loads(result.stdout)["chosen_on"]

    text = (finished / "strategy.py").read_text()
    train = json.loads((finished / "report.json").read_text())["leaderboard"]["train"]["problems"]
    assert chosen_on(finished / "strategy.py") == {"strategy": train}
    (tmp_path / "mine.py").write_text(text)
    assert chosen_on(tmp_path / "mine.py") == {}
    (tmp_path / "manifest.json").write_text("of another tool")
    assert chosen_on(tmp_path / "mine.py") == {}


def test_score_has_nothing_held_out_of_what_is_no_run(tmp_path):
    matrices(tmp_path / "matrices.jsonl")
    result = evosyn("score", "--pool", tmp_path, "--problems", "heldout")
    assert result.returncode == 2 and "is no run" in result.stderr


def lucky(path: Path) -> Path:
    """Problems whose verdicts tell nothing, and whose texts are those that the random control ranks right."""
    lines = []
    for number in range(4):
        for salt in itertools.count():
            solutions = [f"def f(x):\n    return {value} + 0 * {salt}\n" for value in ("x", "-x")]
            testings = [
                {"kind": "asserts", "asserts": [f"assert f({number + 2}) == {sign}{number + 2}"]} for sign in "+-"
            ]
            texts = [Testing(one["kind"], {"asserts": one["asserts"]}).text for one in testings]
            seen = SimpleNamespace(solution_texts=solutions, testing_texts=texts, passed=np.eye(2))
            if all(scores[0] > scores[1] for scores in random_control.rank(seen)):
                break
        human = {"kind": "cases", "cases": [{"input": [number + 7], "output": number + 7}]}
        line = {
            "problem_id": f"p{number}",
            "domain": "python-function",
            "statement": f"Return {number}.",
            "entry_point": "f",
        }
        lines.append({**line, "human_testing": human, "solutions": solutions, "testings": testings})
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def test_no_command_chooses_a_control_however_well_it_scores(tmp_path):
    source, out = lucky(tmp_path / "pool.jsonl"), tmp_path / "out"
    scored = json.loads(evosyn("score", "--pool", source, "-M", "2", "-N", "2", "--draws", "1", "--json").stdout)
    best = scored["strategies"][0]
    assert best["strategy"] == "random" and best["control"] and best["score"] == 1.0, "what lures"
    assert scored["preferred"] not in (None, "random", "inverse")
    for seed in range(4):
        words = ("-M", "2", "-N", "2", "--iterations", "1", "--set", "scoring.draws=1", "--seed", str(seed))
        done = evosyn("evolve", source, "--out", f"{out}{seed}", *words)
        assert done.returncode in (0, 1), done.stderr
        report = json.loads(Path(f"{out}{seed}", "report.json").read_text())
        assert {"random", "inverse"} <= {row["strategy"] for row in report["leaderboard"]["train"]["strategies"]}
        program = load_strategy(Path(f"{out}{seed}"))
        assert not is_control(program) and report["selection"]["known"] not in ("random", "inverse")
        told = [line for line in evosyn("inspect", f"{out}{seed}").stdout.splitlines() if not line.startswith("│")]
        assert not [line for line in told if "random" in line or "inverse" in line]


def test_the_winner_meets_every_known_rule_also_where_the_search_began_with_none_of_them(tmp_path):
    from evosyn.records import Candidate
    from evosyn.strategies import load_known

    out = tmp_path / "out"
    done = run(
        *command(
            matrices(tmp_path / "m.jsonl"), out, "-M", "5", "-N", "4", "--evaluations", "1", "--set", "known=false"
        )
    )
    assert done.returncode in (0, 1), done.stderr
    report = json.loads((out / "report.json").read_text())
    chosen = report["selection"]
    text = load_known(chosen["known"])
    assert chosen["known"] != "initial" and chosen["winner_is"] == "known"
    assert report["best"]["id"] == Candidate(text).id and chosen["score_in_search"] is None
    assert (out / "strategy.py").read_text().endswith(text)
    shown = evosyn("inspect", out, "--why", "best")
    assert f"the winner is the known rule {chosen['known']}" in shown.stderr
    assert evosyn("inspect", out).returncode == 0
