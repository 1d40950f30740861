"""Pool files: seed problems, with or without recorded solutions and testings; read, validated, written.

Nothing is executed here: whether a reference passes its human testing is for `evosyn pool check --execute`. Every line
that breaks the format gets a message with file, line, field, value and what to do. DESIGN.md section 4.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Iterator, Mapping
from importlib import resources
from pathlib import Path
from typing import NamedTuple, TypeAlias

from evosyn.errors import InputError
from evosyn.jsonlines import scan_lines, write_lines
from evosyn.matrices import is_matrices_file, load_matrices, write_matrices
from evosyn.records import FLAT_PAYLOAD, Json, Pool, Problem, Provenance, Solution, Testing, canonical_json
from evosyn.testings import FormatError, testing_from_json

__all__ = [
    "FormatError", "is_matrices_file", "iter_pools", "load_matrices", "load_pools", "pool_from_json", "pool_to_json",
    "problem_from_json", "problem_to_json", "scan_pools", "testing_from_json", "write_matrices", "write_pools",
]  # fmt: skip

BUILTIN = "builtin:"
PROBLEM_FIELDS = (
    "problem_id", "domain", "statement", *FLAT_PAYLOAD, "payload", "human_testing", "reference_solution", "meta",
)  # fmt: skip
POOL_FIELDS = (*PROBLEM_FIELDS, "solutions", "testings")
Check: TypeAlias = Callable[[Pool], None]


def load_pools(source: str | Path, check: Check | None = None) -> list[Pool]:
    """All problems of `source`, validated.

    Args:
        source: a `.jsonl` or `.jsonl.gz` file, or `builtin:python-seeds`.
        check: what else a line must be, such as one of its domain (`evosyn.domains.check_pool`); raises FormatError.

    Raises:
        InputError: naming file, line, field, value and what to do.
    """
    return list(iter_pools(source, check))


def iter_pools(source: str | Path, check: Check | None = None) -> Iterator[Pool]:
    """The same, one problem at a time, for files larger than memory; a late bad line raises when it is reached.

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
            yield error.at(path, number)
            continue
        name = pool.problem.problem_id
        if name in first_seen:
            hint = f"It stands in {first_seen[name]} already; ids must be unique in a file"
            yield InputError(path, "duplicate id", line=number, field="problem_id", value=name, hint=hint)
            continue
        first_seen[name] = f"line {number}" if number else str(path)
        yield pool
    if nothing:
        raise InputError(source, "holds no problem", hint="Write one problem a line")


def write_pools(path: str | Path, pools: Iterable[Pool]) -> int:
    """Write a pool file atomically (gzip if it ends with `.gz`); returns the number of problems."""
    return write_lines(Path(path), (pool_to_json(pool) for pool in pools))


def pool_from_json(value: Mapping[str, Json], *, line: int = 0, source: str = "human") -> Pool:
    """One line of a pool file.

    Raises:
        FormatError: naming the field.
    """
    _known_keys(value, POOL_FIELDS)
    problem = problem_from_json({key: value[key] for key in PROBLEM_FIELDS if key in value}, line=line, source=source)
    maker = Provenance(source=str(problem.meta.get("source", "recorded")), parents=(problem.id,))
    texts = _typed(value, "solutions", list, []) or []
    for index, text in enumerate(texts):
        if not isinstance(text, str):
            raise FormatError(f"solutions[{index}]", "must be source text", text)
    testings = []
    for index, item in enumerate(_typed(value, "testings", list, []) or []):
        testings.append(_prefixed(f"testings[{index}]", item, maker))
    return Pool(problem, tuple(Solution(text, maker) for text in texts), tuple(testings))


def problem_from_json(value: Mapping[str, Json], *, line: int = 0, source: str = "human") -> Problem:
    """The problem fields of a line (without `solutions` and `testings`).

    Raises:
        FormatError: naming the field.
    """
    _known_keys(value, PROBLEM_FIELDS)
    problem_id = _text(value, "problem_id")
    domain = _text(value, "domain")
    statement = _text(value, "statement")
    meta = _typed(value, "meta", dict, {}) or {}
    human = value.get("human_testing")
    return Problem(
        problem_id=problem_id,
        domain=domain,
        statement=statement,
        payload=payload_of(value),
        human_testing=None if human is None else _prefixed("human_testing", human, Provenance(source=source)),
        reference_solution=_typed(value, "reference_solution", str, None),
        meta=meta,
        provenance=Provenance(source=source),
        line=line,
    )


def pool_to_json(pool: Pool) -> dict[str, Json]:
    """The line of a pool; a problem without solutions and testings gets no such fields."""
    line = problem_to_json(pool.problem)
    if pool.solutions:
        line["solutions"] = [solution.text for solution in pool.solutions]
    if pool.testings:
        line["testings"] = [testing.to_json() for testing in pool.testings]
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


def payload_of(value: Mapping[str, Json]) -> dict[str, Json]:
    """The payload of a line: its object `payload`, and the fields of it that stand at the top.

    Raises:
        FormatError: one of them has another type, or stands in both places.
    """
    found = dict(_typed(value, "payload", dict, {}) or {})
    for name in FLAT_PAYLOAD:
        given = _typed(value, name, str, None)
        if given is not None and found.setdefault(name, given) != given:
            raise FormatError(name, "stands in payload too, and differently", given, hint="Write it once")
    return {name: item for name, item in found.items() if item is not None}


def payload_to_json(payload: Mapping[str, Json]) -> dict[str, Json]:
    """The fields of a line that hold the payload; `payload_of` reads them back."""
    rest = {name: value for name, value in payload.items() if name not in FLAT_PAYLOAD}
    return {**{name: payload.get(name) for name in FLAT_PAYLOAD}, **({"payload": rest} if rest else {})}


class _Object(NamedTuple):
    path: Path
    number: int | None
    value: Mapping[str, Json]


def _numbered(path: Path) -> Iterator[_Object | InputError]:
    for line in scan_lines(path):
        yield line if isinstance(line, InputError) else _Object(path, line.number, line.value)


def _builtin(source: str) -> Iterator[_Object | InputError]:
    import yaml

    home = resources.files("evosyn") / "builtin"
    known = sorted(entry.name.replace("_", "-") for entry in home.iterdir() if entry.is_dir() and entry.name[0] != "_")
    name = source.removeprefix(BUILTIN)
    if name not in known:
        hint = f"Known: {', '.join(BUILTIN + one for one in known)}"
        raise InputError(source, "no such bundled pool", hint=hint)
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    folder = home / name.replace("-", "_")
    for entry in sorted(folder.iterdir(), key=lambda item: item.name):
        if entry.name.endswith(".yaml"):
            try:
                value = yaml.load(entry.read_text(encoding="utf-8"), Loader=loader)
            except yaml.YAMLError as error:
                yield InputError(entry.name, f"is not YAML: {error}")
                continue
            if not isinstance(value, dict):
                yield InputError(entry.name, "must be a mapping", value=value)
                continue
            yield _Object(Path(str(entry)), None, value)


def _known_keys(value: Mapping[str, Json], known: tuple[str, ...]) -> None:
    for key in value:
        if key not in known:
            near = difflib.get_close_matches(str(key), known, n=1)
            hint = f"Did you mean {near[0]!r}?" if near else "Fields of your own belong into meta"
            raise FormatError(str(key), "is not a field of the pool format", hint=hint)


def _prefixed(field: str, value: Json, provenance: Provenance) -> Testing:
    try:
        return testing_from_json(value, provenance)
    except FormatError as error:
        raise error.inside(field) from error


def _text(value: Mapping[str, Json], key: str) -> str:
    text = _typed(value, key, str, None)
    if text is None:
        raise FormatError(key, "is missing", hint=f"Add {key!r}, a text")
    if not text.strip():
        raise FormatError(key, "must not be blank", text)
    return str(text)


def _typed(value: Mapping[str, Json], key: str, kind: type, default: Json) -> Json:
    found = value.get(key, default)
    if found is None or isinstance(found, kind):
        if kind is dict and found:
            _check_json(key, found)
        return found
    words: dict[type, str] = {str: "a text", list: "a list", dict: "an object"}
    raise FormatError(key, f"must be {words[kind]}, not {type(found).__name__}", found)


def _check_json(key: str, value: Json) -> None:
    try:
        canonical_json(value)
    except (ValueError, TypeError, RecursionError) as error:
        raise FormatError(key, f"is not JSON: {error}") from error
