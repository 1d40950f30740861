"""Whether the answers of a group speak against the declared one: half of those that can be read agree on another.

A stubborn wrong student looks the same, so this is counted and decides nothing (ours; docs/coevolve.md).
"""

from __future__ import annotations

from collections.abc import Sequence

from evosyn.domains import domain
from evosyn.domains.answers.comparing import accepts
from evosyn.domains.answers.reading import read_answer
from evosyn.domains.math_answer import NAME, answer_of
from evosyn.records import Problem

SHARE = 0.5


def contested(problem: Problem, texts: Sequence[str]) -> bool:
    """Whether at least two, and half of the answers that can be read, are one that is not declared.

    Args:
        texts: completions for it; untrusted.
    """
    if problem.domain != NAME or problem.human_testing is None:
        return False
    own, body = domain(NAME), problem.human_testing.body
    declared = [read_answer(one) for one in (body["answer"], *body.get("also", ()))]
    read = [found.value for text in texts if (found := own.read("solution", text, problem)).value is not None]
    given = [answer for one in read if one is not None and (answer := answer_of(one)) is not None]
    others = [one for one in given if not any(accepts(right, one) for right in declared)]
    most = max((sum(accepts(one, other) for other in others) for one in others), default=0)
    return most >= max(2, SHARE * len(given))
