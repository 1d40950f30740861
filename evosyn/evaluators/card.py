"""The card of a strategy: what it does, where it wins and loses, what each term is worth, how sure all that is.

Everything on it is measured or read off the source; no model writes it. DESIGN.md section 5.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from evosyn.evaluators.consistency import SeedConsistency
from evosyn.evaluators.draws import ConsistencyConfig
from evosyn.evaluators.intervals import Interval, bootstrap, difference
from evosyn.evaluators.terms import Variant, variants
from evosyn.parsing import parsed
from evosyn.ports import StrategyRunner
from evosyn.records import Candidate, Evaluation, Json, PassMatrix
from evosyn.strategies.evidence import reads
from evosyn.strategies.grammar.source import read
from evosyn.strategies.grammar.terms import glossary, notation

WON = 0.05
"""A seed is won or lost where the scores differ by more than this."""

LONGEST = 120
"""Characters of a term that are shown."""


@dataclass(frozen=True)
class Term:
    """One term left out: what it was worth, on the seeds.

    Attributes:
        gain: score of the whole program minus score without the term; None where the program is invalid without it.
        testing_gain: the same for the balanced accuracy of the chosen testing.
    """

    variant: Variant
    gain: float | None
    testing_gain: float | None


@dataclass(frozen=True)
class Card:
    """What is known of one strategy.

    Attributes:
        ours, theirs: on the seeds; `theirs` is what it is compared with.
        heldout, heldout_theirs: on problems that the search never saw; None where there are none.
        oracles: the best score that any ranking could reach, on the seeds and held out.
        alike: share of seeds on which each known strategy behaves in the same way, by name.
        cost: what finding it took, JSON.
    """

    name: str
    against: str
    text: str
    problem_ids: tuple[str, ...]
    ours: Evaluation
    theirs: Evaluation
    terms: tuple[Term, ...]
    heldout: Evaluation | None
    heldout_theirs: Evaluation | None
    oracles: tuple[float, float]
    alike: Mapping[str, float]
    cost: Mapping[str, Json]
    simulated: bool


@dataclass(frozen=True)
class CardRequest:
    """What a card is made from.

    Attributes:
        text, initial: the program, and the one that it is compared with.
        seeds, heldout: matrices; held-out ones may be none.
        known: further programs by name, to say what it resembles.
        simulated: solutions and testings came from a stand-in for a model (matrices may say so themselves).
    """

    name: str
    text: str
    initial: str
    seeds: Sequence[PassMatrix]
    heldout: Sequence[PassMatrix] = ()
    known: Mapping[str, str] | None = None
    cost: Mapping[str, Json] | None = None
    against: str = "initial"
    simulated: bool = False


def make_card(runner: StrategyRunner, request: CardRequest, config: ConsistencyConfig) -> Card:
    """Measure everything that the card says.

    Raises:
        UsageError: no seed can be used.
        SandboxUnavailable: passed through.
    """
    on_seeds = SeedConsistency(runner, request.seeds, config)
    ours, theirs = _evaluate(on_seeds, [request.text, request.initial])
    cut = variants(request.text) if ours.score is not None else []
    terms = [_term(ours, variant, found) for variant, found in zip(cut, _evaluate(on_seeds, _texts(cut)), strict=True)]
    held: list[Evaluation | None] = [None, None]
    oracle = float("nan")
    if request.heldout:
        on_heldout = SeedConsistency(runner, request.heldout, config)
        held[:], oracle = _evaluate(on_heldout, [request.text, request.initial]), on_heldout.oracle
    known = request.known or {}
    alike = {
        name: float(np.mean(np.isclose(ours.per_seed, found.per_seed)))
        for name, found in zip(known, _evaluate(on_seeds, list(known.values())), strict=True)
        if ours.per_seed and found.per_seed
    }
    return Card(
        name=request.name,
        against=request.against,
        text=request.text,
        problem_ids=on_seeds.draws.problem_ids,
        ours=ours,
        theirs=theirs,
        terms=tuple(sorted(terms, key=lambda term: -2.0 if term.gain is None else -term.gain)),
        heldout=held[0],
        heldout_theirs=held[1],
        oracles=(on_seeds.oracle, oracle),
        alike=alike,
        cost=request.cost or {},
        simulated=request.simulated or any(bool(matrix.meta.get("simulated")) for matrix in request.seeds),
    )


def render(card: Card) -> str:
    """The card as markdown."""
    sections = {
        f"# Strategy card: {card.name}": _scores(card),
        "## What it does": _words(card),
        "## Seeds won and lost": _duels(card),
        "## What its terms are worth": _worth(card),
        "## Cost to find it": [f"- {name}: {value}" for name, value in card.cost.items()],
        "## Source": ["```python", card.text.rstrip(), "```"],
    }
    return "\n\n".join("\n".join([title, "", *lines]) for title, lines in sections.items() if lines) + "\n"


def _scores(card: Card) -> list[str]:
    label = ["Solutions and testings are simulated: figures say nothing about a model."] if card.simulated else []
    if card.ours.score is None:
        return [*label, f"Invalid: {card.ours.invalid}"]
    rows = [
        f"| | problems | {card.name} | {card.against} | difference | testing: balanced accuracy | oracle |",
        "|" + "---|" * 7,
    ]
    sides = (("seeds", card.ours, card.theirs), ("held out", card.heldout, card.heldout_theirs))
    for (where, ours, theirs), oracle in zip(sides, card.oracles, strict=True):
        if ours is not None and theirs is not None and ours.score is not None and theirs.score is not None:
            rows.append(
                f"| {where} | {len(ours.per_seed)} | {ours.score:.3f} ({_between(bootstrap(ours.per_seed))}) "
                f"| {theirs.score:.3f} | {ours.score - theirs.score:+.3f} "
                f"({_between(difference(ours.per_seed, theirs.per_seed))}) "
                f"| {ours.metrics['testing_balanced_accuracy']:.3f}, {card.against} "
                f"{theirs.metrics['testing_balanced_accuracy']:.3f} | {oracle:.3f} |"
            )
    note = "Intervals: 95 %, over problems. The score on seeds that a search chose by is too high; held out it is not."
    return [*label, *([""] if label else []), *rows, "", note]


def _words(card: Card) -> list[str]:
    lines = []
    program, docstring = read(card.text), _docstring(card.text)
    if program is not None:
        lines.append(f"- Solutions are ranked by `{notation(program.solutions)}`.")
        lines.append(f"- Testings are ranked by `{notation(program.testings)}`.")
        lines += [f"- `{line.partition(':')[0]}`{line[line.index(':') :]}" for line in glossary(program)]
    elif docstring:
        lines.append(f"- In its own words: {docstring}")
    used = reads(card.text)
    if used:
        lines.append(f"- It reads {', '.join(used)} of the evidence.")
    if len(card.ours.descriptor) >= 2:
        strictness, correlation = card.ours.descriptor[:2]
        lines.append(
            f"- The testing that it chooses accepts {strictness:.0%} of the solutions on average; its ranking of "
            f"solutions follows the plain pass count with a rank correlation of {correlation:.2f}."
        )
    if card.alike:
        name, share = max(card.alike.items(), key=lambda item: item[1])
        lines.append(f"- Of the known strategies it comes closest to {name}: equal scores on {share:.0%} of the seeds.")
    return lines + [f"- {line}" for line in card.ours.feedback if line.startswith("warning")]


def _duels(card: Card) -> list[str]:
    if card.ours.score is None or card.theirs.score is None:
        return ["Nothing to compare."]
    gaps = np.subtract(card.ours.per_seed, card.theirs.per_seed)
    lines = [
        f"Against {card.against}: {(gaps > WON).sum()} won, {(gaps < -WON).sum()} lost, "
        f"{(np.abs(gaps) <= WON).sum()} even (by more than {WON} of a seed's score)."
    ]
    for title, order in (("won", np.argsort(-gaps)), ("lost", np.argsort(gaps))):
        shown = [index for index in order[:5] if (gaps[index] > WON if title == "won" else gaps[index] < -WON)]
        lines += [
            f"- {title} {card.problem_ids[at]}: {card.ours.per_seed[at]:.2f} against {card.theirs.per_seed[at]:.2f}"
            for at in shown
        ]
    return lines


def _worth(card: Card) -> list[str]:
    if not card.terms:
        return ["No term can be left out."]
    lines = ["| left out | of | score lost | balanced accuracy lost |", "|---|---|---|---|"]
    for term in card.terms:
        gain = "needed: invalid without it" if term.gain is None else f"{term.gain:+.3f}"
        testing = "" if term.testing_gain is None else f"{term.testing_gain:+.3f}"
        removed = term.variant.removed.replace("|", "\\|").replace("\n", " ")
        lines.append(f"| `{removed[:LONGEST]}` | {term.variant.where} | {gain} | {testing} |")
    return lines


def _term(ours: Evaluation, variant: Variant, without: Evaluation) -> Term:
    if ours.score is None or without.score is None:
        return Term(variant, None, None)
    name = "testing_balanced_accuracy"
    return Term(variant, ours.score - without.score, ours.metrics[name] - without.metrics[name])


def _evaluate(evaluator: SeedConsistency, texts: Sequence[str]) -> list[Evaluation]:
    return evaluator.evaluate([Candidate(text) for text in texts])


def _texts(found: Sequence[Variant]) -> list[str]:
    return [variant.text for variant in found]


def _between(interval: Interval) -> str:
    return f"{interval.low:.3f} to {interval.high:.3f}"


def _docstring(text: str) -> str:
    try:
        return " ".join((ast.get_docstring(parsed(text)) or "").split())
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ""
