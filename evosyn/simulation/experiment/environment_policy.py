"""The policy of `evosyn experiment environments`: it writes signs, a token each; environments pay in the sandbox.

Accuracy on held-out environments is decided by our own table of signs, not by a verifier.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from pathlib import Path

from evosyn.dataset import Sample
from evosyn.domains import domain, domains_named
from evosyn.domains.environment import NAME
from evosyn.environments.rotation import RotatingPool, RotationConfig
from evosyn.environments.runner import EnvironmentRunner
from evosyn.journal import Journal
from evosyn.ports import FeedRow, Sandbox
from evosyn.randomness import SeedTree
from evosyn.records import Json
from evosyn.simulation.experiment import environment_world as world
from evosyn.simulation.experiment.environment_runs import asked_of
from evosyn.simulation.experiment.toy_data import StepBudget
from evosyn.simulation.experiment.toy_policy import GO, ToyPolicy, make_tokenizer, warmed
from evosyn.train.config import RewardConfig
from evosyn.train.data import tasks_of
from evosyn.train.feeding import LiveRows
from evosyn.train.rewards import Recorded, RewardFunction
from evosyn.train.scoring import Score, Scorer, Task, reward_judge

LONGEST = max(world.LENGTHS) + 5
"""Tokens of an answer: signs, both ends, the marks, the end, and one to spare."""


def warm_weights(folder: Path, told: Sequence[tuple[str, str]], budget: StepBudget, seeds: SeedTree) -> Path:
    """The weights from which all arms of a seed start; made once."""
    signs = [f"{sign} " for sign in (*world.WORDS.values(), world.OPENING, world.CLOSING)]
    tokenizer = make_tokenizer(
        ["give", "all", "the", "signs", ":", *world.RULES, *world.WORDS], [world.HEAD, world.TAIL, *signs]
    )
    return warmed(folder, tokenizer, [(shown(asked), answer) for asked, answer in told], budget, seeds)


class WordLearner:
    """Trains one arm of a seed whose data stand in `folder`."""

    def __init__(self, folder: Path, budget: StepBudget, sandbox: Sandbox, seeds: SeedTree) -> None:
        self._sandbox, self._seeds, self._group = sandbox, seeds, budget.group
        self._scorer = Scorer(reward_judge(sandbox, domains_named({NAME})))
        self._policy = ToyPolicy(folder / "start", budget, seeds, LONGEST)
        self._asked, self._steps = asked_of(folder), budget.steps
        self._tasks: dict[str, Task] = {}
        self._live: LiveRows | None = None
        self._paid: Counter[str] = Counter()

    def rates(self, samples: Sequence[Sample]) -> dict[str, float]:
        """The share of rows of each environment that one answer each solves, by its own verifier."""
        tasks = list(tasks_of(samples).values())
        texts = (
            self._policy.answers([shown(task.problem.statement) for task in tasks], 0, greedy=False) if tasks else []
        )
        found: defaultdict[str, list[bool]] = defaultdict(list)
        for task, score in zip(tasks, self._scorer.score(tasks, texts), strict=True):
            found[_environment(task)].append(score.passed)
        return {name: sum(each) / len(each) for name, each in found.items()}

    def reinforce(self, samples: Sequence[Sample], scratch: Path, active: int | None) -> Json:
        """GRPO on rows; they rotate where `active` says how many are in the pool."""
        self._tasks = tasks_of(samples)
        rows = {row: shown(task.problem.statement) for row, task in self._tasks.items()}
        if active is not None:
            journal = Journal(scratch / "journal.jsonl")
            journal.path.unlink(missing_ok=True)  # an arm that was killed begins anew
            runner, config = EnvironmentRunner(self._sandbox), RotationConfig(active=active)
            pool = RotatingPool(samples, config, runner, journal, self._seeds.child("rotation"))
            self._live = LiveRows(pool, self._tasks, self._group, lambda row: shown(_statement(row)))
        reward = RewardFunction(self._tasks, self._scorer, RewardConfig(), max_completion=LONGEST, record=self._record)
        found = self._policy.reinforce(rows, reward, scratch, self._measure, self._live)
        return {**found, "rows": len(rows), "paid": dict(self._paid), "executed": self._scorer.judge.executed}

    def _record(self, rows: Sequence[str], scores: Sequence[Score], texts: Sequence[str]) -> Recorded:
        for row, score in zip(rows, scores, strict=True):
            self._paid[_environment(self._tasks[row])] += score.passed
        return Recorded() if self._live is None else self._live.record(rows, scores, texts)

    def _measure(self, step: int) -> dict[str, float]:
        """Accuracy on environments that nobody trains on, sampled and greedy; at the end also on new questions of all
        sound drafts (`within`).
        """
        found: dict[str, float] = {"step": step}
        parts = [("sampled", "heldout", False), ("greedy", "heldout", True)]
        for name, of, greedy in parts + [("within", "within", False)] * (step == self._steps):
            asked = self._asked[of]
            texts = self._policy.answers([shown(one) for one, _ in asked], step, greedy=greedy) if asked else []
            right = [_signs(text) == told.split() for text, (_, told) in zip(texts, asked, strict=True)]
            found[name] = round(sum(right) / max(1, len(right)), 6)
        return found


def shown(question: str) -> str:
    """A question as the policy reads it."""
    return f"{question} {GO}"


def _signs(text: str) -> list[str] | None:
    found = domain(NAME).read("solution", text, None).value
    return None if found is None else found.text.split()


def _statement(row: FeedRow) -> str:
    return row.task.problem.statement


def _environment(task: Task) -> str:
    return str(task.problem.meta["environment"])
