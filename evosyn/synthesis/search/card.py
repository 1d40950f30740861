"""The card of a search's winner: what `evaluators.card` says of any strategy, and what finding this one took."""

from __future__ import annotations

from evosyn.evaluators.card import Card, CardRequest, make_card
from evosyn.evaluators.draws import with_error
from evosyn.ports import SearchState, StrategyRunner
from evosyn.strategies import known_names, load_known
from evosyn.synthesis.search.config import EvolveConfig
from evosyn.synthesis.search.contest import DRAWING_ERROR
from evosyn.synthesis.search.seeds import Seeds
from evosyn.synthesis.search.winner import WinnerChoice, fresh_scoring, name_of_initial


def card_of(
    choice: WinnerChoice,
    state: SearchState,
    runner: StrategyRunner,
    seeds: Seeds,
    config: EvolveConfig,
    parent: str | None = None,
) -> Card:
    """The card, on the draws of the final leaderboards.

    Args:
        parent: the program that the winner was made from.
        runner: runs the winner, the known strategies, and the winner without each of its terms.
    """
    candidate, counts = choice.winner, state.report()
    cost = {
        "evaluations": counts["evaluations"],
        "proposals": counts["proposals"],
        "model calls": counts["model_calls"] + sum(usage.calls for usage in seeds.spent.values()),
        "dollars": round(counts["cost"] + sum(usage.cost or 0.0 for usage in seeds.spent.values()), 4),
        "made by": candidate.proposer,
        "it is": choice.told,
        "chosen among": chosen_among(choice),
    }
    first = name_of_initial(state)
    request = CardRequest(
        name=candidate.id,
        text=candidate.text,
        initial=state.initial[0].candidate.text,
        seeds=seeds.split.train,
        heldout=seeds.split.heldout,
        known={name: load_known(name) for name in known_names() if name != first},
        cost=cost,
        against=first,
        simulated=seeds.simulated,
        idea=str(candidate.detail.get("idea") or ""),
        parent=parent,
    )
    return make_card(runner, request, fresh_scoring(config, "boards"))


def chosen_among(choice: WinnerChoice) -> str:
    """What met in the contest for the winner, on how many draws, and how sure these make its gain."""
    draws, gain = choice.contest.draws, choice.contest.gain
    told = str(draws) if gain is None else with_error(draws, gain.drawing_error, DRAWING_ERROR)
    return f"{choice.finalists} finalists and the known rules on {told}"
