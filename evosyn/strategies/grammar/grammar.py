"""The typed grammar of genetic strategies: types, terminals, operations, and what each looks like in source.

One table serves everything: what may be generated, how a tree is computed (the function), how it is written (the
template) and how it is read back. Types: M and N are a value per solution and per testing; MN, MM, NN are matrices.
Koza 1992; Montana 1995 (strongly typed genetic programming).
"""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from functools import lru_cache
from typing import NamedTuple, TypeAlias

import numpy as np

from evosyn.strategies.grammar import helpers
from evosyn.strategies.grammar.helpers import Array


class Type(StrEnum):
    """What a tree yields for one problem with M solutions and N testings."""

    M = "M"
    N = "N"
    MN = "MN"
    NM = "NM"
    MM = "MM"
    NN = "NN"


class Node(NamedTuple):
    """A tree: an operation with its arguments, constants among them as plain numbers. Terminals have no arguments."""

    op: str
    args: tuple[Node | float, ...] = ()


class Program(NamedTuple):
    """A strategy: the tree that scores solutions, and the tree that scores testings (it may use `solution_scores`)."""

    solutions: Node
    testings: Node


Signature: TypeAlias = tuple[tuple[Type, ...], Type]


class Op(NamedTuple):
    """One operation.

    Attributes:
        signatures: argument types (trees only) and result type, one for each way to use it.
        function: computes it; constants come after the arrays.
        template: its source, with {0}, {1} for arguments; an atom or a call unless `infix`.
        weight: how often it is generated.
        constants: range of each constant argument.
        noun: stem of the name of a variable that holds its value.
    """

    signatures: tuple[Signature, ...]
    function: Callable[..., Array]
    template: str
    weight: float = 1.0
    constants: tuple[tuple[float, float], ...] = ()
    infix: bool = False
    noun: str = "value"


class Terminal(NamedTuple):
    """A leaf: its type, its definition in the program, the comment that stands beside it, and how often it is drawn
    among those of its type."""

    type: Type
    definition: str
    comment: str
    weight: float = 1.0


TERMINALS: dict[str, Terminal] = {
    "passed": Terminal(Type.MN, "evidence.passed.astype(float)", "solutions x testings", 3.0),
    "share": Terminal(
        Type.MN,
        "np.stack([case.mean(axis=1) for case in evidence.cases], axis=1)",
        "part of each testing that a solution passes",
    ),
    "ran": Terminal(Type.MN, "ran_through(evidence.verdicts, evidence.passed)", "came to a value, right or wrong"),
    "agreed": Terminal(
        Type.MN, "agreeing(evidence.values, evidence.passed)", "share of the solutions that gave the same values there"
    ),
    "checks": Terminal(
        Type.M, "np.concatenate(evidence.cases, axis=1).mean(axis=1)", "part of all single checks passed"
    ),
    "alike_checks": Terminal(
        Type.MM,
        "alike(np.concatenate(evidence.cases, axis=1).astype(float))",
        "agreement on single checks",
    ),
    "same_checks": Terminal(
        Type.MM,
        "same(np.concatenate(evidence.cases, axis=1).astype(float))",
        "equal on every single check",
    ),
    "check_chance": Terminal(
        Type.M,
        "latent(np.concatenate(evidence.cases, axis=1).astype(float))",
        "chance to be right, if checks err independently",
    ),
    "copies": Terminal(Type.M, "evidence.copies.astype(float)", "how often each solution was drawn"),
    "twins": Terminal(Type.MM, "equals(evidence.solution_groups)", "the same program"),
    "novelty": Terminal(
        Type.N, "1.0 / equals(evidence.testing_groups).sum(axis=1)", "repeated testings share the weight of one"
    ),
    "kin": Terminal(
        Type.MM, "given(evidence.solution_similarity, len(evidence.passed))", "likeness of the solutions' texts"
    ),
    "testing_kin": Terminal(
        Type.NN, "given(evidence.testing_similarity, evidence.passed.shape[1])", "likeness of the testings' texts"
    ),
    "echo": Terminal(Type.MM, "echoes(evidence.values, len(evidence.passed))", "agreement on the values of calls"),
    "asked": Terminal(
        Type.NN, "shared_calls(evidence.calls, evidence.passed.shape[1])", "part of their calls that two testings share"
    ),
    "solution_scores": Terminal(Type.M, "", ""),
    "own_solutions": Terminal(Type.M, "", ""),
    "own_testings": Terminal(Type.N, "", ""),
}
"""Those without a definition are not generated: the first stands for the other tree, the last two for the scores of a
program outside the grammar (`source.graft`)."""

_M, _N, _MN, _NM, _MM, _NN = Type.M, Type.N, Type.MN, Type.NM, Type.MM, Type.NN
_VECTOR: tuple[Signature, ...] = (((_M,), _M), ((_N,), _N))
_VECTORS: tuple[Signature, ...] = (((_M, _M), _M), ((_N, _N), _N))
_SQUARE: tuple[Signature, ...] = (((_MM, _M), _M), ((_NN, _N), _N))


def _call(name: str, arguments: int = 1) -> str:
    return f"{name}({', '.join('{' + str(place) + '}' for place in range(arguments))})"


OPS: dict[str, Op] = {
    "add": Op(_VECTORS, np.add, "{0} + {1}", 1.5, infix=True, noun="total"),
    "sub": Op(_VECTORS, np.subtract, "{0} - {1}", 0.7, infix=True, noun="difference"),
    "mul": Op((*_VECTORS, ((_MM, _MM), _MM)), np.multiply, "{0} * {1}", 2.0, infix=True, noun="product"),
    "ratio": Op(_VECTORS, helpers.ratio, _call("ratio", 2), 0.4, noun="quotient"),
    "low": Op(_VECTORS, np.minimum, _call("np.minimum", 2), 0.4, noun="lower"),
    "high": Op(_VECTORS, np.maximum, _call("np.maximum", 2), 0.4, noun="higher"),
    "then": Op(_VECTORS, helpers.then, _call("then", 2), 1.5, noun="order"),
    "times": Op(_VECTOR, np.multiply, "{0} * {1}", 0.8, ((-2.0, 4.0),), infix=True, noun="scaled"),
    "plus": Op(_VECTOR, np.add, "{0} + {1}", 0.5, ((0.01, 1.0),), infix=True, noun="raised"),
    "power": Op(_VECTOR, helpers.power, _call("power", 2), 1.0, ((0.25, 6.0),), noun="powered"),
    "fade": Op(_VECTOR, helpers.fade, _call("fade", 2), 0.5, ((0.25, 3.0),), noun="faded"),
    "logarithm": Op(_VECTOR, helpers.logarithm, _call("logarithm"), 0.6, noun="logs"),
    "likely": Op(_VECTOR, helpers.likely, _call("likely"), 0.3, noun="likelihood"),
    "crown": Op(_VECTORS, helpers.crown, _call("crown", 2), 1.0, noun="crowned"),
    "at_least": Op(_VECTOR, helpers.at_least, _call("at_least", 2), 0.6, ((0.1, 0.95),), noun="selected"),
    "invert": Op(_VECTOR, lambda x: 1.0 - x, "1.0 - {0}", 0.4, infix=True, noun="inverted"),
    "spread": Op(_VECTOR, helpers.spread, _call("spread"), 0.8, noun="spread_out"),
    "place": Op(_VECTOR, helpers.place, _call("place"), 0.6, noun="ranks"),
    "standard": Op(_VECTOR, helpers.standard, _call("standard"), 0.3, noun="standardised"),
    "top": Op(_VECTOR, helpers.top, _call("top"), 0.8, noun="best"),
    "bottom": Op(_VECTOR, helpers.bottom, _call("bottom"), 0.4, noun="worst"),
    "half": Op(_VECTOR, helpers.half, _call("half"), 0.4, noun="telling"),
    "row_mean": Op(
        (((_MN,), _M), ((_MM,), _M), ((_NM,), _N), ((_NN,), _N)), lambda x: x.mean(-1), "{0}.mean(axis=1)", 2.0,
        noun="mean_share",
    ),
    "vote": Op((((_MN, _N), _M),), helpers.vote, _call("vote", 2), 2.0, noun="votes"),
    "row_gap": Op((((_MN, _N), _M),), helpers.row_gap, _call("row_gap", 2), 0.5, noun="row_discrimination"),
    "accepted": Op((((_MN, _M), _N),), helpers.accepted, _call("accepted", 2), 3.0, noun="acceptance"),
    "gap": Op((((_MN, _M), _N),), helpers.gap, _call("gap", 2), 3.0, noun="discrimination"),
    "fair_gap": Op((((_MN,), _N),), helpers.fair_gap, _call("fair_gap"), 0.5, noun="fair_discrimination"),
    "follow": Op((((_MN, _M), _N),), helpers.follow, _call("follow", 2), 1.0, noun="correlation"),
    "some": Op((((_MN,), _N),), helpers.some, _call("some"), 0.5, noun="accepts_somebody"),
    "choosy": Op((((_MN,), _N),), helpers.choosy, _call("choosy"), 0.5, noun="accepts_and_rejects"),
    "smooth": Op(_SQUARE, helpers.smooth, _call("smooth", 2), 1.0, noun="smoothed"),
    "mutual": Op((((_MN,), _M), ((_NM,), _N)), helpers.mutual, _call("mutual"), 0.7, noun="settled"),
    "latent": Op((((_MN,), _M), ((_NM,), _N)), helpers.latent, _call("latent"), 0.8, noun="chance"),
    "bayes": Op((((_MN,), _M),), helpers.bayes, _call("bayes", 3), 1.0, ((0.0, 3.0), (0.0, 6.0)), noun="odds"),
    "decide": Op(
        (((_MN, _M, _M), _N),), helpers.decide, _call("decide", 4), 1.5, ((0.05, 0.95),), noun="decision"
    ),
    "alike": Op((((_MN,), _MM), ((_NM,), _NN)), helpers.alike, _call("alike"), 1.0, noun="likeness"),
    "same": Op((((_MN,), _MM), ((_NM,), _NN)), helpers.same, _call("same"), 1.0, noun="groups"),
    "sharpen": Op(
        (((_MM,), _MM), ((_NN,), _NN)), helpers.power, _call("power", 2), 0.5, ((1.0, 8.0),), noun="sharp_likeness"
    ),
    "turned": Op((((_MN,), _NM),), helpers.turned, _call("turned"), 1.0, noun="by_testing"),
    "rare": Op((((_MN,), _MN),), helpers.rare, _call("rare"), 0.4, noun="rare_passes"),
    "rejected": Op((((_MN,), _MN),), lambda x: 1.0 - x, "1.0 - {0}", 0.3, infix=True, noun="failed"),
}  # fmt: skip


def op_type(op: str, kinds: tuple[Type, ...]) -> Type | None:
    """The result type of an operation on trees of these types, or None where it does not take them."""
    return next((result for taken, result in OPS[op].signatures if taken == kinds), None)


@lru_cache(maxsize=100_000)
def type_of(node: Node) -> Type:
    """The type of a tree.

    Raises:
        ValueError: it is not well typed.
    """
    terminal = TERMINALS.get(node.op)
    if terminal is not None:
        return terminal.type
    kinds = tuple(type_of(child) for child in node.args if isinstance(child, Node))
    found = op_type(node.op, kinds)
    if found is None or len(node.args) != len(kinds) + len(OPS[node.op].constants):
        raise ValueError(f"{node.op} does not take {kinds}")
    return found


def typed(value: object) -> Type | None:
    """The type of what is a tree with its constants last, or None."""
    args = value.args if isinstance(value, Node) else ()
    trees = [isinstance(arg, Node) for arg in args]
    known = all(isinstance(arg, Node | float) for arg in args) and trees == sorted(trees, reverse=True)
    try:
        return type_of(value) if isinstance(value, Node) and known else None
    except (KeyError, ValueError):
        return None


def size_of(node: Node) -> int:
    """Number of operations, terminals and constants."""
    return 1 + sum(size_of(child) if isinstance(child, Node) else 1 for child in node.args)


def uses_scores(node: Node) -> bool:
    """Whether a tree refers to the scores of the solutions."""
    return node.op == "solution_scores" or any(uses_scores(child) for child in node.args if isinstance(child, Node))
