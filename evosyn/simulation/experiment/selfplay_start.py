"""The strong start of `evosyn experiment coevolve --recipe evoenv`: weights that solve most of the fixed pool already.

They are fitted, round by round, to answers of a careless writer about everything, to its drafts of environments, and to
right answers about the pool, until what they draw solves a share of the pool's questions that lies in `STRONG`.
"""

from __future__ import annotations

import json
from copy import deepcopy
from pathlib import Path
from typing import NamedTuple

from evosyn.errors import UsageError
from evosyn.randomness import SeedTree
from evosyn.records import Json
from evosyn.simulation.experiment import environment_language as language
from evosyn.simulation.experiment import environment_world as world
from evosyn.simulation.experiment.environment_policy import share_right, shown, word_tokenizer
from evosyn.simulation.experiment.environment_runs import careless_answers, questions
from evosyn.simulation.experiment.toy_data import StepBudget
from evosyn.simulation.experiment.toy_policy import DONE, drawn, new_model, pairs_of, save_start
from evosyn.train.plain_sft import RateSchedule, fit_pairs

STRONG = (0.75, 0.85)
"""Of the fixed pool's questions, what the start solves with an answer to each."""
TOLD, PER_HAND = 400, 40
"""Answers of each kind that it is fitted to, and questions of each environment of the pool by which it is measured."""
FIRST, FURTHER, ROUNDS = RateSchedule(240, 32, 4e-3), RateSchedule(24, 32, 1e-3), 40
"""The fit: once, and then in rounds; one that goes too far is taken back and halved."""
LEAST = 2
LONGEST = max(map(max, language.LENGTHS)) + 6
"""Tokens of an answer or a draft."""


class FitData(NamedTuple):
    """(prompt, answer) as the policy reads and writes them, and questions of the pool with their right signs."""

    told: list[tuple[str, str]]
    pool: list[tuple[str, str]]


def fit_data(seeds: SeedTree) -> FitData:
    """What the start of a seed is fitted to."""
    rng, hands = seeds.child("drafts").random(), world.tasks_by_hand()
    right = questions(hands, TOLD // len(hands), seeds.child("right"))
    told = [(shown(asked), answer) for asked, answer in careless_answers(seeds.child("careless"), TOLD)]
    told += [(shown(asked), world.answer_text(signs.split())) for asked, signs in right]
    for _ in range(TOLD):
        some = [language.by_hand(one).text() for one in rng.sample(hands, 2)]
        told.append((shown(language.requested(some)), language.careless(rng).text()))
    return FitData(told, questions(hands, PER_HAND, seeds.child("pool")))


def strong_start(folder: Path, data: FitData, budget: StepBudget, seeds: SeedTree) -> None:
    """Write the weights; made once.

    Raises:
        UsageError: no round ended between the bounds.
    """
    if (folder / DONE).exists():
        return
    tokenizer = word_tokenizer(*language.PARTS)
    model, pairs = new_model(tokenizer, budget, seeds), pairs_of(tokenizer, data.told)
    prompts, schedule, first = [shown(asked) for asked, _ in data.pool], FIRST, True
    steps, stands = 0, 0.0
    for at in range(ROUNDS):
        before = deepcopy(model.state_dict())
        fit_pairs(model, pairs, tokenizer.pad_token_id, schedule, seeds.child("warm", at))
        rate = share_right(drawn(model, tokenizer, prompts, seeds.child("pool", at), LONGEST), data.pool)
        if rate > STRONG[1]:
            model.load_state_dict(before)
            schedule = schedule._replace(steps=max(LEAST, schedule.steps // 2))
            continue
        steps, stands = steps + schedule.steps, rate
        schedule, first = (FURTHER if first else schedule), False
        if rate >= STRONG[0]:
            save_start(folder, model, tokenizer, {"rate": round(rate, 4), "steps": steps})
            return
    raise UsageError(f"the start solves {stands:.2f} of the fixed pool after {steps} steps, not {STRONG}: another seed")


def start_of(folder: Path) -> Json:
    """What is known of a start: `rate` on the pool, and the `steps` of its fit."""
    return json.loads((folder / DONE).read_text(encoding="utf-8"))
