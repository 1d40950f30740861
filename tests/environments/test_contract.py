"""The screen: what is an environment, and why a text is none, in words that its author can act on."""

from __future__ import annotations

import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evosyn.environments import bundled, environment, sources
from evosyn.environments.contract import read_environment
from evosyn.errors import UsageError

SOUND = bundled("known")["modular-chain"].read_text()


def replaced(old: str, new: str) -> str:
    assert old in SOUND
    return SOUND.replace(old, new)


REFUSED = {
    "too-long": SOUND + "#" * 20_000,
    "does-not-parse: line 1": "def (",
    "does-not-parse:": SOUND + "\0",
    "does-not-parse: UnicodeEncodeError": SOUND + "# \ud800",
    "does-not-parse": "x = " + "(" * 5000,
    "does-not-parse: nested too deeply": SOUND + f"\n\ndef pad(a):\n    return {'+'.join('a' * 600)}\n",
    "no-verify": replaced("def verify(", "def check("),
    "signature-observe: line": replaced("observe(instance)", "observe(instance, reference)"),
    "signature-generate: line": replaced("generate(rng, knobs)", "generate(rng, *knobs)"),
    "module-statement: line": SOUND + "\nfor i in range(3):\n    pass\n",
    "import:os: line": SOUND + "\nimport os\n",
    "import:os.path: line": SOUND + "\nfrom os.path import join\n",
    "import:.: line": SOUND + "\nfrom . import secret\n",
    "name:eval: line": replaced("answer.strip()", "eval(answer)"),
    "name:__builtins__: line": replaced("answer.strip()", "__builtins__"),
    "dunder: line": replaced("answer.strip()", "answer.__class__"),
    "global-state: line": SOUND + "\ndef f():\n    global KIND\n",
    "integer: line": SOUND + "\nBIG = 0x" + "f" * 5000 + "\n",
    "no-title: begin with a docstring whose": replaced('"""Follow', '"""\\ud800 Follow'),
    "no-title": SOUND.partition("\n")[2],
    "category: CATEGORY is one of": replaced('"number"', '"riddles"'),
    "category": replaced('"number"', f'"{"x" * 10_000}"'),
    "kind": replaced('"exact"', '"both"'),
    "levels": replaced("LEVELS = 5", "LEVELS = True"),
    "knobs": replaced("(3, 5, 8, 12, 18)", "(3, 5, 8, 12)"),
    "too-long:": replaced("(3, 5, 8, 12, 18)", f"({'7, ' * 10**6})"),
    "knobs: KNOBS is a": replaced("(3, 5, 8, 12, 18)", f"({'7, ' * 5000})"),
    "knobs: KNOBS is a literal: each": replaced("(3, 5, 8, 12, 18)", "(3, 5, 8, 12, '\\ud800')"),
    "knobs: KNOBS": replaced("(3, 5, 8, 12, 18)", "(3, 5, 8, 12, 1e999)"),
    "knobs: KNOBS is": replaced("(3, 5, 8, 12, 18)", "tuple(range(5))"),
}


@pytest.mark.parametrize("reason", REFUSED)
def test_what_is_none_is_refused_with_the_reason_and_the_line(reason: str) -> None:
    read = read_environment(REFUSED[reason])
    assert read.value is None and read.reason.startswith(reason), read.reason


def test_a_sound_one_is_read() -> None:
    found = read_environment(SOUND).value
    assert found is not None and found.title == "Follow a chain of operations modulo a number."
    assert (found.category, found.kind, found.solves) == ("number", "exact", True)
    assert found.knobs_at(5) == {"steps": 18, "modulus": 997}
    assert found.id.startswith("e_") and found.id == environment("modular-chain").id


@given(st.text(max_size=300) | st.binary(max_size=300).map(lambda raw: raw.decode("latin-1")))
def test_arbitrary_text_is_refused_and_never_raises(text: str) -> None:
    assert read_environment(text).value is None


def test_a_name_that_is_none_offers_the_nearest() -> None:
    with pytest.raises(UsageError, match="did you mean 'knapsack'"):
        sources(["knapsak"])
    with pytest.raises(UsageError, match="name one"):
        environment("builtin:held-out")


@pytest.mark.parametrize("make", [os.mkfifo, os.mkdir, lambda path: path.symlink_to("nowhere")])
@pytest.mark.parametrize("inner", ["", "programs"])
def test_what_is_no_file_is_named_and_not_waited_for(make, inner, tmp_path) -> None:  # type: ignore[no-untyped-def]
    (tmp_path / inner).mkdir(exist_ok=True)
    (tmp_path / inner / "a.py").write_text(SOUND)
    make(tmp_path / inner / "x.py")
    with pytest.raises(UsageError, match=r"x\.py: is no file of a program"):
        sources([str(tmp_path)])
