"""The dry run: a sample of two problems, extrapolated; its calls are the run's own."""

import asyncio

import pytest

from evosyn.synthesis.config import SynthesizeConfig
from evosyn.synthesis.estimate import PROBES, estimate, sample

CONFIG = SynthesizeConfig(problems=24, solutions=5, testings=4)


@pytest.fixture
def teacher(make_teacher):
    return make_teacher()


def test_the_sample_is_small_and_part_of_what_the_run_asks(toy, toy_seeds, toy_domain, teacher, tmp_path):
    sampled = asyncio.run(sample(toy_seeds, {toy_domain.name: toy_domain}, teacher, CONFIG))
    asked = list(teacher.asked)
    most = PROBES * (CONFIG.problem.attempts + 4 * CONFIG.sampling.attempts)
    assert sum(map(len, sampled.replies.values())) == len(asked) <= most
    toy.run(tmp_path / "d", CONFIG)
    assert set(asked) <= set(toy.teacher.asked)


def test_the_estimate_brackets_what_the_run_takes(toy, toy_seeds, toy_domain, teacher, tmp_path):
    sampled = asyncio.run(sample(toy_seeds, {toy_domain.name: toy_domain}, teacher, CONFIG))
    guess = estimate(CONFIG, sampled, concurrency=8)
    report = toy.run(tmp_path / "d", CONFIG)
    assert report["calls"] <= guess["calls_at_most"]
    assert report["executions"] <= guess["executions"] == 24 * 20
    assert guess["input_tokens"] == guess["calls"] * 10
    assert guess["cost"] == pytest.approx(guess["calls"] * 0.001)


def test_an_unknown_price_stays_unknown(toy_seeds, toy_domain, make_teacher):
    from dataclasses import replace

    class Unpriced(make_teacher):
        async def complete(self, request):
            return replace(await super().complete(request), cost=None)

    sampled = asyncio.run(sample(toy_seeds, {toy_domain.name: toy_domain}, Unpriced(), CONFIG))
    assert estimate(CONFIG, sampled, 8)["cost"] is None


def test_phases_add_up_to_the_whole(toy_seeds, toy_domain, teacher):
    sampled = asyncio.run(sample(toy_seeds, {toy_domain.name: toy_domain}, teacher, CONFIG))
    guess = estimate(CONFIG, sampled, 8)
    assert list(guess["phases"]) == ["problem", "solution", "testing"]
    for key in ("calls", "calls_at_most", "input_tokens", "output_tokens"):
        assert guess[key] == sum(phase[key] for phase in guess["phases"].values())
