"""The policy of `evosyn experiment coevolve`: a network of a few thousand numbers that gives each word a sign.

A word and its place go through one hidden layer, which all words share; a sign is drawn for each word. It is warmed up
on answers right and wrong and trained by GRPO (Shao 2024): rewards of a group against each other, one step a batch.
Plain numpy, so that eight seeds of all arms are minutes; it is no language model.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from evosyn.randomness import SeedTree
from evosyn.simulation.experiment.coevolve_world import MEANS, MOST_WORDS, SIGNS, StepsProblem

Floats: TypeAlias = NDArray[np.float64]
Places: TypeAlias = tuple[NDArray[np.int64], NDArray[np.int64]]
"""Of each token its word and its place."""
WORDS = {word: at for at, word in enumerate(MEANS)}
WIDTH, HIDDEN = 24, 48
SFT_BATCH = 32
_ADAM = (0.9, 0.999, 1e-8)


class TaggingPolicy:
    """The weights with their optimizer. Every draw comes from the stream of its own that `seeds` gives.

    Args:
        weights: those to start from; random ones without.
    """

    def __init__(self, seeds: SeedTree, weights: Mapping[str, Floats] | None = None) -> None:
        self.weights = dict(_random(seeds.child("weights").rng()) if weights is None else weights)
        self._draws = seeds.child("draws").rng()
        self._moments = {name: (np.zeros_like(one), np.zeros_like(one)) for name, one in self.weights.items()}
        self._steps = 0

    def imitate(self, told: Sequence[tuple[Sequence[str], Sequence[str]]], steps: int, rate: float) -> None:
        """SFT on (words, signs), in an order of its own."""
        for _ in range(steps):
            some = [told[at] for at in self._draws.integers(0, len(told), SFT_BATCH)]
            tokens, hidden, chances = self._chances([words for words, _ in some])
            aims = np.eye(len(SIGNS))[[SIGNS.index(sign) for _, signs in some for sign in signs]]
            self._descend(tokens, hidden, (chances - aims) / len(aims), rate)

    def answers(self, problems: Sequence[StepsProblem], each: int) -> list[list[tuple[str, ...]]]:
        """So many answers to each problem, drawn at temperature 1."""
        if not problems:
            return []
        _, _, chances = self._chances([one.words for one in problems])
        drawn = (self._draws.random((each, len(chances), 1)) > chances.cumsum(axis=1)[None, :, :-1]).sum(axis=2)
        ends = np.cumsum([len(one.words) for one in problems])
        return [
            [tuple(SIGNS[sign] for sign in row[end - len(one.words) : end]) for row in drawn]
            for one, end in zip(problems, ends, strict=True)
        ]

    def greedy(self, problems: Sequence[StepsProblem]) -> list[tuple[str, ...]]:
        """The likeliest answer to each."""
        best = iter(self._chances([one.words for one in problems])[2].argmax(axis=1))
        return [tuple(SIGNS[next(best)] for _ in one.words) for one in problems]

    def reinforce(
        self,
        problems: Sequence[StepsProblem],
        answers: Sequence[Sequence[Sequence[str]]],
        rewards: Sequence[Sequence[float]],
        rate: float,
    ) -> None:
        """One step on a batch: each answer by how much better it is than the others to its problem."""
        tokens, hidden, chances = self._chances([one.words for one in problems])
        push, start = np.zeros_like(chances), 0
        for problem, tried, paid in zip(problems, answers, rewards, strict=True):
            marks = np.asarray(paid, dtype=np.float64)
            gains = (marks - marks.mean()) / (marks.std() + 1e-4)
            rows = slice(start, start + len(problem.words))
            for signs, gain in zip(tried, gains, strict=True):
                push[rows][np.arange(len(signs)), [SIGNS.index(sign) for sign in signs]] += gain
            start += len(problem.words)  # the gains of a group add up to nothing, so no chance is taken off
        total = sum(len(signs) for tried in answers for signs in tried)
        self._descend(tokens, hidden, -push / total, rate)

    def save(self, path: Path) -> None:
        held: dict[str, Any] = self.weights
        np.savez(path, **held)

    def _chances(self, problems: Sequence[Sequence[str]]) -> tuple[Places, Floats, Floats]:
        """Of all tokens in a row: what they are, the hidden layer, and the chance of each sign."""
        words = np.array([WORDS[word] for one in problems for word in one])
        places = np.array([at for one in problems for at in range(len(one))])
        held = self.weights
        hidden = np.tanh((held["word"][words] + held["place"][places]) @ held["in"] + held["in_bias"])
        scores = hidden @ held["out"] + held["out_bias"]
        chances = np.exp(scores - scores.max(axis=1, keepdims=True))
        return (words, places), hidden, chances / chances.sum(axis=1, keepdims=True)

    def _descend(self, tokens: Places, hidden: Floats, slopes: Floats, rate: float) -> None:
        """One Adam step; `slopes` are those of the loss by the scores of each token."""
        held, (words, places) = self.weights, tokens
        inner = (slopes @ held["out"].T) * (1 - hidden**2)
        given = held["word"][words] + held["place"][places]
        back = inner @ held["in"].T
        found = {name: np.zeros_like(held[name]) for name in ("word", "place")}
        np.add.at(found["word"], words, back)
        np.add.at(found["place"], places, back)
        found |= {"in": given.T @ inner, "in_bias": inner.sum(axis=0)}
        found |= {"out": hidden.T @ slopes, "out_bias": slopes.sum(axis=0)}
        self._steps += 1
        first, second, least = _ADAM
        for name, slope in found.items():
            mean, square = self._moments[name]
            mean += (1 - first) * (slope - mean)
            square += (1 - second) * (slope**2 - square)
            size = np.sqrt(square / (1 - second**self._steps)) + least
            held[name] = held[name] - rate * mean / (1 - first**self._steps) / size


def load_policy(path: Path, seeds: SeedTree) -> TaggingPolicy:
    """The policy whose weights stand in a file, with an optimizer that has done nothing yet."""
    with np.load(path) as held:
        return TaggingPolicy(seeds, {name: held[name] for name in held.files})


def _random(rng: np.random.Generator) -> dict[str, Floats]:
    shapes = {"word": (len(WORDS), WIDTH), "place": (MOST_WORDS, WIDTH), "in": (WIDTH, HIDDEN)}
    found: dict[str, Floats] = {name: rng.normal(0, WIDTH**-0.5, shape) for name, shape in shapes.items()}
    found["out"] = rng.normal(0, HIDDEN**-0.5, (HIDDEN, len(SIGNS)))
    return found | {"in_bias": np.zeros(HIDDEN), "out_bias": np.zeros(len(SIGNS))}
