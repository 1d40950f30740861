"""How one acts in a tool world: calls of its tools, `ask_user` where there is a user, `finish`. docs/worlds.md.

In plain text a call is the same block that models with tools write (`text.tool_calls`), and a reply without one is a
word to the user. The first call of a reply counts.
"""

from __future__ import annotations

from collections.abc import Sequence

from evosyn.agents import dialects
from evosyn.agents.dialects import Dialect
from evosyn.agents.episodes import EpisodeActor
from evosyn.agents.place import EpisodePlace
from evosyn.agents.turns import TurnJournal
from evosyn.agents.users import ModelUser
from evosyn.chat import Message
from evosyn.domains import domain
from evosyn.domains.tool_use import PLAN, place_in
from evosyn.ports.agents import Agent, Ways
from evosyn.records import Json, Problem
from evosyn.text.tool_calls import ToolCall, heard_all, spoken, storable
from evosyn.text.tool_dialects import ToolDialect
from evosyn.thinking import without_thinking
from evosyn.trajectories import FINISH, ToolUse
from evosyn.worlds.tools.kind import ToolPlace, ToolWorlds, action_of, shortened
from evosyn.worlds.tools.users import ASK

SHOWN = "The result:\n\n"
RULES = """## How to act
Each reply holds one call, as
<tool_call>
{"name": NAME, "arguments": {...}}
</tool_call>
You are shown what it gives before the next reply. When all is done, call `finish` without arguments."""
TOLD_USER = '\nThe user has more to say: ask with `ask_user`, {"message": TEXT}, until that is all.'


class ToolWays:
    """Implements `ports.agents.Ways` for one place."""

    HINT = "There is no call of a tool in this reply. Call one, or `finish`, in the form that was described."

    def __init__(self, place: ToolPlace) -> None:
        self._place = place
        self.RULES = RULES + (TOLD_USER if place.requests else "")

    @property
    def TOOLS(self) -> Sequence[Json]:
        own = (
            [_schema(ASK, "Say something to the user and hear the answer.", "message")] if self._place.requests else []
        )
        tools = [self._place.world.tool[name].function for name in self._place.shown]
        return [*tools, *own, _schema(FINISH, "Say that all is done; ends the task.")]

    def read_action(self, text: str, dialect: ToolDialect = "auto") -> ToolCall | None:
        """See `ports.agents.Ways`; a call that cannot be read is no word to the user."""
        answer = storable(without_thinking(text).answer)
        for call in heard_all(answer, dialect, self.TOOLS, most=1):
            return call if call and call.name else None
        return ToolCall(ASK, {"message": answer.strip()}) if self._place.requests and answer.strip() else None

    def written(self, call: ToolCall, dialect: Dialect) -> str:  # noqa: ARG002
        return spoken(call)

    def result(self, out: str, dialect: Dialect) -> Message:
        return Message("tool", out) if dialect == "tools" else Message("user", SHOWN + out)


def ways_of(problem: Problem) -> Ways:
    """How one acts where an agent works on a problem."""
    return ToolWays(place_in(problem)) if domain(problem.domain).actor == "tools" else dialects


def stepwise(prompt: str) -> str:
    """A prompt that asks for a plan, without that: for who acts call by call."""
    return prompt.replace(PLAN, "").rstrip()


def as_text(messages: Sequence[Message]) -> list[Message]:
    """Messages with calls of tools as the same in plain text."""
    return [Message("user", SHOWN + one.content) if one.role == "tool" else one for one in messages]


class ToolActor(EpisodeActor):
    """Has problems solved whose payload names a tool world; arguments as those of `EpisodeActor`.

    Args:
        user: who answers in place of the script.
    """

    def __init__(
        self,
        worlds: ToolWorlds,
        turns: TurnJournal,
        agent: Agent,
        most: int | None = None,
        user: ModelUser | None = None,
    ) -> None:
        super().__init__(turns, agent, most)
        self._worlds, self._user = worlds, user

    def place(self, problem: Problem, episode: str) -> EpisodePlace:
        return tool_place(self._worlds, problem, self.turns, episode)

    def ways(self, problem: Problem) -> ToolWays:
        return ToolWays(place_in(problem))

    async def answered(self, problem: Problem, sample: int, act: ToolCall, before: Sequence[ToolUse]) -> str | None:
        if self._user is None or act.name != ASK or not place_in(problem).requests:
            return None
        return await self._user.answer(problem, sample, before, str(act.arguments.get("message", "")))

    @staticmethod
    def action(act: ToolCall) -> str | None:
        return None if act.name == FINISH else action_of(act.name, act.arguments)


def tool_place(worlds: ToolWorlds, problem: Problem, turns: TurnJournal, episode: str) -> EpisodePlace:
    """Where an episode in a tool world takes place."""
    place = place_in(problem)
    return EpisodePlace(lambda: worlds.open(place), lambda _: True, turns, episode, shortened)


def _schema(name: str, told: str, *arguments: str) -> Json:
    properties = {one: {"type": "string"} for one in arguments}
    shape = {"type": "object", "properties": properties, "required": list(arguments)}
    return {"type": "function", "function": {"name": name, "description": told, "parameters": shape}}
