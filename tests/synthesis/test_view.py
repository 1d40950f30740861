"""What a person sees of a running synthesis: counts that match its progress, on any terminal."""

from functools import partial

import pytest

from evosyn.chat import Reply
from evosyn.cli._progress import line_of, watching
from evosyn.cli._synthesis_view import funnel
from evosyn.synthesis.config import SynthesizeConfig
from evosyn.synthesis.progress import SynthesisProgress


def test_the_line_shows_what_was_counted():
    clock = iter([100.0, *[160.0] * 9]).__next__
    progress = SynthesisProgress(asked=10, clock=clock)
    progress.finished, progress.kept["evosyn"] = 4, 3
    progress.in_stage["draw"] += 1
    progress.reply(Reply("r", "x", "m", cost=0.5, input_tokens=1))
    progress.reply(Reply("r", "x", "m", cost=0.5, cached=True))
    progress.dropped["dedup: near-duplicate"] += 1
    line = line_of(progress, "problems")
    assert "4/10 problems ended: kept 3, dropped 1, 1 in draw" in line
    assert "2 replies (1 there already)" in line
    assert "$0.5000" in line
    assert line.endswith("about 1:30 left")


def test_what_is_watched_is_shown_at_the_end_even_without_a_terminal(capsys):
    line = partial(line_of, SynthesisProgress(asked=3), "problems")
    with watching(line) as say:
        say("toy")
    assert capsys.readouterr().err.splitlines()[0] == "[0:00] toy"
    with pytest.raises(ZeroDivisionError), watching(line, last=False):
        raise ZeroDivisionError
    assert "[0:00] 0/3 problems ended" in capsys.readouterr().err
    with watching(line, show=False):
        pass
    assert capsys.readouterr().err == ""


def test_the_funnel_has_every_setting_and_reason(toy, tmp_path, capsys):
    report = toy.run(tmp_path / "d", SynthesizeConfig(problems=24, solutions=5, testings=4))
    funnel(report)
    shown = capsys.readouterr().out
    for setting, counts in report["settings"].items():
        assert setting in shown
        for reason, count in counts["dropped"].items():
            assert f"{count} {reason}" in shown
    assert f"{report['calls']} model calls" in shown
    assert "SIMULATED" in shown


def test_the_counts_of_a_finished_run_agree_with_its_report(toy, tmp_path):
    report = toy.run(tmp_path / "d", SynthesizeConfig(problems=24, solutions=5, testings=4))
    assert toy.progress.finished == report["asked"]
    assert dict(toy.progress.kept) == {name: value["kept"] for name, value in report["settings"].items()}
    assert sum(toy.progress.dropped.values()) == sum(report["dropped"].values())
    assert toy.progress.usage.calls == report["calls"]
    assert all(count == 0 for count in toy.progress.in_stage.values())
