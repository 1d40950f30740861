"""Defects put into sound environments are stopped at the rung that is named for them.

The pairs of environment and defect are halved by content: thresholds were set while one half was looked at, the figures
of the other are held to the bounds. A drawn sample in the fast lane, all of them in the long one, which prints them.
"""

from __future__ import annotations

import hashlib
import os
import random
import sys
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from simulation.environments.defects import DEFECTS, Defect

from evosyn.environments import bundled
from evosyn.environments.contract import Environment
from evosyn.environments.ladder import Climb, Ladder
from evosyn.environments.novelty import NoveltyPool

SEED = os.environ.get("EVOSYN_TEST_SEED", "0")
KNOWN = {name: path.read_text() for name, path in bundled("known").items()}
PAIRS = [(name, defect) for name in KNOWN for defect in DEFECTS]
DRAWN = random.Random(f"defects/{SEED}").sample(PAIRS, 12)
NAMED, ANY = 0.97, 0.95


def is_held(name: str, defect: Defect) -> bool:
    """Which half a pair is in."""
    return hashlib.sha256(defect.key(name).encode()).digest()[0] % 2 == 1


def sound(ladder: Ladder, name: str) -> tuple[Climb, list[str]]:
    """The environment without the defect, and its right answers."""
    from evosyn.environments.runner import EnvironmentRunner, MadeInstance, instance_seed, right_answers
    from evosyn.randomness import SeedTree

    climb = ladder.check(KNOWN[name])
    assert climb.environment is not None and not climb.reason
    runner: EnvironmentRunner = ladder._runner
    cells = [(level, instance_seed(SeedTree(1), climb.environment, level, 0)) for level in range(1, 6)]
    made = [one for one in runner.generate(climb.environment, cells) if isinstance(one, MadeInstance)]
    return climb, [str(one) for one in right_answers(climb.environment, runner, made)]


def stage_of(ladder: Ladder, name: str, defect: Defect, original: Climb) -> str:
    """What stops an environment with the defect: a rung, `novelty` beside the sound one, or ""."""
    source = defect.change(KNOWN[name])
    assert source != KNOWN[name]
    climb = ladder.check(source)
    if climb.reason:
        return climb.stage
    assert isinstance(original.environment, Environment) and climb.environment is not None
    pool = NoveltyPool()
    pool.add(original.environment, original.prompts)
    nearest = pool.nearest(climb.environment, climb.prompts)
    return "novelty" if nearest is not None and nearest.reason else ""


@pytest.mark.parametrize(("name", "defect"), DRAWN, ids=[f"{defect.key(name)}-seed-{SEED}" for name, defect in DRAWN])
def test_a_drawn_defect_is_stopped(ladder: Ladder, name: str, defect: Defect) -> None:
    original, answers = sound(ladder, name)
    if not defect.needs(answers):
        pytest.skip("for the answers of this environment it is none")
    assert stage_of(ladder, name, defect, original) in defect.stages


@pytest.mark.parametrize(
    "defect", [one for one in DEFECTS if one.name in ("constant", "solve-raises")], ids=lambda one: one.name
)
def test_a_defect_of_the_solver_leaves_the_instances_as_they_were(defect: Defect) -> None:
    for name, source in KNOWN.items():
        made = []
        for text in (source, defect.change(source)):
            program: dict[str, Any] = {}
            exec(text, program)
            knobs = {knob: values[1] for knob, values in program["KNOBS"].items()}
            made.append(program["generate"](random.Random(3), knobs))
        assert made[0] == made[1], name


@pytest.mark.long
def test_each_class_is_stopped_at_its_rung(ladder: Ladder, capsys: pytest.CaptureFixture[str]) -> None:
    sounds = {name: sound(ladder, name) for name in KNOWN}
    pairs = [(name, defect) for name, defect in PAIRS if defect.needs(sounds[name][1])]
    with ThreadPoolExecutor(4) as threads:
        stages = list(threads.map(lambda pair: stage_of(ladder, *pair, sounds[pair[0]][0]), pairs))
    rows: dict[tuple[str, bool], list[tuple[bool, bool]]] = defaultdict(list)
    missed = []
    for (name, defect), stage in zip(pairs, stages, strict=True):
        found = (stage in defect.stages, bool(stage))
        for kind in (defect.kind, "all"):
            rows[kind, is_held(name, defect)].append(found)
        missed += [] if found[0] else [(defect.key(name), stage or "nothing", is_held(name, defect))]
    lines = [f"\n{'class':12} {'half':9} {'pairs':>5} {'named rung':>11} {'any':>6}"]
    for (kind, held), found in sorted(rows.items()):
        named, stopped = (sum(column) / len(found) for column in zip(*found, strict=True))
        half = "held out" if held else "looked at"
        lines.append(f"{kind:12} {half:9} {len(found):5} {named:11.3f} {stopped:6.3f}")
    with capsys.disabled():
        sys.stdout.write("\n".join([*lines, *(f"not at its rung: {one}" for one in missed)]) + "\n")
    assert len(pairs) >= 300
    for (kind, held), found in rows.items():
        named, stopped = (sum(column) / len(found) for column in zip(*found, strict=True))
        assert not held or (named >= NAMED and stopped >= ANY), (kind, named, stopped)
