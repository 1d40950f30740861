"""The problems that a co-evolution starts from, and what a candidate of its curriculum is as a problem.

A candidate is a small JSON object: the seed that it descends from, its setting, its statement, and its answer where
that is no longer the seed's. All else (domain, payload, testing) is the seed's. Pure.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence

from evosyn.dataset import Sample
from evosyn.domains import domain
from evosyn.domains.math_answer import KIND, NAME
from evosyn.errors import UsageError
from evosyn.ports import FeedRow
from evosyn.records import Candidate, Json, Problem, Testing, canonical_json, content_id
from evosyn.synthesis.mutations.asking import DISTRACTOR, SETTING, SETTINGS, SYMBOLIC, StatedProblem
from evosyn.synthesis.mutations.mutator import Mutation
from evosyn.tasks import Task

OTHER = "Other"
"""Where seeds of no setting stand; nothing is made for it."""
RETOLD = (NAME, "python-function", "python-stdin")
"""Domains whose problems are a text that can be told in another way."""


def seed_problems_of(samples: Sequence[Sample]) -> list[Problem]:
    """The rows of a data set as problems whose human testing is what pays; those that stand there twice, once.

    Raises:
        UsageError: one of a domain whose problems cannot be retold.
    """
    rows = {sample.id: sample for sample in samples}
    names = Counter(sample.problem_id for sample in rows.values())
    found = []
    for row, sample in rows.items():
        if sample.domain not in RETOLD:
            other = "; environments are evolved by --recipe evoenv" if sample.domain == "environment" else ""
            raise UsageError(
                f"{sample.problem_id}: a problem of {sample.domain} cannot be told in another way; take problems of "
                f"{', '.join(RETOLD)}{other}"
            )
        name = sample.problem_id if names[sample.problem_id] == 1 else row
        stated = sample.problem
        found.append(
            Problem(
                name, sample.domain, sample.statement, stated.payload, sample.chosen_testing, sample.solution or None,
                stated.meta, stated.provenance,
            )
        )  # fmt: skip
    return found


class SeedProblems:
    """The seeds by name.

    Args:
        problems: each with a human testing.

    Attributes:
        names: in their order.
        digest: of all that decides.
    """

    def __init__(self, problems: Sequence[Problem]) -> None:
        self._problems = {one.problem_id: one for one in problems}
        self.names = tuple(self._problems)
        held = [[one.problem_id, one.id, _testing(one).id, setting_of(one)] for one in problems]
        self.digest = content_id("data_", held)
        self._candidates = {one.problem_id: _seed(one) for one in problems}

    def candidate(self, name: str) -> Candidate:
        """A seed as what a curriculum holds."""
        return self._candidates[name]

    def root(self, candidate: Candidate) -> Problem:
        """The seed that a candidate is or descends from."""
        return self._problems[str(_held(candidate)["seed"])]

    def links(self, candidate: Candidate) -> tuple[str, ...]:
        """The links that can be made of it: another structure needs another answer, so answers it must have."""
        return (SETTING, DISTRACTOR, SYMBOLIC) if self.root(candidate).domain == NAME else (SETTING, DISTRACTOR)

    def stated(self, candidate: Candidate) -> StatedProblem:
        """What a mutator is given."""
        problem = self.problem(candidate)
        answer = _testing(problem).body["answer"] if problem.domain == NAME else ""
        return StatedProblem(problem.statement, str(answer))

    def mutant(self, parent: Candidate, made: Mutation) -> Candidate:
        """The candidate that a mutation has made."""
        value: dict[str, Json] = {"seed": _held(parent)["seed"], "setting": made.target, "statement": made.statement}
        if made.answer != self.stated(self.candidate(self.root(parent).problem_id)).answer:
            value["answer"] = made.answer
        detail = {"number": made.number, "links": list(made.links)}
        return Candidate(canonical_json(value), (parent.id,), "+".join(made.links), detail)

    def problem(self, candidate: Candidate) -> Problem:
        """A candidate as a problem with its testing."""
        held, seed = _held(candidate), self.root(candidate)
        testing = Testing(KIND, {"answer": held["answer"]}) if "answer" in held else seed.human_testing
        meta = {"setting": held["setting"], "seed": seed.problem_id}
        return Problem(candidate.id, seed.domain, held["statement"], seed.payload, testing, meta=meta)

    def row(self, candidate: Candidate) -> FeedRow:
        """A candidate as what a student is asked, and what decides about its answers."""
        problem = self.problem(candidate)
        asked = domain(problem.domain).ask("solution", problem, 0, {})
        return FeedRow(asked.messages, Task(candidate.id, problem, _testing(problem)))


def statement_of(text: str) -> str:
    """What the text of a candidate asks."""
    return str(json.loads(text)["statement"])


def setting_of(problem: Problem) -> str:
    """The setting that a problem says it is of."""
    found = problem.meta.get("setting")
    return str(found) if found in SETTINGS else OTHER


def _seed(problem: Problem) -> Candidate:
    value = {"seed": problem.problem_id, "setting": setting_of(problem), "statement": problem.statement}
    return Candidate(canonical_json(value), (), "seed")


def _held(candidate: Candidate) -> Mapping[str, Json]:
    found: dict[str, Json] = json.loads(candidate.text)
    return found


def _testing(problem: Problem) -> Testing:
    """
    Raises:
        UsageError: it has none.
    """
    if problem.human_testing is None:
        raise UsageError(f"problem {problem.problem_id}: has no testing, which would pay rewards")
    return problem.human_testing
