"""The configuration of `evosyn evolve`: what is scored, how it is searched, when it ends; from preset, YAML, flags."""

from __future__ import annotations

from typing import Literal, Protocol

from pydantic import BaseModel, ConfigDict, Field

from evosyn.configs.sampling import SamplingConfig, SearchSampling
from evosyn.configs.section import PluginSection
from evosyn.evaluators.behaviour import DEFAULT_AXES
from evosyn.evaluators.draws import ConsistencyConfig
from evosyn.evolve.arms import named_arm
from evosyn.evolve.islands import IslandsConfig
from evosyn.evolve.loop import LoopConfig
from evosyn.evolve.stopping import StopConfig
from evosyn.records import Json
from evosyn.strategies.proposers.genetic import AROUND
from evosyn.workbench import WorkbenchConfig

KIND = "evolve"


class SearchSettings(Protocol):
    """What a configuration of a search says, whatever is evolved."""

    @property
    def seed(self) -> int: ...

    @property
    def islands(self) -> IslandsConfig: ...

    @property
    def loop(self) -> LoopConfig: ...

    @property
    def stop(self) -> StopConfig: ...

    @property
    def proposers(self) -> ProposersConfig: ...

    @property
    def workbench(self) -> WorkbenchConfig: ...

    @property
    def proposing(self) -> dict[str, Json]:
        """Sampling parameters of all proposers that ask a model, over their own."""
        ...

    def model_dump(self, *, mode: str) -> dict[str, Json]: ...


class DrawingSettings(Protocol):
    """What a configuration says of pools that are drawn."""

    @property
    def drawn(self) -> tuple[int, int]:
        """Solutions and testings of each problem."""
        ...

    @property
    def sampling(self) -> SamplingConfig: ...


class PoolConfig(BaseModel):
    """What is drawn for each seed problem where the source brings no solutions and testings.

    Attributes:
        solutions, testings: None = an eighth more than M and N, so that draws of M x N differ.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    solutions: int | None = Field(default=None, ge=2)
    testings: int | None = Field(default=None, ge=2)


class ProposersConfig(BaseModel):
    """Who proposes.

    Attributes:
        arms: proposers with their share of the proposals: `genetic`, `diff`, `rewrite`, `explain`, `crossover`,
            `mailbox:DIR`, or a dotted path; `diff@provider/model` asks that model. Shares need not add up to one.
        burst: programs in one proposal, of the proposers that make several.
        around: programs that these make around each program of a model, for each call that it took.
        options: of one arm, or of all arms of one proposer, by its name.
        bandit: move the shares among (model, proposer) pairs towards those that earn most per cost.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    arms: dict[str, float] = Field(default={"genetic": 1.0}, min_length=1)
    burst: int = Field(default=16, ge=1, le=512)
    around: int = Field(default=AROUND, ge=1, le=512)
    bandit: bool = True
    options: dict[str, dict[str, Json]] = {}


class EvolvedConfig(PluginSection):
    """What is evolved where it is no strategy; further keys are its options.

    Attributes:
        name: of a plug-in of the kind `evolved`.
    """

    name: str | None = None


class EvolveConfig(BaseModel):
    """All of a run of `evosyn evolve`.

    Attributes:
        evolved: in place of strategies; scoring, axes, start, pool and source are then of no account.
        seed: root of every random choice.
        heldout: share of the problems that only the final report looks at.
        scoring: M, N, what is ranked (`unit`), draws, k, ties, criterion 1.
        axes: of the archive, by name or dotted path.
        start: programs that the search starts from: known strategies or files; the first is the one to beat.
        known: start from every known rule as well, controls left out; the winner has to beat them in any case.
        views: score programs also on what is left without texts and values (evaluators/views.py).
        engine: `evosyn`, or `openevolve` to run OpenEvolve on the same task and take its programs.
        finalists: programs of the search that meet what it started from on fresh draws, to choose the winner.
        source: what it runs on, as the command was given it; several together, or one.
        sampling: how models are asked for solutions and testings, where the source brings none, and for proposals.
        workbench: who is asked, where programs run, what may be spent.
        company: programs that the company policy admits share a process (docs/sandbox.md); False is slower.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    evolved: EvolvedConfig = EvolvedConfig()
    seed: int = 0
    heldout: float = Field(default=0.4, gt=0, lt=1)
    scoring: ConsistencyConfig = ConsistencyConfig(M=16, N=16, draws=8)
    axes: tuple[str, ...] = DEFAULT_AXES
    start: tuple[str, ...] = Field(default=("initial",), min_length=1)
    known: bool = True
    views: bool = True
    engine: Literal["evosyn", "openevolve"] = "evosyn"
    finalists: int = Field(default=60, ge=1, le=1000)
    company: bool = True
    source: str | tuple[str, ...] | None = None
    workbench: WorkbenchConfig = WorkbenchConfig()
    islands: IslandsConfig = IslandsConfig()
    loop: LoopConfig = LoopConfig()
    stop: StopConfig = StopConfig(evaluations=3000, plateau=700)
    proposers: ProposersConfig = ProposersConfig()
    pool: PoolConfig = PoolConfig()
    sampling: SearchSampling = SearchSampling()

    @property
    def sources(self) -> tuple[str, ...]:
        """What it runs on."""
        return () if self.source is None else (self.source,) if isinstance(self.source, str) else self.source

    @property
    def drawn(self) -> tuple[int, int]:
        """Solutions and testings to draw for each problem."""
        m, n = self.scoring.M or 16, self.scoring.N or 16
        return self.pool.solutions or m + (m + 7) // 8, self.pool.testings or n + (n + 7) // 8

    @property
    def proposing(self) -> dict[str, Json]:
        """As `SearchSettings.proposing`."""
        return self.sampling.strategy

    @property
    def asks_models(self) -> bool:
        """Whether anything is shown to a model."""
        return self.engine != "evosyn" or not all(named_arm(text).free for text in self.proposers.arms)

    def identity(self) -> dict[str, Json]:
        """What decides the course of a search; limits and speed do not, nor how models are asked for what is not
        proposed yet: what was proposed stands in the journal."""
        value: dict[str, Json] = self.model_dump(
            mode="json", exclude={"stop", "finalists", "company", "source", "workbench", "sampling"}
        )  # what was drawn stands in the matrices, and how in the manifest
        del value["loop"]["concurrency"]
        return value
