"""The options that choose a teacher, the same for every command that asks one, and the teacher they stand for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

import click

from evosyn import registry
from evosyn.errors import UsageError
from evosyn.ports import Sandbox, Teacher

if TYPE_CHECKING:
    from evosyn.teachers.budget import Budget

LOCAL = "local:"
Command = TypeVar("Command", bound=Callable[..., Any])

_OPTIONS = (
    click.option("--model", help="A real model: provider/name in litellm's words, or local:PATH (transformers, vLLM)."),
    click.option("--teacher", help="offline (a simulation), mailbox:DIR, replay:FILE, or package.module:factory."),
    click.option(
        "--strength",
        type=click.Choice(["weak", "mixed", "strong"]),
        help="Of the offline teacher. [default: mixed]",
    ),
    click.option("--base-url", help="Endpoint of the model, such as http://localhost:8000/v1 for vLLM."),
    click.option("--api-key-env", metavar="NAME", help="Environment variable that holds the key of the model."),
    click.option("--replies", type=click.Path(path_type=Path), help="Reply cache to share; by default one in --out."),
    click.option(
        "--model-calls", type=click.IntRange(1), default=64, show_default=True, help="Calls in flight at most."
    ),
    click.option("--requests-per-minute", type=click.FloatRange(0, min_open=True), help="Limit of your account."),
    click.option("--tokens-per-minute", type=click.FloatRange(0, min_open=True), help="Limit of your account."),
    click.option("--call-timeout", type=float, default=300.0, show_default=True, help="Seconds for one call."),
    click.option(
        "--hedge/--no-hedge", default=True, show_default=True, help="Ask again where a call hangs; first answer counts."
    ),
    click.option("--device", help="Of local:PATH: auto, cpu, cuda, cuda:1, mps. [default: auto]"),
    click.option("--dtype", help="Of local:PATH: auto, bfloat16, float16, float32. [default: auto]"),
    click.option("--local-engine", help="Of local:PATH: auto, transformers, vllm. [default: auto]"),
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
    strength: str | None = None
    base_url: str | None = None
    api_key_env: str | None = None
    replies: Path | None = None
    model_calls: int = 64
    requests_per_minute: float | None = None
    tokens_per_minute: float | None = None
    call_timeout: float = 300.0
    hedge: bool = True
    device: str | None = None
    dtype: str | None = None
    local_engine: str | None = None
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
    options: TeacherOptions,
    *,
    seed: int,
    sandbox: Sandbox,
    replies: Path,
    default: str | None = None,
    budget: Budget | None = None,
) -> Teacher:
    """The teacher that the options stand for.

    Args:
        seed: of the run; the offline teacher's draws depend on it.
        sandbox: where the offline teacher runs input generators.
        replies: reply cache, unless the options name one.
        budget: shared with other teachers of the run; by default one of its own, from the options.
        default: spec to fall back on where neither a model nor a teacher was named; None makes that an error.

    Raises:
        UsageError: both or neither named, or what was named does not exist.
    """
    if options.model and options.teacher:
        raise UsageError("--model and --teacher exclude each other: a model is a teacher")
    _refuse_strays(options)
    cache = options.replies or replies
    if options.model and options.model.startswith(LOCAL):
        return _local(options, cache, seed, budget or budget_of(options))
    if options.model:
        return _model(options, cache, budget or budget_of(options))
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
    strength = {} if options.strength is None else {"strength": options.strength}
    return cast(Teacher, registry.factory("teachers", spec)(seed=seed, sandbox=sandbox, **strength))


def _refuse_strays(options: TeacherOptions) -> None:
    """
    Raises:
        UsageError: an option of another kind of teacher.
    """
    local = bool(options.model and options.model.startswith(LOCAL))
    for name, value in (("device", options.device), ("dtype", options.dtype), ("local-engine", options.local_engine)):
        if value is not None and not local:
            raise UsageError(f"--{name} is of a model in this process: --model local:PATH")
    if options.base_url and local:
        raise UsageError("--base-url: a model in this process has no endpoint; leave it out, or name a served model")
    asked = options.model or options.teacher or "offline"
    if options.strength is not None and asked != "offline":
        raise UsageError(f"--strength is of the offline teacher, not of {asked!r}")


def _local(options: TeacherOptions, cache: Path, seed: int, budget: Budget) -> Teacher:
    from evosyn.teachers.local import create

    return create(
        path=str(options.model).removeprefix(LOCAL),
        device=options.device or "auto",
        dtype=options.dtype or "auto",
        engine=options.local_engine or "auto",
        batch=options.model_calls,
        seed=seed,
        cache=cache,
        budget=budget,
    )


def _model(options: TeacherOptions, cache: Path, budget: Budget) -> Teacher:
    from evosyn.teachers.chat import ChatConfig
    from evosyn.teachers.litellm import create

    config = ChatConfig(
        concurrency=options.model_calls,
        requests_per_minute=options.requests_per_minute,
        tokens_per_minute=options.tokens_per_minute,
        price_in=options.price_in,
        price_out=options.price_out,
    )
    if not options.hedge:
        config = config.model_copy(update={"hedge": None})
    return create(
        model=str(options.model),
        base_url=options.base_url,
        api_key_env=options.api_key_env,
        timeout_s=options.call_timeout,
        cache=cache,
        config=config,
        budget=budget,
    )


def budget_of(options: TeacherOptions) -> Budget:
    """What a run with these options may spend."""
    from evosyn.teachers.budget import Budget, BudgetConfig

    return Budget(BudgetConfig(max_cost=options.max_cost, max_tokens=options.max_tokens, max_calls=options.max_calls))
