"""The card of a strategy: what it does, where it wins and loses, what each term is worth, how sure all that is.

Everything on it is measured or read off the source; no model writes it. DESIGN.md section 5.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from evosyn.codec import dump
from evosyn.evaluators.consistency import SeedConsistency
from evosyn.evaluators.draws import ConsistencyConfig
from evosyn.evaluators.duel import Duel, SeedsWon, duels, likeness, told
from evosyn.evaluators.intervals import between, bootstrap, difference
from evosyn.evaluators.pruning import PrunedProgram, prune_terms
from evosyn.evaluators.terms import Variant, variants
from evosyn.evolve.selection import WON
from evosyn.parsing import tree_or_none
from evosyn.ports import StrategyRunner
from evosyn.records import Candidate, Evaluation, Json, PassMatrix, Unit
from evosyn.strategies import RANKS
from evosyn.strategies.evidence import reads
from evosyn.strategies.grammar.source import read
from evosyn.strategies.grammar.terms import glossary, notation
from evosyn.textual import score_text

NOISE = 0.005
"""Terms whose removal changes neither figure by more than this share a line."""
LONGEST = 120
"""Characters of a term that are shown."""


Where: TypeAlias = tuple[Sequence[str], Sequence[str]]
"""The task and the pool of each problem."""


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
        where: tasks and pools of the problems, on the seeds and held out; `seed`: of their draws, and of the intervals.
        alike: mean rank correlation of its rankings of solutions with those of each known strategy, by name.
        duels, parent_duels: with the other program, and with its parent: the largest gains and losses.
        pruned: the program without the terms that earn nothing; `pruned_heldout` is what it comes to held out.
        idea: what the model said about the program, where one made it.
        cost: what finding it took, JSON.
        unit: what it ranks beside solutions.
    """

    name: str
    against: str
    text: str
    ours: Evaluation
    theirs: Evaluation
    terms: tuple[Term, ...]
    heldout: Evaluation | None
    heldout_theirs: Evaluation | None
    oracles: tuple[float, float]
    where: tuple[Where, Where]
    alike: Mapping[str, float]
    cost: Mapping[str, Json]
    simulated: bool
    duels: tuple[Duel, ...] = ()
    parent_duels: tuple[Duel, ...] = ()
    pruned: PrunedProgram | None = None
    pruned_heldout: Evaluation | None = None
    seed: int = 0
    idea: str = ""
    unit: Unit = "testing"

    @property
    def cut_is_worse(self) -> bool:
        """Whether the pruned program falls behind the whole held out, or is invalid there."""
        if self.heldout is None or self.heldout.score is None or self.pruned_heldout is None:
            return False
        left = self.pruned_heldout.score
        return left is None or left < self.heldout.score - NOISE


JOINED = " Its testing joins all cases that its best solutions pass."


@dataclass(frozen=True)
class CardRequest:
    """What a card is made from.

    Attributes:
        text, initial: the program, and the one that it is compared with.
        parent: the program that it was made from, if it is neither of these.
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
    idea: str = ""
    parent: str | None = None


def make_card(runner: StrategyRunner, request: CardRequest, config: ConsistencyConfig) -> Card:
    """Measure everything that the card says.

    Raises:
        UsageError: no seed can be used.
        SandboxUnavailable: passed through.
    """
    on_seeds = SeedConsistency(runner, request.seeds, config)
    ours, theirs = _evaluate(on_seeds, [request.text, request.initial])
    known = dict(request.known or {})
    cut = variants(request.text) if ours.score is not None else []
    terms = [_term(ours, variant, found) for variant, found in zip(cut, _evaluate(on_seeds, _texts(cut)), strict=True)]
    pruned = prune_terms(on_seeds, request.text) if ours.score is not None else None
    parent = request.initial if request.parent is None else request.parent
    mine, other, before, *rest = on_seeds.behaviours([request.text, request.initial, parent, *known.values()])
    held: list[Evaluation | None] = [None, None, None]
    oracle, held_where = float("nan"), (tuple[str, ...](), tuple[str, ...]())
    if request.heldout:
        on_heldout = SeedConsistency(runner, request.heldout, config)
        texts = [request.text, request.initial, *([] if pruned is None else [pruned.text])]
        held[: len(texts)], oracle = _evaluate(on_heldout, texts), on_heldout.oracle
        held_where = on_heldout.draws.tasks_P, on_heldout.draws.pools_P
    return Card(
        name=request.name,
        against=request.against,
        text=request.text,
        ours=ours,
        theirs=theirs,
        terms=tuple(sorted(terms, key=lambda term: -2.0 if term.gain is None else -term.gain)),
        heldout=held[0],
        heldout_theirs=held[1],
        oracles=(on_seeds.oracle, oracle),
        where=((on_seeds.draws.tasks_P, on_seeds.draws.pools_P), held_where),
        seed=on_seeds.config.seed,
        alike={
            name: found for name, one in zip(known, rest, strict=True) if (found := likeness(mine, one)) is not None
        },
        cost=request.cost or {},
        simulated=request.simulated or any(bool(matrix.meta.get("simulated")) for matrix in request.seeds),
        duels=duels(mine, other),
        parent_duels=() if request.parent is None else duels(mine, before),
        pruned=pruned,
        pruned_heldout=held[2],
        idea=request.idea,
        unit=config.unit,
    )


def render(card: Card) -> str:
    """The card as markdown."""
    sections = {
        f"# Strategy card: {card.name}": _scores(card),
        "## What it does": _words(card),
        "## Seeds won and lost": _duels(card),
        "## Which of its parts matter": _matters(card),
        "## What its terms are worth": _worth(card),
        "## Cost to find it": [f"- {name}: {value}" for name, value in card.cost.items()],
        "## Source": ["```python", card.text.rstrip(), "```"],
    }
    return "\n\n".join("\n".join([title, "", *lines]) for title, lines in sections.items() if lines) + "\n"


def pruned_file(card: Card) -> str | None:
    """What is left of the program, under a docstring that says of which one and how good it is; None where nothing went
    or what is left is worse held out, so that nobody should use it."""
    pruned = card.pruned
    if pruned is None or not pruned.removed or card.cut_is_worse:
        return None
    told = f"Cut down from {card.name}, which stands in strategy.py: without {_many(pruned)} that earned nothing."
    ranks = RANKS.format(unit=card.unit)
    return f'"""{told}\n\n{ranks}\nIt has {_figures(card, pruned)}.\n"""\n\n{pruned.text}'


def card_facts(card: Card) -> dict[str, Json]:
    """The card as JSON, for whoever shows it: all of it but the source and the cost."""
    pruned, left = card.pruned, None if card.pruned is None else read(card.pruned.text)
    formula = None if left is None else {"solutions": notation(left.solutions), "testings": notation(left.testings)}
    return {
        "against": card.against,
        "unit": card.unit,
        "seeds": SeedsWon.of(card.ours.per_seed, card.theirs.per_seed)._asdict(),
        "words": [line.removeprefix("- ") for line in _words(card)],
        "duels": [dump(one, defaults=True) for one in card.duels],
        "parent_duels": [dump(one, defaults=True) for one in card.parent_duels],
        "terms": [
            {
                "removed": term.variant.removed,
                "where": term.variant.where,
                "gain": term.gain,
                "testing_gain": term.testing_gain,
            }
            for term in card.terms
        ],
        "pruned": pruned
        and {
            "text": pruned.text,
            "formula": formula,
            "removed": list(pruned.removed),
            "tokens": pruned.tokens,
            "tokens_before": pruned.tokens_before,
            "score": pruned.evaluation.score,
            "heldout_score": None if card.pruned_heldout is None else card.pruned_heldout.score,
            "worse": card.cut_is_worse,
        },
        "score": card.ours.score,
        "heldout_score": None if card.heldout is None else card.heldout.score,
    }


def _scores(card: Card) -> list[str]:
    label = ["Solutions and testings are simulated: figures say nothing about a model."] if card.simulated else []
    if card.ours.score is None:
        return [*label, f"Invalid: {card.ours.invalid}"]
    rows = [
        f"| | problems | {card.name} | {card.against} | difference | testing: balanced accuracy | oracle |",
        "|" + "---|" * 7,
    ]
    sides = (("seeds", card.ours, card.theirs), ("held out", card.heldout, card.heldout_theirs))
    for (side, ours, theirs), oracle, (tasks_P, pools_P) in zip(sides, card.oracles, card.where, strict=True):
        if ours is not None and theirs is not None and ours.score is not None and theirs.score is not None:
            own = bootstrap(ours.per_seed, card.seed, tasks_P, pools_P)
            ahead = difference(ours.per_seed, theirs.per_seed, tasks_P=tasks_P, pools_P=pools_P)
            rows.append(
                f"| {side} | {len(ours.per_seed)} | {ours.score:.3f} ({between(own)}) "
                f"| {theirs.score:.3f} | {ours.score - theirs.score:+.3f} ({between(ahead, '+')}) "
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
    lines.append(f"- {RANKS.format(unit=card.unit)}" + (JOINED if card.unit == "case" else ""))
    if card.idea:
        lines.append(f"- The model that made it said: {' '.join(card.idea.split())}")
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
        name, likest = max(card.alike.items(), key=lambda item: item[1])
        lines.append(
            f"- Of the known strategies it comes closest to {name}: their rankings of solutions have a mean rank "
            f"correlation of {likest:.2f}."
        )
    return lines + [f"- {line}" for line in card.ours.feedback if line.startswith("warning")]


def _duels(card: Card) -> list[str]:
    if card.ours.score is None or card.theirs.score is None:
        return ["Nothing to compare."]
    found = SeedsWon.of(card.ours.per_seed, card.theirs.per_seed)
    lines = [
        f"Against {card.against}: {found.won} won, {found.lost} lost, {found.even} even (by more than {WON} of a "
        "seed's score). Below, the draws on which the two differ most; s and t count solutions and testings."
    ]
    for duel in card.duels:
        first, *rest = told(duel, "it", card.against)
        lines += [f"- {first}", *(f"    - {line}" for line in rest)]
    return lines


def _matters(card: Card) -> list[str]:
    pruned = card.pruned
    if pruned is None or pruned.evaluation.score is None or card.ours.score is None:
        return []
    if not pruned.removed:
        return ["All of it: no term can go without a loss that chance does not explain."]
    level = (
        "it is level with the whole on the seeds but not held out, so it needs them"
        if card.cut_is_worse
        else "it is level with the whole"
    )
    return [
        f"Without {_many(pruned)} {level}: {_figures(card, pruned)}; {pruned.tokens} tokens of {pruned.tokens_before}. "
        "What is left:",
        "",
        *_formula(pruned.text),
    ]


def _many(pruned: PrunedProgram) -> str:
    return f"{len(pruned.removed)} term" + ("s" if len(pruned.removed) > 1 else "")


def _figures(card: Card, pruned: PrunedProgram) -> str:
    """What is left against the whole, on the seeds and held out."""
    told = f"{score_text(pruned.evaluation.score)} against {score_text(card.ours.score)} on the seeds"
    if card.heldout is None or card.pruned_heldout is None:
        return told
    return f"{told}, held out {score_text(card.pruned_heldout.score)} against {score_text(card.heldout.score)}"


def _formula(text: str) -> list[str]:
    """A program in one line for each ranking where the grammar has it, else its source."""
    program = read(text)
    if program is None:
        return ["```python", text.rstrip(), "```"]
    return [f"- solutions: `{notation(program.solutions)}`", f"- testings: `{notation(program.testings)}`"]


def _worth(card: Card) -> list[str]:
    if not card.terms:
        return ["No term can be left out."]
    lines = ["| left out | of | score lost | balanced accuracy lost |", "|---|---|---|---|"]
    idle = [term for term in card.terms if _is_idle(term)]
    needed = [term for term in card.terms if term.gain is None]
    for term in card.terms:
        if term.gain is None or term.testing_gain is None or (len(idle) > 1 and term in idle):
            continue
        removed = term.variant.removed.replace("|", "\\|").replace("\n", " ")
        lines.append(f"| `{removed[:LONGEST]}` | {term.variant.where} | {term.gain:+.3f} | {term.testing_gain:+.3f} |")
    if needed:
        lines.append(f"| {len(needed)} terms without which it is invalid | | | |")
    if len(idle) > 1:
        lines.append(f"| {len(idle)} terms, each by itself | | within {NOISE} | within {NOISE} |")
    return lines


def _is_idle(term: Term) -> bool:
    return term.gain is not None and max(abs(term.gain), abs(term.testing_gain or 0.0)) <= NOISE


def _term(ours: Evaluation, variant: Variant, without: Evaluation) -> Term:
    if ours.score is None or without.score is None:
        return Term(variant, None, None)
    name = "testing_balanced_accuracy"
    return Term(variant, ours.score - without.score, ours.metrics[name] - without.metrics[name])


def _evaluate(evaluator: SeedConsistency, texts: Sequence[str]) -> list[Evaluation]:
    return evaluator.evaluate([Candidate(text) for text in texts])


def _texts(found: Sequence[Variant]) -> list[str]:
    return [variant.text for variant in found]


def _docstring(text: str) -> str:
    tree = tree_or_none(text)
    return " ".join((ast.get_docstring(tree) or "").split()) if tree else ""
