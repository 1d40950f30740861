"""A dataset that is written while its rows come, a setting in several files: what `synthesis.shards` ends in."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from types import TracebackType

from evosyn.dataset import GROUP_ROWS, arrow_schema, part_path
from evosyn.records import Json
from evosyn.rundir import replacing

PART_ROWS = 10_000
"""Rows of a file."""


class DatasetParts:
    """Writes one setting to `directory/dataset/SETTING-NNNNN-of-NNNNN.parquet`, each file atomically.

    Args:
        total: rows that will come; the same rows, however they come, give the same bytes.
        most: rows of a file.
    """

    def __init__(self, directory: Path, setting: str, total: int, most: int = PART_ROWS) -> None:
        self._folder, self._setting, self._most = directory / "dataset", setting, most
        self._count, self._at, self._rows = max(1, -(-total // most)), 0, 0
        self._held: Json = arrow_schema().empty_table()
        self._file = ExitStack()
        self._writer: Json = None

    def add(self, table: Json) -> None:
        """Take an arrow table with the columns of a row."""
        import pyarrow  # type: ignore[import-untyped]

        self._held = pyarrow.concat_tables([self._held, table])
        while self._held.num_rows >= (size := min(GROUP_ROWS, self._most - self._rows)):
            self._write(size)

    def __enter__(self) -> DatasetParts:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Write what is left; after an error the file that is not full is not there."""
        if kind is None and (self._held.num_rows or (self._writer is None and self._at < self._count)):
            self._write(self._held.num_rows)
        self._file.__exit__(kind, error, trace)

    def _write(self, size: int) -> None:
        import pyarrow.parquet  # type: ignore[import-untyped]

        if self._writer is None:
            file = self._file.enter_context(replacing(part_path(self._folder, self._setting, self._at, self._count)))
            writer = pyarrow.parquet.ParquetWriter(file, arrow_schema(), compression="zstd")
            self._writer = self._file.enter_context(writer)
        self._writer.write_table(self._held.slice(0, size).combine_chunks())
        self._held, self._rows = self._held.slice(size), self._rows + size
        if self._rows == self._most:
            self._file.close()
            self._writer, self._at, self._rows = None, self._at + 1, 0
