"""What a request for a testing shows: a right test of the problem itself, or testings of problems like it.

A test that is shown counts for nobody: it is no label any more, and in a reply no evidence.
"""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from evosyn.jobs import Limits
from evosyn.ports import Domain
from evosyn.records import ParsedCalls, Problem, Testing
from evosyn.textual import jaccard, shingle_hashes, words

LONGEST = 200
"""Characters of arguments, and of what they give, of a test that is shown."""


@dataclass(frozen=True)
class Example:
    """What is shown.

    Attributes:
        name: `none`, `seed` (of the human testing), `stated` (of the statement) or `other`.
        problems: with the testings that are shown; the problem itself with what is shown of it.
        label: the human testing without what is shown of it; None where it stays as it is.
    """

    name: Literal["none", "seed", "stated", "other"] = "none"
    problems: tuple[Problem, ...] = ()
    label: Testing | None = None

    def unseen(self, problem: Problem) -> Problem:
        """The problem as its pool keeps it: what was shown is no label."""
        if self.label is None:
            return problem
        shown = self.problems[0].human_testing
        meta = {**problem.meta, "shown": None if shown is None else shown.to_json()}
        return replace(problem, human_testing=self.label, meta=meta)

    def without(self, problem: Problem, domain: Domain, testing: Testing) -> Testing | None:
        """A testing without the cases that the prompt shows; None where nothing is left. A program stays whole."""
        shown = [one.human_testing for one in self.problems if one.id == problem.id]
        asked = {call for one in shown if one is not None for call in _arguments(problem, domain, one)} - {None}
        own = _arguments(problem, domain, testing) if asked else []
        places = [at for at, call in enumerate(own) if call not in asked]
        if len(places) == len(own):
            return testing
        return (domain.join([(testing, places)]) or testing) if places else None


NO_EXAMPLE = Example()


class Showing(Protocol):
    """The part of a configuration that says what is shown."""

    @property
    def example(self) -> Literal["none", "seed", "other"]: ...

    @property
    def examples(self) -> int: ...


def example_for(problem: Problem, domain: Domain, others: Iterable[Problem], config: Showing) -> Example:
    """What is shown with requests for testings of this problem."""
    if config.example == "seed":
        own = _of_human_testing(problem, domain) or _of_statement(problem, domain)
        if own is not None:
            return own
    if config.example != "none" and (found := most_alike(problem, others, config.examples)):
        return Example("other", found)
    return NO_EXAMPLE


def shown_with(testings: Iterable[Testing]) -> Counter[str]:
    """What was shown with the requests for these testings, by name."""
    shown = (testing.provenance.detail.get("example") for testing in testings)
    return Counter(str(name) for name in shown if name is not None)


def most_alike(problem: Problem, others: Iterable[Problem], count: int) -> tuple[Problem, ...]:
    """The problems with human testings whose statements share most words with this one's; of equal ones the first."""
    fitting = [
        other
        for other in others
        if other.domain == problem.domain and other.human_testing is not None and other.id != problem.id
    ]
    own = _words_of(problem.statement)
    return tuple(sorted(fitting, key=lambda other: -jaccard(own, _words_of(other.statement)))[:count])


@functools.lru_cache(maxsize=4096)
def _words_of(statement: str) -> NDArray[np.uint64]:
    return shingle_hashes(words(statement), 1)


def _of_human_testing(problem: Problem, domain: Domain) -> Example | None:
    """The first short plain case of the human testing, and the rest of that as label; all of it where there is no
    other. None where the rest cannot be said without it."""
    human = problem.human_testing
    for at, call in enumerate(_calls(problem, domain, human)):
        if (
            human is None
            or call is None
            or call.expected is None
            or max(len(call.arguments), len(call.expected)) > LONGEST
        ):
            continue
        shown = domain.join([(human, (at,))])
        if shown is None:
            return None
        if domain.expand(problem, [shown], Limits()).jobs:
            continue
        asked = [None if one is None else one.arguments for one in _calls(problem, domain, human)]
        rest = [place for place, arguments in enumerate(asked) if arguments != call.arguments]
        label = domain.join([(human, rest)]) if rest else None
        if label is not None and len(_calls(problem, domain, label)) >= len({asked[place] for place in rest}):
            label = replace(label, provenance=human.provenance)
        elif rest:
            return None
        return Example("seed", (replace(problem, human_testing=shown),), label)
    return None


def _of_statement(problem: Problem, domain: Domain) -> Example | None:
    stated = domain.stated(problem)
    return None if stated is None else Example("stated", (replace(problem, human_testing=stated),))


def _arguments(problem: Problem, domain: Domain, testing: Testing) -> list[str | None]:
    """What each case of a testing asks."""
    return [None if call is None else call.arguments.strip() for call in _calls(problem, domain, testing)]


def _calls(problem: Problem, domain: Domain, testing: Testing | None) -> ParsedCalls:
    """What each case of a testing asks and expects; empty where nobody can tell."""
    try:
        return () if testing is None else domain.calls(problem, testing) or ()
    except (RecursionError, MemoryError):
        return ()
