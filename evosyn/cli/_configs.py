"""The configurations of the commands that look at what others made; those of searches, syntheses and trainings stand
with these."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Literal, get_args

from pydantic import Field, PositiveInt

from evosyn.configs.section import LISTED, Section
from evosyn.evaluators.draws import ConsistencyConfig
from evosyn.jobs import Limits
from evosyn.limits import LimitsConfig
from evosyn.records import Unit
from evosyn.synthesis.search.config import EvolveConfig
from evosyn.text.reasoning import AUTO, ReasoningForm
from evosyn.workbench import WorkbenchConfig

SearchName = Literal["evolve", "iid", "sequential", "hillclimb"]
SEARCHES: tuple[SearchName, ...] = get_args(SearchName)


class MatricesConfig(Section):
    """What every command over matrices is told.

    Attributes:
        source: pool file, matrices file, or a directory that holds matrices.
        verdicts: file that remembers the cells that are executed.
        execute: limits of one solution, where a pool is executed; as `evosyn crossexec` has them, so that its verdicts
            are found again: 10 x `cpu_s` for a whole solution unless `budget_s` is given.
    """

    source: str | None = None
    verdicts: Path | None = None
    execute: LimitsConfig = LimitsConfig()
    workbench: WorkbenchConfig = WorkbenchConfig()

    @property
    def limits(self) -> Limits:
        given = "budget_s" in self.execute.model_fields_set
        return replace(self.execute.limits, budget_s=self.execute.budget_s if given else 10 * self.execute.cpu_s)


class ScoreScoring(ConsistencyConfig):
    """How `evosyn score` measures."""

    draws: int = Field(default=20, ge=1)


class ScoreConfig(MatricesConfig):
    """`evosyn score`.

    Attributes:
        strategies: known names, files or runs; none for all known ones.
        problems: which of a run of `evosyn evolve`; None for those held out.
    """

    strategies: tuple[str, ...] = ()
    scoring: ScoreScoring = ScoreScoring()
    problems: Literal["all", "heldout", "train"] | None = None


class KScoring(ConsistencyConfig):
    """How `evosyn ablate k` measures; it sets `k` and `criterion1` itself."""

    M: int | None = Field(default=16, ge=2)
    N: int | None = Field(default=16, ge=2)
    draws: int = Field(default=20, ge=1)


class KAblationConfig(MatricesConfig):
    """`evosyn ablate k`."""

    strategies: tuple[str, ...] = ("initial",)
    ks: Annotated[tuple[PositiveInt, ...], LISTED] = (1, 2, 4, 8)
    scoring: KScoring = KScoring()


class SizeAblationConfig(MatricesConfig):
    """`evosyn ablate size`; `sizes` are values of M = N, `draws` subsamples of each problem; `unit` as in scoring."""

    unit: Unit = "case"
    strategy: str = "gap"
    sizes: Annotated[tuple[PositiveInt, ...], LISTED] = (4, 8, 16)
    draws: int = Field(default=20, ge=1)
    seed: int = 0


class CurveAblationConfig(EvolveConfig):
    """`evosyn ablate curve`: a search, repeated.

    Attributes:
        seeds: repeats, numbered from `seed`; each splits anew.
        verdicts: as in `MatricesConfig`.
    """

    seeds: int = Field(default=5, ge=2)
    verdicts: Path | None = None


class SearchAblationConfig(CurveAblationConfig):
    """`evosyn ablate search`: several searches, repeated."""

    searches: Annotated[tuple[SearchName, ...], LISTED] = SEARCHES


class ExecutionConfig(Section):
    """`evosyn crossexec`.

    Attributes:
        source: pool file.
        M, N: the first so many solutions and testings of each problem; None for all.
        timeout, budget: CPU seconds for a call and for a whole solution, None for 10 x timeout; memory: its MiB.
        repeat, sample, seed: look for flaky cells: runs, share of rows repeated, and what draws them.
        verdicts: cache file; None for one of this run.
    """

    command: Literal["crossexec"] = "crossexec"
    source: str = ""
    M: int | None = Field(default=None, ge=1)
    N: int | None = Field(default=None, ge=1)
    timeout: float = Field(default=3.0, ge=0.05, le=600)
    budget: float | None = Field(default=None, ge=0.05)
    memory: int = Field(default=1024, ge=64)
    repeat: int = Field(default=1, ge=1)
    sample: float = Field(default=0.05, ge=0, le=1)
    seed: int = 0
    verdicts: Path | None = None
    workbench: WorkbenchConfig = WorkbenchConfig()


class CheckConfig(Section):
    """`evosyn pool check`."""

    workbench: WorkbenchConfig = WorkbenchConfig()


class AuditConfig(Section):
    """`evosyn audit`: `settings` of the dataset `data` against the human testings of the pool `against`."""

    data: str = ""
    against: str = ""
    settings: tuple[str, ...] = ("evosyn", "random")
    workbench: WorkbenchConfig = WorkbenchConfig()


class ServiceConfig(Section):
    """`evosyn reward serve`.

    Attributes:
        data, setting: a dataset whose rows items may name; pool: problems that they may.
        token_env: environment variable with the token.
        reasoning: how completions mark what a model thought, where an item does not say it (docs/reasoning.md).
        company: whether programs that the policy admits share a process (docs/sandbox.md).
    """

    data: str | None = None
    setting: str = "evosyn"
    pool: str | None = None
    host: str = "127.0.0.1"
    port: int = Field(default=8765, ge=0, le=65535)
    token_env: str | None = None
    reasoning: ReasoningForm = AUTO
    company: bool = True
    workbench: WorkbenchConfig = WorkbenchConfig()
