"""Tool worlds as environments of TRL: a class for each set of tools, a method for each tool, and the rows for them.

    worlds = evosyn.tool_environments("worlds/a")
    GRPOTrainer(environment_factory=worlds.environments, train_dataset=Dataset.from_list(worlds.rows), ...)

TRL shows the tools of an environment's *name*, so tasks that show other tools have another one. docs/worlds.md.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Sequence
from typing import Literal, NamedTuple

from evosyn.domains import domain
from evosyn.domains.tool_tasks import problem_of, testing_of
from evosyn.domains.tool_use import NAME, place_in
from evosyn.errors import UsageError
from evosyn.records import Json, content_id
from evosyn.tasks import Task, task_text
from evosyn.text.tool_calls import ToolCall
from evosyn.train.rollouts import RolloutEnv
from evosyn.trajectories import FINISH
from evosyn.worlds.tools.files import read_tasks, read_world
from evosyn.worlds.tools.kind import ToolPlace
from evosyn.worlds.tools.loose_ends import RESERVED
from evosyn.worlds.tools.records import Parameter, ToolSpec
from evosyn.worlds.tools.users import ASK

TYPES: dict[str, type] = {"string": str, "integer": int, "number": float, "boolean": bool}
OWN = ("reset", "get_reward", *RESERVED)
"""Names that no tool may have here."""
FINISHING = ToolSpec(name=FINISH, description="Say that all is done; ends the task.")
ASKING = ToolSpec(
    name=ASK,
    description="Say something to the user and hear the answer; ask until that is all.",
    parameters=(Parameter(name="message", description="What is said."),),
)


class ToolEnvironments(NamedTuple):
    """What TRL's trainer takes.

    Attributes:
        environments: classes by name; the column `environment` of a row names its own.
        rows: `prompt` as chat, `environment`, `task`, `row_id`.
    """

    environments: dict[str, type[ToolEnv]]
    rows: list[dict[str, Json]]


class ToolEnv(RolloutEnv):
    """What the environments of tool worlds share; those that `environment_of` makes have a method for each tool."""

    _rows = "take the rows of evosyn.tool_environments(WORLD)"


def tool_environments(
    source: str, *, user: Literal["none", "scripted"] = "none", limit: int | None = None
) -> ToolEnvironments:
    """The tasks of a world for `GRPOTrainer(environment_factory=..., train_dataset=...)`.

    Args:
        source: directory of a world with tasks, or builtin:NAME.
        user: `scripted`: the prompt says the first request only, and `ask_user` is a tool that tells the others.
        limit: the first tasks at most.

    Raises:
        UsageError: there is no such world, it has no tasks, or a tool has a name that TRL keeps for itself.
    """
    world, own = read_world(source), domain(NAME)
    found = ToolEnvironments({}, [])
    for one in read_tasks(source)[:limit]:
        problem, testing = problem_of(world, one, user == "scripted"), testing_of(one)
        prompt = own.ask("solution", problem, 0, {}).messages
        made = environment_of(place_in(problem))
        found.environments.setdefault(made.__name__, made)
        turns = [{"role": turn.role, "content": turn.content} for turn in prompt]
        task = task_text(Task(one.id, problem, testing))
        found.rows.append({"prompt": turns, "environment": made.__name__, "task": task, "row_id": one.id})
    return found


def environment_of(place: ToolPlace) -> type[ToolEnv]:
    """The class for places that show these tools of this world.

    Raises:
        UsageError: a tool has a name that is taken.
    """
    tools = [place.world.tool[name] for name in place.shown]
    if taken := [one.name for one in tools if one.name in OWN]:
        raise UsageError(f"the tool {taken[0]!r} of {place.world.name}: {', '.join(OWN)} are not for tools here")
    tools += [ASKING, FINISHING] if place.requests else [FINISHING]
    digest = content_id("", [place.world.id, [one.name for one in tools]])[:8]
    return type(f"{place.world.name}@{digest}", (ToolEnv,), {one.name: _method(one) for one in tools})


def _method(tool: ToolSpec) -> Callable[..., str]:
    """A tool as a method that says of itself what `transformers` makes a schema of."""

    def call(self: ToolEnv, /, **args: Json) -> str:
        return self._do(ToolCall(tool.name, args))

    kind, found = inspect.Parameter, [inspect.Parameter("_env", inspect.Parameter.POSITIONAL_ONLY)]
    for one in sorted(tool.parameters, key=lambda one: not one.required):
        default = kind.empty if one.required else None
        found.append(kind(one.name, kind.POSITIONAL_OR_KEYWORD, default=default, annotation=TYPES[one.type]))
    call.__name__ = call.__qualname__ = tool.name
    call.__doc__ = _docstring(tool)
    call.__annotations__ = {**{one.name: TYPES[one.type] for one in tool.parameters}, "return": str}
    call.__signature__ = inspect.Signature(found, return_annotation=str)  # type: ignore[attr-defined]
    return call


def _docstring(tool: ToolSpec) -> str:
    """In Google's style."""
    lines = [f"{one.name}: {_line(one.description)}{_choices(one.values)}" for one in tool.parameters]
    return "\n".join([_line(tool.description), *(["", "Args:", *(f"    {one}" for one in lines)] if lines else [])])


def _line(text: str) -> str:
    return " ".join(text.split())


def _choices(values: Sequence[str | int]) -> str:
    return f" (choices: {json.dumps(list(values))})" if values else ""
