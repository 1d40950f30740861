"""Environments as the simulated author writes them: a bundled family in another story, with a twist, maybe a defect.

A draft is a pure function of the seed tree, and its truth (family, twists, defect) never stands in its text. Its
questions also give the instance as JSON, so that the simulated solver's programs read the question and nothing else.
What no ladder can see is drawn too: a question that tells of another twist than the program applies, or of none, and a
solver with a mistake whose verifier asks for just its answers.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from evosyn.environments import bundled
from evosyn.parsing import parsed
from evosyn.randomness import SeedTree
from simulation.author.mutate import mutants
from simulation.environments.defects import DEFECTS

SEEN = {"wrong-reference": 0.06, "relabelled": 0.05, "rule-missing": 0.05, "copy": 0.06, "near-copy": 0.05}
"""Weights of what is wrong with a draft, beside the classes of `MECHANICAL`; copies are of bundled ones."""
MECHANICAL = {
    "contract": 0.12, "random": 0.08, "crash": 0.1, "permissive": 0.14, "strict": 0.04, "leak": 0.04,
    "trivial": 0.08, "level": 0.05, "magic": 0.01, "value": 0.03,
}  # fmt: skip
JSON_MARK = "The same as JSON: "
STORIES = (
    "At the night desk of a harbour office lies this note, and the morning shift must settle it before the ferry.",
    "In the archive of a small observatory a card was found with the following task on it, written by a patient hand.",
    "A travelling theatre keeps its stage machinery in order with puzzles like the one below; nobody may guess.",
    "The bees of an imaginary meadow agreed on a rule long ago, and the keeper wants to know what comes of it today.",
    "For the winter fair of the guild of clock makers each apprentice gets one sheet, and this one is yours.",
    "An old radio operator repeats the same message every evening; once it is understood, only work remains.",
    "The library of the mountain village lends a book only to whom can answer what stands inside its cover.",
    "Two robots in a warehouse dispute about the case below, and you are asked to say what is right.",
)
TWISTS = {
    "plain": ("", "return plain_solve(instance)", "return plain_verify(instance, reference, answer)"),
    "twice": (
        " Write your whole answer twice, with ' / ' between.",
        "found = plain_solve(instance)\nreturn found + ' / ' + found",
        "one, _, other = answer.strip().partition(' / ')\n"
        "return one == other and bool(plain_verify(instance, reference, one))",
    ),
    "marked": (
        " Put the sign # directly before each word of your answer.",
        "return ' '.join('#' + word for word in plain_solve(instance).split())",
        "words = answer.split()\nwhole = all(word.startswith('#') for word in words)\n"
        "return whole and bool(plain_verify(instance, reference, ' '.join(word[1:] for word in words)))",
    ),
    "counted": (
        " Behind your answer write its number of characters in brackets, as in: 17 (2)",
        "found = plain_solve(instance)\nreturn f'{found} ({len(found)})'",
        "text, _, tail = answer.strip().rpartition(' ')\n"
        "return tail == f'({len(text)})' and bool(plain_verify(instance, reference, text))",
    ),
}
"""For each what the question tells of it, and how `solve` and `verify` go on from those of the family."""
ONLY_ITS_OWN = "return answer.strip() == solve(instance)"
POPULAR = 6
"""Mistakes in the solver of a family that authors and solvers share; the first is the most popular."""

ANSWERING = frozenset(
    {
        *("dropped-key", "wrong-branch", "early-return", "dropped-call", "sort-direction", "negated-comparison"),
        *("dropped-operand", "loosened-equality", "reversed-comparison", "dropped-else", "arithmetic"),
        *("unconditional", "dropped-statement", "negated-condition", "dedented"),
    }
)
"""Kinds of mistakes of which most leave a solver that answers, wrongly (counted over the families)."""


class EnvironmentDraft(NamedTuple):
    """A program and what is true of it.

    Attributes:
        sound: the same program without its defect.
        told, done: the twist that the question tells of, and the one that the program applies.
        defect: its class, "" for none; `name` where that has several.
    """

    source: str
    sound: str
    family: str
    told: str
    done: str
    defect: str = ""
    name: str = ""


def draw_draft(tree: SeedTree, families: Sequence[str], sound: float) -> EnvironmentDraft:
    """A draft about one of these families; `sound` is the share without a defect."""
    rng = tree.random()
    family = rng.choice(list(families))
    told, story = rng.choice(list(TWISTS)), rng.choice(STORIES)
    base = written(family, story, told, told)
    whole = EnvironmentDraft(base, base, family, told, told)
    if rng.random() < sound:
        return whole
    weights = {**SEEN, **MECHANICAL}
    defect = rng.choices(list(weights), list(weights.values()))[0]
    other = rng.choice([one for one in TWISTS if one not in (told, "plain")])
    if defect == "copy":
        return whole._replace(source=known_source(family), defect=defect)
    if defect == "near-copy":
        return whole._replace(
            source=re.sub(r"\b(knobs|instance|answer)\b(?!['\"])", r"my_\1", known_source(family)), defect=defect
        )
    if defect == "wrong-reference":
        made = wrong_reference(family, story, told, popular(tree, family, rng.random()))
        return whole._replace(source=made, defect=defect)
    if defect == "relabelled":
        return whole._replace(source=written(family, story, told, other), done=other, defect=defect)
    if defect == "rule-missing":
        made, right = written(family, story, "plain", other), written(family, story, other, other)
        return EnvironmentDraft(made, right, family, "plain", other, defect)
    chosen = rng.choice([one for one in DEFECTS if one.kind == defect])
    return whole._replace(source=chosen.change(base), defect=defect, name=chosen.name)


@lru_cache(maxsize=64)
def known_source(family: str) -> str:
    return bundled("known")[family].read_text(encoding="utf-8")


def written(family: str, story: str, told: str, done: str, text: str | None = None) -> str:
    """A family in a story, whose question tells of one twist while the program applies one."""
    source = known_source(family) if text is None else text
    for name in ("observe", "solve", "verify"):
        source = re.sub(rf"\b{name}\(", f"plain_{name}(", source)
    (rule, _, _), (_, solve, verify) = TWISTS[told], TWISTS[done]
    question = f"return {story!r} + ' ' + plain_observe(instance) + {rule!r} + '\\n\\n' + {JSON_MARK!r} + shown"
    parts = {
        "observe(instance)": f"shown = as_json.dumps(instance, sort_keys=True)\n{question}",
        "solve(instance)": solve,
        "verify(instance, reference, answer)": verify,
    }
    head = re.sub(r'^"""(.*?)\.?"""', rf'"""\1: SIMULATED {STORIES.index(story) + 1}, {told}."""', source, count=1)
    functions = [f"def {name}:\n{_indented(body)}\n" for name, body in parts.items()]
    return "\n\n".join([f"{head.rstrip()}\n\nimport json as as_json\n", *functions])


def wrong_reference(family: str, story: str, twist: str, part: str) -> str:
    """The family with these functions in place of its own, and a verifier that asks for what its solver says."""
    new = {node.name: node for node in parsed(part).body if isinstance(node, ast.FunctionDef)}
    tree = parsed(known_source(family))
    body = [new.get(node.name, node) if isinstance(node, ast.FunctionDef) else node for node in tree.body]
    made = written(family, story, twist, twist, ast.unparse(ast.Module(body, [])))
    head, _, _ = made.rpartition("\n\ndef verify(")
    return f"{head}\n\ndef verify(instance, reference, answer):\n{_indented(ONLY_ITS_OWN)}\n"


def solver_part(family: str) -> str:
    """The functions of a family that its solver needs."""
    return plain_part(family, ("solve",))


def plain_part(family: str, entries: Sequence[str] = ("solve", "verify")) -> str:
    """The functions of a family that these need."""
    tree = parsed(known_source(family))
    functions = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}
    wanted, names = list(entries), set[str]()
    while wanted:
        name = wanted.pop()
        if name in functions and name not in names:
            names.add(name)
            wanted += [one.id for one in ast.walk(functions[name]) if isinstance(one, ast.Name)]
    settings = {"CATEGORY", "KIND", "LEVELS", "KNOBS"}
    body = [
        node
        for node in tree.body[1:]
        if (node.name in names if isinstance(node, ast.FunctionDef) else not (_bound(node) & settings))
    ]
    return ast.unparse(ast.Module(body, [])) + "\n"


def popular(tree: SeedTree, family: str, drawn: float) -> str:
    """The solver of a family with one of its popular mistakes; `drawn` in [0, 1) says which."""
    rng = SeedTree(tree.root).child("popular", family).random()
    found = _mistakes(family, rng.randrange(2**32))
    return found[int(len(found) * drawn**2)]


@lru_cache(maxsize=64)
def _mistakes(family: str, seed: int) -> list[str]:
    import random

    found = mutants(solver_part(family), random.Random(seed), 10 * POPULAR)
    first = sorted(found, key=lambda one: one.operators[0] not in ANSWERING)  # stable: as they were drawn
    return [one.source for one in first[:POPULAR]]


def solver_program(part: str, twist: str) -> str:
    """A program `solve(prompt)` of the functions of a family, which reads the question."""
    text = re.sub(r"\bsolve\(", "plain_solve(", part)
    read = f"instance = json.loads(prompt.rpartition({JSON_MARK!r})[2])"
    return f"import json\n{text}\n\ndef solve(prompt):\n{_indented(read)}\n{_indented(TWISTS[twist][1])}\n"


def _bound(node: ast.stmt) -> set[str]:
    names = node.targets if isinstance(node, ast.Assign) else []
    return {one.id for one in names if isinstance(one, ast.Name)}


def _indented(body: str) -> str:
    return "\n".join(f"    {line}" for line in body.split("\n"))
