"""The ladder L1 to L5: what a candidate must stand before anybody spends a model call on it.

L1 reads, L2 runs, L3 repeats in another process, L4 looks for variety, L5 tries right and wrong answers on the
verifier. The rungs are EvoEnv's (section 3.2); counts and thresholds are ours, measured as docs/environments.md tells.
A bad candidate is data: nothing here raises for what a program does.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TypeAlias

import numpy as np
from pydantic import BaseModel, ConfigDict, Field

from evosyn.environments.contract import LEVELS, Environment, read_environment
from evosyn.environments.probes import JUNK, PARTS, alike, literals, perturbed, shortcuts, squeezed
from evosyn.environments.runner import (
    BrokenCall,
    EnvironmentRunner,
    MadeInstance,
    Verified,
    right_answers,
)
from evosyn.ports import Sandbox
from evosyn.randomness import SeedTree
from evosyn.records import Json, Provenance, canonical_json

Verify: TypeAlias = Callable[[Environment, Sequence[tuple[MadeInstance, str]]], Sequence[Verified]]
"""What answers to instances are worth."""
OTHERS = 6
"""Answers of other instances that are tried on each."""
LITERAL_CALLS = 2560
LEAK_LENGTH = 12
"""Letters and digits from which an answer that stands in its question is no chance."""


class LadderConfig(BaseModel):
    """Thresholds, shares in [0, 1] (ours).

    Attributes:
        seeds: instances a level.
        distinct: least share of different questions of a level.
        constant: most common answer, of all instances.
        sizes: least difference between the mean sizes of instances of the smallest and the largest level, and
        follows: least correlation of size and level.
        fixed: one text accepted on that share of all instances is no answer (more where one answer is common).
        exact: accepted share of each way to perturb an answer where one answer is right; `parts` and `moved` where many
            are: of changes that leave a part of an answer or more than it, and of the others.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    seeds: int = Field(default=8, ge=2, le=64)
    distinct: float = 0.6
    constant: float = 0.75
    sizes: float = 0.05
    follows: float = 0.5
    fixed: float = 0.5
    exact: float = 0.05
    parts: float = 0.2
    moved: float = 0.6


@dataclass(frozen=True)
class Climb:
    """How far a program came.

    Attributes:
        environment: None where it did not even read.
        level: the last rung that it stood on, 0 to 5.
        reason: why not the next one, as `name: detail`; "" where it stood on all.
        flags: what a reviewer should look at.
        figures: what L5 measured: shares by probe.
        prompts: a question of each level, where there are any; untrusted text.
    """

    environment: Environment | None
    level: int
    reason: str = ""
    flags: tuple[str, ...] = ()
    figures: Mapping[str, float] = field(default_factory=dict)
    prompts: tuple[str, ...] = ()

    @property
    def stage(self) -> str:
        """What stopped it: `l1` to `l5`, or `novelty`; "" for nothing."""
        return "" if not self.reason else f"l{self.level + 1}" if self.level < LEVELS else "novelty"


@dataclass
class _Trial:
    """A program on its way up: what earlier rungs made of the same instances, level by level."""

    environment: Environment
    cells: list[tuple[int, int]]
    made: list[MadeInstance] = field(default_factory=list)
    prompts: list[str] = field(default_factory=list)
    answers: list[str] = field(default_factory=list)
    flags: list[str] = field(default_factory=list)
    figures: dict[str, float] = field(default_factory=dict)

    @property
    def top(self) -> float:
        """Share of the most common answer."""
        return Counter(self.answers).most_common(1)[0][1] / len(self.answers)


class Ladder:
    """Checks programs; keeps nothing between two of them.

    Args:
        sandbox, other: two of them, with different hash seeds, so that what depends on a process differs.
        seed: of the instances, the same for every program: neither title nor layout decides.
    """

    def __init__(self, sandbox: Sandbox, other: Sandbox, config: LadderConfig | None = None, *, seed: int = 0) -> None:
        self._config, self._tree = config or LadderConfig(), SeedTree(seed)
        self._runner, self._other = EnvironmentRunner(sandbox), EnvironmentRunner(other, later=True)

    def check(self, source: str, provenance: Provenance = Provenance()) -> Climb:  # noqa: B008
        """How far a text comes.

        Raises:
            SandboxUnavailable: the sandbox failed twice.
        """
        read = read_environment(source, provenance)
        if read.value is None:
            return Climb(None, 0, read.reason)
        levels = [level for level in range(1, LEVELS + 1) for _ in range(self._config.seeds)]
        seeds = [self._tree.child("ladder", level, at).integer() for at, level in enumerate(levels)]
        trial = _Trial(read.value, list(zip(levels, seeds, strict=True)))
        reason, level = "", 1
        tells = partial(
            _tells_right_from_wrong, config=self._config, verify=self._runner.verify, again=self._other.verify
        )
        for rung in (self._runs, self._repeats, self._varies, tells):
            reason = rung(trial)
            if reason:
                break
            level += 1
        prompts = tuple(trial.prompts[:: self._config.seeds])
        return Climb(read.value, level, reason, tuple(trial.flags), trial.figures, prompts)

    def _runs(self, trial: _Trial) -> str:
        """L2: everything runs, and gives what it should."""
        made = self._runner.generate(trial.environment, trial.cells)
        if reason := _first(trial, made):
            return reason
        trial.made = [one for one in made if isinstance(one, MadeInstance)]
        prompts = self._runner.observe(trial.environment, [one.instance for one in trial.made])
        if reason := _first(trial, prompts):
            return reason
        trial.prompts = [one for one in prompts if isinstance(one, str)]
        answers = right_answers(trial.environment, self._runner, trial.made)
        if reason := _first(trial, answers):
            return reason
        trial.answers = [one for one in answers if isinstance(one, str)]
        values = self._runner.verify(trial.environment, list(zip(trial.made, trial.answers, strict=True)))
        return _first(trial, [_of_a_call(one) for one in values])

    def _repeats(self, trial: _Trial) -> str:
        """L3: the same seeds in another process, in reverse order, give the same."""
        again = self._other.generate(trial.environment, trial.cells[::-1])[::-1]
        if reason := _first(trial, again):
            return reason
        for (level, _), one, other in zip(trial.cells, trial.made, again, strict=True):
            if not isinstance(other, MadeInstance) or other.text != one.text:
                return f"not-deterministic: level {level}: the same seed gives another instance or reference"
        prompts = self._other.observe(trial.environment, [one.instance for one in trial.made[::-1]])[::-1]
        if reason := _first(trial, prompts):
            return reason
        if prompts != trial.prompts:
            return "prompt-differs: the same instance gives another question"
        return ""

    def _varies(self, trial: _Trial) -> str:
        """L4: seeds and levels make a difference."""
        config, size = self._config, self._config.seeds
        for level in range(LEVELS):
            mine = slice(level * size, (level + 1) * size)
            if len(set(trial.prompts[mine])) < config.distinct * size:
                return f"seeds-repeat: level {level + 1}: {len(set(trial.prompts[mine]))} different of {size} questions"
            if len({one.text for one in trial.made[mine]}) < config.distinct * size:
                return f"instances-repeat: level {level + 1}"
        if trial.top > config.constant:
            common = Counter(trial.answers).most_common(1)[0]
            return f"constant-answer: {common[0][:40]!r} is right for {common[1]} of {len(trial.answers)}"
        sizes = np.array([len(canonical_json(one.instance)) for one in trial.made], dtype=float)
        means = sizes.reshape(LEVELS, size).mean(axis=1)
        follows = float(np.corrcoef(sizes, [level for level, _ in trial.cells])[0, 1]) if sizes.std() else 0.0
        if means.max() < (1 + config.sizes) * means.min() or abs(follows) < config.follows:
            told = ", ".join(f"{one:.0f}" for one in means)
            return f"levels-alike: instances of {told} characters from level 1 to {LEVELS} (correlation {follows:.2f})"
        return ""


def tried(
    environment: Environment, instances: Sequence[tuple[MadeInstance, str, str]], verify: Verify, again: Verify
) -> Climb:
    """L5 alone, of instances whose questions and right answers are known, by a verifier that may be anybody's.

    Args:
        instances: each with its question and its right answer.
        verify, again: what answers are worth, asked twice.
    """
    made, prompts, answers = map(list, zip(*instances, strict=True))
    trial = _Trial(environment, [(1, 0)] * len(instances), made, prompts, answers)
    reason = _tells_right_from_wrong(trial, LadderConfig(), verify, again)
    return Climb(environment, 4 if reason else 5, reason, tuple(trial.flags), trial.figures)


def _tells_right_from_wrong(trial: _Trial, config: LadderConfig, verify: Verify, again: Verify) -> str:
    """L5: right answers are accepted, wrong ones are not, and it is the same each time."""
    asked = _probes(trial)
    places = {pair: at for at, pair in enumerate(dict.fromkeys((place, text) for _, place, text in asked))}
    pairs = [(trial.made[place], text) for place, text in places]
    values = verify(trial.environment, pairs)
    if reason := _broken(values):
        return reason
    order = random.Random(0).sample(range(len(pairs)), len(pairs))
    others = again(trial.environment, [pairs[at] for at in order])
    if reason := _broken(others):
        return reason
    if any(values[at] != other for at, other in zip(order, others, strict=True)):
        return "verify-not-deterministic: the same answer is worth something else in another process"
    solved: dict[str, list[bool]] = {}
    for probe, place, text in asked:
        value = values[places[place, text]]
        solved.setdefault(probe, []).append(not isinstance(value, BrokenCall) and value.value == 1.0)
    trial.figures = {probe: float(np.mean(found)) for probe, found in solved.items()}
    if any(not isinstance(one, BrokenCall) and one.raised for one in values):
        trial.flags.append("verify-raises")
    return _judged(trial, config, solved)


def _judged(trial: _Trial, config: LadderConfig, solved: Mapping[str, Sequence[bool]]) -> str:
    """What the shares say against it."""
    shares, count = trial.figures, len(trial.made)
    exact = trial.environment.kind == "exact"
    if shares["right"] < 1.0:
        whose = "solve" if trial.environment.solves else "reference"
        return f"rejects-{whose}: {solved['right'].count(False)} of {count} right answers"
    if shares["junk"] > 0.05:
        return f"accepts-junk: {shares['junk']:.2f} of junk"
    if shares["other"] > (config.exact if exact else config.parts):
        return f"accepts-other: {shares['other']:.2f} of answers to other questions"
    for probe, share in sorted(shares.items()):
        kind, _, name = probe.partition(":")
        most = config.exact if exact else config.parts if name in PARTS else config.moved
        if kind == "fixed" and share > max(config.fixed, trial.top + 0.25):
            return f"fixed-answer: {name[:60]!r} is accepted on {share:.2f}"
        if kind == "perturbed" and len(solved[probe]) >= config.seeds and share > most:
            return f"accepts-perturbed: {name}: {share:.2f}"
        if kind == "perturbed" and share > most / 2:
            trial.flags.append(f"perturbed-{name}")
        if kind == "shortcut" and sum(solved[probe]) / count > max(config.fixed, trial.top + 0.15):
            return f"shortcut:{name}: solves {sum(solved[probe]) / count:.2f}"
    pairs = [(squeezed(one), squeezed(prompt)) for one, prompt in zip(trial.answers, trial.prompts, strict=True)]
    leaks = sum(len(one) >= LEAK_LENGTH and one in prompt for one, prompt in pairs)
    return f"answer-in-prompt: of {leaks} of {count}" if leaks > 0.2 * count else ""


def _probes(trial: _Trial) -> list[tuple[str, int, str]]:
    """What is tried on which instance, as (probe, place, text)."""
    found = []
    texts = literals(trial.environment.source)
    for place, (answer, prompt) in enumerate(zip(trial.answers, trial.prompts, strict=True)):
        found.append(("right", place, answer))
        for text in JUNK:
            found.append((f"fixed:{text}", place, text))
            if alike(text) != alike(answer):
                found.append(("junk", place, text))
        others = [trial.answers[(place + shift) % len(trial.answers)] for shift in range(1, 4 * OTHERS, 4)]
        found += [("other", place, text) for text in dict.fromkeys(others) if alike(text) != alike(answer)]
        found += [(f"perturbed:{name}", place, text) for name, text in perturbed(answer).items()]
        found += [(f"shortcut:{name}", place, text) for name, text in shortcuts(prompt).items()]
    step = min(5, max(1, len(texts) * len(trial.made) // LITERAL_CALLS))
    for place in range(0, len(trial.made), step):
        found += [(f"fixed:{text}", place, text) for text in texts if text not in JUNK]
    return found


def _broken(found: Sequence[Verified]) -> str:
    """Why the first that is broken is; "" for none."""
    return next((one.reason for one in found if isinstance(one, BrokenCall)), "")


def _of_a_call(value: Verified) -> Verified | None:
    """What a verifier says of a right answer, as L2 takes it: an exception breaks the call; None for what is no worth,
    which is L5's to refuse."""
    if isinstance(value, BrokenCall):
        return None if value.reason.startswith("verify-value") else value
    return BrokenCall(f"verify:raises:{value.raised}") if value.raised else value


def _first(trial: _Trial, found: Sequence[Json | MadeInstance | Verified]) -> str:
    """The first that is broken, with its level; "" for none.

    Args:
        found: one for each instance, in order.
    """
    for (level, _), one in zip(trial.cells, found, strict=True):
        if isinstance(one, BrokenCall):
            return f"{one.reason} (level {level})"
    return ""
