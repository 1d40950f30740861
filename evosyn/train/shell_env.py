"""Tasks of agents for other trainers: one rollout in a room of its own, paid by the testing of its row.

`ShellEnv` is for TRL's `GRPOTrainer(environment_factory=ShellEnv)`, over the rows of `evosyn export --format trl`;
`TextRollout` for whoever passes on plain text (the export for verifiers). docs/os-shell.md.
"""

from __future__ import annotations

import weakref
from typing import Any

from evosyn.agents.course import Course
from evosyn.agents.dialects import EMPTY, HINT, read_action, result
from evosyn.agents.place import EpisodePlace, RoomGone
from evosyn.agents.turns import TurnJournal
from evosyn.crossexec.judge import Cell
from evosyn.domains import check_task, domain, rounds_of
from evosyn.errors import UsageError
from evosyn.records import Json, Solution
from evosyn.shell_world import world_in
from evosyn.tasks import Task, task_from_json
from evosyn.toolcalls import ToolCall
from evosyn.train.here import scorer_of, shells
from evosyn.train.scoring import Score, score_of
from evosyn.trajectories import ANSWER, BASH, FINISH, Trajectory

OVER = "The task is over; nothing more is done."
LOST = "The room was lost; nothing more can be done."


class Rollout:
    """One episode of one task. Its room is opened by the first command, and closed by `close` or when nobody holds it.

    Args:
        task: of a domain whose solutions are made by an agent.

    Raises:
        UsageError: it is none.
    """

    def __init__(self, task: Task) -> None:
        if domain(task.problem.domain).actor == "reply":
            raise UsageError(f"task {task.row_id}: of {task.problem.domain}, whose solutions are no work of an agent")
        world = world_in(task.problem.payload)
        self._task, self._lost = task, False
        self._course = Course(rounds_of(task.problem))
        opened = shells()
        self._place = EpisodePlace(lambda: opened.open(world), opened.kept, TurnJournal(), task.row_id)
        self.close = weakref.finalize(self, self._place.close)

    @property
    def over(self) -> bool:
        return self._course.over or self._lost

    def do(self, act: ToolCall | None) -> str:
        """Do something; what the agent is shown of it."""
        if self.over:
            return OVER
        self._course.take(act, runs=act is not None and act.name == BASH)
        if act is None:
            return HINT
        if act.name != BASH:
            return ""
        try:
            seen = self._place.act(str(act.arguments["script"]))
        except RoomGone:
            self._lost = True
            return LOST
        self._course.saw(act, seen)
        return seen.out or EMPTY

    def finished(self) -> Trajectory | None:
        """What was done, with what is left of it; None where the room was lost."""
        try:
            state = self._place.freeze() if self._course.ended and not self._lost else None
        except RoomGone:
            self._lost = True
        self.close()
        return None if self._lost else self._course.trajectory(state)

    def reward(self) -> float | None:
        """1.0 where the task's testing accepts it, else 0.0; None where our infrastructure failed. Ends the rollout."""
        done = self.finished()
        return None if done is None else trajectory_reward(self._task, done.text)


def trajectory_reward(task: Task, text: str) -> float | None:
    """What a trajectory is paid; its text is ours, never a model's: it may name a state."""
    (result,) = scorer_of([task]).judge.verify([Cell(task.problem, Solution(text), task.testing)])
    score: Score = score_of(result)
    return float(score.passed) if score.known else None


class TextRollout(Rollout):
    """The same by replies in plain text.

    Args:
        task: its JSON (`evosyn.tasks`).
    """

    def __init__(self, task: Json) -> None:
        super().__init__(task_from_json(task, "task", check_task))

    def reply(self, text: str) -> str | None:
        """What the model is shown after a reply; None where it is over."""
        act = read_action(text)
        shown = self.do(act)
        if act is not None and act.name == BASH:
            shown = result("" if shown == EMPTY else shown, "text").content
        return None if self.over else shown


class ShellEnv:
    """A Linux system to work in, as an environment of TRL. One rollout after the other."""

    def __init__(self) -> None:
        self._rollout: Rollout | None = None

    def reset(self, **row: Any) -> None:
        """Begin with the task of a row."""
        if "task" not in row:
            raise UsageError("the data has no column `task`; write it with: evosyn export DATA --format trl")
        if self._rollout is not None:
            self._rollout.close()
        self._rollout = Rollout(task_from_json(row["task"], "task", check_task))

    def bash(self, script: str) -> str:
        """Run a script in the session and see what it prints.

        Args:
            script: The script.
        """
        return self._do(ToolCall(BASH, {"script": str(script)}))

    def answer(self, answer: str) -> str:
        """Give the answer, and nothing but the answer; ends the task.

        Args:
            answer: The answer.
        """
        return self._do(ToolCall(ANSWER, {"answer": str(answer)}))

    def finish(self, thought: str) -> str:
        """Say that what was to be done is done; ends the task.

        Args:
            thought: What was done.
        """
        return self._do(ToolCall(FINISH, {"thought": str(thought)}))

    def get_reward(self) -> float | None:
        """What the rollout is paid; None where our infrastructure failed."""
        if self._rollout is None:
            raise UsageError("ShellEnv: reset it with a row first")
        return self._rollout.reward()

    def _do(self, act: ToolCall) -> str:
        if self._rollout is None:
            raise UsageError("ShellEnv: reset it with a row first")
        return self._rollout.do(act) or OVER
