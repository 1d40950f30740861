"""The recipe of `evosyn pool sample`: solutions and testings of a model for a file of problems, to search on later."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from pydantic import Field

from evosyn import __version__
from evosyn.codec import dump
from evosyn.configs.sampling import SamplingConfig
from evosyn.configs.saving import CONFIG, as_yaml
from evosyn.configs.section import Section
from evosyn.domains import load_pools
from evosyn.errors import TeacherUnavailable, is_held
from evosyn.records import Json, Problem, content_id
from evosyn.rundir import REPORT, RunDir, see_unchanged
from evosyn.synthesis.estimate import TOGETHER, Sampled, figures, keep_taken
from evosyn.synthesis.search.drawing import DrawnSeeds
from evosyn.synthesis.search.pool_sampling import MANIFEST, sample_pools, what_may_give_more
from evosyn.workbench import Workbench, WorkbenchConfig

KIND = "pool"


class PoolSampleConfig(Section):
    """A run of `evosyn pool sample`.

    Attributes:
        seeds: a pool file or `builtin:NAME`; solutions and testings that it records are not taken over.
        M, N: solutions and testings that each problem is asked for.
        limit: the first so many problems; None for all.
        workbench: who is asked, and what may be spent.
    """

    seeds: str | None = None
    M: int = Field(default=16, ge=1, le=1000)
    N: int = Field(default=16, ge=0, le=1000)
    limit: int | None = Field(default=None, ge=1)
    sampling: SamplingConfig = SamplingConfig()
    workbench: WorkbenchConfig = WorkbenchConfig()

    @property
    def drawn(self) -> tuple[int, int]:
        """Solutions and testings of each problem."""
        return self.M, self.N


def problems_of(config: PoolSampleConfig) -> list[Problem]:
    """The problems that are asked about.

    Raises:
        InputError: there is no such file, or a line of it is wrong.
    """
    return [pool.problem for pool in load_pools(str(config.seeds))][: config.limit]


def sample_pool(
    config: PoolSampleConfig,
    problems: Sequence[Problem],
    out: Path,
    workbench: Workbench,
    on_step: Callable[[str, int, int], None],
) -> dict[str, Json]:
    """Draw a pool into `out`, or find the one that is there; returns the value of `report.json`.

    Raises:
        UsageError: `out` holds something else, or a pool that was drawn in another way.
        BudgetSpent, TeacherUnavailable: from the teacher; the same command goes on.
    """
    new = not (out / MANIFEST).is_file()
    checked = workbench.check({None: ("solution", config.sampling.solution)} if new else {})
    own = config.sampling.model_dump(mode="json", exclude={"concurrency"})
    how: dict[str, Json] = {f"sampling.{name}": value for name, value in own.items()}
    asked: dict[str, Json] = {"problems": content_id("i_", [one.id for one in problems]), "M": config.M, "N": config.N}
    with RunDir(out) as run:
        run.claim_new(KIND)
        held: dict[str, Json] = {"spent": {"check": dump(checked, defaults=True)}} if new else run.read_json(MANIFEST)
        see_unchanged(out, {name: held[name] for name in how if name in held}, how)
        run.write_json(MANIFEST, {**held, "kind": KIND, **how, "evosyn": __version__})
        run.write(CONFIG, as_yaml(config.model_dump(mode="json")))
        if is_held(run.file(REPORT)) and run.read_json(REPORT).get("asked") == asked:
            return dict(run.read_json(REPORT))
        found: list[DrawnSeeds] = []
        sample_pools(run, problems, config, workbench, on_step, lambda drawn, name: found.append(_seen(drawn, name)))
        held, report = run.read_json(MANIFEST), {"kind": KIND, "asked": asked, **_figures(problems, config, *found)}
        report |= {
            name: held[name] for name in ("teacher", "simulated", "unusable_replies", "read_in_part", "examples")
        }
        if told := keep_taken(run, [len(problems), *config.drawn], TOGETHER, found[0].usage, workbench.replies):
            report["estimated"] = told
        run.write_json(REPORT, report)
        return dict(run.read_json(REPORT))


def estimate_pool(config: PoolSampleConfig, problems: int, sampled: Sampled) -> dict[str, Json]:
    """What the run takes, in the keys of `evosyn synthesize --dry-run`."""
    slots = dict(zip(TOGETHER, config.drawn, strict=True))
    attempts = config.sampling.attempts
    phases = {name: sampled.phase(name, problems * many, problems * many * attempts) for name, many in slots.items()}
    found = figures(phases, sampled, problems=problems, executions=0, concurrency=config.workbench.teacher.calls)
    return {**found, "sizes": [problems, *config.drawn]}


def _seen(drawn: DrawnSeeds, teacher: str) -> DrawnSeeds:
    """
    Raises:
        TeacherUnavailable: nothing could be used.
    """
    if not any(pool.solutions or pool.testings for pool in drawn.pools):
        raise TeacherUnavailable(f"{teacher}: nothing could be used, no pool is stored: {what_may_give_more(drawn)}")
    return drawn


def _figures(problems: Sequence[Problem], config: PoolSampleConfig, drawn: DrawnSeeds) -> dict[str, Json]:
    sizes = {pool.problem.problem_id: [len(pool.solutions), len(pool.testings)] for pool in drawn.pools}
    return {
        "problems": len(problems),
        "solutions": sum(m for m, _ in sizes.values()),
        "testings": sum(n for _, n in sizes.values()),
        "with_fewer": {name: size for name, size in sizes.items() if size != list(config.drawn)},
        **drawn.usage.told(),
    }
