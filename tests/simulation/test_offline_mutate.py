"""Mutation operators: what they make is a program, another one, and only what they say."""

from __future__ import annotations

import ast
import random

import pytest
from simulation.author.mutate import mutants
from simulation.author.mutate_exprs import EXPR_OPERATORS
from simulation.author.mutate_stmts import STMT_OPERATORS
from simulation.author.style import restyled

PROGRAM = '''
import math
from collections import Counter, deque


def walk(numbers, limit=3, *, strict=True):
    """Uses everything that an operator can change."""
    best = float("-inf")
    seen = {}
    name = "abc"
    queue = deque(sorted(numbers, reverse=True))
    first = numbers[0]
    for i, x in enumerate(numbers):
        if x < 0 and i > 0 or not strict:
            continue
        elif x == 5:
            best = -1
        else:
            best += 1
        seen[x] = seen.get(x, 0) + 1
        best = max(best, seen[x] * 2 - first ** 2)
    total = sum(v for v in seen.values() if v % 2 == 0)
    while queue and limit > 0:
        limit -= 1
        queue.popleft()
    total += 1
    if total == 1:
        return 0
    for y in range(limit):
        total = total // 2
        if total < 1:
            break
    for z in range(1, 3):
        best -= z
    ranked = sorted(seen.items(), key=lambda pair: (-pair[1], pair[0]))[1:limit]
    chosen = [a if a > 1 else b for a, b in ranked if b >= 2] if ranked else []
    if not chosen:
        return pow(total, limit)
    for part in chosen:
        total += part
    return chosen
'''


def test_every_operator_finds_a_place_in_a_program_that_has_one_for_each():
    made = {name.split("/")[0] for mutant in mutants(PROGRAM, random.Random(0), 1000) for name in mutant.operators}
    assert made == set(EXPR_OPERATORS) | set(STMT_OPERATORS)


def test_mutants_compile_and_differ_from_the_program_and_from_each_other():
    texts = [mutant.source for mutant in mutants(PROGRAM, random.Random(1), 1000)]
    for text in texts:
        compile(text, "<mutant>", "exec")
    assert len({*texts, ast.unparse(ast.parse(PROGRAM))}) == len(texts) + 1


def test_a_mutant_is_one_edit_away():
    plain = ast.unparse(ast.parse(PROGRAM)).split("\n")
    for mutant in mutants(PROGRAM, random.Random(2), 1000):
        if mutant.operators[0].split("/")[0] in {"swapped-statements", "indented", "dropped-else", "unconditional"}:
            continue
        lines = mutant.source.split("\n")
        start = next(i for i, (old, new) in enumerate(zip(plain, [*lines, ""], strict=False)) if old != new)
        end = next(i for i, (old, new) in enumerate(zip(plain[::-1], lines[::-1], strict=False)) if old != new)
        assert max(len(plain), len(lines)) - start - end <= 9, mutant


def test_mutants_of_one_seed_are_the_same_and_of_another_are_not():
    first = mutants(PROGRAM, random.Random(3), 20)
    assert first == mutants(PROGRAM, random.Random(3), 20)
    assert first != mutants(PROGRAM, random.Random(4), 20)


def test_boundary_off_by_one_and_early_return_are_what_they_are_called():
    small = "def f(xs):\n    for x in xs:\n        if x < 3:\n            x = 1\n    return x\n"
    found = {(mutant.operators[0], mutant.source) for mutant in mutants(small, random.Random(0), 100)}
    assert ("boundary", ast.unparse(ast.parse(small.replace("<", "<=")))) in found
    assert ("off-by-one", ast.unparse(ast.parse(small.replace("3", "4")))) in found
    assert ("early-return", ast.unparse(ast.parse(small.replace("return x", "    return x\n    return x")))) in found


@pytest.mark.parametrize("number", range(30))
def test_other_words_do_not_change_what_a_program_does(number):
    source = (
        "def f(numbers, k):\n    best = -1\n    for i, x in enumerate(numbers):\n        if x > k:\n"
        "            best = i\n        else:\n            k += 1\n    total = sum(x for x in numbers)\n"
        "    return [best, total, k] if best < total else (k, best)\n"
    )
    text = restyled(source, random.Random(number), 0.9)
    old: dict = {}
    new: dict = {}
    exec(source, old)
    exec(text, new)
    for numbers, k in [([], 0), ([3, 1, 4, 1, 5], 2), ([-1, -2], 0), ([9], 9)]:
        assert old["f"](numbers, k) == new["f"](numbers, k), text


def test_other_words_differ_and_freedom_zero_gives_the_plain_form():
    texts = {restyled(PROGRAM, random.Random(number), 0.8) for number in range(20)}
    assert len(texts) >= 18
    assert restyled(PROGRAM, random.Random(0), 0.0) == ast.unparse(ast.parse(PROGRAM))
