"""The recipe of a search: which problems are used, how they are split, who wins, what a resumed run finds."""

import random
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import yaml

from evosyn.domains import load_pools
from evosyn.errors import OtherSettings, UsageError
from evosyn.evaluators.draws import ConsistencyConfig, make_draws
from evosyn.evaluators.heldout import task_of
from evosyn.evolve.stopping import StopConfig
from evosyn.matrices import load_matrices, write_matrices
from evosyn.pools import write_pools
from evosyn.reading.search import SearchReading
from evosyn.records import PassMatrix
from evosyn.rundir import RunDir
from evosyn.strategies import load_known, strategy_id
from evosyn.strategies.running import _harness
from evosyn.strategies.running.packing import pack
from evosyn.strategies.running.sandboxed import _rankings
from evosyn.synthesis.recipes.strategy import run_evolve
from evosyn.synthesis.search.config import EvolveConfig
from evosyn.synthesis.search.inputs import Source
from evosyn.synthesis.search.seeds import select
from evosyn.synthesis.search.trial import run_trial
from evosyn.workbench import Workbench

SCORING = ConsistencyConfig(M=5, N=4, draws=2)
OLD = Path(__file__).parents[1] / "golden" / "evolve_v1"
CONFIG = EvolveConfig(scoring=SCORING, stop=StopConfig(evaluations=60), finalists=10)
STRICT = CONFIG.model_copy(update={"scoring": SCORING.model_copy(update={"strict": True})})


def matrix(number: int, rows: int = 8, columns: int = 6, solvable: bool = True) -> PassMatrix:
    rng = np.random.default_rng(number)
    right = (rng.random(rows) < 0.5) & solvable
    right[0], right[1] = solvable, False
    good = rng.random(columns) < 0.5
    chance = np.where(good[None, :], np.where(right[:, None], 0.95, 0.1), 0.9)
    verdicts = np.where(rng.random((rows, columns)) < chance, "P", "F")
    return PassMatrix(f"problem-{number}", verdicts, human_M=np.where(right, "P", "F"))


class InProcess:
    """Runs the programs of this test (all of them ours) without a sandbox."""

    def rank(self, programs, evidences, tasks=None):  # noqa: ARG002
        packed, asked = pack(evidences), {"screen": 1, "budget_s": 600.0}
        return [_rankings(_harness.main(program, packed, asked), evidences) for program in programs]


def workbench() -> Workbench:
    made = Workbench()
    made.runner = InProcess()
    return made


def accepting(number):
    found = matrix(number)
    return replace(found, human_M=np.full_like(found.human_M, "P"))


def test_human_testings_that_accept_every_solution_are_named():
    seeds = select([matrix(n) for n in range(8)] + [accepting(8)], CONFIG, simulated=False)
    assert seeds.untelling == (accepting(8).problem_id,)


def test_problems_that_say_the_same_under_other_names_are_one_task_and_it_is_told():
    others = [replace(matrix(n), problem_id=f"again {n}") for n in range(3)]
    asked = [replace(matrix(20 + n), problem_id=f"asked {n}", statement="What  is it?\n" * n) for n in (1, 1, 2)]
    asked[1] = replace(asked[1], problem_id="asked again", statement=" What is it? ")
    seeds = select([*[matrix(n) for n in range(8)], *others, *asked], CONFIG, simulated=False)
    assert seeds.repeated == ("again 0", "again 1", "again 2", "asked again")
    sides = {one.problem_id: side for side, part in enumerate(seeds.split) for one in part}
    assert all(sides[matrix(n).problem_id] == sides[f"again {n}"] for n in range(3))
    assert sides["asked 1"] == sides["asked again"]
    assert len({task_of(one) for part in seeds.split for one in part}) == 8 + 2
    assert any("4 problems say what another one says" in note for note in seeds.notes())


def test_problems_that_all_say_the_same_are_refused_with_what_to_do():
    alike = [replace(matrix(n), statement="Solve it.") for n in range(8)]
    with pytest.raises(UsageError, match=r"8 problems say the same .*give each its own statement"):
        select(alike, CONFIG, simulated=False)


def test_easy_problems_that_all_pass_are_alike_and_not_the_same():
    easy = [replace(accepting(n), verdicts_MN=np.full((8, 6), "P")) for n in range(30, 33)]
    assert not select([*[matrix(n) for n in range(8)], *easy], CONFIG, simulated=False).repeated


def test_small_problems_are_left_out_and_counted():
    small = [matrix(20, rows=4), matrix(21, columns=3), matrix(22, columns=1)]
    seeds = select([matrix(n) for n in range(8)] + small, STRICT, simulated=False)
    assert len(seeds.split.train) + len(seeds.split.heldout) == 8
    assert seeds.skipped == {"smaller than 5 x 4": 3}
    used = select([matrix(n) for n in range(8)] + small, CONFIG, simulated=False)
    assert used.skipped == {"smaller than 2 x 2": 1}
    assert "2 problems have fewer than 5 solutions or 4 testings, used with what they have" in used.notes()


SOLVABLE = CONFIG.model_copy(update={"scoring": SCORING.model_copy(update={"solvable": True})})


def test_problems_without_a_right_solution_are_left_out_where_that_is_asked_for_and_all_see_the_same():
    many = [matrix(n) for n in range(8)]
    held = {one.problem_id for one in select(many, SOLVABLE, simulated=False).split.heldout}
    many = [replace(one, human_M=np.full(8, "F")) if one.problem_id in held else one for one in many]
    seeds = select(many, SOLVABLE, simulated=False)
    assert seeds.skipped == {"no right solution": 3} and set(seeds.left_out) == held
    assert "5 of 8 seeds usable; 3 left out: problem-" in seeds.notes()[0] and "(no right solution)" in seeds.notes()[0]
    for side in seeds.split:
        draws = make_draws(side, SOLVABLE.scoring)
        assert list(draws.problem_ids) == [one.problem_id for one in side] and not draws.skipped
    assert not select(many, CONFIG, simulated=False).left_out


def test_too_few_problems_with_a_right_solution_are_said_before_anything_is_searched():
    many = [matrix(n, solvable=n < 3) for n in range(9)]
    with pytest.raises(
        UsageError, match=r"scoring.solvable: only 3 problems .* 4 are needed; leave it out, which uses"
    ):
        select(many, SOLVABLE, simulated=False)


def test_the_split_does_not_depend_on_the_order_of_the_file():
    many = [matrix(n) for n in range(12)]
    first = select(many, CONFIG, simulated=False).split
    random.Random(1).shuffle(many)
    second = select(many, CONFIG, simulated=False).split
    assert {one.problem_id for one in first.heldout} == {one.problem_id for one in second.heldout}


@pytest.mark.parametrize(
    ("many", "said"),
    [
        ([matrix(n, rows=4) for n in range(9)], "-M 4 -N 4"),
        ([matrix(n, columns=3) for n in range(9)], "-M 5 -N 3"),
        ([matrix(n) for n in range(3)], "bring more"),
        ([matrix(n, solvable=False) for n in range(9)], "no solution of any problem"),
        ([replace(matrix(n), human_M=None) for n in range(9)], "9 of 9 problems have no human testing"),
        ([accepting(n) for n in range(9)], "the human testing of every problem accepts all of its solutions"),
    ],
)
def test_what_cannot_work_is_said_with_what_would(many, said):
    with pytest.raises(UsageError, match=said):
        select(many, STRICT, simulated=False)


def test_problems_without_a_human_testing_are_left_out_and_too_few_others_are_refused_before_all(tmp_path):
    pools = load_pools("builtin:python-seeds")[:4]
    bare = replace(pools[0], problem=replace(pools[0].problem, problem_id="mine", human_testing=None))
    path = tmp_path / "seeds.jsonl"
    write_pools(path, [*pools, bare])
    source = Source(str(path))
    source.check()
    assert len(source.pools) == 4 and list(source.left_out) == ["mine"]
    write_pools(path, [*pools[:2], bare])
    with pytest.raises(UsageError, match=r"holds 2 seed .* \(1 seed problem without one\).*4 are needed"):
        Source(str(path)).check()


def test_few_held_out_problems_are_warned_of_again_where_seeds_were_left_out():
    made = [[matrix(n) for n in range(count)] + [matrix(count, rows=2)] for count in (6, 30)]
    few, many = (select(some, STRICT, simulated=False).notes() for some in made)
    assert len(few) == 2 and "only 2 problems are held out" in few[1] and len(many) == 1
    assert select(made[0][:-1], STRICT, simulated=False).notes() == [], "it was known of the source"


def test_a_trial_gives_the_same_result_twice_and_scores_the_others_beside_it():
    many = [matrix(n) for n in range(12)]
    simple = "def rank(e):\n    return e.passed.sum(1), e.passed.sum(0)\n"
    one, two = (run_trial(CONFIG, many, workbench(), others={"simple": simple}) for _ in range(2))
    assert one.choice.winner == two.choice.winner and one.heldout == two.heldout
    assert one.heldout["simple"].score is not None and 0 <= one.score <= one.oracle <= 1


def test_a_command_that_is_refused_leaves_what_the_run_was_made_with(tmp_path):
    file, out = tmp_path / "one.jsonl", tmp_path / "out"
    write_matrices(file, [matrix(n) for n in range(10)])
    config = CONFIG.model_copy(update={"source": (str(file),), "stop": StopConfig(evaluations=40)})
    run_evolve(config, Source(*config.sources), out, workbench())
    before = (out / "config.yaml").read_bytes()
    other = config.model_copy(update={"seed": 5, "stop": StopConfig(evaluations=9000)})
    with pytest.raises(OtherSettings, match="seed: 0 there, 5 asked for"):
        run_evolve(other, Source(*config.sources), out, workbench())
    assert (out / "config.yaml").read_bytes() == before
    longer = config.model_copy(update={"stop": StopConfig(evaluations=50)})
    assert run_evolve(longer, Source(*config.sources), out, workbench())["evaluations"] >= 50
    assert yaml.safe_load((out / "config.yaml").read_text())["stop"]["evaluations"] == 50


def begun(out, config):
    """A run on recorded matrices with all that may be recorded, ended before its time."""
    rng = np.random.default_rng(0)
    pool = [
        replace(
            matrix(number),
            copies_M=np.arange(1, 9)[: matrix(number).verdicts_MN.shape[0]],
            durations_MN=rng.random(matrix(number).verdicts_MN.shape),
            statement=f"Problem {number}",
        )
        for number in range(8)
    ]
    source = out.parent / "matrices.jsonl"
    write_matrices(source, pool)
    run_evolve(config, Source(str(source)), out, workbench())
    return source


CHANGES = {
    "copies": lambda one: replace(one, copies_M=np.ones_like(one.copies_M)),
    "durations": lambda one: replace(one, durations_MN=one.durations_MN * 2),
    "statement": lambda one: replace(one, statement=f"{one.statement} again"),
    "human verdicts": lambda one: replace(one, human_M=np.where(one.human_M == "P", "F", "P")),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_run_whose_evidence_was_altered_does_not_go_on(tmp_path, change):
    out, config = tmp_path / "out", CONFIG.model_copy(update={"stop": StopConfig(evaluations=30)})
    source = begun(out, config)
    stored = out / "matrices" / "matrices.jsonl.gz"
    write_matrices(stored, [CHANGES[change](one) for one in load_matrices(stored)])
    longer = config.model_copy(update={"stop": StopConfig(evaluations=60)})
    before = (out / "journal.jsonl").read_bytes()
    with pytest.raises(OtherSettings, match="the problems, or their parts, are other ones"):
        run_evolve(longer, Source(str(source)), out, workbench())
    assert (out / "journal.jsonl").read_bytes() == before


def test_a_source_whose_evidence_was_altered_is_another(tmp_path):
    out, config = tmp_path / "out", CONFIG.model_copy(update={"stop": StopConfig(evaluations=30)})
    source = begun(out, config)
    write_matrices(source, [CHANGES["copies"](one) for one in load_matrices(source)])
    with pytest.raises(UsageError, match="other problems"):
        run_evolve(config, Source(str(source)), out, workbench())


def test_several_pools_are_searched_together_and_what_they_share_is_never_split(tmp_path):
    files = [tmp_path / "one.jsonl", tmp_path / "two.jsonl"]
    write_matrices(files[0], [matrix(n) for n in range(10)])
    write_matrices(files[1], [replace(matrix(n), problem_id=f"two/problem-{n}") for n in range(6, 14)])
    config = CONFIG.model_copy(update={"source": tuple(map(str, files)), "stop": StopConfig(evaluations=40)})
    out = tmp_path / "out"
    report = run_evolve(config, Source(*config.sources), out, workbench())
    assert set(report["selection"]["gain_by_pool"]) == {"one", "two"}
    assert report["selection"]["draws"]["fresh"] >= 40 and RunDir(out).read_json("manifest.json")["pools"] == [
        "one",
        "two",
    ]
    split = SearchReading(out, "evolve").split()
    train, held = ({task_of(one) for one in side} for side in split)
    assert not train & held and train | held == {f"problem-{n}" for n in range(10)} | {
        f"two/problem-{n}" for n in range(10, 14)
    }
    assert {one.problem_id.partition("/")[0] for one in split.heldout} == {"one", "two"}
    board = report["leaderboard"]["heldout"]
    assert sum(board["pools"].values()) == board["problems"] and set(board["pools"]) == {"one", "two"}
    for row in (row for row in board["strategies"] if row["invalid"] is None):
        by_pool = sum(row["by_pool"][pool] * count for pool, count in board["pools"].items())
        assert by_pool / board["problems"] == pytest.approx(row["score"])
    again = run_evolve(config, Source(*config.sources), out, workbench())
    assert {**again, "wall_s": 0} == {**report, "wall_s": 0}


def test_a_search_is_told_by_rounds_what_it_made_beside_what_it_started_from(tmp_path):
    source = tmp_path / "m.jsonl"
    write_matrices(source, [matrix(n) for n in range(20)])
    config = CONFIG.model_copy(update={"stop": StopConfig(evaluations=80)})
    chosen = run_evolve(config, Source(str(source)), tmp_path / "out", workbench())["selection"]
    first, second = chosen["rounds"]
    assert first["best"].startswith("opening ") and second["best"].startswith("c_")
    assert first["over"] == chosen["known"] and second["over"] == (
        first["best"] if first["passed"] else chosen["known"]
    )
    assert [first["passed"], second["passed"]] in {
        "known": [[False, False]],
        "opening": [[True, False]],
        "evolved": [[False, True], [True, True]],
    }[chosen["winner_is"]]


def test_where_nothing_evolved_is_shown_to_be_better_the_report_and_the_program_name_the_known_rule(tmp_path):
    source, only = tmp_path / "m.jsonl", CONFIG.model_copy(update={"stop": StopConfig(evaluations=1)})
    write_matrices(source, [matrix(n) for n in range(8)])
    report = run_evolve(only, Source(str(source)), tmp_path / "out", workbench())
    kept, sizes = report["evolved_on"], [matrix(n).verdicts_MN.shape for n in range(8)]
    assert len(kept["traits"]) == 8 and kept["pools"] == [max(m for m, _ in sizes), max(n for _, n in sizes)]
    assert kept["heldout"] == report["leaderboard"]["heldout"]["problems"]
    chosen = report["selection"]
    assert (chosen["winner_is"] != "known") is (chosen["gain_lower"] > 0 and not chosen["held_back"])
    (first,) = chosen["rounds"]
    assert (first["over"], first["passed"]) == (chosen["known"], chosen["winner_is"] != "known")
    assert first["best"].startswith("opening ") and first["gain_lower"] <= first["gain"]
    if chosen["winner_is"] == "known":
        text = (tmp_path / "out" / "strategy.py").read_text()
        assert f"It is the known rule {chosen['known']}" in text and text.endswith(load_known(chosen["known"]))
        assert strategy_id(text) == report["best"]["id"]


@pytest.mark.long
def test_the_winner_beats_the_initial_strategy_where_it_can(tmp_path):
    source = tmp_path / "m.jsonl"
    write_matrices(source, [matrix(n) for n in range(40)])
    scoring = SCORING.model_copy(update={"unit": "testing"})
    config = CONFIG.model_copy(update={"stop": StopConfig(evaluations=300), "scoring": scoring})
    report = run_evolve(config, Source(str(source)), tmp_path / "out", workbench())
    assert report["beats_initial"] and report["best"]["heldout_score"] > report["initial"]["heldout_score"] + 0.1
    again = run_evolve(config, Source(str(source)), tmp_path / "out", workbench())
    assert {**again, "wall_s": 0} == {**report, "wall_s": 0}
