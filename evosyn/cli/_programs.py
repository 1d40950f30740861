"""What commands share that take programs of environments by name: their options, the ladder, the rows made of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, NamedTuple

import click

from evosyn.cli._command import Option, config_options, sandbox_options, with_options
from evosyn.errors import UsageError

if TYPE_CHECKING:
    from evosyn.dataset import Reject, Sample
    from evosyn.environments.ladder import Climb
    from evosyn.workbench import Workbench

CONFIG = "evosyn.cli._configs:CheckConfig"
EXAMPLE = "workbench.sandbox.backend=docker"
AT_ONCE = 4
"""Programs that are checked at the same time; what they run shares the sandbox's workers."""
_PROGRAMS = (
    click.argument("names", metavar="NAME...", nargs=-1, required=True),
    click.option("--seed", type=int, default=0, show_default=True, help="Of the instances."),
    click.option("--json", "as_json", is_flag=True, help="One JSON object on standard output."),
    sandbox_options,
    config_options(EXAMPLE),
)


def program_options(command: Option) -> Option:
    """Add what every command takes that runs programs which exist."""
    return with_options(command, _PROGRAMS)


class MadeRows(NamedTuple):
    """Rows whose right answers the judge accepts, of so many environments, and what was dropped."""

    samples: Sequence[Sample]
    environments: int
    rejects: Sequence[Reject]

    @property
    def dropped(self) -> dict[str, int]:
        """How many for each reason."""
        return dict(Counter(f"{one.stage}: {one.reason}" for one in self.rejects))


def made_rows(
    workbench: Workbench, names: Sequence[str], per_env: int, environments: int | None, seed: int
) -> MadeRows:
    """Check, draw, make and judge.

    Args:
        environments: so many are drawn by the seed; None for all.

    Raises:
        UsageError: fewer pass than are asked for.
    """
    from evosyn.crossexec.judge import Cell
    from evosyn.dataset import Reject
    from evosyn.domains.environment import NAME
    from evosyn.environments.rows import EnvironmentRow, rows_of, samples_of
    from evosyn.environments.runner import EnvironmentRunner
    from evosyn.randomness import SeedTree
    from evosyn.records import Verdict

    kept: list[EnvironmentRow] = []
    rejects: list[Reject] = []
    used, runner = 0, EnvironmentRunner(workbench.sandbox)
    climbs = climbed(workbench, names, seed)
    sound = [name for name, climb in climbs.items() if climb.environment is not None and not climb.reason]
    if environments is not None and environments > len(sound):
        raise UsageError(f"--environments {environments}: only {len(sound)} of {len(climbs)} pass `evosyn env check`")
    drawn = set(sound if environments is None else SeedTree(seed).child("drawn").random().sample(sound, environments))
    for index, (name, climb) in enumerate(climbs.items()):
        if climb.environment is None or climb.reason:
            reason, _, detail = climb.reason.partition(": ")
            rejects.append(Reject(climb.stage, reason, "environment", index, name, detail=detail))
            continue
        if name not in drawn:
            continue
        made = rows_of(climb.environment, runner, per_env, SeedTree(seed).child("rows"))
        rejects += [one for one in made if isinstance(one, Reject)]
        good = [one for one in made if isinstance(one, EnvironmentRow)]
        results = workbench.judge.decided([Cell(one.problem, one.solution, one.testing) for one in good])
        for at, (row, result) in enumerate(zip(good, results, strict=True)):
            if result.verdict is Verdict.PASS:
                kept.append(row)
            else:
                reason = f"right-answer-{result.verdict.name.lower()}"
                rejects.append(Reject("rows", reason, "instance", at, row.problem.problem_id, detail=result.detail))
        used += 1
    return MadeRows(samples_of(kept, workbench.domains[NAME]), used, rejects)


def climbed(workbench: Workbench, names: Sequence[str], seed: int) -> dict[str, Climb]:
    """How far each program comes; one that repeats an earlier one has that for its reason."""
    from dataclasses import replace

    from evosyn.environments import provenance_of, sources
    from evosyn.environments.ladder import Ladder
    from evosyn.environments.novelty import NoveltyPool

    texts = sources(list(names))
    other = workbench.open_sandbox(workers=workbench.config.sandbox.workers, hash_seed=1)
    ladder = Ladder(workbench.sandbox, other, seed=seed)
    with ThreadPoolExecutor(AT_ONCE) as threads:
        found = threads.map(ladder.check, texts.values(), map(provenance_of, texts))
        climbs = dict(zip(texts, found, strict=True))
    pool = NoveltyPool()
    for name, climb in climbs.items():
        if climb.environment is None or climb.reason:
            continue
        repeat = pool.nearest(climb.environment, climb.prompts)
        if repeat is not None and repeat.reason:
            climbs[name] = replace(climb, reason=f"{repeat.reason}: {repeat.of} ({repeat.similarity:.2f})")
        else:
            pool.add(climb.environment, climb.prompts)
    return climbs
