"""How models are asked for solutions and testings: sampling parameters by purpose, forms, examples, attempts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from evosyn.chat import Form, Manner
from evosyn.configs.section import SAMPLED, Parameters, Sampling, Section
from evosyn.lengths import check_lengths
from evosyn.records import Json


class TestingSampling(BaseModel):
    """Of testings: the parameters that the teacher is given, as further keys, and a form.

    Attributes:
        form: in which testings are asked for; what comes is read in any form.
    """

    __test__ = False
    model_config = ConfigDict(frozen=True, extra="allow")

    form: Form = "asserts"

    @model_validator(mode="before")
    @classmethod
    def _sampled(cls, given: Json) -> Json:
        return {**SAMPLED, **given} if isinstance(given, Mapping) else given

    @model_validator(mode="after")
    def _with_lengths(self) -> Self:
        check_lengths(self.params)
        return self

    @property
    def params(self) -> dict[str, Json]:
        """What is given to the teacher with each request."""
        return dict(self.model_extra or {})


class SamplingConfig(Section):
    """How solutions and testings are drawn.

    Attributes:
        solution, testing: sampling parameters given to the teacher with each request; after a reply that was cut
            the next attempt has more room.
        example: what a request for a testing shows: `seed` a right test of the problem itself, of its human testing or
            else of its statement (it is then no label, and in a reply no evidence); `other` testings of other problems
            (Du 2025, figure 6), as `seed` does for a problem without such a test; `none` nothing.
        examples: how many other problems are shown at most, those whose statements are most like this one's.
        style: `brief` asks in short words, for models that do not reason first, and all testings alike.
        prompt_hints: ask each testing of a problem to look at something else (`Domain.views`).
        temperatures: of the solutions, slot by slot in turn, in place of that in `solution`; empty for one for all.
        attempts: how often one slot is asked before it stays empty.
        concurrency: problems drawn at once where all are known from the start.
    """

    solution: Sampling = Field(default_factory=lambda: dict(SAMPLED))
    testing: TestingSampling = TestingSampling()
    example: Literal["none", "seed", "other"] = "seed"
    examples: int = Field(default=2, ge=0, le=10)
    style: Literal["full", "brief"] = "full"
    prompt_hints: bool = True
    temperatures: tuple[float, ...] = ()
    attempts: int = Field(default=2, ge=1, le=10)
    concurrency: int = Field(default=16, ge=1)

    @property
    def manner(self) -> Manner:
        """How the domain is to ask."""
        return Manner(self.testing.form, self.style == "brief")


class SearchSampling(SamplingConfig):
    """Of a search, which draws where its source brings no solutions and testings, and has proposers that ask models.

    Attributes:
        strategy: sampling parameters of all proposers, over their own.
    """

    strategy: Parameters = Field(default_factory=dict)


class AdaptiveConfig(Section):
    """When a problem that is drawn in rounds has enough.

    Attributes:
        start: solutions and testings of the first round.
        growth: factor of both from round to round.
        support: testings that must accept exactly the same solutions as the chosen one, itself included; where cases
            are ranked, replies with a case that accepts exactly those that the joined ones accept. More than 1 finds a
            right best solution more often, for more calls.
        give_up: solutions and testings from which a problem without any variation is hopeless; less saves executions
            where models are strong, and loses problems where they are weak.
    """

    start: int = Field(default=4, ge=2)
    growth: float = Field(default=2.0, gt=1.0, le=4.0)
    support: int = Field(default=1, ge=1)
    give_up: int = Field(default=16, ge=2)


class SynthesisSampling(SamplingConfig):
    """Of a synthesis, which makes problems, draws solutions and testings of each, and may ask for large inputs.

    Attributes:
        problem, inputs: sampling parameters of new problems and of large inputs, as those of solutions.
        adaptive: draw in rounds and stop early; None draws all at once.
    """

    problem: Sampling = Field(default_factory=lambda: dict(SAMPLED))
    inputs: Sampling = Field(default_factory=lambda: dict(SAMPLED))
    adaptive: AdaptiveConfig | None = None
