"""What tests of teachers share: one that asks a scripted server, and how it is asked."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

from simulation.scripted_server import Refusal, Refuse

from evosyn.budget import Budget, BudgetConfig
from evosyn.chat import Message, Reply, Request
from evosyn.ports import TeacherTools
from evosyn.teachers.chat import ChatTeacher
from evosyn.teachers.litellm import LitellmConfig, create

R = TypeVar("R")


def echo(body: object, occurrence: int) -> str:
    return f"{body['messages'][-1]['content']} #{occurrence}"  # type: ignore[index]


def ask(text: str, sample: int = 0, **params: object) -> Request:
    return Request((Message("user", text),), "solution", params, sample)


def made(
    *,
    model: str = "openai/m",
    calls: int = 64,
    cache: Path | None = None,
    budget: Budget | None = None,
    reasoning: str = "auto",
    **options: Any,
) -> ChatTeacher:
    tools = TeacherTools(calls=calls, replies=cache, budget=budget or Budget(BudgetConfig()), reasoning=reasoning)
    return create(tools, LitellmConfig(model=model, **options))


def run(teacher: ChatTeacher, work: Callable[[ChatTeacher], Awaitable[R]]) -> R:
    async def main() -> R:
        try:
            return await work(teacher)
        finally:
            await teacher.aclose()

    return asyncio.run(main())


def many(teacher: ChatTeacher, requests: list[Request]) -> list[Reply]:
    async def gather(teacher: ChatTeacher) -> list[Reply]:
        return list(await asyncio.gather(*(teacher.complete(request) for request in requests)))

    return run(teacher, gather)


def windowed(window: int, *, told: bool = True) -> Refuse:
    """Refuses what is longer, four letters a token, with or without the numbers."""

    def refuse(body: Mapping[str, Any]) -> Refusal | None:
        prompt = sum(len(message["content"]) for message in body["messages"]) // 4 + 1
        if prompt + body.get("max_tokens", 0) <= window:
            return None
        why = f"maximum context length is {window} tokens, and your request has {prompt} input tokens"
        return Refusal(400, {"error": {"message": why if told else "too many tokens"}})

    return refuse
