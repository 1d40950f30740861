"""Novelty: whether an environment repeats an earlier one, seen from its questions and from its code.

Two views (EvoEnv, section 3.2: prompt and generator body). The paper embeds them with a sentence model; the vectors
here are those of `evosyn.textual`, need no model and have a threshold of their own. As there, the same code under
another story is not caught by the mixture of both. docs/environments.md.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from evosyn.environments.contract import Environment
from evosyn.parsing import parsed
from evosyn.program_identity import program_key
from evosyn.textual import unit_vectors

GATE = 0.9
"""Similarities from there on are near-duplicates; measured for the vectors of `evosyn.textual`."""
MIX = 0.5
"""Share of the view of questions in the similarity."""
SETTINGS = frozenset({"CATEGORY", "KIND", "LEVELS", "KNOBS"})


class Repeat(NamedTuple):
    """The earlier environment that is most similar: its id, the similarities of both views, and whether it counts."""

    of: str
    prompt: float
    code: float
    reason: str

    @property
    def similarity(self) -> float:
        return MIX * self.prompt + (1 - MIX) * self.code


class NoveltyPool:
    """Environments seen so far. `nearest` asks, `add` remembers."""

    def __init__(self) -> None:
        self._ids: list[str] = []
        self._programs: dict[str | None, str] = {}
        self._prompts: list[NDArray[np.float32]] = []
        self._codes: list[NDArray[np.float32]] = []

    def nearest(self, environment: Environment, prompts: Sequence[str]) -> Repeat | None:
        """What it is most similar to; its reason is `same-program`, `near-duplicate`, or "" where it is new. None while
        the pool is empty.

        Args:
            prompts: questions of it, at the same levels for all environments.
        """
        if not self._ids:
            return None
        same = self._programs.get(program_key(environment.source))
        if same is not None:
            return Repeat(same, 1.0, 1.0, "same-program")
        prompt, code = views(environment, prompts)
        prompts_E, codes_E = np.stack(self._prompts) @ prompt, np.stack(self._codes) @ code
        best = int(np.argmax(MIX * prompts_E + (1 - MIX) * codes_E))
        found = Repeat(self._ids[best], float(prompts_E[best]), float(codes_E[best]), "")
        return found._replace(reason="near-duplicate" if found.similarity >= GATE else "")

    def add(self, environment: Environment, prompts: Sequence[str]) -> None:
        prompt, code = views(environment, prompts)
        self._ids.append(environment.id)
        self._programs.setdefault(program_key(environment.source), environment.id)
        self._prompts.append(prompt)
        self._codes.append(code)


def views(environment: Environment, prompts: Sequence[str]) -> NDArray[np.float32]:
    """Unit vectors of its questions without numbers and of its code."""
    question = re.sub(r"\d+", "", " ".join(prompts))
    return unit_vectors([question, code_view(environment.source)])


def code_view(source: str) -> str:
    """A program without what can be changed and leaves it the same: names, literals, settings."""
    tree = parsed(source)
    kept = [node for node in tree.body if not isinstance(node, ast.Expr) and not _sets(node)]
    return ast.unparse(ast.fix_missing_locations(_Nameless().visit(ast.Module(kept, []))))


def _sets(node: ast.stmt) -> bool:
    names = node.targets if isinstance(node, ast.Assign) else []
    return any(isinstance(name, ast.Name) and name.id in SETTINGS for name in names)


class _Nameless(ast.NodeTransformer):
    def visit_Name(self, node: ast.Name) -> ast.Name:
        return ast.Name("v", node.ctx)

    def visit_arg(self, node: ast.arg) -> ast.arg:  # noqa: ARG002
        return ast.arg("v")

    def visit_Constant(self, node: ast.Constant) -> ast.Constant:
        return ast.Constant("" if isinstance(node.value, str) else 0)

    def visit_JoinedStr(self, node: ast.JoinedStr) -> ast.Constant:  # noqa: ARG002
        return ast.Constant("")

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        node.name = "f"
        return self.generic_visit(node)
