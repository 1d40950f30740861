"""What the offline teacher knows of a problem: a right solution, others of another shape, where inputs come from.

A problem of the teacher's own families is found again from `meta.family` and `meta.params`; any other problem must
bring its reference solution. Nothing is executed here.
"""

from __future__ import annotations

from dataclasses import dataclass

from evosyn.errors import UsageError
from evosyn.parsing import parsed
from evosyn.records import Problem, Testing
from simulation.author import catalogue


@dataclass(frozen=True)
class Knowledge:
    """A problem with its answer.

    Attributes:
        key: content id of the problem: what every random stream about it hangs on.
        entry_point: function to call; None for a program that reads standard input.
        reference: source of a right solution.
        alternatives: right solutions of another shape.
        generator: source defining `generate(rng, size)`, or None.
        example_inputs: inputs of the human testing, to be varied where there is no generator.
        difficulty: in [0, 1], for a small model.
    """

    key: str
    entry_point: str | None
    reference: str
    alternatives: tuple[str, ...] = ()
    generator: str | None = None
    example_inputs: tuple[object, ...] = ()
    difficulty: float = 0.5


def resolve(problem: Problem) -> Knowledge:
    """What is known of `problem`.

    Raises:
        UsageError: it is not of a family and has no reference solution, the reference is not Python, or there is
            neither an input generator nor a human testing with cases.
    """
    if problem.reference_solution is None and catalogue.is_ours(problem.meta):
        return _of_family(problem)
    if problem.reference_solution is None:
        raise UsageError(
            f"offline teacher: problem {problem.problem_id!r} has no reference_solution, and the offline teacher can "
            "only simulate answers to problems that have one; add the reference or use a model (--model "
            "provider/name)"
        )
    generator = problem.meta.get("input_generator")
    inputs = _inputs_of(problem.human_testing)
    if generator is None and not inputs:
        raise UsageError(
            f"offline teacher: problem {problem.problem_id!r} has neither meta.input_generator nor a human testing "
            "with cases, so there is nothing to draw inputs from; add one of them or use a model"
        )
    _must_parse(problem.problem_id, "reference_solution", problem.reference_solution)
    alternatives = tuple(str(text) for text in problem.meta.get("alternatives", ()))
    for text in alternatives:
        _must_parse(problem.problem_id, "meta.alternatives", text)
    return Knowledge(
        key=problem.id,
        entry_point=problem.payload.get("entry_point"),
        reference=problem.reference_solution,
        alternatives=alternatives,
        generator=generator,
        example_inputs=inputs,
        difficulty=_difficulty(problem),
    )


def _of_family(problem: Problem) -> Knowledge:
    task = catalogue.task_of(problem.meta)
    return Knowledge(
        key=problem.id,
        entry_point=task.entry_point,
        reference=task.reference,
        alternatives=task.alternatives,
        generator=task.generator,
        difficulty=task.difficulty,
    )


def _inputs_of(testing: Testing | None) -> tuple[object, ...]:
    if testing is None or testing.kind not in {"cases", "stdin"}:
        return ()
    plain = [case["input"] for case in testing.body.get("cases", ())]
    return tuple(value for value in plain if not (isinstance(value, dict) and set(value) == {"python"}))


def _difficulty(problem: Problem) -> float:
    value = problem.meta.get("difficulty", 0.5)
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        raise UsageError(f"problem {problem.problem_id!r}: meta.difficulty is {value!r}; it must be from 0 to 1")
    return float(value)


def _must_parse(name: str, field: str, source: str) -> None:
    try:
        parsed(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise UsageError(f"offline teacher: problem {name!r}: {field} is not Python: {error}") from error
