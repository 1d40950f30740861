"""Structured outputs where the provider has them: the schema of a request goes along as `response_format`.

A provider that refuses the parameter is asked without it, at once and from then on; the reply is then read as any other
text, with repair. It validates nothing: what a reply means is for the parsers.
"""

from __future__ import annotations

import logging
from dataclasses import replace

from evosyn.chat import Request
from evosyn.teachers.transports import Answer, Failure, Transport, TransportError

log = logging.getLogger(__name__)


class Structured:
    """Implements `transports.Transport` over another one."""

    def __init__(self, inner: Transport) -> None:
        self._inner, self._refused = inner, False

    async def send(self, request: Request) -> Answer:
        if request.schema is None or self._refused:
            return await self._inner.send(replace(request, schema=None))
        try:
            return await self._inner.send(request)
        except TransportError as error:
            if error.kind is not Failure.BAD_REQUEST:
                raise
            refusal = error
        answer = await self._inner.send(replace(request, schema=None))
        self._refused = True
        log.info("the endpoint takes no response_format (%s): asked without from now on", refusal)
        return answer

    async def aclose(self) -> None:
        await self._inner.aclose()
