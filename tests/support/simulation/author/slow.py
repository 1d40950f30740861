"""Right but slow variants of a program: each outer loop recounts what it runs over, once a round."""

from __future__ import annotations

import ast

from evosyn.parsing import parsed


def slow_variants(source: str) -> list[str]:
    """At most one variant of `source` that does quadratic work; none where no loop allows it."""
    tree = parsed(source)
    loops = [node for node in ast.walk(tree) if isinstance(node, ast.For) and _recountable(node.iter)]
    if not loops:
        return []
    taken = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    name = next(name for name in ("total_rounds", "rounds_in_all", "rounds_counted_again") if name not in taken)
    loop = loops[0]
    counted = ast.GeneratorExp(ast.Constant(1), [ast.comprehension(ast.Name("_", ast.Store()), loop.iter, [], 0)])
    loop.body.insert(
        0, ast.Assign([ast.Name(name, ast.Store())], ast.Call(ast.Name("sum", ast.Load()), [counted], []), lineno=0)
    )
    return [ast.unparse(ast.fix_missing_locations(tree))]


def _recountable(node: ast.expr) -> bool:
    """Running over it twice is harmless: a name, or a range of names and numbers."""
    if isinstance(node, ast.Name):
        return True
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name) or node.func.id != "range":
        return False
    return all(not isinstance(part, ast.Call) or _is_len(part) for arg in node.args for part in ast.walk(arg))


def _is_len(node: ast.Call) -> bool:
    return isinstance(node.func, ast.Name) and node.func.id == "len"
