"""One policy in two roles, in the recipe of `evosyn coevolve --recipe evoenv --teacher self`: it answers and it writes.

Feed, ladder, band, novelty and rewards are the recipe's own, in the sandbox; the policy is a toy and the review is
SIMULATED: it knows the truth of a draft and says it as often as a reviewer of `env make` would. EvoEnv, section 3.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import ExitStack
from statistics import fmean

from evosyn.chat import Reply, Request
from evosyn.environments.asking import REVIEW
from evosyn.environments.contract import LEVELS
from evosyn.errors import UsageError
from evosyn.ports import Sandbox
from evosyn.randomness import SeedTree
from evosyn.records import Json, content_id
from evosyn.rundir import RunDir
from evosyn.simulation.experiment import environment_language as language
from evosyn.simulation.experiment.environment_policy import shown
from evosyn.simulation.experiment.environment_runs import AUTHOR, REVIEWER
from evosyn.simulation.experiment.environment_world import WordTask
from evosyn.simulation.experiment.toy_policy import ToyPolicy
from evosyn.synthesis.coevolution.config import CoevolutionConfig
from evosyn.synthesis.recipes.dejaq import StudentPlan
from evosyn.synthesis.recipes.evoenv import SelfplayTools, evolving_environments
from evosyn.synthesis.selfplay.feed import EvolvingEnvironments
from evosyn.synthesis.selfplay.state import PoolStep, pool_steps

CONFIG = CoevolutionConfig.model_validate(
    {"recipe": "evoenv", "selfplay": {"drafting": {"per_step": 1}, "ladder": {"seeds": 4}, "judging": {"reviews": 1}}}
)
"""One request for a draft a step, four instances a level on the ladder, one review; else as `evosyn coevolve`."""


class ToyStudent:
    """Implements `ports.Teacher` and `LiveStudent`: the policy in training, which also reviews (that is made up)."""

    name, simulated = "toy-policy", True

    def __init__(self, policy: ToyPolicy, seeds: SeedTree) -> None:
        self._policy, self._seeds, self._trials = policy, seeds, 0

    def replies(self, requests: Sequence[Request]) -> list[Reply]:
        """Answers to questions, by the weights of now."""
        self._trials += 1
        prompts = [shown(one.messages[-1].content.partition("\n")[0]) for one in requests]
        texts = self._policy.answers(prompts, self._trials, greedy=False, stream="trial") if prompts else []
        return [self._reply([self._trials, at], text) for at, text in enumerate(texts)]

    async def complete(self, request: Request) -> Reply:
        """A review.

        Raises:
            UsageError: something else is asked.
        """
        if request.purpose != REVIEW:
            raise UsageError(f"{self.name}: is asked for reviews alone, not for {request.purpose!r}")
        text = request.messages[-1].content
        share = REVIEWER.alarm if language.is_sound(text) else REVIEWER.recall
        rejects = self._seeds.child("review", content_id("t_", text)).random().random() < share
        return self._reply([text], json.dumps({"verdict": "reject" if rejects else "accept"}))

    async def aclose(self) -> None:
        return None

    def _reply(self, about: Sequence[int | str], text: str) -> Reply:
        return Reply(content_id("r_", [self.name, *about]), text, self.name)


def selfplay_feed(
    policy: ToyPolicy, run: RunDir, boxes: tuple[Sandbox, Sandbox], seed: int, resources: ExitStack
) -> EvolvingEnvironments:
    """The pool that begins with the fixed one and grows by what the policy writes."""
    student = ToyStudent(policy, SeedTree(seed).child("student"))
    tools = SelfplayTools(run, resources, student, student, *boxes, lambda _: True, by_student=True)
    plan = StudentPlan(policy.budget.prompts, policy.budget.steps, seed)
    return evolving_environments(CONFIG, language.hands(AUTHOR), plan, tools)


def joint_figures(run: RunDir, heldout: Sequence[WordTask]) -> dict[str, Json]:
    """What became of the drafts, step by step; of those that came in how many do not ask for what they pay, by the
    truth, the words of the widest, and how many have words and rule of a held-out environment (`held`)."""
    steps = [one for one in pool_steps(run.journal).standing() if one.drafts]
    came = [fate.source for one in steps for fate in one.drafts if fate.source]
    about = [language.task_in(one) for one in came]
    return {
        "joint": [_of_step(one) for one in steps],
        "came": len(came),
        "came_unsound": sum(not language.is_sound(one) for one in came),
        "widest": max((len(one.words) for one in about), default=0),
        "held": sum(one in heldout for one in about),
    }


def _of_step(event: PoolStep) -> dict[str, Json]:
    up = [one for one in event.drafts if one.level == LEVELS]
    return {
        "step": event.step,
        "l5": fmean(one.level == LEVELS for one in event.drafts),
        "rate": _mean([one.solved / one.known for one in up if one.known]),
        "novelty": _mean([one.novelty for one in up]),
        "came": sum(bool(one.source) for one in event.drafts),
    }


def _mean(values: Sequence[float]) -> float | None:
    return round(fmean(values), 6) if values else None
