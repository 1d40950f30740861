"""What an agent did and what came of it: the text of a solution that is no single reply. Records only.

Messages are made from it (`Domain.show`), never stored. A script that nobody has run yet is a trajectory as well: its
output is then the answer. docs/os-shell.md has the form.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Literal

from evosyn.codec import dump, load
from evosyn.errors import FormatError
from evosyn.records import Json, canonical_json, outside_json

End = Literal["answer", "finish", "limit", "timeout", "protocol", "unknown"]
VERSION = 1
BASH: Final = "bash"
ANSWER: Final = "answer"
FINISH: Final = "finish"
STATE = re.compile(r"st_[0-9a-f]{32}")


@dataclass(frozen=True)
class ToolUse:
    """One call of a tool.

    Attributes:
        out: what the agent was shown of it; None where it was never run.
        status: of a command; None where it did not end by itself.
        say: what the agent wrote beside the call.
    """

    tool: str
    args: Mapping[str, Json] = field(default_factory=dict)
    out: str | None = None
    status: int | None = None
    say: str = ""


@dataclass(frozen=True)
class Trajectory:
    """One episode.

    Attributes:
        end: `answer` and `finish` are the agent's own words; all others mean that it did not come to an end.
        state: what it left, frozen; None where that is not known.
    """

    calls: tuple[ToolUse, ...]
    end: End
    answer: str | None = None
    state: str | None = None

    @property
    def ended(self) -> bool:
        return self.end in (ANSWER, FINISH)

    @property
    def actions(self) -> tuple[str, ...]:
        """The commands, in order."""
        return tuple(str(call.args.get("script", "")) for call in self.calls if call.tool == BASH)

    @property
    def unrun(self) -> bool:
        """Whether it is a script to be run, whose output is the answer."""
        return bool(self.calls) and self.calls[-1].tool == BASH and self.calls[-1].out is None

    @property
    def text(self) -> str:
        """Canonical JSON."""
        return canonical_json({"v": VERSION, **dump(self)})


def of_script(code: str) -> Trajectory:
    """A script to be run."""
    return Trajectory((ToolUse(BASH, {"script": code}),), FINISH)


def trajectory_of(text: str) -> Trajectory:
    """The trajectory in a text; a text that is no JSON object is a script.

    Raises:
        FormatError: an object that is none, or of a later version; names the field.
    """
    if not text.lstrip().startswith('{"'):
        return of_script(text)
    try:
        said = json.loads(text)
        outside_json(said)  # what cannot be written again (NaN, a number without end, a deep value) is no record
    except (ValueError, RecursionError):
        return of_script(text)
    version = said.pop("v", None)
    if version != VERSION:
        raise FormatError("v", f"must be {VERSION}", version, hint="A trajectory of another version of evosyn")
    found = load(Trajectory, said)
    if found.state is not None and not STATE.fullmatch(found.state):
        raise FormatError("state", "must be the id of a state, st_ and 32 digits", found.state)
    return found


def told(text: str) -> str:
    """A trajectory as people read it, a command and what it printed, one after the other; any other text as it is."""
    try:
        run = trajectory_of(text)
    except FormatError:
        return text
    if run.unrun and len(run.calls) == 1:
        return text if not text.lstrip().startswith('{"') else run.actions[0]
    lines = []
    for call in run.calls:
        if call.tool == BASH:
            lines += [f"$ {call.args.get('script', '')}", *([call.out] if call.out else [])]
        elif call.tool not in (ANSWER, FINISH):
            lines += [f"> {call.tool} {canonical_json(dict(call.args))}", *([call.out] if call.out else [])]
    return "\n".join([*lines, f"= {run.answer}" if run.end == ANSWER else f"[{run.end}]"])
