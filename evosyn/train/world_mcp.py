"""A task of a tool world over the Model Context Protocol: a client lists the tools, calls them and ends the task.

Calls take place in a rollout (`rollouts`), as in every other trainer's hands. What it is paid is a resource that says
nothing before the task is over. The package `mcp` (2.x) speaks the protocol; it is imported here alone. docs/worlds.md.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from evosyn.domains import domain
from evosyn.domains.tool_tasks import problem_of, testing_of
from evosyn.domains.tool_use import NAME
from evosyn.errors import MissingExtra, UsageError
from evosyn.records import Json, canonical_json
from evosyn.tasks import Task
from evosyn.text.tool_calls import ToolCall
from evosyn.train.rollouts import LOST, OVER, Rollout
from evosyn.worlds.tools.files import read_tasks, read_world
from evosyn.worlds.tools.kind import TOOL_FAILED

if TYPE_CHECKING:
    from mcp.server import Server

TOLD, PAID = "evosyn://task/instruction", "evosyn://task/reward"
REFUSED = '{"error":'
"""How a result begins that says what is wrong (`worlds.tools.kind`)."""


def task_of_world(source: str, name: str, *, user: bool) -> Task:
    """A task of a world by its id, the beginning of it, or its number.

    Raises:
        UsageError: there is none.
    """
    for one in read_tasks(source):
        if one.id.startswith(name) or name == str(one.index):
            return Task(one.id, problem_of(read_world(source), one, user), testing_of(one))
    raise UsageError(f"--task {name!r}: no task of {source}; name one by its id (k_...) or its number")


class ServedTask:
    """One task for one client.

    Args:
        task: of a tool world.
    """

    def __init__(self, task: Task) -> None:
        self.instruction = domain(NAME).ask("solution", task.problem, 0, {}).messages[-1].content
        self._rollout, self._lock = Rollout(task), asyncio.Lock()
        self._paid: dict[str, Json] | None = None

    async def call(self, name: str, args: dict[str, Json]) -> str:
        """A result as every agent sees it."""
        async with self._lock:
            return await asyncio.to_thread(self._rollout.do, ToolCall(name, args)) or OVER

    async def reward(self) -> dict[str, Json]:
        """`over`, and `reward`, which is null before the task is over, and where our own machinery failed."""
        async with self._lock:
            if not self._rollout.over:
                return {"over": False, "reward": None}
            if self._paid is None:
                self._paid = {"over": True, "reward": await asyncio.to_thread(self._rollout.reward)}
            return self._paid

    def server(self) -> Server[Any]:
        """The same as a server of the protocol.

        Raises:
            UnavailableError: the package is not there.
        """
        try:
            from mcp import types
            from mcp.server import Server
        except ImportError as error:
            raise MissingExtra("mcp", "mcp", "evosyn world serve") from error

        functions = [one["function"] for one in self._rollout.ways.TOOLS]
        tools = [
            types.Tool(name=one["name"], description=one["description"], input_schema=one["parameters"])
            for one in functions
        ]
        resources = [
            types.Resource(uri=TOLD, name="instruction", mime_type="text/plain", description="What is to be done."),
            types.Resource(uri=PAID, name="reward", mime_type="application/json", description="Once the task is over."),
        ]

        async def list_tools(_: object, __: object) -> types.ListToolsResult:
            return types.ListToolsResult(tools=tools)

        async def call_tool(_: object, asked: types.CallToolRequestParams) -> types.CallToolResult:
            text = await self.call(asked.name, dict(asked.arguments or {}))
            wrong = text.startswith(REFUSED) or text in (LOST, TOOL_FAILED)
            return types.CallToolResult(content=[types.TextContent(type="text", text=text)], is_error=wrong)

        async def list_resources(_: object, __: object) -> types.ListResourcesResult:
            return types.ListResourcesResult(resources=resources)

        async def read_resource(_: object, asked: types.ReadResourceRequestParams) -> types.ReadResourceResult:
            known = {one.uri: one for one in resources}
            if asked.uri not in known:
                raise ValueError(f"{asked.uri}: one of {', '.join(known)}")
            text = self.instruction if asked.uri == TOLD else canonical_json(await self.reward())
            shown = types.TextResourceContents(uri=asked.uri, mime_type=known[asked.uri].mime_type, text=text)
            return types.ReadResourceResult(contents=[shown])

        return Server(
            "evosyn",
            instructions=self.instruction,
            on_list_tools=list_tools,
            on_call_tool=call_tool,
            on_list_resources=list_resources,
            on_read_resource=read_resource,
        )

    async def serve(self) -> dict[str, Json]:
        """Serve on standard input and output until the client is gone; what it came to.

        Raises:
            UnavailableError: the package is not there.
        """
        server = self.server()
        from mcp.server.stdio import stdio_server

        async with stdio_server() as (read, write):
            await server.run(read, write, server.create_initialization_options())
        return await self.reward()
