"""Families of tasks on a Linux system, as YAML with blanks, and the tasks that they make. Pure."""

from __future__ import annotations

import functools
import random
import re
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import resources

import yaml

from evosyn.domains.os_shell import NAME
from evosyn.errors import UsageError
from evosyn.randomness import SeedTree
from evosyn.records import Json, Problem, Testing

_BLANK = re.compile(r"<<(\w+)>>")
SEEDS_A_FAMILY = 3


@dataclass(frozen=True)
class ShellCase:
    """One task with its answer.

    Attributes:
        reference, alternatives: right scripts; those of a question print the answer.
        mistakes: wrong ones, the tempting one first.
        looks: what one does first to see what is there.
        observe, weak: print of the end state what matters, and less than that; empty for a question.
        difficulty: in [0, 1].
    """

    family: str
    params: Mapping[str, Json]
    statement: str
    asks: str
    init: str
    reference: str
    alternatives: tuple[str, ...]
    mistakes: tuple[str, ...]
    looks: tuple[str, ...]
    difficulty: float
    compare: str = "lines"
    observe: str = ""
    weak: str = ""

    @property
    def payload(self) -> dict[str, Json]:
        world = {"image": "host", "init": [{"language": "bash", "code": self.init}], "cwd": "/root"}
        return {"world": world, "asks": self.asks}

    def testing(self, script: str, *, weak: bool = False) -> dict[str, Json]:
        """The testing of one who takes this script for right."""
        if self.asks == "answer":
            return {"kind": "answer", "script": {"code": script}, "compare": self.compare}
        look = self.weak if weak else self.observe
        after = f"{{ {script}\n}} > /dev/null 2>&1\ncd /root\n{look}"
        return {"kind": "observe", "observe": {"code": look}, "expect": {"code": after}, "compare": self.compare}


@functools.cache
def shell_families() -> tuple[str, ...]:
    """Their names, sorted."""
    folder = resources.files(__package__) / "families"
    return tuple(sorted(entry.name.removesuffix(".yaml") for entry in folder.iterdir() if entry.name.endswith(".yaml")))


@functools.cache
def _read(name: str) -> Mapping[str, Json]:
    if name not in shell_families():
        raise UsageError(f"offline teacher: unknown family {name!r}; one of {', '.join(shell_families())}")
    found: Mapping[str, Json] = yaml.safe_load(
        (resources.files(__package__) / "families" / f"{name}.yaml").read_text(encoding="utf-8")
    )
    return found


def draw_params(name: str, rng: random.Random) -> dict[str, Json]:
    """The blanks of one task of a family."""
    return {blank: rng.choice(values) for blank, values in _read(name)["params"].items()}


def build_case(name: str, params: Mapping[str, Json]) -> ShellCase:
    """The task with these blanks filled.

    Raises:
        UsageError: no such family, or a blank without a value.
    """

    def fill(value: Json) -> Json:
        if isinstance(value, list):
            return tuple(map(fill, value))
        return _BLANK.sub(lambda found: str(params[found[1]]), value).strip() if isinstance(value, str) else value

    try:
        return ShellCase(name, dict(params), **{key: fill(one) for key, one in _read(name).items() if key != "params"})
    except KeyError as error:
        raise UsageError(f"offline teacher: family {name!r}: no value for the blank {error}") from error


def case_of(problem: Problem) -> ShellCase:
    """The task that a problem of ours is.

    Raises:
        UsageError: it is none of ours.
    """
    family, params = problem.meta.get("family"), problem.meta.get("params")
    if not isinstance(family, str) or not isinstance(params, Mapping):
        raise UsageError(
            f"offline teacher: problem {problem.problem_id!r}: of the domain {NAME!r} it can only simulate agents for "
            "tasks of its own families; use a model (--model provider/name)"
        )
    return build_case(family, params)


def seed_problems() -> list[Problem]:
    """The bundled seeds, `builtin:os-seeds`: some tasks of each family."""
    found = []
    for name in shell_families():
        rng, seen = SeedTree(0).child("os-seeds", name).random(), list[dict[str, Json]]()
        while len(seen) < SEEDS_A_FAMILY:
            params = draw_params(name, rng)
            if params in seen:
                continue
            seen.append(params)
            case = build_case(name, params)
            body = case.testing(case.reference)
            human = Testing(body.pop("kind"), body)
            meta = {"family": name, "params": params, "difficulty": case.difficulty}
            title = f"{name.replace('_', '-')}-{len(seen)}"
            found.append(Problem(title, NAME, case.statement, case.payload, human, case.reference, meta))
    return found
