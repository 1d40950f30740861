"""The policy of `evosyn experiment environments`: it writes signs, a token each; environments pay in the sandbox.

Accuracy on held-out environments is decided by our own table of signs, not by a verifier.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from evosyn.dataset import Sample
from evosyn.domains import domain, domains_named
from evosyn.domains.environment import NAME
from evosyn.errors import SandboxUnavailable
from evosyn.ports import Feed, FeedRow, Sandbox
from evosyn.randomness import SeedTree
from evosyn.records import Json
from evosyn.simulation.experiment import environment_world as world
from evosyn.simulation.experiment.environment_language import requested
from evosyn.simulation.experiment.toy_data import StepBudget
from evosyn.simulation.experiment.toy_policy import ToyPolicy, make_tokenizer, warmed
from evosyn.simulation.experiment.toy_tokens import GO
from evosyn.train.config import RewardConfig
from evosyn.train.data import tasks_of
from evosyn.train.feeding import LiveRows
from evosyn.train.rewards import Recorded, RewardFunction
from evosyn.train.scoring import Score, Scorer, Task, reward_judge

LONGEST = max(world.LENGTHS) + 5
"""Tokens of an answer: signs, both ends, the marks, the end, and one to spare."""


def warm_weights(folder: Path, told: Sequence[tuple[str, str]], budget: StepBudget, seeds: SeedTree) -> Path:
    """The weights from which all arms of a seed start; made once."""
    return warmed(folder, word_tokenizer(), [(shown(asked), answer) for asked, answer in told], budget, seeds)


def word_tokenizer(*parts: str) -> Any:
    """Words of questions, signs of answers, and what else an answer may be made of."""
    signs = [f"{sign} " for sign in (*world.WORDS.values(), world.OPENING, world.CLOSING)]
    return make_tokenizer(
        ["give", "all", "the", "signs", ":", *world.RULES, *world.WORDS], [world.HEAD, world.TAIL, *signs, *parts]
    )


class WordLearner:
    """Trains one arm of a seed.

    Args:
        start: the weights.
        asked: questions with their right signs: `heldout`, measured along the way, and `within`, at the end.
        longest: tokens of an answer.
    """

    def __init__(
        self,
        start: Path,
        asked: Mapping[str, Sequence[tuple[str, str]]],
        budget: StepBudget,
        sandbox: Sandbox,
        seeds: SeedTree,
        longest: int = LONGEST,
    ) -> None:
        self._group, self._scorer = budget.group, Scorer(reward_judge(sandbox, domains_named({NAME})))
        self.policy = ToyPolicy(start, budget, seeds, longest)
        self._asked, self._steps = asked, budget.steps
        self._tasks: dict[str, Task] = {}
        self._live: LiveRows | None = None
        self._paid: Counter[str] = Counter()

    def rates(self, samples: Sequence[Sample]) -> dict[str, float]:
        """The share of rows of each environment that one answer each solves, by its own verifier; of what is known.

        Raises:
            SandboxUnavailable: of an environment nothing is known.
        """
        tasks = list(tasks_of(samples).values())
        texts = self.policy.answers([shown(task.problem.statement) for task in tasks], 0, greedy=False) if tasks else []
        found: dict[str, list[bool]] = {_environment(task): [] for task in tasks}
        for task, score in zip(tasks, self._scorer.score(tasks, texts), strict=True):
            found[_environment(task)] += [score.passed] if score.known else []
        if unjudged := [name for name, each in found.items() if not each]:
            raise SandboxUnavailable(
                f"the sandbox judged no answer of environment {unjudged[0]} ({len(unjudged)} of {len(found)} such), so "
                "how often the start solves it is unknown; run the same command again"
            )
        return {name: sum(each) / len(each) for name, each in found.items()}

    def reinforce(self, samples: Sequence[Sample], scratch: Path, feed: Feed | None = None) -> Json:
        """GRPO on rows, or on those that a feed gives; of these `samples` only say how many."""
        self._tasks = tasks_of(samples)
        rows = {row: shown(task.problem.statement) for row, task in self._tasks.items()}
        self._live = None if feed is None else LiveRows(feed, self._tasks, self._group, shown_row)
        longest = self.policy.longest
        reward = RewardFunction(self._tasks, self._scorer, RewardConfig(), max_completion=longest, record=self._record)
        found = self.policy.reinforce(rows, reward, scratch, self.measure, self._live)
        return {**found, "rows": len(rows), "paid": dict(self._paid), "executed": self._scorer.judge.executed}

    def _record(self, rows: Sequence[str], scores: Sequence[Score], texts: Sequence[str]) -> Recorded:
        """Groups without variance are counted among questions alone, whatever else a batch holds, by what is known."""
        passed: defaultdict[str, set[bool]] = defaultdict(set)
        for row, score in zip(rows, scores, strict=True):
            if row in self._tasks and score.known:
                self._paid[_environment(self._tasks[row])] += score.passed
                passed[row].add(score.passed)
        alike = sum(len(one) < 2 for one in passed.values()) / max(1, len(passed))
        found = Recorded() if self._live is None else self._live.record(rows, scores, texts)
        return found._replace(figures={**found.figures, "zero_variance": alike})

    def measure(self, step: int) -> dict[str, float]:
        """Accuracy on environments that nobody trains on, sampled and greedy; at the end also on `within`."""
        found: dict[str, float] = {"step": step}
        parts = [("sampled", "heldout", False), ("greedy", "heldout", True)]
        for name, of, greedy in parts + [("within", "within", False)] * (step == self._steps):
            asked = self._asked[of]
            texts = self.policy.answers([shown(one) for one, _ in asked], step, greedy=greedy) if asked else []
            found[name] = round(share_right(texts, asked), 6)
        return found


def shown(question: str) -> str:
    """A question as the policy reads it."""
    return f"{question} {GO}"


def shown_row(row: FeedRow) -> str:
    """The same of a row; of a request for a draft it reads the statements."""
    return shown(row.task.problem.statement if row.judged else requested([row.task.problem.statement]))


def share_right(texts: Sequence[str], asked: Sequence[tuple[str, str]]) -> float:
    """Of answers to questions that stand with their right signs."""
    right = [_signs(text) == told.split() for text, (_, told) in zip(texts, asked, strict=True)]
    return sum(right) / max(1, len(right))


def _signs(text: str) -> list[str] | None:
    found = domain(NAME).read("solution", text, None).value
    return None if found is None else found.text.split()


def _environment(task: Task) -> str:
    return str(task.problem.meta["environment"])
