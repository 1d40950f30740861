"""Replies written by hand to the prompts of a search, replayed through the whole command.

They differ in form on purpose: whole programs, edits, a diff, JSON, tags, thoughts, a refusal, a reply that was cut,
one that talks, one whose program raises. The pool was drawn by the offline teacher.
"""

import importlib.util
import json
from collections import Counter
from pathlib import Path

import pytest

from evosyn.evolve.events import Committed, Fate, events_of
from evosyn.rundir import RunDir

ROOT = Path(__file__).parents[2]
SPEC = importlib.util.spec_from_file_location("prompts", ROOT / "benchmarks" / "prompts.py")
assert SPEC is not None and SPEC.loader is not None
prompts = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(prompts)


@pytest.fixture(scope="module")
def replayed(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[str]]:
    run = tmp_path_factory.mktemp("recorded") / "run"
    replies = [path.read_text() for path in sorted((prompts.RECORDED / "replies").glob("*.md"))]
    return run, prompts.replay(replies, run)


def test_every_reply_ends_in_a_program_that_was_evaluated(replayed: tuple[Path, list[str]]) -> None:
    run, asked = replayed
    found = prompts.summary(run, asked)
    assert found["model_calls"] == len(asked) == 19
    assert found["waste"] == {}
    assert found["fates"]["invalid"] == 1
    assert sum(found["fates"].values()) == 17
    report = json.loads((run / "report.json").read_text())
    assert report["curve"][-1][2] > report["curve"][0][2]


def test_a_refusal_and_a_reply_that_was_cut_are_asked_about_in_words(replayed: tuple[Path, list[str]]) -> None:
    _, asked = replayed
    repairs = [text.rpartition("Your answer could not be used: ")[2] for text in asked if "could not be used" in text]
    assert [text.partition(".")[0] for text in repairs] == [
        "it holds no program",
        "what it holds is not Python, or was cut",
    ]
    (mended,) = [text for text in asked if "Your program was run, and it has no score" in text]
    assert "evidence has no attribute 'verdict'; it has passed" in mended


def test_no_program_and_no_function_stands_twice_in_a_prompt(replayed: tuple[Path, list[str]]) -> None:
    _, asked = replayed
    first = [text for text in asked if "could not be used" not in text and "it has no score" not in text]
    assert [prompts.asked(text).repeated for text in first] == [0] * len(first)


def test_what_was_tried_is_told_with_its_idea_and_its_outcome(replayed: tuple[Path, list[str]]) -> None:
    run, asked = replayed
    last = asked[-1].partition("# What was tried lately")[2]
    assert "New: solutions are judged by whether they give the same values" in last
    assert "# The data" in asked[0]
    assert "Known strategies score: " in asked[0]
    with RunDir(run) as opened:
        steps = [event for event in events_of(opened.journal) if isinstance(event, Committed)]
    fates = Counter(fate for event in steps[1:] for fate in event.fates)
    assert fates[Fate.NO_PROGRAM] == 0
    (mended,) = [event.step for event in steps[1:] if len(event.step.trials) == 2]
    assert mended.trials[1].candidate.detail["repairs"] == mended.trials[0].candidate.id
    ideas = [trial.candidate.detail["idea"] for event in steps[1:] for trial in event.step.trials]
    assert len([idea for idea in ideas if idea]) == len(ideas) - 1  # a program in tags came without a word
