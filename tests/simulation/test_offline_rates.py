"""How often the offline teacher is right: by what it meant to send, and (slow) by real execution."""

from __future__ import annotations

import importlib.util
import statistics
from pathlib import Path

import pytest

from evosyn.crossexec.executor import CrossExecutor
from evosyn.crossexec.judge import Judge
from evosyn.domains import domain as domain_named
from evosyn.domains import domains_named, load_pools
from evosyn.ports import TeacherTools
from evosyn.records import Problem, Solution
from evosyn.sandbox import open_sandbox
from evosyn.simulation.offline import DOMAINS, OfflineConfig, OfflineTeacher, create
from evosyn.synthesis.generate import draw_pools

SPEC = importlib.util.spec_from_file_location("_measured", Path(__file__).parents[2] / "benchmarks" / "_measured.py")
assert SPEC is not None and SPEC.loader is not None
pools = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(pools)
RATES, RECORDED = pools.RATES, pools.RECORDED

pytestmark = pytest.mark.slow

RIGHT = {"right", "near", "stray", "slow"}


@pytest.fixture(scope="module")
def sandbox():
    with open_sandbox() as opened:
        yield opened


@pytest.fixture(scope="module")
def seeds():
    problems = [pool.problem for pool in load_pools("builtin:python-seeds")]
    return problems[:: len(problems) // 8]


@pytest.fixture(scope="module")
def teachers(sandbox):
    return {
        name: create(TeacherTools(seed=0, sandbox=lambda: sandbox), OfflineConfig(strength=name))
        for name in ("weak", "mixed", "strong")
    }


def meant(teacher: OfflineTeacher, seeds: list[Problem], purpose: str) -> list[float]:
    """For each seed the share of usable replies that were meant to be right."""
    shares = []
    for problem in seeds:
        truths = [teacher.draw(problem, purpose, sample).truth.split("/")[0] for sample in range(120)]
        usable = [truth for truth in truths if truth not in {"malformed", "prose", "does-not-parse", "misnamed"}]
        shares.append(sum(truth in RIGHT for truth in usable) / len(usable))
    return shares


@pytest.mark.parametrize("purpose", ["solution", "testing"])
def test_stronger_presets_are_right_more_often_and_near_the_recorded_share(teachers, seeds, purpose):
    target = RATES.index("share of right solutions, mean over problems") if purpose == "solution" else 2
    found = {name: statistics.mean(meant(teacher, seeds, purpose)) for name, teacher in teachers.items()}
    assert found["weak"] < found["mixed"] < found["strong"]
    for name, share in found.items():
        assert abs(share - RECORDED[name][target]) <= 0.15, (name, found)


def test_problems_differ_in_how_often_solutions_are_right(teachers, seeds):
    shares = meant(teachers["mixed"], seeds, "solution")
    assert statistics.stdev(shares) >= 0.12
    assert max(shares) >= 0.6
    assert min(shares) <= 0.4


def test_testings_have_many_sizes(teachers, seeds):
    teacher = teachers["mixed"]
    domain = domain_named(seeds[0].domain)
    parsed = [domain.read("testing", teacher.draw(seeds[0], "testing", n).text, seeds[0]).value for n in range(150)]
    sizes = [len(one.body["cases"]) for one in parsed if one is not None and isinstance(one.body["cases"], list)]
    assert 8 <= statistics.mean(sizes) <= 14
    assert min(sizes) <= 4
    assert max(sizes) >= 20


@pytest.mark.slow
def test_executed_pools_are_near_the_recorded_ones(sandbox, teachers, seeds):
    domains = domains_named(DOMAINS)
    drawn = draw_pools(seeds, teachers["mixed"], domains, solutions=14, testings=12)
    items = [
        (pool.problem, [*pool.solutions, Solution(pool.problem.reference_solution or "")], list(pool.testings))
        for pool in drawn
    ]
    problems = [pools.measured(matrix) for matrix in CrossExecutor(Judge(sandbox, domains)).matrices(items)]
    found = dict(zip(RATES, pools.rates(problems), strict=True))
    recorded = dict(zip(RATES, RECORDED["mixed"], strict=True))
    for name in RATES[1:5]:
        assert abs(found[name] - recorded[name]) <= 0.17, (name, found)
    assert found["testings that accept everybody"] <= 0.1
    assert 0.55 <= found["balanced accuracy of a testing, mean"] <= 0.75
    quantiles = pools.spread(problems)["right solutions"]
    assert quantiles[-1] - quantiles[0] >= 0.3
