"""Every way in which a program is run, with tokens planted in all that goes along with it.

Jobs are made by the real domains, so that what is planted are the testings, expected values and human testings that
those handle.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from enum import StrEnum

import numpy as np

from evosyn.domains.python_function import PythonFunction
from evosyn.domains.python_stdin import PythonStdin
from evosyn.jobs import HarnessJob, Job, Limits
from evosyn.records import Evidence, Json, PassMatrix, Problem, Solution, Testing
from evosyn.strategies.evidence import evidence_of
from tests.memory.planting import JSON_FORMS, LARGEST, TEXT_FORMS, Kind, Planting, Token

HARNESS = """
def main(program, context, argument):
    scope = {}
    exec(program, scope)
    return scope["run"](context, argument)
"""
LIMITS = Limits(cpu_s=60.0, budget_s=300.0, output_kb=4096)
COMPANY = 9


class Mode(StrEnum):
    """How a program is run."""

    TABLE = "table"
    WARM = "rpc, warm testing"
    FRESH = "rpc, fresh pair"
    PROGRAM = "rpc, program testing"
    STDIO = "stdio"
    HARNESS = "harness"
    STRATEGY = "strategy"
    BESIDE = "beside a company"
    INSIDE = "inside a company"
    TESTING = "testing of its own"


class Neighbours:
    """Makes the jobs that tokens are planted in; `share` is that of a sandbox."""

    def __init__(self, planting: Planting, share: Callable[[Json], str]) -> None:
        self.planting, self.share = planting, share
        self.functions, self.stdin = PythonFunction(), PythonStdin()

    def jobs(
        self, mode: Mode, owner: str, program: Callable[[], str] | None = None, given: Sequence[Json] = ()
    ) -> list[Job]:
        """The jobs of one program in a mode that has jobs of its own.

        Args:
            program: makes its text, when all that it is run on is there; by default a text with a token that answers
                with another.
            given: arguments, or the standard input, of one run in particular.
        """
        if mode is Mode.HARNESS:
            return [self._harness(owner, program)]
        if mode is Mode.STDIO:
            return self._stdio(owner, program, given)
        testings = [self.testing(mode, owner), self.testing(mode, owner, given)]
        self.planting.rng.shuffle(testings)
        testings.append(self.testing(mode, owner, human=True))
        return self.solving(owner, self.function(owner) if program is None else program(), testings)

    def solving(self, owner: str, program: str, testings: Sequence[Testing]) -> list[Job]:
        """The jobs of a function under these testings."""
        problem = Problem(owner, "python-function", "", payload={"entry_point": "f"})
        return list(self.functions.plan(problem, Solution(program), testings, LIMITS).jobs)

    def testing(self, mode: Mode, owner: str, given: Sequence[Json] = (), human: bool = False) -> Testing:
        """A testing of a function, of the form that is run in this mode."""
        rng = self.planting.rng
        kinds = [Kind.ARGUMENT, *([Kind.HUMAN_TESTING] * 2 if human else [Kind.EXPECTED, Kind.TESTING])]
        if mode in (Mode.TABLE, Mode.BESIDE, Mode.INSIDE):
            most = LARGEST if mode is Mode.TABLE else 20_000
            argument, expected = (self.planting.value(kind, owner, forms=JSON_FORMS, most=most) for kind in kinds[:2])
            arguments = list(given) or ["echo", argument.data]
            text = f"assert f({', '.join(map(repr, arguments))}) == {expected.data!r}"
            if rng.random() < 0.5 and len(text) < 150_000:  # what is longer is not read as data
                return Testing("asserts", {"asserts": [text]})
            return Testing("cases", {"cases": [{"input": arguments, "output": expected.data}]})
        most = 30_000 if mode is Mode.WARM else 150_000  # what is harmless is not longer than 100,000 letters
        expected, held = (self.planting.value(kind, owner, most=most) for kind in kinds[1:])
        arguments = list(given) or ["echo"]
        harmless = mode is Mode.WARM or (mode is Mode.PROGRAM and rng.random() < 0.5)
        name = "candidate" if mode is Mode.PROGRAM else "f"
        lines = [
            *([] if harmless else ["import os"]),
            f"held = {held.data!a}",
            f"got = {name}({', '.join(map(ascii, arguments))})",
            f"assert got == {expected.data!a}, got",
        ]
        if mode is Mode.PROGRAM:
            return Testing("program", {"code": "\n    ".join(["def check(candidate):", *lines])})
        return Testing("asserts", {"asserts": ["\n".join(lines)]})

    def function(self, owner: str, most: int = LARGEST) -> str:
        """A function with a token in its text that answers with another."""
        held = self.planting.value(Kind.PROGRAM, owner, most=most)
        answer = self.planting.value(Kind.ANSWER, owner, most=most)
        return f"HELD = {held.data!r}\ndef f(command, *rest):\n    return {answer.assembly}\n"

    def company(self, owner: str) -> list[Job]:
        """Programs so plain that they may follow each other in one process, against testings that are data."""
        names = [f"{owner}.{number}" for number in range(COMPANY)]
        return [
            job
            for name in names
            for job in self.jobs(Mode.BESIDE, name, functools.partial(self.function, name, most=4000))
        ]

    def evidences(self, owner: str) -> tuple[list[Evidence], list[Token]]:
        """What strategies rank: two problems, whose texts hold tokens."""
        found, tokens = [], []
        for number in range(2):
            texts = [self.planting.value(Kind.CONTEXT, owner, forms=TEXT_FORMS) for _ in range(4)]
            matrix = PassMatrix(
                f"{owner}.{number}",
                np.array([["P", "F"], ["F", "P"]]),
                human_M=np.array(["P", "F"]),
                solution_texts=tuple(value.data for value in texts[:2]),
                testing_texts=tuple(value.data for value in texts[2:]),
            )
            found.append(evidence_of(matrix))
            tokens += [value.token for value in texts]
        return found, tokens

    def strategy(self, owner: str) -> str:
        """A strategy with a token in its text, whose scores or whose failure are another."""
        held = self.planting.value(Kind.STRATEGY, owner, most=20_000)
        token = self.planting.token(Kind.RANKING, owner)
        scores = np.frombuffer(token.raw, np.float64)
        if np.isfinite(scores).all() and self.planting.rng.random() < 0.7:
            return f"HELD = {held.data!r}\ndef rank(evidence):\n    return {scores.tolist()!r}, [0.0, 0.0]\n"
        return f"HELD = {held.data!r}\ndef rank(evidence):\n    raise ValueError(''.join({token.halves!r}))\n"

    def _stdio(self, owner: str, program: Callable[[], str] | None, given: Sequence[Json]) -> list[Job]:
        def texts(kind: Kind, count: int) -> list[str]:
            return [self.planting.value(kind, owner, forms=TEXT_FORMS).data for _ in range(count)]

        inputs = [*texts(Kind.INPUT, 2), *given]
        self.planting.rng.shuffle(inputs)
        outputs = texts(Kind.EXPECTED, len(inputs))
        cases = [{"input": text, "output": output} for text, output in zip(inputs, outputs, strict=True)]
        human = [{"input": "", "output": text} for text in texts(Kind.HUMAN_TESTING, 1)]
        testings = [Testing("stdin", {"cases": cases}), Testing("stdin", {"cases": human})]
        solution = Solution(self._printing(owner) if program is None else program())
        return list(self.stdin.plan(Problem(owner, "python-stdin", ""), solution, testings, LIMITS).jobs)

    def _printing(self, owner: str) -> str:
        held = self.planting.value(Kind.PROGRAM, owner)
        printed = self.planting.value(Kind.OUTPUT, owner, forms=TEXT_FORMS)
        return f"HELD = {held.data!r}\nimport sys\nsys.stdin.read()\nprint({printed.assembly})\n"

    def _harness(self, owner: str, program: Callable[[], str] | None) -> Job:
        context = self.planting.value(Kind.CONTEXT, owner)
        argument = self.planting.value(Kind.HARNESS_ARGUMENT, owner)
        key = self.share({"context": context.data})
        text = self._running(owner) if program is None else program()
        return HarnessJob(HARNESS, text, key, argument.data, LIMITS)

    def _running(self, owner: str) -> str:
        held = self.planting.value(Kind.PROGRAM, owner)
        result = self.planting.value(Kind.HARNESS_RESULT, owner)
        return f"HELD = {held.data!r}\ndef run(context, argument):\n    return {result.assembly}\n"
