"""Whether a plain value can be what a signature says of a parameter. Annotations are hints, so it is generous: what it
does not know fits, an integer is a float, and lists stand for tuples and sets, which JSON cannot say."""

from __future__ import annotations

import ast

from evosyn.domains.python.shapes import is_generator
from evosyn.parsing import tree_or_none
from evosyn.records import Json

_PLAIN: dict[str, tuple[type, ...]] = {
    "int": (int,),
    "float": (int, float),
    "complex": (int, float, complex),
    "str": (str,),
    "bool": (bool,),
    "bytes": (bytes,),
    "None": (type(None),),
}
_LISTED = ("list", "tuple", "set", "frozenset")
_ITEMS = (list, tuple, set, frozenset)
_UNIONS = ("optional", "union")


def fits(value: Json, wanted: ast.expr | None) -> bool:
    """Whether a value is of the type that an annotation names, as far as that is plain."""
    if is_generator(value):
        return True
    match wanted:
        case ast.Constant(value=None):
            return value is None
        case ast.Constant(value=str(text)):
            tree = tree_or_none(text)
            return len(tree.body) != 1 or fits(value, getattr(tree.body[0], "value", None)) if tree else True
        case ast.BinOp(left=left, op=ast.BitOr(), right=right):
            return fits(value, left) or fits(value, right)
        case ast.Name() | ast.Attribute():
            return _is(value, _name(wanted))
        case ast.Subscript(value=kind, slice=inside):
            return _of(value, _name(kind), inside.elts if isinstance(inside, ast.Tuple) else [inside])
    return True


def _is(value: Json, name: str) -> bool:
    if name in _PLAIN:
        return isinstance(value, _PLAIN[name])
    if name.lower() in _LISTED:
        return isinstance(value, _ITEMS)
    return isinstance(value, dict) if name.lower() == "dict" else True


def _of(value: Json, name: str, inside: list[ast.expr]) -> bool:
    """Whether a value is of a type with parameters."""
    kind = name.lower()
    if kind in _UNIONS:
        return (kind == "optional" and value is None) or any(fits(value, one) for one in inside)
    if not _is(value, name):
        return False
    if kind == "tuple" and not (len(inside) == 2 and isinstance(inside[1], ast.Constant) and inside[1].value is ...):
        return len(value) == len(inside) and all(map(fits, value, inside))
    if kind in _LISTED:
        return all(fits(one, inside[0]) for one in value)
    if kind == "dict" and len(inside) == 2:  # the names of an object are texts, whatever they stand for
        return all(
            (isinstance(key, str) or fits(key, inside[0])) and fits(one, inside[1]) for key, one in value.items()
        )
    return True


def _name(node: ast.expr) -> str:
    """The last part of a name: `typing.List` is `List`."""
    return node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""
