"""`evosyn reward`: the sandboxed reward for other trainers."""

from __future__ import annotations

import os
import signal
import threading
from typing import TYPE_CHECKING

import click

from evosyn.cli._command import ConfiguredCommand, config_options, sandbox_options
from evosyn.cli._output import echo
from evosyn.cli._training import SETTING
from evosyn.errors import UsageError
from evosyn.hosts import require_token

if TYPE_CHECKING:
    from evosyn.cli._configs import ServiceConfig
    from evosyn.tasks import Task


@click.group(short_help="Serve the sandboxed reward to other trainers.")
def command() -> None:
    """The reward as a service. For functions to import instead, see docs/reward.md."""


@command.command(cls=ConfiguredCommand, kind="evosyn.cli._configs:ServiceConfig")
@click.argument("data", required=False)
@SETTING
@click.option("--pool", help="Problems with human testings.")
@click.option("--host", help="[default: 127.0.0.1]")
@click.option("--port", type=click.IntRange(0, 65535), help="[default: 8765]")
@click.option("--token-env", metavar="NAME", help="Environment variable with the token; required off loopback.")
@click.option(
    "--reasoning", metavar="NAME", help="How models mark their reasoning (docs/reasoning.md). [default: auto]"
)
@sandbox_options
@click.option(
    "--alone",
    "company",
    flag_value="false",
    help="A process of its own for every completion (docs/sandbox.md, Company).",
)
@config_options("company=false")
def serve(config: ServiceConfig) -> None:
    """Answer POST /score and GET /health until stopped.

    Items may name a row of DATA (or a problem of --pool) by its id, or bring their own testing.
    """
    from evosyn import registry
    from evosyn.domains import domains_named
    from evosyn.sharing import Company
    from evosyn.train.scoring import Scorer, reward_judge
    from evosyn.train.service import RewardService
    from evosyn.workbench import Workbench

    token = _token(config)
    tasks = _tasks(config)
    served = {*registry.names("domains"), *(task.problem.domain for task in tasks.values())}
    host = config.host
    with Workbench(config.workbench) as workbench:
        workbench.require_shown(task.problem for task in tasks.values())
        company = Company(share=config.company)
        scorer = Scorer(reward_judge(workbench.sandbox, domains_named(served), company=company), config.reasoning)
        protection = workbench.sandbox.protection.level
        service = RewardService(scorer, tasks, host=host, port=config.port, token=token, protection=protection)
        signal.signal(signal.SIGTERM, lambda *_: threading.Thread(target=service.close).start())
        shown = f"[{host}]" if ":" in host else host
        echo(f"rewards on http://{shown}:{service.port} ({len(tasks)} tasks, {protection} sandbox); Ctrl-C stops")
        service.serve()


def _token(config: ServiceConfig) -> str | None:
    """
    Raises:
        UsageError: there is none where others can reach the service.
    """
    if config.token_env is not None:
        token = os.environ.get(config.token_env)
        if not token:
            raise UsageError(f"--token-env {config.token_env}: is not set")
        return token
    require_token(config.host, None, "--token-env NAME")
    return None


def _tasks(config: ServiceConfig) -> dict[str, Task]:
    from evosyn.domains import load_pools
    from evosyn.train.data import load_samples, tasks_of
    from evosyn.train.evaluate import bench_tasks

    tasks: dict[str, Task] = {}
    if config.data is not None:
        tasks |= tasks_of(load_samples(config.data, config.setting))
    if config.pool is not None:
        tasks |= {task.row_id: task for task in bench_tasks(load_pools(config.pool))}
    return tasks
