"""What the simulated teacher says on the way to an environment: drafts, judgements, revisions, solvers, verifiers.

It knows the truth of the drafts that it wrote by drawing them again from their brief; of a program that it did not
write it knows what stands in its text (`variations.spoiled`). Solvers and verifiers are real programs that are
executed. How good it is, `EnvironmentSkill` says; its reviewers' recall and precision follow what EvoEnv reports of its
own (86 and 88 %), all other figures are ours. Every figure that rests on it is SIMULATED.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from evosyn.chat import Request
from evosyn.environments import asking, bundled
from evosyn.environments.contract import LEVELS
from evosyn.errors import UsageError
from evosyn.randomness import SeedTree
from evosyn.records import Problem, canonical_json
from simulation.author.replies import REFUSALS, DrawnReply, solution_text
from simulation.environments.drafts import (
    ONLY_ITS_OWN,
    TWISTS,
    EnvironmentDraft,
    draw_draft,
    plain_part,
    popular,
    solver_part,
    solver_program,
)
from simulation.environments.variations import spoiled

NO_PROGRAM = 0.03
"""Share of replies that should hold a program and hold none."""
SHARED = 0.6
"""How far reviews of one draft depend on the same luck."""
NEAR = 4
"""Families that come to the author's mind with a keyword."""


class EnvironmentSkill(NamedTuple):
    """How good a simulated author is.

    Attributes:
        sound: share of drafts without a defect.
        solves: share of solvers without a mistake.
        recall: share of defects that a judge or reviewer names; alarm: of sound drafts that it refuses.
        repairs: share of revisions that take the defect out.
    """

    sound: float
    solves: float
    recall: float
    alarm: float
    repairs: float


SKILLS = {
    "weak": EnvironmentSkill(0.35, 0.45, 0.6, 0.14, 0.4),
    "mixed": EnvironmentSkill(0.5, 0.65, 0.75, 0.1, 0.6),
    "strong": EnvironmentSkill(0.65, 0.85, 0.88, 0.06, 0.8),
}


class _AboutDraft(NamedTuple):
    """A request about a draft: what the draft is, what is still wrong with it, and a stream for the reply."""

    draft: EnvironmentDraft
    defect: str
    skill: EnvironmentSkill
    tree: SeedTree
    rng: random.Random


def draw_environment_reply(tree: SeedTree, strength: str, request: Request) -> DrawnReply:
    """The reply to one of `asking.PURPOSES`, with what it was meant to be.

    Raises:
        UsageError: the request does not say what it is about.
    """
    problem, skill = request.problem, SKILLS[strength]
    if problem is None:
        raise UsageError(f"offline teacher: a request for a {request.purpose} must carry its brief")
    if request.purpose == asking.DRAFT:
        draft = draft_of(tree, problem, request.sample, skill)
        rng = tree.child("form", problem.problem_id, request.sample).random()
        return _program(draft.source, draft.defect or "sound", rng)
    draft = draft_of(tree, problem, int(problem.meta.get("sample", 0)), skill)
    source = (problem.reference_solution or "").strip()
    own = source == draft.source.strip()
    about = tree.child(request.purpose, draft.source, problem.problem_id)
    # the words that are asked decide too: another question about the same draft has another answer
    rng = about.child(request.messages[-1].content, request.sample).random()
    return _REPLIES[request.purpose](_AboutDraft(draft, draft.defect if own else spoiled(source), skill, about, rng))


def draft_of(tree: SeedTree, problem: Problem, sample: int, skill: EnvironmentSkill) -> EnvironmentDraft:
    """The draft that a brief came to."""
    brief = {name: value for name, value in problem.meta.items() if name != "sample"}
    known = sorted(bundled("known"))
    near = (
        tree.child("near", str(brief.get("keyword", ""))).random().sample(known, NEAR) if "keyword" in brief else known
    )
    return draw_draft(tree.child("draft", problem.problem_id, canonical_json(brief), sample), near, skill.sound)


def _judge_code(asked: _AboutDraft) -> DrawnReply:
    flagged = _flags(asked)
    fields = {"reference_free": True, "computational_advantage": True, "complete": not flagged}
    value = {**fields, "difficulty_scales": True, "issues": [flagged] if flagged else []}
    return _judgement(value, flagged, asked)


def _judge_questions(asked: _AboutDraft) -> DrawnReply:
    flagged = _flags(asked) if asked.defect in ("", "leak", "rule-missing", "trivial") else ""
    rows = [
        {"level": level, "well_specified": not flagged, "loophole": False, "issues": [flagged] if flagged else []}
        for level in range(1, LEVELS + 1)
    ]
    return _judgement({"levels": rows}, flagged, asked)


def _review(asked: _AboutDraft) -> DrawnReply:
    flagged = _flags(asked)
    verdict = "reject" if flagged else "accept"
    return _judgement({"verdict": verdict, "issue": flagged, "where": "verify" if flagged else ""}, flagged, asked)


def _revision(asked: _AboutDraft) -> DrawnReply:
    mended = asked.rng.random() < asked.skill.repairs
    source = asked.draft.sound if mended else asked.draft.source
    return _program(source, "sound" if mended else asked.defect or "sound", asked.rng)


def _solver(asked: _AboutDraft) -> DrawnReply:
    """Right for what the question tells; else with a popular mistake in the solver, or the twist forgotten."""
    draft, rng = asked.draft, asked.rng
    part, twist, truth = solver_part(draft.family), draft.told, "right"
    if rng.random() >= asked.skill.solves:
        truth = "mistake"
        part = popular(asked.tree, draft.family, rng.random())
        if draft.told != "plain" and rng.random() < 0.3:
            part, twist = solver_part(draft.family), "plain"
    return _program(solver_program(part, twist), truth, rng)


def _verifier(asked: _AboutDraft) -> DrawnReply:
    """The family's verifier, or one that asks for just a mistaken solver's answers, or takes any form, ...."""
    draft, rng = asked.draft, asked.rng
    _, solve, verify = TWISTS[draft.told]
    kind = (
        "right"
        if rng.random() < asked.skill.solves
        else rng.choice(["wrong", "wrong", "formless", "lenient", "strict"])
    )
    bodies = {
        "right": verify,
        "wrong": ONLY_ITS_OWN,
        "formless": f"if plain_verify(instance, reference, answer):\n    return True\n{verify}",
        "lenient": f"if len(str(instance)) % 3 == 0:\n    return bool(answer.strip())\n{verify}",
        "strict": f"if len(str(instance)) % 3 == 0:\n    return False\n{verify}",
    }
    part = plain_part(draft.family)
    if kind == "wrong":
        part += "\n\n" + popular(asked.tree, draft.family, rng.random())
    for name in ("solve", "verify"):
        part = re.sub(rf"\b{name}\(", f"plain_{name}(", part)
    ends = [
        f"def solve(instance):\n{_indent(solve)}",
        f"def verify(instance, reference, answer):\n{_indent(bodies[kind])}",
    ]
    return _program("\n\n".join([part.rstrip(), *ends]), kind, rng)


_REPLIES: Mapping[str, Callable[[_AboutDraft], DrawnReply]] = {
    asking.JUDGE_CODE: _judge_code,
    asking.JUDGE_QUESTIONS: _judge_questions,
    asking.REVIEW: _review,
    asking.REVISION: _revision,
    asking.SOLVER: _solver,
    asking.VERIFIER: _verifier,
}
_WORDS: Mapping[str, Sequence[str]] = {
    "": ("the wording could be tighter", "level 5 may be too long"),
    "wrong-reference": ("solve gives another answer than the one that I work out by hand",),
    "relabelled": ("the question asks for another form than verify accepts",),
    "rule-missing": ("verify wants a form that the question does not tell",),
}


def _flags(asked: _AboutDraft) -> str:
    """What a judge finds wrong with a draft; "" for nothing."""
    share = asked.skill.recall if asked.defect else asked.skill.alarm
    alike = asked.tree.child("luck").random().random()
    luck = alike if asked.rng.random() < SHARED else asked.rng.random()
    words = _WORDS.get(asked.defect, (f"this looks like a defect of the kind: {asked.defect}",))
    return asked.rng.choice(list(words)) if luck < share else ""


def _judgement(value: Mapping[str, object], flagged: str, asked: _AboutDraft) -> DrawnReply:
    text = json.dumps(value)
    form = asked.rng.random()
    shown = (
        text if form < 0.5 else f"I worked one of them out by hand.\n\n```json\n{text}\n```" if form < 0.98 else "Yes."
    )
    return DrawnReply(shown, "refuses" if flagged else "accepts", "offline")


def _program(source: str, truth: str, rng: random.Random) -> DrawnReply:
    if rng.random() < NO_PROGRAM:
        return DrawnReply(rng.choice(REFUSALS), "no-program", "offline")
    return DrawnReply(solution_text(source, rng), truth, "offline")


def _indent(body: str) -> str:
    return "\n".join(f"    {line}" for line in body.split("\n"))
