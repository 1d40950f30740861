"""`evosyn reward`: the sandboxed reward for other trainers."""

from __future__ import annotations

import os
import signal
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from evosyn.cli._workbench import sandbox_options, workbench_of
from evosyn.errors import UsageError

if TYPE_CHECKING:
    from evosyn.tasks import Task


@click.group(short_help="Serve the sandboxed reward to other trainers.")
def command() -> None:
    """The reward as a service. For functions to import instead, see docs/reward.md."""


@command.command()
@click.argument("data", required=False)
@click.option("--setting", type=click.Choice(["evosyn", "relaxed", "random"]), default="evosyn", show_default=True)
@click.option(
    "--pool", type=click.Path(exists=True, dir_okay=False, path_type=Path), help="Problems with human testings."
)
@click.option("--host", default="127.0.0.1", show_default=True)
@click.option("--port", type=click.IntRange(0, 65535), default=8765, show_default=True)
@click.option("--token-env", metavar="NAME", help="Environment variable with the token; required off loopback.")
@sandbox_options
@click.option("--alone", is_flag=True, help="A process of its own for every completion (docs/sandbox.md, Company).")
def serve(data: str | None, setting: str, pool: Path | None, host: str, token_env: str | None, **values: Any) -> None:
    """Answer POST /score and GET /health until stopped.

    Items may name a row of DATA (or a problem of --pool) by its id, or bring their own testing.
    """
    from evosyn import registry
    from evosyn.domains import domains_named
    from evosyn.hosts import LOOPBACK
    from evosyn.sharing import Company
    from evosyn.train.scoring import Scorer, reward_judge
    from evosyn.train.service import RewardService

    token = None
    if token_env is not None:
        token = os.environ.get(token_env)
        if not token:
            raise UsageError(f"--token-env {token_env}: is not set")
    elif host not in LOOPBACK:
        raise UsageError(f"--host {host}: others can reach it, so a token is needed: --token-env NAME")
    tasks = _tasks(data, setting, pool)
    served = {*registry.names("domains"), *(task.problem.domain for task in tasks.values())}
    with workbench_of(values) as workbench:
        company = Company(share=not values["alone"])
        scorer = Scorer(reward_judge(workbench.sandbox, domains_named(served), company=company))
        protection = workbench.sandbox.protection.level
        service = RewardService(scorer, tasks, host=host, port=values["port"], token=token, protection=protection)
        signal.signal(signal.SIGTERM, lambda *_: threading.Thread(target=service.close).start())
        shown = f"[{host}]" if ":" in host else host
        click.echo(f"rewards on http://{shown}:{service.port} ({len(tasks)} tasks, {protection} sandbox); Ctrl-C stops")
        service.serve()


def _tasks(data: str | None, setting: str, pool: Path | None) -> dict[str, Task]:
    from evosyn.domains import load_pools
    from evosyn.train.data import load_samples, tasks_of
    from evosyn.train.evaluate import bench_tasks

    tasks: dict[str, Task] = {}
    if data is not None:
        tasks |= tasks_of(load_samples(data, setting))
    if pool is not None:
        tasks |= {task.row_id: task for task in bench_tasks(load_pools(pool))}
    return tasks
