"""The nearest tree that the grammar has for a `rank(evidence)` in ordinary numpy: walked as syntax, never executed.

It is an approximation and does not rank like the program: variants that are each evaluated by themselves begin there.
A sum, like any aggregate, is read as the mean over its axis; casts, rounding, guards and scalars of the problem (its
size, `x.sum()`) are passed over; what is unknown, as all that a loop assigns, is left out and the rest is kept.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from functools import reduce
from typing import Any, TypeAlias

from evosyn.parsing import parsed
from evosyn.strategies.grammar.grammar import OPS, TERMINALS, Node, Program, Type, size_of, typed
from evosyn.strategies.grammar.openings import OPENINGS
from evosyn.strategies.grammar.simplify import simplified
from evosyn.strategies.grammar.source import CALLS, definition, own_functions
from evosyn.strategies.grammar.trees import MAX_SIZE, fits, linked, paths, tidy_constant

Value: TypeAlias = "Node | float | str | list[Any] | None"
"""A tree; a constant; a scalar of the problem by what made it; several values; unknown. Three operations only stand
here: `weighted` (a matrix times a vector), `pairs` (where rows of a matrix are equal) and `order` (argsort)."""
LONGEST, MOST_CALLS, LEAST, MOST = 20_000, 16, 1e-3, 1e3
"""Characters of a program, calls of its own functions; constants below are guards, above are cut."""
_SPELT = """pass astype round around clip nan_to_num asarray array float int abs copy reshape ravel list tidy given
pass concatenate hstack vstack stack column_stack; scalar len zeros ones full shape size; first where Or And
reduce sum mean median max min any all average amax amin nanmean std var prod; turned T transpose turned
inverted Invert Not logical_not; add Add add; sub Sub subtract; mul Mult multiply BitAnd logical_and
at MatMult matmul dot; ratio Div divide ratio; power Pow power sqrt; high BitOr maximum; low minimum; likely exp
logarithm log log1p log2; place rankdata; above Gt GtE; below Lt LtE; equal Eq equals"""
_MEANING = {word: line.split()[0] for line in re.split("[;\n]", _SPELT) for word in line.split()[1:]}
_LEAVES = {"passed": "passed", "copies": "copies", "cases": "share", "values": "agreed", "solution_groups": "groups"}
_LEAVES |= {"solution_similarity": "kin", "testing_similarity": "testing_kin", "echoes": "echo", "ran_through": "ran"}
_LEAVES |= {"agreeing": "agreed", "shared_calls": "asked"}
_DEFINED = {definition(name): Node(name) for name, leaf in TERMINALS.items() if leaf.definition}
_WHOLE = {"share same": "same_checks", "share alike": "alike_checks", "share latent": "check_chance"}
_WHOLE |= {"share row_mean": "checks", "agreed same": "echo", "agreed alike": "echo", "groups pairs": "twins"}
_EXTREMES = {"max equal": "top", "max above": "top", "min equal": "bottom", "min below": "bottom"}
_GAPS, _VECTORS = {"accepted": "gap", "vote": "row_gap"}, (Type.M, Type.N)


def nearest(text: str) -> Program | None:
    """None where neither score has anything, or a tree is too large; where one has nothing, that is of the opening."""
    try:
        found = _Approximation(parsed(text)).found if len(text) <= LONGEST else None
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    pair = found if isinstance(found, list) and len(found) == 2 else [None, None]
    scores = [one if typed(one) is kind else None for one, kind in zip(pair, (Type.M, Type.N), strict=True)]
    made = simplified(linked(Program(*(one or own for one, own in zip(scores, OPENINGS["gap"], strict=True)))))
    return made if any(scores) and fits(made) else None


class _Approximation:
    def __init__(self, module: ast.Module) -> None:
        known: dict[str, Value] = dict.fromkeys(("np", "numpy", "math", "scipy"), "module")
        defined = [one for one in module.body if isinstance(one, ast.FunctionDef)]
        own, self._calls = own_functions(defined), 0
        self._functions = {one.name: one for one in defined if one.name not in own}
        self._run(module.body, known)
        self.found = self._called("rank", [Node("evidence")], known) if "rank" in self._functions else None

    def _called(self, name: str, values: list[Value], known: dict[str, Value]) -> Value:
        inside = known | dict(zip((one.arg for one in self._functions[name].args.args), values, strict=False))
        self._calls += 1
        if self._calls <= MOST_CALLS:
            self._run(self._functions[name].body, inside)
        return inside.get("return")

    def _run(self, body: Sequence[ast.stmt], known: dict[str, Value]) -> None:
        for statement in body:
            match statement:
                case ast.Return(value=ast.expr() as value):
                    known["return"] = self._value(value, known)
                case ast.Assign(targets=[target], value=value):
                    _assign(target, _DEFINED.get(ast.dump(value)) or self._value(value, known), known)
                case ast.AugAssign(target=ast.Name() as target, op=op, value=value):
                    _assign(target, self._value(ast.BinOp(target, op, value), known), known)
                case ast.If(test=test, body=inner, orelse=other):
                    leaves = isinstance(inner[-1], ast.Return | ast.Raise)
                    self._run(inner if _holds(test, not leaves) else other, known)
                case ast.With(body=inner) | ast.Try(body=inner):
                    self._run(inner, known)
                case ast.For() | ast.While():
                    for node in ast.walk(statement):
                        _assign(node, None, known)
            if "return" in known:  # no name of a variable
                return

    def _value(self, node: ast.expr, known: dict[str, Value]) -> Value:
        match node:
            case ast.Constant(value=int() | float() as number) if abs(number) <= MOST**3:
                return float(number)
            case ast.Name(id=name):
                return known.get(name)
            case ast.Tuple(elts=parts) | ast.List(elts=parts):
                return [self._value(part, known) for part in parts]
            case ast.IfExp(test=test, body=one, orelse=other):
                both = [self._value(one, known), self._value(other, known)]
                return _made("Or", both[::-1] if _holds(test) else both)
            case ast.ListComp(elt=each, generators=[one]) | ast.GeneratorExp(elt=each, generators=[one]):
                _assign(one.target, self._value(one.iter, known), inside := known.copy())
                return self._value(each, inside)
            case ast.Call(func=ast.Name(id=name), args=parts) if name in self._functions:
                return self._called(name, [self._value(part, known) for part in parts], known)
        parts = [part for part in ast.iter_child_nodes(node) if isinstance(part, ast.expr)]
        of, op = getattr(node, "func", node), getattr(node, "op", None) or getattr(node, "ops", [node])[0]
        if isinstance(node, ast.Call):
            parts[:1] = [of.value] if isinstance(of, ast.Attribute) else []
            parts += [one.value for one in node.keywords if one.arg == "axis"]
        values = [self._value(part, known) for part in parts]
        name = getattr(of, "attr", "") or getattr(of, "id", "") or type(op).__name__
        return _made(name, values[1:] if values[:1] == ["module"] else values)


def _assign(target: ast.AST, value: Value, known: dict[str, Value]) -> None:
    match target:
        case ast.Name(id=name, ctx=ast.Store()):
            known[name] = value
        case ast.Tuple(elts=parts, ctx=ast.Store()):
            several = value if isinstance(value, list) else [value if isinstance(value, str) else None] * len(parts)
            for part, one in zip(parts, several, strict=False):
                _assign(part, one, known)
        case ast.Subscript(value=ast.Name(id=name), ctx=ast.Store()) if not isinstance(value, float | str):
            known[name] = None


def _holds(test: ast.expr, otherwise: bool = True) -> bool:
    asked = ast.unparse(test)  # nothing is None
    return " is not None" in asked or (otherwise and " is None" not in asked)


def _made(name: str, values: list[Value]) -> Value:
    one, *rest = values or [None]
    meaning, other = _MEANING.get(name, name), rest[0] if rest else None
    match meaning:
        case _ if one == Node("evidence") or name in _LEAVES:
            return Node(_LEAVES[name]) if name in _LEAVES else None
        case "pass" | "scalar" | "turned" | "inverted":
            return {"pass": one, "scalar": "", "turned": _turned(one), "inverted": _inverted(one)}[meaning]
        case "USub":
            return -one if isinstance(one, float) else _joined("mul", one, -1.0)
        case "reduce" if isinstance(one, Node) and rest and not (typed(one) in _VECTORS and rest[-1] in (0, -1)):
            if one.op == "weighted":
                return _joined("at", *one.args) or _joined("at", _turned(one.args[0]), one.args[1])
            if one.op == "pairs":
                rows = _turned(one.args[0]) if rest[-1] == 0 else one.args[0]
                return _node("same" if name == "all" else "alike", rows)
            return _node("row_mean", _turned(one) if rest[-1] in (0, -2) else one) or one
        case "reduce":
            return None if one is None else name
        case "first":
            return next((part for part in (*rest, one) if isinstance(part, Node)), "")
        case "argsort" if isinstance(one, Node):
            return _node("place", *one.args) if one.op == "order" else Node("order", (one,))
        case "unique" if isinstance(one, list) and one:
            return [None, reduce(lambda later, key: _node("then", key, later) or key or later, reversed(one))]
        case "Subscript":
            masks = [part for part in (other if isinstance(other, list) else [other]) if typed(part) in _VECTORS]
            return _node("weighted", one, *masks[:1]) or one
        case "equal" if isinstance(one, Node) and (one == other or name == "equals"):
            return _node("pairs", one)
        case "above" | "below" | "equal" if isinstance(other, float | str):
            extreme, by = _EXTREMES.get(f"{other} {meaning}", ""), 0.5 if isinstance(other, str) else other
            share = _node("at_least", one, by) if 0 < by < 1 and meaning != "equal" else None
            found = share if typed(one) in _VECTORS else one
            return _node(extreme, one) or (_inverted(found) if meaning == "below" else found)
        case "add" | "sub" | "mul" | "ratio" | "power" | "at" | "high" | "low":
            return _joined(meaning, one, 0.5 if name == "sqrt" else other)
    op = meaning if meaning in OPS else CALLS.get(name, "")
    return _node(op, *values) or next((value for value in values if typed(value) in _VECTORS), None)


def _joined(op: str, one: Value, other: Value) -> Value:
    """Two values by an operation; where one is unknown, the other."""
    if op == "at":
        one, other = (_turned(other), one) if typed(one) in _VECTORS else (one, other)
        found = _node("vote", one, other) or _node("accepted", _turned(one), other) or _node("smooth", one, other)
        return found or (_node("alike", one) if other == _turned(one) else None)
    if op == "sub":
        if not isinstance(one, Node) or not isinstance(other, Node):
            unit = isinstance(one, str) or one == 1.0
            return _inverted(other) if unit else _joined("add", one, _made("USub", [other]))
        off = {node for _, node in paths(other)}
        for gap, (x, y) in [node for _, node in paths(one) if node.op in _GAPS]:
            if {_inverted(Node(gap, (x, y))), _node(gap, _inverted(x), y), _node(gap, x, _inverted(y))} & off:
                return _node(_GAPS[gap], x, y)
    if not isinstance(one, Node):
        if op == "ratio" or not isinstance(other, Node):
            return None if one is None or other is None else _node("fade", other, 1.0) or ""
        one, other = other, one
    if isinstance(other, float):
        op, by = ("mul", 1.0 / other) if op == "ratio" and other > LEAST else (op, other)
        op, by = ("fade", -by) if op == "power" and by < 0 else ({"add": "plus", "mul": "times"}.get(op, op), by)
        return (_node(op, one, by) or _node("sharpen", one, by) if abs(by) >= LEAST else None) or one
    weight = _node("fade", other, 1.0) if op == "ratio" else other if op == "mul" else None
    return _node(op, one, other) or _node("weighted", one, weight) or one


def _node(op: str, *args: Any) -> Node | None:
    if args and isinstance(args[0], Node) and f"{args[0].op} {op}" in _WHOLE:
        return Node(_WHOLE[f"{args[0].op} {op}"])
    made = Node(op, tuple(tidy_constant(max(-MOST, min(one, MOST))) if isinstance(one, float) else one for one in args))
    kinds = [typed(one) for one in args]
    here = len(kinds) == 2 and kinds[0] not in (None, *_VECTORS) and kinds[1] in _VECTORS
    fitting = here if op == "weighted" else typed(made) or (op == "pairs" and kinds[0])
    return made if fitting and size_of(made) <= 2 * MAX_SIZE else None


def _turned(value: Value) -> Value:
    return value.args[0] if isinstance(value, Node) and value.op == "turned" else _node("turned", value) or value


def _inverted(value: Value) -> Value:
    if isinstance(value, Node) and value.op == "weighted":
        return _node("weighted", _inverted(value.args[0]), value.args[1])
    return _node("invert", value) or _node("rejected", value) or ("" if isinstance(value, str | float) else None)
