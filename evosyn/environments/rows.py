"""Rows of environments: instances as problems with their testing and a right answer, and as a dataset to train on.

N environments x M instances, levels in turn (ReSyn, section 2.2 step 4). A row holds its whole verifier: a problem of
the domain `environment`. It calibrates nothing and drops only what cannot be made. docs/environments.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from evosyn.dataset import Reject, Sample, sample_id
from evosyn.domains.environment import KIND, NAME
from evosyn.environments.contract import LEVELS, Environment, read_environment
from evosyn.environments.runner import BrokenCall, EnvironmentRunner, instance_seed, right_answers
from evosyn.errors import UsageError
from evosyn.ports import Domain
from evosyn.randomness import SeedTree
from evosyn.records import Problem, Solution, Testing, canonical_json

SETTING = "evosyn"
LINEAGE = ("environment", "world", "task")
"""What of the meta of a problem says where it comes from."""


class EnvironmentRow(NamedTuple):
    """A question, what decides about answers, and a right one."""

    problem: Problem
    testing: Testing
    solution: Solution


def rows_of(
    environment: Environment, runner: EnvironmentRunner, count: int, tree: SeedTree
) -> list[EnvironmentRow | Reject]:
    """`count` instances of an environment, levels 1 to 5 in turn; what cannot be made is a Reject.

    Raises:
        SandboxUnavailable: the sandbox failed twice.
    """
    return rows_at(environment, runner, [(index % LEVELS + 1, index) for index in range(count)], tree)


def rows_at(
    environment: Environment, runner: EnvironmentRunner, cells: Sequence[tuple[int, int]], tree: SeedTree
) -> list[EnvironmentRow | Reject]:
    """As `rows_of`, of (level, index); the index says which of a level's instances it is."""
    seeds = [instance_seed(tree, environment, level, index) for level, index in cells]
    made = runner.generate(environment, [(level, seed) for (level, _), seed in zip(cells, seeds, strict=True)])
    kept = [one for one in made if not isinstance(one, BrokenCall)]
    prompts = iter(runner.observe(environment, [one.instance for one in kept]))
    answers = iter(right_answers(environment, runner, kept))
    found: list[EnvironmentRow | Reject] = []
    for (level, index), one in zip(cells, made, strict=True):
        name = f"{environment.id}/{level}/{index}"
        if isinstance(one, BrokenCall):
            found.append(_reject(index, name, one))
            continue
        prompt, answer = next(prompts), next(answers)
        broken = next((part for part in (prompt, answer) if isinstance(part, BrokenCall)), None)
        if broken is not None or isinstance(prompt, BrokenCall) or isinstance(answer, BrokenCall):
            found.append(_reject(index, name, broken or BrokenCall("")))
            continue
        body = {"program": environment.source, "instance": one.instance, "reference": one.reference}
        problem = problem_of(environment, name, level, prompt)
        found.append(EnvironmentRow(problem, Testing(KIND, body, environment.provenance), Solution(answer)))
    return found


def problem_of(environment: Environment, name: str, level: int, question: str) -> Problem:
    """The problem of a row."""
    meta = {"environment": environment.id, "title": environment.title, "category": environment.category}
    return Problem(name, NAME, question, meta={**meta, "level": level}, provenance=environment.provenance)


def shown_prompts(
    name: str, source: str, runner: EnvironmentRunner, tree: SeedTree
) -> tuple[Environment, tuple[str, ...]]:
    """An environment with a question of each level.

    Raises:
        UsageError: it is none, or cannot make one.
    """
    found = read_environment(source)
    rows = [] if found.value is None else rows_of(found.value, runner, LEVELS, tree)
    reason = found.reason or next((one.reason for one in rows if isinstance(one, Reject)), "")
    if found.value is None or reason:
        raise UsageError(f"{name}: makes no questions: {reason}; try `evosyn env check`")
    return found.value, tuple(row.problem.statement for row in rows if isinstance(row, EnvironmentRow))


def samples_of(rows: Sequence[EnvironmentRow], domain: Domain) -> list[Sample]:
    """The rows of a dataset. No matrix stands behind them, and their difficulty, which nobody measured, is 0."""
    found = []
    for problem, testing, solution in rows:
        ranked = [{"id": solution.id, "source": solution.text, "score": 1.0, "passes": True, "verdict": "P"}]
        found.append(
            Sample(
                id=sample_id(SETTING, problem.problem_id, testing.text, solution.text),
                problem_id=problem.problem_id,
                domain=problem.domain,
                prompt=domain.ask("solution", problem, 0, {}).messages,
                statement=problem.statement,
                payload=canonical_json(dict(problem.payload)),
                testing=testing.text,
                tests=1,
                solution=solution.text,
                solutions_ranked=canonical_json(ranked),
                scores=canonical_json({"solutions": [1.0], "testings": [1.0], "solution": 0, "testing": 0}),
                matrix_digest="",
                lineage=canonical_json({name: problem.meta[name] for name in LINEAGE if name in problem.meta}),
                model=problem.provenance.source,
                simulated=problem.provenance.simulated,
                difficulty=0.0,
                cost=0.0,
                licence="",
                setting=SETTING,
                meta=canonical_json(dict(problem.meta)),
            )
        )
    return found


def _reject(index: int, name: str, broken: BrokenCall) -> Reject:
    reason, _, detail = broken.reason.partition(": ")
    return Reject("rows", reason, "instance", index, name, detail=detail)
