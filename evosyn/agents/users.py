"""A user of a tool world who is played by a model: it knows who it is and what it wants, and tells it when asked.

What it writes is text of a stranger: capped, and drawn again where it gives away a key or the name of a tool, or holds
a call. It decides nothing: rewards look at the final state. ScaleEnv (2602.06820), appendix C; the rules are ours.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from evosyn.agents.episodes import ReplyLost
from evosyn.chat import Message, Reply, Request, roomier
from evosyn.domains.tool_use import place_in
from evosyn.ports import Teacher
from evosyn.randomness import SeedTree
from evosyn.records import Problem
from evosyn.running.ledger import UNPAID
from evosyn.templates import render
from evosyn.text.tool_dialects import SPELLINGS
from evosyn.thinking import without_thinking
from evosyn.trajectories import ToolUse
from evosyn.worlds.tools.kind import ToolPlace
from evosyn.worlds.tools.users import ASK, DONE

SAID_ALL = "###DONE###"
LONGEST_SAID, TRIES = 1000, 4
PROFILES = (
    "You are in a hurry and use few words.",
    "You are friendly and a little chatty, and come to the point in the second sentence.",
    "You are careful: you repeat names and numbers so that nobody mishears them.",
    "You are tired and answer politely, in half sentences.",
    "You are exact and formal.",
    "You are unsure how things are done here, and sure of what you want.",
)
"""Who a user may be; one a task."""


class ModelUser:
    """Answers agents in all episodes of a run.

    Args:
        teacher: stays with its owner.
        seeds: draw who the user of a task is.
        redrawn: counts replies that were not shown to the agent, by reason.
    """

    def __init__(self, teacher: Teacher, seeds: SeedTree, redrawn: Counter[str]) -> None:
        self._teacher, self._seeds, self._redrawn = teacher, seeds, redrawn

    async def answer(self, problem: Problem, sample: int, calls: Sequence[ToolUse], message: str) -> str:
        """What the user says to a message.

        Args:
            sample: number of the episode.
            calls: what the agent has done so far; what was said is among it.

        Raises:
            ReplyLost: no reply could be shown to the agent, or none came.
            BudgetSpent, TeacherUnavailable: from the teacher.
        """
        place = place_in(problem)
        request = Request(self._chat(problem, place, calls, message), "user", problem=problem)
        reason = ""
        for attempt in range(TRIES):
            reply = await self._teacher.complete(replace(request, sample=TRIES * sample + attempt))
            if reply.failure in UNPAID:
                raise ReplyLost(f"user: {reply.failure}")
            text = _words(reply)
            reason = reply.failure or leak(place, text)
            if not reason:
                return text.replace(SAID_ALL, "").strip() or DONE
            self._redrawn[reason] += 1
            request = roomier(request, reply)
        raise ReplyLost(f"user: {reason}")

    def _chat(self, problem: Problem, place: ToolPlace, calls: Sequence[ToolUse], message: str) -> tuple[Message, ...]:
        profile = self._seeds.child("profile", problem.problem_id).random().choice(PROFILES)
        wishes = "\n".join(f"{number}. {one}" for number, one in enumerate(place.requests, 1))
        told = {"title": place.world.title, "profile": profile, "requests": wishes, "done": SAID_ALL}
        chat = [Message("user", render("evosyn.agents", "prompts/user.md", **told))]
        chat.append(Message("assistant", problem.statement.strip()))
        for call in calls:
            if call.tool == ASK:
                said = [Message("user", _agent(call.args.get("message"))), Message("assistant", call.out or "")]
                chat += said
        return (*chat, Message("user", _agent(message)))


def leak(place: ToolPlace, text: str) -> str:
    """Why a user may not say this, or ""."""
    if any(one.mark and one.mark in text for one in SPELLINGS):
        return "call"
    world = place.world
    keys = {str(row[world.table[table].key]) for table, rows in place.state.items() for row in rows}
    if any(key in text for key in keys):
        return "key"
    return "tool" if any(one.name in text for one in world.tools if "_" in one.name) else ""


def _words(reply: Reply) -> str:
    return without_thinking(reply.text).answer.strip()[:LONGEST_SAID].strip()


def _agent(message: object) -> str:
    return str(message or "").strip()[:LONGEST_SAID] or "(nothing)"
