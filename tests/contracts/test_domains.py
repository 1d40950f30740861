"""The contract of `ports.Domain`, over every domain that the registry finds."""

import re
from dataclasses import replace
from functools import cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evosyn import registry
from evosyn.domains import load_pools
from evosyn.jobs import ItemOutcome, Job, Limits, Status
from evosyn.ports import Domain
from evosyn.records import Problem, Solution, Testing, Verdict

NAMES = registry.names("domains")
SECRET = "expected-9f3b2c"


@cache
def domain(name: str) -> Domain:
    made: Domain = registry.factory("domains", name)()
    return made


@cache
def seeds(name: str) -> tuple[Problem, ...]:
    """Bundled seeds of the domain."""
    return tuple(pool.problem for pool in load_pools("builtin:python-seeds") if pool.problem.domain == name)


def human(problem: Problem) -> Testing:
    assert problem.human_testing is not None
    return problem.human_testing


def items(job: Job) -> int:
    return len(getattr(job, "calls", getattr(job, "checks", getattr(job, "inputs", ()))))


def plain(name: str, testing: Testing) -> bool:
    return not domain(name).expand([testing], Limits()).jobs


@pytest.mark.parametrize("name", NAMES)
def test_it_fulfils_the_protocol_under_its_own_name(name: str) -> None:
    assert isinstance(domain(name), Domain)
    assert domain(name).name == name
    assert seeds(name), "the bundled seeds have none of this domain: add some, the contract needs them"


@pytest.mark.parametrize("name", NAMES)
def test_every_bundled_human_testing_fits_its_problem(name: str) -> None:
    for problem in seeds(name):
        assert domain(name).check_testing(problem, human(problem)) is None, problem.problem_id


@pytest.mark.parametrize("name", NAMES)
def test_a_testing_of_another_kind_is_a_misfit_and_a_broken_column(name: str) -> None:
    problem = seeds(name)[0]
    kinds = {"cases", "stdin"} - {human(problem).kind}
    wrong = Testing(min(kinds), {"cases": [{"input": "1", "output": "1"}]})
    assert domain(name).check_testing(problem, wrong)
    testings = (wrong, human(problem))
    plan = domain(name).plan(problem, Solution("x = 1\n"), testings, Limits())
    outcomes = [(ItemOutcome(Status.LOAD_ERROR),) * items(job) for job in plan.jobs]
    assert [result.verdict for result in plan.judge(outcomes)] == [Verdict.BROKEN, Verdict.ERROR]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("status", Status)
def test_only_a_right_value_passes_and_only_our_fault_is_unknown(name: str, status: Status) -> None:
    for problem in seeds(name)[:5]:
        testings = tuple(testing for testing in (human(problem),) if plain(name, testing))
        plan = domain(name).plan(problem, Solution("x = 1\n"), testings, Limits())
        outcomes = [(ItemOutcome(status, SECRET),) * items(job) for job in plan.jobs]
        for result in plan.judge(outcomes):
            assert result.verdict is not Verdict.PASS
            assert (result.verdict is Verdict.UNKNOWN) == (status is Status.INFRASTRUCTURE)
            assert len(result.cases) == len(human(problem).body["cases"])


@pytest.mark.parametrize("name", NAMES)
def test_expected_outputs_never_enter_a_job_of_the_solution(name: str) -> None:
    problem = seeds(name)[0]
    cases = [{**case, "output": SECRET} for case in human(problem).body["cases"]]
    testing = Testing(human(problem).kind, {"cases": cases})
    plan = domain(name).plan(problem, Solution(problem.reference_solution or ""), (testing,), Limits())
    assert plan.jobs
    assert SECRET not in repr(plan.jobs)


@pytest.mark.parametrize("name", NAMES)
def test_equal_testings_add_no_work(name: str) -> None:
    problem = next(problem for problem in seeds(name) if plain(name, human(problem)))
    once = domain(name).plan(problem, Solution("x = 1\n"), (human(problem),), Limits())
    thrice = domain(name).plan(problem, Solution("x = 1\n"), (human(problem),) * 3, Limits())
    assert [items(job) for job in once.jobs] == [items(job) for job in thrice.jobs]


@pytest.mark.parametrize("name", NAMES)
def test_generators_have_to_be_expanded_before_a_plan(name: str) -> None:
    problem = seeds(name)[0]
    testing = Testing(human(problem).kind, {"cases": {"python": "def build_cases():\n    return []\n"}})
    assert len(domain(name).expand([testing, testing], Limits()).jobs) == 2
    with pytest.raises(ValueError, match="expand"):
        domain(name).plan(problem, Solution("x = 1\n"), (testing,), Limits())


@pytest.mark.parametrize("name", NAMES)
def test_a_generator_that_fails_makes_a_broken_column_and_ours_an_unknown_one(name: str) -> None:
    problem = seeds(name)[0]
    testing = Testing(human(problem).kind, {"cases": {"python": "def build_cases():\n    return []\n"}})
    expansion = domain(name).expand([human(problem), testing], Limits())
    for status in Status:
        made = expansion.testings([(ItemOutcome(status, 5),) * items(job) for job in expansion.jobs])
        wanted = Verdict.UNKNOWN if status is Status.INFRASTRUCTURE else Verdict.BROKEN
        assert getattr(made[-1], "verdict", None) is wanted


@pytest.mark.parametrize("name", NAMES)
def test_what_a_testing_asks_is_told_in_short_texts_case_by_case_or_not_at_all(name: str) -> None:
    for problem in seeds(name):
        calls = domain(name).calls(problem, human(problem))
        cases = human(problem).body.get("cases")
        assert calls is None or not isinstance(cases, list) or len(calls) == len(cases)
        texts = [text for call in calls or () if call is not None for text in call if text is not None]
        assert max(map(len, texts), default=0) <= 1000, problem.problem_id


@pytest.mark.parametrize("name", NAMES)
def test_requests_show_the_problem_but_neither_its_human_testing_nor_its_reference(name: str) -> None:
    problem, other = seeds(name)[:2]
    secret = replace(problem, reference_solution=f"# {SECRET}", human_testing=replace(human(problem), body={
        "cases": [{"input": SECRET, "output": SECRET}]}))  # fmt: skip
    made = [
        domain(name).ask("solution", secret, 3, {"temperature": 0.5}),
        domain(name).ask("testing", secret, 3, {"temperature": 0.5}, [other]),
        domain(name).ask("problem", None, 3, {"temperature": 0.5}, [secret, other]),
    ]
    assert [request.purpose for request in made] == ["solution", "testing", "problem"]
    for request in made:
        text = "\n".join(message.content for message in request.messages)
        assert problem.statement.strip()[:40] in text.replace("\\n", "\n").replace('\\"', '"')
        assert SECRET not in text
        assert not re.search(r"\{\{\w+\}\}", text)
        assert (request.sample, request.params) == (3, {"temperature": 0.5})


@pytest.mark.parametrize("name", NAMES)
def test_references_are_read_back_from_a_reply(name: str) -> None:
    for problem in seeds(name):
        reply = f"First I think.\n\n```python\n{problem.reference_solution}```\nDone."
        parsed = domain(name).read("solution", reply, problem)
        assert parsed.value is not None, (problem.problem_id, parsed.reason)
        assert parsed.value.text.strip() == (problem.reference_solution or "").strip()


replies = st.text(max_size=200) | st.lists(
    st.sampled_from(
        [
            "```",
            "```json\n",
            "```python\n",
            "\n",
            "[",
            "]",
            "{",
            "}",
            '"input"',
            '"output"',
            ":",
            ",",
            "1",
            '"statement"',
            *["def f(x):\n", "    return 1\n", "assert ", "def build_cases():\n", "NaN", "\x00", "\ud800", "None", "'"],
        ]
    ),
    max_size=40,
).map("".join)


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=300, deadline=None)
@given(text=replies)
def test_arbitrary_text_never_raises_and_a_refusal_has_a_named_reason(name: str, text: str) -> None:
    problem = seeds(name)[0]
    for parsed in (
        domain(name).read("problem", text),
        domain(name).read("solution", text, problem),
        domain(name).read("testing", text, problem),
    ):
        if parsed.value is None:
            assert re.match(r"[a-z-]+: ", parsed.reason), parsed.reason
        else:
            assert parsed.value.id
