"""Thousands of programs of the admitted languages look for tokens that their neighbours hold, and find none; languages
that admit one thing more are caught. The seed is printed; EVOSYN_SEED repeats a run.
"""

from __future__ import annotations

import ast
import json
import os
import random
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest
from company_grammar import Grammar, Program, coverage

from evosyn.errors import SandboxUnavailable
from evosyn.jobs import Call, CallsJob, CompanyJob, Limits
from evosyn.sandbox import company, open_sandbox
from evosyn.sandbox.company import NODES, NUMPY, PLAIN, Called, Language

COMPANY = 20
SLOW = (signal.SIGKILL, signal.SIGXCPU)
HOST = Path(__file__).with_name("company_host.py")


@dataclass
class Report:
    """What some companies came to.

    Attributes:
        due: programs but those that a slow one before them kept from their turn.
    """

    programs: int = 0
    due: int = 0
    ran: int = 0
    compared: int = 0
    found: list[str] = field(default_factory=list)
    seen: set[str] = field(default_factory=set)


class Host:
    """The process that runs companies."""

    def __init__(self) -> None:
        root = str(Path(company.__file__).parents[2])
        self._process = subprocess.Popen(
            [sys.executable, "-W", "ignore", str(HOST)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": root},
        )

    def ask(self, arrays: bool, members: Sequence[Program], alone: Sequence[int] = (), times: int = 1) -> Any:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        asked = {"arrays": arrays, "members": [one._asdict() for one in members], "alone": list(alone), "times": times}
        self._process.stdin.write(json.dumps(asked) + "\n")
        self._process.stdin.flush()
        return json.loads(self._process.stdout.readline())

    def close(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait(30)


@pytest.fixture(scope="module")
def host() -> Iterator[Host]:
    opened = Host()
    yield opened
    opened.close()


@pytest.fixture
def seed() -> int:
    drawn = int(os.environ.get("EVOSYN_SEED") or random.SystemRandom().randrange(2**32))
    print(f"EVOSYN_SEED={drawn}")  # noqa: T201
    return drawn


def fuzz(host: Host, grammar: Grammar, programs: int, alone_every: int = 7, stop: bool = False) -> Report:
    """Draw companies and run them.

    Args:
        alone_every: so many programs lie between two that run alone as well, to be compared.
        stop: at the first company in which something was found.
    """
    report = Report()
    while report.programs < programs and not (stop and report.found):
        members = [grammar.program() for _ in range(COMPANY)]
        report.programs += len(members)
        report.seen |= coverage([member.source for member in members])
        alone = range(report.programs % alone_every, COMPANY, alone_every)
        answer = host.ask(grammar.arrays, members, alone)
        if answer["died"] and answer["died"] not in SLOW:
            report.found.append(f"the company of program {report.programs} died of signal {answer['died']}")
        report.ran += len(answer["results"])
        report.due += len(answer["results"]) + 1 if answer["died"] in SLOW else len(members)
        for result in answer["results"]:
            report.found += result["found"]
        for at, (one,) in ((int(at), results) for at, results in answer["alone"].items() if results):
            if at < len(answer["results"]) and {one["ended"], answer["results"][at]["ended"]} == {"value"}:
                report.compared += 1
                if one["gave"] != answer["results"][at]["gave"] and _always_differs(host, grammar, members, at):
                    report.found.append(f"gives something else alone: {members[at].source}")
    return report


def _always_differs(host: Host, grammar: Grammar, members: Sequence[Program], at: int) -> bool:
    """Whether no way of running the program alone gives what it gave in company. Where its objects lie is no finding: a
    program that gives something else behind neighbours who hold nothing shows its own addresses."""
    answer = host.ask(grammar.arrays, members, [at], times=12)
    if at >= len(answer["results"]):
        return False
    gave = answer["results"][at]["gave"]
    alone = {one["gave"] for one in answer["alone"][str(at)]}
    if len(alone) > 1 or gave in alone:
        return False
    behind = [host.ask(grammar.arrays, [holding_nothing(size), members[at]])["results"] for size in (10, 1_000, 50_000)]
    return {results[-1]["gave"] for results in behind} == alone


def holding_nothing(size: int) -> Program:
    """A neighbour that only takes memory."""
    token = "tk" + "0" * 22
    return Program(f"kept = [[] for _ in range({size})]\n\ndef shown(x):\n    return []\n", token)


def everything(language: Language) -> set[str]:
    """All that programs of the language can be seen to use, in the words of `coverage`."""
    seen = {kind.__name__ for kind in NODES} | {f".{name}" for name in language.methods}
    seen |= {*language.builtins, *language.silent, *language.called} | {f"{name}=" for name in language.keywords}
    return seen | {f"{module}.{name}" for module, names in language.modules.items() for name in names}


@pytest.mark.slow
@pytest.mark.parametrize("language", [PLAIN, NUMPY], ids=["plain", "numpy"])
def test_admitted_programs_find_nothing_of_their_neighbours(language: Language, host: Host, seed: int) -> None:
    report = fuzz(host, Grammar(language, random.Random(seed)), 160)
    assert not report.found, report.found[:5]
    assert report.ran > 0.8 * report.due
    assert report.compared > 5


@pytest.mark.long
@pytest.mark.parametrize(("language", "programs"), [(PLAIN, 6_000), (NUMPY, 5_000)], ids=["plain", "numpy"])
def test_ten_thousand_admitted_programs_use_everything_and_find_nothing(
    language: Language, programs: int, host: Host, seed: int
) -> None:
    report = fuzz(host, Grammar(language, random.Random(seed)), programs, alone_every=13)
    assert not report.found, report.found[:5]
    assert report.ran > 0.8 * report.due
    assert report.compared > programs / 40
    assert not everything(language) - report.seen


def wider(language: Language, **more: Any) -> Language:
    return replace(language, **{name: getattr(language, name) | value for name, value in more.items()})


ANY_WHERE = {name: how._replace(reduces=True) for name, how in NUMPY.called.items()}
FRAMES = {"gi_frame", "f_back", "f_locals", "f_globals"}
WEAK = {
    "globals": (wider(PLAIN, methods={"__globals__"}), ["__globals__"]),
    "tracebacks": (wider(PLAIN, methods={"__traceback__", "tb_frame"}), ["__traceback__", "tb_frame"]),
    "modules": (wider(PLAIN, modules={"sys": frozenset({"modules"})}), ["sys.modules"]),
    "classes in Python": (replace(PLAIN, called={"iter": Called(1)}), ["collections.Counter"]),
    "format": (wider(PLAIN, methods={"format"}), ["format"]),
    "frames": (wider(PLAIN, methods=FRAMES), sorted(FRAMES)),
    "getattr": (wider(PLAIN, builtins={"getattr"}), ["getattr"]),
    "type": (wider(PLAIN, builtins={"type"}), ["type"]),
    "vars": (wider(PLAIN, builtins={"vars"}), ["vars"]),
    "empty": (wider(NUMPY, called={"numpy.empty": Called(1)}), ["numpy.empty"]),
    "ndarray": (
        replace(wider(NUMPY, called={"numpy.ndarray": Called(1)}), silent=PLAIN.silent),
        ["numpy.ndarray"],
    ),
    "where": (replace(NUMPY, called=ANY_WHERE), ["where="]),
}


@pytest.mark.parametrize(
    "weakness",
    [name if at < 4 else pytest.param(name, marks=pytest.mark.long) for at, name in enumerate(WEAK)],
)
def test_a_language_that_admits_one_thing_more_is_caught(weakness: str, host: Host) -> None:
    language, focus = WEAK[weakness]
    assert fuzz(host, Grammar(language, random.Random(7), focus), 1_000, alone_every=COMPANY, stop=True).found


@pytest.mark.long
@pytest.mark.parametrize("rule", ["Subscript", "Attribute"])
def test_a_policy_without_one_of_its_rules_is_caught(rule: str, host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the rule settles for others stays settled: without that hardly a program would be admitted."""
    kind = getattr(ast, rule)
    own = company._RULES[kind]
    monkeypatch.setitem(company._RULES, kind, lambda reading, node: own(reading, node) or True)
    focus = {"Subscript": [], "Attribute": ["__globals__", "__class__", "__dict__"]}[rule]
    assert fuzz(host, Grammar(PLAIN, random.Random(7), focus), 1_000, alone_every=COMPANY, stop=True).found


def test_in_the_real_sandbox_they_find_nothing_either(seed: int) -> None:
    grammar = Grammar(PLAIN, random.Random(seed))
    programs = [grammar.program() for _ in range(48)]
    limits = Limits(cpu_s=1.0, budget_s=20.0, memory_mb=1024)
    members = [CallsJob(program.source, "shown", (Call((3,)),), limits) for program in programs]
    jobs = [CompanyJob(tuple(members[start : start + 8]), limits) for start in range(0, len(members), 8)]
    try:
        sandbox = open_sandbox(workers=2, allow_weak=True)
    except SandboxUnavailable as error:
        pytest.skip(str(error))
    with sandbox:
        outcomes = [outcome for items in sandbox.run(jobs) for outcome in items]
    texts = ["".join(outcome.value) if isinstance(outcome.value, list) else outcome.detail for outcome in outcomes]
    assert sum(bool(text) for text in texts) > len(programs) / 2
    for program, text in zip(programs, texts, strict=True):
        assert not [one for one in programs if one.token != program.token and one.token[2:14] in text]
