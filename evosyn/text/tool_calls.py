"""Calls of tools inside the text of a message, `<tool_call>{"name", "arguments"}</tool_call>`, and as chats have them.

One text form for all: replies are kept as texts, and models that know tools by their template write just this.
Endpoints get and give the form of OpenAI (`as_chat`).
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from itertools import islice
from typing import NamedTuple

from evosyn.chat import Message
from evosyn.nesting import is_deep
from evosyn.records import Json, canonical_json
from evosyn.text.tool_dialects import DEEPEST, ToolDialect, WrittenCall, call_of, calls_in, spellings_in, whole

_FENCE = re.compile(r"```\w*\s*\Z")
OPEN, CLOSE = "<tool_call>", "</tool_call>"
MOST = 64
"""Calls in one text; what is behind them is not read."""


class ToolCall(NamedTuple):
    """A call as a model asks for it; `say` is what it wrote before."""

    name: str
    arguments: Mapping[str, Json]
    say: str = ""


def spoken(call: ToolCall) -> str:
    """The call as a text."""
    body = canonical_json({"name": call.name, "arguments": dict(call.arguments)})
    return f"{call.say.strip()}\n{OPEN}\n{body}\n{CLOSE}".strip()


def heard(text: str, dialect: ToolDialect = "auto", tools: Sequence[Json] = ()) -> ToolCall | None:
    """The first call in a text; None where there is none that can be read. Arguments as those of `heard_all`."""
    first = next(iter(heard_all(text, dialect, tools, most=1)), None)
    return first if first and first.name else None


def heard_all(
    text: str, dialect: ToolDialect = "auto", tools: Sequence[Json] = (), *, most: int = MOST
) -> tuple[ToolCall | None, ...]:
    """The calls in a text, in order. One that cannot be read keeps its place, without a name; None for one in which the
    text ends. Arbitrary text never raises.

    What is read can be written: half of a surrogate pair is a question mark, and a number that JSON does not have, or
    what lies too deep to be walked, is no call.

    Args:
        dialect: how calls are written; `auto` takes all whose marks stand in the text, and where there are none a call
            without marks that names one of the tools.
        tools: as endpoints take them; they say of what type a parameter in tags is.
        most: calls that are read at most.
    """
    text = storable(text)
    found: list[tuple[int, WrittenCall | None]] = []
    functions = [one["function"] for one in tools]
    properties = {one["name"]: one.get("parameters", {}).get("properties", {}) for one in functions}
    for spellings in spellings_in(text, dialect):
        calls = calls_in(text, spellings, properties, known=dialect == "auto" or bool(properties))
        found = found or list(islice(calls, most))
    say = _FENCE.sub("", text[: found[0][0]]).strip() if found else ""
    return tuple([_said(call, "" if place else say) if call else None for place, (_, call) in enumerate(found)])


def _said(call: WrittenCall, say: str = "") -> ToolCall:
    try:
        return ToolCall(call.name, _readable(call.arguments) if call.name else {}, say)
    except (ValueError, TypeError, RecursionError):
        return ToolCall("", {}, say)


def _readable(arguments: Json) -> Mapping[str, Json]:
    """Arguments as a model writes them, an object, that as a JSON text, or nothing; raises where JSON has no such."""
    text = "{}" if arguments is None else arguments.strip() or "{}" if isinstance(arguments, str) else None
    found = arguments if text is None else whole(text)
    if not isinstance(found, dict) or is_deep(found, DEEPEST):
        raise TypeError("arguments are an object, and not a deep one")
    return dict(json.loads(storable(canonical_json(found))))


def storable(text: str) -> str:
    """What files and endpoints take: half of a surrogate pair, which is no text, is a question mark."""
    return text.encode("utf-8", "replace").decode()


def as_chat(messages: Sequence[Message], *, encoded: bool = True) -> list[dict[str, Json]]:
    """Messages as endpoints take them, arguments of calls `encoded` as JSON text and with ids; else as templates do, as
    objects. Calls are those that `spoken` writes."""
    turns, last = list[dict[str, Json]](), ""
    for number, message in enumerate(messages):
        found = heard_all(message.content, "hermes") if message.role == "assistant" else ()
        calls = [call for call in found if call and call.name]
        turn: dict[str, Json] = {"role": message.role, "content": storable(message.content)}
        if message.role == "tool" and encoded:
            turn["tool_call_id"] = last
        elif calls and len(calls) == len(found):
            last = f"call_{number}"
            names = [f"{last}_{place}" if place else last for place in range(len(calls))]
            asked = [_asked(call, name if encoded else "") for name, call in zip(names, calls, strict=True)]
            turn |= {"content": calls[0].say, "tool_calls": asked}
        turns.append(turn)
    return turns


def _asked(call: ToolCall, name: str) -> dict[str, Json]:
    arguments = canonical_json(call.arguments) if name else dict(call.arguments)
    function = {"name": call.name, "arguments": arguments}
    return {**({"id": name} if name else {}), "type": "function", "function": function}


def said_with(text: str, calls: Json) -> str:
    """What an endpoint's message says, its `tool_calls` in it; whatever these hold, it does not raise. One that cannot
    be read keeps its place where another one can."""
    told = [_said(call_of(one)) for one in calls] if isinstance(calls, list) else []
    return "\n".join(filter(None, [text.strip(), *map(spoken, told)])) if any(one.name for one in told) else text
