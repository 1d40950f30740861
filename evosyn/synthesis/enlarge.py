"""What the sandbox adds to testings once a problem is ranked: plain cases in place of the code that makes them, and
outputs of large inputs, which are those that the top solutions agree on.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from evosyn.jobs import ItemOutcome, Job, Limits, Status
from evosyn.ports import Domain, Sandbox
from evosyn.records import Problem, Solution, Testing, json_text

FEWEST_AGREEING = 2
"""Different solutions that must give the same output of a large input."""


class Enlarger:
    """Runs code of testings, and solutions on inputs. Blocks.

    Args:
        limits: of one solution.
    """

    def __init__(self, sandbox: Sandbox, limits: Limits) -> None:
        self._sandbox, self._limits = sandbox, limits

    def plain(self, domain: Domain, problem: Problem, testings: Sequence[Testing]) -> list[Testing | None]:
        """Each testing with values in place of the code that makes them; None where that code does not run."""
        expansion = domain.expand(problem, testings, self._limits.building)
        made = expansion.testings(self._sandbox.run(expansion.jobs) if expansion.jobs else [])
        return [one if isinstance(one, Testing) else None for one in made]

    def listed(self, domain: Domain, problem: Problem, testings: Sequence[Testing]) -> list[Testing | None]:
        """The same where code makes the whole list of cases; code that makes one value stays as it is."""
        built = [at for at, testing in enumerate(testings) if isinstance(testing.body.get("cases"), dict)]
        made = self.plain(domain, problem, [testings[at] for at in built]) if built else []
        found: list[Testing | None] = list(testings)
        for at, testing in zip(built, made, strict=True):
            found[at] = testing
        return found

    def agreed(self, domain: Domain, problem: Problem, solutions: Sequence[Solution], inputs: Testing) -> list[Testing]:
        """The inputs of which several of the solutions give one output, and none gives a different one. Those that take
        more than half of the time limit have no say: a program that is a little slower than these must still be paid.

        Args:
            solutions: different ones.
            inputs: cases of whose outputs nothing is said.

        Returns:
            For each of them a testing of that one case, which expects the output.
        """
        cases = [domain.join([(inputs, (at,))]) for at in range(_count(inputs))]
        given = [case for case in cases if case is not None]
        found = []
        for case, plain in zip(given, self.plain(domain, problem, given), strict=True):
            output = None if plain is None else self._output(domain, problem, solutions, plain)
            whole = None if output is None else domain.answered(case, [output.value])
            if whole is not None:
                found.append(whole)
        return found

    def _output(
        self, domain: Domain, problem: Problem, solutions: Sequence[Solution], plain: Testing
    ) -> ItemOutcome | None:
        half = replace(self._limits, cpu_s=self._limits.cpu_s / 2, wall_s=0.0)
        jobs = [domain.run(problem, solution, plain, half) for solution in solutions]
        asked: list[Job] = [job for job in jobs if job is not None]
        if len(asked) < len(jobs):
            return None
        ended = [outcomes[0] for outcomes in self._sandbox.run(asked)]
        given = [one for one in ended if one.status is Status.OK]
        same = len({json_text(one.value) or repr(one.value) for one in given}) == 1
        return given[0] if same and len(given) >= FEWEST_AGREEING else None


def _count(inputs: Testing) -> int:
    cases = inputs.body.get("cases")
    return len(cases) if isinstance(cases, list) else 0
