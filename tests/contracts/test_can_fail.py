"""Each property of each contract is broken by a small plug-in, and the contract says so."""

import asyncio
import itertools
import json
from dataclasses import replace
from types import SimpleNamespace
from unittest import SkipTest

import pytest
from bit_strings import START, BitStrings, Flipping, FlippingConfig, Ones

from evosyn import contracts
from evosyn.chat import Message, Parsed, Reply, Request
from evosyn.contracts import ProposerContract, SandboxContract, TeacherContract
from evosyn.contracts.domains import DomainContract
from evosyn.domains.python_function import PythonFunction
from evosyn.errors import EvosynError, UsageError
from evosyn.evaluators.axes.strictness import Strictness
from evosyn.jobs import CallsJob, CellResult, ItemOutcome, Protection, Status
from evosyn.ports import (
    Axis,
    FeedRow,
    PluginConfig,
    Proposal,
    ProposerTools,
    SandboxTools,
    WorldTools,
)
from evosyn.ports.plugins import TOOLS
from evosyn.ports.worlds import Observation
from evosyn.records import Candidate, Evaluation, ParsedCall, Solution, Testing, Verdict
from evosyn.tasks import Task
from evosyn.text.tool_calls import ToolCall
from tests.contracts import test_domains, test_sandboxes

COUNT = itertools.count()
NOTHING = Protection("", "weak", "")
ShortAnswer = type(test_domains.TestShortAnswer().make())


def spoiled(contract, part, **changes):
    """A contract for a part of which something was changed for the worse."""
    worse = type("Part", (part,), changes)

    lent = ProposerTools if issubclass(part, Flipping) else TOOLS[contract.kind]

    def create(tools: lent, config: PluginConfig):
        made = {
            Asking: lambda: worse(tools.teacher),
            Flipping: lambda: worse(FlippingConfig()),
            BitStrings: lambda: worse({}),
        }
        return next((make for base, make in made.items() if issubclass(part, base)), worse)()

    return type("Spoiled", (contract,), {"create": staticmethod(create)})()


def answer(**changes):
    return spoiled(test_domains.TestShortAnswer, ShortAnswer, **changes)


def function(**changes):
    broken = spoiled(DomainContract, PythonFunction, **changes)
    broken.samples = test_domains.SAMPLES["python-function"][:2]
    return broken


def fixed(plan, verdict):
    return SimpleNamespace(jobs=plan.jobs, judge=lambda _: (CellResult(verdict),))


def axis(**changes):
    return spoiled(contracts.AxisContract, Strictness, **changes)


def sandbox(**changes):
    held = type("Part", (test_sandboxes.Counting,), changes)

    def create(tools: SandboxTools, config: PluginConfig):
        return held(test_sandboxes.local.create(tools, config))

    return type("Spoiled", (SandboxContract,), {"create": staticmethod(create)})()


def bits(**changes):
    return spoiled(contracts.EvolvedContract, BitStrings, **changes)


def scoring(*evaluations):
    def evaluate(_self, candidates):
        return [evaluations[len(candidates) % len(evaluations)] for _ in candidates]

    return type("Broken", (Ones,), {"evaluate": evaluate})()


class Drifting(Ones):
    """Its standard is another one with each look."""

    def evaluate(self, candidates):
        return [replace(one, epoch=self.epoch) for one in super().evaluate(candidates)]


def dated(part, epoch):
    return type("Broken", (part,), {"epoch": epoch})()


class Echo:
    name, simulated, closed = "echo", True, False

    async def complete(self, request):
        return Reply(f"r_{request.sample}", f"echo {request.sample}", self.name)

    async def aclose(self): ...


class Shared(Echo):
    """All requests wait for one task, and giving one up ends it."""

    work = None

    async def complete(self, request):
        self.work = self.work or asyncio.create_task(asyncio.sleep(0.05))
        await self.work
        return await super().complete(request)


class ClosedOnce(Echo):
    async def aclose(self):
        if self.closed:
            raise ValueError("it is closed")
        self.closed = True


def teacher(part=Echo, **changes):
    return spoiled(TeacherContract, part, **changes)


def replying(**fields):
    async def complete(self, request):
        given = {"id": f"r_{request.sample}", "text": "echo", "model": self.name, **fields}
        return Reply(**{name: value(request) if callable(value) else value for name, value in given.items()})

    return teacher(complete=complete)


class Asking:
    """A proposer that asks a model."""

    name = "asking"

    def __init__(self, teacher):
        self.teacher = teacher

    async def propose(self, context):
        reply = await self.teacher.complete(Request((), "strategy"))
        parents = (context.parent.candidate.id,)
        if reply.failure or not reply.text:
            return Proposal(waste=reply.failure or "empty", replies=(reply.id,), cost=reply.cost)
        return Proposal((Candidate(reply.text, parents, self.name),), replies=(reply.id,), cost=reply.cost)


class Mending(Asking):
    """It repairs, and forgets what the first call cost."""

    async def repair(self, context, failed, _reason):
        again = await self.propose(context)
        mended = Candidate("1" * 32, failed.candidates[0].parents, self.name)
        return Proposal((*failed.candidates, mended), replies=(*failed.replies, *again.replies), cost=again.cost)


def proposer(part=Flipping, **changes):
    broken = spoiled(ProposerContract, part, **changes)
    broken.parent, broken.genome = START.text, BitStrings({})
    return broken


def proposing(make):
    async def propose(_self, context):
        return make(context)

    return proposer(propose=propose)


class Swallowing(Asking):
    async def propose(self, context):
        try:
            return await super().propose(context)
        except EvosynError:
            return Proposal(waste="dead")


class Free(Asking):
    async def propose(self, context):
        await self.teacher.complete(Request((), "strategy"))
        return Proposal((Candidate(context.parent.candidate.text),))


class Trusting(Asking):
    async def propose(self, context):
        return Proposal((Candidate(json.loads((await self.teacher.complete(Request((), "strategy"))).text)),))


def moved(context):
    return Proposal((Candidate(str(next(COUNT)), (context.parent.candidate.id,), "flipping"),))


class Loose(PluginConfig):
    model_config = {"extra": "allow"}  # noqa: RUF012


class Demanding(PluginConfig):
    size: int


def of_another_form(contract):
    """Plug-ins whose `create` is none of this kind: what it takes, what it names, what its config demands or lets pass."""
    tools = TOOLS[contract.kind]

    def bare(): ...
    def unnamed(tools, config: PluginConfig): ...
    def foreign(tools: Echo, config: PluginConfig): ...
    def untyped(tools: tools, config: dict): ...
    def demanding(tools: tools, config: Demanding): ...
    def loose(tools: tools, config: Loose): ...

    creates = (bare, unnamed, foreign, untyped, demanding, loose)
    return [type("Spoiled", (contract,), {"create": staticmethod(create)})() for create in creates]


class Pad:
    """A session of a world of notes."""

    def __init__(self):
        self.notes, self.over = [], False

    def act(self, action):
        self.check()
        if action.startswith("add"):
            self.notes.append(action)
        return Observation(" ".join(self.notes))

    def freeze(self):
        self.check()
        self.over = True
        return f"st_{'-'.join(self.notes)}"

    def check(self):
        if self.over:
            raise UsageError("it is over")

    def close(self): ...


class Typing:
    """An agent that does what its first reply says, again and again."""

    async def run(self, work):
        reply = await work.ask(work.opening)
        while not work.over:
            await work.do(ToolCall("finish", {"thought": ""}) if reply.text == "end" else None)


async def idle(_, work):
    await work.ask(work.opening)


async def reading(_, work):
    while not work.over:
        told = json.loads((await work.ask(work.opening)).text)
        await work.do(ToolCall("finish", {"thought": told}))


async def counting(_, work):
    while not work.over:
        await work.ask(Request((Message("user", str(next(COUNT))),), "solution"))
        await work.do(None)


def agent(**changes):
    hooks = spoiled(contracts.AgentContract, Typing, **changes)
    return type("Spoiled", (type(hooks),), {"ending": "end"})()


COMMON = []


class Turns:
    """A feed: rows in turn, those that were reported behind the others; the journal is a line a report."""

    def __init__(self, folder):
        self.file = folder / "journal.jsonl"
        self.fold()

    def fold(self):
        self.used, self.told = {f"row-{at}": -1 for at in range(6)}, {}
        text = self.file.read_text() if self.file.exists() else ""
        for line in text[: text.rfind("\n") + 1].splitlines():
            step, rows = json.loads(line)
            self.told = {at: some for at, some in self.told.items() if at < step} | ({step: rows} if rows else {})
        for step, rows in self.told.items():
            self.used |= dict.fromkeys(rows, step)

    def rows(self, step, groups):
        order = sorted(self.used, key=lambda row: (self.used[row], row))
        return [self.row(name) for name in order[:groups]]

    def row(self, name):
        problem, testing = PROBLEM
        return FeedRow((Message("user", name),), Task(name, problem, testing))

    def write(self, event):
        text = self.file.read_text() if self.file.exists() else ""
        self.file.write_text(text[: text.rfind("\n") + 1] + json.dumps(event) + "\n")
        self.fold()

    def report(self, step, outcomes):
        self.write([step, [one.row for one in outcomes]])

    def rewind(self, step):
        if any(at >= step for at in self.told):
            self.write([step, []])

    def state(self):
        return dict(self.used)

    def figures(self):
        return {"fresh": sum(at < 0 for at in self.used.values())}

    def summary(self):
        return {"steps": len(self.told)}


PROBLEM = (test_domains.SAMPLES["python-function"][0].problem, test_domains.SAMPLES["python-function"][0].testing)


def feed(**changes):
    part = type("Part", (Turns,), changes)
    return type("Spoiled", (contracts.FeedContract,), {"make": staticmethod(part)})()


def notes(**changes):
    pad = type("Part", (Pad,), changes)

    def create(tools: WorldTools, config: PluginConfig):
        return SimpleNamespace(open=lambda _: pad(), close=lambda: None)

    hooks = {"create": staticmethod(create), "world": "a pad", "change": "add a", "look": "look"}
    return type("Spoiled", (contracts.WorldContract,), hooks)()


PLUGINS = [getattr(contracts, name) for name in contracts.__all__ if hasattr(getattr(contracts, name), "kind")]
BROKEN = [
    *(("its_create", broken) for contract in PLUGINS for broken in of_another_form(contract)),
    ("it_is_a_domain_and_has_a_sample_of_every_kind", answer(name="other")),
    ("it_is_a_domain_and_has_a_sample_of_every_kind", function()),
    ("what_fits_is_taken", answer(check_testing=lambda *_: "misfit: none")),
    ("what_fits_is_taken", answer(check_problem=lambda *_: None)),
    ("what_fits_is_taken", answer(check_shape=lambda *_: None)),
    ("the_key_changes", answer(key=lambda _, problem: problem.statement)),
    ("the_key_changes", answer(key=lambda self, _: str(id(self)))),
    ("solutions_that_are_the_same", answer(same=lambda *_: "", decide=lambda _, _p, one, _t: one.text == "15")),
    ("what_a_student_should_write", answer(show=lambda *_: (Message("assistant", "```\nas you like\n```"),))),
    ("what_a_student_should_write", answer(show=lambda *_: (Message("user", "14"),))),
    ("a_right_solution_passes", answer(decide=lambda *_: True)),
    ("a_right_solution_passes", answer(decide=lambda *_: Verdict.UNKNOWN)),
    ("it_works_under_whatever_name", answer(decide=lambda self, problem, one, _: one.text == "14" and problem.domain == self.name)),
    ("it_works_under_whatever_name", answer(wishes=lambda _: {"size": "small"})),
    ("a_testing_of_another_kind", answer(check_testing=lambda *_: None)),
    ("only_what_our_machine", function(plan=lambda self, *a: fixed(PythonFunction.plan(self, *a), Verdict.FAIL))),
    ("only_what_our_machine", function(plan=lambda self, *a: fixed(PythonFunction.plan(self, *a), Verdict.PASS))),
    ("expected_outputs", function(plan=lambda _, _p, _s, ts, _l: SimpleNamespace(jobs=(CallsJob(ts[0].text, "f", ()),)))),
    ("generators_are_expanded", function(plan=lambda *_: None)),
    ("generators_are_expanded", function(expand=lambda *_: SimpleNamespace(jobs=(), testings=lambda _: ()))),
    ("requests_show", answer(ask=lambda _, what, one, n, p, more=(): Request((Message("user", f"{one}{more}"),), what, p, n))),
    ("requests_show", answer(ask=lambda _, what, *_a: Request((Message("user", "Go."),), what))),
    ("arbitrary_text", answer(read_testing=lambda _, text, _p: json.loads(text))),
    ("arbitrary_text", answer(read_solution=lambda *_: Parsed(None, "No!"))),
    ("what_a_testing_asks", answer(calls=lambda *_: (ParsedCall("x" * 5000, None),))),
    ("what_is_joined", function(join=lambda *_: Testing("no-such-kind", {}))),
    ("what_is_joined", function(join=lambda *_: Testing("program", {"code": "def check(candidate):\n    pass"}))),
    ("a_canary", answer(canaries=lambda *_: (Solution("14"),))),
    ("it_is_one", agent(run=lambda *_: None)),
    ("it_ends_when", agent(run=idle)),
    ("any_reply_is_data", agent(run=reading)),
    ("equal_replies", agent(run=counting)),
    ("an_action_is_seen", notes(act=lambda *_: Observation(""))),
    ("equal_actions_leave", notes(freeze=lambda _: f"st_{next(COUNT)}")),
    ("two_sessions_share", notes(__init__=lambda self: vars(self).update(notes=COMMON, over=False))),
    ("any_action_is_data", notes(act=lambda *_: None)),
    ("a_frozen_or_closed", notes(check=lambda _: None)),
    ("it_gives_as_many", feed(rows=lambda self, _, groups: Turns.rows(self, _, groups + 1))),
    ("it_gives_as_many", feed(row=lambda self, name: Turns.row(self, name)._replace(prompt=()))),
    ("rows_depend", feed(rows=lambda self, *_: [self.row(f"row-{next(COUNT)}")] * 4)),
    ("rows_depend", feed(rows=lambda self, step, groups: self.used.update({"row-0": step}) or Turns.rows(self, step, groups))),
    ("a_feed_that_is_taken_up", feed(write=lambda self, event: self.used.update(dict.fromkeys(event[1], event[0])))),
    ("a_report_that_a_kill", feed(write=lambda self, event: Turns.write(self, event) or self.file.write_text(self.file.read_text() + " " * 9))),
    ("taken_back_to_a_step", feed(rewind=lambda *_: None)),
    ("what_nobody_could_judge", feed(figures=lambda _: {f"at-{next(COUNT)}": 0.0})),
    ("what_nobody_could_judge", feed(figures=lambda _: {"rate": float("nan")})),
    ("its_range_is_declared", axis(axis=property(lambda _: Axis("strictness", 0.0, 1.0 + next(COUNT), 10)))),
    ("values_are_finite", axis(measure=lambda *_: float("nan"))),
    ("values_are_finite", axis(measure=lambda _, seen: float(seen.draws.blocks[0].passed_BMN[0, 0, 0] / (2 + next(COUNT))))),
    ("a_matrix_that_says_nothing", axis(measure=lambda *_: float("nan"))),
    ("it_names_what_it_protects", sandbox(__enter__=lambda self: setattr(self, "protection", NOTHING) or self)),
    ("every_kind_of_job_ends", sandbox(run=lambda self, jobs, **_: [(ItemOutcome(Status.OK, 1),) for _ in jobs])),
    ("results_come_in_the_order", sandbox(run=lambda self, jobs, **told: self.behind.run(jobs, **told)[::-1])),
    ("results_come_in_the_order", sandbox(run=lambda self, jobs, on_done=None: self.behind.run(jobs))),
    ("a_program_leaves_nothing", sandbox(run=lambda *_, **_n: [[ItemOutcome(Status.OK, next(COUNT))]])),
    ("shared_data_reach", sandbox(run=lambda *_, **_n: [(ItemOutcome(Status.OK, None),)])),
    ("it_has_a_name_and_says", teacher(simulated="yes")),
    ("each_request_is_answered", replying(id="r_0")),
    ("each_request_is_answered", replying(text=lambda _: str(next(COUNT)))),
    ("a_reply_says_who", replying(model="another")),
    ("a_reply_says_who", replying(cost=-1.0)),
    ("a_reply_says_who", replying(text="")),
    ("a_request_can_be_given_up", teacher(Shared)),
    ("a_message_of_any_text", replying(text=lambda request: {"Say hello.": "Hello."}[request.messages[0].content])),
    ("it_closes_twice", teacher(ClosedOnce)),
    ("it_is_a_proposer", proposer(name="")),
    ("a_proposal_has_candidates", proposing(lambda _: Proposal())),
    ("a_proposal_has_candidates", proposing(lambda _: Proposal(waste="Too bad!"))),
    ("a_proposal_has_candidates", proposing(lambda _: Proposal((Candidate("0", ("c_stranger",), "flipping"),)))),
    ("the_same_context", proposing(moved)),
    ("what_a_model_was_paid", proposer(Free)),
    ("no_reply_of_a_model", proposer(Trusting)),
    ("a_spent_budget", proposer(Swallowing)),
    ("a_repair_is_one_more", proposer(Mending)),
    ("it_has_its_words", bits(question="Say it.")),
    ("it_knows_its_own", bits(key=lambda *_: None)),
    ("it_knows_its_own", bits(key=lambda *_: str(next(COUNT)))),
    ("a_reply_that_quotes", bits(read=lambda *_: Parsed("0" * 32))),
    ("arbitrary_text", bits(key=lambda _, text: str(int(text, 2)))),
    ("its_header", bits(__init__=lambda self, _: setattr(self, "header", {"at": next(COUNT)}))),
    ("an_evaluation_fills", bits(evaluator=scoring(Evaluation(0.5)))),
    ("an_evaluation_fills", bits(evaluator=scoring(Evaluation(0.5, None, (1, 1)), Evaluation(0.4, None, (1, 1))))),
    ("its_evaluations_carry", bits(evaluator=dated(Ones, "student 1"))),
    ("its_evaluations_carry", bits(evaluator=dated(Drifting, property(lambda _: str(next(COUNT)))))),
    ("a_bad_candidate", bits(evaluator=scoring(Evaluation(None)))),
    ("merit_is_an_order", bits(merit=lambda _, elite: (-(elite.evaluation.score or 0.0),))),
    ("merit_is_an_order", bits(merit=lambda *_: (float("nan"),))),
    ("a_search_ends", bits(finish=lambda *_: {"best": next(COUNT)})),
    ("a_search_ends", bits(finish=lambda *_: {})),
]  # fmt: skip


def methods(contract):
    return {name for name in dir(contract) if name.startswith("test_")}


def named(start, contract):
    (name,) = [name for name in methods(contract) if name.startswith(f"test_{start}")]
    return name


@pytest.mark.parametrize(
    ("start", "broken"), BROKEN, ids=[f"{place}-{start}" for place, (start, _) in enumerate(BROKEN)]
)
def test_a_contract_sees_what_breaks_it(start, broken):
    with pytest.raises((AssertionError, ValueError, KeyError)):
        getattr(broken, named(start, broken))()


def test_every_property_is_broken_by_something():
    for contract in (getattr(contracts, name) for name in contracts.__all__ if name.endswith("Contract")):
        held = {named(start, one) for start, one in BROKEN if isinstance(one, contract)}
        if contract is not contracts.GenomeContract:
            assert methods(contract) == held, contract.__name__


@pytest.mark.parametrize(
    "good",
    [agent(), answer(), bits(), proposer(), proposer(Asking), teacher(), notes(), feed()],
    ids=lambda one: type(one).__mro__[1].__name__,
)
def test_what_is_not_spoiled_is_taken(good):
    for name in methods(good):
        try:
            getattr(good, name)()
        except SkipTest:
            continue


def test_a_class_without_its_hooks_says_what_is_missing():
    with pytest.raises(AssertionError, match=r"Spoiled needs `create`, such as: create = staticmethod.create."):
        type("Spoiled", (contracts.AxisContract,), {})().test_its_range_is_declared_and_the_same_each_time()
    with pytest.raises(AssertionError, match="Spoiled needs `samples`, such as: samples ="):
        spoiled(DomainContract, ShortAnswer).test_a_canary_is_never_accepted()
