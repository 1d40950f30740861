"""Rows of data files that others published: JSON lines (also gzipped), one JSON list, one JSON object that holds the
list, or parquet; one row at a time.

What a row means is not known here. `jsonlines` reads the files of evosyn itself, with the stricter rules of those.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import NamedTuple

from evosyn.errors import InputError
from evosyn.jsonlines import opened_for_reading, raw_lines
from evosyn.records import Json

LISTED = "examples"
"""Where one object holds all rows."""
BATCH = 64
"""Rows of a parquet file in memory at once."""


class DataRow(NamedTuple):
    """A row: its line in the file or its place among the rows (from 1), and its fields."""

    number: int
    fields: dict[str, Json]


def data_rows(path: Path) -> Iterator[DataRow]:
    """Every row of a file.

    Raises:
        InputError: missing, not readable, not of the form that its name says, or a row that is no object.
    """
    for number, row in _parquet(path) if path.suffix == ".parquet" else _json(path):
        if not isinstance(row, dict):
            raise InputError(path, "is not a JSON object", line=number, value=row)
        yield DataRow(number, row)


def parquet_batches(path: Path, size: int = BATCH, columns: list[str] | None = None) -> Iterator[Json]:
    """Batches of rows of one file as pyarrow's record batches, of all columns or some.

    Raises:
        InputError: it is not parquet, or it is damaged, texts and names that are none in UTF-8 included.
    """
    import pyarrow  # type: ignore[import-untyped]
    import pyarrow.parquet  # type: ignore[import-untyped]

    damage = pyarrow.ArrowException, OSError, UnicodeDecodeError
    try:
        parquet = pyarrow.parquet.ParquetFile(path)
    except damage as error:
        raise InputError(path, f"is not a parquet file: {error}") from error
    with parquet:
        try:
            for batch in parquet.iter_batches(batch_size=size, columns=columns):
                batch.validate(full=True)
                yield batch
        except damage as error:
            told = " ".join(str(error).split()).rstrip(".")
            raise InputError(path, f"is damaged: {told}. Put back a copy of it") from error


def _parquet(path: Path) -> Iterator[tuple[int, Json]]:
    rows = (row for batch in parquet_batches(path) for row in batch.to_pylist())
    for number, row in enumerate(rows, 1):
        yield number, {name: _plain(value) for name, value in row.items()}


def _plain(value: Json) -> Json:
    return value.isoformat() if isinstance(value, date) else value


def _json(path: Path) -> Iterator[tuple[int, Json]]:
    with opened_for_reading(path) as file:
        lines, first = raw_lines(path, file), True
        for number, raw in enumerate(lines, 1):
            if not raw.strip():
                continue
            if first and raw.lstrip()[:1] == b"[":
                yield from enumerate(_parsed(path, None, raw + b"".join(lines)), 1)
                return
            if first and raw.strip() == b"{":
                row, held = _parsed(path, None, raw + b"".join(lines)), True
            else:
                row, held = _parsed(path, number, raw), first
            listed = row.get(LISTED) if held and isinstance(row, dict) else None
            if isinstance(listed, list):
                yield from enumerate(listed, 1)
                return
            first = False
            yield number, row


def _parsed(path: Path, line: int | None, raw: bytes) -> Json:
    try:
        return json.loads(raw)
    except UnicodeDecodeError as error:
        raise InputError(path, f"is not UTF-8: {error.reason}", line=line, hint="Save the file as UTF-8") from error
    except (ValueError, RecursionError) as error:
        where = str(error)
        if isinstance(error, json.JSONDecodeError) and line is not None:
            where = f"{error.msg} (column {error.colno})"
        raise InputError(path, f"is not JSON: {where}", line=line) from error
