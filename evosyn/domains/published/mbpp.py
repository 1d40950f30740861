"""MBPP and sanitized MBPP: text or prompt, code, test_list of asserts. Austin 2021 (MBPP).

The statement names no function, so the starter code shows the one that the asserts call, as the reference defines it.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping

from evosyn.domains.published._rows import NotUsable, body_of, line_of, text_of
from evosyn.records import Json


def convert(row: Mapping[str, Json]) -> dict[str, Json]:
    """A line of a pool.

    Raises:
        NotUsable: with the reason.
    """
    asserts = row.get("test_list")
    if not isinstance(asserts, list) or not asserts or not all(isinstance(one, str) for one in asserts):
        raise NotUsable("no-tests: test_list must be a list of asserts")
    if str(row.get("test_setup_code") or "").strip():
        raise NotUsable("needs-setup: test_setup_code uses objects of the solution, which testings cannot hold")
    code = text_of(row, "code").replace("\r\n", "\n")
    function = _called(asserts, code)
    imports = [str(one) for one in row.get("test_imports") or ()]
    head = "".join(f"{one}\n" for one in imports) + ("\n\n" if imports else "")
    return line_of(
        str(row.get("task_id") or ""),
        "python-function",
        text_of(row, "prompt", "text").strip() + "\n",
        {"kind": "asserts", "asserts": asserts},
        entry_point=function.name,
        starter_code=f"{head}def {function.name}({ast.unparse(function.args)}):\n    pass\n",
        reference_solution=code.rstrip("\n") + "\n",
    )


def _called(asserts: list[str], code: str) -> ast.FunctionDef:
    """The function of the reference that every assert calls.

    Raises:
        NotUsable: there is none.
    """
    defined = {node.name: node for node in body_of(code) if isinstance(node, ast.FunctionDef)}
    calls = [set(_functions(text)) for text in asserts]
    for name, node in reversed(defined.items()):
        if all(name in called for called in calls):
            return node
    raise NotUsable("no-function: no function of the reference is called by every assert")


def _functions(text: str) -> Iterator[str]:
    """The names that a statement calls."""
    for statement in body_of(text):
        for node in ast.walk(statement):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                yield node.func.id
