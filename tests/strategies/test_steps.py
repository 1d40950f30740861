"""Programs in one process: what they share is computed once, in faster forms, and every score keeps its bits."""

from collections import Counter

import numpy as np
import pytest

from evosyn.strategies.grammar import helpers
from evosyn.strategies.grammar.grammar import Node, Program
from evosyn.strategies.running.stacks import stacked
from evosyn.strategies.running.steps import Steps
from tests.strategies.test_grammar import HARNESS, evidence, program_of, stack_bytes


@pytest.mark.parametrize("room", [0, 3000, 1 << 20])
def test_programs_in_one_process_score_as_each_does_alone_whatever_is_held_for_the_next(monkeypatch, room):
    monkeypatch.setitem(HARNESS, "MOST_BYTES", room)
    stacks = [stack.terminals for stack in stacked([*map(evidence, range(3)), evidence(4, 3, 6)])]
    programs = [program_of(seed % 30) for seed in range(60)]
    assert stack_bytes(programs, stacks) == [stack_bytes([program], stacks)[0] for program in programs]
    assert len(Steps(programs).steps) == len(Steps(programs[:30]).steps)


def test_what_several_programs_compute_alike_is_one_step():
    share = Node("row_mean", (Node("passed"),))
    gap = Node("gap", (Node("passed"), Node("solution_scores")))
    made = Steps([Program(share, gap), Program(Node("place", (share,)), gap), Program(share, Node("top", (gap,)))])
    ops = Counter(op for op, _ in made.steps)
    assert ops["row_mean"] == ops["rejected"] == 1 and ops["columns"] == 2 and ops["between"] == 2
    for needs, scores in made.programs:
        assert needs == sorted(needs) and set(scores) <= set(needs)
        assert all(one in needs for step in needs for one in made.steps[step][1] if isinstance(one, int))


def test_a_constant_is_no_step_and_zeros_of_both_signs_are_two():
    """In Python 2 == 2.0 and 0.0 == -0.0."""
    share = Node("row_mean", (Node("passed"),))
    far = Node("place", (Node("top", (Node("spread", (share,)),)),))
    mean = Node("add", (share, Node("row_mean", (Node("kin"),))))
    gap = Node("gap", (Node("passed"), Node("solution_scores")))
    twice = Program(Node("add", (mean, Node("power", (2.0, far)))), gap)
    programs = [twice, Program(Node("power", (mean, 5.0)), gap)]
    stacks = [stack.terminals for stack in stacked([evidence(1)])]
    assert stack_bytes(programs, stacks) == [stack_bytes([program], stacks)[0] for program in programs]
    signs = Steps([Program(Node("power", (share, zero)), gap) for zero in (0.0, -0.0)])
    assert sum(op == "power" for op, _ in signs.steps) == 2


ODD = np.array([0.0, -0.0, 1.0, 1 / 3, -2.5e9, 1e12, np.inf, -np.inf, np.nan])


@pytest.mark.parametrize("size", [1, 2, 7, 16, 33])
@pytest.mark.parametrize("odd", [False, True])
def test_faster_forms_of_functions_give_the_same_bits(size, odd):
    rng = np.random.default_rng(size)
    x = (rng.random((9, size, size + 3)) < rng.random((9, 1, 1))).astype(float)
    for matrix in (x, rng.random(x.shape), np.swapaxes(x, -1, -2)):
        values = rng.choice(ODD, matrix.shape[:2]) if odd else rng.random(matrix.shape[:2]).round(1)
        one = np.where(rng.random(matrix.shape) < 0.05, np.nan, matrix) if odd else matrix
        rejected, group = 1.0 - one, helpers.same(one)
        with np.errstate(all="ignore"):
            for name, arguments, ours in [
                ("place", (values,), HARNESS["place"](values)),
                ("tidy", (values,), HARNESS["tidy"](values)),
                ("then", (values, -values), HARNESS["ordered"](HARNESS["place"](values), HARNESS["place"](-values))),
                ("crown", (values, -values), HARNESS["crowned"](helpers.top(values), HARNESS["place"](-values))),
                ("gap", (one, values), HARNESS["between"](one, rejected, one.sum(-2), rejected.sum(-2), values)),
                ("mutual", (one,), HARNESS["mutual"](one)),
                ("latent", (one,), HARNESS["latent"](one)),
                ("bayes", (one, 1.5, 2.5), HARNESS["odds_of"](group, HARNESS["counted"](one, group), 1.5, 2.5)),
            ]:
                assert getattr(helpers, name)(*arguments).tobytes() == ours.tobytes(), name
