"""Finds out what the teacher needs to know of one problem: inputs with right outputs, and the mistakes people make.

Inputs come from the problem's generator, mistakes from mutation; both are executed in the sandbox. Wrong programs that
do the same on every input form one `Mistake`, and mistakes are ranked by popularity. Nothing here depends on the clock.
"""

from __future__ import annotations

import logging
import math
import random
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

from evosyn.errors import SandboxUnavailable, UsageError
from evosyn.jobs import Call, CallsJob, ItemOutcome, Limits, Status
from evosyn.ports import Sandbox
from evosyn.randomness import SeedTree
from evosyn.records import Json
from simulation.author.fuel import metered
from simulation.author.knowledge import Knowledge
from simulation.author.mutate import Mutant, mutants
from simulation.author.profile import MistakeLaw
from simulation.author.slow import slow_variants
from simulation.author.values import extreme, is_json, listed, same, size_of, varied_arguments

logger = logging.getLogger(__name__)

INSIDE = Path(__file__).with_name("inside.py").read_text(encoding="utf-8")
LIMITS = Limits(cpu_s=20.0, budget_s=240.0, memory_mb=1024, output_kb=16_384)

DRAWN_PER_SIZE = (12, 20, 20, 6)
OFF_SPEC = 16
MUTANTS = 46
DOUBLE_MUTANTS = 12
PROBE_TICKS = 3_000
PROBE_CHARACTERS = 3_000
TICKS_IN_ALL = 80_000
"""Ticks of the reference over all probed inputs; where there would be more, some inputs are left out."""
REFERENCE_FUEL = 3_000_000
OFF_SPEC_FUEL = 20_000
FUEL, FUEL_SHARE = 500, 6
"""A variant may use so many ticks, and so many times those of the right program that it was made from."""
CORNER = (0.04, 0.4)
"""Share of the probed inputs that reveal a mistake which overlooks a corner."""
DEAR_TICKS = 60_000
"""Right programs that use more on a probed input are not mutated."""


class Example(NamedTuple):
    """An input with the reference's output and cost. `off_spec` marks inputs that the statement may not allow."""

    size: int
    value: Json
    output: Json
    ticks: int
    off_spec: bool = False


class StudyOutcome(NamedTuple):
    """What a program did on one input; `value` is its output where `kind` is `ok`."""

    kind: str
    value: Json


class StudyRow(NamedTuple):
    """What a program did on the probed inputs, by index of the examples.

    `strays` says whether it differs from the reference on an input beyond the statement; `ticks` is the cost of its
    dearest input.
    """

    outcomes: dict[int, StudyOutcome]
    strays: bool
    ticks: int


class Base(NamedTuple):
    """A right program that mistakes are made from, and the ticks of its dearest probed input."""

    source: str
    ticks: int


class StudyVariant(NamedTuple):
    """A mutant and the ticks that it may use on one input."""

    mutant: Mutant
    fuel: int


@dataclass(frozen=True)
class Mistake:
    """Wrong programs that behave alike.

    Attributes:
        sources: the programs, at least one.
        operators: the mutation operators of the first.
        outcomes: what they do on each probed input, by index of the study's examples.
        wrong_share: share of the probed inputs that reveal them, in (0, 1].
        hangs: they never end on some input.
        tempting: they overlook a corner of the statement, as many authors of solutions and testings do.
    """

    sources: tuple[str, ...]
    operators: tuple[str, ...]
    outcomes: dict[int, StudyOutcome]
    wrong_share: float
    hangs: bool
    tempting: bool = False


@dataclass(frozen=True)
class Study:
    """What was found out about one problem.

    Attributes:
        examples: inputs with right outputs, small ones first.
        right: programs that are right as far as was seen; the reference is the first.
        mistakes: the most popular first.
        near: changed programs that no probed input told from the reference.
        stray: the same, but they differ from the reference on inputs beyond the statement.
        slow: right programs that do needless work.
    """

    knowledge: Knowledge
    examples: tuple[Example, ...]
    right: tuple[str, ...]
    mistakes: tuple[Mistake, ...]
    near: tuple[str, ...]
    stray: tuple[str, ...]
    slow: tuple[str, ...]


def study(knowledge: Knowledge, sandbox: Sandbox, tree: SeedTree, law: MistakeLaw) -> Study:
    """Study one problem; blocks while the sandbox works.

    Args:
        tree: the node of this problem.
        law: how mistakes become popular.

    Raises:
        UsageError: the generator or the reference does not run.
        SandboxUnavailable: the sandbox failed.
    """
    examples = _examples(knowledge, sandbox, tree)
    slow = list(
        dict.fromkeys(text for base in (knowledge.reference, *knowledge.alternatives) for text in slow_variants(base))
    )
    others = [*knowledge.alternatives, *slow]
    rows = _probe(knowledge, sandbox, [(text, REFERENCE_FUEL) for text in others], examples)
    agreed = [row is not None and _wrong_share(row.outcomes, examples) == 0 for row in rows]
    first_slow = len(knowledge.alternatives)
    _report_odd_ones(knowledge, agreed)
    bases = [Base(knowledge.reference, max(example.ticks for example in _cheap(examples).values()))] + [
        Base(text, row.ticks)
        for text, row, good in zip(knowledge.alternatives, rows, agreed, strict=False)
        if row is not None and good and row.ticks <= DEAR_TICKS
    ]
    variants = _variants(bases, tree.child("mutants").random())
    texts = [(variant.mutant.source, variant.fuel) for variant in variants]
    found = _probe(knowledge, sandbox, texts, examples)
    return Study(
        knowledge=knowledge,
        examples=examples,
        right=(knowledge.reference, *_chosen(knowledge.alternatives, agreed)),
        near=_near(variants, found, examples, strays=False),
        stray=_near(variants, found, examples, strays=True),
        mistakes=_ranked(_grouped(variants, found, examples), tree.child("popularity").random(), law),
        slow=_chosen(slow, agreed[first_slow:]),
    )


def _near(
    variants: Sequence[StudyVariant], rows: Sequence[StudyRow | None], examples: Sequence[Example], strays: bool
) -> tuple[str, ...]:
    return tuple(
        variant.mutant.source
        for variant, row in zip(variants, rows, strict=True)
        if row is not None and row.strays is strays and _wrong_share(row.outcomes, examples) == 0
    )


def _report_odd_ones(knowledge: Knowledge, agreed: Sequence[bool]) -> None:
    for text, good in zip(knowledge.alternatives, agreed, strict=False):
        if not good:
            logger.warning("an alternative of problem %s differs from its reference: left out\n%s", knowledge.key, text)


def _chosen(texts: Sequence[str], flags: Sequence[bool]) -> tuple[str, ...]:
    return tuple(text for text, flag in zip(texts, flags, strict=False) if flag)


def _examples(knowledge: Knowledge, sandbox: Sandbox, tree: SeedTree) -> tuple[Example, ...]:
    drawn = _generated(knowledge, sandbox, tree) if knowledge.generator else _derived(knowledge, tree)
    rng = tree.child("off-spec").random()
    small = [value for size, value in drawn if size in (0, 1)]
    beyond = [(1, extreme(rng.choice(small), rng)) for _ in range(OFF_SPEC)] if small else []
    seen = {repr(value) for _, value in drawn}
    beyond = [(size, value) for size, value in beyond if repr(value) not in seen]
    source = metered(knowledge.reference)
    calls = [
        (source, knowledge.entry_point, [value for _, value in drawn], [REFERENCE_FUEL] * len(drawn)),
        (source, knowledge.entry_point, [value for _, value in beyond], [OFF_SPEC_FUEL] * len(beyond)),
    ]
    examples, reasons = [], set()
    for inputs, off_spec, outcome in zip((drawn, beyond), (False, True), _run(sandbox, "probe", calls), strict=True):
        if outcome.status is not Status.OK:
            reasons.add(f"{outcome.status} {outcome.detail}")
            continue
        for (size, value), (kind, output, ticks) in zip(inputs, outcome.value, strict=True):
            if kind == "ok" and (is_json(output) or not off_spec):
                examples.append(Example(size, value, listed(output), ticks, off_spec))
            else:
                reasons.add(f"{kind} {output}" if kind == "error" else kind)
    if all(example.off_spec for example in examples):
        raise UsageError(
            f"offline teacher: the reference solution of problem {knowledge.key} gives no usable value on any input "
            f"({', '.join(sorted(reasons))})"
        )
    return tuple(sorted(examples, key=lambda example: (example.size, example.ticks)))


def _generated(knowledge: Knowledge, sandbox: Sandbox, tree: SeedTree) -> list[tuple[int, Json]]:
    seeds = [
        [tree.child("input", size, index).integer() for index in range(count)]
        for size, count in enumerate(DRAWN_PER_SIZE)
    ]
    outcomes = _run(sandbox, "make", [(knowledge.generator, seeds[size], size) for size in range(len(seeds))])
    drawn: dict[str, tuple[int, Json]] = {}
    for size, outcome in enumerate(outcomes):
        if outcome.status is not Status.OK:
            raise UsageError(
                f"offline teacher: meta.input_generator failed for size {size}: {outcome.status} {outcome.detail}; it "
                "must define generate(rng, size) that returns a list of arguments, or a text for standard input"
            )
        for value in outcome.value:
            plain = listed(value)
            drawn.setdefault(repr(plain), (size, plain))
    return list(drawn.values())


def _derived(knowledge: Knowledge, tree: SeedTree) -> list[tuple[int, Json]]:
    rng = tree.child("derived").random()
    base = list(knowledge.example_inputs)
    found = {repr(value): (1, value) for value in base}
    for _ in range(sum(DRAWN_PER_SIZE)):
        value = varied_arguments(rng.choice(base), rng)
        found.setdefault(repr(value), (2, value))
    return list(found.values())


def _variants(bases: Sequence[Base], rng: random.Random) -> list[StudyVariant]:
    """Single mutants of every base and double mutants, at most `MUTANTS` and `DOUBLE_MUTANTS`."""
    each = max(8, MUTANTS // len(bases))
    single = [
        StudyVariant(mutant, FUEL + FUEL_SHARE * base.ticks)
        for base in bases
        for mutant in mutants(base.source, rng, each)
    ][:MUTANTS]
    double = []
    for variant in rng.sample(single, min(DOUBLE_MUTANTS, len(single))):
        for again in mutants(variant.mutant.source, rng, 1):
            double.append(StudyVariant(Mutant(again.source, variant.mutant.operators + again.operators), variant.fuel))
    unique = {variant.mutant.source: variant for variant in [*double, *single]}
    return list(unique.values())


def _probe(
    knowledge: Knowledge, sandbox: Sandbox, texts: Sequence[tuple[str, int]], examples: Sequence[Example]
) -> list[StudyRow | None]:
    """What each (text, fuel) does on the cheap inputs; None where the text broke the probe."""
    if not texts:
        return []
    within, beyond = _cheap(examples), _beyond(examples)
    values = [example.value for example in (*within.values(), *beyond.values())]
    calls = [
        (metered(text), knowledge.entry_point, values, [fuel] * len(within) + [min(fuel, OFF_SPEC_FUEL)] * len(beyond))
        for text, fuel in texts
    ]
    found: list[StudyRow | None] = []
    for outcome in _run(sandbox, "probe", calls):
        if outcome.status is not Status.OK:
            found.append(None)
            continue
        outcomes = [StudyOutcome(kind, listed(value)) for kind, value, _ in outcome.value]
        inside = dict(zip(within, outcomes, strict=False))
        outside = dict(zip(beyond, outcomes[len(within) :], strict=True))
        strays = bool(outside) and _wrong_share(outside, examples) > 0
        found.append(StudyRow(inside, strays, max(ticks for _, _, ticks in outcome.value[: len(within)])))
    return found


def _cheap(examples: Sequence[Example]) -> dict[int, Example]:
    """The examples on which variants are probed, by index: within the statement, small, together not too costly."""
    within = {at: example for at, example in enumerate(examples) if not example.off_spec}
    cheap = {at: example for at, example in within.items() if _is_cheap(example)}
    if not cheap:
        least = min(within, key=lambda at: within[at].ticks)
        return {least: within[least]}
    stride = min(math.ceil(sum(example.ticks for example in cheap.values()) / TICKS_IN_ALL), len(cheap) // 12) or 1
    return {at: cheap[at] for at in list(cheap)[::stride]}


def _beyond(examples: Sequence[Example]) -> dict[int, Example]:
    return {at: example for at, example in enumerate(examples) if example.off_spec and _is_cheap(example)}


def _is_cheap(example: Example) -> bool:
    return example.ticks <= PROBE_TICKS and size_of(example.value) <= PROBE_CHARACTERS


def _wrong_share(found: dict[int, StudyOutcome], examples: Sequence[Example]) -> float:
    wrong = [
        at for at, outcome in found.items() if outcome.kind != "ok" or not same(outcome.value, examples[at].output)
    ]
    return len(wrong) / len(found)


def _grouped(
    variants: Sequence[StudyVariant], rows: Sequence[StudyRow | None], examples: Sequence[Example]
) -> list[Mistake]:
    """The wrong variants, those that do the same on every input together."""
    groups: dict[str, list[tuple[Mutant, dict[int, StudyOutcome]]]] = {}
    for variant, row in zip(variants, rows, strict=True):
        if row is not None and _wrong_share(row.outcomes, examples) > 0:
            groups.setdefault(repr(row.outcomes), []).append((variant.mutant, row.outcomes))
    return [
        Mistake(
            sources=tuple(mutant.source for mutant, _ in members),
            operators=members[0][0].operators,
            outcomes=members[0][1],
            wrong_share=_wrong_share(members[0][1], examples),
            hangs=any(outcome.kind == "fuel" for outcome in members[0][1].values()),
        )
        for members in groups.values()
    ]


def _ranked(mistakes: Sequence[Mistake], rng: random.Random, law: MistakeLaw) -> tuple[Mistake, ...]:
    """In order of popularity: a random order that prefers what few inputs reveal and shuns what always crashes.

    On some problems one that overlooks a corner is tempting and comes first.
    """

    def rank(mistake: Mistake) -> float:
        weight = math.pow(1.02 - mistake.wrong_share, law.subtlety)
        crashes = sum(outcome.kind == "error" for outcome in mistake.outcomes.values()) / len(mistake.outcomes)
        weight *= 1.0 - 0.8 * crashes
        return rng.expovariate(1.0) / weight

    keyed = [(rank(mistake), position) for position, mistake in enumerate(mistakes)]
    ranked = [mistakes[position] for _, position in sorted(keyed)]
    corners = [mistake for mistake in ranked if CORNER[0] <= mistake.wrong_share <= CORNER[1] and _speaks(mistake)]
    if corners and rng.random() < law.tempted:
        ranked.remove(corners[0])
        ranked.insert(0, replace(corners[0], tempting=True))
    return tuple(ranked)


def _speaks(mistake: Mistake) -> bool:
    """It gives a value on every probed input: wrong, but not seen to be."""
    return all(outcome.kind == "ok" for outcome in mistake.outcomes.values())


def _run(sandbox: Sandbox, entry_point: str, calls: Sequence[tuple[Json, ...]]) -> tuple[ItemOutcome, ...]:
    job = CallsJob(INSIDE, entry_point, tuple(Call(args=call) for call in calls), LIMITS)
    for _ in range(3):
        outcomes = sandbox.run([job])[0]
        if all(outcome.status is not Status.INFRASTRUCTURE for outcome in outcomes):
            return outcomes
    raise SandboxUnavailable("offline teacher: the sandbox failed three times on the same job")
