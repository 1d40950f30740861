"""A pool of environments as a feed: what comes in, what is kept out and why; the same after any kill."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

import pytest

from evosyn.chat import Message
from evosyn.contracts import FeedContract
from evosyn.environments import sources
from evosyn.environments.calibration import Rate
from evosyn.errors import UsageError
from evosyn.journal import Journal
from evosyn.ports import PayingFeed, Sandbox
from evosyn.rundir import RunDir
from evosyn.running.ledger import Ledger
from evosyn.synthesis.environments.draft import Draft
from evosyn.synthesis.recipes.evoenv import DRAFTS, kept_seeds
from evosyn.synthesis.recipes.evoenv import SEEDS as KEPT
from evosyn.synthesis.selfplay.drafting import StudentTrial
from evosyn.synthesis.selfplay.feed import EvolvingEnvironments
from evosyn.synthesis.selfplay.state import EnvironmentPool, pool_steps
from tests.synthesis.feed_kills import killed_and_whole
from tests.synthesis.selfplay.leading import GROUP, PROMPTS, SEEDS, ScriptedStudent, box, lead, opened, outcomes

STEPS = 6


@pytest.fixture(scope="module")
def boxes():
    with box(0) as one, box(1) as other:
        yield one, other


class TestEvolvingEnvironments(FeedContract):
    """The student is the author, and writes nothing that is a program."""

    @pytest.fixture(autouse=True)
    def _made(self, boxes):
        with ExitStack() as opening:
            self.make = lambda folder: opening.enter_context(opened(folder, by_student=True, boxes=boxes))
            yield


@pytest.fixture(scope="module")
def led(tmp_path_factory: pytest.TempPathFactory):
    folder, student = tmp_path_factory.mktemp("led"), ScriptedStudent()
    with opened(folder, student, steps=STEPS) as feed:
        lead(feed, STEPS)
        yield folder, feed, student


def test_state_is_the_fold_of_the_journal_and_every_draft_ends_in_one_way(led) -> None:
    folder, feed, _ = led
    again = EnvironmentPool(feed._plan)
    for event in pool_steps(Journal(folder / "journal.jsonl")).standing():
        again.fold(event)
    assert again.state() == feed.state()
    told = feed.summary()
    assert told["drafts"] == again.proposed == told["kept"] + sum(told["dropped"].values()) > 0
    assert told["simulated"] and told["calls"] == 2 * told["drafts"] and told["kept"]
    assert {one.environment for one in again.asked} <= set(again.members)


def test_a_run_keeps_the_environments_that_it_began_with(led) -> None:
    folder, _, _ = led
    assert kept_seeds(RunDir(folder)) == list(SEEDS)


def test_answers_to_a_draft_are_drawn_in_one_batch(led) -> None:
    _, feed, student = led
    tried = sum(bool(one.known) for one in feed._state.fates)
    assert tried and [size for size in student.batches if size] == [4] * tried


@pytest.mark.parametrize(("chance", "reason"), [(0.0, "too-hard"), (1.0, "saturated")])
def test_what_the_student_never_or_always_solves_stays_out(chance: float, reason: str, tmp_path: Path) -> None:
    with opened(tmp_path, ScriptedStudent(chance), steps=STEPS) as feed:
        lead(feed, STEPS)
        told = feed.summary()
    assert told["kept"] == 0 and told["dropped"].get(f"band: {reason}")


def test_the_student_is_paid_for_the_drafts_that_it_writes_and_they_come_in(tmp_path: Path) -> None:
    (program,) = sources(["builtin:circuit"]).values()
    said = ["no program", "```python\nimport os\n```", f"```python\n{program}```", f"```python\n{program}```"]
    with opened(tmp_path, by_student=True, selfplay={"judging": {"reviews": 0}}) as feed:
        assert isinstance(feed, PayingFeed)
        rows = feed.rows(0, PROMPTS)
        asked = [row for row in rows if not row.judged]
        assert len(rows) == PROMPTS and len(asked) == 1 and asked[0].weight == 0.3
        feed.report(0, outcomes(rows, 0, said))
        (paid,) = feed.paid().values()
        assert len(paid) == GROUP and paid[:2] == [-1.0, -1.0] and paid[2] == paid[3] > 0
        assert feed.summary()["kept"] == 1 and feed.summary()["dropped"]["novelty: same-program"] == 1


def said_to(feed: EvolvingEnvironments, step: int, programs: Sequence[str]) -> list[float]:
    """How new the drafts of a step were."""
    before = len(feed._state.fates)
    feed.report(step, outcomes(feed.rows(step, PROMPTS), step, [f"```python\n{one}```" for one in programs]))
    return [one.novelty for one in feed._state.fates[before:]]


def test_what_a_seed_says_or_a_refused_draft_repeats_is_not_new(tmp_path: Path, boxes: tuple[Sandbox, Sandbox]) -> None:
    (circuit,) = sources(["builtin:circuit"]).values()
    with opened(tmp_path, by_student=True, verdict="reject", boxes=boxes) as feed:
        seed, first, again, nothing = said_to(feed, 0, [SEEDS[0].source, circuit, circuit, ""])
    assert (seed, again, nothing) == (0, 0, 0) and 0 < first < 1
    assert not feed.summary()["kept"] and feed.summary()["dropped"]["review: rejected"] == 3


def test_what_comes_later_is_as_new_where_the_run_was_taken_up_in_between(
    tmp_path: Path, boxes: tuple[Sandbox, Sandbox]
) -> None:
    circuit, hard = sources(["builtin:circuit"]).popitem()[1], sources(["builtin:knapsack"]).popitem()[1]
    found = []
    for name, cut in (("whole", False), ("cut", True)):
        with opened(tmp_path / name, by_student=True, boxes=boxes) as feed:
            said_to(feed, 0, [circuit] * GROUP)
            if not cut:
                found.append(said_to(feed, 1, [circuit, hard, SEEDS[1].source, ""]))
        if cut:
            with opened(tmp_path / name, by_student=True, boxes=boxes) as feed:
                found.append(said_to(feed, 1, [circuit, hard, SEEDS[1].source, ""]))
    assert found[0] == found[1] and found[0][0] == found[0][2] == 0 < found[0][1] < 1


def test_a_request_shows_what_fits_and_one_that_never_does_is_not_made(tmp_path: Path) -> None:
    longest = [10**6]

    def fits(prompt: tuple[Message, ...]) -> bool:
        return len(prompt[-1].content) <= longest[0]

    def asked(feed: EvolvingEnvironments) -> list[int]:
        return [len(row.prompt[-1].content) for row in feed.rows(feed._state.steps, PROMPTS) if not row.judged]

    with opened(tmp_path / "run", by_student=True, fits=fits) as feed:
        (whole,) = asked(feed)
        longest[0] = whole - 1
        (less,) = asked(feed)
        assert less < whole
        feed.report(0, outcomes(feed.rows(0, PROMPTS), 0))
        draft = Ledger(Journal(tmp_path / "run" / DRAFTS), Draft).item(feed._state.fates[0].index)
        assert len(draft.brief["shown"]) == 1  # type: ignore[arg-type]
        longest[0] = 2500  # a question is shorter, the contract longer
        assert not asked(feed) and len(feed.rows(1, PROMPTS)) == PROMPTS
        feed.report(1, outcomes(feed.rows(1, PROMPTS), 1))
        ended = feed.state()
    with opened(tmp_path / "run", by_student=True, fits=fits) as feed:  # what goes on is not refused
        assert feed.summary()["dropped"]["author: request-too-long"] == 1 and feed.state() == ended
    refused = pytest.raises(UsageError, match="--teacher self: a request for a draft")
    with refused, opened(tmp_path / "new", by_student=True, fits=fits):
        pass
    assert not (tmp_path / "new" / "journal.jsonl").exists()


def test_a_draft_whose_trial_nobody_could_judge_is_not_paid_and_stays_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (program,) = sources(["builtin:circuit"]).values()
    monkeypatch.setattr(StudentTrial, "rates", lambda _, drafts, __: [Rate(3, 0, 0) for _ in drafts])
    with opened(tmp_path, by_student=True, selfplay={"judging": {"reviews": 0}}) as feed:
        feed.report(0, outcomes(feed.rows(0, PROMPTS), 0, ["no program", f"```python\n{program}```", "", ""]))
        assert list(feed.paid().values()) == [[-1.0, None, -1.0, -1.0]]
        assert feed.summary()["dropped"]["band: unmeasured"] == 1 and feed.figures()["draft_worth"] == -1


def test_without_verifiers_agreement_pays(tmp_path: Path) -> None:
    with opened(tmp_path, arm="self-label", selfplay={"drafting": {"per_step": 0}}) as feed:
        said = ["<answer>1</answer>", "<answer>1</answer>", "<answer>2</answer>", ""]
        feed.report(0, outcomes(feed.rows(0, PROMPTS), 0, said))
        assert list(feed.paid().values()) == [[1, 1, 0, 0]] * PROMPTS


def test_a_journal_of_another_run_is_refused(tmp_path: Path) -> None:
    with opened(tmp_path):
        pass
    before = (tmp_path / KEPT).read_bytes()
    with pytest.raises(UsageError, match="arm"), opened(tmp_path, arm="no-review"):
        pass
    assert (tmp_path / KEPT).read_bytes() == before


@pytest.mark.parametrize("kills", [2, pytest.param(20, marks=pytest.mark.long)])
def test_killed_at_random_instants_it_ends_in_the_same_state(kills: int, tmp_path: Path) -> None:
    module = "tests.synthesis.selfplay.leading"
    killed = killed_and_whole(module, tmp_path, kills=kills, steps=3 * kills, pause_s=0.5)
    keys = [tuple(one.key) for one in Ledger(Journal(killed / DRAFTS), Draft).paid()]
    assert len(keys) == len(set(keys))
