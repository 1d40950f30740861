"""The dataset on disk: one `Sample` a row, a setting one parquet file or more; all that links synthesis and training.

Nested data travels as JSON strings, so that every loader reads the same flat columns whatever is inside. It makes no
decision about what is kept (that is `synthesis.prune`) and writes no card (`synthesis.card`). DESIGN.md section 4.
"""

from __future__ import annotations

import io
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from evosyn.chat import Message
from evosyn.codec import dump, load
from evosyn.datafiles import parquet_batches
from evosyn.errors import FormatError, UsageError
from evosyn.jsonlines import read_lines, write_lines
from evosyn.nesting import DEEPEST_LINE, is_deep
from evosyn.records import Json, Problem, Provenance, Testing, content_id
from evosyn.rundir import write_atomic

SCHEMA_KEY, SCHEMA_VERSION = "evosyn_schema", "2"
"""Of the rows, in the metadata of their file; one that another program made of them may not have it."""
SETTINGS = ("evosyn", "relaxed", "random")
"""Of one run: pruned; pruned without the zero-variance rule; the pruned problems with a random testing."""
GROUP_ROWS = 256
"""Rows that are in memory at a time."""


class RankedSolution(NamedTuple):
    """One solution of a row's problem, with the letter of its verdict by the row's testing.

    Attributes:
        said: all that the teacher wrote for it; "" where the row does not hold it.
    """

    source: str
    verdict: str
    said: str = ""

    @property
    def accepted(self) -> bool:
        return self.verdict == "P"

    @property
    def refused(self) -> bool:
        """The testing ran and did not accept it; where nothing is known it is neither accepted nor refused."""
        return self.verdict in ("F", "E", "T", "K")


@dataclass(frozen=True)
class Sample:
    """One training row with its whole provenance. `docs/dataset.md` describes each column.

    Attributes:
        id: content id of (setting, problem, testing, solution).
        problem_id: the problem's name in `problems.jsonl`, the same in all three settings.
        domain: name of the domain that executes it, such as `python-function`.
        prompt: the chat to give to a student.
        statement, payload: the problem; what its domain needs beside the statement is a JSON object.
        testing: what decides the reward, JSON (the TESTING object of DESIGN.md section 4): the chosen testing, joined
            with the agreed cases of others and with large inputs; in the random setting a testing as it was drawn.
        tests: number of cases or asserts in it.
        solution: source of the best solution (random setting: of a random one that the testing accepts).
        solutions_ranked: JSON list, best first: `{"id", "source", "score", "passes", "verdict", "reply", "reasoning"}`;
            the last two are what the teacher wrote, where that is known.
        scores: JSON: `{"solutions": [...], "testings": [...], "solution": m, "testing": n, "accepted": share}`, in the
            order of the matrix; the two lists are null in the random setting.
        matrix_digest: of the matrix in `matrices.jsonl` that the ranking was made from.
        lineage: JSON: seeds in context, ids of the model calls, strategy id, variation.
        model: name of the teacher; `simulated` says that it only stands in for a model.
        difficulty: one minus the share of solutions that the testing accepts, in [0, 1].
        cost: dollars spent on this problem; None where a price is unknown.
        licence: of the row; empty where the user declared none.
        setting: one of `SETTINGS`.
        meta: free JSON of the problem (title, topic, family, ...).
    """

    id: str
    problem_id: str
    domain: str
    prompt: tuple[Message, ...]
    statement: str
    payload: str
    testing: str
    tests: int
    solution: str
    solutions_ranked: str
    scores: str
    matrix_digest: str
    lineage: str
    model: str
    simulated: bool
    difficulty: float
    cost: float | None
    licence: str
    setting: str
    meta: str = "{}"

    @property
    def problem(self) -> Problem:
        """The problem as a record, for running solutions of it; it carries neither human testing nor reference."""
        return Problem(
            problem_id=self.problem_id,
            domain=self.domain,
            statement=self.statement,
            payload={name: value for name, value in self.held("payload").items() if value is not None},
            meta=self.held("meta"),
            provenance=Provenance(source=self.model, simulated=self.simulated),
        )

    @property
    def ranked(self) -> list[RankedSolution]:
        """All solutions, best first.

        Raises:
            UsageError: the column holds something else.
        """
        try:
            rows = json.loads(self.solutions_ranked)
            return [RankedSolution(row["source"], row["verdict"], _said(row)) for row in rows]
        except (ValueError, RecursionError, TypeError, AttributeError, KeyError) as error:
            raise self._damaged("solutions_ranked") from error

    @property
    def chosen_testing(self) -> Testing:
        """The chosen testing as a record.

        Raises:
            UsageError: the column holds something else.
        """
        body = dict(self.held("testing"))
        if "kind" not in body:
            raise self._damaged("testing")
        kind = body.pop("kind")
        return Testing(kind=kind, body=body, provenance=Provenance(source=self.model, simulated=self.simulated))

    def held(self, column: str) -> dict[str, Json]:
        """The JSON object of a column.

        Raises:
            UsageError: it holds something else.
        """
        try:
            value: Json = json.loads(getattr(self, column))
        except (ValueError, RecursionError) as error:
            raise self._damaged(column) from error
        if not isinstance(value, dict) or is_deep(value, DEEPEST_LINE):
            raise self._damaged(column)
        return value

    def _damaged(self, column: str) -> UsageError:
        return UsageError(
            f"dataset: row {self.id!r}: the column {column!r} is damaged; is it a dataset that evosyn wrote?"
        )


@dataclass(frozen=True)
class Reject:
    """One dropped item: a row of `rejects.jsonl`.

    Attributes:
        stage: where it was dropped: `problem`, `dedup`, `decontaminate`, `solution`, `testing`, `crossexec`, `rank`,
            `prune`, `behaviour`, `reward`; `inputs` for a reply that should have held large inputs.
        reason: a short name that is counted; `detail` is for people.
        item: what was dropped: `problem`, `reply`, or `case` for a reply that is used without some of its cases.
        index: number of the problem in the run, from 0.
        problem_id: its name, or None before it has one.
        settings: the settings it was dropped from; empty for a single solution or testing.
        reply: id of the model reply, if one was made.
    """

    stage: str
    reason: str
    item: str
    index: int
    problem_id: str | None = None
    settings: tuple[str, ...] = ()
    reply: str | None = None
    detail: str = ""


def sample_id(setting: str, problem_id: str, testing: str, solution: str) -> str:
    """The id of a row: a hash of what it holds."""
    return content_id("d_", [setting, problem_id, testing, solution])


def to_row(sample: Sample) -> dict[str, Json]:
    """The sample as one flat row; `prompt` becomes a list of `{"role", "content"}`."""
    return dump(sample, defaults=True)


def from_row(row: Mapping[str, Json]) -> Sample:
    """The reverse of `to_row`; further columns are ignored.

    Raises:
        UsageError: a column is missing, or holds what is none of its values.
    """
    try:
        return load(Sample, {field.name: row[field.name] for field in fields(Sample) if field.name in row})
    except FormatError as error:
        raise UsageError(
            f"dataset: the column {error.field!r} {error.reason}; is it a dataset that `evosyn synthesize` wrote?"
        ) from error


def parquet_path(directory: str | Path, setting: str = "evosyn") -> Path:
    """The file of one setting, the first where they are several. `directory` is the directory given to
    `evosyn synthesize --out`, or its `dataset/`.

    Raises:
        UsageError: no such setting.
    """
    if setting not in SETTINGS:
        raise UsageError(f"setting {setting!r}: one of {', '.join(SETTINGS)}")
    base = Path(directory)
    places = [base / "dataset" / f"{setting}.parquet", base / f"{setting}.parquet"]
    there = [place for place in places if place.exists()]
    parts = [part for place in places for part in sorted(place.parent.glob(f"{setting}-00000-of-*.parquet"))]
    return (*there, *parts, places[0])[0]


def parquet_files(path: str | Path, setting: str = "evosyn") -> list[Path]:
    """The files of one setting of a dataset directory, in the order of their rows; or the one file that is given.

    Raises:
        UsageError: there is none, or one of several is missing.
    """
    first = Path(path) if Path(path).suffix == ".parquet" else parquet_path(path, setting)
    stem, between, count = first.stem.rpartition("-00000-of-")
    several = bool(between) and first != Path(path)
    files = [part_path(first.parent, stem, at, int(count)) for at in range(int(count))] if several else [first]
    lacking = [file for file in files if not file.is_file()]
    if lacking:
        what = "is missing, of a dataset in several files" if several else "no such dataset"
        raise UsageError(f"{lacking[0]}: {what}; make one with `evosyn synthesize RUN --out DATASET`")
    return files


def part_path(folder: Path, setting: str, at: int, count: int) -> Path:
    """The name of one of `count` files of a setting."""
    return folder / f"{setting}-{at:05d}-of-{count:05d}.parquet"


def read_dataset(path: str | Path, setting: str = "evosyn") -> list[Sample]:
    """Read one setting of a dataset directory, or one parquet file.

    Raises:
        UsageError: nothing is there, it is not parquet, or a column is missing.
    """
    return list(iterate_dataset(path, setting))


def iterate_dataset(path: str | Path, setting: str = "evosyn") -> Iterator[Sample]:
    """The same as a stream that holds one batch of rows in memory."""
    return (from_row(row) for batch in _batches(path, setting) for row in batch.to_pylist())


class Columns(NamedTuple):
    """What is told of the rows of a setting as a whole, one value a row; lengths in characters."""

    tests: NDArray[np.float64]
    difficulty: NDArray[np.float64]
    statement: NDArray[np.float64]
    solution: NDArray[np.float64]


def columns_of(path: str | Path, setting: str) -> Columns:
    """The columns of one setting of a dataset directory."""
    import pyarrow.compute  # type: ignore[import-untyped]

    found: dict[str, list[NDArray[np.float64]]] = {name: [] for name in Columns._fields}
    for batch in _batches(path, setting, columns=list(Columns._fields)):
        for name, values in found.items():
            column = batch[name]
            number = pyarrow.compute.utf8_length(column) if pyarrow.types.is_string(column.type) else column
            values.append(number.to_numpy(zero_copy_only=False).astype(np.float64))
    return Columns(*(np.concatenate([np.zeros(0), *values]) for values in found.values()))


def _batches(path: str | Path, setting: str, columns: list[str] | None = None) -> Iterator[Json]:
    """Batches of rows, of all columns or some."""
    for file in parquet_files(path, setting):
        for batch in parquet_batches(file, GROUP_ROWS, columns):
            held = (batch.schema.metadata or {}).get(SCHEMA_KEY.encode())
            version = SCHEMA_VERSION if held is None else held.decode(errors="replace")
            if version != SCHEMA_VERSION:
                told = f"dataset {file}: its rows are of version {version:.60}, this evosyn reads {SCHEMA_VERSION}"
                raise UsageError(f"{told}; use the evosyn that wrote it, or synthesize it again")
            yield batch


def write_dataset(directory: str | Path, setting: str, samples: Iterable[Sample]) -> Path:
    """Write one setting atomically to `directory/dataset/SETTING.parquet`; the same rows give the same bytes."""
    import pyarrow
    import pyarrow.parquet  # type: ignore[import-untyped]

    path = Path(directory) / "dataset" / f"{setting}.parquet"
    schema = arrow_schema()
    buffer = io.BytesIO()
    with pyarrow.parquet.ParquetWriter(buffer, schema, compression="zstd") as writer:
        for rows in _chunks((to_row(sample) for sample in samples), GROUP_ROWS):
            writer.write_table(pyarrow.Table.from_pylist(rows, schema=schema))
    write_atomic(path, buffer.getvalue())
    return path


def arrow_schema() -> Json:
    """The columns of a row, as arrow has them."""
    import pyarrow

    text, turn = pyarrow.string(), [("role", pyarrow.string()), ("content", pyarrow.string())]
    kinds = {
        "prompt": pyarrow.list_(pyarrow.struct(turn)),
        "tests": pyarrow.int64(),
        "simulated": pyarrow.bool_(),
        "difficulty": pyarrow.float64(),
        "cost": pyarrow.float64(),
    }
    columns = [(field.name, kinds.get(field.name, text)) for field in fields(Sample)]
    return pyarrow.schema(columns, metadata={SCHEMA_KEY: SCHEMA_VERSION})


def _chunks(rows: Iterable[dict[str, Json]], size: int) -> Iterator[list[dict[str, Json]]]:
    chunk: list[dict[str, Json]] = []
    for row in rows:
        chunk.append(row)
        if len(chunk) == size:
            yield chunk
            chunk = []
    if chunk:
        yield chunk


def read_rejects(directory: str | Path) -> list[Reject]:
    """The rows of `rejects.jsonl`, in the order of the problems.

    Raises:
        UsageError: there is none, or a line of it is damaged.
    """
    file = Path(directory) / "rejects.jsonl"
    if not file.is_file():
        raise UsageError(f"{file}: no such file; make one with `evosyn synthesize RUN --out DATASET`")
    if not file.stat().st_size:
        return []
    found = []
    for number, value in read_lines(file):
        try:
            found.append(load(Reject, value))
        except FormatError as error:
            raise error.at(file, number) from error
    return found


def write_rejects(directory: str | Path, rejects: Sequence[Reject]) -> Path:
    """Write `rejects.jsonl` atomically."""
    path = Path(directory) / "rejects.jsonl"
    write_lines(path, (dump(reject, defaults=True) for reject in rejects))
    return path


def _said(row: Json) -> str:
    """What the teacher wrote for a solution, its reasoning marked as models mark it; "" where the row has none."""
    reply, reasoning = row.get("reply") or "", row.get("reasoning") or ""
    return f"<think>\n{reasoning.strip()}\n</think>\n\n{reply}" if reply and reasoning else reply
