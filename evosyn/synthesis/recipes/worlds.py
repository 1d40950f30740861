"""Tool worlds: their tasks as rows, and rollouts of agents in them. Thin assembly. docs/worlds.md."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Literal, NamedTuple

from evosyn.agents.episodes import Episode
from evosyn.agents.users import ModelUser
from evosyn.chat import Reply, Request
from evosyn.crossexec.judge import Cell
from evosyn.dataset import Sample, write_dataset
from evosyn.domains.tool_tasks import plan_of, problem_of, testing_of
from evosyn.domains.tool_use import NAME, PLAN
from evosyn.environments.rows import SETTING, EnvironmentRow, samples_of
from evosyn.jobs import CellResult
from evosyn.jsonlines import write_lines
from evosyn.ports import Domain
from evosyn.randomness import SeedTree
from evosyn.records import Json, Problem, Provenance, Solution, Verdict
from evosyn.workbench import Workbench
from evosyn.worlds.tools.kind import INVALID
from evosyn.worlds.tools.records import ToolWorld
from evosyn.worlds.tools.tasks import WorldTask
from evosyn.worlds.tools.users import ASK

KIND = "world-rollout"


def rows_of_world(world: ToolWorld, tasks: Sequence[WorldTask], domain: Domain) -> list[Sample]:
    """The rows of a world's tasks, each with a plan that solves it; the reward looks at the final state."""
    rows = [EnvironmentRow(problem_of(world, task), testing_of(task), plan_of(task)) for task in tasks]
    return [_asking_for_plans(one) for one in samples_of(rows, domain)]


def _asking_for_plans(sample: Sample) -> Sample:
    return replace(sample, prompt=Request(sample.prompt, "solution").followed_by(PLAN).messages)


class Rolled(NamedTuple):
    """One episode and what it was worth.

    Attributes:
        simulated: a stand-in for a model was asked, or none at all: it is the work of a script.
        result: None where our own machinery or the endpoint failed.
    """

    problem: Problem
    sample: int
    episode: Episode
    simulated: bool
    result: CellResult | None = None

    @property
    def reward(self) -> float | None:
        """1.0 or 0.0; None where it is unknown."""
        if self.result is None or self.result.verdict is Verdict.UNKNOWN:
            return None
        return float(self.result.verdict is Verdict.PASS)

    def to_json(self) -> dict[str, Json]:
        run = self.episode.trajectory
        result = self.result
        return {
            "task": self.problem.problem_id,
            "sample": self.sample,
            "reward": self.reward,
            "verdict": None if result is None else result.verdict.value,
            "detail": self.episode.lost or (result.detail if result is not None else ""),
            "trajectory": None if run is None else json.loads(run.text),
        }


UserKind = Literal["none", "scripted", "model"]


class RolloutPlan(NamedTuple):
    """What to roll out.

    Attributes:
        user: `none`: all is said at once; else who tells the agent the rest when it asks, a script or a model.
        user_model: that plays the user; None for the model of the workbench.
    """

    world: ToolWorld
    tasks: Sequence[WorldTask]
    user: UserKind
    episodes: int
    seed: int
    user_model: str | None = None


def roll_out(workbench: Workbench, plan: RolloutPlan, redrawn: Counter[str] | None = None) -> list[Rolled]:
    """All episodes of the agent of the workbench, judged by their final states; in the order of the tasks.

    Args:
        redrawn: takes what a model that plays the user wrote and no agent was shown, counted by reason.

    Raises:
        BudgetSpent, TeacherUnavailable: from the teacher; what was paid is kept in the run's cache.
        SandboxUnavailable: worlds cannot be played.
        UsageError: the agent asks a model, and none is named.
    """
    problems = [problem_of(plan.world, task, plan.user != "none") for task in plan.tasks]
    testings = {task.id: testing_of(task) for task in plan.tasks}
    episodes = asyncio.run(_episodes(workbench, plan, problems, Counter() if redrawn is None else redrawn))
    texts = {at: run.trajectory.text for at, (_, _, run, *_) in enumerate(episodes) if run.trajectory is not None}
    cells = [
        Cell(episodes[at].problem, Solution(text), testings[episodes[at].problem.problem_id])
        for at, text in texts.items()
    ]
    results = dict(zip(texts, workbench.judge.verify(cells), strict=True))
    return [one._replace(result=results.get(at)) for at, one in enumerate(episodes)]


async def _episodes(
    workbench: Workbench, plan: RolloutPlan, problems: Sequence[Problem], redrawn: Counter[str]
) -> list[Rolled]:
    domain, seeds = workbench.domains[NAME], SeedTree(plan.seed)
    teacher = workbench.teacher() if workbench.has_model else None
    speaker = workbench.teacher(plan.user_model) if plan.user == "model" else None
    user = None if speaker is None else ModelUser(speaker, seeds.child("user"), redrawn)
    actor = workbench.tool_actor(workbench.agent(), user)

    async def ask(number: int, request: Request) -> Reply:  # noqa: ARG001
        return await (teacher or workbench.teacher()).complete(request)

    async def one(problem: Problem, sample: int) -> Rolled:
        episode = await actor.solve(problem, domain.ask("solution", problem, sample, {}), ask)
        pretends = any(asked.simulated for asked in (teacher, speaker) if asked is not None)
        scripted = episode.trajectory is not None and not episode.replies
        return Rolled(problem, sample, episode, pretends or scripted)

    try:
        return await asyncio.gather(*[one(problem, number) for problem in problems for number in range(plan.episodes)])
    finally:
        for opened in (teacher, speaker):
            if opened is not None:
                await opened.aclose()


def figures(
    plan: RolloutPlan, rolled: Sequence[Rolled], model: str, redrawn: Mapping[str, int] | None = None
) -> dict[str, Json]:
    """What a rollout came to. `avg@k`, `pass@k`, `pass^k`: mean over tasks of the share that passed, of any that passed
    and of all that passed, over the tasks with k known rewards."""
    groups: dict[str, list[float | None]] = {}
    for one in rolled:
        groups.setdefault(one.problem.problem_id, []).append(one.reward)
    whole = [rewards for rewards in groups.values() if None not in rewards]
    known: list[list[float]] = [[float(one or 0.0) for one in rewards] for rewards in whole]
    runs = [one.episode.trajectory for one in rolled if one.episode.trajectory is not None]
    ends = Counter(run.end for run in runs)
    missed = Counter(
        (one.result.detail.partition(":")[0] or "wrong") for one in rolled if one.reward == 0.0 and one.result
    )
    k = plan.episodes
    return {
        "world": plan.world.id,
        "model": model,
        "simulated": any(one.simulated for one in rolled),
        "tasks": len(groups),
        "k": k,
        f"avg@{k}": _mean([sum(one) / len(one) for one in known]),
        f"pass@{k}": _mean([max(one) for one in known]),
        f"pass^{k}": _mean([min(one) for one in known]),
        "unknown": sum(one.reward is None for one in rolled),
        "calls": sum(len(run.calls) for run in runs),
        "invalid_calls": sum(call.status == INVALID for run in runs for call in run.calls),
        "user": {
            "kind": plan.user,
            "asked": sum(call.tool == ASK for run in runs for call in run.calls),
            "redrawn": dict(sorted((redrawn or {}).items())),
        },
        "ends": dict(sorted(ends.items())),
        "kept": sum(one.reward == 1.0 for one in rolled),
        "dropped": dict(sorted(missed.items())),
    }


def write_rollout(out: Path, plan: RolloutPlan, rolled: Sequence[Rolled], domain: Domain, model: str) -> None:
    """Write all episodes, and those that passed as rows to learn from, each different one once."""
    write_lines(out / "episodes.jsonl", (one.to_json() for one in rolled))
    tasks: Mapping[str, WorldTask] = {task.id: task for task in plan.tasks}
    rows: dict[tuple[str, str], EnvironmentRow] = {}
    for one in rolled:
        if one.reward == 1.0 and one.episode.trajectory is not None:
            solution = Solution(one.episode.trajectory.text)
            made = replace(one.problem, provenance=Provenance(source=model, simulated=one.simulated))
            key = (one.problem.problem_id, domain.same(one.problem, solution))
            rows.setdefault(key, EnvironmentRow(made, testing_of(tasks[one.problem.problem_id]), solution))
    write_dataset(out, SETTING, [_asking_for_plans(one) for one in samples_of(list(rows.values()), domain)])


def _mean(values: Sequence[float]) -> float | None:
    return round(sum(values) / len(values), 6) if values else None
