"""Hostile environments harm nothing and are stopped, also where nobody screens them; an honest one passes afterwards."""

from __future__ import annotations

import os
import random
from pathlib import Path

import pytest
from hostile_programs import HOSTILE, SOUND, Hostile, program

from evosyn.chat import Parsed
from evosyn.environments import ladder as rungs
from evosyn.environments.contract import Environment, read_environment
from evosyn.environments.ladder import Ladder

SEED = os.environ.get("EVOSYN_TEST_SEED", "0")
DRAWN = random.Random(f"hostile environments/{SEED}").sample(HOSTILE, 5)


@pytest.fixture
def unscreened(monkeypatch: pytest.MonkeyPatch) -> None:
    """The ladder without L1: whatever the text, it is run as an environment."""
    sound = read_environment(SOUND).value
    assert sound is not None
    fields = (sound.title, sound.category, sound.kind, sound.knobs, True)
    monkeypatch.setattr(rungs, "read_environment", lambda text, _: Parsed(Environment(text, *fields)))


def harmless(ladder: Ladder, hostile: Hostile) -> None:
    climb = ladder.check(program(hostile))
    assert any(climb.reason.startswith(one) if one else not climb.reason for one in hostile.reasons), (
        hostile.name,
        climb.level,
        climb.reason,
    )
    assert not Path("/tmp/hostile-environment").exists()
    assert ladder.check(SOUND).reason == ""


@pytest.mark.parametrize("hostile", DRAWN, ids=lambda hostile: f"{hostile.name}-seed-{SEED}")
@pytest.mark.usefixtures("unscreened")
def test_a_drawn_one_is_stopped(ladder: Ladder, hostile: Hostile) -> None:
    harmless(ladder, hostile)


@pytest.mark.long
@pytest.mark.parametrize("hostile", HOSTILE, ids=lambda hostile: hostile.name)
@pytest.mark.usefixtures("unscreened")
def test_each_is_stopped(ladder: Ladder, hostile: Hostile) -> None:
    harmless(ladder, hostile)


def test_an_honest_one_passes(ladder: Ladder) -> None:
    assert ladder.check(SOUND).reason == ""


@pytest.mark.parametrize(
    ("function", "named"),
    [("generate", "generate:killed"), ("observe", "observe:killed"), ("verify", "verify:killed")],
)
@pytest.mark.usefixtures("unscreened")
def test_one_that_breaks_in_the_second_process_alone_is_named_as_broken(
    ladder: Ladder, function: str, named: str
) -> None:
    top = (
        f"import os, sys\nreal = {function}\n\n\ndef {function}(*given):\n"
        "    if sys.flags.hash_randomization:\n        os._exit(3)\n    return real(*given)\n"
    )
    assert ladder.check(f"{SOUND}\n{top}").reason.startswith(named)


@pytest.mark.parametrize("values", ["1", "1, 2, 3", ""])
def test_a_call_that_breaks_is_told_with_its_own_level_whatever_the_values_before_it(
    ladder: Ladder, values: str
) -> None:
    """Of the levels named the verifier gives 2, which is L5's to refuse; at level 5 it hangs."""
    text = SOUND.replace('{"a": a, "b": b}', '{"a": a, "b": b, "digits": len(str(knobs["largest"])) // 2}').replace(
        "    return answer.strip()",
        f'    if instance["digits"] in ({values}{"," * bool(values)}):\n        return 2\n'
        '    while instance["digits"] == 5:\n        pass\n    return answer.strip()',
    )
    climb = ladder.check(text)
    assert climb.level == 1 and climb.reason.startswith("verify:timeout") and climb.reason.endswith("(level 5)")
