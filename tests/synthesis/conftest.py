"""Small real parts for the stages: a toy domain (add a number), a seeded teacher, exact execution, vote counting."""

import asyncio
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

from evosyn.chat import USUAL, Manner, Message, Parsed, Purpose, Reply, Request
from evosyn.domains.base import BaseDomain
from evosyn.domains.python.shapes import check_cases
from evosyn.errors import BudgetSpent
from evosyn.jobs import Limits, Protection
from evosyn.ports import Plan, StrategyRunner, Teacher
from evosyn.randomness import SeedTree
from evosyn.rankings import Rankings
from evosyn.records import Evidence, Invalid, Json, PassMatrix, Problem, Ranking, Solution, Testing, content_id
from evosyn.synthesis.config import SynthesizeConfig
from evosyn.synthesis.inputs import Inputs
from evosyn.synthesis.progress import SynthesisProgress
from evosyn.synthesis.recipes.problems import synthesize
from evosyn.workbench import TeacherConfig, Workbench, WorkbenchConfig

TOY = "tests.toy:Domain"
NOUNS = ("harbour", "meadow", "lantern", "orchard", "granite", "violet", "copper", "thistle", "saffron", "willow")


class ToyDomain(BaseDomain):
    """Problems "add K": a solution is `add K`, a testing is pairs of numbers."""

    name = TOY
    kinds = {"cases": check_cases}  # noqa: RUF012

    def check_testing(self, problem: Problem, testing: Testing) -> str | None:  # noqa: ARG002
        return None if len(testing.body["cases"]) < 9 else "too-many-cases: nine or more"

    def plan(self, problem: Problem, solution: Solution, testings: Sequence[Testing], limits: Limits) -> Plan:
        raise NotImplementedError("the toy crossexec needs no plan")

    def ask(
        self,
        what: Purpose,
        problem: Problem | None,
        sample: int,
        params: Mapping[str, Json],
        examples: Sequence[Problem] = (),
        manner: Manner = USUAL,  # noqa: ARG002
    ) -> Request:
        if problem is None:
            shown = "\n".join(seed.statement for seed in examples)
            return Request((Message("user", f"problems like:\n{shown}"),), "problem", params, sample)
        assert what == "testing" or not examples
        word = {"solution": "solve", "testing": "test"}[what]
        return Request((Message("user", f"{word}: {problem.statement}"),), what, params, sample, problem)

    def read_problem(self, text: str) -> Parsed[Problem]:
        if not text.startswith("add "):
            return Parsed(None, "no-problem: it does not begin with add")
        number = int(text.split()[1])
        return Parsed(Problem("", TOY, text, meta={"number": number}))

    def read_solution(self, text: str, problem: Problem | None) -> Parsed[Solution]:  # noqa: ARG002
        return Parsed(Solution(text)) if text.startswith("add ") else Parsed(None, "no-fence")

    def read_testing(self, text: str, problem: Problem | None) -> Parsed[Testing]:  # noqa: ARG002
        try:
            cases = json.loads(text)
        except ValueError as error:
            return Parsed(None, f"not-json: {error}")
        return Parsed(Testing("cases", {"cases": [{"input": [x], "output": y} for x, y in cases]}))


class ToyTeacher:
    """Right, wrong and useless replies, drawn from the request alone; waits a random moment to mix up the order."""

    name = "toy"
    simulated = True

    def __init__(self, seed: int = 0, jitter_s: float = 0.0, stop_after: int | None = None) -> None:
        self._tree = SeedTree(seed)
        self._jitter = SeedTree(seed).child("jitter").random() if jitter_s else None
        self._jitter_s = jitter_s
        self._left = stop_after
        self.asked: list[str] = []

    async def complete(self, request: Request) -> Reply:
        if self._left is not None:
            if self._left == 0:
                raise BudgetSpent("toy budget")
            self._left -= 1
        key = content_id("r_", [request.messages[-1].content, request.purpose, request.sample])
        self.asked.append(key)
        if self._jitter is not None:
            await asyncio.sleep(self._jitter.random() * self._jitter_s)
        return Reply(id=key, text=self._text(request, key), model="toy-1", input_tokens=10, output_tokens=5, cost=0.001)

    async def aclose(self) -> None:
        return None

    def _text(self, request: Request, key: str) -> str:
        random = self._tree.child(key).random()
        if random.random() < 0.1:
            return "I cannot do that"
        if request.purpose == "problem":
            words = " ".join(random.choice(NOUNS) for _ in range(12))
            return f"add {random.randrange(8)} to the number beside {words if random.random() < 0.8 else 'the harbour'}"
        number = request.problem.meta["number"] if request.problem is not None else 0
        if random.random() < 0.4:
            number += random.choice([-1, 1, 2])
        if request.purpose == "solution":
            return f"add {number}"
        inputs = random.sample(range(50), random.randrange(1, 12))
        return json.dumps([[x, x + number] for x in inputs])


class ToyCrossexec:
    """Executes `add K` exactly."""

    def __init__(self) -> None:
        self.executed = 0

    def matrices(
        self,
        items: Sequence[tuple[Problem, Sequence[Solution], Sequence[Testing]]],
        *,
        on_done: Callable[[int, PassMatrix], None] | None = None,
    ) -> list[PassMatrix]:
        found = []
        for index, (problem, solutions, testings) in enumerate(items):
            rows = [[self._letter(solution, testing) for testing in testings] for solution in solutions]
            self.executed += len(rows) * len(rows[0])
            matrix = PassMatrix(
                problem_id=problem.problem_id,
                verdicts_MN=np.array(rows, dtype="<U1"),
                solution_ids=tuple(one.id for one in solutions),
                testing_ids=tuple(one.id for one in testings),
                solution_texts=tuple(one.text for one in solutions),
                testing_texts=tuple(one.text for one in testings),
            )
            found.append(matrix)
            if on_done is not None:
                on_done(index, matrix)
        return found

    def _letter(self, solution: Solution, testing: Testing) -> str:
        number = int(solution.text.split()[1])
        return "P" if all(case["input"][0] + number == case["output"] for case in testing.body["cases"]) else "F"


class CountingRunner:
    """Ranks by pass counts, both ways; the program `refuse-small` has no ranking where M < 3."""

    def rank(
        self,
        programs: Sequence[str],
        evidences: Sequence[Evidence],
        tasks: Sequence[str] | None = None,  # noqa: ARG002
    ) -> list[Rankings | Invalid]:
        found: list[Rankings | Invalid] = []
        for program in programs:
            if program == "refuse-small" and any(evidence.passed_MN.shape[0] < 3 for evidence in evidences):
                found.append(Invalid("fewer than three solutions"))
                continue
            found.append(
                Rankings.of(
                    [
                        Ranking(one.passed_MN.sum(axis=1).astype(float), one.passed_MN.sum(axis=0).astype(float))
                        for one in evidences
                    ]
                )
            )
        return found


@pytest.fixture
def toy_seeds() -> tuple[Problem, ...]:
    return tuple(
        Problem(
            f"seed-{number}",
            TOY,
            f"add {number} to every {noun}",
            payload={"entry_point": "f"},
            meta={"number": number},
        )
        for number, noun in enumerate(NOUNS[:5])
    )


class Toy:
    """Runs a whole synthesis on the toy parts."""

    def __init__(self, seeds: tuple[Problem, ...]) -> None:
        self.inputs = Inputs("count", "test", seeds, "toy-seeds")
        self.teacher = ToyTeacher()
        self.crossexec = ToyCrossexec()
        self.runner: StrategyRunner = CountingRunner()
        self.others: tuple[ToyTeacher, ...] = ()

    def run(self, out: Path, config: SynthesizeConfig, teacher: ToyTeacher | None = None, concurrency: int = 8) -> Json:
        self.teacher = teacher or ToyTeacher()
        self.crossexec = ToyCrossexec()
        self.progress = SynthesisProgress()
        also = tuple(other.name for other in self.others)
        return synthesize(
            self.inputs, config.model_copy(update={"also": also}), ToyWorkbench(self, concurrency), out, self.progress
        )

    def bench(self, concurrency: int = 8) -> Workbench:
        """The parts of one worker of a run in shards."""
        self.crossexec = ToyCrossexec()
        return ToyWorkbench(self, concurrency)


class ToyWorkbench(Workbench):
    """The toy parts in place of real ones."""

    def __init__(self, toy: Toy, concurrency: int) -> None:
        super().__init__(WorkbenchConfig(teacher=TeacherConfig(calls=concurrency)))
        self._toy = toy
        self.domains, self.crossexec, self.runner = {TOY: ToyDomain()}, toy.crossexec, toy.runner
        self.sandbox = ToySandbox()

    def teacher(self, model: str | None = None, *, keep: bool = True) -> Teacher:  # noqa: ARG002
        return next(other for other in self._toy.others if other.name == model) if model else self._toy.teacher


class ToySandbox(NamedTuple):
    """Runs nothing."""

    protection: Protection = Protection("sandbox", "weak", "toy")


@pytest.fixture
def toy(toy_seeds: tuple[Problem, ...]) -> Toy:
    return Toy(toy_seeds)


@pytest.fixture
def toy_domain() -> ToyDomain:
    return ToyDomain()


@pytest.fixture
def make_teacher() -> type[ToyTeacher]:
    return ToyTeacher
