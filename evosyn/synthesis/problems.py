"""Making new problems from seeds in context: which seeds, which wishes for diversity, and reading the reply.

Each seed leads one prompt in every round over the seeds, in an order drawn anew for each round, so that no seed is
used up while another was never shown. The wishes (persona, topic, difficulty, twist) are appended to the domain's own
prompt. Whether a problem is new is decided elsewhere (`dedup`, `decontaminate`). Du 2025, section 3.2.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from pydantic import BaseModel, ConfigDict, Field

from evosyn.chat import SAMPLE_STRIDE, Reply, Request, roomier
from evosyn.configs.sampling import SynthesisSampling
from evosyn.errors import UsageError
from evosyn.ports import Domain
from evosyn.randomness import SeedTree
from evosyn.records import Problem, Provenance
from evosyn.synthesis.usable import named_reason, unstorable
from evosyn.templates import render

AskProblem: TypeAlias = Callable[[int, int, Request], Awaitable[Reply]]
"""Answers (index, attempt, request)."""
SENTENCES = {"persona": "Write it as {} would.", "topic": "Let it be about {}.", "difficulty": "Difficulty: {}."}
"""How the wishes of these names are said; any other is a sentence already."""


class ProblemConfig(BaseModel):
    """How new problems are asked for.

    Attributes:
        examples: seeds shown in one prompt, all of one domain.
        attempts: how often a problem is asked for before it is dropped.
        vary: append one wish of each kind that the domain has (`Domain.wishes`), drawn for each problem.
        domains: domains to make problems of; empty for those of the seeds.
        licence: of the new problems, an SPDX name; goes into every row and the card, empty for none declared.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    examples: int = Field(default=3, ge=1, le=20)
    attempts: int = Field(default=3, ge=1, le=10)
    vary: bool = True
    domains: tuple[str, ...] = ()
    licence: str = ""


@dataclass(frozen=True)
class Brief:
    """What the prompt of one new problem is made from.

    Attributes:
        index: number of the problem in the run.
        seeds: shown in context, the leading one first.
        wishes: drawn variation, by name; empty where it is switched off.
    """

    index: int
    seeds: tuple[Problem, ...]
    wishes: Mapping[str, str]


@dataclass(frozen=True)
class MadeProblem:
    """A new problem, or why there is none, with every reply on the way.

    Attributes:
        attempts: (reply, reason, detail) of each attempt; the reason is empty for the one that was used.
    """

    brief: Brief
    request: Request
    problem: Problem | None
    attempts: tuple[ProblemAttempt, ...]


@dataclass(frozen=True)
class ProblemAttempt:
    """One reply and why it cannot be used; an empty reason where it can."""

    reply: Reply
    reason: str = ""
    detail: str = ""


class Briefs:
    """Draws the brief of each problem: a pure function of the seed tree, the seeds and the index."""

    def __init__(
        self,
        seeds: Sequence[Problem],
        config: ProblemConfig,
        tree: SeedTree,
        domains: Mapping[str, Domain],
        sampling: SynthesisSampling | None = None,
    ) -> None:
        held = sorted({seed.domain for seed in seeds})
        wanted = config.domains or held
        lacking = [name for name in wanted if name not in held]
        if lacking or not held:
            raise UsageError(
                f"seeds: none is of the domain {', '.join(lacking)}; give other --seeds, or change problem.domains"
            )
        self._seeds = [seed for seed in seeds if seed.domain in wanted]
        self._wishes = {name: domains[name].wishes() if config.vary else {} for name in wanted}
        self._config, self._sampling = config, sampling or SynthesisSampling()
        self._tree = tree

    def brief(self, index: int) -> Brief:
        """The brief of problem `index`."""
        rounds, place = divmod(index, len(self._seeds))
        order = self._tree.child("rotation", rounds).random().sample(range(len(self._seeds)), len(self._seeds))
        leading = self._seeds[order[place]]
        random = self._tree.child("brief", index).random()
        others = [seed for seed in self._seeds if seed.domain == leading.domain and seed is not leading]
        beside = random.sample(others, min(self._config.examples - 1, len(others)))
        wishes = {name: random.choice(choices) for name, choices in self._wishes[leading.domain].items()}
        return Brief(index, (leading, *beside), wishes)

    def request(self, brief: Brief, domain: Domain, attempt: int) -> Request:
        """The domain's request for this brief, with the wishes at the end of its last message."""
        sample = brief.index + attempt * SAMPLE_STRIDE * SAMPLE_STRIDE
        request = domain.ask("problem", None, sample, self._sampling.problem, brief.seeds, self._sampling.manner)
        if not brief.wishes:
            return request
        listed = "\n".join(f"- {SENTENCES.get(name, '{}').format(wish)}" for name, wish in brief.wishes.items())
        return request.followed_by(render("evosyn.synthesis", "prompts/vary_problem.txt", wishes=listed))


async def make_problem(
    brief: Brief, briefs: Briefs, domain: Domain, ask: AskProblem, config: ProblemConfig, *, simulated: bool
) -> MadeProblem:
    """Ask until a reply reads as a problem of `domain`, at most `config.attempts` times."""
    attempts: list[ProblemAttempt] = []
    request = briefs.request(brief, domain, 0)
    for number in range(config.attempts):
        asked = briefs.request(brief, domain, number)
        reply = await ask(brief.index, number, roomier(asked, attempts[-1].reply) if attempts else asked)
        if reply.failure is not None:
            attempts.append(ProblemAttempt(reply, f"reply-{reply.failure}"))
            continue
        parsed = domain.read("problem", reply.text)
        if parsed.value is None:
            attempts.append(ProblemAttempt(reply, *named_reason(parsed.reason, "unparsable")))
            continue
        # The domain may have been found under another name than its own: a dotted path.
        found = replace(parsed.value, domain=brief.seeds[0].domain)
        flaw = unstorable([found.statement, dict(found.payload), dict(found.meta)])
        if flaw:
            attempts.append(ProblemAttempt(reply, *named_reason(flaw, "unstorable")))
            continue
        attempts.append(ProblemAttempt(reply))
        provenance = Provenance(
            source=reply.model,
            simulated=simulated,
            call=reply.id,
            parents=tuple(seed.id for seed in brief.seeds),
            detail={
                "index": brief.index,
                "attempt": number,
                "seeds": [seed.problem_id for seed in brief.seeds],
                "wishes": dict(brief.wishes),
            },
        )
        problem = replace(found, problem_id=problem_name(brief.index), provenance=provenance)
        return MadeProblem(brief, request, problem, tuple(attempts))
    return MadeProblem(brief, request, None, tuple(attempts))


def problem_name(index: int) -> str:
    """The name of a new problem in its dataset."""
    return f"syn-{index:06d}"
