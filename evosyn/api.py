"""evosyn from Python: load problems, execute solutions against testings, rank both, pay rewards.

`import evosyn` gives these names; everything else in the package but `evosyn.contracts` is its own affair and may
change. Whatever a model wrote runs in the sandbox only. Each function works at a workbench of its own, which opens
whatever the domains need; who calls often passes a sandbox that stays open, as `evosyn.open_sandbox(...)` opens it.
docs/api.md.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from evosyn import sandbox as sandboxes
from evosyn.dataset import Sample
from evosyn.errors import UsageError
from evosyn.jobs import Limits
from evosyn.ports import Sandbox
from evosyn.records import Invalid, Json, PassMatrix, Pool, Ranking
from evosyn.tasks import Task
from evosyn.workbench import SandboxConfig, Workbench, WorkbenchConfig
from evosyn.worlds.routing import RoutingSandbox

__all__ = ["cross_execute", "load", "open_sandbox", "rank", "reward"]


class OpenedSandbox(RoutingSandbox):
    """What `open_sandbox` gives: closing it closes all that was opened for its jobs."""

    def __init__(self, opened: Sandbox, workers: int | None) -> None:
        beside = Workbench(WorkbenchConfig(sandbox=SandboxConfig(workers=workers)))
        super().__init__(opened, lambda: beside.shells)
        self._beside = beside

    def close(self) -> None:
        super().close()
        self._beside.close()


def open_sandbox(
    name: str = "local",
    *,
    workers: int | None = None,
    allow_weak: bool = False,
    packages: tuple[str, ...] = (),
    packages_from: str | None = None,
    hash_seed: int = 0,
    options: Mapping[str, Json] | None = None,
) -> Sandbox:
    """Open a sandbox for several calls; close it, or use it as a context manager.

    Args:
        name: `local`, `docker`, or anything else that the registry finds.
        workers: programs at the same time; None for one a core.
        allow_weak: open it even where it cannot protect this machine well.
        packages: distributions that programs see beside the standard library; strategies are ranked by such ones with
            numpy only.
        packages_from: path of the interpreter that has them; None for the one that runs evosyn.
        hash_seed: of the processes of programs.
        options: of its own config.

    Raises:
        SandboxUnavailable: it does not work here, or protects too little and `allow_weak` is not set.
        UsageError: no sandbox of that name, an option that it does not know, or a package that cannot be shown.
    """
    opened = sandboxes.open_sandbox(
        name,
        workers=workers,
        allow_weak=allow_weak,
        packages=packages,
        packages_from=packages_from,
        hash_seed=hash_seed,
        options=options,
    )
    return OpenedSandbox(opened, workers)


def load(source: str | Path) -> list[Pool]:
    """The problems of a pool file, with their recorded solutions and testings, each one of its domain.

    Args:
        source: a `.jsonl` or `.jsonl.gz` file, or `builtin:python-seeds`.

    Raises:
        InputError: naming file, line, field, value and what to do.
    """
    from evosyn.domains import load_pools

    return load_pools(source)


def cross_execute(
    pools: Sequence[Pool],
    *,
    limits: Limits | None = None,
    cache: str | Path | None = None,
    sandbox: Sandbox | None = None,
) -> list[PassMatrix]:
    """Every solution of a problem against every testing of it, each distinct cell once.

    Args:
        pools: problems with M solutions and N testings each; M and N may differ from problem to problem.
        limits: of one solution; by default those of `evosyn crossexec`.
        cache: file that remembers verdicts; made where it is missing.
        sandbox: one that stays open; by default one is opened and closed again.

    Returns:
        A matrix of shape (M, N) for each pool, in order.

    Raises:
        UsageError: a problem without solutions.
        SandboxUnavailable: the sandbox does not work here.
    """
    with Workbench(verdicts=None if cache is None else Path(cache), limits=limits, lent=sandbox) as workbench:
        return workbench.crossexec.matrices([(pool.problem, pool.solutions, pool.testings) for pool in pools])


def rank(
    strategy: str | Path, matrices: Sequence[PassMatrix] | str | Path, *, sandbox: Sandbox | None = None
) -> list[Ranking]:
    """What a strategy says of the solutions and testings of each problem.

    Args:
        strategy: the name of a known one (`codet`), a Python file, or the directory of a search.
        matrices: of M solutions and N testings each, or a file of them.
        sandbox: one that stays open, with numpy in its workers; by default one is opened and closed again.

    Returns:
        For each matrix M scores of solutions and N of testings; higher is better.

    Raises:
        UsageError: no such strategy, or it gives no ranking: why.
        InputError: a bad line of the file.
        SandboxUnavailable: the sandbox does not work here.
    """
    from evosyn.evaluators.heldout import task_of
    from evosyn.matrices import load_matrices
    from evosyn.strategies import load_strategy
    from evosyn.strategies.evidence import evidence_of

    program = load_strategy(strategy)
    given = load_matrices(matrices) if isinstance(matrices, str | Path) else matrices
    with Workbench(lent=sandbox) as workbench:
        evidences, tasks = [evidence_of(matrix) for matrix in given], [task_of(matrix) for matrix in given]
        (found,) = workbench.runner.rank([program], evidences, tasks)
    if isinstance(found, Invalid):
        raise UsageError(f"strategy {strategy}: gives no ranking: {found.reason}")
    return list(found)


def reward(
    tasks: Sequence[Task | Sample | Mapping[str, Json]],
    completions: Sequence[str],
    *,
    limits: Limits | None = None,
    sandbox: Sandbox | None = None,
    reasoning: str = "auto",
) -> list[float | None]:
    """What each completion earns: 1.0 where the task's testing accepts it, else 0.0; None where that is unknown.

    Args:
        tasks: one for each completion: a row of a dataset, a `Task`, or its JSON as exports write it (docs/reward.md).
        completions: texts as a model wrote them.
        limits: of one completion; by default those of training.
        sandbox: one that stays open; by default one is opened and closed again.
        reasoning: how completions mark what a model thought: `auto`, `none`, or the name of a family of models
            (docs/reasoning.md). One that ends in its reasoning earns 0.0.

    Raises:
        UsageError: a task that is none, by its place and field, or that needs a package which programs do not see; not
            one completion for each task; no such form.
        SandboxUnavailable: the sandbox does not work here.
    """
    from evosyn.text.reasoning import form_named
    from evosyn.train.scoring import REWARD_LIMITS, Scorer, domains_of, reward_judge

    form = form_named(reasoning, "reward: reasoning")
    if len(tasks) != len(completions):
        raise UsageError(f"reward: {len(tasks)} tasks and {len(completions)} completions; one for each is needed")
    asked = [_task(one, place) for place, one in enumerate(tasks)]
    with Workbench(lent=sandbox) as workbench:
        workbench.require_shown(task.problem for task in asked)
        judge = reward_judge(workbench.sandbox, domains_of(asked), limits or REWARD_LIMITS)
        scores = Scorer(judge, form).score(asked, completions)
    return [float(score.passed) if score.known else None for score in scores]


def _task(given: Task | Sample | Mapping[str, Json], place: int) -> Task:
    from evosyn.domains import check_task
    from evosyn.tasks import task_from_json, task_of

    if isinstance(given, Task):
        return given
    return (
        task_of(given, check_task)
        if isinstance(given, Sample)
        else task_from_json(given, f"tasks[{place}]", check_task)
    )
