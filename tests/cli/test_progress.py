"""What a person sees while models are asked: from the first reply on, in a log as on a terminal."""

import re
import time

import pytest
from click.testing import CliRunner
from simulation.scripted_server import ScriptedServer

from evosyn.chat import Reply
from evosyn.cli import _progress, group
from evosyn.running.progress import ReplyCounts, left_s
from tests.cli.test_evolve_drawing import SETS, SMALL, author, seeds  # noqa: F401  (a fixture)


def timed(stderr):
    """The seconds and texts of the lines that have a time."""
    found = re.findall(r"^\[(\d+):(\d\d)\] (.*)$", stderr, re.M)
    return [(60 * int(minutes) + int(rest), text) for minutes, rest, text in found]


def evolved(seeds, out, server, *more):  # noqa: F811
    line = ["evolve", str(seeds), "--out", str(out), "--model", "openai/m", "--base-url", server.base_url, *SMALL]
    line.remove("--json")
    return CliRunner().invoke(group, [*line, *(f"--set={one}" for one in SETS), *more])


def test_drawing_tells_of_each_reply_before_any_problem_is_done(seeds, tmp_path, monkeypatch):  # noqa: F811
    monkeypatch.setattr(_progress, "FIRST_S", 0.1)
    monkeypatch.setattr(_progress, "EVERY_S", 0.1)
    with ScriptedServer(author, latency_s=0.1, slots=2) as server:
        told = [
            text
            for _, text in timed(evolved(seeds, tmp_path / "run", server, "--set=workbench.teacher.calls=4").stderr)
        ]
    asking = [text for text in told if text.startswith("asking: ")]
    counts = [int(re.search(r"([\d,]+)( of about|\s)", text)[1]) for text in asking]
    assert counts == sorted(counts) and len({*counts}) > 5 and 0 < min(one for one in counts if one) < 8
    assert all(re.search(r"of about 4\d replies", text) for text in asking[:-1])
    assert re.search(r"\d+ tokens, \d+ tokens/s", asking[-1])
    done = [text for text in told if text.startswith(("asked: 6 problems; 48 replies", "executed: 6 problems"))]
    assert len(done) == 2 and not [text for text in told if "executing: 0" in text]
    stays = [text for text in told if not re.match("(asking|executing|starting|searching|scoring)", text)]
    assert len({*stays}) == len(stays) > 5, "one thing is said twice"


def test_what_was_there_already_is_told(seeds, tmp_path):  # noqa: F811
    with ScriptedServer(author) as server:
        stopped = evolved(seeds, tmp_path / "run", server, "--max-calls", "20")
        assert stopped.exception is not None and server.counts.requests == 20
        told = evolved(seeds, tmp_path / "run", server, "--max-calls", "100").stderr
    assert re.search(r"asked: 6 problems; 48 replies \(1[89] there already\)", told), told


def test_lines_come_now_and_then_and_each_has_its_time(capsys, monkeypatch):
    monkeypatch.setattr(_progress, "FIRST_S", 0.1)
    monkeypatch.setattr(_progress, "EVERY_S", 0.2)
    with _progress.watching(lambda: "on the way") as say:
        say("begun")
        time.sleep(0.5)
    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == "[0:00] begun" and 3 <= len(lines) <= 5 and {*lines[1:]} == {"[0:00] on the way"}
    assert _progress.FIRST_S < 15 and _progress.EVERY_S < 30


@pytest.mark.parametrize(
    ("done", "whole", "seconds", "left"),
    [(0, 100, 60, None), (4, 100, 60, None), (50, 100, 9, None), (50, 100, 60, 60), (100, 100, 60, 0)],
)
def test_the_time_left_is_told_once_it_says_something(done, whole, seconds, left):
    assert left_s(done, whole, seconds) == left


def test_what_was_there_already_does_not_speed_the_estimate_up():
    counts = ReplyCounts(clock=iter([0.0, 0.0, 100.0, 100.0]).__next__)
    counts.expect(100)
    for number in range(60):
        counts.reply(reply := Reply(str(number), "x", "m", cached=number < 50))
        counts.end_slot([reply], unusable=0)
    assert counts.eta_s == pytest.approx(400.0)
    assert "60 of about 100 replies (50 there already)" in _progress.replies_of(counts)
