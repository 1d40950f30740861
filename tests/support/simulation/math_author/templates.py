"""Problems in words from templates with blanks, with the steps to their answer. Pure. Mirzadeh 2024 (GSM-Symbolic)."""

from __future__ import annotations

import functools
import random
import re
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import resources

import yaml

from evosyn.domains.answers.reading import Number, read_answer
from evosyn.domains.math_answer import KIND, NAME
from evosyn.errors import UsageError
from evosyn.randomness import SeedTree
from evosyn.records import Json, Problem, Testing

SEEDS_A_TEMPLATE = 2
MOST_DRAWS = 10_000
SWAPPED = {"+": "-", "-": "+", "*": "+", "/": "-"}
_BLANK = re.compile(r"<<(\w+)>>")
_NAME = re.compile(r"[a-z]+")


@dataclass(frozen=True)
class WorkingStep:
    """`name = formula`, with numbers in place of the names that the formula uses, and what it comes to."""

    name: str
    formula: str
    value: str


@dataclass(frozen=True)
class MathCase:
    """One problem with its working.

    Attributes:
        template, params: what it was made from.
        wrong: other workings, that end in other answers; the one that forgets the last step comes first.
    """

    template: str
    setting: str
    unit: str
    params: Mapping[str, Json]
    statement: str
    steps: tuple[WorkingStep, ...]
    wrong: tuple[tuple[WorkingStep, ...], ...]

    @property
    def answer(self) -> str:
        return self.steps[-1].value

    @property
    def difficulty(self) -> float:
        return round(min(0.15 * len(self.steps), 0.9), 2)

    @property
    def meta(self) -> dict[str, Json]:
        about = {"template": self.template, "params": dict(self.params), "setting": self.setting}
        return {**about, "difficulty": self.difficulty}


@functools.cache
def templates() -> Mapping[str, Mapping[str, Json]]:
    """Them all, by id."""
    text = (resources.files(__package__) / "templates.yaml").read_text(encoding="utf-8")
    return {one["id"]: one for one in yaml.safe_load(text)}


def build_case(template: str, params: Mapping[str, Json]) -> MathCase:
    """The problem of a template with these blanks.

    Raises:
        UsageError: no such template, a blank without a value, or a step that is no positive whole number.
    """
    found = templates().get(template)
    if found is None or set(found["params"]) != set(params):
        raise UsageError(f"offline teacher: it has no template {template!r} with the blanks {', '.join(params)}")
    steps = worked(found["steps"], params)
    if steps is None:
        raise UsageError(f"offline teacher: template {template!r} cannot have the blanks {dict(params)!r}")
    statement = _BLANK.sub(lambda blank: str(params[blank[1]]), found["text"])
    wrong: dict[str, tuple[WorkingStep, ...]] = {}
    for other in _wrong(found["steps"], params):
        wrong.setdefault(other[-1].value, other)
    wrong.pop(steps[-1].value, None)
    return MathCase(template, found["setting"], found["unit"], params, statement, steps, tuple(wrong.values()))


def draw_case(template: str, rng: random.Random) -> MathCase:
    """A problem of a template.

    Raises:
        UsageError: no drawn blanks fit.
    """
    for _ in range(MOST_DRAWS):
        params = {name: _drawn(values, rng) for name, values in templates()[template]["params"].items()}
        if worked(templates()[template]["steps"], params) is not None:
            return build_case(template, params)
    raise UsageError(f"offline teacher: no blanks that were drawn fit the template {template!r}")


def case_of(problem: Problem) -> MathCase:
    """The case that a problem of ours is.

    Raises:
        UsageError: it is none of ours.
    """
    template, params = problem.meta.get("template"), problem.meta.get("params")
    if not isinstance(template, str) or not isinstance(params, Mapping):
        raise UsageError(
            f"offline teacher: problem {problem.problem_id!r}: of the domain {NAME!r} it can only solve problems of "
            "its own templates; use a model (--model provider/name)"
        )
    return build_case(template, params)


def seed_problems() -> list[Problem]:
    """The bundled seeds, `builtin:math-seeds`: some problems of each template."""
    found = []
    for name in templates():
        rng, seen = SeedTree(0).child("math-seeds", name).random(), set[str]()
        while len(seen) < SEEDS_A_TEMPLATE:
            case = draw_case(name, rng)
            if case.statement in seen:
                continue
            seen.add(case.statement)
            human, solved = Testing(KIND, {"answer": case.answer}), f"{working(case.steps)}\n\\boxed{{{case.answer}}}"
            found.append(Problem(f"{name}-{len(seen)}", NAME, case.statement, {}, human, solved, case.meta))
    return found


def working(steps: tuple[WorkingStep, ...]) -> str:
    """Steps as a person writes them."""
    return "\n".join(f"{step.name}: {step.formula} = {step.value}" for step in steps)


def worked(
    lines: list[str], params: Mapping[str, Json], slip: tuple[int, int] = (-1, 0)
) -> tuple[WorkingStep, ...] | None:
    """The steps with their values; None where one comes to something else than a positive whole number.

    Args:
        slip: the place of a step that goes wrong, and by how much.
    """
    known, steps = dict(params), []
    for place, line in enumerate(lines):
        name, _, formula = line.partition(" = ")
        written = _NAME.sub(lambda one: str(known[one[0]]), formula)
        found = read_answer(f"({written})")  # bare, a difference may be a range
        value = found.value.rational if isinstance(found, Number) else None
        if value is None or value.denominator != 1 or (value := value + slip[1] * (place == slip[0])) <= 0:
            return None
        known[name] = int(value)
        steps.append(WorkingStep(name, written, str(known[name])))
    return tuple(steps)


def _wrong(lines: list[str], params: Mapping[str, Json]) -> list[tuple[WorkingStep, ...]]:
    """Steps of which one is wrong, or the last one left out."""
    tried = [worked(lines[:-1], params)]
    for place, line in enumerate(lines):
        for sign in SWAPPED:
            if f" {sign} " in line:
                swapped = line.replace(f" {sign} ", f" {SWAPPED[sign]} ", 1)
                tried.append(worked([*lines[:place], swapped, *lines[place + 1 :]], params))
        tried += [worked(lines, params, (place, by)) for by in (10, -1, 1, -10)]
    return [steps for steps in tried if steps]


def _drawn(values: list[Json], rng: random.Random) -> Json:
    return rng.choice(values) if isinstance(values[0], str) else rng.randint(*values)
