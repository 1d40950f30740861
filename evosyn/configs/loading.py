"""Reads a configuration: preset, then a YAML file, then `--set a.b=value`, each over the one before, into a frozen
model.

It is not where options are defined: each model stands beside the class that it feeds. An unknown key is an error that
names the file, the key and the nearest valid one; secrets are never values here, only names of environment variables.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib import resources
from pathlib import Path
from typing import TypeVar, get_args

import yaml
from pydantic import BaseModel, ValidationError
from pydantic.fields import FieldInfo

from evosyn.errors import UsageError, alike, nearest
from evosyn.lengths import LENGTH_NAMES
from evosyn.records import Json

SECRET = "secret"
"""The type of a validation error whose input must not be shown."""
PART = re.compile(r'"([^"]+)"|([^."]+)')
"""One part of a dotted key; quoted it may hold dots, as a dotted path does."""
ModelT = TypeVar("ModelT", bound=BaseModel)


def load_config(
    model: type[ModelT],
    *,
    preset: str | None = None,
    file: Path | None = None,
    sets: Sequence[str] = (),
    flags: Mapping[str, Json] | None = None,
    defaults: Mapping[str, Json] | None = None,
) -> ModelT:
    """Build `model` from its sources, the later over the earlier.

    Args:
        preset: name of `evosyn/configs/presets/<name>.yaml`.
        file: the user's YAML file.
        sets: `dotted.key=value` pairs, the value read as YAML.
        flags: dotted keys of command-line flags that were given; None values are left out.
        defaults: dotted keys under all of these.

    Raises:
        UsageError: naming source, key, value, rule and the nearest valid key.
    """
    merged: dict[str, Json] = {}
    for key, value in (defaults or {}).items():
        _merge(merged, _nested(key, value))
    if preset is not None:
        _merge(merged, _read_preset(preset))
    if file is not None:
        values = _mapping(file)
        _see_command(model, values, file)
        _merge(merged, values)
    for pair in sets:
        key, equals, text = pair.partition("=")
        if not (equals and PART.search(key.strip())):
            raise UsageError(f"--set {pair!r}: write it as key.key=value")
        _merge(merged, _nested(key.strip(), _read_yaml(f"--set {key}", text)))
    for key, value in (flags or {}).items():
        if value is not None:
            _merge(merged, _nested(key, value))
    return validated(model, merged, str(file or preset or ("--set" if sets else "options")))


def validated(model: type[ModelT], values: Mapping[str, Json], source: str, beside: Iterable[str] = ()) -> ModelT:
    """`model` with these values.

    Args:
        source: where they come from, for messages.
        beside: keys of another model that stand in the same place.

    Raises:
        UsageError: naming source, key, value, rule and the nearest valid key.
    """
    try:
        return model.model_validate(values)
    except ValidationError as error:
        raise UsageError(_explain(model, error, source, beside)) from error


def preset_names() -> list[str]:
    """The presets that come with the package."""
    folder = resources.files("evosyn.configs") / "presets"
    return sorted(entry.name.removesuffix(".yaml") for entry in folder.iterdir() if entry.name.endswith(".yaml"))


def _read_preset(name: str) -> Json:
    if name not in preset_names():
        raise UsageError(f"--preset {name!r}: no such preset; {nearest(name, preset_names())}")
    return _read_yaml(name, (resources.files("evosyn.configs") / "presets" / f"{name}.yaml").read_text())


def _mapping(file: Path) -> Json:
    try:
        text = file.read_text(encoding="utf-8")
    except OSError as error:
        raise UsageError(f"--config {file}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise UsageError(f"--config {file}: byte {error.start} is not UTF-8; save it as UTF-8") from error
    values = _read_yaml(f"--config {file}", text)
    if not isinstance(values, dict | None):
        shape = "a list" if isinstance(values, list) else "a text" if isinstance(values, str) else repr(values)
        raise UsageError(f"--config {file}: is {shape}; write keys with values, such as `seed: 1`")
    return values


def _see_command(model: type[BaseModel], values: Json, file: Path) -> None:
    """
    Raises:
        UsageError: the file says that it is of another command.
    """
    told, own = (values or {}).get("command"), model.model_fields.get("command")
    if isinstance(told, str) and told not in get_args(own.annotation if own else None):
        name = f" `evosyn {own.default}`" if own and isinstance(own.default, str) else " this one"
        raise UsageError(
            f"--config {file}: is of `evosyn {told}`, not of{name}; give the file of a run of that command"
        )


def _read_yaml(where: str, text: str) -> Json:
    try:
        return yaml.safe_load(text)
    except (yaml.YAMLError, ValueError, RecursionError) as error:  # ValueError: a day that there is not
        raise UsageError(f"{where}: is not YAML: {error}") from error


def _nested(key: str, value: Json) -> Json:
    for quoted, plain in reversed(PART.findall(key)):
        value = {quoted or plain: value}
    return value


def _merge(into: dict[str, Json], over: Json) -> None:
    for key, value in (over or {}).items():
        if isinstance(value, dict) and isinstance(into.get(key), dict):
            _merge(into[key], value)
        else:
            into[key] = value


def _explain(model: type[BaseModel], error: ValidationError, source: str, beside: Iterable[str]) -> str:
    lines = []
    for problem in error.errors():
        path = [str(part) for part in problem["loc"]]
        if problem["type"] == "extra_forbidden":
            told = _meant(model, path, problem["input"], beside if len(path) == 1 else ())
            lines.append(f"{source}: unknown key {'.'.join(path)!r}; {told}")
        else:
            shown = problem["type"] != SECRET and not (
                problem["type"] == "value_error" and isinstance(problem["input"], dict)
            )
            got = f" (got {problem['input']!r})" if shown else ""
            rule = problem["msg"].replace("Input should be", "must be").replace("a valid tuple", "a list")
            rule = rule.removeprefix("Value error, ").removeprefix(f"{(path or [''])[-1]}: ")
            lines.append(": ".join([source, *filter(None, [".".join(path)]), rule + got]))
    return "\n".join(lines)


def _meant(model: type[BaseModel], path: Sequence[str], value: Json, beside: Iterable[str]) -> str:
    """Which keys are meant by one that is unknown: beside it, or where else its last part is a key."""
    rest: list[str] = []
    while isinstance(value, dict) and len(value) == 1:  # `a.b.c=1` is told at `a`
        ((part, value),) = value.items()
        rest.append(str(part))
    *above, name = path
    every = [key for key, field in _fields(model) for key in (key, *(f"{key}.{one}" for one in _parameters(field)))]
    known = [*_keys_at(model, above), *beside]
    if near := [one for one in alike(name, known) if one in beside or ".".join([*above, one, *rest]) in every]:
        return nearest(name, near)
    last = [*path, *rest][-1]
    same = [key for key in every if key.rpartition(".")[2] == last or {key.rpartition(".")[2], last} <= LENGTH_NAMES]
    within = [key for key in same if {*path, *rest[:-1]} & set(key.split(".")[:-1])] or same
    return f"did you mean {' or '.join(map(repr, within[:3]))}?" if same else nearest(name, known)


def _parameters(field: FieldInfo) -> Iterable[str]:
    """The parameters of a model's calls that a value holds, which may have more."""
    default = field.get_default(call_default_factory=True)
    held = (default.model_extra or {}) if isinstance(default, BaseModel) else default
    return held if isinstance(held, dict) and LENGTH_NAMES & held.keys() else ()


def dotted_keys(model: type[BaseModel], prefix: str = "") -> Iterator[str]:
    """Every key of a configuration that holds a value."""
    for key, field in _fields(model, prefix):
        if not _is_section(field):
            yield key


def _fields(model: type[BaseModel], prefix: str = "") -> Iterator[tuple[str, FieldInfo]]:
    """Every key with its field, sections and what is in them."""
    for name, field in model.model_fields.items():
        yield f"{prefix}{name}", field
        if _is_section(field):
            yield from _fields(field.annotation, f"{prefix}{name}.")  # type: ignore[arg-type]


def _is_section(field: FieldInfo) -> bool:
    return isinstance(field.annotation, type) and issubclass(field.annotation, BaseModel)


def _keys_at(model: type[BaseModel], path: Sequence[str]) -> list[str]:
    for part in path:
        field = model.model_fields.get(part)
        if field is None or not _is_section(field):
            return []
        model = field.annotation  # type: ignore[assignment]
    return list(model.model_fields)
