"""Solve rates of rows, kept with their dataset by student: what `evosyn calibrate` measured, and the band taken.

A student's rates stand in `DATA/calibration/NAME/journal.jsonl`, which belongs to one way of drawing. A row without a
rate is in no band: whoever takes a band is told of such rows. docs/calibrate.md.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from evosyn.dataset import Sample
from evosyn.errors import UsageError
from evosyn.journal import Events, Journal
from evosyn.records import Json, content_id

FOLDER, KIND = "calibration", "calibrate"


@dataclass(frozen=True)
class RowRate:
    """Event: of `n` completions for a row that could be judged `passed` satisfy its testing.

    Attributes:
        unknown: further ones that our infrastructure could not judge.
    """

    row: str
    n: int
    passed: int
    unknown: int = 0

    @property
    def share(self) -> float:
        return self.passed / self.n


class Band(NamedTuple):
    """Solve rates from `low` to `high`, both included."""

    low: float
    high: float

    @classmethod
    def read(cls, text: str) -> Band:
        """
        Raises:
            UsageError: it is not LOW:HIGH with shares in order.
        """
        found = re.fullmatch(r"([0-9.]+):([0-9.]+)", text)
        try:
            low, high = map(float, found.groups() if found else ())
        except ValueError:
            low, high = 1.0, 0.0
        if not 0.0 <= low <= high <= 1.0:
            raise UsageError(f"--band {text!r}: give two shares from 0 to 1, the lower first, such as .1:.9")
        return cls(low, high)


class Calibration(NamedTuple):
    """Where a student's rates stand, and how they were drawn."""

    path: Path
    header: Mapping[str, Json]

    def events(self) -> Events[RowRate]:
        return rate_events(Journal(self.path / "journal.jsonl"))

    def rates(self) -> dict[str, RowRate]:
        """By row, the last of each; rows of which nothing could be judged have none."""
        return {one.row: one for one in self.events() if one.n}


def rate_events(journal: Journal) -> Events[RowRate]:
    """A calibration's journal as records."""
    return Events(journal, {"rate": RowRate})


def folder_of(data: str | Path, header: Mapping[str, Json]) -> Path:
    """Where rates belong that were drawn in this way: with the dataset, under the student's name."""
    plain = re.sub(r"[^\w.-]+", "-", str(header["student"])).strip("-.")[:60] or "student"
    return _home(data) / FOLDER / f"{plain}-{content_id('', dict(header))[:8]}"


def calibrations(data: str | Path, setting: str) -> list[Calibration]:
    """All of a dataset's setting."""
    found = []
    for path in sorted((_home(data) / FOLDER).glob("*/journal.jsonl")):
        header = rate_events(Journal(path)).header()
        if header is not None and header.get("kind") == KIND and header["setting"] == setting:
            found.append(Calibration(path.parent, header))
    return found


def calibration_of(data: str | Path, setting: str, student: str | None) -> Calibration:
    """That of a student, with the most samples where it was drawn in several ways.

    Args:
        student: as it was named to `evosyn calibrate`, or the directory's name; None where there is only one.

    Raises:
        UsageError: none, or several students, or several ways with as many samples.
    """
    every = calibrations(data, setting)
    fits = [one for one in every if student in (None, one.header["student"], one.path.name)]
    if not fits:
        known = f"it has those of {_named(every)}" if every else "it has none of this setting"
        whose = f" of {student}" if student else ""
        raise UsageError(
            f"--band: {data} has no solve rates{whose}: {known}; measure them with "
            f"`evosyn calibrate {data} --model {student or 'STUDENT'} --setting {setting}`"
        )
    most = max(one.header["samples"] for one in fits)
    best = [one for one in fits if one.header["samples"] == most]
    if len({one.header["student"] for one in fits}) > 1 or len(best) > 1:
        raise UsageError(f"--band: {data} has several solve rates: {_named(fits)}; name one with --student")
    return best[0]


def in_band(samples: Sequence[Sample], data: str | Path, setting: str, band: str, student: str | None) -> list[Sample]:
    """The rows whose solve rate by the student lies in the band.

    Raises:
        UsageError: rows without a rate, or no row in the band; says how many.
    """
    low, high = Band.read(band)
    found = calibration_of(data, setting, student)
    rates, name = found.rates(), found.header["student"]
    missing = sum(sample.id not in rates for sample in samples)
    if missing:
        raise UsageError(
            f"--band {band}: {missing} of {len(samples)} rows of {data} have no solve rate by {name}; "
            f"`evosyn calibrate {data} --model {name} --setting {setting}` goes on where it stopped"
        )
    kept = [sample for sample in samples if low <= rates[sample.id].share <= high]
    if not kept:
        shares = [rates[sample.id].share for sample in samples]
        raise UsageError(
            f"--band {band}: of {len(samples)} rows of {data} {name} solves {sum(one < low for one in shares)} less "
            f"often and {sum(one > high for one in shares)} more often; widen the band"
        )
    return kept


def _home(data: str | Path) -> Path:
    """The directory of a dataset that is given as it, as its `dataset/`, or as a parquet file of it."""
    path = Path(data)
    path = path.parent if path.suffix == ".parquet" else path
    return path.parent if path.resolve().name == "dataset" else path


def _named(found: Sequence[Calibration]) -> str:
    return ", ".join(f"{one.header['student']} ({one.header['samples']} samples, {one.path.name})" for one in found)
