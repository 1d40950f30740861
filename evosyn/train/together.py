"""Several completions in one sandboxed process, where they can be seen to share nothing.

A process for each completion costs ten times what most completions cost. Programs on the list below (plain functions
over plain data: no class, no foreign module, nothing through which a module or another program could be reached or
changed) follow each other in one process of the sandbox. Only clean values count there; every program that gave
anything else, or took long, runs again in a process of its own, so that no verdict depends on the company. It is not
the protection of the machine, which is the sandbox either way. docs/reward.md, "What it costs".
"""

from __future__ import annotations

import ast
import builtins
import itertools
import math
import os
from collections import deque
from collections.abc import Iterator, Sequence

from evosyn.jobs import Call, CallsJob, ItemOutcome, Job, Limits, Status
from evosyn.parsing import parsed
from evosyn.ports import Sandbox

MOST = 16
JOBS_A_CORE = 3
"""Programs share a process only where there is work enough for that many jobs a core."""
WALL_S, BUDGET_S = 0.5, 1.0
"""Of one call and of all calls in a shared process; what takes longer runs alone, with the limits that were asked."""
MOST_CHARS = 20_000

NODES = (
    *(ast.Module, ast.FunctionDef, ast.arguments, ast.arg, ast.Return, ast.Delete, ast.Assign, ast.AugAssign),
    *(ast.AnnAssign, ast.For, ast.While, ast.If, ast.Raise, ast.Try, ast.ExceptHandler, ast.Assert, ast.Import),
    *(ast.ImportFrom, ast.alias, ast.Global, ast.Nonlocal, ast.Expr, ast.Pass, ast.Break, ast.Continue, ast.NamedExpr),
    *(ast.Lambda, ast.IfExp, ast.Dict, ast.Set, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp, ast.Yield),
    *(ast.YieldFrom, ast.Compare, ast.Call, ast.FormattedValue, ast.JoinedStr, ast.Constant, ast.Attribute, ast.BoolOp),
    *(ast.Subscript, ast.Starred, ast.Name, ast.List, ast.Tuple, ast.Slice, ast.keyword, ast.comprehension, ast.BinOp),
    *(ast.UnaryOp, ast.expr_context, ast.operator, ast.unaryop, ast.boolop, ast.cmpop),
)
MODULES = {
    "bisect": "bisect bisect_left bisect_right insort insort_left insort_right",
    "collections": "Counter OrderedDict defaultdict deque",
    "copy": "copy deepcopy",
    "functools": "cache cmp_to_key lru_cache partial reduce",
    "heapq": "heapify heappop heappush heappushpop heapreplace merge nlargest nsmallest",
    "itertools": " ".join(name for name in dir(itertools) if name[0] != "_"),
    "math": " ".join(name for name in dir(math) if name[0] != "_"),
    "operator": "add and_ itemgetter mul or_ sub xor",
    "string": "ascii_letters ascii_lowercase ascii_uppercase digits punctuation",
    "typing": "Any Callable Dict FrozenSet Generator Iterable Iterator List Optional Sequence Set Tuple Union",
}
EXPORTS = {name: frozenset(words.split()) for name, words in MODULES.items()}
_PLAIN = (str, bytes, int, float, complex, list, tuple, dict, set, frozenset, deque)
ATTRIBUTES = (
    frozenset().union(*EXPORTS.values())
    | {name for kind in _PLAIN for name in dir(kind) if name[0] != "_"}
    | {"most_common", "elements", "subtract", "total"}
) - {"format", "format_map"}  # these two read attributes that no syntax tree shows
_WORDS = (
    "abs all any ascii bin bool bytearray bytes chr complex dict divmod enumerate filter float frozenset hex int "
    "isinstance iter len list map max min next oct ord pow print range repr reversed round set slice sorted str sum "
    "tuple zip True False None NotImplemented ArithmeticError AssertionError AttributeError Exception IndexError "
    "KeyError LookupError NameError OverflowError RuntimeError StopIteration TypeError ValueError ZeroDivisionError"
)
BUILTINS = frozenset(_WORDS.split())
_REFUSED = frozenset(dir(builtins)) - BUILTINS
_LOADER = """\
import sys
sys.setrecursionlimit(sys.getrecursionlimit() + 1)  # for the frame below
loaded = {}
def together(number, args, kwargs):
    if number not in loaded:
        text, name = PROGRAMS[number]
        module = {"__name__": "program"}
        exec(compile(text, "<program>", "exec", dont_inherit=True), module)
        loaded[number] = module[name]
    return loaded[number](*args, **kwargs)
"""


def run_jobs(sandbox: Sandbox, jobs: Sequence[Job], *, cores: int | None = None) -> list[tuple[ItemOutcome, ...]]:
    """As `sandbox.run`, with the same outcomes, only cheaper where there are many plain programs.

    Args:
        cores: how many share the work; None takes those of this process.

    Raises:
        SandboxUnavailable: from the sandbox.
    """
    apart = JOBS_A_CORE * (cores or len(os.sched_getaffinity(0)))
    if len(jobs) < 2 * apart:
        return sandbox.run(jobs)
    plain = [at for at, job in enumerate(jobs) if isinstance(job, CallsJob) and _may_share(job)]
    size = min(MOST, len(plain) // apart)
    found: dict[int, tuple[ItemOutcome, ...]] = {}
    if size > 1:
        bundles = [plain[start : start + size] for start in range(0, len(plain), size)]
        shared = [_bundle([job for at in bundle if isinstance(job := jobs[at], CallsJob)]) for bundle in bundles]
        for bundle, outcomes in zip(bundles, sandbox.run(shared), strict=True):
            found |= dict(_clean(bundle, jobs, iter(outcomes)))
    alone = [at for at in range(len(jobs)) if at not in found]
    if alone:
        found |= zip(alone, sandbox.run([jobs[at] for at in alone]), strict=True)
    return [found[at] for at in range(len(jobs))]


def is_plain(source: str, entry_point: str) -> bool:
    """Whether every part of the program is on the list, and it defines the entry point as a function at its top."""
    if len(source) > MOST_CHARS:
        return False
    try:
        tree = parsed(source)
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        return False
    if not any(isinstance(node, ast.FunctionDef) and node.name == entry_point for node in tree.body):
        return False
    return all(_allowed(node) for node in ast.walk(tree))


def _allowed(node: ast.AST) -> bool:
    if not isinstance(node, NODES):
        return False
    if isinstance(node, ast.Name):
        return not node.id.startswith("__") and node.id not in _REFUSED
    if isinstance(node, ast.Attribute):
        return node.attr in ATTRIBUTES and isinstance(node.ctx, ast.Load)
    if isinstance(node, ast.Import):
        return all(alias.name in EXPORTS and not (alias.asname or "").startswith("__") for alias in node.names)
    if isinstance(node, ast.ImportFrom):
        names = EXPORTS.get(node.module or "", frozenset()) if not node.level else frozenset()
        return all(alias.name in names and not (alias.asname or "").startswith("__") for alias in node.names)
    if isinstance(node, ast.Global | ast.Nonlocal):
        return not any(name.startswith("__") for name in node.names)
    name = node.name if isinstance(node, ast.FunctionDef | ast.ExceptHandler) else None
    name = node.arg if isinstance(node, ast.arg | ast.keyword) else name
    return name is None or not name.startswith("__")


def _may_share(job: CallsJob) -> bool:
    return all(call.python is None for call in job.calls) and is_plain(job.program, job.entry_point)


def _bundle(jobs: Sequence[CallsJob]) -> CallsJob:
    programs = [(job.program, job.entry_point) for job in jobs]
    calls = tuple(Call((number, call.args, dict(call.kwargs))) for number, job in enumerate(jobs) for call in job.calls)
    asked = [job.limits for job in jobs]
    limits = Limits(
        wall_s=min(WALL_S, *(limits.wall_s for limits in asked)),
        budget_s=min(BUDGET_S, *(limits.budget_s for limits in asked)),
        memory_mb=min(limits.memory_mb for limits in asked),
        output_kb=min(limits.output_kb for limits in asked),
    )
    return CallsJob(f"PROGRAMS = {programs!r}\n{_LOADER}", "together", calls, limits)


def _clean(
    bundle: Sequence[int], jobs: Sequence[Job], outcomes: Iterator[ItemOutcome]
) -> Iterator[tuple[int, tuple[ItemOutcome, ...]]]:
    """Of each program of a bundle its outcomes, where all of them are values."""
    for at in bundle:
        job = jobs[at]
        mine = tuple(itertools.islice(outcomes, len(job.calls))) if isinstance(job, CallsJob) else ()
        if all(outcome.status is Status.OK for outcome in mine):
            yield at, mine
