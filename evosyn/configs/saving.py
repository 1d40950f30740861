"""The configuration of a run in its directory: written so that it alone repeats the run, and held to afterwards.

The section `workbench` decides nothing of a run's course, so a run goes on with another one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

import yaml
from pydantic import BaseModel

from evosyn.configs.loading import load_config
from evosyn.documents import read_settings
from evosyn.errors import PUT_BACK, CorruptRun, InputError, UsageError, is_held
from evosyn.records import Json
from evosyn.rundir import require_new, see_unchanged, write_atomic

CONFIG = "config.yaml"
FREE = "workbench."
ALWAYS = ("*.json", "metrics.jsonl")
"""Patterns of names that a run writes, or by which the directory of another is known."""


def as_yaml(value: BaseModel | Mapping[str, Json]) -> str:
    """The text that `--config` reads."""
    plain = value.model_dump(mode="json") if isinstance(value, BaseModel) else dict(value)
    return yaml.dump(plain, Dumper=_WrittenOut, sort_keys=False, allow_unicode=True)


class _WrittenOut(yaml.SafeDumper):
    """Writes what stands in two places twice: `read_config` reads no aliases."""

    def ignore_aliases(self, data: object) -> bool:  # noqa: ARG002
        return True


def read_config(out: Path) -> dict[str, Json]:
    """The settings in the directory of a run; none where it has no such file.

    Raises:
        CorruptRun: its file is not as evosyn writes it.
    """
    return _held(out / CONFIG)


def _held(path: Path) -> dict[str, Json]:
    try:
        return read_settings(path) if is_held(path) else {}
    except InputError as error:
        raise CorruptRun(f"{error}. {PUT_BACK}") from error


def check_new(out: Path, writes: Iterable[str] = (), name: str = CONFIG) -> None:
    """See that the directory is of a run, or holds nothing of what one writes: before anything is paid for it.

    Args:
        writes: names, or patterns of names, beside those that every command writes.
        name: of the file that says of which run it is.

    Raises:
        UsageError: it does; the message names it.
    """
    if not (out / name).exists():
        require_new(out, (*ALWAYS, *writes))


def save_config(out: Path, config: BaseModel, writes: Iterable[str] = ()) -> None:
    """Write `config.yaml` for a directory whose runs may differ in their settings.

    Args:
        writes: see `check_new`.

    Raises:
        UsageError: the directory is of another command, or holds files of something else.
    """
    path = out / CONFIG
    check_new(out, writes)
    if path.exists():
        try:
            load_config(type(config), file=path)
        except UsageError as error:
            told = f"--out {out}: was written by another command; choose another --out"
            raise UsageError(f"{told}\n{error}") from error
    write_atomic(path, as_yaml(config))


def freeze_config(
    out: Path, config: BaseModel | Mapping[str, Json], name: str = CONFIG, writes: Iterable[str] = ()
) -> None:
    """Write the configuration of a new run; for an old one, check that all that decides its course is the same.

    Args:
        name, writes: see `check_new`.

    Raises:
        UsageError: the directory was started with other settings, or holds files of something else; the message names
            them.
        CorruptRun: its file is not YAML.
    """
    path, text = out / name, as_yaml(config)
    check_new(out, writes, name)
    if path.exists():
        _compare(path, yaml.safe_load(text))
    write_atomic(path, text)


def _compare(path: Path, now: Json) -> None:
    before, after = _flatten(_held(path)), _flatten(now)
    deciding = [key for key in sorted({*before, *after}) if not key.startswith(FREE)]
    see_unchanged(path.parent, {key: before.get(key) for key in deciding}, after)


def _flatten(value: Json, prefix: str = "") -> dict[str, Json]:
    """Dotted keys of a nested dictionary."""
    if not isinstance(value, dict):
        return {prefix.removesuffix("."): value}
    flat: dict[str, Json] = {}
    for key, inner in value.items():
        flat |= _flatten(inner, f"{prefix}{key}.")
    return flat
