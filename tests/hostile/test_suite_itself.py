"""The suite has teeth: its thieves find what is there, its oracle sees what is wrong, its cases are drawn fairly."""

from __future__ import annotations

import ast
import random
from collections.abc import Callable, Iterator, Sequence

import pytest
from hostile_suite import fitting, tasks
from hostile_suite.arenas import run_cells
from hostile_suite.backends import QUICK, Backend
from hostile_suite.drawing import all_cases, cases_of, sample
from hostile_suite.families import FAMILIES, theft
from hostile_suite.findings import Kind, Tally, report, table
from hostile_suite.host import Host
from hostile_suite.model import FRESH, PROGRAM, TABLE, WARM, Attack, Case, Role
from hostile_suite.watching import program_of

from evosyn import testings as testing_format
from evosyn.domains import domain as domain_named
from evosyn.errors import SandboxUnavailable
from evosyn.jobs import CallsJob, ChecksJob, ItemOutcome, Job, Protection, Status
from evosyn.ports import Sandbox
from evosyn.records import Solution

DOMAIN = domain_named("python-function")
HARMLESS = next(family for family in FAMILIES if family.name == "guesses")


def nothing(text: str) -> str:
    return text


# ------------------------------------------------------------------------------------------------------------ cases
def test_there_are_hundreds_of_cases_each_with_a_name_of_its_own() -> None:
    cases = all_cases("1")
    assert len(cases) >= 250
    assert len({case.name for case in cases}) == len(cases)


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)
def test_a_family_states_its_principle_and_what_it_allows(family: object) -> None:
    assert family in FAMILIES
    found = next(one for one in FAMILIES if one is family)
    assert found.principle.endswith(".")
    assert len(found.principle.split()) > 8
    for case in cases_of(found, "1"):
        for mode in (TABLE, WARM, FRESH, PROGRAM, "stdio", "strategy", "reward"):
            words = case.words(mode)
            assert words
            assert not words & {"not-run", "unknown"}
            if found.role in (Role.SOLUTION, Role.COMPANY, Role.VALUE, Role.STRATEGY):
                assert not words & {"pass", "broken"}


def test_the_same_seed_draws_the_same_suite_and_another_one_another() -> None:
    first, again, other = (all_cases(seed) for seed in ("1", "1", "2"))
    assert [case.name for case in first] == [case.name for case in again]
    assert {case.name for case in first if case.drawn} != {case.name for case in other if case.drawn}
    chosen = [[case.name for case in sample(seed, 0, 3)] for seed in ("a", "a", "b")]
    assert chosen[0] == chosen[1] != chosen[2]


def test_the_shares_of_a_sample_together_try_every_quick_family() -> None:
    shares = [{case.family.name for case in sample("1", share, 3)} for share in range(3)]
    assert {family.name for family in FAMILIES if not family.slow} <= set().union(*shares)
    assert all(len(share) < len(FAMILIES) / 2 for share in shares)


def test_a_dressed_attack_is_a_program_that_says_the_same_in_another_way() -> None:
    task = tasks.draw_task(random.Random(1))
    plain = Attack("x", "kept = []", "kept.append(given)\nreturn [len(kept), given]")
    for number in range(60):
        dressed = fitting.dress(plain, random.Random(number))
        space: dict[str, object] = {}
        exec(fitting.program(dressed, task, nothing), space)
        entry = space[task.entry]
        assert callable(entry)
        assert entry(7)[1] == (7,)


def test_no_text_holds_the_values_that_are_hidden_from_it() -> None:
    for case in all_cases("3"):
        attack = case.attack
        if case.family.role not in (Role.SOLUTION, Role.COMPANY) or "HONEST" in attack.setup + (attack.whole or ""):
            continue
        task = tasks.draw_task(case.random("hidden"), attack.kinds)
        text = fitting.program(attack, task, nothing)
        assert not any(repr(value) in text for value in task.outputs), case.name


def test_hostile_data_is_what_a_pool_file_could_hold() -> None:
    task = tasks.draw_task(random.Random(1))
    from hostile_suite.scenes import hostile_testing

    for family in FAMILIES:
        for attack in family.fixed if family.role in (Role.TESTING, Role.GENERATOR) else ():
            testing = hostile_testing(attack, task, nothing)
            assert testing_format.testing_from_json(testing.to_json()).id == testing.id, attack.name


# ----------------------------------------------------------------------------------------------------------- honest
@pytest.mark.parametrize("form", range(len(tasks.WARM_FORMS)))
@pytest.mark.parametrize("kind", tasks.KINDS)
def test_a_form_of_testing_passes_the_right_program_and_fails_the_wrong_one_in_python(kind: str, form: int) -> None:
    task = tasks.draw_task(random.Random(f"{kind} {form}"), (kind,))
    for text in (tasks.warm_text(task, form), tasks.as_fresh(task, form).body["asserts"][0]):
        for style in range(4):
            exec(text, _space(task.honest(style=style, pad="x" * style)))
        with pytest.raises(AssertionError):
            exec(text, _space(task.wrong()))
    code = tasks.as_program(task, form).body["code"]
    space = _space(f"{task.honest()}\n{code}")
    space["check"](space[task.entry])
    with pytest.raises(AssertionError):
        space["check"](_space(task.wrong())[task.entry])


@pytest.mark.parametrize("kind", tasks.KINDS)
def test_testings_reach_the_mode_that_they_are_named_after(kind: str) -> None:
    task = tasks.draw_task(random.Random(kind), (kind,))
    problem = tasks.function_problem(task, "x")
    for form in range(len(tasks.WARM_FORMS)):
        for testing in (tasks.as_cases(task), tasks.as_lifted(task)):
            (job,) = DOMAIN.plan(problem, Solution(task.honest()), [testing], QUICK).jobs
            assert isinstance(job, CallsJob)
        for testing in (tasks.as_warm(task, form), tasks.as_fresh(task, form), tasks.as_program(task, form)):
            (job,) = DOMAIN.plan(problem, Solution(task.honest()), [testing], QUICK).jobs
            assert isinstance(job, ChecksJob), testing.text
        words = {node.id for node in ast.walk(ast.parse(tasks.warm_text(task, form))) if isinstance(node, ast.Name)}
        assert not any(word.startswith("_") for word in words)


def _space(source: str) -> dict[str, Callable[..., object]]:
    space: dict[str, Callable[..., object]] = {}
    exec(source, space)
    return space


# ---------------------------------------------------------------------------------------------------------- thieves
PLANT = """
class Holder:
    def __init__(self, values): self.values = values
holder, long = Holder(list(PLANTED)), ' '.join(PLANTED) + ' ' * 5000
def planting(*given, default=tuple(PLANTED)):
    planted = list(default)
    cycle = [planted]; cycle.append(cycle); del cycle
    def closed(): return planted
    return act(given), closed
def ENTRY(*given): return planting(*given)[0]
"""
"""Around an attack: the hidden values in a frame, a global, an instance, a default, a closure, garbage."""
NOT_PLANTED = {
    "its stack",
    "referrers of the arguments",
    "freed blocks handed out again",
    "files mapped into it",
    "maps and mem of itself",
    "own exception that came back",
}
"""Thieves of places that this plant does not reach."""
THIEVES = [
    attack
    for family in (theft.FRAMES, theft.HEAP, theft.MEMORY)
    for attack in family.fixed
    if attack.name not in NOT_PLANTED
]


@pytest.fixture(scope="module")
def sandbox(backends: Callable[[str], Backend]) -> Iterator[Sandbox]:
    yield backends("bwrap").sandbox()


def test_a_thief_finds_what_lies_about_in_its_process(sandbox: Sandbox, seed: str) -> None:
    """A few of them, drawn; all of them in the long lane."""
    _find(sandbox, random.Random(seed).sample(THIEVES, 5), seed)


@pytest.mark.long
def test_every_thief_finds_what_lies_about_in_its_process(sandbox: Sandbox, seed: str) -> None:
    _find(sandbox, THIEVES, seed)


def _find(sandbox: Sandbox, thieves: Sequence[Attack], seed: str) -> None:
    missed = []
    for attack in thieves:
        task = tasks.draw_task(random.Random(f"{seed} {attack.name}"), ("text",))
        text = fitting.program(attack, task, nothing)
        head = text[: text.rindex(f"def {task.entry}(")]
        plant = PLANT.replace("PLANTED", repr(task.outputs)).replace("ENTRY", task.entry)
        plan = DOMAIN.plan(tasks.function_problem(task, "x"), Solution(head + plant), [tasks.as_cases(task)], QUICK)
        (result,) = plan.judge(sandbox.run(plan.jobs))
        if result.verdict.value != "P":
            missed.append(f"{attack.name}: {result.verdict.name} {result.detail}")
    assert not missed, missed


# ----------------------------------------------------------------------------------------------------------- oracle
class Spoilt:
    """A sandbox of which some outcomes are others."""

    def __init__(self, inner: Sandbox, spoil: Callable[[Job, ItemOutcome], ItemOutcome]) -> None:
        self._inner, self._spoil = inner, spoil

    @property
    def protection(self) -> Protection:
        return self._inner.protection

    def run(
        self, jobs: Sequence[Job], *, on_done: Callable[[int, tuple[ItemOutcome, ...]], None] | None = None
    ) -> list[tuple[ItemOutcome, ...]]:
        found = []
        for index, (job, outcomes) in enumerate(zip(jobs, self._inner.run(jobs), strict=True)):
            found.append(tuple(self._spoil(job, outcome) for outcome in outcomes))
            if on_done is not None:
                on_done(index, found[-1])
        return found

    def share(self, value: object) -> str:
        return self._inner.share(value)

    def close(self) -> None: ...

    def __enter__(self) -> Spoilt:
        return self

    def __exit__(self, *exc: object) -> None: ...


class SpoiltBackend(Backend):
    """A backend whose sandbox is spoilt."""

    def __init__(self, inner: Backend, spoil: Callable[[Job, ItemOutcome], ItemOutcome]) -> None:
        super().__init__(inner.name)
        self._inner, self._spoil = inner, spoil

    def sandbox(self, *, numpy: bool = False) -> Sandbox:
        return Spoilt(self._inner.sandbox(numpy=numpy), self._spoil)


def _hostile(job: Job) -> bool:
    text = program_of(job)
    return "given" in text and text.count("def ") < 4 and "kept" not in text


def _spoilers(host: Host) -> dict[Kind, Callable[[Job, ItemOutcome], ItemOutcome]]:
    def becomes(status: Status, when: Callable[[Job], bool]) -> Callable[[Job, ItemOutcome], ItemOutcome]:
        return lambda job, outcome: ItemOutcome(status) if when(job) else outcome

    def leaks(job: Job, outcome: ItemOutcome) -> ItemOutcome:
        return ItemOutcome(outcome.status, outcome.value, host.secret) if _hostile(job) else outcome

    def raises(job: Job, outcome: ItemOutcome) -> ItemOutcome:
        if _hostile(job):
            raise SandboxUnavailable("the workers cannot be brought back")
        return outcome

    return {
        Kind.FALSE_PASS: lambda job, outcome: (
            ItemOutcome(Status.OK) if _hostile(job) and isinstance(job, ChecksJob) else outcome
        ),
        Kind.FALSE_FAIL: becomes(Status.EXCEPTION, lambda job: "kept" in program_of(job)),
        Kind.INFRASTRUCTURE: becomes(Status.INFRASTRUCTURE, _hostile),
        Kind.CHOSEN: becomes(Status.TESTING_BROKEN, _hostile),
        Kind.HOST: leaks,
        Kind.ENDED: raises,
    }


@pytest.mark.parametrize(
    "kind", [Kind.FALSE_PASS, Kind.FALSE_FAIL, Kind.INFRASTRUCTURE, Kind.CHOSEN, Kind.HOST, Kind.ENDED]
)
def test_the_oracle_sees_what_must_not_be(kind: Kind, backends: Callable[[str], Backend], host: Host) -> None:
    case = Case(HARMLESS, Attack("wrong", act="return 0"), "1")
    clean, spoilt = Tally("bwrap", "1"), Tally("bwrap", "1")
    run_cells(backends("bwrap"), host, [case], clean)
    assert clean.findings == []
    run_cells(SpoiltBackend(backends("bwrap"), _spoilers(host)[kind]), host, [case], spoilt)
    assert kind in {finding.kind for finding in spoilt.findings}, spoilt.findings


@pytest.mark.parametrize(
    ("deed", "effect"),
    [
        (lambda host: (host.folder / "target").write_text("x"), "a host file was changed"),
        (lambda host: (host.folder / "more").write_text("x"), "a host file was changed"),
        (lambda host: _connect(host), "connection by TCP"),
        (lambda host: _datagram(host), "datagram by UDP"),
        (lambda _: _signal(), "signals to us"),
    ],
)
def test_the_host_notices_what_is_done_to_it(deed: Callable[[Host], object], effect: str, host: Host) -> None:
    assert host.effects() == []
    deed(host)
    assert any(found.startswith(effect) for found in host.effects())
    for path in host.folder.glob("more"):
        path.unlink()
    host.effects()


def _connect(host: Host) -> None:
    import socket

    socket.create_connection(host.tcp.getsockname(), 5).close()


def _datagram(host: Host) -> None:
    import socket

    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
        sender.sendto(b"x", host.udp.getsockname())


def _signal() -> None:
    import os
    import signal

    os.kill(os.getpid(), signal.SIGUSR1)


def test_the_report_counts_cells_and_findings_by_backend_and_mode() -> None:
    one, two = Tally("bwrap", "7"), Tally("bare", "7")
    for tally in (one, two):
        tally.cases.add("family/case")
        tally.cell(TABLE, 5)
    two.find(Kind.LATE, WARM, "family/case", "9 s")
    two.find(Kind.LATE, WARM, "family/case", "10 s")
    figures = report([one.to_json(), two.to_json()])
    assert figures["cases"] == 1
    assert figures["rows"]["bwrap table"]["cells"] == 5
    assert figures["rows"]["bare rpc-warm"]["seconds"] == 1
    assert figures["rows"]["bwrap table"]["false pass"] == 0
    assert "1 cases, seed 7" in table(figures)[0]
