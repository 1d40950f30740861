"""Replies on the way to an environment as what they mean: programs, judgements. Arbitrary text never raises.

Programs are read as strategies are (`evosyn.codeblocks`): chatter, thoughts, several blocks. A judgement that is not of
the form that was asked for is none: no doubt is taken for a yes.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from evosyn.chat import Parsed
from evosyn.codeblocks import code_blocks, read_program
from evosyn.domains.replies import json_values
from evosyn.environments.contract import LEVELS, read_environment
from evosyn.environments.forms import Renaming, to_contract
from evosyn.environments.novelty import SETTINGS
from evosyn.names import bound_names
from evosyn.parsing import tree_or_none
from evosyn.records import Json
from evosyn.thinking import answer_in

CRITERIA = ("reference_free", "computational_advantage", "complete", "difficulty_scales")
LONGEST = 400
"""Characters of an issue that are kept."""
MOST_WRONG = 12
"""Wrong answers of one judgement that are tried."""


@dataclass(frozen=True)
class WrongAnswer:
    """An answer to the first question of a level that breaks one rule, in a judge's words: untrusted text."""

    level: int
    answer: str
    rule: str


@dataclass(frozen=True)
class Judgement:
    """What a judge or a reviewer said.

    Attributes:
        of: what was asked: `judge-code`, `judge-questions`, `review`.
        accepts: whether it lets the environment pass.
        reason: what it does not pass by, in one word; "" where it does.
        issues: in the judge's words: untrusted text.
        wrong: answers that it calls wrong; the verifier is tried on them.
    """

    of: str
    accepts: bool
    reason: str = ""
    issues: tuple[str, ...] = ()
    wrong: tuple[WrongAnswer, ...] = ()


def read_draft(text: str, shown: Sequence[str] = ()) -> Parsed[str]:
    """The program of a reply in our contract's form; a program in the form of a paper is wrapped into it.

    Args:
        shown: the program that is revised, if one is.
    """
    found = read_program(text, shown, ("generate",))
    if found.value is not None and read_environment(found.value).value is not None:
        return found
    said = answer_in(text)
    blocks = [block.text for block in code_blocks(said)]
    for other in (*blocks[::-1], "\n\n".join(blocks)):
        wrapped = to_contract(other)
        if read_environment(wrapped).value is not None and wrapped.strip() not in {one.strip() for one in shown}:
            return Parsed(wrapped)
    return found


def read_solver(text: str) -> Parsed[str]:
    return read_program(text, (), ("solve",))


def read_verifier(text: str, source: str) -> Parsed[str]:
    """The program with the `verify` of a reply, and with its `solve` where it brings one, in place of its own; what
    else the reply defines under a name of the program gets another."""
    found = read_program(text, (), ("verify",))
    if found.value is None:
        return found
    mine, theirs = tree_or_none(source), tree_or_none(found.value)
    if mine is None or theirs is None:
        return Parsed(None, "does-not-parse")
    checks = {"verify", "solve"} & set(_bound(theirs))
    if "verify" not in checks:
        return Parsed(None, "no-entry-point")
    left_out = {"generate", "observe", *SETTINGS}
    added = [node for node in theirs.body if not isinstance(node, ast.Expr) and not left_out & set(bound_names(node))]
    taken = (set(_bound(mine)) & set(_bound(theirs))) - checks - left_out - _imported(theirs)
    renamed = Renaming({name: f"{name}_of_verifier" for name in taken})
    body = [node for node in mine.body if not checks & set(bound_names(node))]
    merged = ast.Module([*body, *map(renamed.visit, added)], [])
    try:
        return Parsed(ast.unparse(ast.fix_missing_locations(merged)) + "\n")
    except ValueError as error:  # an integer of thousands of digits
        return Parsed(None, f"does-not-parse: {type(error).__name__}: {str(error)[:80]}")


def read_judgement(of: str, text: str) -> Parsed[Judgement]:
    """The last object of the reply that is of the form asked for."""
    read = {"judge-code": _of_code, "judge-questions": _of_questions, "review": _of_review}[of]
    said = answer_in(text)
    for value in json_values(said):
        judged = read(value) if isinstance(value, Mapping) else None
        if judged is not None:
            return Parsed(replace(judged, wrong=_wrong(value.get("wrong"))))
    return Parsed(None, "unreadable-verdict")


def _of_code(value: Mapping[str, Json]) -> Judgement | None:
    """ReSyn's rule: one of the first two, and both of the others."""
    said = [value.get(name) for name in CRITERIA]
    if not all(isinstance(one, bool) for one in said):
        return None
    free, advantage, complete, scales = said
    failed = {"no-gap": not (free or advantage), "incomplete": not complete, "difficulty": not scales}
    reason = next((name for name, holds in failed.items() if holds), "")
    return Judgement("judge-code", not reason, reason, _issues(value.get("issues")))


def _of_questions(value: Mapping[str, Json]) -> Judgement | None:
    rows = value.get("levels")
    if not isinstance(rows, list) or not all(isinstance(row, Mapping) for row in rows):
        return None
    by_level = {row.get("level"): row for row in rows if isinstance(row.get("level"), int)}
    if set(by_level) != set(range(1, LEVELS + 1)):
        return None
    issues: list[str] = []
    reasons: list[str] = []
    for level, row in sorted(by_level.items()):
        clear, loophole = row.get("well_specified"), row.get("loophole")
        if not isinstance(clear, bool) or not isinstance(loophole, bool):
            return None
        reasons += [f"level-{level}"] if loophole or not clear else []
        issues += [f"level {level}: {issue}" for issue in _issues(row.get("issues"))]
    return Judgement("judge-questions", not reasons, (reasons or [""])[0], tuple(issues))


def _of_review(value: Mapping[str, Json]) -> Judgement | None:
    verdict = value.get("verdict")
    if not isinstance(verdict, str) or verdict.strip().lower() not in ("accept", "reject"):
        return None
    rejects = verdict.strip().lower() == "reject"
    told = [one for one in (value.get("where"), value.get("issue")) if isinstance(one, str) and one.strip()]
    return Judgement("review", not rejects, "rejected" if rejects else "", _issues([": ".join(told)] if told else []))


def _wrong(value: Json) -> tuple[WrongAnswer, ...]:
    """Wrong answers as they were asked for; a judge may name none."""
    listed = [one for one in value if isinstance(one, Mapping)] if isinstance(value, list) else []
    told = [{**one, "answer": str(one["answer"])} if type(one.get("answer")) is int else one for one in listed]
    named = [(one.get("level"), _issues(one.get("answer")), _issues(one.get("rule"))) for one in told[:MOST_WRONG]]
    return tuple(
        [WrongAnswer(level, answer[0], "".join(rule)) for level, answer, rule in named if type(level) is int and answer]
    )


def _issues(value: Json) -> tuple[str, ...]:
    listed = value if isinstance(value, list) else [value] if isinstance(value, str) else []
    texts = [one.encode("utf-8", "replace").decode() for one in listed if isinstance(one, str) and one.strip()]
    return tuple(text.strip()[:LONGEST] for text in texts)


def _bound(tree: ast.Module) -> list[str]:
    return [name for node in tree.body for name in bound_names(node)]


def _imported(tree: ast.Module) -> set[str]:
    imports = [node for node in tree.body if isinstance(node, ast.Import | ast.ImportFrom)]
    return {name for node in imports for name in bound_names(node)}
