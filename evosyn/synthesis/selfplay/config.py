"""What the loop of EvoEnv is told, and the arms that it may be. Which values are the paper's: docs/coevolve.md."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, NamedTuple

from pydantic import Field

from evosyn.configs.section import SAMPLED, Sampling, Section
from evosyn.environments.ladder import LadderConfig
from evosyn.synthesis.environments.config import AdmissionConfig


class EnvironmentArm(NamedTuple):
    """What of the whole an arm has.

    Attributes:
        quality: the author is paid for how well a draft suits the student; without, alike for every one on the ladder.
        novelty: it is paid for what is new, and what repeats another is dropped.
        reviews: drafts are reviewed before they come in.
        rotates: environments are drawn by what a student learns from them, and leave when they are worn.
        verifies: verifiers pay; without, the student is paid for agreeing with most of its own answers.
    """

    quality: bool = True
    novelty: bool = True
    reviews: bool = True
    rotates: bool = True
    verifies: bool = True


ENVIRONMENT_ARMS: Mapping[str, EnvironmentArm] = {
    "full": EnvironmentArm(),
    "no-quality": EnvironmentArm(quality=False),
    "no-novelty": EnvironmentArm(novelty=False),
    "no-review": EnvironmentArm(reviews=False),
    "no-rotation": EnvironmentArm(rotates=False),
    "self-label": EnvironmentArm(verifies=False),
}
"""The whole, and what is left without one part of it each."""


class DraftingConfig(Section):
    """How environments are asked for and paid."""

    per_step: int = Field(default=2, ge=0, description="Requests a step, at most a quarter of its prompts (ours).")
    shown: int = Field(default=2, ge=1, le=8, description="Environments in each (ours).")
    floor: float = Field(default=0.2, ge=0, le=1, description="Share of those shown that are seeds.")
    weight: float = Field(default=0.3, gt=0, description="Of the author's advantages, where it is the student.")
    sampling: Sampling = Field(default_factory=lambda: dict(SAMPLED))


class BandConfig(Section):
    """How a draft is tried on the student: once each so many questions of a level; all or none right keeps it out."""

    answers: int = Field(default=8, ge=2, le=256)
    level: int = Field(default=3, ge=1, le=5, description="The middle one (ours).")
    sampling: Sampling = Field(default_factory=lambda: {"temperature": 0.8, "top_p": 0.95, "max_tokens": 2048})


class RetireConfig(Section):
    """When an environment leaves (ours): twice running solved at a rate of `solved` or more, or `unsolved` or less."""

    epoch: int = Field(default=20, ge=1, description="Steps between two looks.")
    solved: float = Field(default=0.9, ge=0, le=1)
    unsolved: float = Field(default=0.02, ge=0, le=1)
    age: int = Field(default=20, ge=1, description="Epochs after which it leaves in any case.")
    active: int = Field(default=200, ge=1, description="Environments at most; the oldest leave.")
    memory: float = Field(default=0.9, gt=0, lt=1, description="Weight of what was known of a level.")
    floor: float = Field(default=0.05, gt=0, le=1, description="Weight of a level without a signal.")


class ReviewingConfig(AdmissionConfig):
    """Reviews alone: the paper has no judges."""

    judges: Literal[False] = False


class SelfplayConfig(Section):
    """Environments that come in while a student trains (`evosyn coevolve --recipe evoenv`)."""

    drafting: DraftingConfig = DraftingConfig()
    ladder: LadderConfig = LadderConfig()
    judging: ReviewingConfig = ReviewingConfig()
    band: BandConfig = BandConfig()
    pool: RetireConfig = RetireConfig()
