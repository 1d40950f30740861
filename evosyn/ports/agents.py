"""The seam of agents: who solves a task in several steps, in a place of its own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, Protocol

from evosyn.chat import Message, Reply, Request
from evosyn.records import Json, Problem
from evosyn.text.tool_calls import ToolCall
from evosyn.text.tool_dialects import ToolDialect


class Ways(Protocol):
    """How one acts in a kind of world by replies: in plain text, or by function calling. A module may be one.

    Attributes:
        RULES: how to act, for who knows plain text only.
        HINT: what is said to a reply that does nothing.
        TOOLS: JSON schemas, for who knows function calling.
    """

    @property
    def RULES(self) -> str: ...

    @property
    def HINT(self) -> str: ...

    @property
    def TOOLS(self) -> Sequence[Json]: ...

    def read_action(self, text: str, dialect: ToolDialect = "auto") -> ToolCall | None:
        """What a reply does, whose calls of tools are written so; None where it does nothing. No text raises."""
        ...

    def written(self, call: ToolCall, dialect: Literal["text", "tools"]) -> str:
        """What a model writes to do this."""
        ...

    def result(self, out: str, dialect: Literal["text", "tools"]) -> Message:
        """The message that shows what came of it."""
        ...


class AgentWork(Protocol):
    """One episode, in the hands of an agent. evosyn keeps the room, the journal and the count of rounds.

    Attributes:
        problem: what is to be done; its human testing is not there.
        opening: the request to begin with: the task and the rules of the domain, without a word on how to act.
    """

    @property
    def problem(self) -> Problem: ...

    @property
    def opening(self) -> Request: ...

    @property
    def ways(self) -> Ways:
        """How one acts here."""
        ...

    @property
    def over(self) -> bool:
        """Whether nothing more can be done: it has ended, or used up its rounds."""
        ...

    async def ask(self, request: Request) -> Reply:
        """A reply of the run's model, journalled and within the budget. Takes no round."""
        ...

    async def do(self, act: ToolCall | None) -> str:
        """Take a round: run `bash` (argument `script`) or a tool of a tool world and get what is shown; or end by
        `answer` or `finish`. None is a round in which nothing is done; two in a row end the episode."""
        ...

    def recall(self, name: str) -> Json:
        """What an episode of this run has noted under a name; None where nothing was."""
        ...

    def note(self, name: str, value: Json) -> None:
        """Remember for all episodes of this run, also after a kill."""
        ...


class Agent(Protocol):
    """Solves tasks. May work on several at once; what differs between two runs of it is in its replies alone, so that a
    killed run goes on as it was."""

    async def run(self, work: AgentWork) -> None:
        """Work until `work.over`, or give up by returning earlier.

        Raises:
            Exception: ends the whole run: it is no judgement of a reply.
        """
        ...
