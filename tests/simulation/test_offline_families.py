"""Families: every draw is a whole problem, its solutions agree, and different draws are different problems."""

from __future__ import annotations

import random

import pytest
from simulation.author import catalogue
from simulation.author.problems import draw_problem
from simulation.author.study import INSIDE
from simulation.author.values import same
from simulation.offline import OfflineConfig, create

from evosyn.domains import domain as domain_named
from evosyn.errors import UsageError
from evosyn.jobs import Call, CallsJob, Limits, Status
from evosyn.ports import TeacherTools
from evosyn.randomness import SeedTree
from evosyn.records import Problem
from evosyn.sandbox import open_sandbox

FAMILIES = catalogue.family_names()


@pytest.fixture(scope="module")
def sandbox():
    with open_sandbox() as opened:
        yield opened


def tasks(name: str, count: int) -> list[catalogue.FamilyTask]:
    family = catalogue.family(name)
    tree = SeedTree(5).child(name)
    return [family.build(family.draw(tree.child(index).random())) for index in range(count)]


def probe(sandbox, task: catalogue.FamilyTask, source: str, inputs: list) -> list:
    call = Call(args=(source, task.entry_point, inputs, [10**7] * len(inputs)))
    outcome = sandbox.run([CallsJob(INSIDE, "probe", (call,), Limits(wall_s=20.0, output_kb=16_384))])[0][0]
    assert outcome.status is Status.OK, outcome
    return [list(item) for item in outcome.value]


def test_there_are_enough_families_of_both_domains():
    assert len(FAMILIES) >= 14
    assert len(catalogue.family_names("python-stdin")) >= 5
    assert len(catalogue.family_names("python-function")) >= 5


@pytest.mark.parametrize("name", FAMILIES)
def test_reference_and_alternatives_agree_on_generated_inputs(name, sandbox):
    for task in tasks(name, 8):
        calls = tuple(Call(args=(task.generator, list(range(6)), size)) for size in range(4))
        drawn = sandbox.run([CallsJob(INSIDE, "make", calls, Limits(wall_s=20.0, output_kb=16_384))])[0]
        assert all(outcome.status is Status.OK for outcome in drawn), drawn
        inputs = [value for outcome in drawn for value in outcome.value]
        wanted = probe(sandbox, task, task.reference, inputs)
        assert {kind for kind, _, _ in wanted} <= {"ok", "long"}, task.statement
        assert task.alternatives
        for other in task.alternatives:
            for value, right, found in zip(inputs, wanted, probe(sandbox, task, other, inputs), strict=True):
                assert right[0] == found[0], (task.statement, value, found)
                assert same(right[1], found[1]), (task.statement, value, right, found)


@pytest.mark.parametrize("name", [name for name in FAMILIES if name != "one_step"])
def test_outputs_vary_over_generated_inputs(name, sandbox):
    """A problem whose answer hardly depends on its input is none."""
    varied = 0
    for task in tasks(name, 12):
        calls = tuple(Call(args=(task.generator, list(range(8)), size)) for size in (1, 2))
        inputs = [value for outcome in sandbox.run([CallsJob(INSIDE, "make", calls)])[0] for value in outcome.value]
        outputs = {repr(item[1]) for item in probe(sandbox, task, task.reference, inputs)}
        varied += len(outputs) >= 3
    assert varied >= 8


@pytest.mark.parametrize("name", FAMILIES)
def test_a_family_builds_the_same_problem_from_the_same_parameters(name):
    family = catalogue.family(name)
    params = family.draw(random.Random(3))
    assert family.build(params) == family.build(dict(params))
    assert catalogue.task_of({"family": name, "params": params}) == family.build(params)
    assert 0.0 <= family.build(params).difficulty <= 1.0


def test_statements_are_distinct_over_500_draws():
    drawn = []
    for domain in ("python-function", "python-stdin"):
        for index in range(250):
            family = catalogue.family_names(domain)[index % len(catalogue.family_names(domain))]
            module = catalogue.family(family)
            drawn.append(module.build(module.draw(SeedTree(11).child(domain, index).random())).statement)
    assert len(set(drawn)) >= 0.97 * len(drawn)


def test_unknown_families_and_parameters_are_usage_errors():
    with pytest.raises(UsageError, match="unknown family 'nothing'"):
        catalogue.task_of({"family": "nothing", "params": {}})
    drawn = catalogue.family("brackets").draw(random.Random(1))
    for wrong in ({"limit": "many"}, {"kinds": ["oval"]}, {"escape": 1}, {"name": "a; b"}, {"depth": 2}):
        with pytest.raises(UsageError, match=f"does not take the parameters.*wrong: {next(iter(wrong))}"):
            catalogue.task_of({"family": "brackets", "params": {**drawn, **wrong}})
    with pytest.raises(UsageError, match="wrong: shortest"):
        catalogue.task_of(
            {"family": "run_length", "params": {**catalogue.family("run_length").draw(random.Random(1)), "shortest": 9}}
        )


@pytest.mark.parametrize("domain", ["python-function", "python-stdin"])
def test_problem_replies_are_read_by_the_domain_and_found_again(domain):
    from simulation.author.knowledge import resolve

    reader = domain_named(domain)
    truths, problems = [], []
    for sample in range(200):
        drawn = draw_problem(SeedTree(2), domain, sample)
        parsed = reader.read("problem", drawn.text)
        truths.append(drawn.truth)
        if drawn.truth == "malformed":
            assert parsed.value is None, drawn.text
            continue
        assert parsed.value is not None, (parsed.reason, drawn.text)
        problem: Problem = parsed.value
        assert problem.domain == domain
        assert problem.reference_solution is None
        assert "def " not in problem.statement
        assert resolve(problem).entry_point == problem.payload.get("entry_point")
        assert resolve(problem).reference not in drawn.text
        problems.append(problem)
    assert 0.01 <= truths.count("malformed") / len(truths) <= 0.12
    assert 0.02 <= truths.count("near-duplicate") / len(truths) <= 0.16
    assert len({problem.id for problem in problems}) > 0.85 * len(problems)
    assert len({problem.id for problem in problems}) < len(problems) or domain == "python-stdin"


def test_trivial_problems_are_solved_and_tested_rightly_by_nearly_everyone(sandbox):
    """What pruning has to prune: solutions and testings that carry no information."""
    teacher = create(TeacherTools(seed=0, sandbox=lambda: sandbox), OfflineConfig())
    family = catalogue.family("one_step")
    params = family.draw(random.Random(1))
    task = family.build(params)
    problem = Problem(
        "trivial",
        family.domain,
        task.statement,
        payload={"entry_point": task.entry_point},
        meta={"family": "one_step", "params": params, "difficulty": task.difficulty},
    )
    for purpose in ("solution", "testing"):
        truths = [teacher.draw(problem, purpose, sample).truth.split("/")[0] for sample in range(100)]
        usable = [truth for truth in truths if truth not in {"malformed", "prose", "does-not-parse", "misnamed"}]
        assert sum(truth in {"right", "near", "slow", "stray"} for truth in usable) >= 0.9 * len(usable)
