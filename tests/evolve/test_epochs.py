"""An evaluator whose standard changes: members are evaluated anew before anything is compared with them, whatever the
speed and whenever the run is killed."""

import asyncio
import random
import shutil
import time
from dataclasses import replace
from pathlib import Path

import pytest
from _fingerprint import fingerprint
from bit_strings import START, BitStrings, Flipping, FlippingConfig, Ones
from hypothesis import given, settings
from hypothesis import strategies as st

from evosyn.errors import CorruptRun, UsageError
from evosyn.evolve.completing import complete
from evosyn.evolve.events import Reassessed, Step, Trial, events_of
from evosyn.evolve.islands import Archipelago, IslandsConfig
from evosyn.evolve.loop import LoopConfig, Search, SearchParts
from evosyn.evolve.replay import replay
from evosyn.evolve.schedule import Arm, Schedule
from evosyn.evolve.stopping import StopConfig
from evosyn.ports import ChangingEvaluator, Proposal
from evosyn.randomness import SeedTree
from evosyn.records import Candidate, Elite, Evaluation
from evosyn.rundir import RunDir

ISLANDS = IslandsConfig(count=3, migrate_every=15)


class Learning(Ones):
    """Every `every` steps it wants the opposite of what it wanted before."""

    def __init__(self, every: int = 40, slow: bool = False) -> None:
        self.every, self.steps, self._slow = every, 0, slow

    @property
    def epoch(self) -> str:
        return f"epoch {self.steps // self.every}"

    def evaluate(self, candidates):
        epoch = self.epoch
        if self._slow:
            time.sleep(random.random() / 200)
        found = super().evaluate(candidates)
        if epoch.endswith(("1", "3")):
            found = [replace(one, score=1 - one.score, per_seed=tuple(1 - x for x in one.per_seed)) for one in found]
        return [replace(one, epoch=epoch, calls=1, cost=0.5) for one in found]


class LearningStrings(BitStrings):
    def __init__(self, evaluator: Learning) -> None:
        super().__init__({"islands": ISLANDS.model_dump()})
        self.evaluator = evaluator


class Slow(Flipping):
    async def propose(self, context) -> Proposal:
        await asyncio.sleep(random.random() / 200)
        return await super().propose(context)


def run(
    out: Path, *, concurrency: int = 8, slow: bool = False, proposals: int = 150, evaluator: Learning | None = None
):
    tree, learning = SeedTree(0), evaluator or Learning(slow=slow)
    proposer = (Slow if slow else Flipping)(FlippingConfig(burst=2))
    parts = SearchParts(
        LearningStrings(learning), {"flipping": proposer}, Schedule([Arm("flipping", free=True)], tree), [START], tree
    )

    def learned(state, step, fates) -> None:  # noqa: ARG001
        learning.steps = state.steps

    with RunDir(out) as directory:
        loop = LoopConfig(concurrency=concurrency)
        search = Search(
            parts,
            directory.journal,
            islands=ISLANDS,
            loop=loop,
            stop=StopConfig(proposals=proposals),
            on_commit=learned,
        )
        learning.steps = search.state.steps  # its owner knows how far it is
        report = complete(search, directory)
        return search, report


def journal(out: Path) -> bytes:
    return (out / "journal.jsonl").read_bytes()


def reassessed(out: Path) -> list[Reassessed]:
    return [event for event in events_of(RunDir(out).journal) if isinstance(event, Reassessed)]


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    out = tmp_path_factory.mktemp("epochs") / "whole"
    return (out, *run(out))


def test_members_are_evaluated_anew_where_an_epoch_begins_and_only_there(whole):
    out, search, report = whole
    assert isinstance(Learning(), ChangingEvaluator)
    assert [event.epoch for event in reassessed(out)] == ["epoch 1", "epoch 2", "epoch 3"]
    assert report["epoch"] == search.state.epoch == "epoch 3"
    assert report["reassessed"] == sum(len(event.evaluations) for event in reassessed(out))
    assert all(elite.evaluation.epoch == "epoch 3" for elite in search.state.members().values())
    assert report["best"]["score"] == max(
        1 - one.candidate.text.count("1") / 32 for one in search.state.members().values()
    )


def test_what_evaluating_costs_is_counted(whole):
    _, search, report = whole
    calls = report["evaluations"] + report["reassessed"]
    assert report["spent"]["evaluation"]["calls"] == report["model_calls"] == calls == search.state.replies
    assert report["cost"] == pytest.approx(calls / 2)


@pytest.mark.parametrize("concurrency", [1, 8])
def test_speed_decides_nothing(whole, tmp_path, concurrency):
    run(tmp_path / "run", concurrency=concurrency, slow=True)
    assert journal(tmp_path / "run") == journal(whole[0])


@pytest.mark.parametrize("share", [0.02, 0.26, 0.27, 0.5, 0.81, 0.99])
def test_a_run_that_was_cut_off_goes_on_to_the_same_journal(whole, tmp_path, share):
    text = journal(whole[0])
    shutil.copytree(whole[0], tmp_path / "cut")
    (tmp_path / "cut" / "journal.jsonl").write_bytes(text[: int(share * len(text))])
    run(tmp_path / "cut")
    assert journal(tmp_path / "cut") == text


def test_a_run_that_was_cut_off_around_each_change_goes_on_to_the_same_journal(whole, tmp_path):
    text = journal(whole[0])
    lines = text.splitlines(keepends=True)
    changes = [at for at, line in enumerate(lines) if b'"reassess"' in line]
    assert len(changes) == 3
    for at in changes:
        for cut in (at, at + 1):
            place = tmp_path / f"cut{cut}"
            shutil.copytree(whole[0], place)
            (place / "journal.jsonl").write_bytes(b"".join(lines[:cut]))
            run(place)
            assert journal(place) == text


def test_the_state_is_the_fold_of_its_journal(whole):
    out, search, _ = whole
    empty = Archipelago(Ones.axes, BitStrings({}).merit, ISLANDS, SeedTree(0))
    assert fingerprint(replay(events_of(RunDir(out).journal), empty).state) == fingerprint(search.state)


def test_another_standard_between_two_commands_is_applied_before_anything_else(tmp_path):
    class Later(Learning):
        epoch = "other"

    _, before = run(tmp_path / "run", proposals=60, evaluator=Learning(every=10_000))
    later = Later(every=10_000)
    _, after = run(tmp_path / "run", proposals=60, evaluator=later)
    assert before["epoch"] == "epoch 0" and after["epoch"] == "other" and after["evaluations"] == before["evaluations"]
    again = journal(tmp_path / "run")
    run(tmp_path / "run", proposals=60, evaluator=later)
    assert journal(tmp_path / "run") == again


def test_an_evaluation_of_another_epoch_is_never_compared(whole):
    _, search, _ = whole
    trial = Trial(Candidate("1" * 32), "1" * 32, Evaluation(1.0, None, (16.0, 0.0), epoch="epoch 9"))
    with pytest.raises(ValueError, match="epoch 9"):
        search.state.commit(Step(search.state.steps, 0, "flipping", None, (trial,)))


def test_an_evaluator_that_gives_another_epoch_than_it_declares_is_refused(tmp_path):
    class Forgetful(Learning):
        def evaluate(self, candidates):
            return [replace(one, epoch="epoch 7" if self.steps else one.epoch) for one in super().evaluate(candidates)]

    with pytest.raises(UsageError, match="declares the epoch 'epoch 0'"):
        run(tmp_path / "run", evaluator=Forgetful())


def test_where_nothing_of_the_start_has_a_score_the_run_says_so(tmp_path):
    class Losing(Learning):
        def evaluate(self, candidates):
            found = super().evaluate(candidates)
            return (
                found if self.steps < self.every else [Evaluation(None, "unreadable", epoch=self.epoch) for _ in found]
            )

    with pytest.raises(UsageError, match="nothing that the search started from has a score: unreadable"):
        run(tmp_path / "run", evaluator=Losing())


def test_a_journal_whose_members_were_edited_is_refused(whole, tmp_path):
    out = tmp_path / "edited"
    events = list(events_of(RunDir(whole[0]).journal))
    with RunDir(out) as directory:
        written = events_of(directory.journal)
        written.begin(LearningStrings(Learning()).header)
        for event in events:
            if isinstance(event, Reassessed):
                event = replace(event, evaluations=dict(list(event.evaluations.items())[1:]))
            written.append(event)
    empty = Archipelago(Ones.axes, BitStrings({}).merit, ISLANDS, SeedTree(0))
    with pytest.raises(CorruptRun, match="other members"):
        replay(events_of(RunDir(out).journal), empty)


@settings(max_examples=40, deadline=None)
@given(st.lists(st.integers(0, 2**32 - 1), min_size=1, max_size=12, unique=True), st.randoms(use_true_random=False))
def test_a_member_without_a_score_leaves_and_the_others_keep_their_order(numbers, rng):
    state = Archipelago(Ones.axes, BitStrings({}).merit, IslandsConfig(count=2), SeedTree(0))
    texts = [START.text, *(f"{number:032b}" for number in numbers if f"{number:032b}" != START.text)]
    for index, text in enumerate(texts, -1):
        (found,) = Ones().evaluate([Candidate(text)])
        state.commit(Step(index, -1 if index < 0 else index % 2, "any", None, (Trial(Candidate(text), text, found),)))
    state_of = {name: elite.candidate for name, elite in state.members().items()}
    scores = {name: rng.choice([None, rng.random()]) for name in state.members()}
    scores[START.id] = 0.5
    anew = {
        name: replace(
            elite.evaluation, score=scores[name], invalid=None if scores[name] is not None else "no", epoch="b"
        )
        for name, elite in state.members().items()
    }
    state.reassess(Reassessed("b", anew))
    assert all(elite.evaluation == anew[name] for name, elite in state.members().items())
    for elite in (Elite(state_of[name], one) for name, one in anew.items() if one.score is not None):
        holder = state.record.at(state.record.cell_of(elite.evaluation.descriptor))
        assert holder is not None and state.record.rank(holder) >= state.record.rank(elite)
    assert all(scores[elite.candidate.id] is not None for elite in state.members().values())
