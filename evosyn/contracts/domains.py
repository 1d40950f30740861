"""What every domain must keep to: `ports.Domain`, held with samples of its own problems and through a real sandbox."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple, get_args

from evosyn.chat import Message, Purpose
from evosyn.contracts.base import PluginContract, a_sandbox, odd_texts, read_or_refused, told
from evosyn.crossexec.executor import CrossExecutor
from evosyn.crossexec.judge import Cell, Judge
from evosyn.errors import FormatError
from evosyn.jobs import (
    CallsJob,
    CellResult,
    ChecksJob,
    CompanyJob,
    HarnessJob,
    ItemOutcome,
    Job,
    Limits,
    ShellJob,
    Status,
)
from evosyn.ports import Domain, Plan
from evosyn.records import Json, Problem, Solution, Testing, Verdict

STRANGE = Testing("no-such-kind", {})
SECRET = "expected-9f3b2c"
LONGEST_CALL = 1000
"""Characters of a text that `calls` gives; longer values are told by a digest."""
WRONG = {Verdict.FAIL, Verdict.ERROR, Verdict.TIMEOUT, Verdict.KILLED}


class DomainSample(NamedTuple):
    """A problem of the domain with a testing that tells a right solution from a wrong one.

    Attributes:
        hidden: a text of the testing that no job of the solution may hold, such as an expected output; "" where the
            testing has none.
    """

    problem: Problem
    testing: Testing
    right: str
    wrong: str
    hidden: str = ""


class DomainContract(PluginContract):
    """Subclass it, and set `create` and `samples`.

    Attributes:
        samples: one for each kind of testing at least; a generator of testings, where the domain has such.
        undecisive: "statement", or fields of the payload, that decide no verdict and that `key` therefore leaves out.
    """

    kind = "domains"
    samples: Sequence[DomainSample] = ()
    undecisive: Collection[str] = ()

    def test_it_is_a_domain_and_has_a_sample_of_every_kind_of_testing(self) -> None:
        domain, samples = self._opened()
        assert isinstance(domain, Domain), f"{domain!r} lacks a method of ports.Domain; inherit domains.base.BaseDomain"
        names = {sample.problem.domain for sample in samples}
        assert names == {domain.name}, f"the samples are problems of {names}, the domain is {domain.name!r}"
        lacking = set(domain.kinds) - {sample.testing.kind for sample in samples}
        assert domain.kinds and not lacking, f"kinds {list(domain.kinds)}: add samples with testings of {lacking}"

    def test_what_fits_is_taken_and_what_does_not_is_refused_by_its_field(self) -> None:
        domain, samples = self._opened()
        for problem, testing, *_ in samples:
            domain.check_problem(problem)
            domain.check_shape(testing)
            misfit = domain.check_testing(problem, testing)
            assert misfit is None, f"{problem.problem_id}: check_testing refuses the sample: {misfit}"
            extra = {"no_such_field": 1}
            refuses(domain.check_problem, replace(problem, payload={**problem.payload, **extra}))
            refuses(domain.check_shape, replace(testing, body={**testing.body, **extra}))
            refuses(domain.check_shape, STRANGE)
            said = domain.check_testing(problem, STRANGE)
            assert said and ": " in said, f"check_testing says {said!r} of an unknown kind; write `name: detail`"

    def test_the_key_changes_with_everything_that_decides_a_verdict(self) -> None:
        domain, samples = self._opened()
        for problem, *_ in samples:
            key = domain.key(problem)
            again = self.make().key(replace(problem, problem_id="another", line=7))
            assert key == again, "key: another process must find the same key, whatever the problem's name"
            for field, changed in changes(domain, problem):
                assert field in self.undecisive or domain.key(changed) != key, (
                    f"key: is the same with another {field}, so verdicts of one problem are served for the other; "
                    "where it decides none, name it in `undecisive`"
                )

    def test_solutions_that_are_the_same_have_the_same_verdict(self) -> None:
        domain, samples = self._opened()
        for sample in samples:
            texts = list(dict.fromkeys(one for text in (sample.right, sample.wrong) for one in alike(text)))
            sames = [domain.same(sample.problem, Solution(text)) for text in texts]
            assert sames == [self.make().same(sample.problem, Solution(text)) for text in texts], "same: is not stable"
            found: dict[str, tuple[str, Verdict]] = {}
            for same, text, result in zip(sames, texts, verdicts(domain, sample, texts), strict=True):
                other, verdict = found.setdefault(same, (text, result.verdict))
                assert verdict is result.verdict, (
                    f"same: {other!r} and {text!r} are the same to the domain, and get {verdict.name} and "
                    f"{result.verdict.name}: they would be executed once"
                )

    def test_what_a_student_should_write_is_read_back_as_the_same_solution(self) -> None:
        domain, samples = self._opened()
        for sample in samples:
            for solution in (Solution(sample.right), Solution(sample.wrong)):
                shown = domain.show(sample.problem, solution)
                assert shown and all(isinstance(one, Message) for one in shown), f"show: gives {shown!r}, not messages"
                assert shown[-1].role == "assistant", "show: its last message is what the student writes"
                parsed = domain.read("solution", shown[-1].content, sample.problem)
                assert parsed.value is not None, f"read: refuses what show gives: {parsed.reason}"
                same = domain.same(sample.problem, parsed.value) == domain.same(sample.problem, solution)
                assert same, f"show, then read: {solution.text!r} became {parsed.value.text!r}"

    def test_a_right_solution_passes_and_a_wrong_one_fails(self) -> None:
        domain, samples = self._opened()
        for sample in samples:
            right, wrong = verdicts(domain, sample, [sample.right, sample.wrong])
            about = f"{sample.problem.problem_id}, {sample.testing.kind}"
            assert right.verdict is Verdict.PASS, f"{about}: the right solution gets {right}"
            assert wrong.verdict in WRONG, f"{about}: the wrong solution gets {wrong}"
            assert set(right.cases) == {Verdict.PASS}, f"{about}: PASS, and its cases are {right.cases}"
            assert set(wrong.cases) - {Verdict.PASS}, f"{about}: {wrong.verdict.name}, and its cases are {wrong.cases}"

    def test_it_works_under_whatever_name_it_is_found_by(self) -> None:
        domain, samples = self._opened()
        for sample in samples:
            named = sample._replace(problem=replace(sample.problem, domain="package.module:create"))
            right, wrong = verdicts(domain, named, [sample.right, sample.wrong])
            told = f"{right.verdict.name} and {wrong.verdict.name}"
            about = f"{sample.problem.problem_id}: under a dotted path right and wrong get {told}; do not compare names"
            assert right.verdict is Verdict.PASS and wrong.verdict in WRONG, about
        for name, choices in domain.wishes().items():
            fine = choices and all(isinstance(one, str) and one.strip() for one in choices)
            assert fine and not isinstance(choices, str), f"wishes: {name}: a list of texts, not {choices!r}"

    def test_a_testing_of_another_kind_is_broken_and_harms_no_other(self) -> None:
        domain, samples = self._opened()
        for sample in samples:
            with a_sandbox() as sandbox:
                asked = (sample.problem, [Solution(sample.right)], [STRANGE, sample.testing])
                (matrix,) = CrossExecutor(Judge(sandbox, {domain.name: domain})).matrices([asked])
            row = "".join(matrix.verdicts_MN[0])
            assert row == "BP", f"plan, judge: an unknown kind beside a passed testing gives {row!r}, not 'BP'"

    def test_only_what_our_machine_failed_is_unknown(self) -> None:
        domain, samples = self._opened()
        for sample in samples:
            plan = planned(domain, sample)
            for status in Status if plan.jobs else ():
                (result,) = plan.judge([(ItemOutcome(status, SECRET),) * items(job) for job in plan.jobs])
                if status is not Status.OK:
                    assert result.verdict is not Verdict.PASS, f"judge: {status.value} passes"
                unknown = result.verdict is Verdict.UNKNOWN
                ours = status is Status.OK and all(isinstance(job, ShellJob) for job in plan.jobs)  # facts of no form
                assert unknown == (ours or status is Status.INFRASTRUCTURE), (
                    f"judge: {status.value} is {result.verdict.name}"
                )

    def test_expected_outputs_never_enter_a_job_of_the_solution(self) -> None:
        domain, samples = self._opened()
        for sample in samples:
            assert sample.hidden in sample.testing.text, f"samples: {sample.hidden!r} does not stand in its testing"
            leaked = sample.hidden and sample.hidden in repr(planned(domain, sample).jobs)
            assert not leaked, f"plan: the expected {sample.hidden!r} stands in a job of the solution"

    def test_generators_are_expanded_first_and_their_failures_are_told_apart(self) -> None:
        domain, samples = self._opened()
        for sample in samples:
            expansion = domain.expand(sample.problem, [sample.testing], Limits())
            if not expansion.jobs:
                assert expansion.testings([]) == (sample.testing,), "expand: without generators nothing changes"
                continue
            for status, wanted in ((Status.EXCEPTION, Verdict.BROKEN), (Status.INFRASTRUCTURE, Verdict.UNKNOWN)):
                (made,) = expansion.testings([(ItemOutcome(status),) * items(job) for job in expansion.jobs])
                verdict = getattr(made, "verdict", None)
                assert verdict is wanted, f"expand: a generator that ends in {status.value} gives {verdict}"
            try:
                domain.plan(sample.problem, Solution(sample.right), [sample.testing], Limits())
            except ValueError:
                continue
            raise AssertionError("plan: takes a testing whose generators are not expanded; raise ValueError")

    def test_requests_show_the_problem_but_neither_its_testing_nor_its_reference(self) -> None:
        domain, samples = self._opened()
        seed = samples[0].problem if samples[0].problem.human_testing else replace(
            samples[0].problem, human_testing=samples[0].testing)  # fmt: skip
        for sample in samples:
            hidden = replace(sample.testing, body=planted(sample.testing.body))
            problem = replace(sample.problem, human_testing=hidden, reference_solution=SECRET)
            other = replace(seed, statement=f"Another one. {seed.statement}")
            for what in domain.asks:
                about = None if what == "problem" else problem
                request = domain.ask(what, about, 3, {"temperature": 0.5}, [] if what == "solution" else [other])
                kept = (request.purpose, request.sample, dict(request.params)) == (what, 3, {"temperature": 0.5})
                assert kept, f"ask: {what}: purpose, sample and params must stand in the request"
                text = "\n".join(message.content for message in request.messages)
                start = (about or other).statement.strip()[:40]
                plain = text.replace("\\n", "\n").replace('\\"', '"')
                assert start in plain, f"ask: {what}: the statement is not in the prompt"
                assert SECRET not in text, f"ask: {what}: tells the human testing or the reference of its problem"
                assert "{{" not in text, f"ask: {what}: the prompt has a blank that was not filled"

    def test_arbitrary_text_never_raises_and_a_refusal_has_a_named_reason(self) -> None:
        domain, samples = self._opened()
        problem, testing, right, wrong, _ = samples[0]
        shown = domain.show(problem, Solution(right))[-1].content
        for text in odd_texts(shown, right, wrong, testing.text):
            self.reads_or_refuses(domain, problem, text)
            with told("same, show or plan", text):
                domain.same(problem, Solution(text))
                domain.show(problem, Solution(text))
                if not domain.expand(problem, [testing], Limits()).jobs:
                    domain.plan(problem, Solution(text), [testing], Limits())

    def test_a_canary_is_never_accepted(self) -> None:
        domain, samples = self._opened()
        for sample in samples:
            for canary in domain.canaries(sample.problem, (sample.testing,)):
                (result,) = verdicts(domain, sample, [canary.text])
                assert result.verdict in WRONG, f"canaries: a good testing gives one {result.verdict.name}"

    def test_what_is_joined_decides_as_its_parts_do(self) -> None:
        domain, samples = self._opened()
        for sample in samples:
            cases = len(verdicts(domain, sample, [sample.right])[0].cases)
            joined = domain.join([(sample.testing, tuple(range(cases)))]) if cases else None
            if joined is None:
                continue
            assert domain.check_testing(sample.problem, joined) is None, "join: gives a testing that does not fit"
            found = verdicts(domain, sample._replace(testing=joined), [sample.right, sample.wrong])
            told = f"join: of all cases of a testing: right and wrong get {[one.verdict.name for one in found]}"
            assert found[0].verdict is Verdict.PASS and found[1].verdict in WRONG, told

    def test_what_a_testing_asks_is_told_in_short_texts_or_not_at_all(self) -> None:
        domain, samples = self._opened()
        for sample in samples:
            for call in domain.calls(sample.problem, sample.testing) or ():
                for text in call or ():
                    assert text is None or (isinstance(text, str) and len(text) <= LONGEST_CALL), (
                        f"calls: texts of at most {LONGEST_CALL} characters (got {str(text)[:40]!r}...)"
                    )

    @staticmethod
    def reads_or_refuses(domain: Domain, problem: Problem, text: str) -> None:
        """Reads one text for every purpose."""
        for what in get_args(Purpose):
            with told(f"read: {what}", text):
                parsed = domain.read(what, text, None if what == "problem" else problem)
                read_or_refused(parsed, f"read: {what}", text)
                assert parsed.value is None or parsed.value.id

    def _opened(self) -> tuple[Domain, Sequence[DomainSample]]:
        example = "samples = (DomainSample(problem, testing, right='14', wrong='15'),)"
        return self.make(), self.given("samples", example)


def refuses(check: Any, value: Problem | Testing) -> None:
    """Whether a check raises the error that readers of files show."""
    try:
        check(value)
    except FormatError:
        return
    raise AssertionError(f"{check.__name__}: takes {value!r}; raise FormatError with the name of the field")


def changes(domain: Domain, problem: Problem) -> Iterator[tuple[str, Problem]]:
    """The problem with another statement, and with each field of its payload changed, as far as the domain takes it."""
    yield "statement", replace(problem, statement=f"{problem.statement} And another sentence.")
    for field, value in problem.payload.items():
        changed = replace(problem, payload={**problem.payload, field: another(value)})
        try:
            domain.check_problem(changed)
        except FormatError:
            continue
        yield field, changed


def another(value: Json) -> Json:
    """A value of the same kind that is not equal."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int | float):
        return value + 1
    if isinstance(value, str):
        return f"{value}_x"
    return [*value, *value] if isinstance(value, list) and value else None


def alike(text: str) -> list[str]:
    """Texts that a careless idea of sameness takes for one."""
    spaced = text.replace(" ", "  ")
    return [text, f" {text}\n", spaced, text.lower(), text.upper(), f"# {text}", f"{text} # ?", text[::-1], text[:-1]]


def verdicts(domain: Domain, sample: DomainSample, texts: Sequence[str]) -> list[CellResult]:
    """What solutions get of the sample's testing, each executed by itself."""
    with a_sandbox() as sandbox:
        judge = Judge(sandbox, {sample.problem.domain: domain})
        return judge.verify([Cell(sample.problem, Solution(text), sample.testing) for text in texts])


def planned(domain: Domain, sample: DomainSample) -> Plan:
    """The plan of the right solution against the testing, whose generators have run."""
    expansion = domain.expand(sample.problem, [sample.testing], Limits())
    outcomes: list[tuple[ItemOutcome, ...]] = []
    if expansion.jobs:
        with a_sandbox() as sandbox:
            outcomes = sandbox.run(expansion.jobs)
    (testing,) = expansion.testings(outcomes)
    assert isinstance(testing, Testing), f"samples: the generator cannot run: {testing}"
    return domain.plan(sample.problem, Solution(sample.right), (testing,), Limits())


def items(job: Job) -> int:
    """How many outcomes a job has."""
    if isinstance(job, CompanyJob):
        return sum(map(items, job.members))
    if isinstance(job, HarnessJob):
        return len(job.programs) or 1
    if isinstance(job, ShellJob):
        return len(job.cells) + job.says
    return len(job.calls if isinstance(job, CallsJob) else job.checks if isinstance(job, ChecksJob) else job.inputs)


def planted(value: Json) -> Json:
    """A JSON value with a secret in place of all that stands in it."""
    if isinstance(value, Mapping):
        return {key: planted(one) for key, one in value.items()}
    return [planted(one) for one in value] if isinstance(value, list) else SECRET
