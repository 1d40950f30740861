"""A teacher written outside of evosyn: it answers from a file of replies, `{"problem": [...], "solution": [...], ...}`.

`--teacher scripted:create:FILE` names it, by default `script.json`. In a reply `{statement}` stands for the statement
of the problem.
"""

import json
from pathlib import Path
from typing import Annotated

from evosyn.chat import Reply, Request
from evosyn.ports import Argument, PluginConfig, TeacherTools
from evosyn.records import content_id


class Scripted:
    name = "scripted"
    simulated = True

    def __init__(self, replies: dict[str, list[str]]) -> None:
        self._replies = replies

    async def complete(self, request: Request) -> Reply:
        asked = [request.purpose, request.messages[-1].content, request.sample]
        key = content_id("r_", asked)
        choices = self._replies[request.purpose]
        text = choices[int(key[2:10], 16) % len(choices)]
        if request.problem is not None:
            text = text.replace("{statement}", request.problem.statement)
        return Reply(key, text, self.name)

    async def aclose(self) -> None: ...


class ScriptedConfig(PluginConfig):
    script: Annotated[Path, Argument("FILE")] = Path("script.json")


def create(tools: TeacherTools, config: ScriptedConfig) -> Scripted:  # noqa: ARG001
    return Scripted(json.loads(config.script.read_text(encoding="utf-8")))
