"""Trees made at random, cut and changed: generation, crossover, mutation. Everything stays well typed and bounded.

Koza 1992; Montana 1995. No program text and no evaluation here.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from functools import cache
from itertools import accumulate
from typing import NamedTuple

from evosyn.strategies.grammar.grammar import (
    OPS,
    TERMINALS,
    Node,
    Program,
    Signature,
    Type,
    op_type,
    size_of,
    type_of,
    uses_scores,
)

MAX_SIZE = 32
"""Operations, terminals and constants of one tree: what a person still reads in a minute."""

TERMINAL_CHANCE = 0.35


class _Choice(NamedTuple):
    op: str
    signature: Signature
    weight: float
    depth: int


def random_tree(kind: Type, depth: int, rng: random.Random, *, scores: bool) -> Node:
    """A tree of type `kind`, at most `depth` operations deep where its type allows.

    Args:
        scores: whether it may use `solution_scores` (the tree of the testings may).
    """
    leaves, choices, weights = _options(kind, max(depth, 0), scores)
    if leaves and (depth <= 0 or not choices or rng.random() < TERMINAL_CHANCE):
        if "solution_scores" in leaves and rng.random() < 0.5:
            return Node("solution_scores")
        return Node(rng.choices(leaves, [TERMINALS[name].weight for name in leaves])[0])
    chosen = rng.choices(choices, cum_weights=weights)[0]
    children = [random_tree(taken, depth - 1, rng, scores=scores) for taken in chosen.signature[0]]
    return Node(chosen.op, (*children, *random_constants(chosen.op, rng)))


def random_program(rng: random.Random, depth: int = 4) -> Program:
    """A program with two random trees of bounded size."""
    while True:
        made = Program(random_tree(Type.M, depth, rng, scores=False), random_tree(Type.N, depth, rng, scores=True))
        if fits(made):
            return made


def random_constants(op: str, rng: random.Random) -> tuple[float, ...]:
    return tuple(tidy_constant(rng.uniform(low, high)) for low, high in OPS[op].constants)


def tidy_constant(value: float) -> float:
    """A constant with two significant digits: readable, and equal constants meet."""
    return float(f"{value:.2g}")


def fits(program: Program) -> bool:
    return size_of(program.solutions) <= MAX_SIZE and size_of(program.testings) <= MAX_SIZE


def linked(program: Program) -> Program:
    """The program with its solutions' own scores in place of the same tree among its testings: both vary together."""

    def link(node: Node) -> Node:
        if node == program.solutions:
            return Node("solution_scores")
        return Node(node.op, tuple(link(arg) if isinstance(arg, Node) else arg for arg in node.args))

    return program._replace(testings=link(program.testings))


def paths(node: Node, at: tuple[int, ...] = ()) -> Iterator[tuple[tuple[int, ...], Node]]:
    """Every subtree with the way to it, the root first."""
    yield at, node
    for place, child in enumerate(node.args):
        if isinstance(child, Node):
            yield from paths(child, (*at, place))


def replaced(node: Node, at: tuple[int, ...], new: Node) -> Node:
    """The tree with the subtree at `at` replaced."""
    if not at:
        return new
    child = node.args[at[0]]
    assert isinstance(child, Node)
    return Node(node.op, (*node.args[: at[0]], replaced(child, at[1:], new), *node.args[at[0] + 1 :]))


def crossed(receiver: Node, giver: Node, rng: random.Random, *, scores: bool) -> Node:
    """`receiver` with one subtree taken from `giver`, of the same type."""
    at, old = rng.choice(list(paths(receiver)))
    kind = type_of(old)
    fitting = [
        node for _, node in paths(giver) if type_of(node) is kind and (scores or not uses_scores(node)) and node != old
    ]
    return replaced(receiver, at, rng.choice(fitting)) if fitting else receiver


def mutated(node: Node, rng: random.Random, *, scores: bool) -> Node:
    """One of: a new subtree, another operation, a subtree hoisted, an operation inserted, a constant moved."""
    return rng.choices(_MUTATIONS, cum_weights=_SUMS)[0](node, rng, scores)


def retuned(node: Node, rng: random.Random) -> Node:
    """Each constant moved a little with even chance; at least the tree comes back."""
    args: list[Node | float] = []
    for arg in node.args:
        if isinstance(arg, Node):
            args.append(retuned(arg, rng))
        else:
            args.append(tidy_constant(arg * rng.lognormvariate(0, 0.3)) if rng.random() < 0.5 else arg)
    return Node(node.op, tuple(args))


def _regrown(node: Node, rng: random.Random, scores: bool) -> Node:
    at, old = rng.choice(list(paths(node)))
    return replaced(node, at, random_tree(type_of(old), rng.randint(1, 3), rng, scores=scores))


def _repointed(node: Node, rng: random.Random, scores: bool) -> Node:
    at, old = rng.choice(list(paths(node)))
    if old.op in TERMINALS:
        return replaced(node, at, random_tree(type_of(old), 0, rng, scores=scores))
    children = tuple(child for child in old.args if isinstance(child, Node))
    kinds, result = tuple(type_of(child) for child in children), type_of(old)
    others = [name for name in _taking(kinds, result) if name != old.op]
    if not others:
        return _regrown(node, rng, scores)
    name = rng.choices(others, [OPS[other].weight for other in others])[0]
    return replaced(node, at, Node(name, (*children, *random_constants(name, rng))))


def _hoisted(node: Node, rng: random.Random, scores: bool) -> Node:
    at, old = rng.choice(list(paths(node)))
    inner = [child for place, child in paths(old) if place and type_of(child) is type_of(old)]
    return replaced(node, at, rng.choice(inner)) if inner else _regrown(node, rng, scores)


def _wrapped(node: Node, rng: random.Random, scores: bool) -> Node:
    at, old = rng.choice(list(paths(node)))
    kind = type_of(old)
    choices = [choice for choice in _choices(kind) if kind in choice.signature[0]]
    if not choices:
        return _regrown(node, rng, scores)
    chosen = rng.choices(choices, [choice.weight for choice in choices])[0]
    taken = chosen.signature[0]
    mine = rng.choice([place for place, one in enumerate(taken) if one is kind])
    children = [old if place == mine else random_tree(one, 2, rng, scores=scores) for place, one in enumerate(taken)]
    return replaced(node, at, Node(chosen.op, (*children, *random_constants(chosen.op, rng))))


def _retuned(node: Node, rng: random.Random, scores: bool) -> Node:
    moved = retuned(node, rng)
    return moved if moved != node else _repointed(node, rng, scores)


_MUTATIONS = (_regrown, _repointed, _hoisted, _wrapped, _retuned)
_SUMS = tuple(accumulate((3, 3, 2, 3, 3)))


@cache
def _taking(kinds: tuple[Type, ...], result: Type) -> tuple[str, ...]:
    """The operations that make a tree of type `result` from trees of these types."""
    return tuple(name for name in OPS if op_type(name, kinds) is result)


class _Options(NamedTuple):
    leaves: tuple[str, ...]
    choices: tuple[_Choice, ...]
    weights: tuple[float, ...]


@cache
def _options(kind: Type, depth: int, scores: bool) -> _Options:
    """What a tree of this type and depth may start with; weights are cumulative."""
    leaves = [
        name
        for name, leaf in TERMINALS.items()
        if leaf.type is kind and (leaf.definition or (scores and name == "solution_scores"))
    ]
    choices = [choice for choice in _choices(kind) if choice.depth <= max(depth, _least(kind))]
    return _Options(tuple(leaves), tuple(choices), tuple(accumulate(choice.weight for choice in choices)))


@cache
def _choices(kind: Type) -> tuple[_Choice, ...]:
    """Every way to make a tree of this type by an operation, with the least depth it takes."""
    return tuple(
        _Choice(name, signature, op.weight, 1 + max(_least(taken) for taken in signature[0]))
        for name, op in OPS.items()
        for signature in op.signatures
        if signature[1] is kind
    )


@cache
def _least(kind: Type) -> int:
    """The least number of operations on the way from a tree of this type to a terminal."""
    known = {leaf.type: 0 for leaf in TERMINALS.values()}
    while kind not in known:
        for op in OPS.values():
            for taken, result in op.signatures:
                if all(one in known for one in taken):
                    known.setdefault(result, 1 + max(known[one] for one in taken))
    return known[kind]
