"""The sandboxed reward over HTTP, for trainers that run elsewhere or in another process.

    GET  /health   {"status": "ok", "protection": "strong", "tasks": 231, "executed": ..., "cached": ...}
    POST /score    {"items": [{"id": ROW, "completion": TEXT}
                              | {"task": {"domain", "statement", "entry_point", "testing"}, "completion": TEXT}]}
                   -> {"scores": [{"reward": 1.0 | 0.0 | null, "share": 0.75, "verdict": "P", "parsed": true}]}

A null reward means that our machine failed, not the completion. Standard library only; completions and testings run in
the sandbox, never here. Off loopback a token is required. Overload gives 503 with Retry-After, never a queue without
end.
"""

from __future__ import annotations

import hmac
import json
import logging
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from evosyn.errors import EvosynError, UsageError
from evosyn.records import Json, Problem
from evosyn.testings import testing_from_json
from evosyn.train.scoring import Score, Scorer, Task

log = logging.getLogger(__name__)

LOOPBACK = ("127.0.0.1", "::1", "localhost")


@dataclass(frozen=True)
class ServiceLimits:
    """What one client may ask for.

    Attributes:
        body_mb: size of one request.
        items: completions in one request.
        batches: requests that are scored at the same time; further ones get 503.
        socket_s: seconds that a client may take to send its request.
    """

    body_mb: float = 32.0
    items: int = 4096
    batches: int = 8
    socket_s: float = 30.0


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
        if host not in LOOPBACK and not token:
            raise UsageError(f"--host {host}: others can reach it, so a token is needed: --token-env NAME")
        self.limits = limits or ServiceLimits()
        self._scorer, self._tasks, self._token, self._protection = scorer, tasks, token, protection
        self._slots = threading.BoundedSemaphore(self.limits.batches)
        handler = type("Handler", (_Handler,), {"service": self, "timeout": self.limits.socket_s})
        try:
            self._server = ThreadingHTTPServer((host, port), handler)
        except OSError as error:
            raise UsageError(f"--host {host} --port {port}: {error.strerror}") from error
        self._server.daemon_threads = True

    @property
    def port(self) -> int:
        return int(self._server.server_address[1])

    def serve(self) -> None:
        """Answer until `close`."""
        self._server.serve_forever(poll_interval=0.2)

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    def allowed(self, header: str | None) -> bool:
        if self._token is None:
            return True
        given = (header or "").removeprefix("Bearer ").encode("utf-8", "surrogatepass")
        return hmac.compare_digest(given, self._token.encode())

    def health(self) -> Json:
        return {
            "status": "ok",
            "protection": self._protection,
            "tasks": len(self._tasks),
            "executed": self._scorer.executed,
            "cached": self._scorer.cached,
        }

    def score(self, body: bytes) -> tuple[HTTPStatus, Json]:
        """Status and answer for one POST; never raises for what a client sent."""
        try:
            tasks, texts = self._read(body)
        except UsageError as error:
            return HTTPStatus.BAD_REQUEST, {"error": str(error)}
        if not self._slots.acquire(blocking=False):
            return HTTPStatus.SERVICE_UNAVAILABLE, {"error": f"{self.limits.batches} batches are running; try again"}
        try:
            scores = self._scorer.score(tasks, texts)
        except EvosynError as error:
            log.error("scoring failed: %s", error)
            return HTTPStatus.SERVICE_UNAVAILABLE, {"error": str(error)}
        finally:
            self._slots.release()
        return HTTPStatus.OK, {"scores": [score_json(score) for score in scores]}

    def _read(self, body: bytes) -> tuple[list[Task], list[str]]:
        try:
            items = json.loads(body)["items"]
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            raise UsageError('the body must be JSON: {"items": [...]}') from error
        if not isinstance(items, list) or len(items) > self.limits.items:
            raise UsageError(f"items: a list of at most {self.limits.items}")
        tasks, texts = [], []
        for place, item in enumerate(items):
            if not isinstance(item, dict) or not isinstance(item.get("completion"), str):
                raise UsageError(f"items[{place}]: needs a completion (text)")
            tasks.append(self._task(item, place))
            texts.append(item["completion"])
        return tasks, texts

    def _task(self, item: Mapping[str, Json], place: int) -> Task:
        if "id" in item:
            task = self._tasks.get(str(item["id"]))
            if task is None:
                raise UsageError(f"items[{place}].id: no row {item['id']!r} in the data that is served")
            return task
        task = task_from_json(item.get("task"), f"items[{place}].task")
        reason = self._scorer.complaint(task)
        if reason is not None:
            raise UsageError(f"items[{place}].task: {reason}")
        return task


def task_from_json(value: Json, where: str) -> Task:
    """A task that a client sends along: `{"domain", "testing", "entry_point"?, "statement"?}`.

    Raises:
        UsageError: it is not one.
    """
    testing = value.get("testing") if isinstance(value, dict) else None
    if not isinstance(value, dict) or testing is None:
        raise UsageError(f"{where}: needs domain and testing (see docs/reward.md)")
    try:
        checked = testing_from_json(json.loads(testing) if isinstance(testing, str) else testing)
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{where}.testing: {error}") from error
    problem = Problem(
        problem_id=str(value.get("problem_id", "client")),
        domain=str(value.get("domain", "python-function")),
        statement=str(value.get("statement", "")),
        entry_point=value.get("entry_point") or None,
        starter_code=value.get("starter_code") or None,
    )
    return Task(problem.problem_id, problem, checked)


def score_json(score: Score) -> Json:
    """One score as the service answers it."""
    return {
        "reward": float(score.passed) if score.known else None,
        "share": round(score.share, 6),
        "verdict": score.verdict.value,
        "parsed": score.parsed,
    }


class _Handler(BaseHTTPRequestHandler):
    service: RewardService
    protocol_version = "HTTP/1.1"
    server_version = "evosyn"

    def do_GET(self) -> None:
        if self.path == "/health":
            self._answer(HTTPStatus.OK, self.service.health())
        else:
            self._answer(HTTPStatus.NOT_FOUND, {"error": "GET /health or POST /score"})

    def do_POST(self) -> None:
        length = self.headers.get("Content-Length", "")
        if self.path != "/score":
            self._refuse(HTTPStatus.NOT_FOUND, "GET /health or POST /score")
        elif not self.service.allowed(self.headers.get("Authorization")):
            self._refuse(HTTPStatus.UNAUTHORIZED, "Authorization: Bearer TOKEN")
        elif not length.isdigit():
            self._refuse(HTTPStatus.LENGTH_REQUIRED, "Content-Length")
        elif int(length) > self.service.limits.body_mb * 1e6:
            self._refuse(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"at most {self.service.limits.body_mb} MB")
        else:
            self._answer(*self.service.score(self.rfile.read(int(length))))

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        log.debug(format, *args)

    def _refuse(self, status: HTTPStatus, reason: str) -> None:
        self.close_connection = True  # the body was not read, so the connection cannot be used again
        self._answer(status, {"error": reason})

    def _answer(self, status: HTTPStatus, value: Json) -> None:
        body = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        if status is HTTPStatus.SERVICE_UNAVAILABLE:
            self.send_header("Retry-After", "1")
        if self.close_connection:
            self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(body)
