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
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from importlib import metadata

from evosyn.errors import UsageError
from evosyn.jobs import Protection
from evosyn.records import Json, Problem, canonical_json
from evosyn.sandbox import distributions
from evosyn.sandbox.distributions import Distribution, canonical, is_name

UNSEEN = "which programs do not see"
_MISSING = re.compile(r"^ModuleNotFoundError: No module named '(\w+)'")
FIELD = "workbench.sandbox.packages"
SHOWN = "/packages"
"""Where they are in a jail with a view of its own."""
_REFUSED = {"evosyn": "no program sees it", "pytest": "testings are judged without it"}


def setting(names: Iterable[str]) -> str:
    """The setting that shows programs these distributions."""
    return f"--set {FIELD}='[{', '.join(names)}]'"


def lacking(problem: Problem, protection: Protection) -> str:
    """What a problem asks for that programs do not see, and how they come to; "" where they see it all."""
    given = problem.payload.get("packages")
    asked = [one for one in given if isinstance(one, str)] if isinstance(given, list) else []
    names = [shown.partition(" ")[0] for shown in protection.packages]
    missing = [name for name in dict.fromkeys(asked) if canonical(name) not in set(map(canonical, names))]
    advice = f"add {', '.join(missing)} to {FIELD}" if names else setting(missing)
    return f"needs {', '.join(missing)}, {UNSEEN}: {advice}" if missing else ""


def require_shown(problems: Iterable[Problem], protection: Protection) -> None:
    """Raises UsageError for a package that programs do not see."""
    for problem in problems:
        if reason := lacking(problem, protection):
            raise UsageError(f"problem {problem.problem_id!r}: {reason}")


@functools.lru_cache(maxsize=256)
def explained(detail: str) -> str:
    """What an exception says, and how programs come to see the module that it missed, where we have it ourselves."""
    match = _MISSING.search(detail)
    name = _distribution_of(match[1]) if match else ""
    return f"{detail}: imports {match[1]}, {UNSEEN}: {setting([name])}" if match and name else detail


@functools.lru_cache(maxsize=256)  # programs choose the names
def _distribution_of(module: str) -> str:
    """The distribution of ours that holds a module and can be shown; "" where none does."""
    with contextlib.suppress(ValueError):  # some modules that are loaded have no spec
        if importlib.util.find_spec(module) is not None:  # which is cheap, unlike all that is installed
            names = metadata.packages_distributions().get(module) or [""]
            return "" if {module, *names} & _REFUSED.keys() else names[0]
    return ""


@dataclass(frozen=True)
class Packages:
    """What is shown: what was `named`, what these `needed`, and the interpreter that has them."""

    python: str = ""
    named: tuple[Distribution, ...] = ()
    needed: tuple[Distribution, ...] = ()

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
        return tuple(f"{one.name} {one.version}" for one in self.every)

    def digest(self, hash_seed: int) -> str:
        """Of all that programs find on this interpreter."""
        return digest_of([sys.version, hash_seed, sorted([one.name, one.version, one.digest] for one in self.every)])


def digest_of(programs: Json) -> str:
    return hashlib.sha256(canonical_json(programs).encode()).hexdigest()[:16]


NO_PACKAGES = Packages()


def find_packages(names: tuple[str, ...], python: str | None = None) -> Packages:
    """The distributions of these names, with what they require without extras, as another interpreter has them or None.

    Raises:
        UsageError: naming a distribution that is not there or is never shown, or an interpreter of another kind.
    """
    if not names:
        return NO_PACKAGES
    for name in names:
        if not is_name(name):
            raise UsageError(f"{FIELD}: {name!r} is no name of a distribution; write it as pip does, [numpy, pandas]")
    where, found = python or sys.executable, distributions.find(names) if python is None else _asked(python, names)
    keys = list(dict.fromkeys(map(canonical, names)))
    named, shown = len(keys), list[Distribution]()
    for key in keys:
        shown.append(_checked(key, found, where))
        keys += dict.fromkeys(required for required in _required(shown[-1]) if required not in keys)
    return Packages(where, tuple(shown[:named]), tuple(shown[named:]))


def _required(one: Distribution) -> list[str]:
    """The distributions that it requires here."""
    from packaging.requirements import Requirement

    asked = map(Requirement, one.requires)
    return [canonical(each.name) for each in asked if each.marker is None or each.marker.evaluate({"extra": ""})]


def _checked(key: str, found: Mapping[str, Distribution], python: str) -> Distribution:
    reason = ""
    if key in _REFUSED:
        reason = f"is never shown to programs: {_REFUSED[key]}; take it out"
    elif key not in found:
        reason = f"is not installed for {python}: pip install it there, or name one that has it with {FIELD}_from=PATH"
    elif found[key].editable:
        reason = f"is an editable install, whose files may change at any time: install it as a wheel for {python}"
    if reason:
        raise UsageError(f"{FIELD}: {key} {reason}")
    return found[key]


def _asked(python: str, names: tuple[str, ...]) -> Mapping[str, Distribution]:
    """What another interpreter has; raises UsageError where it is none, or its packages do not fit ours."""
    command = [python, "-I", distributions.__file__, *names]
    try:
        said = json.loads(subprocess.run(command, capture_output=True, text=True, check=False, timeout=60).stdout)
    except (OSError, ValueError, subprocess.TimeoutExpired) as error:
        reason = f"does not answer as a Python of 3.11 or later: {error}; name one, such as VENV/bin/python"
        raise UsageError(f"{FIELD}_from: {python!r} {reason}") from error
    ours, version = sysconfig.get_config_var("SOABI"), f"{sys.version_info.major}.{sys.version_info.minor}"
    if said["abi"] != ours:
        reason = f"has packages for {said['abi']}, programs run on {ours}: name one of the same version, {version}"
        raise UsageError(f"{FIELD}_from: {python!r} {reason}")
    return {name: Distribution(**one) for name, one in said["found"].items()}
