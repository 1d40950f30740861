"""Programs of the grammar that run in one process, as one list of steps: what several compute alike is computed once.

Bursts are variants of one parent, so that two of five operations of a batch stand in another program of it too. Some
operations are taken apart, for what their parts have in common with others; their parts, and forms that are faster on
stacks, are in `_stacked_functions.py`. Values stay the same bit for bit (a test compares them). DESIGN.md section 5.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

from evosyn.strategies.grammar.grammar import OPS, Node, Program
from evosyn.strategies.grammar.source import functions

Argument: TypeAlias = int | float | str
"""Of a step: the number of an earlier one, a constant, or the name of a terminal."""

PARTS = {
    "tidy": "tidy({0})",
    "columns": "{0}.sum(-2)",
    "ordered": "ordered({0}, {1})",
    "crowned": "crowned({0}, {1})",
    "between": "between({0}, {1}, {2}, {3}, {4})",
    "counted": "counted({0}, {1})",
    "odds_of": "odds_of({0}, {1}, {2}, {3})",
}
"""Sources of what is a step and no operation of the grammar."""


class OfProgram(NamedTuple):
    """The steps of one program.

    Attributes:
        needs: all of them, ascending.
        scores: those whose values are the scores of the solutions and of the testings.
    """

    needs: list[int]
    scores: tuple[Argument, Argument]


class Steps:
    """The steps of some programs; an argument stands before what takes it.

    Attributes:
        steps: operation and arguments of each.
        programs: in the order in which they were given.
    """

    def __init__(self, programs: Sequence[Program]) -> None:
        self.steps: list[tuple[str, tuple[Argument, ...]]] = []
        self._numbers: dict[str, int] = {}
        self.programs = [self._program(*program) for program in programs]

    def _program(self, solutions: Node, testings: Node) -> OfProgram:
        first = self._step("tidy", self._value(solutions, ""))
        scores = first, self._step("tidy", self._value(testings, first))
        needs: set[Argument] = set()
        waiting: list[Argument] = list(scores)
        while waiting:
            number = waiting.pop()
            if isinstance(number, int) and number not in needs:
                needs.add(number)
                waiting += self.steps[number][1]
        return OfProgram(sorted(one for one in needs if isinstance(one, int)), scores)

    def _value(self, node: Node | float, scores: Argument) -> Argument:
        """What a tree comes to.

        Args:
            scores: of the solutions of the same program.
        """
        if not isinstance(node, Node):
            return float(node)
        if not node.args:
            return scores if node.op == "solution_scores" else node.op
        return self._step(node.op, *[self._value(one, scores) for one in node.args])

    def _step(self, op: str, *args: Argument) -> Argument:
        """The number of a step, a new one where there is none like it."""
        if op == "then":
            return self._step("ordered", self._step("place", args[0]), self._step("place", args[1]))
        if op == "crown":
            return self._step("crowned", self._step("top", args[0]), self._step("place", args[1]))
        if op == "gap":
            accepted, rejected = args[0], self._step("rejected", args[0])
            sums = self._step("columns", accepted), self._step("columns", rejected)
            return self._step("between", accepted, rejected, *sums, args[1])
        if op == "bayes":
            x, many, rarely = args
            group = self._step("same", x)
            return self._step("odds_of", group, self._step("counted", x, group), many, rarely)
        written = f"{op}{args!r}"  # 2 and 2.0, 0.0 and -0.0 are equal in Python, and other arguments here
        number = self._numbers.setdefault(written, len(self.steps))
        if number == len(self.steps):
            self.steps.append((op, args))
        return number


def table() -> str:
    """The source of `STEPS`, which computes steps, and of the functions of the grammar that they call."""
    sources = {name: op.template.replace("axis=1", "axis=-1") for name, op in OPS.items()} | PARTS
    lines = [f"    {name!r}: lambda {_names(text)}: {text.format(*_LETTERS)}," for name, text in sources.items()]
    return "\n\n\n".join([*functions().values(), "\n".join(["STEPS = {", *lines, "}"])])


_LETTERS = "abcde"


def _names(template: str) -> str:
    return ", ".join(letter for place, letter in enumerate(_LETTERS) if f"{{{place}}}" in template)
