"""What models are asked on the way to an environment: drafts, judgements, a revision, reviews, solvers, verifiers.

The prompts are files in `prompts/`, our own words for what ReSyn (section 2.2) and EvoEnv (section 3.2) ask; `angle`,
solvers and verifiers are ours. Untrusted text stands between fences that it cannot close. Nothing is asked here.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from evosyn.chat import Message, Request
from evosyn.environments import bundled
from evosyn.environments.contract import CATEGORIES, IMPORTS, LEVELS
from evosyn.environments.ladder import Climb
from evosyn.parsing import parsed
from evosyn.records import Json, Problem, canonical_json
from evosyn.templates import render

HERE = "evosyn.environments"
DRAFT, JUDGE_CODE, JUDGE_QUESTIONS, REVISION = "environment", "judge-code", "judge-questions", "revision"
REVIEW, SOLVER, VERIFIER = "review", "solver", "verifier"
PURPOSES = (DRAFT, JUDGE_CODE, JUDGE_QUESTIONS, REVISION, REVIEW, SOLVER, VERIFIER)
EXAMPLE = "colouring"
ANGLES = (
    "find one of several right answers that keep to rules",
    "compute what a known algorithm computes",
    "follow a procedure step by step and say where it ends",
    "find the best of many possibilities",
    "count the possibilities that keep to rules",
    "reconstruct what was hidden from the clues that are left",
    "say whether something is possible, and prove it by an example or a fault",
    "combine two simple tasks, the answer of one being what the other works on",
)
"""Drafts of one keyword differ in these, in turn (ours)."""
SHOWN = 400
"""Characters of an instance, reference or answer that a reviewer is shown at most, times ten."""


class ShownInstance(NamedTuple):
    """One instance as judges, reviewers and solvers see it; solvers see the question alone."""

    level: int
    question: str
    instance: Json
    reference: Json
    answer: str


def fenced(text: str, language: str = "") -> str:
    """A block that nothing in the text can close."""
    longest = max((len(run) for run in re.findall("`+", text)), default=0)
    ticks = "`" * max(4, longest + 1)
    return f"{ticks}{language}\n{text.rstrip()}\n{ticks}"


def keyword_request(keyword: str, draw: int, params: Mapping[str, Json]) -> Request:
    """A draft about a keyword, ReSyn's way."""
    angle = ANGLES[draw % len(ANGLES)]
    text = render(HERE, "prompts/draft_keyword.md", keyword=keyword, angle=angle, contract=contract_text())
    return _request(text, DRAFT, params)


def shown_request(shown: Sequence[str], category: str, params: Mapping[str, Json]) -> Request:
    """A draft beside environments that exist, EvoEnv's way."""
    blocks = "\n\n".join(fenced(one, "python") for one in shown)
    text = render(HERE, "prompts/draft_shown.md", shown=blocks, category=category, contract=contract_text())
    return _request(text, DRAFT, params)


def judge_code_request(climb: Climb, source: str, params: Mapping[str, Json], sizes: Sequence[int]) -> Request:
    blanks = {"source": fenced(source, "python"), "sizes": ", ".join(map(str, sizes)), "probes": _probes(climb)}
    return _request(render(HERE, "prompts/judge_code.md", **blanks), JUDGE_CODE, params)


def judge_questions_request(instances: Sequence[ShownInstance], params: Mapping[str, Json]) -> Request:
    text = render(HERE, "prompts/judge_questions.md", questions=_questions(instances))
    return _request(text, JUDGE_QUESTIONS, params)


def revision_request(source: str, issues: Sequence[str], params: Mapping[str, Json]) -> Request:
    found = fenced("\n".join(f"- {one}" for one in issues))
    text = render(HERE, "prompts/revise.md", source=fenced(source, "python"), issues=found, contract=contract_text())
    return _request(text, REVISION, params)


def review_request(
    climb: Climb, source: str, instances: Sequence[ShownInstance], flags: Sequence[str], params: Mapping[str, Json]
) -> Request:
    shown = "\n\n".join(
        f"Level {one.level}\n{fenced(one.question)}\nreference: {_cut(canonical_json(one.reference))}\n"
        f"its solver answers: {_cut(json.dumps(one.answer, ensure_ascii=False))}"
        for one in instances
    )
    blanks = {"source": fenced(source, "python"), "instances": shown, "probes": _probes(climb)}
    told = f" Look at these too: {', '.join(flags)}." if flags else ""
    return _request(render(HERE, "prompts/review.md", **blanks, flags=told), REVIEW, params)


def solver_request(instances: Sequence[ShownInstance], params: Mapping[str, Json]) -> Request:
    text = render(HERE, "prompts/solver.md", questions=_questions(instances))
    return _request(text, SOLVER, params)


def verifier_request(source: str, instances: Sequence[ShownInstance], params: Mapping[str, Json]) -> Request:
    blanks = {"source": fenced(without_checks(source), "python"), "questions": _questions(instances)}
    return _request(render(HERE, "prompts/verifier.md", **blanks, imports=_imports()), VERIFIER, params)


def without_checks(source: str) -> str:
    """A program without `solve` and `verify`, and without what only these use."""
    tree = parsed(source)
    kept = [node for node in tree.body if getattr(node, "name", "") not in ("solve", "verify")]
    while True:
        used = {one.id for node in kept for one in ast.walk(node) if isinstance(one, ast.Name)}
        names = {"generate", "observe"} | used
        fewer = [one for one in kept if not isinstance(one, ast.FunctionDef) or one.name in names]
        if len(fewer) == len(kept):
            return ast.unparse(ast.Module(kept, []))
        kept = fewer


def about(name: str, brief: Mapping[str, Json], source: str | None = None) -> Problem:
    """What a request is about: never shown to a model; for the names of letters."""
    return Problem(name, HERE.rpartition(".")[2].removesuffix("s"), "", reference_solution=source, meta=brief)


def _request(text: str, purpose: str, params: Mapping[str, Json]) -> Request:
    return Request((Message("user", text),), purpose, params)


def contract_text() -> str:
    """The contract of an environment, for whoever writes one."""
    example = bundled("known")[EXAMPLE].read_text(encoding="utf-8").strip()
    return render(
        HERE, "prompts/contract.md", example=example, categories=", ".join(CATEGORIES), imports=_imports()
    ).strip()


def _imports() -> str:
    return ", ".join(sorted(IMPORTS - {"__future__"}))


def _questions(instances: Sequence[ShownInstance]) -> str:
    return "\n\n".join(f"Level {one.level} of {LEVELS}\n{fenced(one.question)}" for one in instances)


def _probes(climb: Climb) -> str:
    """What L5 measured, but for the single texts."""
    shares = {name: share for name, share in climb.figures.items() if not name.startswith("fixed:")}
    return ", ".join(f"{name} {share:.2f}" for name, share in sorted(shares.items())) or "nothing"


def _cut(text: str) -> str:
    return text if len(text) <= 10 * SHOWN else f"{text[: 10 * SHOWN]} ..."
