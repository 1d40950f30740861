"""What decides a verdict was never in the address space of what is judged, nor of an ancestor of it: seen by looking.

Random tokens are planted in everything that a worker handles, then programs look for them through memory, objects,
frames, descriptors, environment and files, in every mode. Each must find its own, by every way of looking, or the round
does not count; nothing else may be found. Modes, order, neighbours, sizes and forms are drawn; the message of a failure
has the seed, and EVOSYN_MEMORY_SEED repeats it. (Drawn by a seed and not by hypothesis: what a worker keeps depends on
all that it did before, so that there is nothing to shrink.) docs/sandbox.md, "How it is tested".
"""

from __future__ import annotations

import marshal
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evosyn.jobs import CallsJob, ChecksJob
from evosyn.sandbox.bundling import harmless
from tests.memory.finding import Finder
from tests.memory.neighbours import Mode, Neighbours
from tests.memory.planting import Form, Kind, Planting, Report, read_reports
from tests.memory.running import OPENED, Slot, opened, seed_of_run, told
from tests.memory.scanner import report

SEED = seed_of_run()
ROUNDS = 12
DOCKER = pytest.param("docker", 4, marks=pytest.mark.docker)


def hold(slot: Slot, seed: object) -> None:
    """Fail where a scanner did not work, or found what is not its own."""
    faults, leaks = slot.faults(), slot.leaks()
    assert not faults, told(slot, seed, faults)
    assert not leaks, told(slot, seed, leaks)


@pytest.mark.slow
@pytest.mark.parametrize(("backend", "rounds"), [("bwrap", ROUNDS), (OPENED, ROUNDS), ("bare", 4), DOCKER])
def test_a_program_finds_nothing_in_its_process_but_what_is_its_own(backend: str, rounds: int) -> None:
    seed = f"{SEED} {backend}"
    with opened(backend, seed) as slot:
        for mode in slot.draw(rounds):
            slot.round(mode)
    hold(slot, seed)


@pytest.mark.long
@pytest.mark.parametrize("backend", ["bwrap", OPENED, "bare", pytest.param("docker", marks=pytest.mark.docker)])
@pytest.mark.parametrize("mode", list(Mode))
def test_a_program_of_this_mode_finds_nothing_but_its_own_after_any_neighbours(mode: Mode, backend: str) -> None:
    seed = f"{SEED} {backend} {mode}"
    with opened(backend, seed) as slot:
        for _ in range(ROUNDS):
            slot.round(mode)
    hold(slot, seed)


@pytest.mark.long
@pytest.mark.parametrize("backend", ["bwrap", OPENED])
def test_a_program_finds_nothing_but_its_own_in_a_worker_without_numpy(backend: str) -> None:
    seed = f"{SEED} {backend} without numpy"
    with opened(backend, seed, numpy=False) as slot:
        for mode in slot.draw(2 * ROUNDS):
            slot.round(mode)
    hold(slot, seed)


@settings(max_examples=10, deadline=None)
@given(seed=st.integers(0, 1 << 32))
def test_each_mode_is_run_as_it_says(seed: int) -> None:
    neighbours = Neighbours(Planting(random.Random(seed)), repr)
    (table,) = neighbours.jobs(Mode.TABLE, "table", given=["scan", "x" * 30_000])
    assert isinstance(table, CallsJob)
    for mode in (Mode.WARM, Mode.FRESH, Mode.PROGRAM):
        (job,) = neighbours.jobs(mode, mode, given=["scan", "x" * 30_000])
        assert isinstance(job, ChecksJob)
        assert mode is Mode.PROGRAM or {harmless(check.code) for check in job.checks} == {mode is Mode.WARM}


@pytest.mark.parametrize("form", list(Form))
@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 1 << 32))
def test_the_scanner_knows_a_token_in_every_form(form: Form, seed: int) -> None:
    planting = Planting(random.Random(seed))
    value = planting.value(Kind.PROGRAM, "own", forms=[form], most=20_000)
    finder = Finder(planting.marker)
    finder.channel = "sent"
    finder.search(marshal.dumps((value.data, 1)))
    finder.channel = "object"
    for part in value.data if form is Form.INTEGER else [value.data]:
        finder.look(part)
    assert finder.found == {value.token.number: {"sent", "object"}}


@pytest.mark.parametrize("form", list(Form))
@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 1 << 32))
def test_a_value_that_a_program_makes_is_not_in_its_text(form: Form, seed: int) -> None:
    planting = Planting(random.Random(seed))
    value = planting.value(Kind.ANSWER, "own", forms=[form], most=20_000)
    finder = Finder(planting.marker)
    finder.search(value.assembly.encode())
    finder.search(marshal.dumps(compile(value.assembly, "", "eval")))
    assert finder.found == {}
    assert eval(value.assembly) == value.data


@settings(max_examples=30, deadline=None)
@given(kept=st.integers(20, 32), before=st.binary(max_size=40), seed=st.integers(0, 1 << 32))
def test_the_scanner_knows_a_token_whose_end_was_overwritten(kept: int, before: bytes, seed: int) -> None:
    planting = Planting(random.Random(seed))
    token = planting.token(Kind.EXPECTED, "another")
    finder = Finder(planting.marker)
    finder.search(before + token.digits[:kept].encode() + b"\xff" * 20)
    assert set(finder.found) == {token.number}


@settings(max_examples=30, deadline=None)
@given(zeros=st.integers(0, 40), kept=st.integers(20, 32), seed=st.integers(0, 1 << 32))
def test_digits_that_stand_behind_a_marker_by_chance_are_no_leak(zeros: int, kept: int, seed: int) -> None:
    planting = Planting(random.Random(seed))
    leaked, other = planting.token(Kind.EXPECTED, "another"), planting.token(Kind.EXPECTED, "a third")
    finder = Finder(planting.marker)
    for chance in (f"{other.number:05x}" + "0" * 9, "0" * 20):
        finder.search(planting.marker.encode() + bytes(zeros) + chance.encode() + b"\xff" * 20)
    finder.search(leaked.digits[:kept].encode() + b"\xff" * 20)

    def told(most: int) -> Report:
        (found,) = read_reports(report(finder, [], "m", most, "1,1"), [], planting.tokens)
        return found

    assert dict(told(1_000).examples) == {leaked.number: ""} and told(1_000).kinds == {"EXPECTED": 1}
    assert told(20).others == 3, "what has no room in a report counts"
