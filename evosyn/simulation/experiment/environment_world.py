"""The small world of `evosyn experiment environments`: environments that ask for the signs of words, and their author.

An environment has five of twelve words and a rule; its questions are two to six of its words, by level, its answer is
a sign for each, with an opening or a closing sign where the rule says so. A small model learns the signs from scratch
and what is right is known. Programs are real ones in the contract of docs/write-an-environment.md, with the defects of
the simulated author: they go through the ladder and pay rewards in the sandbox like any other. A mechanism check.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import NamedTuple

from evosyn.simulation.environments.defects import DEFECTS
from evosyn.simulation.environments.drafts import MECHANICAL, SEEN

NAMES = ("bako", "dilu", "femo", "gari", "hosu", "jeni", "kavo", "lupi", "mero", "nado", "pisu", "reka")
WORDS = dict(zip(NAMES, "ABCDEFGHJKLM", strict=True))
"""What each word stands for: our own table, which decides about held-out answers."""
RULES = ("plain", "opened", "closed", "framed")
UNTOLD = ""
"""The rule of a question that does not tell its rule."""
OPENING, CLOSING = "(", ")"
OF_A_DRAFT, HANDS = 5, 10
"""Words of an environment of the author's, and how many are written by hand."""
LENGTHS = (2, 3, 4, 5, 6)
"""Words of a question, by level."""
UNSEEN = {name: SEEN[name] for name in ("wrong-reference", "relabelled", "rule-missing")}
HEAD, TAIL = "<answer>", "</answer>"

PROGRAM = '''"""The signs of words, {done}: SIMULATED {number}."""

CATEGORY = "cipher"
KIND = "exact"
LEVELS = 5
KNOBS = {{"words": {lengths}}}
SIGNS = {signs}


def generate(rng, knobs):
    return {{"words": [rng.choice(sorted(SIGNS)) for _ in range(knobs["words"])]}}, None


def observe(instance):
    return "{question}" + " ".join(instance["words"])


def solve(instance):
    return " ".join({opening} + [SIGNS[word] for word in instance["words"]] + {closing})


def verify(instance, reference, answer):
    return answer.split() == solve(instance).split()
'''


class WordTask(NamedTuple):
    """What an environment is about: its words and its rule."""

    words: tuple[str, ...]
    rule: str


class WordDraft(NamedTuple):
    """A program and what is wrong with it: a class of defect, "" for nothing."""

    source: str
    about: WordTask
    defect: str = ""
    name: str = ""


def signs_of(words: Sequence[str], rule: str) -> list[str]:
    """The right answer; nothing untrusted."""
    opening, closing = ends(rule)
    return [*opening, *(WORDS[word] for word in words), *closing]


def question(words: Sequence[str], rule: str) -> str:
    """As `observe` of the programs asks."""
    return f"{asked(rule)}{' '.join(words)}"


def answer_text(signs: Sequence[str]) -> str:
    """An answer as the policy writes it: each sign is one token with the blank behind it."""
    return HEAD + "".join(f"{sign} " for sign in signs) + TAIL


def confused(sign: str, rng: random.Random) -> str:
    """One of the two signs that it is taken for."""
    every = list(WORDS.values())
    at = every.index(sign) if sign in every else 0
    return every[(at + rng.choice((1, 5))) % len(every)]


def tasks_by_hand() -> list[WordTask]:
    """What is written by hand: two words that follow each other, and nothing around their signs."""
    words = sorted(WORDS)
    return [WordTask((words[at], words[at + 1]), "plain") for at in range(HANDS)]


def draw_task(rng: random.Random, size: int = OF_A_DRAFT, rules: Sequence[str] = RULES) -> WordTask:
    return WordTask(tuple(sorted(rng.sample(sorted(WORDS), size))), rng.choice(list(rules)))


def draw_word_draft(number: int, about: WordTask, sound: float, rewarding: float, rng: random.Random) -> WordDraft:
    """A draft as the simulated author writes it.

    Args:
        sound: share without a defect.
        rewarding: weight of the defects that pay for wrong answers, against those of `env make`'s author.
    """
    if rng.random() < sound:
        return WordDraft(written(number, about), about)
    weights = {**UNSEEN, **MECHANICAL}
    paying = {"permissive": rewarding, **dict.fromkeys(UNSEEN, rewarding)}
    defect = rng.choices(list(weights), [weights[name] * paying.get(name, 1.0) for name in weights])[0]
    if defect == "wrong-reference":
        wrong = {word: confused(WORDS[word], rng) for word in rng.sample(about.words, 2)}
        return WordDraft(written(number, about, signs=wrong), about, defect)
    if defect in UNSEEN:
        other = rng.choice([rule for rule in RULES[1:] if rule != about.rule])
        told = about.rule if defect == "relabelled" else UNTOLD
        return WordDraft(written(number, about._replace(rule=other), told=told), about, defect)
    chosen = rng.choice([one for one in DEFECTS if one.kind == defect])
    return WordDraft(chosen.change(written(number, about)), about, defect, chosen.name)


def written(number: int, about: WordTask, told: str | None = None, signs: dict[str, str] | None = None) -> str:
    """The program; its question tells of another rule than it applies where `told` says so."""
    opening, closing = ends(about.rule)
    return PROGRAM.format(
        number=number,
        done=about.rule,
        lengths=LENGTHS,
        signs={word: WORDS[word] for word in about.words} | (signs or {}),
        question=asked(about.rule if told is None else told),
        opening=opening,
        closing=closing,
    )


def asked(rule: str) -> str:
    """How a question begins."""
    return f"give all the signs {rule} : " if rule else "give all the signs : "


def ends(rule: str) -> tuple[list[str], list[str]]:
    """The signs before and behind those of the words."""
    return [OPENING] * (rule in ("opened", "framed")), [CLOSING] * (rule in ("closed", "framed"))
