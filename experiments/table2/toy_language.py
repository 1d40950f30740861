"""The small world of `--size cpu`: list functions in Python of three statements, and authors who err.

A specification such as "reverse, double, evens" stands for a Python function with one statement a word. A model can
learn it from scratch in a minute, every program is run in the sandbox like any other, and what is right is known. It is
a mechanism check on a toy family, not evidence about language models, and the reports say so.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from evosyn.records import Pool, Problem, Provenance, Solution, Testing

Items = list[int]


class Operation(NamedTuple):
    """One word of the language: the statement that it stands for, its meaning, and the words it is confused with."""

    line: str
    apply: Callable[[Items], Items]
    confused: tuple[str, ...]


OPERATIONS: dict[str, Operation] = {
    "dropfirst": Operation("xs = xs[1:]", lambda xs: xs[1:], ("droplast", "reverse")),
    "droplast": Operation("xs = xs[:-1]", lambda xs: xs[:-1], ("dropfirst", "reverse")),
    "reverse": Operation("xs = xs[::-1]", lambda xs: xs[::-1], ("ascending", "descending")),
    "ascending": Operation("xs = sorted(xs)", sorted, ("descending", "reverse")),
    "descending": Operation("xs = sorted(xs)[::-1]", lambda xs: sorted(xs)[::-1], ("ascending", "reverse")),
    "double": Operation("xs = [2 * x for x in xs]", lambda xs: [2 * x for x in xs], ("increment", "square")),
    "increment": Operation("xs = [x + 1 for x in xs]", lambda xs: [x + 1 for x in xs], ("double", "negate")),
    "negate": Operation("xs = [-x for x in xs]", lambda xs: [-x for x in xs], ("increment", "absolute")),
    "square": Operation("xs = [x * x for x in xs]", lambda xs: [x * x for x in xs], ("double", "absolute")),
    "absolute": Operation("xs = [abs(x) for x in xs]", lambda xs: [abs(x) for x in xs], ("negate", "square")),
    "evens": Operation(
        "xs = [x for x in xs if x % 2 == 0]", lambda xs: [x for x in xs if x % 2 == 0], ("positives", "dropfirst")
    ),
    "positives": Operation("xs = [x for x in xs if x > 0]", lambda xs: [x for x in xs if x > 0], ("evens", "droplast")),
}
HEAD, TAIL = "```python\ndef f(xs):\n", "    return xs\n```"
LENGTH = 3
Spec = tuple[str, ...]


@dataclass(frozen=True)
class Noise:
    """How good the simulated teacher is.

    Attributes:
        solution: chance that a statement of a solution is a confused one.
        testing: the same for the program from which a testing's outputs come.
        trivial: chance that a testing is written on trivial inputs (empty lists, single zeros).
        corrupted: chance that one output of a testing is damaged.
        lost: chance that a problem is beyond the teacher, which then confuses four statements of five in solutions and
            testings alike. Such problems are what pruning is for.
    """

    solution: float = 0.3
    testing: float = 0.3
    trivial: float = 0.25
    corrupted: float = 0.15
    lost: float = 0.15

    def of_problem(self, generator: random.Random) -> Noise:
        """The noise of one problem: as given, or, for a problem beyond the teacher, much worse."""
        if generator.random() >= self.lost:
            return self
        return replace(self, solution=0.8, testing=0.8)


def program(spec: Sequence[str]) -> str:
    """The answer as a model writes it: a fenced Python function."""
    return HEAD + "".join(f"    {OPERATIONS[word].line}\n" for word in spec) + TAIL


def source(spec: Sequence[str]) -> str:
    """The same without the fence."""
    return program(spec).removeprefix("```python\n").removesuffix("```")


def run(spec: Sequence[str], items: Items) -> Items:
    """What the right program returns; our own table, nothing untrusted."""
    for word in spec:
        items = OPERATIONS[word].apply(items)
    return items


def draw_specs(count: int, generator: random.Random) -> list[Spec]:
    """Distinct specifications whose every single confusion changes the function, so that a testing can tell."""
    probes = [inputs(generator) for _ in range(40)]
    found: dict[Spec, None] = {}
    while len(found) < count:
        spec = tuple(generator.choice(list(OPERATIONS)) for _ in range(LENGTH))
        if all(_differ(spec, other, probes) for other in confusions(spec)):
            found[spec] = None
    return list(found)


def confusions(spec: Spec) -> list[Spec]:
    """Every specification with exactly one word confused."""
    return [
        (*spec[:place], other, *spec[place + 1 :])
        for place, word in enumerate(spec)
        for other in OPERATIONS[word].confused
    ]


def confuse(spec: Spec, chance: float, generator: random.Random) -> Spec:
    """What a careless author makes of it."""
    return tuple(generator.choice(OPERATIONS[word].confused) if generator.random() < chance else word for word in spec)


def inputs(generator: random.Random) -> Items:
    return [generator.randint(-6, 9) for _ in range(generator.randint(3, 7))]


def make_pool(spec: Spec, size: int, noise: Noise, generator: random.Random) -> Pool:
    """A problem with a careful human testing and `size` careless solutions and testings."""
    name = "-".join(spec)
    noise = noise.of_problem(generator)
    problem = Problem(
        problem_id=name,
        domain="python-function",
        statement=f"Write f(xs) for a list of integers. In this order: {', '.join(spec)}. Return the list.",
        payload={"entry_point": "f"},
        human_testing=make_testing(spec, [inputs(generator) for _ in range(12)], Provenance("human")),
        reference_solution=source(spec),
    )
    teacher = Provenance("list-author", simulated=True)
    solutions = tuple(Solution(source(confuse(spec, noise.solution, generator)), teacher) for _ in range(size))
    testings = tuple(_careless(spec, noise, generator, teacher) for _ in range(size))
    return Pool(problem, solutions, testings)


def make_testing(spec: Sequence[str], cases: Sequence[Items], provenance: Provenance) -> Testing:
    body = {"cases": [{"input": [xs], "output": run(spec, list(xs))} for xs in cases]}
    return Testing("cases", body, provenance)


def is_good(testing: Testing, spec: Spec) -> bool:
    """It accepts the right program and refuses every single confusion of it."""

    def accepts(other: Spec) -> bool:
        return all(run(other, list(case["input"][0])) == case["output"] for case in testing.body["cases"])

    return accepts(spec) and not any(accepts(other) for other in confusions(spec))


def _careless(spec: Spec, noise: Noise, generator: random.Random, provenance: Provenance) -> Testing:
    trivial = generator.random() < noise.trivial
    cases = [generator.choice([[], [0]]) if trivial else inputs(generator) for _ in range(8)]
    testing = make_testing(confuse(spec, noise.testing, generator), cases, provenance)
    if generator.random() < noise.corrupted:
        damaged = [dict(case) for case in testing.body["cases"]]
        victim = generator.choice(damaged)
        victim["output"] = [*victim["output"], 1]
        testing = Testing("cases", {"cases": damaged}, provenance)
    return testing


def _differ(one: Spec, other: Spec, probes: Sequence[Items]) -> bool:
    return any(run(one, list(xs)) != run(other, list(xs)) for xs in probes)
