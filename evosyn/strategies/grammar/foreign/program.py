"""Foreign programs as trees: the statements of `rank(evidence)` and of what it calls, read one after the other.

Only what stands on a line of its own is understood: assignments, calls of the program's own small functions, `return`.
Loops, conditions, classes and comprehensions are not. docs/evolve.md, "Bursts".
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping
from functools import cache, partial

from evosyn.parsing import parsed
from evosyn.program_identity import program_key
from evosyn.strategies.grammar.foreign.calls import (
    BUILTINS,
    METHODS,
    NUMPY,
    TYPES,
    Method,
    Thing,
    Word,
    denied,
    rounded,
    value_of,
)
from evosyn.strategies.grammar.foreign.choices import compared
from evosyn.strategies.grammar.foreign.own import of_grammar
from evosyn.strategies.grammar.foreign.parts import (
    READ_ONLY,
    RISKY,
    SIGNS,
    attribute,
    literal,
    operate,
    part_of,
    shares,
)
from evosyn.strategies.grammar.foreign.values import Value, negated, ordered, size
from evosyn.strategies.grammar.foreign.words import NONE, Unread, unrounded
from evosyn.strategies.grammar.grammar import TERMINALS, Node, Program, Type, type_of
from evosyn.strategies.grammar.source import CALLS, closure, definition, own_functions

LONGEST, MOST_STEPS, DEEPEST = 20_000, 4000, 6
"""Characters of a program, expressions and calls within calls that are followed."""
MOST_FACTORS = 4
"""Shares that may be multiplied until some products are too small to be told apart."""
FINE = frozenset({"likely", "latent", "mutual", "check_chance", "bayes"})
"""What comes as near to 0 or 1 as numbers do."""
BUILT_IN = frozenset({"abs", "float", "max", "min", "range"})
"""What functions of the grammar call beside each other and numpy."""
NOTES = frozenset({"tuple", "list", "dict", "float", "int", "bool", "str", "object"})
"""Names that annotations of functions may use, which are worked out when the program is loaded."""


def read_foreign(text: str) -> Program | None:
    """The trees that rank as a program in ordinary numpy does, wherever it ranks, or None. Nothing is executed."""
    if len(text) > LONGEST or program_key(text) is None:
        return None
    try:
        return _Module(parsed(text)).program()
    except (SyntaxError, ValueError, TypeError, LookupError, ArithmeticError, RecursionError, MemoryError):
        return None


class _Module:
    """The names at the top of a program, each with the one thing that it stands for."""

    def __init__(self, tree: ast.Module) -> None:
        self._names: dict[str, Thing] = {}
        self._functions: dict[str, ast.FunctionDef] = {}
        self._scopes: list[dict[str, Thing]] = []
        self._steps = 0
        notes = not any(map(_is_future, tree.body))
        for place, statement in enumerate(tree.body):
            if _is_future(statement) and place > (ast.get_docstring(tree) is not None):
                raise Unread("an import from the future behind other statements")
            for name, thing in _bound_by(statement):
                if name in self._names:
                    raise Unread(f"{name} is defined twice")
                self._names[name] = thing
            if isinstance(statement, ast.FunctionDef):
                self._functions[statement.name] = statement
        own = own_functions(self._functions.values()) if self._names.get("np") == Word("numpy") else set[str]()
        self._own = {name for name in own if closure(name) <= own and not BUILT_IN & set(self._names)}
        for function in self._functions.values():
            self._check(function, notes=notes and function.name not in self._own)

    def program(self) -> Program:
        """What the trees are of its `rank`."""
        rank = self._functions.get("rank")
        if rank is None or len(rank.args.args) != 1:
            raise Unread("no rank(evidence)")
        found = self._called(rank, [Word("evidence")])
        if not isinstance(found, tuple):
            raise Unread("not a pair of scores")
        solutions, testings = (value_of(one) for one in found)
        if solutions.axes != ("M",) or testings.axes != ("N",) or solutions.holes or testings.holes:
            raise Unread("scores of another shape")
        program = Program(ordered(solutions), ordered(testings))
        rounded_ = partial(_as_returned, solutions=program.solutions)
        program = Program(program.solutions, unrounded(program.testings, rounded_))
        fine = _is_fine(program.solutions, below=False)
        for value, tree in zip((solutions, testings), program, strict=True):
            if _is_fine(tree, below=fine) and [node.op for node in value.nodes.values()] != ["tidied"]:
                raise Unread("scores that differ by less than rounding leaves")
        if (type_of(program.solutions), type_of(program.testings)) != (Type.M, Type.N):
            raise Unread("scores of another shape")
        return program

    def _check(self, function: ast.FunctionDef, *, notes: bool) -> None:
        """
        Raises:
            Unread: defining the function may do something, or calling it is not plain.
        """
        given = function.args
        others = (*given.posonlyargs, *given.kwonlyargs, *given.defaults, *given.kw_defaults)
        if others or given.vararg or given.kwarg or function.decorator_list:
            raise Unread("a function that is not plain")
        for note in [one.annotation for one in given.args] + [function.returns] if notes else []:
            if note is not None and not self._is_plain(note):
                raise Unread("an annotation")

    def _is_plain(self, note: ast.expr) -> bool:
        match note:
            case ast.Constant():
                return True
            case ast.Name(name):
                return name in NOTES and name not in self._names
            case ast.Attribute(ast.Name(name), "ndarray"):
                return self._names.get(name) == Word("numpy")
            case ast.Subscript(ast.Name("tuple"), ast.Tuple(parts)):
                return "tuple" not in self._names and all(map(self._is_plain, parts))
        return False

    def _called(
        self, function: ast.FunctionDef, given: list[Thing], keywords: Mapping[str, Thing] | None = None
    ) -> Thing:
        """What a function of the program returns."""
        names = [one.arg for one in function.args.args]
        scope = dict(zip(names, given, strict=False)) | dict(keywords or {})
        if len(self._scopes) == DEEPEST or len(given) + len(keywords or {}) != len(names) or set(scope) != set(names):
            raise Unread("a call that cannot be followed")
        if not all(isinstance(statement, _PLAIN) for statement in function.body) or _yields(function):
            raise Unread("another statement")
        local = {
            node.id for node in ast.walk(function) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
        }
        self._scopes.append(scope)
        try:
            for statement in function.body:
                if isinstance(statement, ast.Return) and statement.value is not None:
                    return self._read(statement.value, local)
                self._follow(statement, local)
        finally:
            self._scopes.pop()
        raise Unread("a function that returns nothing")

    def _follow(self, statement: ast.stmt, local: set[str]) -> None:
        """One statement that gives values to names."""
        match statement:
            case ast.Expr(ast.Constant()) | ast.Pass():
                return
            case ast.Assign([target], value) | ast.AnnAssign(ast.Name() as target, _, ast.expr() as value):
                self._bind(target, self._read(value, local))
            case ast.AugAssign(ast.Name(name), operator, value):
                old = value_of(self._named(name, local))
                new = operate(operator, old, value_of(self._read(value, local)))
                if old.axes and (old.axes, old.kind) != (new.axes, new.kind):
                    raise Unread("a change in place to something else")
                if old.axes and (old.owner is READ_ONLY or old.kind == "b" or self._holders(old.owner) != 1):
                    raise Unread("a change in place of what others see")
                self._scopes[-1][name] = new
            case _:
                raise Unread("another statement")

    def _bind(self, target: ast.expr, thing: Thing) -> None:
        match target:
            case ast.Name(name):
                self._scopes[-1][name] = thing
            case ast.Tuple(targets) if isinstance(thing, tuple) and len(thing) == len(targets):
                for one, part in zip(targets, thing, strict=True):
                    self._bind(one, part)
            case _:
                raise Unread("another target")

    def _holders(self, owner: object) -> int:
        """How many names, here and where this was called from, stand for what shares this memory."""
        return sum(shares(thing, owner) for scope in self._scopes for thing in scope.values())

    def _named(self, name: str, local: set[str]) -> Thing:
        scope = self._scopes[-1]
        if name in scope:
            return scope[name]
        if name not in local and name in self._names:
            return self._names[name]
        if name not in local and (name in BUILTINS or name == "len" or name in TYPES):
            return Word("type" if name in ("int", "bool", "float") else "builtin", name)
        raise Unread(f"unknown name {name}")

    def _read(self, value: ast.expr, local: set[str]) -> Thing:
        """What an expression is worth."""
        self._steps += 1
        if self._steps > MOST_STEPS:
            raise Unread("too long")
        if isinstance(value, ast.Call | ast.BinOp) and (leaf := self._terminal(value, local)) is not None:
            return leaf
        match value:
            case ast.Constant(constant):
                return literal(constant)
            case ast.Name(name):
                return self._named(name, local)
            case ast.Tuple(parts) | ast.List(parts):
                return tuple(self._read(one, local) for one in parts)
            case ast.Attribute(of, name):
                return attribute(self._read(of, local), name)
            case ast.BinOp(left, operator, right):
                return operate(operator, value_of(self._read(left, local)), value_of(self._read(right, local)))
            case ast.UnaryOp(ast.USub(), of):
                return negated(value_of(self._read(of, local)))
            case ast.UnaryOp(ast.Invert(), of):
                return denied(value_of(self._read(of, local)))
            case ast.Compare(left, [sign], [right]) if type(sign) in SIGNS:
                one, other = value_of(self._read(left, local)), value_of(self._read(right, local))
                return compared(one, SIGNS[type(sign)], other)
            case ast.Subscript(of, at):
                return part_of(self._read(of, local), self._places(at, local))
            case ast.Call(function, given, keywords):
                called = self._read(function, local)
                options = {one.arg: self._read(one.value, local) for one in keywords if one.arg is not None}
                if len(options) != len(keywords):
                    raise Unread("options from a dictionary")
                return self._result(called, [self._read(one, local) for one in given], options)
        raise Unread("another expression")

    def _result(self, called: Thing, given: list[Thing], keywords: dict[str, Thing]) -> Thing:
        match called:
            case Word("function", name) if name in self._own:
                if keywords:
                    raise Unread("an option")
                if name == "tidy":
                    (one,) = given
                    return rounded(value_of(one), 9, exactly=True)
                return of_grammar(CALLS[name], given)
            case Word("function", name):
                return self._called(self._functions[name], given, keywords)
            case Word("of numpy", name):
                return NUMPY[name](given, keywords)
            case Method(value, name):
                return METHODS[name]([value, *given], keywords)
            case Word("builtin", "len") if len(given) == 1 and not keywords:
                return size(value_of(given[0]).axes[0])
            case Word("builtin" | "type", name):
                return BUILTINS[name](given, keywords)
        raise Unread("a call of something else")

    def _places(self, at: ast.expr, local: set[str]) -> list[Thing]:
        """What stands between square brackets."""
        places = at.elts if isinstance(at, ast.Tuple) else [at]
        return [Word("all") if ast.dump(one) == _ALL else self._read(one, local) for one in places]

    def _terminal(self, value: ast.expr, local: set[str]) -> Value | None:
        """A part of the evidence as the grammar defines it."""
        name = _terminals().get(ast.dump(value)) if self._scopes[-1].get("evidence") == Word("evidence") else None
        if name is None:
            return None
        used = {node.id for node in ast.walk(value) if isinstance(node, ast.Name)} - {"case", "evidence"}
        if not all(self._is_as_ever(one, local) for one in used):
            return None
        low, high = RISKY.get(name, (0.0, 1.0))
        return Value(tuple(TERMINALS[name].type.value), {NONE: Node(name)}, {}, "f", low, high)

    def _is_as_ever(self, name: str, local: set[str]) -> bool:
        """Whether a name stands for what it does in programs of the grammar."""
        if name in self._own:
            return self._named(name, local) == Word("function", name)
        return self._named(name, local) == _AS_EVER.get(name)


_AS_EVER = {"np": Word("numpy"), "len": Word("builtin", "len"), "float": Word("type", "float")}
_PLAIN = ast.Assign | ast.AnnAssign | ast.AugAssign | ast.Expr | ast.Pass | ast.Return
_ALL = ast.dump(parsed("x[:]").body[0].value.slice)  # type: ignore[attr-defined]


@cache
def _terminals() -> dict[str, str]:
    """Definitions of terminals that are not understood anyway."""
    plain = ("passed", "checks", "copies")
    return {definition(name): name for name, leaf in TERMINALS.items() if leaf.definition and name not in plain}


def _bound_by(statement: ast.stmt) -> Iterable[tuple[str, Thing]]:
    """The names that a statement at the top binds.

    Raises:
        Unread: it may do something else.
    """
    match statement:
        case ast.Expr(ast.Constant()):
            return []
        case ast.FunctionDef(name):
            return [(name, Word("function", name))]
        case ast.Import([ast.alias("numpy", name)]):
            return [(name or "numpy", Word("numpy"))]
        case ast.Import([ast.alias("math", name)]):
            return [(name or "math", Word("math"))]
        case ast.ImportFrom("__future__", [ast.alias("annotations")]):
            return [("annotations", Word("future"))]
        case ast.Assign([ast.Name(name)], value):
            return [(name, literal(ast.literal_eval(value)))]
    raise Unread("something else at the top")


def _yields(function: ast.FunctionDef) -> bool:
    return any(isinstance(node, ast.Yield | ast.YieldFrom) for node in ast.walk(function))


def _is_future(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.ImportFrom) and statement.module == "__future__"


def _is_fine(tree: Node, *, below: bool) -> bool:
    """Whether scores may differ by less than a tree's are rounded to.

    Args:
        below: whether those of the solutions do.
    """
    if tree.op in FINE or (below and tree.op == "solution_scores") or _degree(tree) > MOST_FACTORS:
        return True
    return any(_is_fine(arg, below=below) for arg in tree.args if isinstance(arg, Node))


def _degree(tree: Node) -> float:
    """How many shares are multiplied in a tree."""
    degrees = [_degree(arg) for arg in tree.args if isinstance(arg, Node)]
    if tree.op == "mul":
        return sum(degrees)
    exponent = tree.args[-1] if tree.op in ("power", "sharpen") else 1.0
    return max(degrees, default=1.0) * (exponent if isinstance(exponent, float) else 1.0)


def _as_returned(node: Node, solutions: Node) -> Node:
    if node != solutions:
        raise Unread("something that is rounded")
    return Node("solution_scores")
