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
DEEPEST = 50
"""Of lists and objects in arguments."""


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
    """The first call in a text; None where there is none that can be read. Arbitrary text never raises.

    What is read can be written: half of a surrogate pair is a question mark, and a number that JSON does not have, or
    what lies too deep to be walked, is no call.
    """
    text = storable(text)
    start = text.find(OPEN)
    end = text.find(CLOSE, start)
    if start < 0 or end < 0:
        return None
    try:
        found = json.loads(text[start + len(OPEN) : end])
        name, arguments = found["name"], _readable(found["arguments"])
    except (ValueError, TypeError, KeyError, RecursionError):
        return None
    return ToolCall(storable(name), arguments, text[:start].strip()) if isinstance(name, str) else None


def _readable(arguments: Json) -> Mapping[str, Json]:
    """Arguments as a model writes them: an object, or that as a JSON text.

    Raises:
        ValueError, TypeError, RecursionError: they are none that JSON has.
    """
    found = json.loads(arguments) if isinstance(arguments, str) else arguments
    if not isinstance(found, dict) or not _shallow(found, DEEPEST):
        raise TypeError("arguments are an object, and not a deep one")
    read: Mapping[str, Json] = json.loads(storable(canonical_json(found)))
    return read


def _shallow(value: Json, left: int) -> bool:
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return left > 0 and all(_shallow(one, left - 1) for one in inner)


def storable(text: str) -> str:
    """What files and endpoints take: half of a surrogate pair, which is no text, is a question mark."""
    return text.encode("utf-8", "replace").decode()


def as_chat(messages: Sequence[Message], *, encoded: bool = True) -> list[dict[str, Json]]:
    """Messages as endpoints and templates take them.

    Args:
        encoded: arguments as JSON text, with ids, as endpoints want them; else as objects, as templates do.
    """
    turns: list[dict[str, Json]] = []
    for number, message in enumerate(messages):
        call = heard(message.content) if message.role == "assistant" else None
        content = storable(message.content)
        if message.role == "tool":
            told: dict[str, Json] = {"role": "tool", "content": content}
            turns.append(told | ({"tool_call_id": f"call_{number - 1}"} if encoded else {}))
        elif call is None:
            turns.append({"role": message.role, "content": content})
        else:
            arguments = canonical_json(call.arguments) if encoded else dict(call.arguments)
            asked = {"type": "function", "function": {"name": call.name, "arguments": arguments}}
            named = {"id": f"call_{number}", **asked} if encoded else asked
            turns.append({"role": "assistant", "content": call.say, "tool_calls": [named]})
    return turns


def said_with(text: str, calls: Json) -> str:
    """What an endpoint's message says, the first of its `tool_calls` in it; whatever these hold, it does not raise."""
    try:
        asked = calls[0]["function"]
        if isinstance(asked["name"], str):
            return spoken(ToolCall(asked["name"], _readable(asked.get("arguments") or {}), text))
    except (ValueError, TypeError, KeyError, IndexError, RecursionError):
        pass
    return text
