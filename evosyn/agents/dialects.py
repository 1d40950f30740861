"""How an agent says what it does: by calls of tools, or in plain text. Tools are `bash`, `answer`, `finish`.

Only the first action of a reply counts. AgentBench (Liu 2023) has these tools, and texts of this kind.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal

from evosyn.chat import Message
from evosyn.fences import markdown_fences
from evosyn.records import Json
from evosyn.text.tool_calls import ToolCall, heard_all, spoken, storable
from evosyn.text.tool_dialects import ToolDialect
from evosyn.thinking import answer_in
from evosyn.trajectories import ANSWER, BASH, FINISH

Dialect = Literal["text", "tools"]
LONGEST_SEEN, KEPT = 800, 780
CUT = "\n[cut here: the output is too long]"
RULES = """## How to act
Each reply has a line that says what you do, and nothing after it but a script:
- `Act: bash`, then the script in a block that starts with ```bash
- `Act: answer(...)`, with the answer between the brackets
- `Act: finish`"""
HINT = "There is no action in this reply. Use one of bash, answer and finish in the form that was described."
EMPTY = "The output of the OS is empty."
SHOWN = "The output of the OS:\n\n"
_ACT = re.compile(r"^[ \t]*Act:[ \t]*(bash|finish|answer)\b[ \t]*(?:\((.*)\))?", re.M | re.I | re.S)
_ACT_LINE = re.compile(r"^[ \t]*Act:[ \t]*answer[ \t]*\(([^\n]*)\)[ \t]*$", re.M | re.I)


def _tool(name: str, told: str, argument: str) -> Json:
    shape = {"type": "object", "properties": {argument: {"type": "string"}}, "required": [argument]}
    return {"type": "function", "function": {"name": name, "description": told, "parameters": shape}}


TOOLS: list[Json] = [
    _tool(BASH, "Run a script in the session and see what it prints.", "script"),
    _tool(ANSWER, "Give the answer, and nothing but the answer; ends the task.", "answer"),
    _tool(FINISH, "Say that what was to be done is done; ends the task.", "thought"),
]
_ARGUMENTS = {BASH: "script", ANSWER: "answer", FINISH: "thought"}


def read_action(text: str, dialect: ToolDialect = "auto") -> ToolCall | None:
    """What a reply does first, in plain text or by a call of a tool; None where that is nothing: neither is a script
    looked through for calls, nor a call that cannot be read for words that act. Arbitrary text never raises."""
    text = storable(answer_in(text))
    found = _ACT.search(text)
    for call in heard_all(text[: found.start()] if found else text, dialect, TOOLS, most=1):
        if call is None:
            return None
        told = call.arguments.get(_ARGUMENTS.get(call.name, ""), "")
        known = call.name in _ARGUMENTS and isinstance(told, str | int | float)
        fits = known and (bool(str(told).strip()) or call.name == FINISH)
        return ToolCall(call.name, {_ARGUMENTS[call.name]: str(told)}, call.say) if fits else None
    if found is None:
        return None
    name, say = found[1].lower(), text[: found.start()].strip()
    if name == FINISH:
        return ToolCall(FINISH, {"thought": ""}, say)
    if name == ANSWER:
        line = _ACT_LINE.search(text, found.start())
        answer = line[1] if line and line.start() <= found.end() else (found[2] or "")
        return ToolCall(ANSWER, {"answer": answer.strip()}, say) if answer.strip() else None
    blocks = [one.text for one in markdown_fences(text[found.end(1) :]) if one.text.strip()]
    return ToolCall(BASH, {"script": blocks[0].rstrip("\n")}, say) if blocks else None


def written(call: ToolCall, dialect: Dialect) -> str:
    """What a model writes to do this."""
    if dialect == "tools":
        return spoken(call)
    told = str(call.arguments.get(_ARGUMENTS.get(call.name, ""), ""))
    act = {BASH: f"bash\n\n```bash\n{told}\n```", ANSWER: f"answer({told})"}.get(call.name, FINISH)
    return f"{call.say}\n\nAct: {act}".strip()


def cut(out: str) -> str:
    """Output as an agent sees it."""
    return out if len(out) <= LONGEST_SEEN else out[:KEPT] + CUT


def result(out: str, dialect: Dialect) -> Message:
    """The message that shows what a command printed."""
    if dialect == "tools":
        return Message("tool", out or EMPTY)
    return Message("user", SHOWN + out if out.strip() else EMPTY)


def as_text(messages: Sequence[Message]) -> list[Message]:
    """Messages with calls of tools as the same in plain text."""
    told = []
    for message in messages:
        call = read_action(message.content) if message.role == "assistant" else None
        if message.role == "tool":
            told.append(result(message.content, "text"))
        else:
            told.append(message if call is None else Message("assistant", written(call, "text")))
    return told
