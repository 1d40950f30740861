"""The sandboxed reward over HTTP, for trainers that run elsewhere or in another process.

    GET  /health   {"status": "ok", "protection": "strong", "tasks": 231, "executed": ..., "cached": ...}
    POST /score    {"items": [{"id": ROW, "completion": TEXT} | {"task": TASK, "completion": TEXT}, ...]}
                   -> {"scores": [{"reward": 1.0 | 0.0 | null, "share", "verdict", "parsed", "cut", "detail", "error"?},
                       ...]}

TASK is the JSON of `evosyn.tasks`; an item may name the form of its reasoning (`"reasoning"`). Every item is answered
by itself: a reward is null, with an `error`, where the item is not one or where our machine failed; the others are
scored. What is unusable as a whole is refused: a body that is not JSON, a foreign Host, a page of a browser.
Completions and testings run in the sandbox, never here; this module holds no HTTP (`_http`) and no judgement
(`scoring`). docs/reward.md, "As a service".
"""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import NamedTuple

from evosyn.domains import check_task
from evosyn.domains.tool_use import respelled
from evosyn.errors import EvosynError, FormatError, UsageError, told_type
from evosyn.records import Json
from evosyn.tasks import Task, task_from_json
from evosyn.text.reasoning import Answer, check_form
from evosyn.text.tool_dialects import TOOL_DIALECTS
from evosyn.thinking import without_thinking
from evosyn.train._http import HttpAnswer, HttpServer, ServiceLimits
from evosyn.train.scoring import Score, Scorer, score_json

__all__ = ["RewardService", "ServiceLimits"]

log = logging.getLogger(__name__)
_FIELDS = ("id", "task", "completion", "reasoning", "dialect")


class RewardService:
    """One HTTP server around one scorer.

    Args:
        scorer: decides.
        tasks: what items may name by id.
        host, port: port 0 takes a free one; see `port`.
        token: required in `Authorization: Bearer` where it is given.

    Raises:
        UsageError: no token for an address that others can reach, or the address is taken.
    """

    def __init__(
        self,
        scorer: Scorer,
        tasks: Mapping[str, Task],
        *,
        host: str = "127.0.0.1",
        port: int = 8765,
        token: str | None = None,
        protection: str = "unknown",
        limits: ServiceLimits | None = None,
    ) -> None:
        self.limits = limits or ServiceLimits()
        self._scorer, self._tasks, self._protection = scorer, tasks, protection
        self._cut, self._lock = 0, threading.Lock()
        self._server = HttpServer(host, port, token, self.limits, health=self.health, score=self.score)

    @property
    def port(self) -> int:
        return self._server.port

    def serve(self) -> None:
        """Answer until `close`."""
        self._server.serve()

    def close(self) -> None:
        """End `serve`; may be called from any thread, and more than once."""
        self._server.close()

    def health(self) -> Json:
        return {
            "status": "ok",
            "protection": self._protection,
            "tasks": len(self._tasks),
            "executed": self._scorer.judge.executed,
            "cached": self._scorer.judge.cached,
            "reasoning": self._scorer.reasoning,
            "cut": self._cut,
        }

    def score(self, body: bytes) -> HttpAnswer:
        """The answer to one POST; never raises for what a client sent."""
        try:
            items = json.loads(body)["items"]
        except (ValueError, LookupError, TypeError, RecursionError):
            return HttpAnswer(HTTPStatus.BAD_REQUEST, {"error": 'the body must be JSON: {"items": [...]}'})
        if not isinstance(items, list):
            return HttpAnswer(HTTPStatus.BAD_REQUEST, {"error": f"items: must be a list, not {told_type(items)}"})
        if len(items) > self.limits.items:
            reason = f"items: at most {self.limits.items} in one request, these are {len(items)}"
            return HttpAnswer(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, {"error": reason})
        read = [self._respelled(self._read(item, place), item, place) for place, item in enumerate(items)]
        try:
            scores = iter(self._scores([one for one in read if isinstance(one, _Wanted)]))
        except EvosynError as error:
            log.error("scoring failed: %s", error)
            return HttpAnswer(HTTPStatus.SERVICE_UNAVAILABLE, {"error": str(error)})
        answers = [score_json(next(scores)) if isinstance(one, _Wanted) else refused(one) for one in read]
        return HttpAnswer(HTTPStatus.OK, {"scores": answers})

    def _check(self, task: Task) -> None:
        """Nobody outside names what is imported here: a dotted path that is not served is not looked up."""
        if task.problem.domain in self._scorer.judge.domains or ":" not in task.problem.domain:
            check_task(task)

    def _scores(self, wanted: Sequence[_Wanted]) -> list[Score]:
        forms = [one.reasoning for one in wanted]
        scores = self._scorer.score([one.task for one in wanted], [one.completion for one in wanted], forms)
        with self._lock:  # requests are answered in threads
            self._cut += sum(score.cut for score in scores)
        return scores

    def _read(self, item: Json, place: int) -> _Wanted | str:
        """What an item asks for, or why it is none."""
        where = f"items[{place}]"
        if not isinstance(item, dict):
            return f"{where}: must be an object with a completion and an id or a task"
        completion = item.get("completion")
        if not isinstance(completion, str):
            return f"{where}.completion: must be a text, not {told_type(completion)}"
        if strange := [name for name in item if name not in _FIELDS]:
            return f"{where}.{strange[0][:80]}: is not a field of it. Fields: {', '.join(_FIELDS)}"
        if "task" in item and "id" in item:
            return f"{where}: an id or a task, not both"
        form = item.get("reasoning")
        try:
            form = None if form is None else check_form(str(form))
        except FormatError as error:
            return f"{where}.reasoning: {error}"
        if "task" in item:
            try:
                wanted = _Wanted(task_from_json(item["task"], f"{where}.task", self._check), completion, form)
                _ = wanted.task.key  # made here, where what is nested too deeply is the fault of this item alone
                return wanted
            except UsageError as error:
                return str(error)
            except RecursionError:
                return f"{where}.task: is nested too deeply"
        name = item.get("id")
        if not isinstance(name, str):
            return f"{where}: needs the id of a row (a text) or a task"
        task = self._tasks.get(name)
        return (
            f"{where}.id: no row {name[:80]!r} in the data that is served"
            if task is None
            else _Wanted(task, completion, form)
        )

    def _respelled(self, wanted: _Wanted | str, item: Json, place: int) -> _Wanted | str:
        """The same, where an item of a tool world names the `dialect` in which its completion calls tools."""
        if isinstance(wanted, str) or item.get("dialect") is None:
            return wanted
        dialect, problem = item["dialect"], wanted.task.problem
        if dialect not in TOOL_DIALECTS:
            return f"items[{place}].dialect: one of {', '.join(TOOL_DIALECTS)}, not {str(dialect)[:80]!r}"
        served = self._scorer.judge.domains.get(problem.domain)
        if served is None or served.actor != "tools":
            return f"items[{place}].dialect: only for tasks of tool worlds; leave it out for {problem.domain}"
        thought = without_thinking(wanted.completion, wanted.reasoning or self._scorer.form_of(wanted.task))
        if thought.fault:  # the scorer says so
            return wanted
        return wanted._replace(completion=Answer(respelled(problem, thought.answer, dialect)))


class _Wanted(NamedTuple):
    """One item that can be scored."""

    task: Task
    completion: str
    reasoning: str | None = None


def refused(reason: str) -> dict[str, Json]:
    """The answer to an item that cannot be scored: nothing is said about its completion."""
    return {"reward": None, "share": 0.0, "verdict": "U", "parsed": False, "cut": False, "detail": "", "error": reason}
