"""Rows of published benchmarks as lines of a pool file: one format a file, each with `convert(row)`.

Users bring their own copies; nothing is fetched and nothing is run here. A row that cannot be brought in rightly is
refused with its reason, never guessed at.
"""

from __future__ import annotations

import functools
import importlib
import inspect
import pkgutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from evosyn.datafiles import data_rows
from evosyn.domains import check_pool, domain
from evosyn.domains.published._rows import NotUsable
from evosyn.errors import FormatError, UsageError, nearest
from evosyn.pools import pool_from_json, pool_to_json
from evosyn.records import Json

Convert = Callable[[Mapping[str, Json]], dict[str, Json]]


class Imported(NamedTuple):
    """What became of one row: a line of a pool file, or the reason (`name: detail`) why it is left out."""

    name: str
    line: dict[str, Json] | None
    reason: str = ""


def formats() -> dict[str, str]:
    """The formats that are known, each with what it is."""
    found = sorted(one.name for one in pkgutil.iter_modules(__path__) if not one.name.startswith("_"))
    return {name: (importlib.import_module(f"{__name__}.{name}").__doc__ or "").partition("\n")[0] for name in found}


def converter(name: str, compare: str | None = None) -> Convert:
    """How a row of this format becomes a line of a pool.

    Args:
        compare: `contest` or `official`, for formats that can be compared in both ways; None is `contest`.

    Raises:
        UsageError: there is no such format, or it is compared in one way.
    """
    known = formats()
    if name not in known:
        raise UsageError(f"FORMAT {name!r}: no such format; {nearest(name, known)}")
    found = importlib.import_module(f"{__name__}.{name}").convert
    if compare is not None and "compare" not in inspect.signature(found).parameters:
        raise UsageError(f"--compare: {name} is compared in one way; leave it out (it is for apps and livecodebench)")
    convert: Convert = found if compare is None else functools.partial(found, compare=compare)
    return convert


def import_rows(convert: Convert, files: Sequence[Path], between: tuple[str | None, str | None]) -> Iterator[Imported]:
    """Every row of `files`, in order; one outside of `between` (first and last day, ISO dates) is not given at all.

    Raises:
        InputError: a file that cannot be read.
        UsageError: a span of days is wanted and the rows have no date.
    """
    seen: set[str] = set()
    for path in files:
        for number, row in data_rows(path):
            place = f"{path.name}:{number}"
            try:
                line = convert(row)
            except NotUsable as error:
                if _within(error.date, between, place):
                    yield Imported(place, None, str(error))
                continue
            if not _within(str(line["meta"].get("date") or ""), between, place):
                continue
            name = line["problem_id"] = line["problem_id"] or place
            reason = "duplicate-id: an earlier row has it" if name in seen else _misfit(line)
            seen.add(name)
            yield Imported(name, None if reason else line, reason)


def _within(day: str | None, between: tuple[str | None, str | None], place: str) -> bool:
    first, last = between
    if not (first or last):
        return True
    if not day:
        raise UsageError(f"--from, --to: {place} has no date, so it cannot be said which rows these days mean")
    return (first or "") <= day[:10] <= (last or "9999")


def _misfit(line: dict[str, Json]) -> str:
    """Why the line is none of a pool file; empty where it is one."""
    try:
        pool = pool_from_json(line)
        check_pool(pool)
        line.update(pool_to_json(pool))
    except FormatError as error:
        return f"not-a-problem: {error}"
    problem = pool.problem
    if problem.human_testing is None:
        return "no-tests: the row has none"
    return domain(problem.domain).check_testing(problem, problem.human_testing) or ""
