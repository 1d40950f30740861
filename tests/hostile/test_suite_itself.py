"""The suite has teeth: its thieves find what is there, its oracle sees what is wrong, its cases are drawn fairly."""

from __future__ import annotations

import ast
import ctypes
import os
import random
import resource
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
from hostile_suite import fitting, tasks
from hostile_suite.arenas import SPARE_PROCESSES, run_cells
from hostile_suite.backends import QUICK, Backend
from hostile_suite.drawing import all_cases, cases_of, sample
from hostile_suite.families import FAMILIES, theft
from hostile_suite.findings import Kind, Tally, report, table
from hostile_suite.host import Host
from hostile_suite.model import FRESH, PROGRAM, REWARD, STRATEGY, TABLE, WARM, Attack, Case, Role, only
from hostile_suite.ranking import run_strategies
from hostile_suite.rewards import run_rewards
from hostile_suite.watching import texts_of

from evosyn import testings as testing_format
from evosyn.domains import domain as domain_named
from evosyn.errors import FormatError, SandboxUnavailable
from evosyn.jobs import CallsJob, ChecksJob, ItemOutcome, Job, Limits, Protection, Status
from evosyn.ports import Sandbox
from evosyn.records import Solution

DOMAIN = domain_named("python-function")
HARMLESS, HANGS = (next(one for one in FAMILIES if one.name == name) for name in ("guesses", "busy for ever"))
ARENAS = {"cells": run_cells, "rewards": run_rewards, "strategies": run_strategies}


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
            try:
                assert testing_format.testing_from_json(testing.to_json()).id == testing.id, attack.name
            except FormatError as error:  # no pool file can hold it
                assert "nested too deeply" in str(error), attack.name


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
    for make in (tasks.as_program, tasks.as_unittest):
        space = _space(f"{task.honest()}\n{make(task, form).body['code']}")
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
        for testing in (
            tasks.as_warm(task, form),
            tasks.as_fresh(task, form),
            tasks.as_program(task, form),
            tasks.as_unittest(task, form),
        ):
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
Spoil = Callable[[str, ItemOutcome], ItemOutcome]
"""Of the text of an item, and its outcome."""


class Spoilt:
    """A sandbox of which some outcomes are others, or whose jobs have other limits."""

    def __init__(self, inner: Sandbox, spoil: Spoil, times: float = 1.0) -> None:
        self._inner, self._spoil, self._times = inner, spoil, times

    @property
    def protection(self) -> Protection:
        return self._inner.protection

    def run(
        self, jobs: Sequence[Job], *, on_done: Callable[[int, tuple[ItemOutcome, ...]], None] | None = None
    ) -> list[tuple[ItemOutcome, ...]]:
        found = []
        given = [replace(job, limits=self._limits(job.limits)) for job in jobs]
        for index, (job, outcomes) in enumerate(zip(jobs, self._inner.run(given), strict=True)):
            items = zip(texts_of(job, len(outcomes)), outcomes, strict=True)
            found.append(tuple(self._spoil(text, outcome) for text, outcome in items))
            if on_done is not None:
                on_done(index, found[-1])
        return found

    def _limits(self, limits: Limits) -> Limits:
        cpu_s, wall_s = self._times * limits.cpu_s, self._times * limits.wall_s
        return replace(limits, cpu_s=cpu_s, wall_s=wall_s, budget_s=self._times * limits.budget_s)

    def share(self, value: object) -> str:
        return self._inner.share(value)

    def close(self) -> None: ...

    def __enter__(self) -> Spoilt:
        return self

    def __exit__(self, *exc: object) -> None: ...


class SpoiltBackend(Backend):
    """A backend whose sandbox is spoilt."""

    def __init__(self, inner: Backend, spoil: Spoil, times: float = 1.0) -> None:
        super().__init__(inner.name)
        self._inner, self._spoil, self._times = inner, spoil, times

    def sandbox(self, *, numpy: bool = False) -> Sandbox:
        return Spoilt(self._inner.sandbox(numpy=numpy), self._spoil, self._times)


def _hostile(text: str) -> bool:
    return "given" in text and "_kept" not in text


def _ours(text: str) -> bool:
    return "_kept" in text or "passed.sum" in text


def _becomes(outcome: ItemOutcome, when: Callable[[str], bool] = _hostile) -> Spoil:
    return lambda text, before: outcome if when(text) else before


def _raises(text: str, outcome: ItemOutcome) -> ItemOutcome:
    if _hostile(text):
        raise SandboxUnavailable("the workers cannot be brought back")
    return outcome


def _grows(text: str, outcome: ItemOutcome) -> ItemOutcome:
    return ItemOutcome(outcome.status, bytearray(80 << 20)) if _hostile(text) else outcome


SPOILT: Mapping[tuple[str, Kind], Spoil] = {
    ("cells", Kind.FALSE_PASS): _becomes(ItemOutcome(Status.OK)),  # of checks; of calls it is a value
    ("cells", Kind.FALSE_FAIL): _becomes(ItemOutcome(Status.EXCEPTION), _ours),
    ("cells", Kind.INFRASTRUCTURE): _becomes(ItemOutcome(Status.INFRASTRUCTURE)),
    ("cells", Kind.CHOSEN): _becomes(ItemOutcome(Status.TESTING_BROKEN)),
    ("cells", Kind.UNEXPECTED): _becomes(ItemOutcome(Status.KILLED)),
    ("cells", Kind.ENDED): _raises,
    ("rewards", Kind.FALSE_FAIL): _becomes(ItemOutcome(Status.EXCEPTION), _ours),
    ("rewards", Kind.INFRASTRUCTURE): _becomes(ItemOutcome(Status.INFRASTRUCTURE)),
    ("rewards", Kind.CHOSEN): _becomes(ItemOutcome(Status.TESTING_BROKEN)),
    ("rewards", Kind.UNEXPECTED): _becomes(ItemOutcome(Status.KILLED)),
    ("rewards", Kind.ENDED): _raises,
    ("strategies", Kind.FALSE_FAIL): _becomes(ItemOutcome(Status.KILLED), _ours),
    ("strategies", Kind.ENDED): _raises,
}
"""By arena and kind of finding, what makes one of outcomes as they should be."""
WRONG = Case(HARMLESS, Attack("wrong", act="return 0", allowed=only("wrong")), "1")


@pytest.mark.parametrize(("arena", "kind"), SPOILT, ids=lambda part: str(part))
def test_the_oracle_sees_what_must_not_be(
    arena: str, kind: Kind, backends: Callable[[str], Backend], host: Host
) -> None:
    spoilt = Tally("bwrap", "1")
    ARENAS[arena](SpoiltBackend(backends("bwrap"), SPOILT[arena, kind]), host, [WRONG], spoilt)
    assert kind in {finding.kind for finding in spoilt.findings}, spoilt.findings


@pytest.mark.parametrize("arena", ARENAS)
def test_the_oracle_sees_nothing_where_nothing_is(arena: str, backends: Callable[[str], Backend], host: Host) -> None:
    clean = Tally("bwrap", "1")
    ARENAS[arena](backends("bwrap"), host, [WRONG], clean)
    assert clean.cells and clean.findings == []


@pytest.mark.parametrize("arena", ARENAS)
def test_the_oracle_sees_our_secret_in_an_outcome(arena: str, backends: Callable[[str], Backend], host: Host) -> None:
    spoilt = Tally("bwrap", "1")
    spoil = _becomes(ItemOutcome(Status.EXCEPTION, None, f"ValueError: {host.secret}"))
    ARENAS[arena](SpoiltBackend(backends("bwrap"), spoil), host, [WRONG], spoilt)
    assert "our secret came out" in "".join(one.detail for one in spoilt.findings if one.kind is Kind.HOST)


BUSY, IDLE = "while True: pass", "import time\ntime.sleep(1000)"
TIMES = {"cells": 20.0, "rewards": 25.0, "strategies": 10.0}
"""By how much a limit is too long."""


@pytest.mark.parametrize("backend", ["bwrap", pytest.param("docker", marks=pytest.mark.docker)])
@pytest.mark.parametrize("arena", ["cells", *(pytest.param(one, marks=pytest.mark.long) for one in list(TIMES)[1:])])
@pytest.mark.parametrize("act", [BUSY, IDLE], ids=["computes", "waits"])
def test_the_oracle_sees_a_limit_that_is_not_kept_whatever_outcomes_say_of_their_seconds(
    act: str, arena: str, backend: str, backends: Callable[[str], Backend], host: Host
) -> None:
    case = Case(HANGS, Attack("hangs", act=act, modes=(TABLE, REWARD, STRATEGY)), "1")
    kept, broken = Tally(backend, "1"), Tally(backend, "1")
    hurried = lambda _, outcome: ItemOutcome(outcome.status, outcome.value, outcome.detail)  # noqa: E731
    ARENAS[arena](SpoiltBackend(backends(backend), hurried), host, [case], kept)
    assert Kind.LATE not in {finding.kind for finding in kept.findings}, kept.findings
    ARENAS[arena](SpoiltBackend(backends(backend), hurried, TIMES[arena]), host, [case], broken)
    assert Kind.LATE in {finding.kind for finding in broken.findings}, broken.findings


def test_the_oracle_sees_seconds_that_no_clock_shows(backends: Callable[[str], Backend], host: Host) -> None:
    spoilt = Tally("bwrap", "1")
    spoil = lambda _, outcome: replace(outcome, seconds=float("nan"))  # noqa: E731
    run_cells(SpoiltBackend(backends("bwrap"), spoil), host, [WRONG], spoilt)
    assert Kind.LATE in {finding.kind for finding in spoilt.findings}, spoilt.findings


def test_the_oracle_sees_processes_that_are_left(
    backends: Callable[[str], Backend], host: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hostile_suite.host.SETTLE_S", 0.2)
    left: list[subprocess.Popen[bytes]] = []

    def leaves(text: str, outcome: ItemOutcome) -> ItemOutcome:
        if _hostile(text) and len(left) <= SPARE_PROCESSES:
            left.append(subprocess.Popen(["sleep", "600"]))
        return outcome

    spoilt = Tally("bwrap", "1")
    try:
        run_cells(SpoiltBackend(backends("bwrap"), leaves), host, [WRONG], spoilt)
    finally:
        for process in left:
            process.kill()
            process.wait()
    assert f"{len(left)} processes were left" in "".join(finding.detail for finding in spoilt.findings)


@pytest.mark.long
def test_the_oracle_sees_our_own_process_grow(
    backends: Callable[[str], Backend], host: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hostile_suite.arenas.OWN_MEMORY_MB", 60)
    spoilt = Tally("bwrap", "1")
    run_cells(SpoiltBackend(backends("bwrap"), _grows), host, [WRONG], spoilt)
    assert "our own process grew" in "".join(finding.detail for finding in spoilt.findings)


DEEDS: Mapping[str, tuple[Callable[[Host], object], str]] = {
    "a file that is written": (lambda host: (host.folder / "target").write_text("x"), "a host file was changed"),
    "a file that is new": (lambda host: (host.folder / "more").write_text("x"), "a host file was changed"),
    "a file that is gone": (lambda host: (host.folder / "secret").unlink(), "a host file was changed"),
    "a file's mode": (lambda host: (host.folder / "target").chmod(0o600), "a host file was changed"),
    "TCP": (lambda host: socket.create_connection(host.tcp.getsockname(), 5).close(), "connection by TCP"),
    "UDP": (lambda host: _send(socket.AF_INET, host.udp.getsockname()), "datagram by UDP"),
    "a socket's name": (lambda host: _connect(f"\0{host.mark}"), "connection by abstract socket"),
    "a datagram's name": (lambda host: _send(socket.AF_UNIX, f"\0{host.mark}-dgram"), "datagram by abstract datagram"),
    "a signal": (lambda _: os.kill(os.getpid(), signal.SIGUSR1), "signals to us"),
    "something left": (lambda host: Path(f"/tmp/{host.mark}").touch(), "left behind"),
    "our limits": (lambda _: _lower(1), "our own limits, priority or affinity"),
    "shared memory": (lambda _: _shared(), "shared memory or message queues"),
}


@pytest.mark.parametrize("name", DEEDS)
def test_the_host_notices_what_is_done_to_it(name: str, host: Host) -> None:
    deed, effect = DEEDS[name]
    assert host.effects() == []
    try:
        deed(host)
        assert any(found.startswith(effect) for found in host.effects())
    finally:
        for path in (host.folder / "more", Path(f"/tmp/{host.mark}")):
            path.unlink(missing_ok=True)
        _lower(0)
        libc.shmctl(libc.shmget(SHARED, 0, 0), 0, None)
        host.effects()
    assert host.effects() == []


def test_the_host_notices_that_the_clock_was_set(host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    later = SimpleNamespace(time=lambda: time.time() + 3600, monotonic=time.monotonic)
    monkeypatch.setattr("hostile_suite.host.time", later)
    assert host.effects() == ["the clock was set"]


libc = ctypes.CDLL(None)
SHARED = 0x45564F53
FILES = resource.getrlimit(resource.RLIMIT_NOFILE)


def _lower(by: int) -> None:
    resource.setrlimit(resource.RLIMIT_NOFILE, (FILES[0] - by, FILES[1]))


def _shared() -> None:
    assert libc.shmget(SHARED, 4096, 0o1600) >= 0


def _connect(name: str) -> None:
    with socket.socket(socket.AF_UNIX) as caller:
        caller.connect(name)


def _send(family: int, name: object) -> None:
    with socket.socket(family, socket.SOCK_DGRAM) as sender:
        sender.sendto(b"x", name)


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
