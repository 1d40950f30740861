"""A client of the reward service: batches over HTTP, patient where the service is busy. Standard library only."""

from __future__ import annotations

import json
import os
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Sequence

from evosyn.errors import UnavailableError, UsageError
from evosyn.records import Json


class RewardClient:
    """Asks one service.

    Args:
        url: such as `http://127.0.0.1:8765`.
        token_env: name of the environment variable with the token, where one is needed.
        timeout_s: for one request.
        patience_s: how long a busy or absent service is asked again.
    """

    def __init__(
        self,
        url: str,
        *,
        token_env: str | None = None,
        timeout_s: float = 120.0,
        patience_s: float = 120.0,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._url, self._timeout_s, self._patience_s, self._sleep = url.rstrip("/"), timeout_s, patience_s, sleep
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
        """One answer per item, see `service`.

        Raises:
            UsageError: the service refuses the request.
            UnavailableError: no answer within the patience.
        """
        scores: list[Json] = self._ask("/score", json.dumps({"items": list(items)}).encode())["scores"]
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
                text = error.read().decode("utf-8", "replace")[:300]
                if error.code != 503:
                    raise UsageError(f"{self._url}{path}: {error.code}: {text}") from error
                reason = text
            except (urllib.error.URLError, OSError) as error:
                reason = str(error)
            if time.monotonic() + pause > deadline:
                raise UnavailableError(f"{self._url}{path}: no answer for {self._patience_s:.0f} s: {reason}")
            self._sleep(pause)
            pause = min(2.0, 2 * pause)
