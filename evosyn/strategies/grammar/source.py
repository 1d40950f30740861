"""Trees as ordinary strategy source, and back: what is written here a person or a model can take on.

A source is one of ours (`read`) where it is what we write for its tree: then the tree says all that it does. What they
say in the notation of the grammar and in other words or with other parts has a tree that it means (`meant`), to be
varied; it may do something else, and is run as the text that it is.
"""

from __future__ import annotations

import ast
import inspect
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from functools import cache, lru_cache
from textwrap import indent
from typing import NamedTuple

from evosyn.parsing import parsed
from evosyn.program_identity import MAX_CHARACTERS, program_key
from evosyn.strategies.grammar import helpers
from evosyn.strategies.grammar.grammar import OPS, TERMINALS, Node, Program, size_of, type_of

DOCSTRING = "Scores the solutions and the testings of one problem from what passed; higher is better."
GRAFTED = "Goes on from the scores of the program above."
RETURN = "    return solution_scores, testing_scores"
_OWN = "    own_solutions, own_testings = (np.asarray(one, dtype=float) for one in earlier(evidence))"
LONGEST = 72
"""Characters of an expression before its parts get names of their own."""
MOST_NODES = 512
"""Of one tree that is read: variables that stand in each other twice double with every line."""


class _Helper(NamedTuple):
    name: str
    source: str
    calls: frozenset[str]
    dump: str


def write(program: Program) -> str:
    """The source of a program: a strategy `rank(evidence)` over numpy, with only the helpers that it needs."""
    body = _Body(program)
    terminals = [f"    {name} = {TERMINALS[name].definition}  # {TERMINALS[name].comment}" for name in body.terminals]
    text = "\n".join([*terminals, *body.lines, RETURN])
    needed = _needed(frozenset(body.used))
    return f'import numpy as np\n\n\n{needed}\n\n\ndef rank(evidence):\n    """{DOCSTRING}"""\n{text}\n'


def graft(program: Program, text: str) -> str | None:
    """The source of a program that goes on from the scores of a program outside the grammar.

    Args:
        program: its `own_solutions` and `own_testings` are those scores.
        text: the other program, which stays as it is, in front.

    Returns:
        None where `text` is no `rank(evidence)`, or such a source already.
    """
    if "def rank(" not in text or "earlier = rank" in text:
        return None
    body = _Body(program)
    terminals = [f"    {name} = {TERMINALS[name].definition}" for name in body.terminals]
    functions = indent(_needed(frozenset(body.used)).replace("\n\n\n", "\n\n"), "    ")
    lines = "\n".join([_OWN, *terminals, *body.lines, RETURN])
    inside = f"    import numpy as np\n\n{functions}\n\n{lines}"
    return f'{text.rstrip()}\n\n\nearlier = rank\n\n\ndef rank(evidence):\n    """{GRAFTED}"""\n{inside}\n'


def functions() -> dict[str, str]:
    """Sources of the functions that programs may call, by name."""
    return {name: helper.source for name, helper in _helpers().items()}


def rank_of(text: str) -> str:
    """A program of the grammar without its functions."""
    return "".join(text.rpartition("def rank(")[1:])


def called_in(bodies: Iterable[str]) -> tuple[str, ...]:
    """The functions of the grammar that these lines call, each with what it does, in a line."""
    names = set(re.findall(r"\b(\w+)\(", "\n".join(bodies)))
    called = [one for name, one in _helpers().items() if name in names]
    said = ((inspect.getdoc(vars(helpers)[one.name]) or "").partition("\n\n")[0].split() for one in called)
    return tuple(
        f"- {one.source.partition(':')[0][4:]}: {' '.join(words)}" for one, words in zip(called, said, strict=True)
    )


class _Body:
    """The assignments of one program; subtrees that occur twice or read too long get a name."""

    def __init__(self, program: Program) -> None:
        self.used: set[str] = set()
        self.lines: list[str] = []
        self._names: dict[Node, str] = {}
        self._nouns: Counter[str] = Counter()
        self._counts: Counter[Node] = Counter()
        for tree in program:
            self._count(tree)
        for target, tree in zip(("solution_scores", "testing_scores"), program, strict=True):
            self.lines.append(f"    {target} = tidy({self._expression(tree)[0]})")

    @property
    def terminals(self) -> tuple[str, ...]:
        """The parts of the evidence that it reads."""
        return tuple(name for name, leaf in TERMINALS.items() if name in self.used and leaf.definition)

    def _count(self, node: Node) -> None:
        self._counts[node] += 1
        if self._counts[node] == 1:
            for arg in node.args:
                if isinstance(arg, Node):
                    self._count(arg)

    def _expression(self, node: Node) -> tuple[str, bool]:
        """The source of a node and whether it needs brackets inside a larger one."""
        if not node.args:
            self.used.add(node.op)
            return node.op, False
        if node in self._names:
            return self._names[node], False
        self.used.add(node.op)
        op = OPS[node.op]
        parts = []
        for arg in node.args:
            if isinstance(arg, Node):
                text, infix = self._expression(arg)
                parts.append(f"({text})" if infix and (op.infix or op.template.startswith("{0}.")) else text)
            else:
                parts.append(repr(arg))
        text = op.template.format(*parts)
        if self._counts[node] > 1 or len(text) > LONGEST:
            return self._named(node, text), False
        return text, op.infix

    def _named(self, node: Node, text: str) -> str:
        noun = OPS[node.op].noun
        self._nouns[noun] += 1
        name = noun if self._nouns[noun] == 1 else f"{noun}_{self._nouns[noun]}"
        what = {"M": "per solution", "N": "per testing"}.get(type_of(node).value, "pairs")
        self.lines.append(f"    {name} = {text}  # {what}")
        self._names[node] = name
        return name


def read(text: str) -> Program | None:
    """The trees of a source that does what they say, and nothing else: `write` gives the same program for them, but for
    layout, comments and docstrings. None for any other. Nothing is executed."""
    program = meant(text)
    return program if program is not None and is_written(text, program) else None


def is_written(text: str, program: Program) -> bool:
    """Whether a source is what `write` gives for a program, but for layout, comments and docstrings."""
    own = write(program)
    return text == own or program_key(text) == program_key(own)


def meant(text: str) -> Program | None:
    """The trees of a source that is put in the notation of the grammar, under whatever names, or None.

    They are no more than a place to begin to vary it from: what is passed over here may change all that it does.
    """
    try:
        return _read_module(parsed(text)) if len(text) <= MAX_CHARACTERS else None
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


class _Outside(ValueError):
    """The source steps outside the grammar."""


def _read_module(module: ast.Module) -> Program:
    rank = None
    for statement in module.body:
        if isinstance(statement, ast.FunctionDef) and statement.name == "rank":
            rank = statement
        elif isinstance(statement, ast.FunctionDef):
            if not own_functions([statement]):
                raise _Outside(f"{statement.name} is not a known helper")
        elif not _is_docstring(statement) and ast.dump(statement) != _NUMPY:
            raise _Outside("something else at the top")
    if rank is None or [one.arg for one in rank.args.args] != ["evidence"] or rank.decorator_list:
        raise _Outside("no rank(evidence)")
    return _read_body(rank.body)


def own_functions(functions: Iterable[ast.FunctionDef]) -> set[str]:
    """The names of those that are functions of the grammar, as they stand here."""
    return {one.name for one in functions if (own := _helpers().get(one.name)) and own.dump == _dump(one)}


def _read_body(body: list[ast.stmt]) -> Program:
    known: dict[str, Node] = {}
    found: dict[str, Node] = {}
    for statement in body:
        if _is_docstring(statement):
            continue
        if isinstance(statement, ast.Return):
            if ast.dump(statement) != _RETURN or len(found) != 2:
                break
            return Program(found["solution_scores"], found["testing_scores"])
        if not isinstance(statement, ast.Assign) or not isinstance(statement.targets[0], ast.Name):
            break
        name = statement.targets[0].id
        if len(statement.targets) != 1 or name in known or name == "evidence" or name in _helpers():
            break
        if name in TERMINALS and TERMINALS[name].definition:
            if ast.dump(statement.value) != definition(name):
                break
            known[name] = Node(name)
            continue
        node = _read_value(statement.value, known, final=name in {"solution_scores", "testing_scores"})
        if name in {"solution_scores", "testing_scores"}:
            found[name] = node
            node = Node(name) if name == "solution_scores" else node
        known[name] = node
    raise _Outside("a statement that is not one of ours")


def _read_value(value: ast.expr, known: dict[str, Node], *, final: bool) -> Node:
    if not final:
        return _expression(value, known)
    if not (isinstance(value, ast.Call) and isinstance(value.func, ast.Name) and value.func.id == "tidy"):
        raise _Outside("scores that are not tidied")
    node = _expression(value.args[0], known)
    return node if type_of(node).value in "MN" else _fail()


def _fail() -> Node:
    raise _Outside("scores of another shape")


def _expression(value: ast.expr, known: Mapping[str, Node]) -> Node:
    """One expression as a checked node.

    Args:
        known: what names stand for.

    Raises:
        ValueError: it steps outside the grammar.
    """
    if isinstance(value, ast.Name):
        if value.id not in known:
            raise _Outside(f"unknown name {value.id}")
        return known[value.id]
    op, arguments = _operation(value)
    args = tuple(_constant(one) if _is_constant(one) else _expression(one, known) for one in arguments)
    if op in {"mul", "add"} and any(isinstance(arg, float) for arg in args):
        op = "times" if op == "mul" else "plus"
        args = args if isinstance(args[0], Node) else args[::-1]
    elif op == "sub" and args[0] == 1.0 and isinstance(args[1], Node):
        op, args = ("rejected" if type_of(args[1]).value == "MN" else "invert"), args[1:]
    elif op == "sub" and isinstance(args[1], float):
        op, args = "plus", (args[0], -args[1])
    elif op == "power" and isinstance(args[0], Node) and type_of(args[0]).value in {"MM", "NN"}:
        op = "sharpen"
    node = Node(op, args)
    if size_of(node) > MOST_NODES:
        raise _Outside("a tree that is too large")
    type_of(node)
    return node


def _operation(value: ast.expr) -> tuple[str, list[ast.expr]]:
    if isinstance(value, ast.BinOp) and type(value.op) in _BINARY:
        return _BINARY[type(value.op)], [value.left, value.right]
    if isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute) and value.func.attr == "mean":
        if ast.dump(ast.Module([ast.Expr(keyword.value) for keyword in value.keywords], [])) == _AXIS_ONE:
            return "row_mean", [value.func.value]
    elif isinstance(value, ast.Call) and not value.keywords:
        name = CALLS.get(ast.unparse(value.func))
        if name is not None:
            return name, value.args
    raise _Outside("an operation outside the grammar")


def _is_constant(value: ast.expr) -> bool:
    if isinstance(value, ast.UnaryOp) and isinstance(value.op, ast.USub):
        value = value.operand
    return isinstance(value, ast.Constant) and type(value.value) in (int, float)


def _constant(value: ast.expr) -> float:
    return float(ast.literal_eval(value))


def _is_docstring(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)


_BINARY: dict[type[ast.operator], str] = {ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul"}
CALLS = {op.template.partition("(")[0]: name for name, op in OPS.items() if not op.infix and name != "sharpen"}
_NUMPY = ast.dump(parsed("import numpy as np").body[0])
_RETURN = ast.dump(parsed("def f():\n    return solution_scores, testing_scores").body[0].body[0])  # type: ignore[attr-defined]
_AXIS_ONE = ast.dump(ast.Module([ast.Expr(ast.Constant(1))], []))


@cache
def definition(name: str) -> str:
    return ast.dump(parsed(f"_ = {TERMINALS[name].definition}").body[0].value)  # type: ignore[attr-defined]


@cache
def _helpers() -> dict[str, _Helper]:
    found = {}
    for name, function in vars(helpers).items():
        if not inspect.isfunction(function) or function.__module__ != helpers.__name__:
            continue
        tree = parsed(inspect.getsource(function)).body[0]
        assert isinstance(tree, ast.FunctionDef)
        for argument in tree.args.args:
            argument.annotation = None
        tree.returns = None
        head = f"def {name}({', '.join(argument.arg for argument in tree.args.args)}):"
        lines = inspect.getsource(function).rstrip().split("\n")
        calls = {
            node.func.id for node in ast.walk(tree) if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
        }
        found[name] = _Helper(name, "\n".join([head, *lines[1:]]), frozenset(calls), _dump(tree))
    return found


def _dump(function: ast.FunctionDef) -> str:
    """The syntax of a function without its docstring."""
    body = function.body[1:] if _is_docstring(function.body[0]) else function.body
    return ast.dump(ast.Module([ast.Expr(ast.Constant(ast.dump(function.args))), *body], []))


@lru_cache(maxsize=4096)
def _needed(used: frozenset[str]) -> str:
    """The source of the helpers that these operations and terminals call, in the order of their file."""
    wanted = frozenset[str]().union(*map(_calls, used), _closure("tidy"))
    return "\n\n\n".join(helper.source for name, helper in _helpers().items() if name in wanted)


@cache
def _calls(used: str) -> frozenset[str]:
    """The helpers that an operation or a terminal calls, directly or through others."""
    text = OPS[used].template if used in OPS else TERMINALS[used].definition
    named = (name for name in _helpers() if re.search(rf"\b{name}\(", text))
    return frozenset[str]().union(*map(_closure, named))


@cache
def _closure(name: str) -> frozenset[str]:
    """The functions that one of the grammar calls, directly or through others, and itself."""
    inner = (_closure(call) for call in _helpers()[name].calls if call in _helpers())
    return frozenset({name}).union(*inner)
