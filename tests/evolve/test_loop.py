"""The loop: same journal at any concurrency, resume equals the undisturbed run, state = replay(journal)."""

import asyncio
import json
import os
import random
import re
import shutil
import signal
import threading
import time
import zlib
from dataclasses import replace
from pathlib import Path

import pytest
from _fingerprint import fingerprint
from bit_strings import START, BitStrings, Flipping, FlippingConfig, Ones
from hypothesis import given, settings
from hypothesis import strategies as st

from evosyn.errors import CorruptRun, TeacherUnavailable, UsageError
from evosyn.evolve.events import Committed, events_of
from evosyn.evolve.islands import Archipelago, IslandsConfig
from evosyn.evolve.loop import LoopConfig, Search, SearchParts
from evosyn.evolve.replay import replay
from evosyn.evolve.schedule import Arm, Schedule
from evosyn.evolve.stopping import Grant, Stop, StopConfig, extended
from evosyn.journal import Journal
from evosyn.ports import Proposal, ProposalContext
from evosyn.randomness import SeedTree
from evosyn.records import Candidate

ISLANDS = IslandsConfig(count=3, migrate_every=15, restart_after=4)


class Troubled(Flipping):
    """Flips bits; slow, dear or wasteful to order.

    Args:
        latency: seconds that a proposal takes; varied by half, deterministically, if `jitter`.
        waste: share of proposals without a candidate.
        cost: dollars a proposal; more than zero makes it look like a model's.
    """

    def __init__(self, latency=0.0, jitter=False, waste=0.0, cost=0.0, **options):
        super().__init__(FlippingConfig(**options))
        self._latency, self._jitter, self._waste, self._cost = latency, jitter, waste, cost

    async def propose(self, context: ProposalContext) -> Proposal:
        rng = SeedTree(context.seed).child("trouble", context.index).random()
        if self._latency:
            await asyncio.sleep(self._latency * (rng.uniform(0.5, 1.5) if self._jitter else 1.0))
        paid = {"replies": (f"reply-{context.index}",) if self._cost else (), "cost": self._cost}
        if rng.random() < self._waste:
            return Proposal(waste="prose", **paid)
        return replace(await super().propose(context), **paid)


class Evaluated(BitStrings):
    """Bit strings with another evaluator."""

    def __init__(self, evaluator, **header):
        super().__init__(header)
        self.evaluator = evaluator


def empty(seed=1, islands=ISLANDS, axes=Ones.axes) -> Archipelago:
    return Archipelago(axes, BitStrings({}).merit, islands, SeedTree(seed))


def make(
    path: Path,
    *,
    seed=1,
    concurrency=8,
    lag=8,
    stop=None,
    islands=ISLANDS,
    on_commit=None,
    told=None,
    evaluator=None,
    proposer=None,
    **trouble,
):
    tree = SeedTree(seed)
    parts = SearchParts(
        evolved=Evaluated(evaluator or Ones(), seed=told or seed, lag=lag),
        proposers={"flipping": proposer or Troubled(**trouble)},
        schedule=Schedule([Arm("flipping")], tree),
        initial=[START],
        seed=tree,
    )
    return Search(
        parts,
        Journal(path),
        islands=islands,
        loop=LoopConfig(lag=lag, concurrency=concurrency),
        stop=stop or StopConfig(proposals=150),
        on_commit=on_commit,
    )


def run(path: Path, **options) -> tuple[str, bytes]:
    search = make(path, **options)
    search.run()
    return fingerprint(search.state), path.read_bytes()


def test_same_seed_gives_the_same_journal_at_any_concurrency(tmp_path):
    journals = [
        run(tmp_path / f"{number}", concurrency=number, burst=3, latency=0.001, jitter=True, waste=0.2)[1]
        for number in (1, 4, 16)
    ]
    assert journals[0] == journals[1] == journals[2]


@settings(max_examples=12, deadline=None)
@given(
    seed=st.integers(0, 2**32),
    lag=st.integers(1, 12),
    burst=st.integers(1, 4),
    waste=st.sampled_from([0.0, 0.3]),
    search=st.sampled_from(["evolve", "iid", "sequential", "hillclimb"]),
)
def test_one_seed_is_one_journal_and_the_journal_is_the_state(tmp_path_factory, seed, lag, burst, waste, search):
    islands = ISLANDS.model_copy(update={"search": search})
    options = {"seed": seed, "lag": lag, "burst": burst, "waste": waste, "stop": StopConfig(proposals=50)}
    folder, journals = tmp_path_factory.mktemp("j"), []
    for concurrency in (1, 4, 16):
        search_of = make(folder / f"{concurrency}", concurrency=concurrency, islands=islands, **options)
        search_of.run()
        journals.append((folder / f"{concurrency}").read_bytes())
    assert journals[0] == journals[1] == journals[2]
    found = replay(events_of(Journal(folder / "1")), empty(seed, islands))
    assert fingerprint(found.state) == fingerprint(search_of.state)


def test_another_seed_gives_another_journal(tmp_path):
    assert run(tmp_path / "a", seed=1)[1] != run(tmp_path / "b", seed=2)[1]


def test_replay_gives_the_state(tmp_path):
    path = tmp_path / "j"
    search = make(path, burst=4)
    search.run()
    found = replay(events_of(Journal(path)), empty())
    assert fingerprint(found.state) == fingerprint(search.state)
    assert found.stopped == Stop.PROPOSALS
    assert search.state.migrations > 0 and search.state.restarts > 0


@pytest.mark.parametrize("share", [0.0, 0.003, 0.1, 0.37, 0.5, 0.81, 0.999, 1.0])
def test_a_journal_cut_at_any_byte_is_continued_to_the_same_journal(tmp_path, share):
    whole = tmp_path / "whole"
    _, expected = run(whole, burst=2)
    cut = tmp_path / "cut"
    cut.write_bytes(expected[: int(len(expected) * share)])
    assert run(cut, burst=2, concurrency=3)[1] == expected


@pytest.mark.slow
@pytest.mark.parametrize("kills", [30, pytest.param(200, marks=pytest.mark.long)])
def test_killed_at_random_bytes_nothing_differs(kills, tmp_path):
    rng = random.Random(5)
    stop = StopConfig(proposals=120)
    state, expected = run(tmp_path / "whole", burst=2, waste=0.1, cost=0.001, stop=stop)
    for number in range(kills):
        cut = tmp_path / f"cut-{number}"
        cut.write_bytes(expected[: rng.randrange(len(expected))])
        options = {"burst": 2, "waste": 0.1, "cost": 0.001, "stop": stop, "concurrency": rng.choice([1, 3, 8])}
        assert run(cut, **options) == (state, expected)


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.parametrize("kills", [30, pytest.param(200, marks=pytest.mark.long)])
def test_killed_at_random_instants_nothing_differs(kills, tmp_path):
    rng = random.Random(6)
    options = {"burst": 2, "waste": 0.1, "cost": 0.001, "stop": StopConfig(proposals=60)}
    began = time.monotonic()
    expected = run(tmp_path / "whole", **options)
    whole = time.monotonic() - began
    cut_short = 0
    for number in range(kills):
        path = tmp_path / f"killed-{number}"
        child = os.fork()
        if not child:
            run(path, **options)
            os._exit(0)
        time.sleep(rng.uniform(0, whole))
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        cut_short += not path.exists() or path.read_bytes() != expected[1]
        assert run(path, concurrency=rng.choice([1, 3, 8]), **options) == expected
    assert cut_short > kills // 2, "most of the kills came in the middle"


def test_an_interrupt_loses_nothing_that_was_committed(tmp_path):
    path = tmp_path / "j"

    def interrupt(state, step, fates):  # noqa: ARG001
        if state.steps == 40:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        make(path, on_commit=interrupt).run()
    assert run(path)[1] == run(tmp_path / "undisturbed")[1]


def test_continue_grants_more_and_a_finished_run_adds_nothing_when_repeated(tmp_path):
    path = tmp_path / "j"
    search = make(path)
    search.run()
    size = path.stat().st_size
    again = make(path)
    again.run()
    assert path.stat().st_size == size
    more = make(path)
    more.continue_for(30)
    more.run()
    assert more.state.steps == 180
    after = make(path)
    after.run()
    assert fingerprint(after.state) == fingerprint(more.state)


def test_continue_adds_to_what_was_made_or_allowed_whichever_is_more():
    config = StopConfig(evaluations=200)
    assert extended(config, [Grant(30, evaluations=310, proposals=9)]).evaluations == 340
    assert extended(config, [Grant(30, evaluations=100, proposals=9)]).evaluations == 230
    assert extended(config, [Grant(30, 310, 9), Grant(5, 341, 10)]).evaluations == 346
    assert extended(config, [Grant(30, 310, 9)]).proposals is None


def test_continue_adds_to_what_was_made_where_the_search_had_ended():
    """Whatever the command plans that continues it; one that then plans more gets that."""
    first = Grant(20, evaluations=113, proposals=9, ended=True, planned=(100, None))
    for limit, allowed in ((100, 133), (50, 133), (500, 500)):
        assert extended(StopConfig(evaluations=limit), [first]).evaluations == allowed
    again = Grant(20, evaluations=135, proposals=11, ended=True, planned=(100, None))
    assert extended(StopConfig(evaluations=100), [first, again]).evaluations == 155
    killed = Grant(20, evaluations=300, proposals=11, planned=(500, None))
    assert extended(StopConfig(evaluations=500), [first, killed]).evaluations == 520
    by_plateau = Grant(20, evaluations=900, proposals=9, ended=True, planned=(3000, None))
    for limit, allowed in ((3000, 920), (1500, 1500), (800, 920)):
        assert extended(StopConfig(evaluations=limit), [by_plateau]).evaluations == allowed
    cut_short = Grant(20, evaluations=1000, proposals=9, planned=(1500, None))
    assert extended(StopConfig(evaluations=1500), [by_plateau, cut_short]).evaluations == 1520
    assert extended(StopConfig(proposals=40), [first]).proposals == 40


def test_a_search_that_ended_early_and_is_continued_repeatedly_makes_so_many_more(tmp_path):
    path = tmp_path / "j"
    make(path, stop=StopConfig(proposals=150, target=0.7)).run()
    for _ in range(2):
        search = make(path)
        made = search.state.steps
        search.continue_for(5)
        search.run()
        assert search.state.steps == made + 5 < 150
        again = make(path)
        again.run()
        assert again.state.steps == made + 5


def test_other_settings_in_the_same_directory_are_refused(tmp_path):
    run(tmp_path / "j", seed=1)
    with pytest.raises(UsageError, match="seed: 1 there, 2 asked for"):
        run(tmp_path / "j", seed=1, told=2)


def test_an_edited_journal_is_refused(tmp_path):
    path = tmp_path / "j"
    run(path)
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[:20] + lines[21:]))
    with pytest.raises(CorruptRun, match="follows after"):
        make(path)


def _edited(path: Path, change) -> None:
    """The journal with its events changed and the checksums of their lines made anew."""
    lines = []
    for number, line in enumerate(path.read_bytes().splitlines()):
        event = json.loads(line[9:])
        change(number, event)
        body = json.dumps(event, sort_keys=True, separators=(",", ":")).encode()
        lines.append(b"%08x %s\n" % (zlib.crc32(body), body))
    path.write_bytes(b"".join(lines))


def _trial(number: int, event: dict) -> dict:
    return event["step"]["trials"][0] if number == 9 else {"candidate": {}, "evaluation": {}}


@pytest.mark.parametrize(
    ("field", "change"),
    [
        ("trials[0].candidate.text", lambda n, event: _trial(n, event)["candidate"].update(text="0" * 32)),
        ("trials[0].key", lambda n, event: _trial(n, event).update(key="another")),
        ("trials[0].evaluation", lambda n, event: _trial(n, event)["evaluation"].update(score=0.99)),
        ("trials[0].evaluation", lambda n, event: _trial(n, event)["evaluation"].update(score=float("nan"))),
        ("trials[0].evaluation", lambda n, event: _trial(n, event)["evaluation"].update(per_seed=[1, 1, 1, 1])),
        ("trials[0].digests", lambda n, event: _trial(n, event).setdefault("digests", []).append("more")),
    ],
)
def test_a_journal_in_which_a_trial_was_changed_is_refused_with_line_and_field(tmp_path, field, change):
    path = tmp_path / "j"
    run(path)
    _edited(path, change)
    with pytest.raises(CorruptRun, match=rf"{path}:10: step.{re.escape(field)} is not .* edited. Put back a copy"):
        make(path)


def test_of_an_earlier_version_a_journal_is_taken_up_and_a_changed_parent_is_seen(tmp_path):
    path = tmp_path / "j"
    found = run(path)

    def earlier(_: int, event: dict) -> None:
        for trial in event.get("step", {}).get("trials", ()):
            del trial["digests"]

    _edited(path, earlier)
    assert fingerprint(make(path).state) == found[0]
    children = [event.step for event in events_of(Journal(path)) if isinstance(event, Committed)]
    parent = next(one.parent for one in reversed(children) if one.parent != START.id)

    def changed(_: int, event: dict) -> None:
        for trial in event.get("step", {}).get("trials", ()):
            if Candidate(trial["candidate"]["text"]).id == parent:
                trial["candidate"]["text"] = "0" * 32

    _edited(path, changed)
    with pytest.raises(CorruptRun, match=rf"step.parent is {parent}, and no candidate before it has that id"):
        make(path)


def test_duplicates_are_caught_before_they_are_evaluated(tmp_path):
    class Counting(Ones):
        def __init__(self):
            self.seen = []

        def evaluate(self, candidates):
            self.seen.extend(candidate.text for candidate in candidates)
            return super().evaluate(candidates)

    evaluator = Counting()
    search = make(tmp_path / "j", chance=0.02, stop=StopConfig(proposals=300), evaluator=evaluator)
    search.run()
    assert len(evaluator.seen) == len(set(evaluator.seen)) == search.state.evaluations
    assert search.state.tallies["flipping"].fates["duplicate"] > 50


@pytest.mark.parametrize(
    ("stop", "reason"),
    [
        (StopConfig(proposals=1000, target=0.9), Stop.TARGET),
        (StopConfig(evaluations=50), Stop.EVALUATIONS),
        (StopConfig(proposals=5000, plateau=60), Stop.PLATEAU),
        (StopConfig(proposals=5000, model_calls=25), Stop.REPLIES),
        (StopConfig(proposals=5000, cost=0.5), Stop.COST),
        (StopConfig(proposals=5000, seconds=0.05), Stop.TIME),
    ],
)
def test_each_limit_ends_the_search_with_its_name(tmp_path, stop, reason):
    assert make(tmp_path / "j", stop=stop, cost=0.01).run() is reason


@pytest.mark.parametrize("concurrency", [1, 8])
def test_no_call_is_paid_beyond_the_limit_but_for_a_repair(tmp_path, concurrency):
    class Paid(Troubled):
        calls = 0

        async def propose(self, context: ProposalContext) -> Proposal:
            self.calls += 1
            return await super().propose(context)

    stop, proposer = StopConfig(proposals=500, model_calls=25), Paid(cost=0.01, latency=0.001)
    search = make(tmp_path / f"{concurrency}", stop=stop, concurrency=concurrency, proposer=proposer)
    assert search.run() is Stop.REPLIES
    assert search.state.replies == proposer.calls == 25


def test_proposals_that_only_fail_end_the_search_and_a_repeat_tries_again(tmp_path):
    path = tmp_path / "j"
    stop = StopConfig(proposals=500, failures=20)
    assert make(path, stop=stop, waste=1.0).run() is Stop.FAILING
    search = make(path, stop=stop, waste=1.0)
    assert search.state.steps == 20
    assert search.run() is Stop.FAILING
    assert search.state.steps == 40


def test_an_error_of_a_proposer_ends_the_run_and_what_was_committed_stays(tmp_path):
    class Dying(Troubled):
        async def propose(self, context: ProposalContext) -> Proposal:
            if context.index == 30:
                raise TeacherUnavailable("the endpoint is gone")
            return await super().propose(context)

    search = make(tmp_path / "j", proposer=Dying())
    with pytest.raises(TeacherUnavailable):
        search.run()
    assert 0 < make(tmp_path / "j").state.steps <= 30
    assert run(tmp_path / "j")[1] == run(tmp_path / "undisturbed")[1]


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")  # its traceback is shown
def test_an_evaluator_with_a_bug_ends_the_run_instead_of_hanging(tmp_path):
    class Broken(Ones):
        def evaluate(self, candidates):
            if candidates[0].text != START.text:
                raise ZeroDivisionError
            return super().evaluate(candidates)

    search = make(tmp_path / "j", evaluator=Broken())
    with pytest.raises(RuntimeError, match="evaluator failed"):
        search.run()
    for thread in threading.enumerate():
        if thread.name == "evosyn-evaluate":
            thread.join(5)


def test_slow_proposals_run_at_once(tmp_path):
    class Counted(Troubled):
        now = most = 0

        async def propose(self, context: ProposalContext) -> Proposal:
            self.now += 1
            self.most = max(self.most, self.now)
            try:
                return await super().propose(context)
            finally:
                self.now -= 1

    proposer = Counted(latency=0.05)
    make(tmp_path / "j", proposer=proposer, concurrency=16, lag=32, stop=StopConfig(proposals=160)).run()
    assert proposer.most == 16


def test_two_journals_of_one_directory_copy_are_independent(tmp_path):
    run(tmp_path / "a", stop=StopConfig(proposals=40))
    shutil.copy(tmp_path / "a", tmp_path / "b")
    assert run(tmp_path / "b", stop=StopConfig(proposals=150))[0] == run(tmp_path / "c")[0]


def test_the_event_loop_is_left_clean(tmp_path):
    run(tmp_path / "j", stop=StopConfig(proposals=5))
    asyncio.run(asyncio.sleep(0))


def test_a_journal_that_another_version_decided_otherwise_is_refused(tmp_path):
    path = tmp_path / "j"
    make(path, burst=4).run()
    coarser = tuple(replace(axis, bins=2) for axis in Ones.axes)
    with pytest.raises(CorruptRun, match=r"was decided .* the journal was edited or written by another version"):
        replay(events_of(Journal(path)), empty(axes=coarser))
