"""Replies written by hand to the requests by which `evosyn evolve` draws the pools of its seeds, through the whole
command: what can be used is used in whatever form it came, the rest is counted."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from evosyn.cli.evolve import command
from evosyn.dataset import read_rejects
from evosyn.matrices import load_matrices
from evosyn.pools import load_pools, write_pools
from tests.recorded.playing import HERE, teacher, written

RECORDED = HERE / "drawing"
SEEDS = ("name-initials", "prime-gap", "nth-weekday", "mask-digits")
SIZES = ("-M", "2", "-N", "2", "--evaluations", "10", "--proposer", "genetic", "--quiet")
SETS = ("pool.solutions=3", "pool.testings=3", "scoring.draws=2", "finalists=2", "known=false")


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("drawn")
    pools = {pool.problem.problem_id: pool for pool in load_pools("builtin:python-seeds")}
    write_pools(place / "seeds.jsonl", [pools[name] for name in SEEDS])
    line = [str(place / "seeds.jsonl"), "--out", str(place / "run"), "--teacher", teacher(RECORDED), *SIZES]
    ended = CliRunner().invoke(command, [*line, *(f"--set={one}" for one in SETS)], standalone_mode=False)
    assert (place / "run" / "report.json").is_file(), (ended.output, ended.exception)
    return place / "run"


def test_there_are_twelve_replies_of_each_kind():
    assert written(RECORDED, "solution") >= 12 and written(RECORDED, "testing") >= 12


def test_every_pool_is_whole_and_what_could_not_be_used_is_counted(run: Path):
    pools = load_pools(run / "pools.jsonl.gz")
    assert [(len(pool.solutions), len(pool.testings)) for pool in pools] == [(3, 3)] * 4
    lost = [(one.stage, one.reason, one.problem_id) for one in read_rejects(run) if one.item == "reply"]
    assert sorted(lost) == [
        ("solution", "does-not-parse", "prime-gap"),
        ("testing", "no-cases", "name-initials"),
    ]
    report = json.loads((run / "report.json").read_text())
    assert report["examples"] == {"seed": 12} and report["read_in_part"] == {}, "a list that is not closed"
    calls = len(list(RECORDED.glob("*.md"))) - 1
    assert report["spent"]["drawing"]["calls"] == calls == 26, "of a reply that was cut the whole cases count"


def test_right_and_wrong_programs_are_told_apart_in_every_form(run: Path):
    (file,) = (run / "matrices").glob("*")
    matrices = {one.problem_id: one for one in load_matrices(file)}
    human = {name: "".join(matrices[name].human_M) for name in SEEDS}
    assert human == {"name-initials": "PFP", "prime-gap": "PFP", "nth-weekday": "PPF", "mask-digits": "PPF"}
    for matrix in matrices.values():
        right = matrix.human_M == "P"
        assert (matrix.verdicts_MN[right] == "P").all(), "every testing that was read holds for the right programs"
        assert (matrix.verdicts_MN[~right] != "P").any()
