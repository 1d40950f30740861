"""`evosyn audit`: the kept testings against human ones, executed for real."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from evosyn.chat import Message
from evosyn.cli.audit import command
from evosyn.dataset import Sample, write_dataset
from evosyn.errors import UsageError
from evosyn.pools import write_pools
from evosyn.records import PassMatrix, Pool, Problem, Solution, Testing
from evosyn.synthesis.audit import audit, summary

SOURCES = [f"def double(x):\n    return {body}\n" for body in ("2 * x", "x + x", "x + 2", "x")]


def cases_of(*pairs: tuple[int, int]) -> Testing:
    return Testing("cases", {"cases": [{"input": [x], "output": y} for x, y in pairs]})


LOOSE, EXACT = cases_of((2, 4)), cases_of((2, 4), (5, 10))
HUMAN = cases_of((0, 0), (-3, -6), (7, 14))


def sample(setting: str, kept: Testing, solution: str) -> Sample:
    return Sample(
        id=f"d_{setting}", problem_id="syn-000000", domain="python-function", prompt=(Message("user", "p"),),
        statement="Return twice x.", payload='{"entry_point": "double"}', testing=kept.text, tests=1,
        solution=solution, solutions_ranked="[]", scores="{}", matrix_digest="m", lineage="{}", model="m",
        simulated=False, difficulty=0.0, cost=0.0, licence="", setting=setting,
    )  # fmt: skip


@pytest.fixture
def data(tmp_path: Path) -> Path:
    write_dataset(tmp_path, "evosyn", [sample("evosyn", EXACT, SOURCES[0])])
    write_dataset(tmp_path, "random", [sample("random", LOOSE, SOURCES[2])])
    problem = Problem("syn-000000", "python-function", "Return twice x.", payload={"entry_point": "double"})
    write_pools(tmp_path / "candidates.jsonl", [Pool(problem, tuple(map(Solution, SOURCES)), (LOOSE, EXACT))])
    seed = replace(problem, problem_id="human", human_testing=HUMAN, reference_solution=SOURCES[0])
    write_pools(tmp_path / "human.jsonl", [Pool(seed, (), ())])
    return tmp_path


def test_the_figures_are_those_of_the_executions(data):
    ended = CliRunner().invoke(command, [str(data), "--against", str(data / "human.jsonl"), "--json"])
    assert ended.exit_code == 0, ended.output
    figures = json.loads(ended.output)
    assert figures["evosyn"] == {
        "audited": 1, "valid": 1.0, "exact": 1.0, "accept_precision": 1.0, "accept_recall": 1.0,
        "balanced_accuracy": 1.0, "best_solution_right": 1.0,
        "true_accepts": 2, "false_accepts": 0, "true_refusals": 2, "false_refusals": 0,
    }  # fmt: skip
    loose = figures["random"]
    assert (loose["valid"], loose["exact"], loose["best_solution_right"]) == (1.0, 0.0, 0.0)
    assert (loose["true_accepts"], loose["false_accepts"], loose["true_refusals"]) == (2, 1, 1)
    assert loose["accept_precision"] == round(2 / 3, 4)


class Recorded:
    """Implements `ports.Crossexec` with verdicts that were there before: of the kept testing, and of the human one."""

    def __init__(self, kept: str, human: str) -> None:
        self.kept, self.human = kept, human

    def matrices(self, items, **_):
        letters = np.array([list(self.kept)]).T
        return [PassMatrix("p", letters, human_M=np.array(list(self.human))) for _ in items]


def test_what_our_machine_failed_or_never_ran_is_no_refusal():
    problem = Problem("syn-000000", "python-function", "Return twice x.", payload={"entry_point": "double"})
    pool, human = Pool(problem, tuple(map(Solution, SOURCES)), (EXACT,)), replace(problem, human_testing=HUMAN)
    asked = [sample("evosyn", EXACT, SOURCES[0])], {"syn-000000": pool}

    (row,) = audit(*asked, [Pool(replace(human, reference_solution=SOURCES[0]), (), ())], Recorded("UPFPU", "PNFUP"))
    assert (row.true_accepts, row.false_accepts, row.true_refusals, row.false_refusals) == (0, 0, 1, 0)
    assert (row.valid, row.best_right) == (None, True)
    (row,) = audit(*asked, [Pool(human, (), ())], Recorded("PPFF", "UPFF"))
    assert (row.true_accepts, row.true_refusals, row.best_right) == (1, 2, None)
    assert summary([row])["best_solution_right"] is None


def test_the_table_has_a_column_for_each_setting(data):
    ended = CliRunner().invoke(command, [str(data), "--against", str(data / "human.jsonl")])
    assert ended.output.splitlines()[0].split() == ["evosyn", "random"]
    assert "balanced accuracy" in ended.output


def test_a_pool_about_other_problems_is_refused(data, tmp_path):
    other = Problem("h", "python-function", "Something else.", payload={"entry_point": "f"}, human_testing=HUMAN)
    write_pools(tmp_path / "other.jsonl", [Pool(other, (), ())])
    ended = CliRunner().invoke(command, [str(data), "--against", str(tmp_path / "other.jsonl")])
    assert isinstance(ended.exception, UsageError)
    assert "matched by statement" in str(ended.exception)
