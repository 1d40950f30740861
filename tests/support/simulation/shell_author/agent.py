"""What the simulated author says: a task, a testing, or the next turn of an episode. A pure function of its arguments.

Rates are set by hand, so that about half of the episodes and a third of the testings are right; they are fitted to no
model (docs/os-shell.md).
"""

from __future__ import annotations

import json
import random
from collections.abc import Sequence

from evosyn.agents.dialects import EMPTY, SHOWN, Dialect, written
from evosyn.chat import Message, Request
from evosyn.domains.os_shell import NAME
from evosyn.errors import UsageError
from evosyn.randomness import SeedTree
from evosyn.records import Json
from evosyn.text.tool_calls import ToolCall
from evosyn.trajectories import ANSWER, BASH, FINISH
from simulation.author.replies import REFUSALS, DrawnReply
from simulation.shell_author.tasks import ShellCase, build_case, case_of, draw_params, shell_families

AUTHOR = "offline-shell"
SKILL = {"weak": -0.15, "mixed": 0.0, "strong": 0.2}
PULL = 0.55
"""Of the tempting mistake among all."""
SENTENCE, ENDLESS, PROSE, TYPO = 0.05, 0.04, 0.03, 0.1
POPULAR, NEAR_DUPLICATES = 6, 0.08


def draw_shell(tree: SeedTree, strength: str, request: Request) -> DrawnReply:
    """The reply to a request about this domain.

    Raises:
        UsageError: the problem is none of ours, or something is asked that it cannot write.
    """
    if request.purpose == "problem":
        return _problem(tree, request.sample)
    if request.problem is None or request.purpose not in ("solution", "testing"):
        raise UsageError(f"offline teacher: it cannot write a {request.purpose} of {NAME}; use a model (--model ...)")
    case, own = case_of(request.problem), tree.child(request.problem.id)
    if request.purpose == "testing":
        return _testing(case, own.child("testing", request.sample).random())
    rng = own.child("solution", request.sample).random()
    ease = 0.9 - 0.85 * case.difficulty + SKILL[strength] + own.child("ease").random().uniform(-0.25, 0.25)
    truth = "right" if rng.random() < min(0.97, max(0.05, ease)) else "mistake"
    script = rng.choice([case.reference, *case.alternatives]) if truth == "right" else _mistake(case, rng)
    plan = _plan(case, script, rng)
    turn = sum(message.role == "assistant" for message in request.messages)
    told = plan[min(turn, len(plan) - 1)]
    if told is None:
        return DrawnReply(rng.choice(REFUSALS), "prose", AUTHOR)
    if told.name == ANSWER:
        told = ToolCall(ANSWER, {"answer": _answer(request.messages, rng)}, told.say)
    dialect: Dialect = "tools" if "tools" in request.params else "text"
    return DrawnReply(written(told, dialect), truth, AUTHOR)


def _plan(case: ShellCase, script: str, rng: random.Random) -> list[ToolCall | None]:
    """The turns of one episode; the last one is said again and again."""
    looks = rng.sample(case.looks, min(len(case.looks), rng.choice((0, 1, 1, 2))))
    turns: list[ToolCall | None] = [ToolCall(BASH, {"script": look}, "Let me see what is there.") for look in looks]
    if rng.random() < TYPO:
        turns.append(ToolCall(BASH, {"script": "cd /rot && ls"}, "First I go where the files are."))
    turns.append(ToolCall(BASH, {"script": script}, "Now the work itself."))
    if rng.random() < PROSE:
        turns.insert(rng.randrange(len(turns)), None)
    end = ToolCall(ANSWER, {}, "") if case.asks == "answer" else ToolCall(FINISH, {"thought": ""}, "It is done.")
    again = ToolCall(BASH, {"script": case.looks[0]}, "Let me check once more.")
    return [*turns, again if rng.random() < ENDLESS else end]


def _mistake(case: ShellCase, rng: random.Random) -> str:
    return case.mistakes[0] if rng.random() < PULL else rng.choice(case.mistakes[1:])


def _answer(messages: Sequence[Message], rng: random.Random) -> str:
    """What the shell printed last, as an answer."""
    shown = [one.content.removeprefix(SHOWN) for one in messages if one.role == "tool" or one.content[:3] == "The"]
    lines = shown[-1].strip().splitlines() if shown and shown[-1] != EMPTY else []
    answer = lines[-1].strip() if lines else "unknown"
    return f"The answer is {answer}." if rng.random() < SENTENCE else answer


def _testing(case: ShellCase, rng: random.Random) -> DrawnReply:
    roll, right = rng.random(), rng.choice([case.reference, *case.alternatives])
    if roll < 0.38:
        body, truth = case.testing(right), "right"
    elif roll < 0.55 and case.asks == "state":
        body, truth = case.testing(right, weak=True), "weak"
    elif roll < 0.62 and case.asks == "state":
        body, truth = {"kind": "state", "script": {"code": "echo true"}}, "vacuous"
    elif roll < 0.92:
        body, truth = case.testing(_mistake(case, rng)), "wrong"
    else:
        body, truth = {**case.testing(right), "compare": case.compare}, "broken"
        where = "script" if case.asks == "answer" else "expect"
        body[where] = {"code": "if [ -e '/root ; then"}
    return DrawnReply(f"```json\n{json.dumps(body, indent=1)}\n```", truth, AUTHOR)


def _problem(tree: SeedTree, sample: int) -> DrawnReply:
    rng = tree.child("problem", NAME, sample).random()
    by, truth = rng, "new"
    if rng.random() < NEAR_DUPLICATES:
        by, truth = tree.child("popular-problem", NAME, rng.randrange(POPULAR)).random(), "near-duplicate"
    name = by.choice(shell_families())
    case = build_case(name, draw_params(name, by))
    meta = {"family": name, "params": dict(case.params), "difficulty": case.difficulty, "simulated": True}
    reply: Json = {"title": name.replace("_", " "), "statement": case.statement, **case.payload, "meta": meta}
    return DrawnReply(f"```json\n{json.dumps(reply, indent=1)}\n```", truth, AUTHOR)
