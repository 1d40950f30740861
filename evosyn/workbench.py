"""The workbench: what a command works with, opened when it is first asked for and closed together.

Its configuration is one section of `config.yaml`, so that a run repeats from its file: who is asked, where programs
run, what may be spent. Secrets are no part of it, only names of environment variables. DESIGN.md section 3.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import ExitStack
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, cast
from urllib.parse import parse_qsl, urlsplit

from pydantic import BaseModel, ConfigDict, Field, field_validator
from pydantic_core import PydanticCustomError

from evosyn import registry
from evosyn.configs.loading import SECRET
from evosyn.errors import UsageError
from evosyn.jobs import Limits
from evosyn.ports import Crossexec, Domain, Sandbox, StrategyRunner, Teacher
from evosyn.sharing import Company
from evosyn.teachers.budget import Budget, BudgetConfig

if TYPE_CHECKING:
    from evosyn.crossexec.judge import Judge

LOCAL = "local:"
SECRET_WORDS = ("key", "token", "secret", "password", "signature", "sig")


class TeacherConfig(BaseModel):
    """Who is asked, and how.

    Attributes:
        model: a real model: `provider/name` in litellm's words, or `local:PATH`.
        name: instead of a model `offline`, `mailbox:DIR`, `replay:FILE@MODEL`, or a dotted path.
        strength: of the offline teacher: weak, mixed, strong.
        base_url: endpoint of the model; without a key in it.
        api_key_env: environment variable that holds the key.
        replies: reply cache to share with other runs; None for one of this run.
        calls: model calls in flight at most.
        requests_per_minute, tokens_per_minute: limits of the account.
        timeout_s: of one call.
        hedge: ask again where a call hangs.
        device, dtype, engine: of `local:PATH`.
        price_in, price_out: dollars for a million tokens, where litellm does not know them.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    model: str | None = None
    name: str | None = None
    strength: str | None = None
    base_url: str | None = None
    api_key_env: str | None = None
    replies: Path | None = None
    calls: int = Field(default=64, ge=1)
    requests_per_minute: float | None = Field(default=None, gt=0)
    tokens_per_minute: float | None = Field(default=None, gt=0)
    timeout_s: float = Field(default=300.0, gt=0)
    hedge: bool = True
    device: str | None = None
    dtype: str | None = None
    engine: str | None = None
    price_in: float | None = Field(default=None, ge=0)
    price_out: float | None = Field(default=None, ge=0)

    @field_validator("base_url")
    @classmethod
    def _without_secret(cls, url: str | None) -> str | None:
        parts = urlsplit(url or "")
        names = [name.lower() for name, _ in parse_qsl(parts.query)]
        if "@" in parts.netloc or any(word in name for name in names for word in SECRET_WORDS):
            rule = "holds a secret, which would be written into config.yaml; name it with api_key_env"
            raise PydanticCustomError(SECRET, rule)
        return url

    @property
    def is_local(self) -> bool:
        return bool(self.model and self.model.startswith(LOCAL))


class SandboxConfig(BaseModel):
    """Where programs run.

    Attributes:
        backend: `local`, `docker`, or a dotted path.
        workers: programs at the same time; None for one a core.
        allow_weak: run even where the sandbox cannot protect this machine well.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    backend: str = "local"
    workers: int | None = Field(default=None, ge=1)
    allow_weak: bool = False


class WorkbenchConfig(BaseModel):
    """The section `workbench` of a configuration. None of it decides the course of a run but the teacher's replies."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    teacher: TeacherConfig = TeacherConfig()
    sandbox: SandboxConfig = SandboxConfig()
    budget: BudgetConfig = BudgetConfig()


class Workbench:
    """The collaborators of a command; use it as a context manager.

    Args:
        config: what to open.
        out: directory that remembers verdicts and replies; None remembers them for as long as it is open.
        verdicts: file that remembers verdicts, in place of the one in `out`.
        seed: of the run; the draws of the offline teacher and of a local model depend on it.
        limits: of one solution where matrices are made.
        company: whether strategies that the policy admits share a process.
        default: teacher where none is named; None makes that an error.

    Attributes:
        budget: shared by all teachers.
    """

    def __init__(
        self,
        config: WorkbenchConfig | None = None,
        *,
        out: Path | None = None,
        verdicts: Path | None = None,
        seed: int = 0,
        limits: Limits | None = None,
        company: bool = True,
        default: str | None = None,
    ) -> None:
        self.config = config or WorkbenchConfig()
        self.budget = Budget(self.config.budget)
        self._out, self._seed, self._limits, self._company, self._default = out, seed, limits, company, default
        self._verdicts = verdicts or (out / "verdicts.sqlite" if out else None)
        self._open = ExitStack()

    @cached_property
    def sandbox(self) -> Sandbox:
        """Where solutions and testings run.

        Raises:
            SandboxUnavailable: it does not work here, or protects too little.
        """
        return self.open_sandbox(workers=self.config.sandbox.workers)

    @cached_property
    def runner(self) -> StrategyRunner:
        """Runs strategies, which may use numpy, in a sandbox of their own."""
        from evosyn.strategies.running.sandboxed import SandboxedRunner

        sandbox = self.open_sandbox(workers=self.config.sandbox.workers, numpy=True)
        return SandboxedRunner(sandbox, company=Company(share=self._company))

    @cached_property
    def domains(self) -> Mapping[str, Domain]:
        from evosyn.domains import Domains

        return Domains()

    @cached_property
    def judge(self) -> Judge:
        from evosyn.crossexec.judge import Judge
        from evosyn.crossexec.verdict_cache import SqliteVerdicts

        cache = self._open.enter_context(SqliteVerdicts(self._verdicts)) if self._verdicts else None
        return Judge(self.sandbox, self.domains, self._limits, cache)

    @cached_property
    def crossexec(self) -> Crossexec:
        from evosyn.crossexec.executor import CrossExecutor

        return CrossExecutor(self.judge)

    @property
    def has_model(self) -> bool:
        """Whether a teacher is named that may be asked for more than the offline one can say."""
        teacher = self.config.teacher
        return teacher.model is not None or teacher.name not in (None, "offline")

    def teacher(self, model: str | None = None) -> Teacher:
        """The teacher of the configuration, or the model of this name asked in the same way; the caller closes it.

        Raises:
            UsageError: none or two are named, or what is named does not exist.
        """
        config = self.config.teacher
        if model is not None:
            config = config.model_copy(update={"model": model, "name": None, "strength": None})
        return open_teacher(
            config,
            seed=self._seed,
            sandbox=lambda: self.sandbox,
            replies=self._replies,
            budget=self.budget,
            default=self._default,
        )

    def open_sandbox(self, *, workers: int | None = None, numpy: bool = False, hash_seed: int = 0) -> Sandbox:
        """One more sandbox, closed with the others."""
        from evosyn.sandbox import open_sandbox

        backend, weak = self.config.sandbox.backend, self.config.sandbox.allow_weak
        opened = open_sandbox(backend, workers=workers, allow_weak=weak, numpy=numpy, hash_seed=hash_seed)
        return self._open.enter_context(opened)

    def close(self) -> None:
        self._open.close()

    def __enter__(self) -> Workbench:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    @property
    def _replies(self) -> Path | None:
        return self.config.teacher.replies or (self._out / "replies.sqlite" if self._out else None)


def open_teacher(
    config: TeacherConfig,
    *,
    seed: int,
    sandbox: Callable[[], Sandbox],
    replies: Path | None,
    budget: Budget,
    default: str | None = None,
) -> Teacher:
    """The teacher that a configuration stands for.

    Args:
        seed: of the run; the offline teacher's draws depend on it.
        sandbox: opens the one where the offline teacher runs input generators.
        replies: reply cache.
        budget: shared with other teachers of the run.
        default: what to fall back on where neither a model nor a teacher was named; None makes that an error.

    Raises:
        UsageError: both or neither named, or what was named does not exist.
    """
    if config.model and config.name:
        raise UsageError("--model and --teacher exclude each other: a model is a teacher")
    _refuse_strays(config)
    if config.model:
        make = _local if config.is_local else _model
        return make(config, replies, seed, budget)
    spec = config.name or default
    if spec is None:
        raise UsageError("no teacher: give --model provider/name, or --teacher offline for the built-in simulation")
    kind, _, rest = spec.partition(":")
    make_named = partial(registry.factory, "teachers")
    if kind == "mailbox":
        return cast(Teacher, make_named("mailbox")(directory=rest or "mailbox"))
    if kind == "replay":
        file, _, model = rest.partition("@")
        if not model:
            raise UsageError(f"--teacher {spec!r}: write it as replay:FILE@provider/name, naming the recorded model")
        return cast(Teacher, make_named("replay")(file=file, model=model))
    strength = {} if config.strength is None else {"strength": config.strength}
    return cast(Teacher, make_named(spec)(seed=seed, sandbox=sandbox(), **strength))


def _refuse_strays(config: TeacherConfig) -> None:
    """
    Raises:
        UsageError: a setting of another kind of teacher.
    """
    for name, value in (("device", config.device), ("dtype", config.dtype), ("engine", config.engine)):
        if value is not None and not config.is_local:
            raise UsageError(f"workbench.teacher.{name}: is of a model in this process: --model local:PATH")
    if config.base_url and config.is_local:
        raise UsageError("--base-url: a model in this process has no endpoint; leave it out, or name a served model")
    asked = config.model or config.name or "offline"
    if config.strength is not None and asked != "offline":
        raise UsageError(f"workbench.teacher.strength: is of the offline teacher, not of {asked!r}")


def _local(config: TeacherConfig, replies: Path | None, seed: int, budget: Budget) -> Teacher:
    from evosyn.teachers.local import create

    return create(
        path=str(config.model).removeprefix(LOCAL),
        device=config.device or "auto",
        dtype=config.dtype or "auto",
        engine=config.engine or "auto",
        batch=config.calls,
        seed=seed,
        cache=replies,
        budget=budget,
    )


def _model(config: TeacherConfig, replies: Path | None, seed: int, budget: Budget) -> Teacher:  # noqa: ARG001
    from evosyn.teachers.chat import ChatConfig
    from evosyn.teachers.litellm import create

    chat = ChatConfig(
        concurrency=config.calls,
        requests_per_minute=config.requests_per_minute,
        tokens_per_minute=config.tokens_per_minute,
        price_in=config.price_in,
        price_out=config.price_out,
    )
    if not config.hedge:
        chat = chat.model_copy(update={"hedge": None})
    return create(
        model=str(config.model),
        base_url=config.base_url,
        api_key_env=config.api_key_env,
        timeout_s=config.timeout_s,
        cache=replies,
        config=chat,
        budget=budget,
    )
