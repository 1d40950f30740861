"""Pool files: seed problems, with or without recorded solutions and testings; read, validated, written.

Nothing is executed here: whether a reference passes its human testing is for `evosyn pool check --execute`. Every line
that breaks the format gets a message with file, line, field, value and what to do. DESIGN.md section 4.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import NamedTuple, TypeAlias

from evosyn.codec import load
from evosyn.documents import SUFFIXES, scan_documents
from evosyn.errors import FormatError, InputError
from evosyn.jsonlines import scan_lines, write_lines
from evosyn.records import FLAT_PAYLOAD, TOP_PAYLOAD, Json, Pool, Problem, Provenance, Solution, outside_json
from evosyn.testings import StoredTesting

BUILTIN = "builtin:"
POOLS = "pools.jsonl.gz"
"""Of a directory of a command that drew them."""
WORLD_TOOLS = "builtin:world-tools"
"""What `domains` makes of the bundled worlds."""
LONGEST = {"problem_id": 200, "domain": 200, "statement": 1_000_000}
"""Characters."""
UNTOLD = re.compile(r"[\x00-\x08\x0e-\x1f\x7f\ud800-\udfff]")
"""Control characters but white space, and halves of characters."""
Check: TypeAlias = Callable[[Pool], None]


@dataclass(frozen=True)
class ProblemLine:
    """The problem fields of a line, as they stand in the file."""

    problem_id: str
    domain: str
    statement: str
    entry_point: str | None = None
    starter_code: str | None = None
    packages: list[str] | None = None
    prelude: str | None = None
    payload: Mapping[str, Json] | None = None
    human_testing: StoredTesting | None = None
    reference_solution: str | None = None
    meta: Mapping[str, Json] | None = None


@dataclass(frozen=True)
class DrawnFrom:
    """Of a pool that was drawn from one model, what is known of each solution and testing: `Provenance.detail`, and the
    `call` that gave it."""

    model: str
    solutions: tuple[Mapping[str, Json], ...]
    testings: tuple[Mapping[str, Json], ...]
    simulated: bool = False


@dataclass(frozen=True)
class PoolLine(ProblemLine):
    """A line of a pool file."""

    solutions: tuple[str, ...] | None = None
    testings: tuple[StoredTesting, ...] | None = None
    drawn: DrawnFrom | None = None


PROBLEM_FIELDS = tuple(field.name for field in fields(ProblemLine))


def load_pools(source: str | Path) -> list[Pool]:
    """All problems of `source`, validated.

    Args:
        source: a `.jsonl` or `.jsonl.gz` file, a `.yaml` file of one document a problem, a directory that `evosyn
            pool sample` or a search drew into, or `builtin:python-seeds`, `builtin:os-seeds`, `builtin:math-seeds`.

    Raises:
        InputError: naming file, line, field, value and what to do.
    """
    return list(iter_pools(source))


def iter_pools(source: str | Path, check: Check | None = None) -> Iterator[Pool]:
    """The same, one problem at a time, for files larger than memory; a late bad line raises when it is reached.

    Args:
        check: what else a line must be, such as one of its domain (`evosyn.domains.check_pool`); raises FormatError.

    Raises:
        InputError: as for `load_pools`.
    """
    for found in scan_pools(source, check):
        if isinstance(found, InputError):
            raise found
        yield found


def scan_pools(source: str | Path, check: Check | None = None) -> Iterator[Pool | InputError]:
    """The same, but a bad line is given as its error, so that all errors of a file can be shown at once.

    Raises:
        InputError: what is wrong with the file as a whole.
    """
    first_seen: dict[str, str] = {}
    nothing = True
    for line in _builtin(str(source)) if str(source).startswith(BUILTIN) else _numbered(Path(source)):
        nothing = False
        if isinstance(line, InputError):
            yield line
            continue
        path, number, value = line
        try:
            pool = pool_from_json(value, line=number or 0, source="human" if number else "builtin")
            if check is not None:
                check(pool)
        except FormatError as error:
            yield from (one.at(path, number) for one in error.every())
            continue
        name = pool.problem.problem_id
        if name in first_seen:
            hint = f"It stands in {first_seen[name]} already; ids must be unique in a file"
            yield InputError(path, "duplicate id", line=number, field="problem_id", value=name, hint=hint)
            continue
        first_seen[name] = f"line {number}" if number else str(path)
        yield pool
    if nothing:
        raise InputError(source, "holds no problem", hint="Write one problem a line, or in YAML a document")


def write_pools(path: str | Path, pools: Iterable[Pool]) -> int:
    """Write a pool file atomically (gzip if it ends with `.gz`); returns the number of problems."""
    return write_lines(Path(path), (pool_to_json(pool) for pool in pools))


def pool_from_json(value: Mapping[str, Json], *, line: int = 0, source: str = "human") -> Pool:
    """One line of a pool file.

    Raises:
        FormatError: naming the field.
    """
    if "verdicts" in value and "statement" not in value:
        hint = "`evosyn evolve`, `score` and `inspect` read matrices; a pool holds the problems that they are of"
        raise FormatError("verdicts", "the line is a matrix, not a problem", hint=hint)
    found = load(PoolLine, value)
    problem = _problem(found, line, source)
    texts, testings, drawn = found.solutions or (), found.testings or (), found.drawn
    if drawn is None:
        maker = Provenance(source=str(problem.meta.get("source", "recorded")), parents=(problem.id,))
        makers = [maker] * len(texts), [maker] * len(testings)
    else:
        makers = (
            _makers(drawn, problem, "solutions", drawn.solutions, len(texts)),
            _makers(drawn, problem, "testings", drawn.testings, len(testings)),
        )
    return Pool(
        problem,
        tuple(map(Solution, texts, makers[0])),
        tuple(replace(testing, provenance=maker) for testing, maker in zip(testings, makers[1], strict=True)),
    )


def _makers(
    drawn: DrawnFrom, problem: Problem, kind: str, details: Sequence[Mapping[str, Json]], count: int
) -> list[Provenance]:
    """
    Raises:
        FormatError: not one for each, or log-probabilities that are none.
    """
    if len(details) != count:
        raise FormatError(f"drawn.{kind}", f"must be {count}, one for each of the line's {kind}", len(details))
    for at, detail in enumerate(details):
        one, many = detail.get("logprob", {"mean": 0}), detail.get("logprobs", [])
        known = [value for value in many if value is not None] if isinstance(many, list) else [many, None]
        known.append(one.get("mean") if isinstance(one, dict) else None)
        if not all(type(value) in (int, float) and -math.inf < value <= 0 for value in known):
            rule = "`logprob` has a mean, `logprobs` a list of numbers up to 0, null where one is unknown"
            raise FormatError(f"drawn.{kind}[{at}]", rule, dict(detail))
        if not isinstance(detail.get("call"), str | None):
            raise FormatError(f"drawn.{kind}[{at}].call", "must be a text, or null", detail["call"])
    return [
        Provenance(
            drawn.model, drawn.simulated, one.get("call"), (problem.id,), {k: one[k] for k in one if k != "call"}
        )
        for one in details
    ]


def problem_from_json(value: Mapping[str, Json]) -> Problem:
    """The problem fields of a line (without `solutions` and `testings`).

    Raises:
        FormatError: naming the field.
    """
    return _problem(load(ProblemLine, value), 0, "human")


def pool_to_json(pool: Pool) -> dict[str, Json]:
    """The line of a pool; a problem without solutions and testings gets no such fields."""
    line = problem_to_json(pool.problem)
    if pool.solutions:
        line["solutions"] = [solution.text for solution in pool.solutions]
    if pool.testings:
        line["testings"] = [testing.to_json() for testing in pool.testings]
    solutions, testings = ([one.provenance for one in items] for items in (pool.solutions, pool.testings))
    models = {(one.source, one.simulated) for one in (*solutions, *testings)}
    if len(models) == 1 and any(one.detail for one in (*solutions, *testings)):
        ((model, simulated),) = models
        held = {"solutions": solutions, "testings": testings}
        details = {kind: [{"call": one.call, **one.detail} for one in some] for kind, some in held.items()}
        line["drawn"] = {"model": model, **details, **({"simulated": True} if simulated else {})}
    return line


def problem_to_json(problem: Problem) -> dict[str, Json]:
    """The problem fields of a line; `problem_from_json` reads them back."""
    return {
        "problem_id": problem.problem_id,
        "domain": problem.domain,
        "statement": problem.statement,
        **payload_to_json(problem.payload),
        "human_testing": None if problem.human_testing is None else problem.human_testing.to_json(),
        "reference_solution": problem.reference_solution,
        "meta": dict(problem.meta),
    }


def payload_to_json(payload: Mapping[str, Json]) -> dict[str, Json]:
    """The fields of a line that hold the payload; `problem_from_json` reads them back."""
    rest = {name: value for name, value in payload.items() if name not in FLAT_PAYLOAD}
    return {**{name: payload.get(name) for name in FLAT_PAYLOAD}, **({"payload": rest} if rest else {})}


class _Object(NamedTuple):
    path: Path
    number: int | None
    value: Mapping[str, Json]


def _numbered(path: Path) -> Iterator[_Object | InputError]:
    path = drawn if (drawn := path / POOLS).is_file() else path
    for line in (scan_documents if path.suffix in SUFFIXES else scan_lines)(path):
        yield line if isinstance(line, InputError) else _Object(path, line.number, line.value)


def _holds_pools(entry: Traversable) -> bool:
    return entry.is_dir() and any(file.name.endswith((".jsonl", *SUFFIXES)) for file in entry.iterdir())


def _builtin(source: str) -> Iterator[_Object | InputError]:
    home = resources.files("evosyn") / "builtin"
    known = sorted(entry.name.replace("_", "-") for entry in home.iterdir() if _holds_pools(entry))
    name = source.removeprefix(BUILTIN)
    if name not in known:
        hint = f"Known: {', '.join([*(BUILTIN + one for one in known), WORLD_TOOLS])}"
        raise InputError(source, "no such bundled pool", hint=hint)
    for entry in sorted((home / name.replace("-", "_")).iterdir(), key=lambda item: item.name):
        if entry.name.endswith(".jsonl"):
            for found in _numbered(Path(str(entry))):
                yield found if isinstance(found, InputError) else found._replace(number=None)
        elif entry.name.endswith(SUFFIXES):
            for line in scan_documents(Path(str(entry))):
                yield line if isinstance(line, InputError) else _Object(Path(str(entry)), None, line.value)


def _problem(found: ProblemLine, line: int, source: str) -> Problem:
    for name in ("problem_id", "domain", "statement"):
        text: str = getattr(found, name)
        if not text.strip():
            raise FormatError(name, "must not be blank", text)
        if len(text) > LONGEST[name]:
            raise FormatError(name, f"is too long: {len(text):,} characters, {LONGEST[name]:,} at most")
        see_told(name, text)
    for name in ("payload", "meta"):
        _check_json(name, getattr(found, name))
    testing, made = found.human_testing, Provenance(source=source)
    return Problem(
        problem_id=found.problem_id,
        domain=found.domain,
        statement=found.statement,
        payload=_payload(found),
        human_testing=None if testing is None else replace(testing, provenance=made),
        reference_solution=found.reference_solution,
        meta=found.meta or {},
        provenance=made,
        line=line,
    )


def see_told(field: str, text: str) -> None:
    """
    Raises:
        FormatError: the text holds what no file, prompt or page can.
    """
    if strange := UNTOLD.search(text):
        hint = "Take it out; no file, prompt or page can hold it"
        raise FormatError(field, f"holds the character {strange.group()!r}", hint=hint)


def _payload(found: ProblemLine) -> dict[str, Json]:
    """The object `payload` of a line, and the fields of it that stand at the top."""
    payload = dict(found.payload or {})
    for name in TOP_PAYLOAD:
        given = getattr(found, name)
        if given is not None and payload.setdefault(name, given) != given:
            raise FormatError(name, "stands in payload too, and differently", given, hint="Write it once")
    return {name: item for name, item in payload.items() if item is not None}


def _check_json(key: str, value: Json) -> None:
    try:
        outside_json(value)
    except (ValueError, TypeError) as error:
        raise FormatError(key, f"is not JSON: {error}") from error
