"""Functions are told anew with their testing kept; a story that has lost what the testing wants is found out."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from evosyn.chat import Reply, Request
from evosyn.dataset import Sample
from evosyn.errors import UsageError
from evosyn.jobs import Limits
from evosyn.ports import GroupOutcome, Sandbox
from evosyn.rundir import RunDir
from evosyn.sandbox import open_sandbox
from evosyn.synthesis.coevolution.config import CoevolutionConfig
from evosyn.synthesis.coevolution.feed import EvolvingProblems
from evosyn.synthesis.coevolution.seeds import seed_problems_of
from evosyn.synthesis.coevolution.state import Coevolution
from evosyn.synthesis.recipes.dejaq import CoevolutionTools, StudentPlan, evolving_problems
from tests.train.conftest import program, sample_of

STEPS, NUMBER = 10, 2
TOLD = (
    "The cashier of a small shop writes down what each customer has paid, in the order of the day. In the evening "
    "the owner wants to see one figure. Write a function {name}(xs) that gives it back, {words}."
)
RIGHT, WRONG = "which is what all the entries come to together", "which is how often somebody has paid"


class CashierTeacher:
    """Tells `total` as it is, or as another one, and solves what it is told; implements `ports.Teacher`."""

    name, simulated = "cashier", True

    def __init__(self, *, drifts: bool, mute: bool = False) -> None:
        self._words, self._mute = WRONG if drifts else RIGHT, mute
        self.asked: Counter[str] = Counter()

    async def complete(self, request: Request) -> Reply:
        text = request.messages[-1].content
        self.asked["solution" if request.purpose == "solution" else "mutation"] += 1
        if request.purpose != "solution":
            told = TOLD.format(name="total", words=self._words)
            return Reply("r_m", f"```json\n{json.dumps({'mutated_problem': told})}\n```", self.name)
        if self._mute:
            return Reply("r_s", "", self.name, failure="refused")
        solved = "len(xs)" if WRONG in text else "sum(xs)"
        return Reply("r_s", f"```python\n{program('total', solved)}```", self.name)

    async def aclose(self) -> None:
        return None


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    with open_sandbox("local", workers=1, allow_weak=True) as opened:
        yield opened


def led(folder: Path, teacher: CashierTeacher, sandbox: Sandbox) -> tuple[EvolvingProblems, Coevolution]:
    """A run over one function, whose student solves half of everything."""
    mutation = {"resample": 0, "distractor": 0, "symbolic": 0, "both": 0, "plain": 1}
    config = CoevolutionConfig(mutation=mutation)
    with ExitStack() as resources:
        run = resources.enter_context(RunDir(folder))
        tools = CoevolutionTools(run, [sample_of(0, "evosyn")], resources, lambda: teacher, sandbox, Limits(), bool)
        feed = evolving_problems(config, StudentPlan(NUMBER, STEPS, 0), tools)
        for step in range(STEPS):
            feed.report(step, [GroupOutcome(row.task.row_id, 2, 4) for row in feed.rows(step, NUMBER)])
        return feed, feed._state


def test_a_mutant_keeps_entry_point_and_testing_and_its_parent_is_solved_once(sandbox: Sandbox, tmp_path: Path) -> None:
    teacher = CashierTeacher(drifts=False)
    feed, state = led(tmp_path, teacher, sandbox)
    mutants = [slot for slot in state.curriculum.slots.values() if slot.depth]
    assert mutants and feed.summary()["mutants"]["kept"] == len(mutants)
    seed = sample_of(0, "evosyn")
    for slot in mutants:
        row = feed._seeds.row(slot.candidate)
        assert row.task.testing == seed.chosen_testing or row.task.testing.body == seed.chosen_testing.body
        assert row.task.problem.payload == seed.problem.payload
        assert "cashier" in row.prompt[-1].content
    tried = feed.summary()["mutants"]["tried"] + feed.summary()["mutants"]["lost"]
    parents = {one.newcomer.candidate.parents[0] for one in state.arrivals if one.newcomer.candidate.parents}
    assert teacher.asked["solution"] <= 4 * (tried + len(parents) + 1)


def test_a_story_that_lost_what_its_testing_wants_is_lost(sandbox: Sandbox, tmp_path: Path) -> None:
    _, state = led(tmp_path, CashierTeacher(drifts=True), sandbox)
    assert set(state.lost) == {"drift:meaning-changed"} and not any(one.newcomer.depth for one in state.arrivals)


def test_what_nobody_can_judge_is_no_change_of_meaning(sandbox: Sandbox, tmp_path: Path) -> None:
    _, state = led(tmp_path, CashierTeacher(drifts=False, mute=True), sandbox)
    assert set(state.lost) == {"drift:unjudged"}


def test_problems_that_cannot_be_retold_are_refused_by_name() -> None:
    shell = Sample(**{**vars(sample_of(0, "evosyn")), "domain": "os-shell"})
    with pytest.raises(UsageError, match="total: a problem of os-shell cannot be told in another way"):
        seed_problems_of([shell])
