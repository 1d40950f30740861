"""Calls of tools inside the text of a message, `<tool_call>{"name", "arguments"}</tool_call>`, and as chats have them.

One text form for all: replies are kept as texts, and models that know tools by their template write just this.
Endpoints get and give the form of OpenAI (`as_chat`).
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from evosyn.chat import Message
from evosyn.records import Json, canonical_json

OPEN, CLOSE = "<tool_call>", "</tool_call>"


class ToolCall(NamedTuple):
    """A call as a model asks for it; `say` is what it wrote before."""

    name: str
    arguments: Mapping[str, Json]
    say: str = ""


def spoken(call: ToolCall) -> str:
    """The call as a text."""
    body = canonical_json({"name": call.name, "arguments": dict(call.arguments)})
    return f"{call.say.strip()}\n{OPEN}\n{body}\n{CLOSE}".strip()


def heard(text: str) -> ToolCall | None:
    """The first call in a text; None where there is none that can be read. Arbitrary text never raises."""
    start = text.find(OPEN)
    end = text.find(CLOSE, start)
    if start < 0 or end < 0:
        return None
    try:
        found = json.loads(text[start + len(OPEN) : end])
        arguments = found["arguments"]
        arguments = json.loads(arguments) if isinstance(arguments, str) else arguments
    except (ValueError, TypeError, KeyError, RecursionError):
        return None
    if not isinstance(found["name"], str) or not isinstance(arguments, dict):
        return None
    return ToolCall(found["name"], arguments, text[:start].strip())


def as_chat(messages: Sequence[Message], *, encoded: bool = True) -> list[dict[str, Json]]:
    """Messages as endpoints and templates take them.

    Args:
        encoded: arguments as JSON text, with ids, as endpoints want them; else as objects, as templates do.
    """
    turns: list[dict[str, Json]] = []
    for number, message in enumerate(messages):
        call = heard(message.content) if message.role == "assistant" else None
        if message.role == "tool":
            told: dict[str, Json] = {"role": "tool", "content": message.content}
            turns.append(told | ({"tool_call_id": f"call_{number - 1}"} if encoded else {}))
        elif call is None:
            turns.append({"role": message.role, "content": message.content})
        else:
            arguments = canonical_json(call.arguments) if encoded else dict(call.arguments)
            asked = {"type": "function", "function": {"name": call.name, "arguments": arguments}}
            named = {"id": f"call_{number}", **asked} if encoded else asked
            turns.append({"role": "assistant", "content": call.say, "tool_calls": [named]})
    return turns


def said_by(message: Mapping[str, Json]) -> str:
    """The text of an endpoint's message, the first of its calls in it. Arbitrary JSON never raises."""
    content = str(message.get("content") or "")
    calls = message.get("tool_calls")
    asked = calls[0].get("function") if isinstance(calls, list) and calls and isinstance(calls[0], dict) else None
    if not isinstance(asked, dict) or not isinstance(asked.get("name"), str):
        return content
    arguments = asked.get("arguments") or {}
    try:
        arguments = json.loads(arguments) if isinstance(arguments, str) else arguments
    except (ValueError, RecursionError):
        return content
    return spoken(ToolCall(asked["name"], arguments if isinstance(arguments, dict) else {}, content))
