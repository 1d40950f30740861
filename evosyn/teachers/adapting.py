"""What an endpoint refuses is left out or given under its other name, at once and from then on.

Structured outputs go along as `response_format` where a request has a schema, log-probabilities are asked for with
every request; the endpoint of a model that thinks wants `max_completion_tokens` and no temperature; others know no
`top_k`. Each such refusal (400, 422) costs one call and one line, for all teachers of a run together. What else is
wrong with a request is not adapted to.
"""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Iterator
from dataclasses import replace

from evosyn.chat import Refusals, Request
from evosyn.records import Json
from evosyn.teachers.completions import ASKED, LOGPROBS, Answer
from evosyn.teachers.failures import CONTEXT, Failure, TransportError, shown
from evosyn.teachers.transports import Served, Serving, Transport

log = logging.getLogger(__name__)
SCHEMA = "response_format"
OTHER_NAMES = {"max_tokens": "max_completion_tokens"}
NOT_TAKEN = re.compile(
    r"unsupported|not support|n't support|unrecogni[sz]ed|unknown|unexpected|not permitted|not allowed|deprecated|"
    r"only the default|may only be|cannot both be|extra_forbidden",
    re.I,
)


class Adapting:
    """Implements `transports.Transport` over another one.

    Args:
        refusals: what is known of the endpoint; grows here.
    """

    def __init__(self, inner: Transport, refusals: Refusals) -> None:
        self._inner, self._refusals = inner, refusals

    async def send(self, request: Request) -> Answer:
        while True:
            sent = self._fitted(request)
            try:
                answer = await self._inner.send(sent)
            except TransportError as error:
                if error.kind is not Failure.BAD_REQUEST and not _names_logprobs(sent, error):
                    raise
                if self._fitted(request) == sent and not self._learned(sent, error):
                    return await self._without_suspects(sent, error)
            else:
                self._refusals.tried |= LOGPROBS in sent.params
                return answer

    async def served(self) -> Served:
        return await self._inner.served() if isinstance(self._inner, Serving) else Served()

    async def aclose(self) -> None:
        await self._inner.aclose()

    def _fitted(self, request: Request) -> Request:
        asked = {} if LOGPROBS in self._refusals.parameters else ASKED
        params = {self._taken(name): value for name, value in {**request.params, **asked}.items()}
        schema = None if SCHEMA in self._refusals.parameters else request.schema
        return replace(request, params={n: v for n, v in params.items() if n}, schema=schema)

    def _taken(self, name: str) -> str:
        """What a parameter is called there, empty where nothing is taken: the other name may be refused as well."""
        while name in self._refusals.parameters:
            name = self._refusals.parameters[name]
        return name

    def _learned(self, sent: Request, error: TransportError) -> bool:
        """Whether the refusal names a parameter that was sent, which is then known."""
        name = LOGPROBS if error.kind is not Failure.BAD_REQUEST else refused_parameter(sent, error.body)
        if name is None:
            return False
        other = OTHER_NAMES.get(name, "")
        self._blame(name, error, other if other and other in error.body else "")
        return True

    async def _without_suspects(self, sent: Request, refusal: TransportError) -> Answer:
        """The same without what some endpoints refuse and do not name; it is to blame only where that is answered."""
        for name, lighter in [] if CONTEXT.search(refusal.body) else self._suspects(sent):
            self._refusals.tried |= name == LOGPROBS
            try:
                answer = await self._inner.send(lighter)
            except TransportError as error:
                if error.kind is not Failure.BAD_REQUEST:
                    raise
            else:
                if name not in self._refusals.parameters:
                    self._blame(name, refusal)
                return answer
        raise refusal

    def _suspects(self, sent: Request) -> Iterator[tuple[str, Request]]:
        if LOGPROBS in sent.params and not self._refusals.tried:
            yield LOGPROBS, replace(sent, params={n: v for n, v in sent.params.items() if n not in ASKED})
        if sent.schema is not None:
            yield SCHEMA, replace(sent, schema=None)

    def _blame(self, name: str, refusal: TransportError, other: str = "") -> None:
        self._refusals.parameters[name] = other
        instead = f"with {other}" if other else "without it"
        log.warning("the endpoint refuses %s (%s): asked %s from now on", name, shown(refusal.body), instead)


def _names_logprobs(sent: Request, error: TransportError) -> bool:
    """Some refuse them like a key that is wrong, or fail."""
    return LOGPROBS in sent.params and re.search(rf"\b{LOGPROBS}\b", error.body) is not None


def refused_parameter(sent: Request, body: str) -> str | None:
    """The parameter of this request that a refusal says is not taken; None where it is about something else."""
    names = [*sent.params, *([] if sent.schema is None else [SCHEMA])]
    code, named = _code_and_name(body)
    if not (NOT_TAKEN.search(code) or NOT_TAKEN.search(body)) or CONTEXT.search(body):
        return None
    if named in names:
        return named
    return next((name for name in names if re.search(rf"\b{name}\b", body)), None)


def _code_and_name(body: str) -> tuple[str, str]:
    """The code and the parameter that an error of OpenAI's form holds."""
    try:
        error: Json = json.loads(body)["error"]
        return str(error.get("code") or ""), str(error.get("param") or "")
    except (ValueError, TypeError, KeyError, AttributeError):
        return "", ""
