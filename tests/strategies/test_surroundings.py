"""What is tried around a program of a model: as a tree where it can be read, as a whole where not."""

import ast
import random
import time
from collections import Counter
from itertools import islice

import numpy as np
import pytest

from evosyn.sandbox.company import NUMPY, admits
from evosyn.strategies import load_known
from evosyn.strategies.genome import StrategyGenome
from evosyn.strategies.grammar.cuts import MOST_TERMS, cuts, longest_cuts
from evosyn.strategies.grammar.grammar import Node, Program, uses_scores
from evosyn.strategies.grammar.neighbours import around
from evosyn.strategies.grammar.openings import OPENINGS
from evosyn.strategies.grammar.reader import Reader
from evosyn.strategies.grammar.simplify import simplified
from evosyn.strategies.grammar.source import called_in, graft, meant, rank_of, read, write
from evosyn.strategies.grammar.surroundings import TextVariant, surroundings
from evosyn.strategies.grammar.terms import notation

HEAD = "import numpy as np\n\n\ndef rank(evidence):\n"
OPAQUE = load_known("hardness")
PAPER = "def strategy(instance, solution_ids, testing_ids, verify_func):\n    return [0.5], [0.25]\n"


def variants(text: str, count: int = 128) -> list[TextVariant]:
    return list(islice(surroundings(text, Reader(), random.Random(3)), count))


@pytest.mark.parametrize("name", ["gap", "agreement-crown", "decision"])
def test_around_a_program_of_the_grammar_are_more_than_a_hundred_others_of_it_no_two_alike(name):
    found = variants(write(OPENINGS[name]))
    trees = [read(one.text) for one in found[::4]]
    assert len({one.text for one in found}) == 128 and None not in trees
    assert len({*trees, simplified(OPENINGS[name])}) == 33


@pytest.mark.parametrize("name", ["initial", "codet", "b4", "mbr"])
def test_around_a_program_that_cannot_be_read_are_as_many(name):
    found = variants(load_known(name))
    assert len({one.text for one in found}) == 128 and load_known(name) not in {one.text for one in found}
    assert Counter(one.operator.startswith("grafted-") for one in found)[True] >= 30


def test_the_nearest_tree_comes_first_and_is_varied_by_turns_with_the_text():
    found = variants(load_known("gap"), 60)
    trees = [read(one.text) for one in found if one.operator.startswith("near")]
    assert found[0].operator == "near" and trees[0] == OPENINGS["gap"]
    assert len(set(trees)) == len(trees) >= 20 and None not in trees
    assert {one.operator.partition("-")[0] for one in found} == {"near", "grafted", "without"}
    assert any(one is not None and uses_scores(one.testings) for one in trees)


@pytest.mark.parametrize("name", ["hardness", "b4"])
def test_each_term_is_left_out_whether_there_is_a_tree_or_none(name):
    found = [one.text for one in variants(load_known(name), 60) if one.operator == "without"]
    assert len(found) >= 10 and all("def rank(evidence):" in text for text in found)


def test_the_same_random_numbers_give_the_same_variants():
    assert variants(OPAQUE) == variants(OPAQUE)


def test_every_constant_is_moved_and_every_sub_expression_left_out():
    program = Program(Node("bayes", (Node("passed"), 1.0, 2.0)), Node("gap", (Node("passed"), Node("solution_scores"))))
    found = list(around(program, random.Random(1)))
    moved = {one.program.solutions.args[1:] for one in found if one.operator == "constant"}
    assert moved == {(f, 2.0) for f in (0.5, 0.8, 1.2, 2.0)} | {(1.0, f) for f in (1.0, 1.6, 2.5, 4.0)}
    joined = Program(Node("add", (program.solutions, Node("checks"))), program.testings)
    smaller = {notation(one.program.solutions) for one in around(joined, random.Random(1)) if one.operator == "without"}
    assert smaller == {"checks", "bayes(passed, 1.0, 2.0)"}


def test_every_opening_is_crossed_in():
    found = {one.program for one in around(OPENINGS["gap"], random.Random(1))}
    for opening in OPENINGS.values():
        assert OPENINGS["gap"]._replace(solutions=opening.solutions) in found
        assert OPENINGS["gap"]._replace(testings=opening.testings) in found


def test_a_program_behind_a_graft_keeps_its_own_functions_and_gives_its_scores_away():
    text = (
        "import numpy as np\n\ndef gap(x):\n    return x * 2.0\n\ndef rank(evidence):\n    top = gap(evidence.passed)\n"
    )
    text += "    return top.sum(1), top.sum(0)\n"
    made = graft(Program(Node("own_solutions"), Node("gap", (Node("passed"), Node("own_solutions")))), text)
    assert made is not None and made.startswith(text) and admits(made, NUMPY)

    class Shown:
        passed = np.array([[True, True, False], [True, False, False]])

    scope: dict = {}
    exec(made, scope)
    solutions, testings = scope["rank"](Shown)
    assert solutions.tolist() == [4.0, 2.0]
    assert testings.tolist() == [3.0, 2.0, -3.0]
    assert graft(OPENINGS["gap"], made) is None and graft(OPENINGS["gap"], PAPER) is None


def test_of_the_published_form_only_constants_are_moved():
    found = variants(PAPER)
    assert {one.operator for one in found} == {"constant"} and len(found) == 8
    assert variants(PAPER.replace("0.5", "5").replace("0.25", "2")) == []


@pytest.mark.parametrize(
    "text",
    [
        "def rank(",
        "",
        HEAD + "    x = evidence.copies\n" + "    x = x + x\n" * 60 + "    return x, x\n",
        HEAD + "    return " + "(" * 80 + "evidence.copies" + ")" * 80 + ", 1\n",
        HEAD + "    return " + "evidence.passed" + ".T" * 700 + ", 1\n",
        HEAD + "    return " + "evidence.passed" + " @ evidence.passed" * 200 + ", 1\n",
    ],
    ids=["no program", "empty", "doubling", "brackets", "a chain", "products"],
)
def test_hostile_texts_are_read_quickly_or_not_at_all(text):
    began = time.process_time()
    assert read(text) is None and len(variants(text, 8)) in (0, 8)
    assert time.process_time() - began < 2.0


def test_doubling_in_the_notation_of_the_grammar_is_refused_quickly():
    lines = "".join(f"    x{n + 1} = x{n} + x{n}\n" for n in range(60))
    text = write(OPENINGS["gap"]).replace(
        "    solution_scores = ", f"    x0 = passed.mean(axis=1)\n{lines}    solution_scores = "
    )
    began = time.process_time()
    assert meant(text) is None and read(text) is None
    assert time.process_time() - began < 2.0


def test_functions_of_the_grammar_are_told_in_a_line_and_need_not_be_written_out():
    shown = rank_of(write(OPENINGS["decision"]))
    assert shown.startswith("def rank(evidence)") and shown.count("def ") == 1
    told = called_in([shown])
    assert [line.partition("(")[0] for line in told] == ["- same", "- latent", "- decide", "- tidy"]
    assert all(line.endswith(".") and "\n" not in line for line in told)
    program = f"{HEAD}    s = spread(evidence.passed.mean(axis=1))\n    return s, gap(evidence.passed * 1.0, s)\n"
    found = StrategyGenome().read(f"```python\n{program}```", [write(OPENINGS["decision"])])
    assert found.value is not None
    assert {"def spread(", "def gap(", "def ratio("} <= {
        line.partition("(")[0] + "(" for line in found.value.splitlines()
    }


TERMS = "".join(f"    x += {number} + {number} * 2\n" for number in range(250))
MIXED = """'''words'''
'''more words'''
class Kind:
    def size(self): return f"{1 + 2}
" + '''a
b'''
@kept(1 + 2)
def each(x=3 * 4): x -= 3
x = y = a - b; x *= 2
while a + b:
    x += 1
"""


@pytest.mark.parametrize("text", [load_known("b4"), load_known("decide"), MIXED.replace('}\n"', '}\\n"')])
def test_a_cut_changes_one_term_and_is_written_like_the_program(text):
    found = list(cuts(text))
    assert (
        found and found == list(cuts(text)) and {one.text for one in found} == {one.text for one in longest_cuts(text)}
    )
    for one in found:
        assert one.text == ast.unparse(ast.parse(one.text)) != ast.unparse(ast.parse(text))


def test_cuts_of_long_programs_are_bounded_in_time_and_number():
    text = f"def rank(evidence):\n    x = 0\n{TERMS}    return x, x\n"
    began = time.process_time()
    assert len(list(islice(cuts(text), 100))) == 100 and len(list(islice(longest_cuts(text), 40))) == 40
    assert len(list(cuts(f"x = 0\n{TERMS.replace('    ', '')}"))) == MOST_TERMS
    assert not list(cuts(TERMS.replace("    ", "") * 6))
    assert time.process_time() - began < 4.0
