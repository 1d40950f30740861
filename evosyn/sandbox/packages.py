"""Which packages programs see beside the standard library: named distributions, and what these require."""

from __future__ import annotations

import contextlib
import functools
import hashlib
import importlib.util
import json
import re
import subprocess
import sys
import sysconfig
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

from evosyn.errors import UsageError
from evosyn.jobs import Protection
from evosyn.records import Json, Problem, canonical_json
from evosyn.sandbox import distributions

UNSEEN = "which programs do not see"
_MISSING = re.compile(r"^ModuleNotFoundError: No module named '(\w+)'")
FIELD = "workbench.sandbox.packages"
SHOWN = "/packages"
"""Where they are in a jail with a view of its own."""
_REFUSED = {
    "evosyn": "no program sees it",
    "pytest": "testings are judged without it",
}


def setting(names: Iterable[str]) -> str:
    """The setting that shows programs these distributions."""
    return f"--set {FIELD}='[{', '.join(names)}]'"


def lacking(problem: Problem, protection: Protection) -> str:
    """What a problem asks for that programs do not see, with the setting that shows it; "" where they see it all."""
    given = problem.payload.get("packages")
    asked = [one for one in given if isinstance(one, str)] if isinstance(given, list) else []
    seen = {distributions.canonical(shown.partition(" ")[0]) for shown in protection.packages}
    missing = [name for name in asked if distributions.canonical(name) not in seen]
    if not missing:
        return ""
    every = dict.fromkeys([*(shown.partition(" ")[0] for shown in protection.packages), *missing])
    return f"needs {', '.join(missing)}, {UNSEEN}: {setting(every)}"


def require_shown(problems: Iterable[Problem], protection: Protection) -> None:
    """
    Raises:
        UsageError: one asks for a package that programs do not see.
    """
    for problem in problems:
        if reason := lacking(problem, protection):
            raise UsageError(f"problem {problem.problem_id!r}: {reason}")


@functools.lru_cache(maxsize=256)
def explained(detail: str) -> str:
    """What an exception says, and how programs come to see the module that it missed, where we have it ourselves."""
    match = _MISSING.search(detail)
    name = _distribution_of(match[1]) if match else ""
    return f"{detail}: imports {match[1]}, {UNSEEN}: {setting([name])}" if match and name else detail


@functools.cache
def _distribution_of(module: str) -> str:
    """The distribution of ours that holds a module and can be shown; "" where none does."""
    with contextlib.suppress(ValueError):  # some modules that are loaded have no spec
        if importlib.util.find_spec(module) is not None:  # which is cheap, unlike all that is installed
            return next(
                (name for name in metadata.packages_distributions().get(module, ()) if name not in _REFUSED), ""
            )
    return ""


@dataclass(frozen=True)
class Distribution:
    """An installed distribution.

    Attributes:
        digest: of its list of files, which holds a digest of each.
        root: the folder that it is installed in; `places`: what belongs to it there.
        modules: what it is imported as.
    """

    name: str
    version: str
    digest: str
    root: str
    places: tuple[str, ...]
    modules: tuple[str, ...]


@dataclass(frozen=True)
class Packages:
    """What is shown.

    Attributes:
        python: the interpreter that has them.
        named: what was asked for; `needed`: what these require.
    """

    python: str = ""
    named: tuple[Distribution, ...] = ()
    needed: tuple[Distribution, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.named)

    def __str__(self) -> str:
        if not self.named:
            return "standard library only"
        more = f" (+{len(self.needed)})" if self.needed else ""
        return f"{', '.join(f'{one.name} {one.version}' for one in self.named)}{more} from {self.python}"

    @property
    def every(self) -> tuple[Distribution, ...]:
        return (*self.named, *self.needed)

    def sources(self) -> Iterator[tuple[str, str]]:
        """What is shown, as place among the packages and path."""
        return ((place, f"{one.root}/{place}") for one in self.every for place in one.places)

    def labels(self) -> tuple[str, ...]:
        """Of every distribution name and version."""
        return tuple(f"{one.name} {one.version}" for one in self.every)

    def warm(self) -> dict[str, list[str]]:
        """By distribution what is imported before any job."""
        return {one.name: list(one.modules) for one in self.named}

    def digest(self, python: str, hash_seed: int) -> str:
        """Of all that programs find.

        Args:
            python: version of the interpreter that runs them.
        """
        return digest_of([python, hash_seed, sorted([one.name, one.version, one.digest] for one in self.every)])


def digest_of(programs: Json) -> str:
    """Of what programs find."""
    return hashlib.sha256(canonical_json(programs).encode()).hexdigest()[:16]


NO_PACKAGES = Packages()


def find_packages(names: tuple[str, ...], python: str | None = None) -> Packages:
    """The distributions of these names, with what they require without extras.

    Args:
        python: the interpreter that has them; None for what evosyn itself can import.

    Raises:
        UsageError: naming a distribution that is not there or is never shown, or an interpreter of another kind.
    """
    if not names:
        return NO_PACKAGES
    for name in names:
        if not distributions.is_name(name):
            raise UsageError(f"{FIELD}: {name!r} is no name of a distribution; write it as pip does, [numpy, pandas]")
    found = distributions.find(names) if python is None else _asked(python, names)
    where = python or sys.executable
    keys = list(dict.fromkeys(map(distributions.canonical, names)))
    named, shown = len(keys), list[Distribution]()
    for key in keys:
        shown.append(_checked(key, found, where))
        keys += [required for required in _required(found[key]["requires"]) if required not in keys]
    return Packages(where, tuple(shown[:named]), tuple(shown[named:]))


def _required(requirements: Sequence[str]) -> list[str]:
    """The distributions that are required here."""
    from packaging.requirements import Requirement

    asked = map(Requirement, requirements)
    here = [one.name for one in asked if one.marker is None or one.marker.evaluate({"extra": ""})]
    return [distributions.canonical(name) for name in dict.fromkeys(here)]


def _checked(key: str, found: Mapping[str, Any], python: str) -> Distribution:
    if key in _REFUSED:
        raise UsageError(f"{FIELD}: {key} is never shown to programs: {_REFUSED[key]}; take it out")
    one = found[key]
    if one is None:
        raise UsageError(
            f"{FIELD}: {key} is not installed for {python}: pip install it there, or name an interpreter that has it "
            f"with {FIELD}_from=PATH"
        )
    if one["editable"]:
        raise UsageError(
            f"{FIELD}: {key} is an editable install, whose files may change at any time: install it as a wheel for "
            f"{python}"
        )
    return Distribution(
        one["name"], one["version"], one["digest"], one["root"], tuple(one["places"]), tuple(one["modules"])
    )


def _asked(python: str, names: tuple[str, ...]) -> Mapping[str, Any]:
    """What another interpreter has.

    Raises:
        UsageError: it is none, or its packages do not fit ours.
    """
    file = str(Path(distributions.__file__))
    try:
        done = subprocess.run([python, "-I", file, *names], capture_output=True, text=True, check=False, timeout=60)
        said = json.loads(done.stdout)
    except (OSError, ValueError, subprocess.TimeoutExpired) as error:
        raise UsageError(
            f"{FIELD}_from: {python!r} does not answer as a Python of 3.11 or later: {error}; name an interpreter, "
            "such as VENV/bin/python"
        ) from error
    ours = sysconfig.get_config_var("SOABI")
    if said["abi"] != ours:
        raise UsageError(
            f"{FIELD}_from: {python!r} has packages for {said['abi']}, programs run on {ours}: name an interpreter of "
            f"the same version, {sys.version_info.major}.{sys.version_info.minor}"
        )
    found: Mapping[str, Any] = said["found"]
    return found
