"""What a model is asked for in one link of a mutation. The prompts are files in `prompts/`, our own words for
appendix D of DejaQ (2601.01931). Nothing is asked here.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from evosyn.chat import Message, Request
from evosyn.records import Json, Problem
from evosyn.templates import render

HERE = "evosyn.synthesis.mutations"
SETTING, DISTRACTOR, SYMBOLIC = "setting", "distractor", "symbolic"
PURPOSES = {link: f"mutate-{link}" for link in (SETTING, DISTRACTOR, SYMBOLIC)}
MOST_TRIES = 1000
"""Samples of one mutation; those of the next follow."""
SETTINGS: Mapping[str, str] = {
    "Personal Life": "what somebody does at home, with family and friends, from day to day",
    "Professional": "a job, a trade, a workshop, an office",
    "Economic": "money, prices, trade, savings, budgets",
    "Recreational": "sport, games, hobbies, travel",
    "Events": "a feast, a concert, a fair, something that happens once",
    "Scientific": "a laboratory, an observation, an experiment",
    "Technical": "machines, computers, networks, building",
    "Environmental": "plants, animals, weather, water, waste",
}
"""Of problems with a final answer: DejaQ's (table 3), in our own words."""


class StatedProblem(NamedTuple):
    """A problem on its way through a mutation; `answer` is "" where what decides about it stays as it is."""

    statement: str
    answer: str = ""


def link_request(link: str, text: StatedProblem, target: str, sample: int, params: Mapping[str, Json]) -> Request:
    """One link's request; its problem names a letter."""
    blanks = {"problem": text.statement.strip()}
    if link == SETTING:
        blanks |= {"target": target, "about": SETTINGS.get(target, "in the widest sense")}
    elif link == SYMBOLIC:
        blanks["answer"] = text.answer
    messages = (
        Message("system", render(HERE, "prompts/mutate_system.md")),
        Message("user", render(HERE, f"prompts/mutate_{link}.md", **blanks)),
    )
    about = {"target": target, "answer": text.answer}
    problem = Problem(f"mutation-{sample // MOST_TRIES}", "mutation", text.statement, meta=about)
    return Request(messages, PURPOSES[link], params, sample, problem)
