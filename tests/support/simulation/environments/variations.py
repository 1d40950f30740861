"""What the simulated teacher says in a search for environments: variations of a program, and a student's answers.

It reads the program to change out of the prompt, as a model does: it changes its levels, adds a rule with the form of
the answer, or spoils it. The student is right by chance: the less, the longer question and answer are, with an ease
for each category that nothing but the seed decides; where the question tells of another form than the program
checks, it is honestly wrong. All figures are ours, and everything that rests on them is SIMULATED.
"""

from __future__ import annotations

import math
import random
import re
from collections.abc import Mapping

from evosyn.chat import Request
from evosyn.domains.environment import CLOSE, OPEN
from evosyn.environments.contract import read_environment
from evosyn.environments.genome import PURPOSE
from evosyn.environments.knobs import varied
from evosyn.environments.probes import perturbed
from evosyn.errors import UsageError
from evosyn.fences import markdown_fences
from evosyn.randomness import SeedTree
from simulation.author.replies import REFUSALS, DrawnReply, solution_text
from simulation.environments.defects import DEFECTS
from simulation.environments.drafts import TWISTS

ANSWER = "answer"
NO_ANSWER = 0.02
"""Share of answers without an answer block."""
SKILLS: Mapping[str, float] = {"weak": -0.7, "mixed": 0.5, "strong": 1.7}
"""Log-odds of a right answer to an instance of `MIDDLING` size in a category of middling ease."""
PART, MIDDLING, STEEP, EASE = 8, 420, 2.4, 1.0
"""How much more a character of the answer weighs than one of the question; the size of a middling instance in these;
log-odds lost with each doubling; half the range of a category's ease."""
SPOILS: Mapping[str, float] = {"weak": 0.45, "mixed": 0.3, "strong": 0.15}
"""Share of variations with a defect."""
NO_PROGRAM = 0.03
FORMS = {"twice": r".+ / .+", "marked": r"#.+", "counted": r".+ \(\d+\)"}
"""What answers look like under each rule of `TWISTS`; the last rule that a question tells of counts."""


def draw_variation(tree: SeedTree, strength: str, request: Request) -> DrawnReply:
    """A changed program, with what was done to it."""
    rng = tree.child(PURPOSE, *(message.content for message in request.messages), request.sample).random()
    prompt = next(message.content for message in request.messages if message.role == "user")
    programs = [one.text for one in markdown_fences(prompt) if read_environment(one.text).value is not None]
    if rng.random() < NO_PROGRAM or not programs:
        return DrawnReply(rng.choice(REFUSALS), "no-program", "offline")
    example, *shown = programs  # the contract shows one
    parent, *others = shown or [example]
    text, done = _changed(parent, others, rng, _towards(prompt))
    if rng.random() < SPOILS[strength]:
        defect = rng.choice([one for one in DEFECTS if one.kind != "duplicate"])
        text, done = defect.change(text), f"{defect.kind}/{defect.name}"
    return DrawnReply(solution_text(text, rng), done, "offline")


def draw_answer(tree: SeedTree, strength: str, request: Request) -> DrawnReply:
    """An answer to a question that carries the right one.

    Raises:
        UsageError: it carries none.
    """
    problem = request.problem
    if problem is None or problem.reference_solution is None:
        raise UsageError("offline teacher: a question of an environment must carry a right answer for the simulation")
    rng = tree.child(ANSWER, problem.statement, request.sample).random()
    right = problem.reference_solution
    ease = tree.child("ease", str(problem.meta.get("category", ""))).random().uniform(-EASE, EASE)
    size = len(problem.statement) + PART * len(right)
    odds = SKILLS[strength] + ease - STEEP * math.log2(size / MIDDLING)
    knows = rng.random() < 1 / (1 + math.exp(-odds)) and not _misled(problem.statement, right)
    if rng.random() < NO_ANSWER:
        return DrawnReply("I am not sure.", "no-answer", "offline")
    text = right if knows else rng.choice(sorted(perturbed(right).values()) or ["unknown"])
    thought = rng.choice(("", "Let me see.\n", "I went through it step by step.\n"))
    return DrawnReply(f"{thought}{OPEN}{text}{CLOSE}", "right" if knows else "wrong", "offline")


def _towards(prompt: str) -> int:
    """Where the direction in a prompt points."""
    return 1 if "solves nearly all of it" in prompt else -1 if "solves nearly nothing" in prompt else 0


def _changed(parent: str, others: list[str], rng: random.Random, towards: int) -> tuple[str, str]:
    """The parent with other levels, or with a further rule."""
    found = varied(parent, others, rng, towards)
    if found is not None and rng.random() < 0.6:
        return found
    told = rng.choice([name for name in TWISTS if name != "plain"])
    done = told if rng.random() < 0.9 else rng.choice(list(TWISTS))
    return _twisted(parent, told, done), f"told {told}, done {done}"


def _twisted(source: str, told: str, done: str) -> str:
    """A program whose question tells of one more rule, and which applies one."""
    layer = next(name for name in (f"inner{at}" for at in range(99)) if name not in source)
    for name in ("observe", "solve", "verify"):
        source = re.sub(rf"\b{name}\(", f"{layer}_{name}(", source)
    (rule, _, _), (_, solve, verify) = TWISTS[told], TWISTS[done]
    bodies = {
        "observe(instance)": f"return {layer}_observe(instance) + {rule!r}",
        "solve(instance)": solve.replace("plain_", f"{layer}_"),
        "verify(instance, reference, answer)": verify.replace("plain_", f"{layer}_"),
    }
    functions = ["def {}:\n{}\n".format(name, "\n".join(f"    {line}" for line in body.split("\n")))
                 for name, body in bodies.items()]  # fmt: skip
    title = re.sub(r'^"""(.*?)\.?"""', rf'"""\1: SIMULATED, {told}."""', source, count=1)
    return "\n\n".join([title.rstrip() + "\n", *functions])


def _misled(question: str, right: str) -> bool:
    """Whether the question tells of a form that the right answer has not, or does not tell of the one that it has."""
    places = {name: question.rfind(TWISTS[name][0].strip()) for name in FORMS}
    last = max(places, key=places.__getitem__)
    if places[last] < 0:
        return right.startswith("#")
    return not re.fullmatch(FORMS[last], right, re.DOTALL)


def spoiled(source: str) -> str:
    """The kind of defect that a reviewer of a program that it did not write may find; "" for none."""
    return "permissive" if re.search(r"\bsound_\w+\(", source) else ""
