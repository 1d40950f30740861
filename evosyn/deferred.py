"""Lines of text that are made when somebody reads them: most of what a search could tell of a candidate nobody asks.

They equal the tuple that they make, and are stored and pickled as it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Annotated, TypeAlias, overload

if TYPE_CHECKING:
    from pydantic_core import CoreSchema


class Deferred(Sequence[str]):
    """A tuple of lines.

    Args:
        make: gives them, the same however often it is called; let go once they are there.
    """

    def __init__(self, make: Callable[[], tuple[str, ...]]) -> None:
        self._make: Callable[[], tuple[str, ...]] | None = make
        self._lines: tuple[str, ...] = ()

    @property
    def lines(self) -> tuple[str, ...]:
        """The lines."""
        make = self._make
        if make is not None:
            self._lines = make()
            self._make = None
        return self._lines

    def __len__(self) -> int:
        return len(self.lines)

    @overload
    def __getitem__(self, place: int) -> str: ...
    @overload
    def __getitem__(self, place: slice) -> tuple[str, ...]: ...
    def __getitem__(self, place: int | slice) -> str | tuple[str, ...]:
        return self.lines[place]

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Deferred):
            return self is other or self.lines == other.lines
        return self.lines == other if isinstance(other, tuple) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.lines)

    def __repr__(self) -> str:
        return repr(self.lines)

    def __reduce__(self) -> tuple[type[tuple[str, ...]], tuple[tuple[str, ...]]]:
        return tuple, (self.lines,)


class _AsTuple:
    """Written as a list, and read back as a tuple of texts."""

    def __get_pydantic_core_schema__(self, source: object, handler: Callable[[object], CoreSchema]) -> CoreSchema:
        from pydantic_core import core_schema

        read = handler(tuple[str, ...])
        return core_schema.chain_schema([read], serialization=core_schema.plain_serializer_function_ser_schema(list))


Lines: TypeAlias = Annotated[tuple[str, ...] | Deferred, _AsTuple()]
"""Lines of text of a record, there or to be made."""
