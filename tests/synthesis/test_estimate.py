"""The dry run: a sample of two problems, extrapolated; its calls are the run's own."""

import asyncio

import pytest

from evosyn.chat import Reply
from evosyn.synthesis.config import SynthesizeConfig
from evosyn.synthesis.estimate import PROBES, Sampled, SamplingTeacher, Span, estimate, pace_of, sample

CONFIG = SynthesizeConfig(problems=24, solutions=5, testings=4)


@pytest.fixture
def teacher(make_teacher):
    return make_teacher()


def sampled_of(seeds, domain, teacher):
    asking = SamplingTeacher(teacher)
    asyncio.run(sample(seeds, {domain.name: domain}, asking, CONFIG))
    return asking.sampled()


def test_the_sample_is_small_and_part_of_what_the_run_asks(toy, toy_seeds, toy_domain, teacher, tmp_path):
    sampled = sampled_of(toy_seeds, toy_domain, teacher)
    asked = list(teacher.asked)
    assert sum(map(len, sampled.replies.values())) == len(asked) <= PROBES * (CONFIG.problem.attempts + 4)
    assert len(sampled.replies["solution"]) + len(sampled.replies["testing"]) == PROBES * 4, "no slot is asked twice"
    toy.run(tmp_path / "d", CONFIG)
    assert set(asked) <= set(toy.teacher.asked)


def test_the_estimate_brackets_what_the_run_takes(toy, toy_seeds, toy_domain, teacher, tmp_path):
    sampled = sampled_of(toy_seeds, toy_domain, teacher)
    guess = estimate(CONFIG, sampled, concurrency=8)
    report = toy.run(tmp_path / "d", CONFIG)
    assert report["calls"] <= guess["calls_at_most"]
    assert report["executions"] <= guess["executions"] == 24 * 20
    assert guess["input_tokens"] == guess["calls"] * 10
    assert guess["model_wall_s"] is None, "no reply took any time"
    assert guess["cost"] == pytest.approx(guess["calls"] * 0.001)


def test_an_unknown_price_stays_unknown(toy_seeds, toy_domain, make_teacher):
    from dataclasses import replace

    class Unpriced(make_teacher):
        async def complete(self, request):
            return replace(await super().complete(request), cost=None)

    sampled = sampled_of(toy_seeds, toy_domain, Unpriced())
    assert estimate(CONFIG, sampled, 8)["cost"] is None


def test_phases_add_up_to_the_whole(toy_seeds, toy_domain, teacher):
    sampled = sampled_of(toy_seeds, toy_domain, teacher)
    guess = estimate(CONFIG, sampled, 8)
    assert list(guess["phases"]) == ["problem", "solution", "testing"]
    for key in ("calls", "calls_at_most", "input_tokens", "output_tokens"):
        assert guess[key] == sum(phase[key] for phase in guess["phases"].values())


def spans(*calls):
    """Calls of 100 tokens each, which begin with the end of the group before; a group is (how many, seconds)."""
    found, now = [], 0.0
    for many, seconds in calls:
        found += [Span(now, now + seconds, 100)] * many
        now += seconds
    return found


@pytest.mark.parametrize(
    ("calls", "at", "a_second"),
    [
        ([(1, 2.0), (7, 2.0)], 16, 800),  # each call has its own speed
        ([(1, 2.0), (7, 2.1)], 16, 800),  # as far as eight calls tell
        ([(1, 2.0), (7, 14.0)], 16, 50),  # all share one
        ([(1, 2.0), (7, 5.0)], 16, 1600 / 9.5),  # between these
        ([(8, 2.0)], 8, 400),  # nothing is known of fewer
    ],
)
def test_the_pace_of_more_calls_is_told_from_one_and_a_few(calls, at, a_second):
    pace = pace_of(spans(*calls))
    assert at / pace.a_token(at) == pytest.approx(a_second, rel=0.06)
    assert pace_of([]) is None and pace_of([Span(0.0, 1.0, 0)]) is None


def test_replies_that_cannot_be_used_are_counted_again_and_longer_where_they_were_cut():
    def reply(failure=None):
        return Reply("r", "x", "m", failure, input_tokens=10, output_tokens=100, cost=1.0)

    whole, cut = [reply(), reply(), reply()], reply("truncated")
    plain = Sampled({"testing": [*whole, reply()]}).phase("testing", 40, 80)
    assert (plain.calls, plain.output_tokens, round(plain.cost, 6)) == (40, 4000, 40.0)
    again = Sampled({"testing": [*whole, reply()]}, lost={"testing": [reply()]}).phase("testing", 40, 80)
    assert (again.calls, again.at_most, again.output_tokens, round(again.cost, 6)) == (50, 80, 5000, 50.0)
    longer = Sampled({"testing": [*whole, cut]}, lost={"testing": [cut]}).phase("testing", 40, 80)
    assert longer.calls == 50 and longer.output_tokens == 6000 and longer.cost > 50
