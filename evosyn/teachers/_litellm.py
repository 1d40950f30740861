"""Any provider that litellm knows, as a transport: its replies go through the same reader, under the same bounds.

litellm never fetches its price list and sends no telemetry; it is imported when the first teacher needs it. The clients
that it makes for itself stand in one cache of its own: ours in its place bounds each of them.
"""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from functools import cache
from typing import Any

from evosyn.chat import Request
from evosyn.errors import UsageError
from evosyn.lengths import with_length
from evosyn.teachers.completions import ASKED, LARGEST, LOGPROBS, Answer, answer_of
from evosyn.teachers.failures import (
    REDIRECTS,
    Endpoint,
    Failure,
    TransportError,
    redacted,
    redirected,
    refused,
    too_long,
    unreachable,
)
from evosyn.teachers.transports import NO_KEY, format_of, messages_of

FOR_EVER_S = 86_400.0
"""litellm wants a number; how long an answer is waited for is not its affair."""
NO_CONNECTION = "Connection error"
"""What litellm says, under a status of its own, where no connection could be made."""


class Redirect(Exception):
    """An answer points to another address."""

    def __init__(self, status: int, location: str) -> None:
        super().__init__("a redirect")
        self.status, self.location = status, location


class TooLong(Exception):
    """An answer does not end."""


KEYS = {"openai": ("OPENAI_API_KEY",), "anthropic": ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN")}
"""Where litellm looks for the keys of the providers that are asked most: one that is missing is said at once, without
the many seconds that importing litellm may take."""


class LitellmTransport:
    """Any provider that litellm knows, by `provider/model`."""

    def __init__(self, endpoint: Endpoint) -> None:
        """
        Raises:
            UsageError: the key of the provider is not set.
        """
        self._endpoint = endpoint
        names = KEYS.get(endpoint.provider)
        if names and not any(name in os.environ for name in names):
            self._refuse(names[:1])
        self._litellm = _import_litellm()

    async def send(self, request: Request) -> Answer:
        extra: dict[str, Any] = {"base_url": self._endpoint.base_url} if self._endpoint.base_url else {}
        key = self._endpoint.key()
        if key or self._endpoint.base_url:
            extra["api_key"] = key or NO_KEY
        try:
            response = await self._litellm.acompletion(
                model=self._endpoint.model,
                messages=messages_of(request),
                timeout=FOR_EVER_S,
                num_retries=0,
                max_retries=0,
                **extra,
                **self._taken(with_length(request.params, request.length)),
                **(format_of(request) if self._structured() else {}),
            )
        except Exception as error:
            raise _typed(error, self._endpoint, request.purpose) from error
        answer = answer_of(response.model_dump(), self._endpoint, request)
        return replace(answer, cost=self._cost(response, answer))

    async def aclose(self) -> None:
        await self._litellm.close_litellm_async_clients()

    def require_key(self) -> None:
        """
        Raises:
            UsageError: litellm wants variables of the environment that are not set.
        """
        missing = self._litellm.validate_environment(model=self._endpoint.model)["missing_keys"]
        self._refuse([name for name in missing if "KEY" in name or "TOKEN" in name])  # an address has a default

    def _refuse(self, missing: Sequence[str]) -> None:
        if missing and not (self._endpoint.api_key_env or self._endpoint.base_url):
            raise UsageError(
                f"--model {self._endpoint.model}: the environment variable {' and '.join(missing)} is not set; set it, "
                "or name another one with --api-key-env"
            )

    def price(self, read: int, written: int) -> float | None:
        """Dollars for so many input and output tokens by litellm's list; None where the model is not in it."""
        try:
            costs = self._litellm.cost_per_token(
                model=self._endpoint.model, prompt_tokens=read, completion_tokens=written
            )
        except Exception:  # noqa: BLE001  litellm raises a plain Exception for a model that it does not know
            return None
        return float(sum(costs))

    def _taken(self, params: dict[str, Any]) -> dict[str, Any]:
        """The parameters, log-probabilities where litellm knows that the provider gives them."""
        if LOGPROBS in params and LOGPROBS not in (
            self._litellm.get_supported_openai_params(self._endpoint.model) or ()
        ):
            return {name: value for name, value in params.items() if name not in ASKED}
        return params

    def _structured(self) -> bool:
        """Does litellm know that the model can be held to a schema?"""
        return bool(self._litellm.supports_response_schema(model=self._endpoint.model))

    def _cost(self, response: Any, answer: Answer) -> float | None:
        if answer.estimated:
            return self.price(answer.input_tokens, answer.output_tokens)
        hidden = getattr(response, "_hidden_params", None) or {}
        cost = hidden.get("response_cost")
        return float(cost) if cost is not None else None


@cache
def _import_litellm() -> Any:
    os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")
    import litellm

    litellm.telemetry = False
    litellm.suppress_debug_info = True
    litellm.in_memory_llm_clients_cache = _bounding_cache()
    return litellm


def _bounding_cache() -> Any:
    """The cache of litellm's clients, each of which follows no redirect and reads no endless answer from then on."""
    from litellm.caching.llm_caching_handler import LLMClientCache

    class Bounding(LLMClientCache):  # type: ignore[misc]
        def set_cache(self, key: Any, value: Any, **options: Any) -> Any:
            _bound(value)
            return super().set_cache(key, value, **options)

    return Bounding()


def _bound(client: Any) -> None:
    """Bound the asynchronous httpx client inside a client of litellm or of the openai SDK."""
    import httpx

    if hasattr(client, "event_hooks"):  # a handler of litellm, which may make its client anew
        client.follow_redirects = False
        client.event_hooks = {**(client.event_hooks or {}), "response": [_look]}
    inner = getattr(client, "_client", None)
    if isinstance(inner, httpx.AsyncClient):
        inner.follow_redirects = False
        inner.event_hooks = {**inner.event_hooks, "response": [_look]}


async def _look(response: Any) -> None:
    """Look at an answer before its body is read.

    Raises:
        Redirect: it points elsewhere.
    """
    if response.status_code in REDIRECTS:
        raise Redirect(response.status_code, response.headers.get("location", ""))
    response.stream = _bounded(response.stream)


def _bounded(stream: Any) -> Any:
    import httpx

    class Bounded(httpx.AsyncByteStream):
        """A body of at most `LARGEST` bytes."""

        async def __aiter__(self) -> AsyncIterator[bytes]:
            count = 0
            async for part in stream:
                count += len(part)
                if count > LARGEST:
                    raise TooLong
                yield part

        async def aclose(self) -> None:
            await stream.aclose()

    return Bounded()


def _typed(error: Exception, endpoint: Endpoint, purpose: str) -> Exception:
    """litellm raises the exceptions of the openai SDK, which it depends on."""
    import openai

    for cause in _causes(error):
        if isinstance(cause, Redirect):
            return redirected(cause.status, cause.location, endpoint)
        if isinstance(cause, TooLong):
            return too_long(LARGEST, endpoint)
    if isinstance(error, openai.APITimeoutError | TimeoutError):
        return TransportError(Failure.TIMEOUT, "no answer in time")
    if not isinstance(error, openai.APIError):
        return error
    status = getattr(error, "status_code", None)
    if isinstance(error, openai.APIConnectionError) or not isinstance(status, int) or NO_CONNECTION in str(error):
        return unreachable(redacted(f"no connection: {error}", endpoint), endpoint)
    headers = getattr(getattr(error, "response", None), "headers", None)
    return refused(status, f"{error} {getattr(error, 'code', None) or ''}", endpoint, headers or {}, purpose)


def _causes(error: BaseException | None) -> list[BaseException]:
    """The error and what it came from."""
    found: list[BaseException] = []
    while error is not None and error not in found:
        found.append(error)
        error = error.__cause__ or error.__context__
    return found
