"""A directory of `evosyn env rows`: which environment has how many rows, and single rows to look at."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from evosyn.dataset import iterate_dataset, parquet_path
from evosyn.errors import UsageError
from evosyn.reading.base import Fresh
from evosyn.reading.conclusions import Conclusion, of_environment_rows
from evosyn.reading.data import SampleStory
from evosyn.reading.summaries import Cell, SummaryReading, TableShown
from evosyn.records import Json

COLUMNS = ("environment", "title", "category", "rows", "levels", "simulated")


class EnvironmentRowsReading(SummaryReading):
    """Rows that environments made; there are no matrices behind them."""

    made_by = "`evosyn env rows`"
    asks = {"overview": (), "sample": ("SETTING", "NUMBER")}  # noqa: RUF012

    def __init__(self, path: Path, kind: str) -> None:
        super().__init__(path, kind)
        self._environments = Fresh(parquet_path(path), self._read)

    def conclude(self, report: Mapping[str, Json] | None) -> Conclusion:
        return of_environment_rows(report, self.progress())

    def tables(self, values: Mapping[str, Json]) -> tuple[TableShown, ...]:  # noqa: ARG002
        return (TableShown("environments", COLUMNS, self._environments.get()),)

    def sample(self, setting: str, count: str) -> tuple[SampleStory, ...]:
        """So many rows, spread over all.

        Raises:
            UsageError: there is no row.
        """
        rows = list(iterate_dataset(self.path, setting))
        if not rows:
            raise UsageError(f"{self.path}: the setting {setting} holds no row; see its rejects.jsonl")
        most = min(int(count), len(rows))
        return tuple(SampleStory(rows[at * len(rows) // most], None) for at in range(most))

    def _read(self) -> tuple[tuple[Cell, ...], ...]:
        if not parquet_path(self.path).is_file():
            return ()
        found: dict[str, list[Json]] = {}
        for sample in iterate_dataset(self.path):
            meta = sample.held("meta")
            row = found.setdefault(
                meta["environment"], [meta["environment"], meta["title"], meta["category"], 0, set(), sample.simulated]
            )
            row[3] += 1
            row[4].add(meta["level"])
        return tuple((*row[:4], ", ".join(map(str, sorted(row[4]))), str(row[5]).lower()) for row in found.values())
