"""The seam of models."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol, runtime_checkable

from evosyn.chat import Reply, Request
from evosyn.records import Json


@runtime_checkable
class Teacher(Protocol):
    """Completes requests. Safe for many concurrent `complete` calls of one event loop; limits its own concurrency."""

    @property
    def name(self) -> str:
        """`provider/model`, ... : goes into provenance and cache keys, never holds a secret."""
        ...

    @property
    def simulated(self) -> bool:
        """Whether it only stands in for a model: all that it made says so."""
        ...

    async def complete(self, request: Request) -> Reply:
        """One reply; failures that concern this request alone come back in `Reply.failure`.

        Raises:
            BudgetSpent: money, tokens or calls are used up.
            TeacherUnavailable: authentication, no such model, endpoint dead for too long.
        """
        ...

    async def aclose(self) -> None: ...


@runtime_checkable
class Checked(Protocol):
    """A teacher behind which an endpoint can be down, or set up wrongly."""

    async def check(self, purpose: str, params: Mapping[str, Json]) -> Reply | None:
        """Ask one short question with these sampling parameters; None where there is nothing to find out.

        Args:
            purpose: `Request.purpose` of the requests that will have these parameters.

        Raises:
            TeacherUnavailable: the answer is none, or not usable; says why, and what to do.
        """
        ...
