"""Programs in the forms of the two papers, wrapped into the text contract by source.

EvoEnv (section 3.1): a class with `_generate(seed, difficulty)`, `_prompt_generate`, `_process` and `scorer`. ReSyn
(section 2.2): functions `rho0(d, n)`, `O(s)` and `R(s, a)`; the paper has no reference answer, and L5 needs one, so a
`solve(s)` must stand beside them (ours). `CATEGORY` and `KIND` are the author's in either form. Nothing is run here;
what comes out goes through the same screen and ladder as everything else.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping

from evosyn.parsing import parsed

BASE = "VerifiableEnvironment"
_EVOENV = frozenset({"_generate", "_prompt_generate", "_process", "scorer"})
_RESYN = frozenset({"rho0", "O", "R"})
_HEAD = """LEVELS = 5
KNOBS = {"difficulty": (1, 2, 3, 4, 5)}
"""
_CLASS_FORM = """

def _opened(instance):
    made = %(name)s()
    return made, made._generate(instance["seed"], instance["difficulty"])


def _question(instance):
    made, returned = _opened(instance)
    return made._prompt_generate(%(shown)s)


def generate(rng, knobs):
    instance = {"seed": rng.getrandbits(63), "difficulty": knobs["difficulty"]}
    return {**instance, "question": _question(instance)}, None


def observe(instance):
    return instance["question"]


def verify(instance, reference, answer):
    made, returned = _opened(instance)
    return made.scorer(made._process(answer)%(compared)s)


def solve(instance):
    made, returned = _opened(instance)
    right = %(reference)s
    return " ".join(map(str, right)) if isinstance(right, (list, tuple)) else str(right)
"""
_FUNCTION_FORM = """

import random as _seeded


def generate(rng, knobs):
    _seeded.seed(rng.getrandbits(63))
    state = rho0(knobs["difficulty"], 1)[0]
    return {"question": O(state)}, [_solution(state), state]


def observe(instance):
    return instance["question"]


def verify(instance, reference, answer):
    return R(reference[1], answer)
"""


def to_contract(source: str) -> str:
    """The program in the contract's form; any other text as it is, also one that cannot be written again."""
    try:
        return _wrapped(parsed(source)) or source
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        return source


def _wrapped(tree: ast.Module) -> str | None:
    """
    Raises:
        ValueError, RecursionError: the program holds an integer, or is nested, beyond what can be written.
    """
    for node in tree.body:
        if isinstance(node, ast.ClassDef) and set(_methods(node)) >= _EVOENV:
            return _text(tree) + _CLASS_FORM % _blanks(node)
    functions = {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
    if functions >= _RESYN and "solve" in functions and "generate" not in functions:
        return _text(Renaming({"solve": "_solution"}).visit(tree)) + _FUNCTION_FORM
    return None


def _methods(node: ast.ClassDef) -> dict[str, ast.FunctionDef]:
    return {one.name: one for one in node.body if isinstance(one, ast.FunctionDef)}


def _blanks(node: ast.ClassDef) -> dict[str, str]:
    """How the methods of a class are called: with the instance and the reference where they take them, which
    `_generate` returns or keeps."""
    methods = _methods(node)
    kept = [one for one in ast.walk(node) if isinstance(one, ast.Attribute) and isinstance(one.ctx, ast.Store)]
    names = [one.attr for one in kept if one.attr in ("reference_answer", "reference")]
    stored = [one for one in ast.walk(node) if isinstance(one, ast.Subscript) and isinstance(one.ctx, ast.Store)]
    by_key = [one for one in stored if isinstance(one.slice, ast.Constant) and one.slice.value == "reference_answer"]
    held = f"made.{names[0]}" if names else ast.unparse(by_key[0]).replace("self.", "made.", 1) if by_key else ""
    return {
        "name": node.name,
        "shown": "returned[0]" if len(methods["_prompt_generate"].args.args) > 1 else "",
        "compared": ", returned[1]" if len(methods["scorer"].args.args) > 2 else "",
        "reference": held or "returned[1]",
    }


def _text(tree: ast.Module) -> str:
    """The program with the settings of the contract and the base class, whose import is dropped."""
    docstring = tree.body[:1] if ast.get_docstring(tree) is not None else []
    kept = [node for node in tree.body[len(docstring) :] if not _imports_base(node)]
    future = [node for node in kept if isinstance(node, ast.ImportFrom) and node.module == "__future__"]
    rest = [node for node in kept if node not in future]
    settings = parsed(_HEAD + (f"class {BASE}:\n    pass\n" if BASE not in _defined(rest) else "")).body
    return ast.unparse(ast.Module([*docstring, *future, *settings, *rest], []))


def _imports_base(node: ast.stmt) -> bool:
    return isinstance(node, ast.ImportFrom) and any(alias.name == BASE for alias in node.names)


def _defined(body: list[ast.stmt]) -> set[str]:
    return {node.name for node in body if isinstance(node, ast.ClassDef)}


class Renaming(ast.NodeTransformer):
    """Gives functions, classes and values of a module other names, wherever they are read."""

    def __init__(self, names: Mapping[str, str]) -> None:
        self._names = names

    def visit_Name(self, node: ast.Name) -> ast.Name:
        return ast.Name(self._names.get(node.id, node.id), node.ctx)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        node.name = self._names.get(node.name, node.name)
        return self.generic_visit(node)

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        node.name = self._names.get(node.name, node.name)
        return self.generic_visit(node)
