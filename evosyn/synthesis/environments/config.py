"""The configuration of `evosyn env make` and `env evolve`. docs/environments.md says which values are a paper's."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal, Self

from pydantic import Field, model_validator
from pydantic_core import PydanticCustomError

from evosyn.addresses import fault_of
from evosyn.configs.loading import SECRET
from evosyn.configs.section import SAMPLED, Parameters, Sampling, Section
from evosyn.environments import SEEDS
from evosyn.environments.ladder import LadderConfig
from evosyn.evaluators.learnability import Objective
from evosyn.evolve.islands import IslandsConfig
from evosyn.evolve.loop import LoopConfig
from evosyn.evolve.stopping import StopConfig
from evosyn.limits import LimitsConfig
from evosyn.records import Json
from evosyn.synthesis.search.config import ProposersConfig
from evosyn.workbench import WorkbenchConfig


class AuthorConfig(Section):
    """How drafts are asked for.

    Attributes:
        by: `keywords` (ReSyn: a topic a draft) or `shown` (EvoEnv: environments that exist, and a category).
        keywords: a file with one a line, or several with commas; None for those that come with evosyn.
        per_keyword: drafts of each at most; each keyword gets one before any gets two.
        shown: bundled environments in each prompt.
        attempts: how often a draft is asked for before it is given up.
        sampling: parameters given to the teacher.
    """

    by: Literal["keywords", "shown"] = "keywords"
    keywords: Path | None = None
    per_keyword: int = Field(default=8, ge=1)
    shown: int = Field(default=2, ge=1, le=8)
    attempts: int = Field(default=2, ge=1, le=10)
    sampling: Sampling = Field(default_factory=lambda: dict(SAMPLED))


class JudgingConfig(Section):
    """Who looks at a draft that stands on the ladder.

    Attributes:
        judges: the two of ReSyn, of the program and of the questions.
        revisions: after a judge's no the draft is revised so often, climbs again and is judged again.
        reviews: EvoEnv's, independent of each other; one that rejects is enough.
        attempts: how often a judgement is asked for before an unreadable one counts as a no.
    """

    judges: bool = True
    revisions: int = Field(default=1, ge=0, le=3)
    reviews: int = Field(default=0, ge=0, le=16)
    attempts: int = Field(default=2, ge=1, le=10)
    sampling: Sampling = Field(default_factory=lambda: {**SAMPLED, "temperature": 0.7})


class StudentConfig(Section):
    """Who answers, and how what it solves is scored. All of it but its address names the epoch of an evaluation.

    Attributes:
        model: as --model names one; None for the model that writes (ReSyn's solver is its author).
        base_url: its endpoint, where that is not the one of all models; it is then sent no key but that of the
            environment variable `api_key_env`.
        per_level: instances of each level, one answer each; `first`: so many at once, and if all of all levels end
            alike no more.
        objective: `learnability`, `target` (EvoEnv's quality of a rate) or `band` (0.1 to 0.9).
    """

    model: str | None = None
    base_url: str | None = None
    api_key_env: str | None = None
    per_level: int = Field(default=16, ge=2, le=256)
    first: int = Field(default=4, ge=1, le=256)
    objective: Objective = "learnability"
    sampling: Sampling = Field(default_factory=lambda: {"temperature": 0.8, "top_p": 0.95, "max_tokens": 2048})

    @model_validator(mode="after")
    def _stands_somewhere(self) -> Self:
        if self.base_url is not None and (fault := fault_of(self.base_url)):
            raise PydanticCustomError(SECRET, "student.base_url {fault}", {"fault": fault})
        if self.model is None and (self.base_url or self.api_key_env):
            raise ValueError("student.base_url and student.api_key_env are of a student; name it with --student")
        if self.api_key_env and not self.base_url:
            raise ValueError("student.api_key_env is sent to student.base_url alone; give that, or --api-key-env")
        return self

    @property
    def own(self) -> dict[str, dict[str, Json]]:
        """What a workbench is told of the student's address, by its name."""
        if self.model is None or self.base_url is None:
            return {}
        return {self.model: {"base_url": self.base_url, "api_key_env": self.api_key_env or ""}}

    def told(self) -> dict[str, Json]:
        """What names the epoch of an evaluation."""
        return self.model_dump(mode="json", exclude={"base_url", "api_key_env"})


class CrosscheckConfig(Section):
    """Programs that solve from the question alone, executed against the verifier (ours).

    Attributes:
        solvers: drawn at once; 0 asks for none.
        rounds: drawn again so often while none is accepted.
        instances: questions that they answer; `group`: of so many a testing is made.
        verifiers: V for one generator; the draft's own is the first.
        strategy: ranks the verifiers: a known name, a file, or a directory of `evosyn evolve`.
        execute: limits of one solver, for all questions.
    """

    solvers: int = Field(default=4, ge=0, le=32)
    rounds: int = Field(default=2, ge=1, le=8)
    instances: int = Field(default=40, ge=5, le=400)
    group: int = Field(default=8, ge=1, le=100)
    verifiers: int = Field(default=1, ge=1, le=16)
    strategy: str = "exclusion"
    attempts: int = Field(default=2, ge=1, le=10)
    sampling: Sampling = Field(default_factory=lambda: dict(SAMPLED))
    execute: LimitsConfig = LimitsConfig(cpu_s=2.0, budget_s=10.0)


_SPEED: dict[str, Any] = {"limit": True, "workbench": True, "author": {"keywords", "per_keyword"}}
"""What decides no draft, or stands in the journal under another name."""


class MakeConfig(Section):
    """A run of `evosyn env make`.

    Attributes:
        limit: drafts at most; what is dropped on the way is not replaced.
        seed: root of the seed tree.
        workbench: who is asked, where programs run, what may be spent.
    """

    limit: int = Field(default=100, ge=1)
    seed: int = 0
    author: AuthorConfig = AuthorConfig()
    ladder: LadderConfig = LadderConfig()
    judging: JudgingConfig = JudgingConfig()
    crosscheck: CrosscheckConfig = CrosscheckConfig()
    workbench: WorkbenchConfig = WorkbenchConfig()

    def identity(self) -> dict[str, Json]:
        """What decides the fate of a draft; speed and number of drafts do not."""
        return self.model_dump(mode="json", exclude=_SPEED)


class VariationConfig(ProposersConfig):
    """Who proposes: variants of KNOBS without a model, and a model that changes, rewrites or joins programs.

    Attributes:
        sampling: parameters of all proposers that ask a model, over their own.
    """

    arms: dict[str, float] = Field(default={"knobs": 3.0, "rewrite": 2.0, "crossover": 1.0}, min_length=1)
    sampling: Parameters = Field(default_factory=dict)
    burst: int = Field(default=2, ge=1, le=64)
    around: int = Field(default=3, ge=1, le=64)


class AdmissionConfig(JudgingConfig):
    """Who looks at a candidate that stands on the ladder; nothing is revised: the search itself does that."""

    judges: bool = False
    revisions: Literal[0] = 0
    reviews: int = Field(default=3, ge=0, le=16)


class OptionalCrosscheck(CrosscheckConfig):
    """Off: a student answers every candidate. What is evaluated is the candidate as it is."""

    solvers: int = Field(default=0, ge=0, le=32)
    verifiers: Literal[1] = 1


class FewIslands(IslandsConfig):
    """As many as some hundred evaluations can fill."""

    count: int = Field(default=2, ge=1, le=64)
    migrate_every: int = Field(default=20, ge=1)


class ShortLoop(LoopConfig):
    """Not far ahead: what is under way when a search ends was paid for nothing."""

    lag: int = Field(default=4, ge=1, le=4096)
    concurrency: int = Field(default=4, ge=1, le=4096)


class FewEvaluations(StopConfig):
    """The limits of a search for environments."""

    evaluations: int | None = Field(default=200, ge=0)


class EnvironmentSearchConfig(Section):
    """A run of `evosyn env evolve`.

    Attributes:
        start: environments that the search starts from, as commands name them.
        seed: root of the seed tree.
        judging, crosscheck: as of `evosyn env make`.
        student: who answers; another one is another epoch of the same run.
        islands, loop, stop, proposers: of the search, as of `evosyn evolve`.
        workbench: who is asked, where programs run, what may be spent.
    """

    start: tuple[str, ...] = Field(default=tuple(f"builtin:{name}" for name in SEEDS), min_length=1)
    seed: int = 0
    ladder: LadderConfig = LadderConfig()
    judging: AdmissionConfig = AdmissionConfig()
    crosscheck: OptionalCrosscheck = OptionalCrosscheck()
    student: StudentConfig = StudentConfig()
    islands: FewIslands = FewIslands()
    loop: ShortLoop = ShortLoop()
    stop: FewEvaluations = FewEvaluations()
    proposers: VariationConfig = VariationConfig()
    workbench: WorkbenchConfig = WorkbenchConfig()

    @property
    def proposing(self) -> dict[str, Json]:
        """As `SearchSettings.proposing`."""
        return self.proposers.sampling

    def identity(self) -> dict[str, Json]:
        """What decides the course of a search but for the student; limits, speed and how models are asked do not."""
        value = self.model_dump(mode="json", exclude={"start", "student", "stop", "workbench"})
        del value["loop"]["concurrency"], value["proposers"]["sampling"]
        return value
