"""Bracket strings: balance, depth, first fault, for chosen kinds of brackets and an escape rule."""

from __future__ import annotations

import random
from collections.abc import Mapping

from evosyn.records import Json
from evosyn.simulation.author.catalogue import FamilyTask, Params

DOMAIN = "python-function"

PAIRS = {"round": ("(", ")"), "square": ("[", "]"), "curly": ("{", "}"), "angle": ("<", ">")}
ANSWER: dict[str, tuple[str, str, str, float]] = {
    "valid": ("Return whether the brackets are balanced.", "False", "not stack", 0.0),
    "depth": (
        "Return the greatest nesting depth, or -1 if the brackets are not balanced.",
        "-1",
        "deepest if not stack else -1",
        0.08,
    ),
    "fault": (
        "Return the position (from 0) of the first closing bracket that fits no open one; if there is none but "
        "brackets stay open, the length of the text; -1 if the brackets are balanced.",
        "i",
        "len(text) if stack else -1",
        0.15,
    ),
    "open": (
        "Return the string of the brackets that are still open at the end (in the order in which they were "
        "opened), or None as soon as a closing bracket fits no open one.",
        "None",
        "''.join(stack)",
        0.08,
    ),
    "pairs": (
        "Return the number of matched pairs, or -1 if the brackets are not balanced.",
        "-1",
        "matched if not stack else -1",
        0.05,
    ),
}
GENERATOR = """
def generate(rng, size):
    count = [rng.randint(0, 2), rng.randint(2, 6), rng.randint(6, 14), rng.randint(80, 200)][size]
    opening, closing, text, stack = "([{<", ")]}>", "", []
    for _ in range(count):
        roll = rng.random()
        if roll < 0.42:
            kind = rng.randrange(4)
            stack.append(kind)
            text += opening[kind]
        elif roll < 0.8 and stack:
            text += closing[stack.pop()]
        elif roll < 0.84:
            text += rng.choice(closing)
        else:
            text += rng.choice("ab!")
    if rng.random() < 0.6:
        text += "".join(closing[kind] for kind in reversed(stack))
    return [text]
"""


def draw(rng: random.Random) -> Params:
    return {
        "kinds": sorted(rng.sample(sorted(PAIRS), rng.randint(1, 4))),
        "answer": rng.choice(sorted(ANSWER)),
        "escape": rng.random() < 0.35,
        "limit": rng.choice((0, 0, 2, 3, 4)),
        "name": rng.choice(("check_brackets", "inspect_brackets", "bracket_report")),
    }


def build(params: Mapping[str, Json]) -> FamilyTask:
    pairs = [PAIRS[kind] for kind in params["kinds"]]
    words, broken, result, harder = ANSWER[params["answer"]]
    name, limit = str(params["name"]), int(params["limit"])
    opening, closing = "".join(pair[0] for pair in pairs), "".join(pair[1] for pair in pairs)
    shown = ", ".join(f"{a} and {b}" for a, b in pairs)
    escape_words = " A character that directly follows an exclamation mark is ignored; an exclamation mark that is "
    escape_words += "itself ignored has no effect." if params["escape"] else ""
    depth_words = f" A closing bracket fits the last open bracket only while at most {limit} are open." if limit else ""
    tooth = f" or len(stack) > {limit}" if limit else ""
    skip = "        if skip:\n            skip = False\n            continue\n"
    skip += "        if c == '!':\n            skip = True\n"
    middle = skip if params["escape"] else ""
    return FamilyTask(
        title=f"Brackets {opening}{closing}: {params['answer']}",
        statement=f"Write a function `{name}(text)`. Only these brackets count: {shown}; every other character is "
        "ignored. A closing bracket fits if the last bracket that is still open is of its kind. The brackets are "
        f"balanced if every closing one fits and none stays open.{depth_words}"
        f"{escape_words if params['escape'] else ''} {words}",
        entry_point=name,
        starter_code=f"def {name}(text: str):\n    ...\n",
        reference=f"""
def {name}(text):
    partner = dict(zip({closing!r}, {opening!r}))
    stack = []
    deepest = 0
    matched = 0
    skip = False
    for i, c in enumerate(text):
{middle}        if c in {opening!r}:
            stack.append(c)
            deepest = max(deepest, len(stack))
        elif c in partner:
            if not stack or stack[-1] != partner[c]{tooth}:
                return {broken}
            stack.pop()
            matched += 1
    return {result}
""",
        alternatives=(_other(params, name, opening, closing, limit),),
        generator=GENERATOR,
        difficulty=0.34 + harder + 0.16 * bool(params["escape"]) + 0.12 * bool(limit),
        topic="stacks",
    )


def _other(params: Mapping[str, Json], name: str, opening: str, closing: str, limit: int) -> str:
    """The same with a recording of positions first and one decision at the end."""
    escape = "            ignored.add(i + 1)\n" if params["escape"] else "            pass\n"
    end = {
        "valid": "fault < 0 and not stack",
        "depth": "-1 if fault >= 0 or stack else deepest",
        "fault": "fault if fault >= 0 else len(text) if stack else -1",
        "open": "None if fault >= 0 else ''.join(stack)",
        "pairs": "-1 if fault >= 0 or stack else matched",
    }[params["answer"]]
    fits = f"stack and {opening!r}.index(stack[-1]) == {closing!r}.index(c)" + (
        f" and len(stack) <= {limit}" if limit else ""
    )
    return f"""
def {name}(text):
    ignored = set()
    for i, c in enumerate(text):
        if c == '!' and i not in ignored:
{escape}    stack, deepest, matched, fault = [], 0, 0, -1
    for i, c in enumerate(text):
        if i in ignored or fault >= 0:
            continue
        if c in {opening!r}:
            stack.append(c)
            deepest = max(deepest, len(stack))
        elif c in {closing!r}:
            if {fits}:
                stack.pop()
                matched += 1
            else:
                fault = i
    return {end}
"""
