"""The rejects of single replies: one row for every reply that could not be used, with its stage and reason."""

from __future__ import annotations

from evosyn.dataset import Reject
from evosyn.synthesis.generate import Drawn
from evosyn.synthesis.problems import MadeProblem, problem_name


def problem_rejects(index: int, made: MadeProblem) -> tuple[Reject, ...]:
    """The replies that could not be read as a problem."""
    return tuple(
        Reject("problem", one.reason, "reply", index, problem_name(index), (), one.reply.id, one.detail)
        for one in made.attempts
        if one.reason
    )


def draw_rejects(index: int, problem_id: str, drawn: Drawn) -> tuple[Reject, ...]:
    """The replies that could not be used as a solution or a testing."""
    return tuple(
        Reject(one.kind, one.reason, "reply", index, problem_id, (), one.reply.id, one.detail) for one in drawn.rejected
    )
