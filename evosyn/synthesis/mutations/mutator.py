"""One mutation: a chain of links, each asked of a model until its reply is of use or the tries are spent.

What is drawn depends on the seed and the number of the mutation; what comes of it, on the replies. DejaQ (2601.01931)
section 4.3 and table 5; the order of the links and who pays for a failed one are ours.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from pydantic import Field

from evosyn.chat import Reply, Request
from evosyn.configs.section import SAMPLED, Sampling, Section
from evosyn.randomness import SeedTree
from evosyn.synthesis.mutations.asking import (
    DISTRACTOR,
    MOST_TRIES,
    SETTING,
    SYMBOLIC,
    StatedProblem,
    link_request,
)
from evosyn.synthesis.mutations.reading import read_link

Ask: TypeAlias = Callable[[Request], Awaitable[Reply]]
STRUCTURES = ((DISTRACTOR,), (SYMBOLIC,), (DISTRACTOR, SYMBOLIC), ())
"""What follows the setting; a distractor comes first, so that no later rewriting hides that it adds nothing."""


class MutationConfig(Section):
    """How problems are mutated; the defaults are those of DejaQ-A (table 5)."""

    batch: int = Field(default=8, ge=0, description="Mutations for each step of the student.")
    resample: float = Field(default=0.25, ge=0, le=1, description="Share that is a further seed in place of a mutant.")
    distractor: float = Field(default=0.4, ge=0, description="Weight of a distractor after the new setting.")
    symbolic: float = Field(default=0.4, ge=0, description="Weight of another structure after it.")
    both: float = Field(default=0.2, ge=0, description="Weight of both.")
    plain: float = Field(default=0.0, ge=0, description="Weight of nothing more.")
    tries: int = Field(default=5, ge=1, le=MOST_TRIES, description="Replies that a mutation may cost.")
    most_alike: float = Field(default=0.6, gt=0, le=1, description="BLEU with the parent that is too much.")
    sampling: Sampling = Field(default_factory=lambda: dict(SAMPLED))


@dataclass(frozen=True)
class WantedMutation:
    """What a mutation is to be.

    Attributes:
        parent: id of the problem that it begins with.
        links: in their order.
    """

    number: int
    parent: str
    text: StatedProblem
    target: str
    links: tuple[str, ...]


@dataclass(frozen=True)
class Mutation:
    """What a mutation came to.

    Attributes:
        statement, answer: of the mutant; both "" where it is lost.
        wasted: `LINK:REASON` of each reply that was of no use, in their order.
    """

    number: int
    parent: str
    target: str
    links: tuple[str, ...]
    statement: str = ""
    answer: str = ""
    wasted: tuple[str, ...] = ()

    @property
    def lost(self) -> str:
        """The reason for which there is no mutant, "" where there is one."""
        return "" if self.statement else self.wasted[-1]


def drawn_links(config: MutationConfig, number: int, tree: SeedTree, known: Sequence[str]) -> tuple[str, ...]:
    """The links of a mutation, of those that the problem's domain knows; none for a further seed."""
    rng = tree.child("links", number).random()
    weights = (config.distractor, config.symbolic, config.both, config.plain)
    if rng.random() < config.resample or not any(weights):
        return ()
    (structure,) = rng.choices(STRUCTURES, weights)
    return tuple(link for link in (SETTING, *structure) if link in known)


async def mutated(wanted: WantedMutation, ask: Ask, config: MutationConfig) -> Mutation:
    """Have a mutation made; errors are those of `ask`.

    A link whose reply is of no use is asked again, and what it began with stays.
    """
    text, wasted, tries = wanted.text, list[str](), 0
    for link in wanted.links:
        made = None
        while made is None:
            if tries == config.tries:
                return Mutation(wanted.number, wanted.parent, wanted.target, wanted.links, wasted=tuple(wasted))
            sample = wanted.number * MOST_TRIES + tries
            reply = await ask(link_request(link, text, wanted.target, sample, config.sampling))
            tries += 1
            if reply.failure is not None:
                wasted.append(f"{link}:{reply.failure}")
                continue
            found = read_link(link, reply.text, text, wanted.text.statement, config.most_alike)
            made = found.value
            if made is None:
                wasted.append(f"{link}:{found.reason}")
        text = made
    return Mutation(wanted.number, wanted.parent, wanted.target, wanted.links, *text, tuple(wasted))
