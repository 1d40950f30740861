"""What the proposers that ask a model share: the prompt from the evidence, one repair call, a named reason for waste.

The prompt is a pure function of the context. It fits a token budget: what was rejected goes first, then inspirations,
then further top programs, then the last lines of evidence; contract and parent always stay.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from pydantic import Field

from evosyn.chat import Message, Parsed, Reply, Request, roomier
from evosyn.ports import ModelTools, PluginConfig, Proposal, ProposalContext
from evosyn.records import Candidate, Elite, Json
from evosyn.templates import render

PROMPTS = "evosyn.evolve"
CHARACTERS_PER_TOKEN = 3.5


class ModelProposerConfig(PluginConfig):
    """How a model is asked for programs.

    Attributes:
        temperature: of every call.
        max_tokens: of one reply; one that was cut is asked for once more with more room.
        params: further sampling parameters, over these two.
        prompt_tokens: about how long a prompt may be (estimated at 3.5 characters a token).
        repair: one more call when a reply cannot be used.
    """

    temperature: float = Field(default=0.8, ge=0.0, le=2.0)
    max_tokens: int = Field(default=4096, ge=16)
    params: dict[str, Json] = Field(default_factory=dict)
    prompt_tokens: int = Field(default=8000, ge=1000)
    repair: bool = True


@dataclass(frozen=True)
class Instructions:
    """The part of the prompt that a proposer adds, and the further parents that it shows there."""

    text: str
    also_parents: tuple[Elite, ...] = ()


class ModelProposer:
    """Implements `ports.Proposer`.

    Args:
        kind: first part of its name; the second is the teacher's.
        instructions: what is asked in a context.
        tools: the model, and what it writes.
        config: temperature and lengths.
    """

    def __init__(
        self,
        kind: str,
        instructions: Callable[[ProposalContext], Instructions],
        tools: ModelTools,
        config: ModelProposerConfig,
    ) -> None:
        self.name = f"{kind}:{tools.teacher.name}"
        self._instructions, self._teacher, self._genome = instructions, tools.teacher, tools.genome
        self._config = config

    async def propose(self, context: ProposalContext) -> Proposal:
        """See `ports.Proposer.propose`."""
        asked = self._instructions(context)
        system = Message("system", render(PROMPTS, "prompts/system.md"))
        messages = (system, Message("user", self._prompt(context, asked)))
        params = {"temperature": self._config.temperature, "max_tokens": self._config.max_tokens}
        request = Request(messages, self._genome.purpose, {**params, **self._config.params}, context.index)
        reply = await self._teacher.complete(request)
        replies, found = [reply], self._found(reply, context)
        again = roomier(request, reply)
        if found.value is None and self._config.repair and reply.failure is None:
            repair = render(PROMPTS, "prompts/repair.md", reason=found.reason)
            told = (Message("assistant", reply.text[-8000:] or "(nothing)"), Message("user", repair))
            again = replace(request, messages=(*messages, *told))
        if again != request:
            replies.append(await self._teacher.complete(again))
            found = self._found(replies[-1], context)
        ids = tuple(reply.id for reply in replies)
        cost = sum(reply.cost or 0.0 for reply in replies)  # of cached ones too: a killed run may have paid them
        if found.value is None:
            return Proposal(waste=found.reason, replies=ids, cost=cost)
        parents = (context.parent.candidate.id, *(elite.candidate.id for elite in asked.also_parents))
        detail = {"model": self._teacher.name, "replies": list(ids), "prompt": messages[-1].content}
        return Proposal((Candidate(found.value, parents, self.name, detail),), replies=ids, cost=cost)

    async def aclose(self) -> None:
        """End the connections that the teacher holds in this event loop."""
        await self._teacher.aclose()

    def _found(self, reply: Reply, context: ProposalContext) -> Parsed[str]:
        if reply.failure is not None:
            return Parsed(None, reply.failure)
        parent = context.parent.candidate.text
        found = self._genome.read(reply.text, parent)
        return Parsed(None, "unchanged") if found.value is not None and found.value.strip() == parent.strip() else found

    def _prompt(self, context: ProposalContext, asked: Instructions) -> str:
        evaluation = context.parent.evaluation
        head = {
            "contract": context.task,
            "score": shown_score(context.parent),
            "metrics": ", ".join(f"{name} {value:.3f}" for name, value in sorted(evaluation.metrics.items())),
            "program": context.parent.candidate.text.rstrip(),
        }
        room = int(self._config.prompt_tokens * CHARACTERS_PER_TOKEN) - len(asked.text)
        room -= sum(len(text) for text in head.values())
        sections = "\n\n".join(_fitting(_sections(context), room))
        return render(PROMPTS, "prompts/evidence.md", **head, sections=sections) + "\n" + asked.text


def _sections(context: ProposalContext) -> Iterator[str]:
    """Most important first, because what does not fit is cut from the end."""
    if context.parent.evaluation.feedback:
        lines = "\n".join(f"- {line}" for line in context.parent.evaluation.feedback)
        yield f"# What happened when it ran\n{lines}"
    for elite in context.top:
        yield f"# One of the best programs so far (score {shown_score(elite)})\n{_fenced(elite)}"
    for elite in context.inspirations:
        yield f"# A program that behaves differently (score {shown_score(elite)})\n{_fenced(elite)}"
    for text in context.rejected:
        yield f"# Already tried, not better: do not give this again\n```python\n{text.rstrip()}\n```"


def _fitting(sections: Iterator[str], room: int) -> Iterator[str]:
    for section in sections:
        if len(section) > room:
            lines = section[: max(room, 0)].splitlines()[:-1]
            if section.startswith("# What happened") and len(lines) > 1:
                yield "\n".join(lines)
            return
        room -= len(section) + 2
        yield section


def shown_score(elite: Elite) -> str:
    score = elite.evaluation.score
    return "invalid" if score is None else f"{score:.4f}"


def _fenced(elite: Elite) -> str:
    return f"```python\n{elite.candidate.text.rstrip()}\n```"
