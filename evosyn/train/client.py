"""A client of the reward service: batches over HTTP, patient where the service is busy. Standard library only.

A batch is sent in requests that the service takes; how long one may run is bounded by `timeout_s` alone, since a batch
of programs that hang takes as long here as it would in the trainer's own process.
"""

from __future__ import annotations

import json
import os
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Sequence

from evosyn.errors import UnavailableError, UsageError
from evosyn.records import Json

MOST_ITEMS, MOST_CHARS = 1024, 8_000_000
"""Of one request; the service takes more, other services less: then a request is halved."""


class RewardClient:
    """Asks one service.

    Args:
        url: such as `http://127.0.0.1:8765`.
        token_env: name of the environment variable with the token, where one is needed.
        timeout_s: for the answer to one request.
        patience_s: how long an absent service, or one that stays busy, is asked again.
    """

    def __init__(
        self,
        url: str,
        *,
        token_env: str | None = None,
        timeout_s: float = 1800.0,
        patience_s: float = 120.0,
    ) -> None:
        self._url, self._timeout_s, self._patience_s = url.rstrip("/"), timeout_s, patience_s
        self._headers = {"Content-Type": "application/json"}
        if token_env is not None:
            if token_env not in os.environ:
                raise UsageError(f"the environment variable {token_env} (token of the reward service) is not set")
            self._headers["Authorization"] = f"Bearer {os.environ[token_env]}"

    def health(self) -> Json:
        """
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
        answers: list[Json] = []
        for texts in _requests([json.dumps(item) for item in items]):
            answers += self._score(texts)
        return answers

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
        deadline = time.monotonic() + self._patience_s
        pause = 0.1
        while True:
            request = urllib.request.Request(self._url + path, data=body, headers=self._headers)
            try:
                with urllib.request.urlopen(request, timeout=self._timeout_s) as reply:
                    return json.loads(reply.read())
            except urllib.error.HTTPError as error:
                text = f"{self._url}{path}: {error.code}: {error.read().decode('utf-8', 'replace')[:300]}"
                if error.code == 413:
                    raise _TooLarge(text) from error
                if error.code != 503:
                    raise UsageError(text) from error
                reason = text
            except TimeoutError as error:  # asked again it would do the same work twice
                hint = "it may be overloaded: give it fewer clients or more workers"
                raise UnavailableError(f"{self._url}{path}: no answer in {self._timeout_s:g} s; {hint}") from error
            except (urllib.error.URLError, OSError) as error:
                reason = str(error)
            if time.monotonic() + pause > deadline:
                raise UnavailableError(f"{self._url}{path}: no answer for {self._patience_s:.0f} s: {reason}")
            time.sleep(pause)
            pause = min(2.0, 2 * pause)


class _TooLarge(Exception):
    """The service wants smaller requests."""


def _requests(texts: Sequence[str]) -> Iterator[list[str]]:
    """The items cut into requests."""
    request: list[str] = []
    size = 0
    for text in texts:
        if request and (len(request) == MOST_ITEMS or size + len(text) > MOST_CHARS):
            yield request
            request, size = [], 0
        request.append(text)
        size += len(text)
    if request:
        yield request
