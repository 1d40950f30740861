"""The offline teacher: a simulation of language models, for trying everything without a key, a network or a GPU.

It is not a model: it works from the reference solution of a problem (or from its own families), makes mistakes by
mutation, and says so (`simulated`, and the name goes into every record). A reply is a pure function of the seed, the
problem, the purpose and the sample. Its rates were fitted to recorded pools: README.md beside it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Annotated

from pydantic import Field

from evosyn.chat import Reply, Request
from evosyn.environments.asking import PURPOSES
from evosyn.environments.genome import PURPOSE
from evosyn.errors import UsageError
from evosyn.ports import Argument, PluginConfig, Sandbox, TeacherTools
from evosyn.randomness import SeedTree
from evosyn.records import Problem, canonical_json, content_id
from evosyn.synthesis.mutations.asking import PURPOSES as LINKS
from evosyn.synthesis.worlds.asking import DEBUG as WORLD_DEBUG
from evosyn.synthesis.worlds.asking import TABLES as WORLD_TABLES
from evosyn.synthesis.worlds.asking import TOOLS as WORLD_TOOLS
from simulation.author.knowledge import Knowledge, resolve
from simulation.author.problems import draw_problem
from simulation.author.profile import Profile, profile_named
from simulation.author.replies import DrawnReply
from simulation.author.solutions import draw_solution
from simulation.author.study import Mistake, Study, study
from simulation.author.testings import draw_inputs, draw_testing
from simulation.environments.replies import draw_environment_reply
from simulation.environments.variations import ANSWER, draw_answer, draw_variation
from simulation.math_author.author import draw_math
from simulation.math_author.mutations import draw_mutation
from simulation.shell_author.agent import draw_shell
from simulation.world_author.author import WorldAuthor

NAME = "offline-teacher"
DOMAINS = ("python-function", "python-stdin")
SHELL, ANSWERS, TOOLS = "os-shell", "math-answer", "world-tool"
SOLVED = (*DOMAINS, SHELL, ANSWERS, TOOLS)
"""Of problems of these domains it writes solutions."""
WORLDS = (WORLD_TOOLS, WORLD_TABLES, WORLD_DEBUG)
BY_PURPOSE = {
    **dict.fromkeys(PURPOSES, draw_environment_reply),
    **dict.fromkeys(LINKS.values(), draw_mutation),
    PURPOSE: draw_variation,
    ANSWER: draw_answer,
}
DRAWS = {"solution": draw_solution, "testing": draw_testing, "inputs": draw_inputs}

__all__ = ["DOMAINS", "NAME", "SOLVED", "Knowledge", "Mistake", "OfflineTeacher", "create", "resolve"]


class OfflineConfig(PluginConfig):
    """
    Attributes:
        strength: `weak` (fitted to one weak model), `strong` (to many models of all sizes), `mixed` (half-way).
        workers: problems that are studied at the same time.
    """

    strength: Annotated[str, Argument("STRENGTH")] = "mixed"
    workers: int = Field(default=4, ge=1)


def create(tools: TeacherTools, config: OfflineConfig) -> OfflineTeacher:
    """The offline teacher. Another seed gives other mistakes, other testings and other problems.

    Generators, references and mutants run in `tools.sandbox`, which solutions and testings need.

    Raises:
        UsageError: no such strength.
    """
    tree, profile = SeedTree(tools.seed).child(NAME, config.strength), profile_named(config.strength)
    return OfflineTeacher(tree, profile, tools.sandbox and tools.sandbox(), config.workers)


class OfflineTeacher:
    """Implements `ports.Teacher`; studies each problem once, when it is first asked about it."""

    name = NAME
    simulated = True

    def __init__(self, tree: SeedTree, profile: Profile, sandbox: Sandbox | None, workers: int) -> None:
        self._tree, self._profile, self._sandbox = tree, profile, sandbox
        self._threads = ThreadPoolExecutor(max_workers=workers, thread_name_prefix=NAME)
        self._worlds = WorldAuthor(tree, profile.name, sandbox)
        self._studies: dict[str, Study] = {}
        self._under_way: dict[str, asyncio.Task[Study]] = {}

    async def complete(self, request: Request) -> Reply:
        """One reply; see `ports.Teacher`.

        Raises:
            UsageError: the problem has neither a reference solution nor a family of ours, or the purpose is unknown.
            SandboxUnavailable: the sandbox failed.
        """
        drawn = await self._draw(request)
        identity = [
            NAME,
            self._tree.root,
            self._profile.name,
            request.purpose,
            None if request.problem is None else request.problem.id,
            request.sample,
            [[message.role, message.content] for message in request.messages],
            dict(request.params),
        ]
        return Reply(
            id=content_id("r_", identity),
            text=drawn.text,
            model=f"{NAME}/{self._profile.name}",
            input_tokens=sum(len(message.content) for message in request.messages) // 4,
            output_tokens=len(drawn.text) // 4,
        )

    async def aclose(self) -> None:
        """Stop studying; the sandbox stays with its owner."""
        for task in self._under_way.values():
            task.cancel()
        self._threads.shutdown(wait=False, cancel_futures=True)

    def draw(self, problem: Problem, purpose: str, sample: int) -> DrawnReply:
        """The reply to (problem, purpose, sample) with what it was meant to be; blocks. For calibration and tests.

        Raises:
            UsageError: as `complete`.
        """
        return self._drawn(self.study(problem), purpose, sample)

    def study(self, problem: Problem) -> Study:
        """What the teacher finds out about a problem: inputs, right programs, popular mistakes; blocks, kept.

        Raises:
            UsageError: as `complete`.
        """
        key = study_key(problem)
        if key not in self._studies:
            self._studies[key] = self._study(problem)
        return self._studies[key]

    def mistakes(self, problem: Problem) -> Sequence[Mistake]:
        """The wrong solutions that the teacher may give for a problem, the most popular first; blocks.

        Raises:
            UsageError: as `complete`.
        """
        return self.study(problem).mistakes

    async def _draw(self, request: Request) -> DrawnReply:
        problem = request.problem
        if request.purpose in BY_PURPOSE:
            # bound to a thread: a draft may parse and change programs
            drawn = partial(BY_PURPOSE[request.purpose], self._tree, self._profile.name, request)
            return await asyncio.get_running_loop().run_in_executor(self._threads, drawn)
        named = (problem.domain if problem is not None else "", request.params.get("domain"))
        if request.purpose in WORLDS or TOOLS in named:
            return await asyncio.get_running_loop().run_in_executor(self._threads, self._worlds.draw, request)
        if SHELL in named:
            return draw_shell(self._tree, self._profile.name, request)
        if ANSWERS in named:
            return draw_math(self._tree, self._profile, request)
        if request.purpose == "problem":
            domain = problem.domain if problem is not None else str(request.params.get("domain", DOMAINS[0]))
            if domain not in DOMAINS:
                raise UsageError(
                    f"offline teacher: it has no problems of the domain {domain!r}, only {', '.join(DOMAINS)}; use a "
                    "model for this domain (--model provider/name)"
                )
            return draw_problem(self._tree, domain, request.sample)
        if request.purpose not in DRAWS:
            raise UsageError(
                f"offline teacher: it cannot write a {request.purpose}; use the genetic proposer or a model (--model "
                "provider/name)"
            )
        if problem is None:
            raise UsageError(f"offline teacher: a request for a {request.purpose} must carry its problem")
        return self._drawn(await self._studied(problem), request.purpose, request.sample)

    def _drawn(self, known: Study, purpose: str, sample: int) -> DrawnReply:
        return DRAWS[purpose](known, self._profile, self._tree.child(known.knowledge.key), sample)

    async def _studied(self, problem: Problem) -> Study:
        """The study of a problem, made once however many ask for it at the same time."""
        key = study_key(problem)
        if key in self._studies:
            return self._studies[key]
        if key not in self._under_way:
            self._under_way[key] = asyncio.create_task(self._make(key, problem))
        return await asyncio.shield(self._under_way[key])

    async def _make(self, key: str, problem: Problem) -> Study:
        try:
            loop = asyncio.get_running_loop()
            self._studies[key] = await loop.run_in_executor(self._threads, self._study, problem)
            return self._studies[key]
        finally:
            self._under_way.pop(key, None)

    def _study(self, problem: Problem) -> Study:
        if problem.domain not in DOMAINS:
            raise UsageError(
                f"offline teacher: problem {problem.problem_id!r} is of the domain {problem.domain!r}; it knows only "
                f"{', '.join(SOLVED)}; use a model (--model provider/name)"
            )
        if self._sandbox is None:
            raise UsageError("offline teacher: solutions and testings need a sandbox; give TeacherTools(sandbox=...)")
        knowledge = resolve(problem)
        tree = self._tree.child(knowledge.key)
        return study(knowledge, self._sandbox, tree, self._profile.mistakes)


def study_key(problem: Problem) -> str:
    """Names everything that a study depends on."""
    known = [problem.id, problem.reference_solution, dict(problem.meta)]
    human = None if problem.human_testing is None else problem.human_testing.to_json()
    return content_id("k_", canonical_json([known, human]))
