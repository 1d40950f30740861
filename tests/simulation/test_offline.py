"""The offline teacher as a `Teacher`: deterministic, readable by the domains, clear about what it cannot do."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest
from simulation.author.values import same
from simulation.offline import OfflineConfig, OfflineTeacher, create

from evosyn.chat import Reply, Request
from evosyn.domains import domain as domain_named
from evosyn.domains import load_pools
from evosyn.errors import UsageError
from evosyn.ports import Teacher, TeacherTools
from evosyn.records import Problem, Testing
from evosyn.sandbox import open_sandbox

REFERENCE = """
def clamp_sum(numbers, limit):
    total = 0
    for x in numbers:
        total += x
        if total > limit:
            total = limit
    return total
"""
USER_PROBLEM = Problem(
    "clamp",
    "python-function",
    "Add up the numbers; whenever the sum is above limit it becomes limit.",
    payload={"entry_point": "clamp_sum", "starter_code": "def clamp_sum(numbers, limit):\n    ...\n"},
    human_testing=Testing(
        "cases", {"cases": [{"input": [[1, 2, 3], 4], "output": 4}, {"input": [[], 1], "output": 0}]}
    ),
    reference_solution=REFERENCE,
)


@pytest.fixture(scope="module")
def sandbox():
    with open_sandbox() as opened:
        yield opened


@pytest.fixture(scope="module")
def teacher(sandbox):
    return create(TeacherTools(seed=3, sandbox=lambda: sandbox), OfflineConfig())


@pytest.fixture(scope="module")
def seeds():
    problems = [pool.problem for pool in load_pools("builtin:python-seeds")]
    by_domain = {
        domain: [problem for problem in problems if problem.domain == domain]
        for domain in ("python-function", "python-stdin")
    }
    return [*by_domain["python-function"][:3], *by_domain["python-stdin"][:2]]


def ask(teacher: OfflineTeacher, requests: list[Request]) -> list[Reply]:
    async def all_at_once() -> list[Reply]:
        return list(await asyncio.gather(*(teacher.complete(request) for request in requests)))

    return asyncio.run(all_at_once())


def requests_about(problem: Problem, count: int) -> list[Request]:
    domain = domain_named(problem.domain)
    return [
        *(domain.ask("solution", problem, sample, {}) for sample in range(count)),
        *(domain.ask("testing", problem, sample, {}) for sample in range(count)),
        *(domain.ask("problem", None, sample, {}, [problem]) for sample in range(count)),
    ]


def test_it_is_a_teacher_and_says_that_it_is_simulated(teacher):
    assert isinstance(teacher, Teacher)
    assert teacher.simulated is True
    assert teacher.name == "offline-teacher"


def test_replies_depend_on_seed_problem_purpose_and_sample_only(sandbox, seeds):
    wanted = requests_about(seeds[0], 12)
    first = ask(create(TeacherTools(seed=1, sandbox=lambda: sandbox), OfflineConfig()), wanted)
    backwards = ask(create(TeacherTools(seed=1, sandbox=lambda: sandbox), OfflineConfig()), wanted[::-1])[::-1]
    other = ask(create(TeacherTools(seed=2, sandbox=lambda: sandbox), OfflineConfig()), wanted)
    assert first == backwards
    assert [reply.text for reply in first] != [reply.text for reply in other]
    assert len({reply.id for reply in first}) == len(first)
    assert len({reply.text for reply in first[12:24]}) >= 10


def test_one_study_serves_many_concurrent_calls(sandbox, seeds):
    class Counting:
        runs = 0

        def run(self, jobs, *, on_done=None):
            Counting.runs += 1
            return sandbox.run(jobs, on_done=on_done)

    teacher = create(TeacherTools(seed=1, sandbox=Counting), OfflineConfig())
    replies = ask(teacher, requests_about(seeds[0], 60))
    assert len(replies) == 180
    assert Counting.runs <= 4


def test_most_replies_are_read_by_the_domains(teacher, seeds):
    for problem in seeds:
        domain = domain_named(problem.domain)
        solutions = [domain.read("solution", teacher.draw(problem, "solution", n).text, problem) for n in range(60)]
        testings = [domain.read("testing", teacher.draw(problem, "testing", n).text, problem) for n in range(60)]
        assert 0.85 <= sum(parsed.value is not None for parsed in solutions) / 60 <= 1.0
        assert 0.80 <= sum(parsed.value is not None for parsed in testings) / 60 <= 1.0
        for parsed in testings:
            if parsed.value is not None:
                assert domain.check_testing(problem, parsed.value) is None


def test_malformed_testings_are_not_read(teacher, seeds):
    problem, domain = seeds[0], domain_named(seeds[0].domain)
    drawn = [teacher.draw(problem, "testing", sample) for sample in range(300)]
    malformed = [one for one in drawn if one.truth.startswith("malformed")]
    assert 3 <= len(malformed) <= 45
    readable = [one for one in malformed if domain.read("testing", one.text, problem).value is not None]
    assert len(readable) <= len(malformed) // 3


def test_mistakes_differ_from_the_reference_and_are_ranked(teacher, seeds):
    for problem in seeds:
        study = teacher.study(problem)
        assert len(study.mistakes) >= 10
        for mistake in study.mistakes:
            assert 0.0 < mistake.wrong_share <= 1.0
            assert any(
                outcome.kind != "ok" or not same(outcome.value, study.examples[at].output)
                for at, outcome in mistake.outcomes.items()
            )
        assert list(teacher.mistakes(problem)) == list(study.mistakes)


def test_wrong_solutions_cluster_on_popular_mistakes(teacher, seeds):
    problem = seeds[0]
    wrong = [one.text for n in range(400) if (one := teacher.draw(problem, "solution", n)).truth == "mistake"]
    assert len(wrong) >= 30
    from simulation.author.profile import profile_named
    from simulation.author.solutions import popular_mistake

    from evosyn.randomness import SeedTree

    rng = SeedTree(0).random()
    mistakes = teacher.mistakes(problem)
    drawn = [mistakes.index(popular_mistake(mistakes, profile_named("mixed").mistakes, 0.5, rng)) for _ in range(400)]
    assert drawn.count(0) > 3 * max(1, drawn.count(12))


def test_a_problem_of_its_own_can_be_answered_by_another_teacher_of_any_seed(sandbox):
    domain = domain_named("python-stdin")
    seed = replace(USER_PROBLEM, domain="python-stdin", payload={})
    replies = ask(
        create(TeacherTools(seed=9), OfflineConfig()),
        [domain.ask("problem", None, sample, {}, [seed]) for sample in range(8)],
    )
    problem = next(parsed for reply in replies if (parsed := domain.read("problem", reply.text).value) is not None)
    answered = create(TeacherTools(seed=4, sandbox=lambda: sandbox), OfflineConfig())
    assert domain.read("testing", answered.draw(problem, "testing", 1).text, problem).value is not None
    assert len(answered.study(problem).right) == 2


def test_inputs_come_from_the_human_testing_where_there_is_no_generator(teacher):
    study = teacher.study(USER_PROBLEM)
    assert len(study.examples) >= 10
    assert all(len(example.value) == 2 for example in study.examples)
    assert len(study.mistakes) >= 5


@pytest.mark.parametrize(
    ("problem", "message"),
    [
        (replace(USER_PROBLEM, reference_solution=None), "no reference_solution.*add the reference or use a model"),
        (replace(USER_PROBLEM, human_testing=None), "neither meta.input_generator nor a human testing"),
        (replace(USER_PROBLEM, reference_solution="def f(:"), "reference_solution is not Python"),
        (replace(USER_PROBLEM, reference_solution="def g(a, b):\n    return 1"), "no usable value on any input"),
        (replace(USER_PROBLEM, meta={"input_generator": "def make(): ..."}), "input_generator failed for size 0"),
        (replace(USER_PROBLEM, meta={"difficulty": 7}), "meta.difficulty is 7; it must be from 0 to 1"),
        (replace(USER_PROBLEM, domain="environment"), "of the domain 'environment'; it knows only.*os-shell"),
        (replace(USER_PROBLEM, domain="os-shell"), "only simulate agents for tasks of its own families"),
        (replace(USER_PROBLEM, reference_solution=None, meta={"family": "x", "params": {}}), "unknown family 'x'"),
    ],
)
def test_what_it_cannot_simulate_is_a_clear_usage_error(teacher, problem, message):
    with pytest.raises(UsageError, match=message):
        ask(teacher, [Request((), "solution", problem=problem)])


def test_other_misuse_is_a_usage_error(teacher):
    with pytest.raises(UsageError, match="need a sandbox"):
        ask(create(TeacherTools(), OfflineConfig()), [Request((), "testing", problem=USER_PROBLEM)])
    with pytest.raises(UsageError, match="cannot write a strategy"):
        ask(teacher, [Request((), "strategy")])
    with pytest.raises(UsageError, match="strength 'huge' is unknown; one of mixed, strong, weak"):
        create(TeacherTools(), OfflineConfig(strength="huge"))
    with pytest.raises(UsageError, match="no problems of the domain 'environment'"):
        ask(teacher, [Request((), "problem", problem=replace(USER_PROBLEM, domain="environment"))])


def test_a_variant_that_never_ends_or_grows_without_bound_is_stopped_by_counting(teacher):
    growing = replace(
        USER_PROBLEM,
        reference_solution="def clamp_sum(numbers, limit):\n    n = 1\n    while n < limit:\n        n = n * 3\n"
        "    return n\n",
    )
    study = teacher.study(growing)
    assert any(mistake.hangs for mistake in study.mistakes)
