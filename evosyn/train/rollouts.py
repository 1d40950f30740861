"""Tasks of agents for other trainers: one rollout in a place of its own, paid by the testing of its row.

`Rollout` by calls, `TextRollout` by replies in plain text (the export for verifiers), `RolloutEnv` what environments of
TRL share (`shell_env`, `tool_env`). Shells and tool worlds differ in where they take place, and in nothing else here.
"""

from __future__ import annotations

import logging
import weakref
from collections.abc import Callable
from typing import Any, NamedTuple

from evosyn.agents.course import Course
from evosyn.agents.dialects import EMPTY
from evosyn.agents.episodes import Actor, shell_place
from evosyn.agents.place import EpisodePlace, RoomGone
from evosyn.agents.tool_ways import ToolActor, tool_place, ways_of
from evosyn.agents.turns import TurnJournal
from evosyn.crossexec.judge import Cell
from evosyn.domains import check_task, domain, rounds_of
from evosyn.errors import EvosynError, UsageError
from evosyn.ports.agents import Ways
from evosyn.records import Json, Solution
from evosyn.shell_world import world_in
from evosyn.tasks import Task, task_from_json
from evosyn.text.tool_calls import ToolCall
from evosyn.thinking import without_thinking
from evosyn.train.here import reasoning_named, scorer_of, shells, tool_worlds
from evosyn.train.scoring import Score, score_of
from evosyn.trajectories import Trajectory

OVER = "The task is over; nothing more is done."
LOST = "The room was lost; nothing more can be done."
log = logging.getLogger(__name__)


class RolloutSetting(NamedTuple):
    """Where a rollout takes place.

    Attributes:
        action: what of an act the place is told; None for what ends it.
        lacks: what its world needs and this machine does not give.
    """

    place: EpisodePlace
    action: Callable[[ToolCall], str | None]
    lacks: tuple[str, ...] = ()


def _in_shell(task: Task) -> RolloutSetting:
    rooms = shells()
    place = shell_place(rooms, task.problem, TurnJournal(), task.row_id)
    return RolloutSetting(place, Actor.action, rooms.lacks(world_in(task.problem.payload)))


def _in_tools(task: Task) -> RolloutSetting:
    return RolloutSetting(tool_place(tool_worlds(), task.problem, TurnJournal(), task.row_id), ToolActor.action)


class Rollout:
    """One episode of one task. Its place is opened by the first act, and closed by `close` or when nobody holds it.

    Whatever our side cannot do (a world that needs what the machine does not give, one that cannot be made, a room that
    is lost, a judge without a sandbox) is no reward, and the log says what it was.

    Args:
        task: of a domain whose solutions are made by an agent.

    Raises:
        UsageError: it is none.
        SandboxUnavailable: such places do not work here.
    """

    def __init__(self, task: Task) -> None:
        actor = domain(task.problem.domain).actor
        if actor == "reply":
            raise UsageError(f"task {task.row_id}: of {task.problem.domain}, whose solutions are no work of an agent")
        self._task, self._lost = task, ""
        self._course = Course(rounds_of(task.problem))
        self.ways: Ways = ways_of(task.problem)
        self._place, self._action, lacks = _in_tools(task) if actor == "tools" else _in_shell(task)
        if lacks:
            self._lose(f"this machine lacks what its world needs: {', '.join(lacks)}; see `evosyn doctor`")
        self.close = weakref.finalize(self, self._place.close)

    @property
    def over(self) -> bool:
        return self._course.over or bool(self._lost)

    def _lose(self, why: object) -> None:
        self._lost = str(why) or "lost"
        log.warning("task %s is not paid: %s", self._task.row_id, self._lost)

    def runs(self, act: ToolCall) -> bool:
        """Whether the place is told of it."""
        return self._action(act) is not None

    def do(self, act: ToolCall | None) -> str:
        """Do something; what the agent is shown of it."""
        if self._lost:
            return LOST
        if self.over:
            return OVER
        action = None if act is None else self._action(act)
        self._course.take(act, runs=action is not None)
        if act is None:
            return self.ways.HINT
        if action is None:
            return ""
        try:
            seen = self._place.act(action)
        except (RoomGone, EvosynError) as error:
            self._lose(error)
            return LOST
        self._course.saw(act, seen)
        return seen.out or EMPTY

    def finished(self) -> Trajectory | None:
        """What was done, with what is left of it; None where the place was lost."""
        try:
            state = self._place.freeze() if self._course.ended and not self._lost else None
        except (RoomGone, EvosynError) as error:
            self._lose(error)
        self.close()
        return None if self._lost else self._course.trajectory(state)

    def reward(self) -> float | None:
        """1.0 where the task's testing accepts it, else 0.0; None where our infrastructure failed. Ends the rollout."""
        done = self.finished()
        return None if done is None else trajectory_reward(self._task, done.text)


def trajectory_reward(task: Task, text: str) -> float | None:
    """What a trajectory is paid; its text is ours, never a model's: it may name a state. None where nobody can say."""
    judge = scorer_of([task]).judge
    try:
        (result,) = judge.verify([Cell(task.problem, Solution(text), task.testing)])
    except EvosynError as error:
        log.warning("task %s is not paid: %s", task.row_id, error)
        return None
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
        form = reasoning_named() or self._task.reasoning
        act = self.ways.read_action(without_thinking(text, form).answer)
        shown = self.do(act)
        if act is not None and self.runs(act):
            shown = self.ways.result("" if shown == EMPTY else shown, "text").content
        return None if self.over else shown


class RolloutEnv:
    """What environments of TRL share: one rollout after the other. Their public methods are tools.

    Attributes:
        _rows: what gives the rows that it begins with.
    """

    _rows = "write it with: evosyn export DATA --format trl"

    def __init__(self) -> None:
        self._rollout: Rollout | None = None

    def reset(self, **row: Any) -> None:
        """Begin with the task of a row."""
        if "task" not in row:
            raise UsageError(f"the data has no column `task`; {self._rows}")
        if self._rollout is not None:
            self._rollout.close()
        self._rollout = Rollout(task_from_json(row["task"], "task", check_task))

    def get_reward(self) -> float | None:
        """What the rollout is paid; None where our infrastructure failed."""
        return self._begun().reward()

    def _do(self, act: ToolCall) -> str:
        return self._begun().do(act) or OVER

    def _begun(self) -> Rollout:
        if self._rollout is None:
            raise UsageError(f"{type(self).__name__}: reset it with a row first")
        return self._rollout
