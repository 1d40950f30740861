"""The seam of models."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from evosyn.chat import Reply, Request


@runtime_checkable
class Teacher(Protocol):
    """Completes requests. Safe for many concurrent `complete` calls of one event loop; limits its own concurrency."""

    @property
    def name(self) -> str:
        """`provider/model`, `offline`, ... : goes into provenance and cache keys, never holds a secret."""
        ...

    @property
    def simulated(self) -> bool: ...

    async def complete(self, request: Request) -> Reply:
        """One reply; failures that concern this request alone come back in `Reply.failure`.

        Raises:
            BudgetSpent: money, tokens or calls are used up.
            TeacherUnavailable: authentication, no such model, endpoint dead for too long.
        """
        ...

    async def aclose(self) -> None: ...
