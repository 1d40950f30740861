"""What a person sees of a running synthesis: counts that match its progress, on any terminal."""

import pytest

from evosyn.chat import Reply
from evosyn.cli._synthesis_view import funnel, line_of, watching
from evosyn.synthesis.config import SynthesizeConfig
from evosyn.synthesis.progress import SynthesisProgress


def test_the_line_shows_what_was_counted():
    clock = iter([100.0, 160.0, 160.0, 160.0, 160.0]).__next__
    progress = SynthesisProgress(asked=10, clock=clock)
    progress.finished, progress.kept["evosyn"] = 4, 3
    progress.in_stage["draw"] += 1
    progress.reply(Reply("r", "x", "m", cost=0.5, input_tokens=1))
    progress.reply(Reply("r", "x", "m", cost=0.5, cached=True))
    line = line_of(progress)
    assert "4/10 problems ended (3 kept)" in line
    assert "1 in draw" in line
    assert "2 replies (1 from cache" in line
    assert "$0.5000" in line
    assert "1m00s, about 1m30s to go" in line


def test_what_is_watched_is_shown_at_the_end_even_without_a_terminal(capsys):
    with watching(SynthesisProgress(asked=3), True, "toy"):
        pass
    shown = capsys.readouterr().err
    assert "teacher: toy" in shown
    assert "0/3 problems ended" in shown
    with watching(SynthesisProgress(asked=3), False, "toy"):
        pass
    assert capsys.readouterr().err == ""


def test_an_error_passes_through_the_view():
    with pytest.raises(ZeroDivisionError), watching(SynthesisProgress(), True, "toy"):
        raise ZeroDivisionError


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
