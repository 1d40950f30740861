"""Something else than strategies is evolved by the same engine: bit strings, written outside of the package."""

import asyncio
import json
import re
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from bit_strings import START, BitStrings, Flipping, FlippingConfig, Ones, changes, evolve

from evosyn import registry
from evosyn.chat import Reply, Request
from evosyn.errors import BudgetSpent, TeacherUnavailable, UsageError
from evosyn.evolve.completing import complete
from evosyn.evolve.events import events_of
from evosyn.evolve.islands import Archipelago, IslandsConfig
from evosyn.evolve.loop import LoopConfig, Search, SearchParts
from evosyn.evolve.replay import replay
from evosyn.evolve.schedule import Arm, Schedule
from evosyn.evolve.stopping import StopConfig
from evosyn.ports import Evolved, EvolvedTools, ModelTools, Proposal, ProposalContext, Proposer, ProposerTools
from evosyn.randomness import SeedTree
from evosyn.records import Candidate, Elite, Evaluation
from evosyn.rundir import RunDir


def journal(out: Path) -> bytes:
    return (out / "journal.jsonl").read_bytes()


def test_it_is_what_the_engine_asks_for():
    assert isinstance(registry.make("evolved", "bit_strings:create", EvolvedTools()), Evolved)
    assert isinstance(
        registry.make("proposers", "bit_strings:flipping", ProposerTools(BitStrings({})), {"burst": 2}), Proposer
    )


def test_a_run_ends_in_its_report_and_repeating_its_command_changes_nothing(tmp_path):
    report = evolve(tmp_path / "run")
    assert report["best"]["score"] > 0.85 > Ones().evaluate([START])[0].score
    assert report["proposals"] == 200 and report["proposers"]["flipping"]["fates"]["improved"] > 10
    assert (tmp_path / "run" / "best.txt").read_text().count("1") == 32 * report["best"]["score"]
    before = journal(tmp_path / "run")
    again = evolve(tmp_path / "run")
    assert again == json.loads(json.dumps(report))
    assert journal(tmp_path / "run") == before
    with pytest.raises(UsageError, match="seed: 0 there, 1 asked for"):
        evolve(tmp_path / "run", seed=1)


@pytest.mark.parametrize("share", [0.01, 0.4, 0.97])
def test_a_run_that_was_cut_off_goes_on_to_the_same_journal(tmp_path, share):
    evolve(tmp_path / "whole")
    whole = journal(tmp_path / "whole")
    shutil.copytree(tmp_path / "whole", tmp_path / "cut")
    (tmp_path / "cut" / "journal.jsonl").write_bytes(whole[: int(share * len(whole))])
    evolve(tmp_path / "cut")
    assert journal(tmp_path / "cut") == whole


def test_its_journal_is_its_state_on_every_island(tmp_path):
    report = evolve(tmp_path / "run")
    islands = IslandsConfig(count=3, migrate_every=15)
    empty = Archipelago(Ones.axes, BitStrings({}).merit, islands, SeedTree(0))
    state = replay(events_of(RunDir(tmp_path / "run").journal), empty).state
    assert state.migrations > 3 and all(len(island) > 3 for island in state.islands)
    assert state.report() == {name: report[name] for name in state.report()}


def test_its_own_order_of_merit_decides_who_holds_a_cell():
    def elite(text: str) -> Elite:
        return Elite(Candidate(text), replace(Ones().evaluate([Candidate(text)])[0], descriptor=()))

    state = Archipelago((), BitStrings({}).merit, IslandsConfig(), SeedTree(0))
    scattered, together = elite("0101" * 4 + "0" * 16), elite("1" * 8 + "0" * 24)
    assert scattered.evaluation.score == together.evaluation.score
    assert changes(scattered.candidate.text) > changes(together.candidate.text)
    for order in ((scattered, together), (together, scattered)):
        for one in order:
            state.record.add(one)
        assert state.best is together


@pytest.mark.parametrize("name", ["rewrite", "diff", "crossover", "explain"])
def test_a_model_is_asked_for_it_in_its_words_and_read_in_its_way(name):
    class Answering:
        name, simulated = "answering", True

        async def complete(self, request: Request) -> Reply:
            asked.append(request)
            return Reply("r_0", f"I set all bits: {'1' * 32}", self.name)

        async def aclose(self) -> None: ...

    asked: list[Request] = []
    bits = BitStrings({})
    proposer = registry.make("proposers", name, ModelTools(bits, Answering()))
    context = ProposalContext(0, 0, Elite(START, Evaluation(0.5)), task=bits.task)
    proposal = asyncio.run(proposer.propose(context))
    assert [candidate.text for candidate in proposal.candidates] == ["1" * 32]
    (request,) = asked
    said = request.messages[-1].content
    assert request.purpose == "bit-string" and bits.task in said and "strateg" not in said
    assert (bits.question in said) == (name == "explain")


class Poor(Flipping):
    """A proposer whose money ends, or who only talks."""

    def __init__(self, talks: bool) -> None:
        super().__init__(FlippingConfig(burst=2))
        self._talks = talks

    async def propose(self, context: ProposalContext) -> Proposal:
        if self._talks:
            return Proposal(waste="prose")
        if context.index == 20:
            raise BudgetSpent("spent")
        return await super().propose(context)


def search(run: RunDir, proposer: Proposer) -> Search:
    tree = SeedTree(0)
    parts = SearchParts(BitStrings({}), {"poor": proposer}, Schedule([Arm("poor")], tree), [START], tree)
    stop = StopConfig(proposals=60)
    return Search(parts, run.journal, islands=IslandsConfig(), loop=LoopConfig(lag=1), stop=stop)


@pytest.mark.parametrize("kept", [{}, {"files": None}, {"files": [1]}, {"digests": None}])
def test_a_report_that_somebody_changed_or_lost_a_file_of_is_made_again(tmp_path, kept):
    report = evolve(tmp_path)
    told = json.loads((tmp_path / "report.json").read_text())
    assert told["files"] == report["files"] == ["best.txt"]
    best = (tmp_path / "best.txt").read_text()
    if not kept:
        (tmp_path / "best.txt").unlink()
    (tmp_path / "report.json").write_text(json.dumps({**told, **kept}))
    assert evolve(tmp_path)["best"] == report["best"]
    again = json.loads((tmp_path / "report.json").read_text())
    assert ((tmp_path / "best.txt").read_text(), again["digests"]) == (best, told["digests"])
    assert not list(tmp_path.glob("*.altered"))


def test_a_report_of_a_later_version_is_refused_by_name_and_left_as_it_is(tmp_path):
    evolve(tmp_path)
    path = tmp_path / "report.json"
    path.write_text(held := json.dumps({**json.loads(path.read_text()), "v": 9}))
    with pytest.raises(UsageError, match=r"report\.json: v is 9, this evosyn reads version 1; use the evosyn"):
        evolve(tmp_path)
    assert path.read_text() == held


@pytest.mark.parametrize("proposals", [200, 220])
@pytest.mark.parametrize("held", ["", "1" * 20, "mine\n"])
def test_a_file_that_was_cut_or_edited_is_written_again_and_what_it_held_is_kept(tmp_path, caplog, held, proposals):
    run, whole = tmp_path / "run", tmp_path / "whole"
    evolve(run)
    report = evolve(whole, proposals=proposals)
    for copy in ("best.txt.altered", "best.txt.altered1"):
        caplog.clear()
        (run / "best.txt").write_text(held)
        again = evolve(run, proposals=proposals)
        assert (run / "best.txt").read_text() == (whole / "best.txt").read_text()
        assert again["digests"] == report["digests"] and (run / copy).read_text() == held
        (said,) = [one.getMessage() for one in caplog.records]
        assert f"{run}/best.txt: is not as this run wrote it" in said and f"{copy} keeps it" in said
    caplog.clear()
    assert evolve(run, proposals=proposals) == json.loads(json.dumps(again)) and not caplog.records


def test_a_link_that_leads_out_of_a_run_is_put_aside_unread_and_the_file_is_written_again(tmp_path, caplog):
    run, other = tmp_path / "run", tmp_path / "other.txt"
    report = evolve(run)
    other.write_text("of somebody else")
    held = (run / "best.txt").read_text()
    (run / "best.txt").unlink()
    (run / "best.txt").symlink_to(other)
    assert evolve(run)["digests"] == report["digests"] and (run / "best.txt").read_text() == held
    assert (run / "best.txt.altered").readlink() == other and other.read_text() == "of somebody else"
    assert "best.txt.altered keeps it" in caplog.text


def test_a_report_names_no_file_outside_of_its_run(tmp_path):
    run, other = tmp_path / "run", tmp_path / "other.txt"
    evolve(run)
    told = json.loads((run / "report.json").read_text())
    other.write_text("of somebody else")
    (tmp_path / "gone.txt").symlink_to(tmp_path / "nowhere")
    digests = dict.fromkeys(("../other.txt", "../gone.txt", str(tmp_path / "gone.txt"), "lost.txt"), "0")
    (run / "report.json").write_text(json.dumps({**told, "digests": digests}))
    evolve(run)
    assert {one.name for one in tmp_path.iterdir()} == {"run", "other.txt", "gone.txt"}


def test_other_settings_of_the_end_finish_a_search_again(tmp_path):
    made = []
    for settings in ({"finalists": 4}, {"finalists": 4}, {"finalists": 5}):
        with RunDir(tmp_path) as run:
            made.append(complete(search(run, Flipping(FlippingConfig(burst=2))), run, settings=settings))
    assert made[0]["wall_s"] == made[1]["wall_s"] and made[2]["finished_by"]["finalists"] == 5


def test_when_the_budget_is_spent_the_report_of_what_was_found_is_written_and_the_run_can_go_on(tmp_path):
    with RunDir(tmp_path) as run, pytest.raises(BudgetSpent):
        complete(search(run, Poor(talks=False)), run)
    held = RunDir(tmp_path).read_json("report.json")
    assert held["stopped"] == "cost" and held["proposals"] == 20
    with RunDir(tmp_path) as run:
        assert complete(search(run, Flipping(FlippingConfig(burst=2))), run)["proposals"] == 60


def test_a_proposer_that_only_fails_is_named_with_what_it_gave_and_nothing_is_written(tmp_path):
    with (
        RunDir(tmp_path) as run,
        pytest.raises(TeacherUnavailable, match=r"'poor' made nothing usable 30 times in a row .30 x prose"),
    ):
        complete(search(run, Poor(talks=True)), run)
    assert not (tmp_path / "report.json").exists()


def test_the_code_that_the_guide_shows_is_that_of_the_examples():
    root = Path(__file__).parents[2]
    shown = re.findall(r"```python\n(.*?)```", (root / "CONTRIBUTING.md").read_text(), re.DOTALL)
    examples = [path.read_text() for path in (root / "examples").glob("*/*.py")]
    assert len(shown) == 5 and all(any(part in text for text in examples) for part in shown)
