"""A teacher written outside of evosyn: it answers from a file of replies, `{"problem": [...], "solution": [...], ...}`.

The file is named by EVOSYN_SCRIPT. In a reply `{statement}` stands for the statement of the problem.
"""

import json
import os
from pathlib import Path

from evosyn.chat import Reply, Request
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


def create(**_options: object) -> Scripted:
    return Scripted(json.loads(Path(os.environ["EVOSYN_SCRIPT"]).read_text(encoding="utf-8")))
