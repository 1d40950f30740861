"""A client of the reward service: batches over HTTP, patient where the service is busy. Standard library only.

A batch is sent in requests that the service takes; how long one may run is bounded by `timeout_s` alone, since a batch
of programs that hang takes as long here as it would in the trainer's own process. Of several services, one a node say,
each request goes to one that has little to do, and to another where that one is gone.
"""

from __future__ import annotations

import http.client
import json
import os
import socket
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Collection, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from urllib.parse import urlsplit

from evosyn.errors import UnavailableError, UsageError
from evosyn.records import Json

MOST_ITEMS, MOST_CHARS = 1024, 8_000_000
"""Of one request; the service takes more, other services less: then a request is halved."""
REQUESTS_EACH = 2
"""Of several services: requests that each has at the same time, so that none waits for the next one."""
CONNECT_S = 5.0
"""Of several services: one that takes no connection for as long is gone."""


@dataclass
class _Service:
    """One of the services: requests that it has, until when it is not asked, and the pause before that."""

    url: str
    flying: int = 0
    resting: float = 0.0
    pause: float = 0.1


class RewardClient:
    """Asks one service, or several that serve the same. Thread-safe.

    Args:
        url: such as `http://127.0.0.1:8765`; several with commas between them.
        token_env: name of the environment variable with the token, where one is needed.
        timeout_s: for the answer to one request.
        patience_s: how long absent services, or such that stay busy, are asked again; the time for which one had the
            request does not count.

    Raises:
        UsageError: no address, or the variable is not set.
    """

    def __init__(
        self,
        url: str,
        *,
        token_env: str | None = None,
        timeout_s: float = 1800.0,
        patience_s: float = 120.0,
    ) -> None:
        self._services = [_Service(one.strip().rstrip("/")) for one in url.split(",") if one.strip()]
        if not self._services:
            raise UsageError(f"{url!r}: names no reward service; write it as http://HOST:PORT[,http://HOST:PORT...]")
        self._lock = threading.Lock()
        self._timeout_s, self._patience_s = timeout_s, patience_s
        self._headers = {"Content-Type": "application/json"}
        if token_env is not None:
            if token_env not in os.environ:
                raise UsageError(f"the environment variable {token_env} (token of the reward service) is not set")
            self._headers["Authorization"] = f"Bearer {os.environ[token_env]}"

    def health(self) -> Json:
        """Of the service, or of one of several.

        Raises:
            UnavailableError: no answer.
        """
        return self._ask("/health", None)

    def score(self, items: Sequence[Json]) -> list[Json]:
        """One answer per item, in order, see `service`; an item that could not be scored has an `error`.

        Raises:
            UsageError: the service refuses the request.
            UnavailableError: no answer within the patience.
        """
        threads = REQUESTS_EACH * len(self._services) if len(self._services) > 1 else 1
        requests = list(_requests([json.dumps(item) for item in items], max(1, -(-len(items) // threads))))
        if threads == 1 or len(requests) < 2:
            return [answer for texts in requests for answer in self._score(texts)]
        with ThreadPoolExecutor(threads, thread_name_prefix="rewards") as pool:
            return [answer for answers in pool.map(self._score, requests) for answer in answers]

    def _score(self, texts: Sequence[str]) -> list[Json]:
        try:
            scores: list[Json] = self._ask("/score", f'{{"items": [{",".join(texts)}]}}'.encode())["scores"]
        except _TooLarge as error:
            if len(texts) < 2:
                raise UsageError(str(error)) from error
            half = len(texts) // 2
            return [*self._score(texts[:half]), *self._score(texts[half:])]
        return scores

    def _ask(self, path: str, body: bytes | None) -> Json:
        deadline, reason, tried = time.monotonic() + self._patience_s, "", set[str]()
        while True:
            service, wait = self._taken(tried)
            asked = time.monotonic()
            if asked + wait > deadline and (wait or service.url in tried):
                self._given_back(service, rests=False)
                raise UnavailableError(f"{service.url}{path}: no answer for {self._patience_s:.0f} s: {reason}")
            time.sleep(wait)
            tried.add(service.url)
            try:
                found = self._asked(service.url + path, body)
            except _Busy as error:
                reason = str(error)
                if error.had_it:
                    deadline += time.monotonic() - asked - wait
                self._given_back(service, rests=True)
            except BaseException:
                self._given_back(service, rests=False)
                raise
            else:
                self._given_back(service, rests=False)
                return found

    def _asked(self, url: str, body: bytes | None) -> Json:
        """
        Raises:
            _Busy: another one, or the same later, may answer.
        """
        several = len(self._services) > 1
        request = urllib.request.Request(url, data=body, headers=self._headers)
        try:
            if several:
                _reach(url)
            with urllib.request.urlopen(request, timeout=self._timeout_s) as reply:
                return json.loads(reply.read())
        except urllib.error.HTTPError as error:
            text = f"{url}: {error.code}: {error.read().decode('utf-8', 'replace')[:300]}"
            if error.code == 413:
                raise _TooLarge(text) from error
            if error.code != 503:
                raise UsageError(text) from error
            raise _Busy(text) from error
        except TimeoutError as error:
            if several:
                raise _Busy(f"{url}: no answer in time", had_it=True) from error
            # asked again it would do the same work twice
            hint = "it may be overloaded: give it fewer clients or more workers"
            raise UnavailableError(f"{url}: no answer in {self._timeout_s:g} s; {hint}") from error
        except (OSError, http.client.HTTPException, ValueError) as error:  # the last two: half an answer
            # what urllib wraps happened before the request was there
            raise _Busy(str(error), had_it=not isinstance(error, urllib.error.URLError)) from error

    def _taken(self, tried: Collection[str]) -> tuple[_Service, float]:
        """The service to ask next, and in how many seconds; one that rests is the last choice, one that was tried the
        next, then a busy one."""
        with self._lock:
            now = time.monotonic()
            service = min(self._services, key=lambda one: (max(one.resting - now, 0.0), one.url in tried, one.flying))
            service.flying += 1
            return service, max(service.resting - now, 0.0)

    def _given_back(self, service: _Service, *, rests: bool) -> None:
        with self._lock:
            service.flying -= 1
            if rests:
                service.resting = time.monotonic() + service.pause
                service.pause = min(2.0, 2 * service.pause)
            else:
                service.pause = 0.1


def _reach(url: str) -> None:
    """
    Raises:
        URLError: nothing takes connections there.
    """
    parts = urlsplit(url)
    port = parts.port or (443 if parts.scheme == "https" else 80)
    try:
        socket.create_connection((parts.hostname or "", port), timeout=CONNECT_S).close()
    except OSError as error:
        raise urllib.error.URLError(error) from error


class _Busy(Exception):
    """No answer from this service now.

    Attributes:
        had_it: it had taken the request.
    """

    def __init__(self, reason: str, *, had_it: bool = False) -> None:
        super().__init__(reason)
        self.had_it = had_it


class _TooLarge(Exception):
    """The service wants smaller requests."""


def _requests(texts: Sequence[str], most: int) -> Iterator[list[str]]:
    """The items cut into requests of so many at most."""
    request: list[str] = []
    size = 0
    for text in texts:
        if request and (len(request) == min(most, MOST_ITEMS) or size + len(text) > MOST_CHARS):
            yield request
            request, size = [], 0
        request.append(text)
        size += len(text)
    if request:
        yield request
