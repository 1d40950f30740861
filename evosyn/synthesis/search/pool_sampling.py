"""Drawing pools into a run directory: what is whole is there as it comes; what was lost, and what it took, is kept.

A search draws so before it begins, and `evosyn pool sample` draws so alone. Replies stand in the cache of the run, so
the same command goes on where it stopped.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import IO, NamedTuple

from evosyn.codec import dump
from evosyn.dataset import write_rejects
from evosyn.lengths import remedy_of, setting
from evosyn.pools import POOLS, pool_to_json, write_pools
from evosyn.records import Pool, Problem
from evosyn.rundir import RunDir
from evosyn.synthesis.search.config import DrawingSettings
from evosyn.synthesis.search.drawing import DrawnSeeds, Wanted, draw_seeds, reasons
from evosyn.synthesis.search.progress import DRAWING
from evosyn.workbench import Workbench

MANIFEST = "manifest.json"
PART = "pools.part.jsonl"
"""Pools in the order in which they came, while others are still drawn: a pool file."""


class SampledPools(NamedTuple):
    """Pools in the order of their problems."""

    pools: list[Pool]
    simulated: bool


def sample_pools(
    run: RunDir,
    problems: Sequence[Problem],
    config: DrawingSettings,
    workbench: Workbench,
    on_step: Callable[[str, int, int], None],
    see: Callable[[DrawnSeeds, str], None] = lambda _drawn, _teacher: None,
) -> SampledPools:
    """Draw a pool of each problem into `POOLS`.

    Args:
        on_step: told (what, done, total).
        see: refuses what came of the named teacher, before anything is stored.

    Raises:
        BudgetSpent, TeacherUnavailable: what is whole stands in `PART`, and the same command goes on.
    """
    domains = {name: workbench.domains[name] for name in sorted({problem.domain for problem in problems})}
    wanted = Wanted(*config.drawn, config.sampling, workbench.actors(problems), workbench.replies)
    teacher, done = workbench.teacher(), 0
    with run.made(PART).open("w", encoding="utf-8") as part:

        def keep(pool: Pool) -> None:
            nonlocal done
            done += 1
            _say(part, pool)
            on_step(DRAWING, done, len(problems))

        drawn = draw_seeds(problems, teacher, domains, wanted, keep)
    write_rejects(run.path, drawn.rejects)
    see(drawn, teacher.name)
    manifest = run.read_json(MANIFEST)
    made = {
        "teacher": teacher.name,
        "simulated": teacher.simulated,
        "spent": {**manifest.get("spent", {}), "drawing": dump(drawn.usage, defaults=True)},
        "unusable_replies": drawn.unusable,
        "read_in_part": drawn.read_in_part,
        "examples": drawn.examples,
    }
    run.write_json(MANIFEST, {**manifest, **made})
    write_pools(run.made(POOLS), drawn.pools)
    run.file(PART).unlink()
    return SampledPools(list(drawn.pools), teacher.simulated)


def what_may_give_more(drawn: DrawnSeeds) -> str:
    """Why replies could not be used, and which settings may help."""
    remedy = remedy_of([row.reason.removeprefix("reply-") for row in drawn.rejects], "solution")
    return (
        f"of its {drawn.usage.calls} replies these could not be used: {reasons(drawn.rejects) or 'none'}; each is a "
        f"line of rejects.jsonl. Another model, or other settings ({remedy or setting('solution')}, "
        "`sampling.testing`, `sampling.attempts`), may give more"
    )


def _say(part: IO[str], pool: Pool) -> None:
    part.write(json.dumps(pool_to_json(pool), ensure_ascii=True) + "\n")
    part.flush()
