"""Finalists against who is best so far, on fresh draws: is one of them better, and by more than chance?

Every program is scored on the same draws, which the search never saw, and as many as it takes until drawing others
would hardly move the paired gain. A finalist takes the place of another if the lower end of the 95 % interval of its
mean gain (over tasks, those in the same pools on their own) lies above zero and it falls behind in no place (`places`).
The best of thousands of candidates on some thirty problems is partly the luckiest one. So finalists come in tiers, the
few that were there before the search first: the best known rule holds the place, and every tier has to win it from who
holds it by then. Of rules that say the same here the one that reads more is the best: where what it reads is known it
says more. docs/evolve.md has the figures behind both.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import NamedTuple

from evosyn.errors import UsageError
from evosyn.evaluators.draws import ConsistencyConfig, DrawCount
from evosyn.evaluators.intervals import Strata
from evosyn.ports import StrategyRunner
from evosyn.records import Candidate, PassMatrix
from evosyn.strategies.evidence import reads
from evosyn.synthesis.search.fresh import DIGITS, FEWEST_TASKS, FreshDraws, Gain, Scored, gain_of, joined, merit
from evosyn.synthesis.search.places import Behind, Places

MOST_BATCHES = 16
FIRST_BATCHES = 2
"""All finalists are scored on so many; the few that lead there are compared on others, where they lead by no luck."""
LEADERS = 6
"""Of all, and as many of those that are behind nowhere."""
KNOWN_LEADERS = 3
PLACE_BATCHES = 6
"""More of them for the leaders, on other views of the problems."""
DRAWING_ERROR = 0.005
"""Standard error of a paired gain from drawing alone, below which no more draws are made."""
UNLIKELY = 4.0
"""Errors from drawing by which a bound lies below zero where no further draws will lift it."""


class Round(NamedTuple):
    """One tier of finalists against who held the place.

    Attributes:
        tier: which.
        holder: the text of who held the place; `leader`: of the best of the tier.
        gain: of the leader over the holder.
        passed: whether it took the place.
        held_back: where the holder, or the best known rule, is better than the leader, which lost for that.
    """

    tier: int
    holder: str
    leader: str
    gain: Gain
    passed: bool
    held_back: Mapping[str, Behind]


class Contest(NamedTuple):
    """How a winner was found.

    Attributes:
        winner: the text; `scored` is how it did.
        passed: whether that is a finalist and no known rule.
        reference: name of the best known rule; None where none is valid.
        gain: of the winner over that rule, or of the best finalist where none passed; None where there is nothing to
            compare.
        draws: how many it was compared on.
        rounds: one for each tier that has somebody.
        undecided: why no finalist could be shown to be better, whatever it gained; empty where one could.
        held_back: where the rule is better than the best finalist, which lost for that.
        behind: where another known rule is better than the winner.
        dropped: known rules that fell out on the way, with the reason.
        names: of all programs, by text.
    """

    winner: str
    scored: Scored
    passed: bool
    reference: str | None
    gain: Gain | None
    draws: DrawCount
    rounds: Sequence[Round] = ()
    undecided: str = ""
    held_back: Mapping[str, Behind] = {}
    behind: Mapping[str, Behind] = {}
    dropped: Mapping[str, str] = {}
    names: Mapping[str, str] = {}


def decide(
    tiers: Sequence[Sequence[Candidate]],
    known: Mapping[str, str],
    runner: StrategyRunner,
    matrices: Sequence[PassMatrix],
    scoring: ConsistencyConfig,
    *,
    views: bool = True,
) -> Contest:
    """The finalist that is better than who was best of the tiers before its own, or the best known rule.

    Args:
        tiers: finalists; those that nothing was chosen by first.
        known: program texts by name.
        scoring: with the seed that the draws are made by.
        views: compare also without texts and values, and with right solutions only.

    Raises:
        UsageError: no program is valid.
    """
    rules = sorted(known.values(), key=lambda text: -len(reads(text)))
    names = {one.text: name_of(one) for one in chain(*tiers)} | {text: name for name, text in known.items()}
    fresh = FreshDraws(runner, matrices, scoring)
    texts = [[one.text for one in tier if one.text not in rules] for tier in tiers]
    found = fresh.score([*chain(*texts), *rules], FIRST_BATCHES)
    if not found:
        raise UsageError("no program of the search is valid on fresh draws of its own problems")
    ordered = sorted(_of(rules, found), key=lambda text: -found[text].score)
    leading = ordered[:KNOWN_LEADERS]
    places = Places(fresh, found, rules, leading, names, views=views, solutions=scoring.M)
    texts = [_leaders(_of(tier, found), found, ordered[:1], places, fresh.strata) for tier in texts]
    if ordered and any(texts):
        rules = list(dict.fromkeys([*leading, *_of(places.best_of_pools, found)]))
        found = _compared(fresh, texts, rules, found)
        texts = [_of(tier, found) for tier in texts]
    rivals = list(chain(*texts))
    best = max(_of(rules, found), key=lambda text: found[text].score, default=None)
    draws = fresh.count(len(next(iter(found.values())).scores_BP))
    dropped = {names[text]: reason for text, reason in fresh.dropped.items() if text in known.values()}
    if best is None or not rivals:
        winner = best or max(rivals, key=lambda text: merit(text, found[text]))
        reference = None if best is None else names[best]
        made = Contest(winner, found[winner], best is None, reference, gain=None, draws=draws, names=names)
        return made._replace(behind=places.behind(winner), dropped=dropped)
    places.add(found, rivals, best, PLACE_BATCHES)
    undecided = _undecided(fresh)
    rounds = list[Round]()
    for number, tier in enumerate(texts):
        if tier:
            holder = _holder(rounds, best)
            rounds.append(_round(number, tier, best, holder, found, places, fresh.strata, able=not undecided))
    winner, closest = _holder(rounds, best), max(rounds, key=lambda one: (one.gain.bound, one.gain.mean))
    passed = winner != best
    gain = gain_of(found[winner], found[best], fresh.strata) if passed else closest.gain
    made = Contest(winner, found[winner], passed, names[best], gain, draws, rounds, undecided)
    held_back = {} if passed else closest.held_back
    return made._replace(held_back=held_back, behind=places.behind(winner), dropped=dropped, names=names)


def name_of(candidate: Candidate) -> str:
    """What it was before the search, or its id."""
    opening = candidate.detail.get("opening")
    return f"opening {opening}" if opening else str(candidate.detail.get("name") or candidate.id)


def _of(texts: Iterable[str], found: Mapping[str, Scored]) -> list[str]:
    """Those that are still valid."""
    return [text for text in texts if text in found]


def _holder(rounds: Sequence[Round], best: str) -> str:
    """Who took the place last."""
    return next((one.leader for one in reversed(rounds) if one.passed), best)


def _round(
    number: int,
    tier: Sequence[str],
    best: str,
    holder: str,
    found: Mapping[str, Scored],
    places: Places,
    strata: Strata,
    *,
    able: bool,
) -> Round:
    """One tier against who holds the place. Who is better than that is better than the best known rule by as much as
    that was and more, so that no bound over the rule is asked for again.

    Args:
        able: whether anything can be shown at all.
    """
    gains = {text: gain_of(found[text], found[holder], strata) for text in tier}
    ahead = max(tier, key=lambda text: (gains[text].bound, merit(text, found[text])))
    better = [text for text in tier if able and gains[text].bound > 0]
    behind = {text: _behind(text, best, holder, places) for text in better}
    passing = [text for text in better if not behind[text]]
    leader = max(
        passing or [ahead],
        key=lambda text: (-places.shortfall(text), gains[text].bound, merit(text, found[text])),
    )
    return Round(number, holder, leader, gains[leader], bool(passing), {} if passing else behind.get(ahead, {}))


def _behind(text: str, best: str, holder: str, places: Places) -> dict[str, Behind]:
    """Where the holder or the best known rule is clearly better; where neither is, and a program falls shorter of the
    other known rules than a holder that is none of them, where those are."""
    found = places.behind_rule(text, best)
    for place, behind in places.behind_rule(text, holder).items():
        found[place] = max(found.get(place, behind), behind, key=lambda one: one.clear)
    shorter = holder != best and places.shortfall(text) > places.shortfall(holder)
    return found or (places.behind(text) if shorter else {})


def _undecided(fresh: FreshDraws) -> str:
    """Why nothing can be shown on these draws; empty where something can."""
    if not fresh.draws_matter:
        return "there are no draws but those that the search saw: bring more solutions or testings than M and N"
    if fresh.judging < FEWEST_TASKS:
        have = f"{fresh.judging} of {len(set(fresh.strata.tasks_P))} problems have draws that the search did not see"
        return f"{have}, and {FEWEST_TASKS} are needed to judge by: bring more"
    return ""


def _leaders(
    rivals: Sequence[str], found: Mapping[str, Scored], best: Sequence[str], places: Places, strata: Strata
) -> list[str]:
    """Those of the highest lower bounds over the best known rule, of all and of those that are behind nowhere; of
    programs that score alike everywhere the one of the highest merit. All, where no known rule is valid."""
    alike: dict[tuple[bytes, float], str] = {}
    for text in sorted(rivals, key=lambda text: merit(text, found[text]), reverse=True):
        alike.setdefault((found[text].scores_BP.round(DIGITS).tobytes(), places.shortfall(text)), text)
    if not best:
        return list(alike.values())
    reference = found[best[0]]
    ordered = sorted(alike.values(), key=lambda text: -gain_of(found[text], reference, strata).lower)
    nowhere = [text for text in ordered if not places.behind(text)]
    return list(dict.fromkeys([*ordered[:LEADERS], *nowhere[:LEADERS]]))


def _compared(
    fresh: FreshDraws, tiers: Sequence[Sequence[str]], rules: Sequence[str], first: dict[str, Scored]
) -> dict[str, Scored]:
    """Leaders and rules on draws that come after the first, until others would hardly move a gain. Who can no longer
    win is left out on the way, but for the best of each tier; what was drawn before stands where no rule is valid any
    more."""
    found: dict[str, Scored] = {}
    batches = FIRST_BATCHES
    while fresh.draws_matter and fresh.batches < FIRST_BATCHES + MOST_BATCHES:
        more = fresh.score([*chain(*tiers), *rules], batches)
        if not any(text in more for text in rules):
            break
        tiers, rules = [_of(tier, more) for tier in tiers], _of(rules, more)
        found = {text: joined(found[text], scored) if found else scored for text, scored in more.items()}
        if not any(tiers):
            break
        best, batches = max(rules, key=lambda text: found[text].score), 1
        gains = {text: gain_of(found[text], found[best], fresh.strata) for text in chain(*tiers)}
        hopes = [[text for text in tier if _hopeful(gains[text])] for tier in tiers]
        tiers = [hope or _foremost(tier, gains) for hope, tier in zip(hopes, tiers, strict=True)]
        judged = hopes if any(hopes) else [_foremost([*chain(*tiers)], gains)]
        if max(_errors(judged, found, best, fresh.strata)) < DRAWING_ERROR:
            break
    return {text: found[text] for text in (*chain(*tiers), *rules)} if found else first


def _hopeful(gain: Gain) -> bool:
    """Whether further draws may still lift its bound over zero."""
    return gain.lower + UNLIKELY * gain.drawing_error >= 0


def _foremost(texts: Sequence[str], gains: Mapping[str, Gain]) -> list[str]:
    """The one of the highest bound, if there is any."""
    return sorted(texts, key=lambda text: -gains[text].lower)[:1]


def _errors(tiers: Sequence[Sequence[str]], found: Mapping[str, Scored], best: str, strata: Strata) -> Iterator[float]:
    """Of gains from drawing: over the best known rule, and over everybody of earlier tiers, who may hold the place."""
    standards = [best]
    for tier in tiers:
        yield from (gain_of(found[text], found[one], strata).drawing_error for text in tier for one in standards)
        standards += tier
