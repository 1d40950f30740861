"""Draws one problem reply: a problem of some family, or, as real models do, a near duplicate or a malformed reply."""

from __future__ import annotations

import json
import random

from evosyn.randomness import SeedTree
from evosyn.records import Json
from simulation.author.catalogue import FamilyTask, family, family_names
from simulation.author.replies import DrawnReply

NEAR_DUPLICATES = 0.08
POPULAR = 6
"""How many problems per domain come to this author's mind again and again."""
MALFORMED = 0.05
TRIVIAL = ("one_step",)
TRIVIAL_SHARE = 0.12
AUTHOR = "offline-problems"

_OPENINGS = (
    "",
    "Here is a task from everyday programming. ",
    "Solve the following exercise. ",
    "Read the following carefully. ",
)


def draw_problem(tree: SeedTree, domain: str, sample: int) -> DrawnReply:
    """The `sample`-th problem reply of a domain; `tree` is the teacher's own node."""
    rng = tree.child("problem", domain, sample).random()
    truth, opening = "new", ""
    drawn_by = rng
    if rng.random() < NEAR_DUPLICATES:
        truth, opening = "near-duplicate", rng.choice(_OPENINGS)
        drawn_by = tree.child("popular-problem", domain, rng.randrange(POPULAR)).random()
    name = _family(domain, drawn_by)
    params = family(name).draw(drawn_by)
    reply = _object(name, params, family(name).build(params), domain)
    reply["statement"] = opening + reply["statement"]
    if rng.random() < MALFORMED:
        return DrawnReply(_malformed(reply, rng), "malformed", AUTHOR)
    return DrawnReply(f"```json\n{json.dumps(reply, indent=2, ensure_ascii=False)}\n```", truth, AUTHOR)


def _family(domain: str, rng: random.Random) -> str:
    names = family_names(domain)
    trivial = [name for name in names if name in TRIVIAL]
    if trivial and rng.random() < TRIVIAL_SHARE:
        return rng.choice(trivial)
    return rng.choice([name for name in names if name not in TRIVIAL])


def _object(name: str, params: dict[str, Json], task: FamilyTask, domain: str) -> dict[str, Json]:
    return {
        "title": task.title,
        "statement": task.statement,
        "entry_point": task.entry_point,
        "starter_code": task.starter_code,
        "domain": domain,
        "meta": {
            "family": name,
            "params": params,
            "difficulty": round(task.difficulty, 3),
            "topic": task.topic,
            "simulated": True,
        },
    }


def _malformed(reply: dict[str, Json], rng: random.Random) -> str:
    """Cut off, a field left out, or prose only."""
    body = json.dumps(reply, indent=2, ensure_ascii=False)
    bare = json.dumps({key: value for key, value in reply.items() if key not in {"statement", "meta"}}, indent=2)
    ways = (
        f"```json\n{body[: len(body) // 2]}",
        f"```json\n{bare}\n```",
        "A good problem would be one about " + str(reply["meta"]["topic"]) + ", with some care for edge cases.",
    )
    return rng.choice(ways)
