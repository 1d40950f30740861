"""A script for `simulation.scripted_server`: replies like a model's, for both domains, right and wrong.

It reads the prompt alone, as a model would: the numbers of the problem stand in its statement.
"""

from __future__ import annotations

import hashlib
import json
import random
import re
from collections.abc import Mapping
from typing import Any

THINGS = (
    "apples", "barrels", "candles", "drums", "eggs", "flasks", "gears", "hats", "inks", "jars", "kites", "lamps",
    "maps", "nails", "oars", "pins", "quills", "ropes", "sails", "tiles", "urns", "vases", "wheels", "yarns",
)  # fmt: skip
PLACES = (
    "harbour", "mill", "orchard", "quarry", "station", "tannery", "vineyard", "workshop", "abbey", "bakery", "cellar",
)  # fmt: skip
RULES = re.compile(r"divisible by (\d+) counts (\w+).*?exceeds (\d+)", re.S)


def script(body: Mapping[str, Any], times: int) -> str:
    """The reply to one request body; `times` is how often that very body came before."""
    text = "\n".join(str(message["content"]) for message in body["messages"])
    seed = hashlib.sha256(f"{text}\x1f{times}".encode()).digest()
    draw = random.Random(int.from_bytes(seed[:8], "big"))
    if "You write programming problems" in text:
        problem = _problem(draw, "standard input" in text.split("## Example")[0])
        return problem.partition("```json\n")[2].strip("`\n") if "response_format" in body else problem
    found = RULES.search(text.split("## Problem")[-1])
    if found is None:
        return "I am not sure what you mean."
    rule = (int(found[1]), found[2], int(found[3]))
    stdin = "Start code" not in text
    if "build_inputs()" in text:
        made = '" ".join(map(str, numbers)) + "\\n"' if stdin else "[numbers]"
        return f"```python\ndef build_inputs():\n    numbers = list(range(-20, 200)) * 50\n    return [{made}]\n```"
    if "unit tests" in text.split("## Problem")[0]:
        return _testing(draw, rule, stdin)
    return _solution(draw, rule, stdin)


def _problem(draw: random.Random, stdin: bool) -> str:
    if draw.random() < 0.03:
        return "Let me think about a problem for you."
    thing, other, place = draw.choice(THINGS), draw.choice(THINGS), draw.choice(PLACES)
    factor, limit = draw.randrange(2, 30), draw.randrange(50, 900)
    weight = draw.choice(["twice", "thrice", "nothing"])
    noise = " ".join(draw.sample(THINGS, 6))
    statement = (
        f"The {place} ships {thing} and {other} in crates ({noise}). Each crate has a number. A crate whose number is "
        f"divisible by {factor} counts {weight}, every other crate counts once. Add up the numbers so weighted; if the "
        f"sum exceeds {limit} at any moment, start again from 0 with the next crate. Give the last sum. "
    )
    value: dict[str, str] = {"title": f"{place} {thing} {factor}"}
    if stdin:
        value["statement"] = statement + "Input: one line with the numbers, separated by blanks; it may be empty."
    else:
        value["statement"] = statement + "`numbers` is a list of integers, perhaps empty."
        value["entry_point"] = f"last_sum_{factor}"
        value["starter_code"] = f"def last_sum_{factor}(numbers: list[int]) -> int:\n    pass\n"
    return f"Here is one.\n```json\n{json.dumps(value, indent=1)}\n```"


def _times(weight: str) -> int:
    return {"twice": 2, "thrice": 3, "nothing": 0}[weight]


def _body(draw: random.Random, rule: tuple[int, str, int]) -> tuple[str, bool]:
    factor, weight, limit = rule
    compare, times, start = ">", _times(weight), 0
    right = draw.random() < 0.6
    if not right:
        compare, times, start = draw.choice([(">=", times, 0), (">", times + 1, 0), (">", 1, 0), (">", times, 1)])
    name = draw.choice(["total", "s", "acc", "sum_so_far"])
    lines = [
        f"    {name} = {start}",
        "    for x in numbers:",
        f"        {name} += x * ({times} if x % {factor} == 0 else 1)",
        f"        if {name} {compare} {limit}:",
        f"            {name} = {start}",
        f"    return {name}",
    ]
    return "\n".join(lines), right


def _solution(draw: random.Random, rule: tuple[int, str, int], stdin: bool) -> str:
    if draw.random() < 0.02:
        return "The function is simple, I leave it to you."
    body, _ = _body(draw, rule)
    code = f"def last_sum_{rule[0]}(numbers):\n{body}\n"
    if stdin:
        code += f"\nprint(last_sum_{rule[0]}([int(x) for x in input().split()]))\n"
    return f"We keep a running sum.\n```python\n{code}```"


def _testing(draw: random.Random, rule: tuple[int, str, int], stdin: bool) -> str:
    if draw.random() < 0.05:
        return '```json\n[{"input": [[1, 2]], "output": 3,\n```'
    body, _ = _body(draw, rule)
    scope: dict[str, Any] = {}
    exec(f"def f(numbers):\n{body}\n", scope)
    inputs = [[], [rule[0]], [rule[2]], [rule[2] + 1]]
    inputs += [[draw.randrange(-20, 200) for _ in range(draw.randrange(1, 12))] for _ in range(draw.randrange(2, 10))]
    if draw.random() < 0.25:
        inputs = [[], [1], [0]]
    cases: list[dict[str, Any]]
    if stdin:
        cases = [{"input": " ".join(map(str, one)) + "\n", "output": f"{scope['f'](one)}\n"} for one in inputs]
    else:
        cases = [{"input": [one], "output": scope["f"](one)} for one in inputs]
    return f"Edge cases first.\n```json\n{json.dumps(cases)}\n```"
