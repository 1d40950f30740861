"""Replies that were written by hand to the prompts of `evosyn env make`, through the whole command: honest ones, chatty
ones, cut ones, refusals and other forms. tests/recorded/README.md tells what is odd about each."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from evosyn.cli.env import command
from evosyn.dataset import read_rejects
from evosyn.environments.asking import PURPOSES
from tests.recorded.playing import HERE, teacher, written

WRITTEN = HERE / "environments"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("written") / "made"
    sizes = [
        "--keywords",
        str(WRITTEN / "keywords.txt"),
        "--limit",
        "15",
        "--verifiers",
        "2",
        "--reviews",
        "1",
        "--quiet",
    ]
    sets = [
        one
        for name in ("crosscheck.solvers=2", "crosscheck.rounds=1", "judging.revisions=2")
        for one in ("--set", name)
    ]
    ended = CliRunner().invoke(command, ["make", "--out", str(out), "--teacher", teacher(WRITTEN), *sizes, *sets])
    assert ended.exit_code == 0, (ended.output, ended.exception)
    return out


def kept(made: Path) -> dict[str, dict[str, object]]:
    rows = [json.loads(line) for line in (made / "environments.jsonl").read_text().splitlines()]
    return {row["name"]: row for row in rows}


@pytest.mark.slow
def test_what_is_sound_is_kept_whatever_form_it_came_in(made: Path) -> None:
    assert set(kept(made)) == {f"env-{index:06}" for index in (0, 1, 2, 4, 6, 7, 8, 9, 10)}
    dropped = {(one.stage, one.reason, one.index) for one in read_rejects(made) if one.item == "environment"}
    assert dropped == {
        ("review", "rejected", 3),
        ("l1", "import:hashlib", 5),
        ("l2", "solve:raises", 11),  # what was revised divides by zero
        ("judge", "not-revised", 12),
        ("review", "rejected", 13),
        ("judge-code", "difficulty", 14),
    }


@pytest.mark.slow
def test_replies_that_cannot_be_read_are_counted_and_asked_for_again(made: Path) -> None:
    replies = {(one.stage, one.index) for one in read_rejects(made) if one.item == "reply"}
    twice = {
        *(("environment", 2), ("judge-code", 2), ("judge-questions", 2), ("verifier", 2), ("solver", 2), ("review", 4)),
        *(
            ("revision", 7),
            ("solver", 7),
            ("revision", 8),
            ("review", 8),
            ("judge-code", 9),
            ("verifier", 9),
            ("review", 9),
        ),
        *(("judge-questions", 11), ("revision", 12)),
    }
    assert twice <= replies
    report = json.loads((made / "report.json").read_text())
    assert report["calls"] == len(list(WRITTEN.glob("*.md")))
    assert min(written(WRITTEN, kind) for kind in PURPOSES) >= 12


@pytest.mark.slow
def test_a_lenient_verifier_is_not_chosen_and_a_revision_is_judged_again(made: Path) -> None:
    rows = kept(made)
    assert rows["env-000004"]["revised"] == 1 and len(rows["env-000004"]["judgements"]) == 2 * 2 + 1
    own, other = rows["env-000001"]["verifiers"]
    assert own["chosen"] and not other["chosen"]
    assert rows["env-000000"]["crosscheck"]["accepted"] == 1


@pytest.mark.slow
def test_what_a_revision_leaves_as_it_was_is_judged_again_and_may_be_revised_again(made: Path) -> None:
    judged = kept(made)["env-000010"]["judgements"]
    code = [one["accepts"] for one in judged if one["of"] == "judge-code"]
    assert code == [False, False, True] and kept(made)["env-000010"]["revised"] == 2
