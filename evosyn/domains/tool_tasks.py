"""Tasks of a tool world as problems, with what decides about them and what solves them. docs/worlds.md."""

from __future__ import annotations

from evosyn.domains.tool_use import FINAL_STATE, NAME, task_payload
from evosyn.records import Problem, Provenance, Solution, Testing
from evosyn.trajectories import FINISH, ToolUse, Trajectory
from evosyn.worlds.tools.chains import ChainStep, calls_of
from evosyn.worlds.tools.kind import ToolPlace
from evosyn.worlds.tools.records import ToolWorld
from evosyn.worlds.tools.tasks import WorldTask


def problem_of(world: ToolWorld, task: WorldTask, user: bool = False) -> Problem:
    """A task as a problem.

    Args:
        user: the statement says the first request only; the user tells the others when asked.
    """
    place = ToolPlace(world, task.state, task.shown, task.sentences if user else ())
    meta = {"world": world.id, "task": task.id, "title": world.title, "complexity": task.complexity}
    told = task.sentences[0] if user else task.instruction
    made = Provenance(source=f"world {world.name}", detail={"index": task.index})
    return Problem(task.id, NAME, told, payload=task_payload(place), meta=meta, provenance=made)


def plan_of(task: WorldTask) -> Solution:
    """The reference as a plan: what a reply should be that sees no results."""
    calls = calls_of([ChainStep(name, args) for name, args in task.chain])
    return Solution(Trajectory(tuple([ToolUse(one.tool, dict(one.args)) for one in calls]), FINISH).text)


def testing_of(task: WorldTask) -> Testing:
    return Testing(FINAL_STATE, {"gold": task.gold})
