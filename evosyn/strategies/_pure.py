"""Programs that can be seen, without running them, to share nothing with a program that runs after them.

Sent to the sandbox as text beside `_harness`, which ranks such programs one after the other in one process; every other
program gets a process of its own. The list is of what is allowed: plain functions over numpy arrays, with no name,
attribute or statement through which a module, a class or another program's data could be changed. It is not the
protection of the machine, which is the sandbox either way. DESIGN.md section 5, "Strategy".
"""

from __future__ import annotations

import ast

NODES = (
    *(ast.Module, ast.FunctionDef, ast.arguments, ast.arg, ast.Return, ast.Assign, ast.AugAssign, ast.For, ast.If),
    *(ast.Expr, ast.Pass, ast.Break, ast.Continue, ast.Import, ast.alias, ast.Lambda, ast.IfExp, ast.BoolOp),
    *(ast.BinOp, ast.UnaryOp, ast.Compare, ast.Call, ast.keyword, ast.Constant, ast.Attribute, ast.Subscript),
    *(ast.Slice, ast.Starred, ast.Name, ast.List, ast.Tuple, ast.Dict, ast.ListComp, ast.DictComp, ast.GeneratorExp),
    *(ast.comprehension, ast.expr_context, ast.operator, ast.unaryop, ast.boolop, ast.cmpop),
)
MODULES = frozenset({"numpy", "math"})
EVIDENCE = (
    *("passed", "known", "cases", "durations", "copies", "solution_groups", "testing_groups", "solution_texts"),
    "testing_texts",
)
NUMPY = (
    *("abs", "absolute", "add", "all", "allclose", "any", "arange", "arctan", "argmax", "argmin", "argsort", "array"),
    *("array_equal", "asarray", "atleast_1d", "atleast_2d", "average", "bincount", "bool_", "broadcast_to", "ceil"),
    *("clip", "column_stack", "concatenate", "copy", "corrcoef", "cos", "count_nonzero", "cov", "cumprod", "cumsum"),
    *("diag", "diff", "digitize", "divide", "dot", "e", "einsum", "equal", "exp", "expand_dims", "expm1", "eye"),
    *("fill_diagonal", "flatnonzero", "flip", "float64", "floor", "full", "full_like", "histogram", "hstack"),
    *("identity", "inf", "inner", "int64", "interp", "isclose", "isfinite", "isin", "isinf", "isnan", "less"),
    *("lexsort", "linalg", "linspace", "log", "log10", "log1p", "log2", "logical_and", "logical_not", "logical_or"),
    *("logical_xor", "matmul", "max", "maximum", "mean", "median", "meshgrid", "min", "minimum", "multiply", "nan"),
    *("nan_to_num", "nanmax", "nanmean", "nanmin", "nanstd", "nansum", "ndarray", "ndim", "negative", "newaxis"),
    *("nonzero", "norm", "not_equal", "ones", "ones_like", "outer", "percentile", "pi", "power", "prod", "quantile"),
    *("ravel", "repeat", "reshape", "round", "searchsorted", "shape", "sign", "sin", "size", "sort", "sqrt", "square"),
    *("stack", "std", "subtract", "sum", "swapaxes", "take", "take_along_axis", "tanh", "tile", "trace", "transpose"),
    *("tri", "tril", "triu", "true_divide", "union1d", "unique", "var", "vstack", "where", "zeros", "zeros_like"),
)
METHODS = (
    *("T", "append", "astype", "count", "cumprod", "cumsum", "dtype", "extend", "flatten", "get", "index", "insert"),
    *("item", "items", "keys", "lower", "partition", "pop", "setdefault", "split", "splitlines", "squeeze"),
    *("startswith", "endswith", "strip", "tolist", "update", "values", "fsum", "hypot", "isqrt", "comb", "erf"),
)
ATTRIBUTES = frozenset({*EVIDENCE, *NUMPY, *METHODS})
BUILTINS = frozenset(
    (
        *("abs", "all", "any", "bool", "dict", "divmod", "enumerate", "float", "int", "len", "list", "map", "max"),
        *("min", "pow", "range", "reversed", "round", "sorted", "str", "sum", "tuple", "zip"),
    )
)


def is_pure(tree: ast.Module, builtin_names: frozenset[str]) -> bool:
    """Whether every part of the program is on the list.

    Args:
        builtin_names: all names that Python itself provides.
    """
    return all(_allowed(node, builtin_names) for node in ast.walk(tree))


def _allowed(node: ast.AST, builtin_names: frozenset[str]) -> bool:
    if not isinstance(node, NODES):
        return False
    if isinstance(node, ast.Name):
        return not node.id.startswith("__") and (node.id not in builtin_names or node.id in BUILTINS)
    if isinstance(node, ast.Attribute):
        return node.attr in ATTRIBUTES and isinstance(node.ctx, ast.Load)
    if isinstance(node, ast.Import):
        return all(alias.name in MODULES for alias in node.names)
    if isinstance(node, ast.FunctionDef):
        return not node.decorator_list and not node.name.startswith("__")
    return True
