"""The options that choose a teacher, the same for every command that asks one, and the teacher they stand for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, TypeVar, cast

import click

from evosyn import registry
from evosyn.errors import UsageError
from evosyn.ports import Sandbox, Teacher

Command = TypeVar("Command", bound=Callable[..., Any])

_OPTIONS = (
    click.option("--model", help="A real model as the teacher: provider/name in litellm's words."),
    click.option("--teacher", help="offline (a simulation), mailbox:DIR, replay:FILE, or package.module:factory."),
    click.option("--base-url", help="Endpoint of the model, such as http://localhost:8000/v1 for vLLM."),
    click.option("--api-key-env", metavar="NAME", help="Environment variable that holds the key of the model."),
    click.option("--replies", type=click.Path(path_type=Path), help="Reply cache to share; by default one in --out."),
    click.option(
        "--model-calls", type=click.IntRange(1), default=64, show_default=True, help="Calls in flight at most."
    ),
    click.option("--call-timeout", type=float, default=300.0, show_default=True, help="Seconds for one call."),
    click.option("--max-cost", type=float, help="Stop (resumable, exit 3) after this many dollars."),
    click.option("--max-tokens", type=int, help="Stop (resumable, exit 3) after this many tokens."),
    click.option("--max-calls", type=int, help="Stop (resumable, exit 3) after this many calls."),
    click.option("--price-in", type=float, help="Dollars for a million input tokens, where litellm does not know it."),
    click.option("--price-out", type=float, help="Dollars for a million output tokens, likewise."),
)


@dataclass(frozen=True)
class TeacherOptions:
    """The values of these options, under their names."""

    model: str | None = None
    teacher: str | None = None
    base_url: str | None = None
    api_key_env: str | None = None
    replies: Path | None = None
    model_calls: int = 64
    call_timeout: float = 300.0
    max_cost: float | None = None
    max_tokens: int | None = None
    max_calls: int | None = None
    price_in: float | None = None
    price_out: float | None = None

    @classmethod
    def take_from(cls, values: dict[str, Any]) -> TeacherOptions:
        """Take these options out of the keyword arguments of a command."""
        return cls(**{field.name: values.pop(field.name) for field in fields(cls) if field.name in values})


def teacher_options(command: Command) -> Command:
    """Add the options to a click command, which gets them as keyword arguments."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def open_teacher(
    options: TeacherOptions, *, seed: int, sandbox: Sandbox, replies: Path, default: str | None = None
) -> Teacher:
    """The teacher that the options stand for.

    Args:
        seed: of the run; the offline teacher's draws depend on it.
        sandbox: where the offline teacher runs input generators.
        replies: reply cache, unless the options name one.
        default: spec to fall back on where neither a model nor a teacher was named; None makes that an error.

    Raises:
        UsageError: both or neither named, or what was named does not exist.
    """
    if options.model and options.teacher:
        raise UsageError("--model and --teacher exclude each other: a model is a teacher")
    cache = options.replies or replies
    if options.model:
        return _model(options, cache)
    spec = options.teacher or default
    if spec is None:
        raise UsageError("no teacher: give --model provider/name, or --teacher offline for the built-in simulation")
    kind, _, rest = spec.partition(":")
    if kind == "mailbox":
        return cast(Teacher, registry.factory("teachers", "mailbox")(directory=rest or "mailbox"))
    if kind == "replay":
        file, _, model = rest.partition("@")
        if not model:
            raise UsageError(f"--teacher {spec!r}: write it as replay:FILE@provider/name, naming the recorded model")
        return cast(Teacher, registry.factory("teachers", "replay")(file=file, model=model))
    return cast(Teacher, registry.factory("teachers", spec)(seed=seed, sandbox=sandbox))


def _model(options: TeacherOptions, cache: Path) -> Teacher:
    from evosyn.teachers.budget import Budget, BudgetConfig
    from evosyn.teachers.chat import ChatConfig
    from evosyn.teachers.litellm import create

    budget = BudgetConfig(max_cost=options.max_cost, max_tokens=options.max_tokens, max_calls=options.max_calls)
    config = ChatConfig(concurrency=options.model_calls, price_in=options.price_in, price_out=options.price_out)
    return create(
        model=str(options.model),
        base_url=options.base_url,
        api_key_env=options.api_key_env,
        timeout_s=options.call_timeout,
        cache=cache,
        config=config,
        budget=Budget(budget),
    )
