"""The course of an episode: what each reply did, and when it is over. One rule for every loop; it runs nothing."""

from __future__ import annotations

from evosyn.agents.place import SeenOutput
from evosyn.text.tool_calls import ToolCall
from evosyn.trajectories import ANSWER, FINISH, End, ToolUse, Trajectory

NOTHING_IN_A_ROW = 2


class Course:
    """Told of each reply, and of what came of each command.

    Args:
        rounds: replies that the agent has.
    """

    def __init__(self, rounds: int) -> None:
        self._left, self._nothing = rounds, 0
        self._end: End | None = None
        self.calls: list[ToolUse] = []

    @property
    def over(self) -> bool:
        return self._end is not None or self._left <= 0

    @property
    def ended(self) -> bool:
        """Whether the agent itself said that it is over."""
        return self._end in (ANSWER, FINISH)

    def take(self, act: ToolCall | None, *, runs: bool = False) -> None:
        """A reply does this; None where it does nothing. What `runs` is told of by `saw`, when it has run."""
        self._left -= 1
        self._nothing = 0 if act else self._nothing + 1
        if self._nothing == NOTHING_IN_A_ROW:
            self._end = "protocol"
        elif act is not None and not runs:
            self.calls.append(ToolUse(act.name, dict(act.arguments), say=act.say))
            self._end = "answer" if act.name == ANSWER else "finish"

    def saw(self, act: ToolCall, seen: SeenOutput) -> None:
        self.calls.append(ToolUse(act.name, dict(act.arguments), seen.out, seen.status, act.say))

    def trajectory(self, state: str | None) -> Trajectory:
        """All of it; one that has ended and left more than is kept has not ended well."""
        end: End = self._end or "limit"
        if self.ended and state is None:
            end = "limit"
        answer = str(self.calls[-1].args["answer"]) if end == ANSWER else None
        return Trajectory(tuple(self.calls), end, answer, state)
