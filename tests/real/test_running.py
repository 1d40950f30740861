"""What `make test-real` asserts of every command sees what it is for, with a scripted server in the model's place."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from _replies import script
from simulation.scripted_server import ScriptedServer

from evosyn.chat import Reply
from evosyn.teachers.cache import Asked, Kept
from tests.real.meter import Answered, Meter
from tests.real.plain import missed
from tests.real.running import Lane, Line, longest_silence, lost_unnamed, paid_beside, reported, spent_on


@pytest.mark.slow
@pytest.mark.parametrize("kills", [0, 2])
def test_a_sound_command_passes_and_is_seen_whole(kills: int, tmp_path: Path) -> None:
    with ScriptedServer(script, latency_s=0.2 + kills / 4) as server, Meter(server.base_url) as meter:
        words = ("synthesize", "codet.py", "--seeds", "builtin:python-seeds", "--problems", "6", "-M", "4", "-N", "4")
        (tmp_path / "codet.py").write_text(
            "def rank(evidence):\n    return evidence.passed.sum(1), evidence.passed.sum(0)\n"
        )
        more = ("--set", "sampling.concurrency=1", "--model", "openai/m", "--out", "data")
        Lane(meter, None, tmp_path).run(*words, *more, kills=kills, named=True, ends=(0, 1))
        assert len(meter.answered) <= server.counts.requests
        report = reported(tmp_path / "data")
        assert report is not None and (kills or report == spent_on(meter.answered, report[0]))


@pytest.mark.parametrize(
    ("reason", "kind", "text", "seen"),
    [
        ("no-cases", "testing", "Here:\n```python\nassert f(1) == 2\nassert f(\n", True),
        ("reply-truncated", "testing", "```\nx = 1\n  assert g(f(1), 2)\n```", True),
        ("does-not-parse", "solution", "```py\ndef f(x):\n    return x\n```", True),
        ("only-the-example", "testing", "```\nassert f(1) == 2\n```", False),
        ("no-cases", "testing", "```\nassert other(1) == 2\n```\n```\nassert f(1) == 2\n```", False),
        ("no-code", "solution", "def f(x): return x", False),
    ],
)
def test_a_reply_is_missed_that_a_plain_reader_reads(reason: str, kind: str, text: str, seen: bool) -> None:
    assert missed(reason, kind, text, "f") is seen


@pytest.mark.parametrize(
    ("at", "end", "said"),
    [
        ([1, 29, 58], 80, ""),
        ([16], 20, "first"),
        ([1, 40], 41, "39 s after second 1"),
        ([2], 40, "38 s"),
        ([], 20, "first"),
    ],
)
def test_silence_is_told_by_where_it_was(at: list[float], end: float, said: str) -> None:
    found: Any = longest_silence(SimpleNamespace(lines=[Line(one, "x") for one in at], seconds=end))  # type: ignore[arg-type]
    assert (found is None) if not said else said in found


def test_calls_and_tokens_are_compared_with_the_server() -> None:
    body = {"messages": [{"role": "user", "content": "q"}]}
    kept = [Reply("r_1", "x", "m", input_tokens=3, output_tokens=5)]
    assert paid_beside(kept, [Answered(body, 3, 5), Answered(body, 3, 5)]) == 1
    with pytest.raises(AssertionError, match="other tokens"):
        paid_beside(kept, [Answered(body, 3, 6)])


def test_a_reply_that_no_file_names_is_lost(tmp_path: Path) -> None:
    names = ["r_" + digit * 16 for digit in "ab"]
    (tmp_path / "rejects.jsonl").write_text(f'{{"reply": "{names[0]}", "reason": ""}}\n')
    kept = [Kept(Reply(name, "", "m"), Asked("testing", "p_1", 0, {})) for name in names]
    found = lost_unnamed(tmp_path, kept)
    assert found[0] == names[1] and len(found) == 2
