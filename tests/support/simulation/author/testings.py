"""Draws one testing reply: which inputs, whose outputs, and in which form.

Inputs may be trivial, narrow or broad; outputs come from the reference, from a popular wrong solution, or have one or
most values damaged; the form is JSON, code with `build_cases()`, or nothing usable. All are things real models do.
"""

from __future__ import annotations

import math
import random
from typing import NamedTuple

from evosyn.randomness import SeedTree
from evosyn.records import Json
from simulation.author.profile import Author, Profile, author_of, chance
from simulation.author.replies import REFUSALS, DrawnReply, cases_text
from simulation.author.solutions import popular_mistake
from simulation.author.study import Example, Mistake, Study
from simulation.author.style import restyled
from simulation.author.values import as_json, damaged, is_json, same, size_of

MOST_CASES = 48
LITERAL_CHARACTERS = 600
"""Longer inputs are not written out, as no model would."""
LARGE_INPUTS = 3
EFFORTLESS = 0.1
"""How much rarer malformed testings are for a problem with nothing to it."""
SPREAD = 0.6


class Case(NamedTuple):
    value: Json
    output: Json


class TestingPlan(NamedTuple):
    """What a testing is going to be, decided before its text is written."""

    shape: str
    indices: list[int]
    author: Author
    is_right: bool


class Made(NamedTuple):
    """The cases of a testing, how they came about, and the program that computed the outputs, if one did."""

    cases: list[Case]
    truth: str
    program: str | None


def draw_testing(study: Study, profile: Profile, tree: SeedTree, sample: int) -> DrawnReply:
    """The `sample`-th testing reply for a studied problem; `tree` is the node of the problem."""
    rng = tree.child("testing", sample).random()
    author = author_of(profile.authors, rng)
    odds = chance(profile.testings.odds, study.knowledge.difficulty, author.care, tree.child("testing-odds"))
    shape = _shape(profile, rng)
    plan = TestingPlan(shape, _inputs(study, shape, profile, rng), author, rng.random() < odds)
    if plan.is_right:
        made = Made(_right_cases(study, plan, profile, rng), "right", study.right[0])
    else:
        made = _wrong_cases(study, plan, profile, rng)
    roll = rng.random()
    malformed = profile.testings.malformed * (EFFORTLESS if study.knowledge.difficulty == 0 else 1.0)
    if roll < malformed:
        return DrawnReply(_malformed(made.cases, rng), f"malformed/{shape}", author.name)
    if roll < malformed + profile.testings.code:
        text = cases_text(_code(study, plan, made, rng), "python", rng)
    else:
        text = cases_text(_json(made.cases, rng), "json", rng)
    return DrawnReply(text, f"{made.truth}/{shape}", author.name)


def draw_inputs(study: Study, profile: Profile, tree: SeedTree, sample: int) -> DrawnReply:
    """The `sample`-th reply with large inputs for a studied problem: the largest that it knows of, as code."""
    rng = tree.child("inputs", sample).random()
    allowed = [example for example in study.examples if not example.off_spec]
    largest = sorted(allowed, key=lambda example: -example.size)[:LARGE_INPUTS]
    rows = ",\n".join(f"        {example.value!r}" for example in largest)
    author = author_of(profile.authors, rng)
    return DrawnReply(
        cases_text(f"def build_inputs():\n    return [\n{rows}\n    ]", "python", rng), "right", author.name
    )


def _shape(profile: Profile, rng: random.Random) -> str:
    roll = rng.random()
    if roll < profile.testings.trivial:
        return "trivial"
    return "narrow" if roll < profile.testings.trivial + profile.testings.narrow else "broad"


def _inputs(study: Study, shape: str, profile: Profile, rng: random.Random) -> list[int]:
    """Indices of the examples that the testing uses, distinct, in the order in which it lists them."""
    usable = [
        at
        for at, example in enumerate(study.examples)
        if not example.off_spec and size_of(example.value) <= LITERAL_CHARACTERS
    ] or [at for at, example in enumerate(study.examples) if not example.off_spec][:8]
    if study.mistakes and study.mistakes[0].tempting and rng.random() < profile.mistakes.blind:
        usable = [at for at in usable if at in study.mistakes[0].outcomes and not _reveals(study, at)] or usable
    mean = profile.testings.mean_cases * {"trivial": 0.5, "narrow": 0.8, "broad": 1.12}[shape]
    count = round(rng.lognormvariate(math.log(mean) - SPREAD * SPREAD / 2, SPREAD))
    count = max(1, min(count, MOST_CASES, len(usable)))
    if shape == "trivial":
        smallest = study.examples[usable[0]].size
        tiny = [at for at in usable if study.examples[at].size == smallest]
        tiny = tiny[: max(3, len(tiny) * 2 // 3)]
        return rng.sample(tiny, min(count, len(tiny)))
    if shape == "narrow":
        start = rng.randrange(len(usable) - count + 1)
        return usable[start : start + count]
    chosen = rng.sample(usable, count)
    return sorted(chosen) if rng.random() < 0.5 else chosen


def _reveals(study: Study, at: int) -> bool:
    """Whether this input shows the tempting mistake of the problem."""
    outcome = study.mistakes[0].outcomes[at]
    return outcome.kind != "ok" or not same(outcome.value, study.examples[at].output)


def _right_cases(study: Study, plan: TestingPlan, profile: Profile, rng: random.Random) -> list[Case]:
    chosen = [study.examples[at] for at in plan.indices]
    beyond = [example for example in study.examples if example.off_spec]
    if beyond and plan.shape == "broad" and rng.random() < profile.testings.off_spec:
        chosen += rng.sample(beyond, min(len(beyond), rng.randint(1, 2)))
    return [Case(example.value, example.output) for example in chosen]


def _wrong_cases(study: Study, plan: TestingPlan, profile: Profile, rng: random.Random) -> Made:
    """Cases of which at least one is wrong."""
    roll = rng.random()
    if roll < profile.testings.believed:
        mistake = _believable(study, profile, rng)
        if mistake is not None:
            return Made(_believed(study, plan, mistake, rng), "believed", mistake.sources[0])
    chosen = [study.examples[at] for at in plan.indices]
    slipped = roll < profile.testings.believed + profile.testings.slipped
    wrong = {rng.randrange(len(chosen))}
    if not slipped:
        share = rng.uniform(0.7, 1.0)
        wrong |= {at for at in range(len(chosen)) if rng.random() < share}
    cases = [
        Case(example.value, _mistaken(example, chosen, rng) if at in wrong else example.output)
        for at, example in enumerate(chosen)
    ]
    return Made(cases, "slipped" if slipped else "confused", None)


def _believable(study: Study, profile: Profile, rng: random.Random) -> Mistake | None:
    """A popular wrong solution that gives an output for inputs enough."""
    speaking = [
        mistake
        for mistake in study.mistakes
        if sum(outcome.kind == "ok" and is_json(outcome.value) for outcome in mistake.outcomes.values())
        >= 0.6 * len(mistake.outcomes)
        and any(_differs(study, mistake, at) for at in mistake.outcomes)
    ]
    return popular_mistake(speaking, profile.mistakes, study.knowledge.difficulty, rng) if speaking else None


def _believed(study: Study, plan: TestingPlan, mistake: Mistake, rng: random.Random) -> list[Case]:
    """What the wrong solution says; where the chosen inputs do not reveal it, one that does is added."""
    indices = [at for at in plan.indices if at in mistake.outcomes and mistake.outcomes[at].kind == "ok"]
    if not any(_differs(study, mistake, at) for at in indices):
        indices.append(rng.choice([at for at in mistake.outcomes if _differs(study, mistake, at)]))
    return [Case(study.examples[at].value, mistake.outcomes[at].value) for at in indices]


def _differs(study: Study, mistake: Mistake, at: int) -> bool:
    outcome = mistake.outcomes[at]
    return outcome.kind == "ok" and not same(outcome.value, study.examples[at].output)


def _mistaken(example: Example, chosen: list[Example], rng: random.Random) -> Json:
    """A wrong output: a damaged one, or the one that belongs to another input."""
    other = rng.choice(chosen).output
    return other if rng.random() < 0.25 and other != example.output else damaged(example.output, rng)


def _literal(value: Json) -> Json:
    return value if is_json(value) else {"python": repr(value)}


def _json(cases: list[Case], rng: random.Random) -> str:
    objects = [{"input": _literal(case.value), "output": _literal(case.output)} for case in cases]
    if rng.random() < 0.3:
        return as_json(objects)
    return "[\n" + ",\n".join("  " + as_json(item) for item in objects) + "\n]"


def _code(study: Study, plan: TestingPlan, made: Made, rng: random.Random) -> str:
    """`build_cases()`: with a generator and the author's own solution where there are both, else written out."""
    knowledge = study.knowledge
    if made.program is None or knowledge.generator is None or knowledge.entry_point is None or rng.random() < 0.4:
        rows = "\n".join(
            f'    cases.append({{"input": {case.value!r}, "output": {case.output!r}}})' for case in made.cases
        )
        return f"def build_cases():\n    cases = []\n{rows}\n    return cases\n"
    largest = {"trivial": 0, "narrow": rng.randint(0, 2), "broad": 3}[plan.shape]
    sizes = [largest if plan.shape == "narrow" else rng.randint(0, largest) for _ in plan.indices]
    pairs = [(rng.randrange(10_000), min(size, 2 if rng.random() < 0.8 else 3)) for size in sizes]
    return "\n".join(
        [
            "import copy",
            "import random",
            "",
            knowledge.generator.strip(),
            "",
            restyled(made.program, rng, 0.0),
            "",
            "def build_cases():",
            "    cases = []",
            f"    for seed, size in {pairs!r}:",
            "        arguments = list(generate(random.Random(seed), size))",
            f"        expected = {knowledge.entry_point}(*copy.deepcopy(arguments))",
            '        cases.append({"input": arguments, "output": expected})',
            "    return cases",
        ]
    )


def _malformed(cases: list[Case], rng: random.Random) -> str:
    """A reply without a usable testing: cut off, Python instead of JSON, fields left out, empty, prose."""
    body = _json(cases, rng)
    python = "[" + ", ".join(repr({"input": case.value, "output": case.output}) for case in cases) + ", ...]"
    bare = as_json([{"input": _literal(case.value)} for case in cases])
    ways = (
        f"```json\n{body[: max(8, len(body) * 2 // 3)]}",
        f"```json\n{python}\n```",
        f"```json\n{bare}\n```",
        "```json\n[]\n```",
        "```python\ndef build_cases():\n    return cases\n```",
        rng.choice(REFUSALS),
    )
    return rng.choice(ways)
