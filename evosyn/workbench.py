"""The workbench: what a command works with, opened when it is first asked for and closed together.

Its configuration is one section of `config.yaml`, so that a run repeats from its file: who is asked, where programs
run, what may be spent. Secrets are no part of it, only names of environment variables. DESIGN.md section 3.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable, Mapping
from contextlib import AsyncExitStack, ExitStack
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from pydantic import BaseModel, ConfigDict, Field

from evosyn import registry
from evosyn.agents.episodes import Actor, EpisodeActor
from evosyn.agents.turns import TurnJournal
from evosyn.budget import Budget, BudgetConfig
from evosyn.chat import Refusals, Reply
from evosyn.configs.section import LISTED, PluginSection
from evosyn.errors import SandboxUnavailable, UsageError
from evosyn.jobs import Limits
from evosyn.ports import (
    Agent,
    AgentTools,
    Checked,
    Crossexec,
    Domain,
    Sandbox,
    SandboxTools,
    StrategyRunner,
    Teacher,
    TeacherTools,
    WorldTools,
)
from evosyn.records import Json, Problem
from evosyn.rundir import require_free
from evosyn.running.progress import ReplyCounts, Usage, usage_of
from evosyn.sharing import Company
from evosyn.text.reasoning import AUTO, ReasoningForm

if TYPE_CHECKING:
    from evosyn.agents.tool_ways import ToolActor
    from evosyn.agents.users import ModelUser
    from evosyn.crossexec.judge import Judge
    from evosyn.worlds.shell.kind import ShellWorlds

log = logging.getLogger(__name__)

NO_MODEL = (
    "no model is named: --model provider/name, --teacher local:PATH, or --teacher replay:builtin:NAME for the recorded "
    "demo"
)
ANY_MODEL = "litellm:provider/name"


class TeacherConfig(PluginSection):
    """Who is asked, and how; further keys are options of that teacher (docs/models.md).

    Attributes:
        model: a real model: `provider/name` in litellm's words, `local:PATH`, or another plug-in of teachers.
        name: instead of a model a plug-in: `mailbox:DIR`, `replay:FILE`, a dotted path.
        replies: reply cache to share with other runs; None for one of this run.
        calls: requests in flight at most.
        reasoning: how its texts mark reasoning: `auto`, `none`, or the name of a family (docs/reasoning.md).
    """

    model: str | None = None
    name: str | None = None
    replies: Path | None = None
    calls: int = Field(default=64, ge=1)
    reasoning: ReasoningForm = AUTO

    @property
    def spec(self) -> str | None:
        """The plug-in that is named; a model that is none by itself is one of litellm.

        Raises:
            UsageError: both a model and another teacher.
        """
        if self.model and self.name:
            raise UsageError("--model and --teacher exclude each other: a model is a teacher")
        if self.model and not registry.is_plugin("teachers", self.model):
            return f"litellm:{self.model}"
        return self.model or self.name


class SandboxConfig(PluginSection):
    """Where programs run; further keys are options of that sandbox.

    Attributes:
        backend: `local`, `docker`, or a dotted path.
        runner: `local`, or `ray[:HOST:PORT]` for such a sandbox on each node of a cluster.
        workers: programs at the same time, on a node; None for one a core.
        allow_weak: run even where the sandbox cannot protect this machine well.
        packages: distributions that programs see beside the standard library, with what these require.
        packages_from: path of the interpreter that has them; None for the one that runs evosyn.
    """

    backend: str = "local"
    runner: str = "local"
    workers: int | None = Field(default=None, ge=1)
    allow_weak: bool = False
    packages: Annotated[tuple[str, ...], LISTED] = ()
    packages_from: str | None = None

    @property
    def opened(self) -> tuple[str, dict[str, Json]]:
        """The plug-in that runs jobs, and its options: the runner, which is told of the sandbox of each node, or that
        sandbox itself."""
        if self.runner == "local":
            return self.backend, self.options
        return self.runner, {"backend": self.backend, "options": self.options}


class AgentConfig(PluginSection):
    """Who works on tasks of several steps; further keys are options of that agent (docs/os-shell.md).

    Attributes:
        name: `loop`, or a dotted path.
        rooms: episodes that have a room at the same time; None for two a core.
    """

    name: str = "loop"
    rooms: int | None = Field(default=None, ge=1)


class WorkbenchConfig(BaseModel):
    """The section `workbench` of a configuration. None of it decides the course of a run but the teacher's replies."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    teacher: TeacherConfig = TeacherConfig()
    sandbox: SandboxConfig = SandboxConfig()
    budget: BudgetConfig = BudgetConfig()
    agent: AgentConfig = AgentConfig()


def sandbox_of(
    config: SandboxConfig, *, workers: int | None = None, packages: tuple[str, ...] | None = None, hash_seed: int = 0
) -> Sandbox:
    """A sandbox as a configuration names it, for programs alone; the caller closes it.

    Args:
        packages: that we have ourselves, in place of those of the configuration.

    Raises:
        SandboxUnavailable: it does not work here, or protects too little.
        UsageError: a package cannot be shown.
    """
    name, options = config.opened
    shown = (config.packages, config.packages_from) if packages is None else (packages, None)
    tools = SandboxTools(workers, config.allow_weak, *shown, hash_seed)
    sandbox: Sandbox = registry.make("sandboxes", name, tools, options)
    return sandbox


class Workbench:
    """The collaborators of a command; use it as a context manager.

    Args:
        config: what to open.
        out: directory that remembers verdicts and replies; None remembers them for as long as it is open.
        verdicts: file that remembers verdicts, in place of the one in `out`.
        seed: of the run; the draws of a local model depend on it.
        limits: of one solution where matrices are made.
        company: whether strategies that the policy admits share a process.
        own: options of single models by name, over those that all teachers share: where one stands elsewhere.
        lent: sandbox for everything that runs, which stays open; by default one is opened for each need.

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
        own: Mapping[str, Mapping[str, Json]] | None = None,
        lent: Sandbox | None = None,
    ) -> None:
        self.config = config or WorkbenchConfig()
        self._refuse_strangers()
        self.budget = Budget(self.config.budget)
        self._out, self._seed, self._limits, self._company = out, seed, limits, company
        self._lent, self._own = lent, own or {}
        self._verdicts = verdicts or (out / "verdicts.sqlite" if out else None)
        self._open = ExitStack()
        self._refusals: dict[str, Refusals] = {}
        self._actors: dict[str, EpisodeActor] = {}

    @cached_property
    def sandbox(self) -> Sandbox:
        """Where solutions and testings run.

        Raises:
            SandboxUnavailable: it does not work here, or protects too little.
        """
        return self.open_sandbox(workers=self.config.sandbox.workers)

    @cached_property
    def shells(self) -> ShellWorlds:
        """Where agents work on a Linux system; what they leave is kept in `out`.

        Raises:
            SandboxUnavailable: rooms do not work on this machine.
        """
        tools = WorldTools(self._out and self._out / "states", self.config.sandbox.workers)
        opened: ShellWorlds = registry.make("worlds", "shell", tools)
        return self._open.enter_context(opened)

    def actor(self, domain: Domain) -> EpisodeActor | None:
        """Who solves problems of a domain in several steps; None where one reply is a solution.

        Raises:
            SandboxUnavailable: there is no place to act in.
        """
        if domain.actor == "reply":
            return None
        if domain.name not in self._actors:
            if domain.actor == "tools":
                self._actors[domain.name] = self.tool_actor(self.agent())
            else:
                turns = TurnJournal(self._out and self._out / "turns.jsonl")
                self._actors[domain.name] = Actor(self.shells, turns, self.agent(), self.config.agent.rooms)
        return self._actors[domain.name]

    def agent(self) -> Agent:
        """The agent of the configuration, new."""
        made: Agent = registry.make("agents", self.config.agent.name, AgentTools(), self.config.agent.options)
        return made

    def tool_actor(self, agent: Agent, user: ModelUser | None = None) -> ToolActor:
        """Has problems of tool worlds solved by an agent, whom a model that plays the user may answer."""
        from evosyn.agents.tool_ways import ToolActor

        worlds = registry.make("worlds", "tools", WorldTools(sandbox=lambda: self.sandbox))
        turns = TurnJournal(self._out and self._out / "turns.jsonl")
        return ToolActor(worlds, turns, agent, self.config.agent.rooms, user)

    def actors(self, problems: Iterable[Problem]) -> dict[str, EpisodeActor]:
        """Who solves these problems in several steps, by domain; each has a place to act in.

        Raises:
            SandboxUnavailable: as `actor`, or an image is not here; says how it is made.
            UsageError: one needs a package that programs do not see.
        """
        listed = list(problems)
        self.require_shown(listed)
        found = {}
        for name in sorted({problem.domain for problem in listed}):
            actor = self.actor(self.domains[name])
            if actor is not None:
                actor.ready([problem for problem in listed if problem.domain == name])
                found[name] = actor
        return found

    def require_shown(self, problems: Iterable[Problem]) -> None:
        """
        Raises:
            UsageError: one needs a package that programs do not see; says how they come to see it.
        """
        from evosyn.sandbox.packages import require_shown

        asking = [problem for problem in problems if problem.payload.get("packages")]
        if asking:
            require_shown(asking, self.sandbox.protection)

    def lacks(self, problem: Problem) -> tuple[str, ...]:
        """What a problem needs and this machine does not give: it is left out by these names."""
        try:
            actor = self.actor(self.domains[problem.domain])
        except SandboxUnavailable as error:
            return (f"rooms: {error}",)
        return () if actor is None else actor.lacks(problem)

    @cached_property
    def runner(self) -> StrategyRunner:
        """Runs strategies, which see numpy alone, in a sandbox of their own."""
        from evosyn.strategies.running.sandboxed import SandboxedRunner

        sandbox = self.open_sandbox(workers=self.config.sandbox.workers, packages=("numpy",))
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

    @cached_property
    def replies(self) -> ReplyCounts:
        """Counts of the replies that pools are drawn of."""
        return ReplyCounts()

    @property
    def slots(self) -> int | None:
        """Calls that the endpoints which were asked work at at once; None where none of them says it."""
        return min((one.slots for one in self._refusals.values() if one.slots), default=None)

    @property
    def has_model(self) -> bool:
        """Whether one is named."""
        return self.config.teacher.spec is not None

    def teacher(self, model: str | None = None, *, keep: bool = True, reasoning: str | None = None) -> Teacher:
        """The teacher of the configuration, or that of another name asked in the same way; the caller closes it.

        Args:
            keep: remember its replies in the run.
            reasoning: in place of the configured form; `none` leaves its texts as they came.

        Raises:
            UsageError: none or two are named, or what is named does not exist.
        """
        config = self.config.teacher
        spec = config.spec if model is None else TeacherConfig(model=model).spec
        if spec is None:
            raise UsageError(NO_MODEL)
        found = registry.find("teachers", spec)
        options = config.options if model is None else {**self._lent_to(found), **self._own.get(model, {})}
        tools = self._tools if keep else replace(self._tools, replies=None)
        tools = tools if reasoning is None else replace(tools, reasoning=reasoning)
        teacher: Teacher = found.make(tools, options)
        return teacher

    def _lent_to(self, found: registry.Plugin) -> dict[str, Json]:
        """The options of the configuration that a model of another name shares: without a shared address no provider
        is sent the key of another one."""
        shared = found.shared(self.config.teacher.options)
        spec = self.config.teacher.spec or ""
        if not shared.get("base_url") and spec.partition("/")[0] != found.text.partition("/")[0]:
            shared.pop("api_key_env", None)
        return shared

    def check(self, models: Mapping[str | None, tuple[str, Mapping[str, Json]]]) -> Usage:
        """Ask each model one short question, so that what is wrong with an endpoint is known before anything is spent.
        What only stands in for a model is said to.

        Args:
            models: purpose and sampling parameters to ask with, by name; None for that of the configuration.

        Returns:
            What that came to.

        Raises:
            RunLocked: another process is at work in the directory of the run.
            TeacherUnavailable: one of them gives no usable answer.
            UsageError: as `teacher`.
        """
        if models and self._out is not None:
            require_free(self._out)
        return asyncio.run(self._checked(models))

    async def _checked(self, models: Mapping[str | None, tuple[str, Mapping[str, Json]]]) -> Usage:
        replies: list[Reply] = []
        async with AsyncExitStack() as opened:
            teachers = {}
            for name in models:  # what is missing is said before any call
                teachers[name] = self.teacher(name, keep=False)
                opened.push_async_callback(teachers[name].aclose)
            for name, teacher in teachers.items():
                if teacher.simulated:
                    log.warning("SIMULATED: %s only stands in for a model", teacher.name)
                reply = await teacher.check(*models[name]) if isinstance(teacher, Checked) else None
                replies += [] if reply is None else [reply]
        return usage_of(replies)

    def open_sandbox(
        self, *, workers: int | None = None, packages: tuple[str, ...] | None = None, hash_seed: int = 0
    ) -> Sandbox:
        """One more sandbox, closed with the others; the one that is lent, whatever is asked for."""
        from evosyn.worlds.routing import RoutingSandbox

        if isinstance(self._lent, RoutingSandbox):
            return self._lent
        opened = self._lent
        if opened is None:
            own = sandbox_of(self.config.sandbox, workers=workers, packages=packages, hash_seed=hash_seed)
            opened = self._open.enter_context(own)
        return RoutingSandbox(opened, lambda: self.shells)

    def close(self) -> None:
        self._open.close()
        spent = self.budget.spent
        told = ((spent.repeated, "late calls were asked again"), (spent.abandoned, "calls were given up"))
        if listed := ", ".join(f"{count} {what}" for count, what in told if count):
            log.warning("%s; a provider may bill those too", listed)

    def __enter__(self) -> Workbench:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def _refuse_strangers(self) -> None:
        """Names and options are checked before anything is written; options too where arms alone name models.

        Raises:
            UsageError: there is no plug-in of a name, or it does not know an option.
        """
        teacher, sandbox = self.config.teacher, self.config.sandbox
        if teacher.options or teacher.spec not in (None, "self"):  # the model in training is no plug-in
            registry.find("teachers", teacher.spec or ANY_MODEL).configured(teacher.options, TeacherConfig.model_fields)
        agent = self.config.agent
        if agent.options or agent.name != AgentConfig().name:
            registry.find("agents", agent.name).configured(agent.options, AgentConfig.model_fields)
        if sandbox.options:
            registry.find("sandboxes", sandbox.backend).configured(sandbox.options, SandboxConfig.model_fields)
        if sandbox.runner != "local":
            name, options = sandbox.opened
            registry.find("sandboxes", name).configured(options)

    @property
    def _tools(self) -> TeacherTools:
        config = self.config.teacher
        replies = config.replies or (self._out / "replies.sqlite" if self._out else None)
        return TeacherTools(
            self._seed,
            config.calls,
            replies,
            self.budget,
            refusals=self._refusals,
            reasoning=config.reasoning,
            sandbox=lambda: self.sandbox,
        )
