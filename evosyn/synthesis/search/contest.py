"""Finalists against the best known rule on fresh draws: is one of them better, and by more than chance?

Every program is scored on the same draws, which the search never saw, and as many as it takes until drawing others
would hardly move the paired gain. A finalist may win if the lower end of the 95 % interval of its mean gain (over
tasks, those in the same pools on their own) lies above zero and it falls behind that rule in no place (`places`).
The best of thousands of candidates on some thirty problems is partly the luckiest one; docs/evolve.md has the figures
behind this rule.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from evosyn.errors import UsageError
from evosyn.evaluators.draws import ConsistencyConfig, DrawCount
from evosyn.evaluators.intervals import Strata
from evosyn.ports import StrategyRunner
from evosyn.records import Candidate, PassMatrix
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


class Contest(NamedTuple):
    """How a winner was found.

    Attributes:
        winner: the text; `scored` is how it did.
        passed: whether that is a finalist and no known rule.
        reference: name of the best known rule; None where none is valid.
        gain: of the winner over that rule, or of the best finalist where none passed; None where there is nothing to
            compare.
        draws: how many it was compared on.
        undecided: why no finalist could be shown to be better, whatever it gained; empty where one could.
        held_back: where the rule is better than the best finalist, which lost for that.
        behind: where another known rule is better than the winner.
        dropped: known rules that fell out on the way, with the reason.
    """

    winner: str
    scored: Scored
    passed: bool
    reference: str | None
    gain: Gain | None
    draws: DrawCount
    undecided: str = ""
    held_back: Mapping[str, Behind] = {}
    behind: Mapping[str, Behind] = {}
    dropped: Mapping[str, str] = {}


def decide(
    finalists: Sequence[Candidate],
    known: Mapping[str, str],
    runner: StrategyRunner,
    matrices: Sequence[PassMatrix],
    scoring: ConsistencyConfig,
    *,
    views: bool = True,
) -> Contest:
    """The finalist that is better than every known rule, or the best known rule.

    Args:
        finalists: the best of the search first.
        known: program texts by name.
        scoring: with the seed that the draws are made by.
        views: compare also without texts and values, and with right solutions only.

    Raises:
        UsageError: no program is valid.
    """
    names = {text: name for name, text in known.items()}
    fresh = FreshDraws(runner, matrices, scoring)
    rivals = [one.text for one in finalists if one.text not in names]
    found = fresh.score([*rivals, *names], FIRST_BATCHES)
    if not found:
        raise UsageError("no program of the search is valid on fresh draws of its own problems")
    rules = sorted((text for text in names if text in found), key=lambda text: -found[text].score)
    places = Places(fresh, found, names, rules[:KNOWN_LEADERS], views=views, solutions=scoring.M)
    rivals = _leaders([text for text in rivals if text in found], found, rules[:1], places, fresh.strata)
    if rules and rivals:
        rules = list(dict.fromkeys([*rules[:KNOWN_LEADERS], *(one for one in places.best_of_pools if one in found)]))
        found = _compared(fresh, rivals, rules, found)
        rivals, rules = [text for text in rivals if text in found], [text for text in rules if text in found]
    best = max(rules, key=lambda text: found[text].score, default=None)
    draws = fresh.count(len(next(iter(found.values())).scores_BP))
    dropped = {names[text]: reason for text, reason in fresh.dropped.items() if text in names}
    if best is None or not rivals:
        winner = best or max(rivals, key=lambda text: merit(text, found[text]))
        made = Contest(winner, found[winner], best is None, names.get(winner), gain=None, draws=draws)
        return made._replace(behind=places.behind(winner), dropped=dropped)
    places.add(found, rivals, best, PLACE_BATCHES)
    gains = {text: gain_of(found[text], found[best], fresh.strata) for text in rivals}
    ahead = max(rivals, key=lambda text: (gains[text].bound, merit(text, found[text])))
    able = [] if (undecided := _undecided(fresh)) else [text for text in rivals if gains[text].bound > 0]
    passing = [text for text in able if not places.behind_rule(text, best)]
    leader = max(
        passing or [ahead],
        key=lambda text: (-places.shortfall(text), gains[text].bound, merit(text, found[text])),
    )
    winner = leader if passing else best
    held_back = places.behind_rule(ahead, best) if able and not passing else {}
    made = Contest(winner, found[winner], bool(passing), names[best], gains[leader], draws, undecided, held_back)
    return made._replace(behind=places.behind(winner), dropped=dropped)


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
    fresh: FreshDraws, rivals: Sequence[str], rules: Sequence[str], first: dict[str, Scored]
) -> dict[str, Scored]:
    """Leaders and rules on draws that come after the first, until others would hardly move a gain. Who can no longer
    win is left out on the way; what was drawn before stands where no rule is valid any more."""
    found: dict[str, Scored] = {}
    batches = FIRST_BATCHES
    while fresh.draws_matter and fresh.batches < FIRST_BATCHES + MOST_BATCHES:
        more = fresh.score([*rivals, *rules], batches)
        if not any(text in more for text in rules):
            break
        rivals, rules = [text for text in rivals if text in more], [text for text in rules if text in more]
        found = {text: joined(found[text], scored) if found else scored for text, scored in more.items()}
        if not rivals:
            break
        best, batches = max(rules, key=lambda text: found[text].score), 1
        gains = {text: gain_of(found[text], found[best], fresh.strata) for text in rivals}
        able = [text for text in rivals if gains[text].lower + UNLIKELY * gains[text].drawing_error >= 0]
        rivals = able or [max(rivals, key=lambda text: gains[text].lower)]
        if max(gains[text].drawing_error for text in rivals) < DRAWING_ERROR:
            break
    return {text: found[text] for text in (*rivals, *rules)} if found else first
