"""The text contract of an environment: one Python file that makes questions and checks answers; and its screen.

`read_environment` is rung L1 of the ladder: it parses, never runs. The screen keeps programs within what can be checked
and says why in words that an author can act on; it is not the protection, which is the sandbox. ReSyn (section 2)
calls the parts rho0, O and R, EvoEnv section 3.1 `_generate`, `_prompt_generate`, `_process` and `scorer`.
docs/write-an-environment.md.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from evosyn.chat import Parsed
from evosyn.parsing import TOO_DEEP, parsed
from evosyn.records import Json, Provenance, content_id, json_text

MAX_SOURCE = 20_000
"""Characters."""
INTEGER_BITS = 4096
"""Of an integer that stands in a program; Python writes no integer of more than 4300 digits, nor reads one but in
hexadecimal."""
LEVELS = 5
CATEGORIES = (
    *("logic", "constraint", "graph", "path", "order-schedule", "optimisation", "dynamic-programming", "number"),
    *("expression", "sequence-string", "cipher", "grid-spatial", "state-machine", "sets-tables", "date-time"),
    "games-search",
)
KINDS = ("exact", "feasible")
"""One right answer, or many that rules decide about."""
FUNCTIONS = {"generate": 2, "observe": 1, "verify": 3, "solve": 1}
"""Their arguments; `solve` may be missing."""
IMPORTS = frozenset(
    {
        *("math", "itertools", "collections", "functools", "heapq", "bisect", "string", "fractions", "decimal"),
        *("datetime", "re", "json", "operator", "statistics", "copy", "typing", "dataclasses", "random", "__future__"),
    }
)
"""`random` is for `random.Random(seed)`, as both papers' forms use it; what the clock or a global generator decides
differs between two processes, and L3 sees it."""
REFUSED = frozenset(
    {
        *("open", "eval", "exec", "compile", "input", "print", "breakpoint"),
        *("getattr", "setattr", "delattr", "globals", "vars", "locals"),
    }
)
_HALVES = re.compile(r"[\ud800-\udfff]")
"""No file can hold them; a literal can be written that does."""
_AT_TOP = (ast.FunctionDef, ast.ClassDef, ast.Assign, ast.AnnAssign, ast.Import, ast.ImportFrom)


@dataclass(frozen=True)
class Environment:
    """A program that passed the screen.

    Attributes:
        title: first line of its docstring.
        category: one of `CATEGORIES`; `kind` one of `KINDS`.
        knobs: for each knob its value at each of the `LEVELS` levels.
        solves: it brings `solve`; else each reference holds the answer.
    """

    source: str
    title: str
    category: str
    kind: str
    knobs: Mapping[str, tuple[Json, ...]]
    solves: bool
    provenance: Provenance = field(default=Provenance(), compare=False)

    @cached_property
    def id(self) -> str:
        return content_id("e_", self.source)

    def knobs_at(self, level: int) -> dict[str, Json]:
        """What `generate` gets at a level from 1 to `LEVELS`."""
        return {name: values[level - 1] for name, values in self.knobs.items()}


def read_environment(source: str, provenance: Provenance = Provenance()) -> Parsed[Environment]:  # noqa: B008
    """The environment of a text, or why it is none, as `name: detail`. Arbitrary text never raises."""
    if len(source) > MAX_SOURCE:
        return Parsed(None, f"too-long: {len(source)} characters; at most {MAX_SOURCE}")
    try:
        source.encode()
        tree = parsed(source)
    except SyntaxError as error:
        return Parsed(None, f"does-not-parse: line {error.lineno}: {error.msg}")
    except RecursionError:
        return Parsed(None, f"does-not-parse: {TOO_DEEP}")
    except (ValueError, MemoryError) as error:
        return Parsed(None, f"does-not-parse: {type(error).__name__}: {str(error)[:80]}")
    if reason := next(_faults(tree), ""):
        return Parsed(None, reason)
    found, title = _constants(tree), _title(tree)
    checks = (
        (
            "no-title",
            bool(title) and not _HALVES.search(title),
            "begin with a docstring whose first line says what is asked, without halves of characters",
        ),
        ("category", found.get("CATEGORY") in CATEGORIES, f"CATEGORY is one of {', '.join(CATEGORIES)}"),
        ("kind", found.get("KIND") in KINDS, f"KIND is one of {', '.join(KINDS)}"),
        ("levels", type(found.get("LEVELS")) is int and found["LEVELS"] == LEVELS, f"LEVELS is {LEVELS}"),
        (
            "knobs",
            _is_knobs(found.get("KNOBS")),
            f"KNOBS is a literal: each name with {LEVELS} plain values that JSON can hold, one a level",
        ),
    )
    wrong = next((f"{name}: {rule}" for name, holds, rule in checks if not holds), "")
    if wrong:
        return Parsed(None, wrong)
    solves = any(isinstance(node, ast.FunctionDef) and node.name == "solve" for node in tree.body)
    values = {name: tuple(column) for name, column in found["KNOBS"].items()}
    return Parsed(Environment(source, title, found["CATEGORY"], found["KIND"], values, solves, provenance))


def _faults(tree: ast.Module) -> Iterator[str]:
    """What the screen refuses, as `name: line: detail`, in the order of severity."""
    functions = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}
    for name, count in FUNCTIONS.items():
        function = functions.get(name)
        if function is None and name != "solve":
            yield f"no-{name}: define {name} with {count} argument{'s' if count > 1 else ''}"
        if function is not None and not _takes(function.args, count):
            yield f"signature-{name}: line {function.lineno}: it takes {count} positional arguments"
    for place, statement in enumerate(tree.body):
        docstring = place == 0 and isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
        if not isinstance(statement, _AT_TOP) and not docstring:
            yield f"module-statement: line {statement.lineno}: only imports, assignments, functions and classes"
    for node in ast.walk(tree):
        yield from _refused(node)


def _refused(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Import | ast.ImportFrom):
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else [node.module or "."]
        for name in names:
            if name.partition(".")[0] not in IMPORTS:
                yield f"import:{name}: line {node.lineno}: allowed are {', '.join(sorted(IMPORTS))}"
    elif isinstance(node, ast.Global):
        yield f"global-state: line {node.lineno}: calls keep nothing for each other"
    elif isinstance(node, ast.Name) and (node.id in REFUSED or _is_dunder(node.id)):
        yield f"name:{node.id}: line {node.lineno}: is not for environments"
    elif isinstance(node, ast.Attribute) and _is_dunder(node.attr):
        yield f"dunder: line {node.lineno}: {node.attr} is not for environments"
    elif isinstance(node, ast.Constant) and type(node.value) is int and node.value.bit_length() > INTEGER_BITS:
        yield f"integer: line {node.lineno}: more than {INTEGER_BITS} bits; compute what is so large"


def _takes(given: ast.arguments, count: int) -> bool:
    plain = not (given.vararg or given.kwarg or given.kwonlyargs or given.defaults)
    return plain and len(given.posonlyargs) + len(given.args) == count


def _is_dunder(name: str) -> bool:
    return name.startswith("__") and name.endswith("__")


def _constants(tree: ast.Module) -> dict[str, Json]:
    """The literals that stand at the top, by name; the last of each."""
    found: dict[str, Json] = {}
    for node in tree.body:
        if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
            try:
                found[node.targets[0].id] = ast.literal_eval(node.value)
            except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
                found.pop(node.targets[0].id, None)
    return found


def _is_knobs(value: Json) -> bool:
    if not isinstance(value, dict) or not value or not all(isinstance(name, str) for name in value):
        return False
    if not all(isinstance(column, tuple | list) and len(column) == LEVELS for column in value.values()):
        return False
    text = json_text(value)
    return text is not None and not _HALVES.search(text)


def _title(tree: ast.Module) -> str:
    return (ast.get_docstring(tree) or "").strip().split("\n")[0].strip()[:200]
