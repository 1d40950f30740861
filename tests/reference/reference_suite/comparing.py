"""Whether evosyn's verdicts agree with plain Python's, pair by pair; the classes in which they may differ.

Each class stands by this name in docs/crossexec.md, "Where Python means something else".
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from evosyn.crossexec.judge import Cell, Judge
from evosyn.domains.python_function import PythonFunction
from evosyn.domains.python_stdin import PythonStdin
from evosyn.jobs import Limits
from evosyn.ports import Sandbox
from evosyn.records import Json, Problem, Solution, Testing, Verdict
from reference_suite import families_conduct, families_inputs, families_values
from reference_suite.drawing import FAMILIES, Pair
from reference_suite.plain import all_pass, whole

LIMITS = Limits(cpu_s=2.0, budget_s=20.0, memory_mb=1024)
NEVER_ACCEPTS_MORE = frozenset(
    {
        "own objects",
        "arguments that cannot cross",
        "names of solutions",
        "names on no path",
        "ends of iterations",
        "exceptions that steer",
        "coroutines",
        "missing values",
        "nesting beyond 100",
        "size of a value",
    }
)
"""In these classes what passes here passes in Python as well."""
EITHER_WAY = frozenset(
    {
        "calls made once",
        "exceptions of one name",
        "iterators as arguments",
        "names of a module",
        "objects that both sides keep",
        "identity",
        "type of a value",
        "what a function is",
    }
)

assert FAMILIES and families_conduct and families_inputs and families_values


class Compared(NamedTuple):
    """One pair, what Python made of it, and what evosyn did."""

    pair: Pair
    python: bool
    verdict: Verdict

    @property
    def agrees(self) -> bool:
        return self.python == (self.verdict is Verdict.PASS)

    @property
    def is_documented(self) -> bool:
        """Whether they agree, or differ as the documents say."""
        if self.verdict is Verdict.UNKNOWN:
            return False
        if self.pair.difference in NEVER_ACCEPTS_MORE:
            return self.agrees or self.python
        return self.agrees or self.pair.difference in EITHER_WAY


def compare(sandbox: Sandbox, pairs: Sequence[Pair]) -> list[Compared]:
    """Both judgements of each pair."""
    asked = [Cell(_problem(pair, place), Solution(pair.program), _testing(pair)) for place, pair in enumerate(pairs)]
    domains = {"python-function": PythonFunction(), "python-stdin": PythonStdin()}
    cells = Judge(sandbox, domains, LIMITS).verify(asked)
    found = zip(pairs, all_pass(pairs), cells, strict=True)
    return [Compared(pair, python, cell.verdict) for pair, python, cell in found]


def report(compared: Sequence[Compared]) -> str:
    """How many pairs agree, by kind, and in each class of difference how many differ and how."""
    must = [one for one in compared if not one.pair.difference]
    lines = [f"{len(compared)} distinct pairs, {len(must)} must agree, {sum(one.agrees for one in must)} do"]
    for kind in dict.fromkeys(one.pair.kind for one in must):
        members = [one for one in must if one.pair.kind == kind]
        lines.append(f"  {kind:30}{len(members):6} pairs{sum(one.python for one in members):6} pass in Python")
    for name in sorted(NEVER_ACCEPTS_MORE | EITHER_WAY):
        members = [one for one in compared if one.pair.difference == name]
        kinds = Counter(
            f"{'pass' if one.python else 'no pass'} -> {one.verdict.value}" for one in members if not one.agrees
        )
        shown = ", ".join(f"{kind}: {count}" for kind, count in sorted(kinds.items()))
        lines.append(f"{name:32}{len(members):6} pairs{sum(kinds.values()):6} differ  {shown}")
    return "\n".join(lines)


def told(one: Compared) -> str:
    """A pair for the eye."""
    texts = "\n---\n".join(one.pair.texts)
    python = "passes" if one.python else "does not pass"
    return f"[{one.pair.family}] Python {python}, evosyn says {one.verdict.name}\n{one.pair.program}\n=== {one.pair.kind}\n{texts}\n"


def _problem(pair: Pair, place: int) -> Problem:
    if pair.kind == "stdin":
        return Problem(f"r{place}", "python-stdin", "A drawn problem.")
    return Problem(
        f"r{place}",
        "python-function",
        "A drawn problem.",
        payload={"entry_point": pair.entry_point, "starter_code": whole(pair.starter)},
    )


def _testing(pair: Pair) -> Testing:
    if pair.kind in ("cases", "stdin"):
        pairs = eval(pair.texts[0])
        return Testing(pair.kind, {"cases": [{"input": _data(one), "output": _data(two)} for one, two in pairs]})
    if pair.kind == "program":
        return Testing("program", {"code": pair.texts[0]})
    return Testing("asserts", {"asserts": list(pair.texts)})


def _data(value: Json) -> Json:
    """The value as a pool file has it: what JSON does not have is given as code."""
    try:
        is_json = json.loads(json.dumps(value)) == value
    except TypeError:
        is_json = False
    return value if is_json else {"python": repr(value)}
