"""What the proposers that ask a model share: the prompt from the evidence, one repair call, a named reason for waste.

The prompt is a pure function of the context. It fits a token budget: what was tried goes first, then inspirations, then
the best program, then the last lines of evidence; contract, data and parents always stay.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Annotated, Literal, NamedTuple

from pydantic import Field

from evosyn.chat import Message, Parsed, Reply, Request, roomier
from evosyn.codeblocks import without_repeats
from evosyn.configs.section import Parameters
from evosyn.evolve.ideas import idea_of
from evosyn.ports import Briefing, ModelTools, PluginConfig, Proposal, ProposalContext, Told, Tried
from evosyn.records import Candidate, Elite
from evosyn.templates import render

PROMPTS = "evosyn.evolve"
CHARACTERS_PER_TOKEN = 3.5
ATTEMPTS = (
    "# What was tried lately, the latest first\n"
    "Which program was changed: the new score (seed problems won and lost by the change): what was said of it."
)
GLOSSARY = "# Functions that these programs call\nThey are there for your program as well; do not repeat them."
UNUSABLE = {
    "prose": "it holds no program",
    "truncated": "it was cut; be shorter",
    "window-full": "it was cut; be shorter",
    "does-not-parse": "what it holds is not Python, or was cut",
    "no-entry-point": "none of its programs defines the function that the contract asks for",
    "diff-does-not-apply": "the lines to replace do not stand in the program to improve",
    "unchanged": "it gives the same program again",
    "only-thinking": "it ends before the answer; think less",
}
"""Why a reply cannot be used, in words for its author."""
SAID = {
    "duplicate": "the same program as an earlier one",
    "same-behaviour": "ranks everything like an earlier one",
    "no-program": "no program",
}


class ModelProposerConfig(PluginConfig):
    """How a model is asked for programs.

    Attributes:
        temperature: of every call.
        max_tokens: of one reply: a number, or what replies took so far; one that was cut is asked for once more with
            more room.
        params: further sampling parameters, over these two.
        prompt_tokens: about how long a prompt may be (estimated at 3.5 characters a token).
        repair: one more call when a reply cannot be used.
    """

    temperature: float = Field(default=0.8, ge=0.0, le=2.0)
    max_tokens: Annotated[int, Field(ge=16)] | Literal["auto"] = "auto"
    params: Parameters = Field(default_factory=dict)
    prompt_tokens: int = Field(default=8000, ge=1000)
    repair: bool = True


@dataclass(frozen=True)
class Instructions:
    """The part of the prompt that a proposer adds.

    Attributes:
        also_parents: those of the others that are shown in any case.
        kind: what is asked, where it is not what the proposer is named for.
    """

    text: str
    also_parents: tuple[Elite, ...] = ()
    kind: str = ""


class PromptPart(NamedTuple):
    """A part of the prompt; one that does not fit is left out, or cut behind a line. What is needed stays in any case
    where the window of a model takes less than all of them."""

    text: str
    by_line: bool = False
    needed: bool = False

    @property
    def optional(self) -> list[str]:
        """What of it may be left out, the end of its lines first."""
        lines = [] if self.needed else self.text.split("\n")
        half = len(lines) // 2 if self.by_line else 0
        return [passage for passage in ("\n".join(lines[half:]), "\n".join(lines[:half])) if passage]


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
        prompt, optional = self._prompt(context, asked)
        request = replace(self._request(self._messages(prompt), context), optional=optional)
        reply = await self._teacher.complete(request)
        replies, found = [reply], self._found(reply, context)
        again = roomier(request, reply)
        if found.value is None and self._config.repair and reply.failure is None:
            repair = render(PROMPTS, "prompts/repair.md", reason=UNUSABLE.get(found.reason, found.reason))
            told = (Message("assistant", reply.text[-8000:] or "(nothing)"), Message("user", repair))
            again = replace(request, messages=(*request.messages, *told))
        if again != request:
            replies.append(await self._teacher.complete(again))
            found = self._found(replies[-1], context)
        ids = tuple(reply.id for reply in replies)
        cost = sum(reply.cost or 0.0 for reply in replies)  # of cached ones too: a killed run may have paid them
        tokens = sum(reply.input_tokens for reply in replies), sum(reply.output_tokens for reply in replies)
        if found.value is None:
            return Proposal(waste=found.reason, replies=ids, cost=cost, tokens=tokens, asked=asked.kind)
        parents = (context.parent.candidate.id, *(elite.candidate.id for elite in asked.also_parents))
        detail = {
            "model": self._teacher.name,
            "replies": list(ids),
            "prompt": request.messages[-1].content,
            "idea": idea_of(replies[-1].text) or idea_of(replies[0].text),
        }
        if asked.kind:
            detail["asked"] = asked.kind
        made = Candidate(found.value, parents, self.name, detail)
        return Proposal((made,), replies=ids, cost=cost, tokens=tokens, asked=asked.kind)

    async def repair(self, context: ProposalContext, failed: Proposal, reason: str) -> Proposal | None:
        """See `ports.Repairing.repair`."""
        if not self._config.repair or len(failed.replies) != 1:
            return None
        (broken,) = failed.candidates
        asked = render(PROMPTS, "prompts/invalid.md", reason=reason)
        program = Message("assistant", f"```python\n{broken.text.rstrip()}\n```")
        messages = (*self._messages(str(broken.detail["prompt"])), program, Message("user", asked))
        reply = await self._teacher.complete(self._request(messages, context))
        found = self._found(reply, context, broken.text)
        replies, cost = (*failed.replies, reply.id), failed.cost + (reply.cost or 0.0)
        tokens = failed.tokens[0] + reply.input_tokens, failed.tokens[1] + reply.output_tokens
        if found.value is None:
            return replace(failed, replies=replies, cost=cost, tokens=tokens)
        detail = {**broken.detail, "replies": list(replies), "prompt": asked, "repairs": broken.id}
        mended = Candidate(found.value, broken.parents, self.name, detail)
        return replace(failed, candidates=(broken, mended), replies=replies, cost=cost, tokens=tokens)

    async def aclose(self) -> None:
        """End the connections that the teacher holds in this event loop."""
        await self._teacher.aclose()

    def _request(self, messages: tuple[Message, ...], context: ProposalContext) -> Request:
        own = {"temperature": self._config.temperature, "max_tokens": self._config.max_tokens}
        return Request(messages, self._genome.purpose, {**own, **self._config.params}, context.index)

    def _messages(self, prompt: str) -> tuple[Message, Message]:
        return Message("system", render(PROMPTS, "prompts/system.md")), Message("user", prompt)

    def _found(self, reply: Reply, context: ProposalContext, broken: str = "") -> Parsed[str]:
        """
        Args:
            broken: a program of its own that it is to mend.
        """
        if reply.failure is not None:
            return Parsed(None, reply.failure)
        shown = [elite.candidate.text for elite in (context.parent, *context.others)]
        found = self._genome.read(reply.text, [broken, *shown] if broken else shown)
        same = found.value is not None and found.value.strip() in (shown[0].strip(), broken.strip())
        return Parsed(None, "unchanged") if same else found

    def _prompt(self, context: ProposalContext, asked: Instructions) -> tuple[str, tuple[str, ...]]:
        """The prompt, and what of it may be left out, the first of them first."""
        evaluation = context.parent.evaluation
        brief = self._genome.brief(context) if isinstance(self._genome, Briefing) else Told()
        head = {
            "contract": context.task.rstrip(),
            "data": "# The data\n" + "\n".join(brief.data) + "\n\n" if brief.data else "",
            "score": shown_score(context.parent),
            "metrics": ", ".join(f"{name} {value:.3f}" for name, value in sorted(evaluation.metrics.items())),
            "program": brief.bodies.get(context.parent.candidate.id, context.parent.candidate.text).rstrip(),
        }
        direction = f"# Where to look this time\n{brief.direction}\n\n" if brief.direction else ""
        room = int(self._config.prompt_tokens * CHARACTERS_PER_TOKEN) - len(asked.text) - len(direction)
        room -= sum(len(text) for text in head.values())
        if not brief.evidence:
            lines = (line if line.startswith(" ") else f"- {line}" for line in evaluation.feedback)
            brief = brief._replace(evidence=tuple(lines))
        parts = list(_fitting(_sections(context, asked, brief), room))
        optional = [passage for part in reversed(parts) for passage in part.optional]
        optional += [text.strip() for text in (direction, head["data"]) if text]
        sections = "\n\n".join(part.text for part in parts)
        prompt = render(PROMPTS, "prompts/evidence.md", **head, sections=sections) + f"\n{direction}{asked.text}"
        return prompt, tuple(optional)


def _sections(context: ProposalContext, asked: Instructions, brief: Told) -> Iterator[PromptPart]:
    """Most important first, because what does not fit is cut from the end. No function is shown a second time."""
    programs = {one.candidate.id: one.candidate.text for one in (context.parent, *context.others)} | dict(brief.bodies)
    shown = dict(zip(programs, without_repeats(list(programs.values())), strict=True))
    others = [_shown(elite, shown[elite.candidate.id], context) for elite in context.others]
    needed = {elite.candidate.id for elite in asked.also_parents}
    if brief.glossary:
        yield PromptPart("\n".join([GLOSSARY, *brief.glossary]))
    for elite, text in zip(context.others, others, strict=True):
        if elite.candidate.id in needed:
            yield PromptPart(text, needed=True)
    if brief.evidence:
        yield PromptPart("\n".join(["# What happened when it ran", *brief.evidence]), by_line=True)
    for elite, text in zip(context.others, others, strict=True):
        if elite.candidate.id not in needed:
            yield PromptPart(text)
    if context.attempts:
        lines = [_told(attempt, context) for attempt in reversed(context.attempts)]
        yield PromptPart("\n".join([ATTEMPTS, *lines]), by_line=True)


def _shown(elite: Elite, text: str, context: ProposalContext) -> str:
    name = context.name_of(elite)
    best = " the best so far," if elite in context.top else ""
    return (
        f"# {name[0].upper()}{name[1:]} ({best} score {shown_score(elite)})\n```python\n{text.rstrip()}\n```".replace(
            "( ", "("
        )
    )


def _told(attempt: Tried, context: ProposalContext) -> str:
    """One attempt in a line."""
    names = {elite.candidate.id: context.name_of(elite) for elite in context.others}
    names[context.parent.candidate.id] = "the program to improve"
    by = names.get(attempt.parent or "", "another program")
    change = f"{attempt.score:.4f} (+{attempt.won} -{attempt.lost})" if attempt.score is not None else attempt.outcome
    gave = f", which is {names[attempt.id]}" if attempt.id in names else ""
    return f"- {by}: {SAID.get(change, change)}{gave}: {attempt.idea or '(nothing was said)'}"


def _fitting(sections: Iterator[PromptPart], room: int) -> Iterator[PromptPart]:
    for section in sections:
        text = section.text
        if len(text) > room:
            lines = text[: max(room, 0)].splitlines()[:-1]
            if not section.by_line or len(lines) < 2:
                continue
            text = "\n".join(lines)
        room -= len(text) + 2
        yield section._replace(text=text)


def shown_score(elite: Elite) -> str:
    score = elite.evaluation.score
    return "invalid" if score is None else f"{score:.4f}"
