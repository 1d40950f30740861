"""A directory of a search as answers, begun or not, and the way from a row of a dataset back to it."""

import json
import shutil
from itertools import pairwise

import pytest
from click.testing import CliRunner

from evosyn.cli.inspect import command
from evosyn.dataset import read_dataset
from evosyn.errors import UsageError
from evosyn.evolve.events import Fate, Step, Trial, committed, events_of
from evosyn.journal import Journal
from evosyn.reading.data import DataReading
from evosyn.reading.opening import open_directory
from evosyn.reading.plain import plain
from evosyn.reading.search import SearchReading
from evosyn.reading.search_journal import entries
from evosyn.records import Candidate


def test_a_row_of_a_dataset_leads_to_its_seeds_its_calls_and_the_line_of_the_journal_that_made_its_strategy(
    run_dir, data_of_run, toy
):
    row = read_dataset(data_of_run)[0]
    lineage = json.loads(row.lineage)
    reasons = DataReading(data_of_run, "synthesize").why(row.id)
    assert reasons.problem.problem_id == row.problem_id and reasons.matrix.digest == row.matrix_digest
    assert reasons.brief["seeds"] == lineage["seeds"]
    assert set(lineage["seeds"]) <= {seed.problem_id for seed in toy.inputs.seeds}
    made = {reply.became: reply.id for reply in reasons.replies if reply.became}
    assert made == {part: lineage[part]["call"] for part in ("problem", "solution", "testing")}
    run = open_directory(run_dir)
    story = run.answer("candidate", lineage["strategy"])
    assert story.id == lineage["strategy"] == json.loads((run_dir / "report.json").read_text())["best"]["id"]
    place = next(place for place, entry in entries(run.journal) if entry.id == story.id)
    line = (run_dir / "journal.jsonl").read_bytes()[place.byte :].split(b"\n")[0]
    assert repr(story.text) in repr(json.loads(line[9:]))
    assert story.lineage[0].id == story.id and story.lineage[-1].parents == ()
    for child, parent in pairwise(story.lineage):
        assert child.parents[0] == parent.id and parent.proposal <= child.proposal


def bred(reading):
    """The last kept candidate that was made from another one."""
    return [one for one in reading.entries() if one.trial.candidate.parents and one.fate.value in ("new", "improved")][
        -1
    ]


def test_a_later_copy_of_an_ancestor_is_no_ancestor(run_dir, tmp_path):
    copy = tmp_path / "run"
    shutil.copytree(run_dir, copy)
    before = SearchReading(copy, "evolve")
    best = before.lineage(bred(before).id)
    assert len(best) > 1
    parent, stranger = before.find(best[1].id), next(one for one in before.entries() if one.id not in best[0].parents)
    repeat = Candidate(parent.trial.candidate.text, (stranger.id,), "genetic", {"operator": "repeat"})
    steps = max(entry.step.index for entry in before.entries())
    journal = Journal(copy / "journal.jsonl")
    step = Step(steps + 1, 0, "genetic", stranger.id, (Trial(repeat, parent.trial.key, None),))
    events_of(journal).append(committed(step, (Fate.DUPLICATE,)))
    journal.close()
    assert [row.id for row in SearchReading(copy, "evolve").lineage(best[0].id)] == [row.id for row in best]


def test_why_tells_the_state_just_before_the_commit(run_dir):
    reading = SearchReading(run_dir, "evolve")
    improved = next(one for one in reading.entries() if one.fate is Fate.IMPROVED)
    told = reading.why(improved.id)
    assert told.why == "kept: better than what held its cell"
    assert told.holder != improved.id and told.holder_score <= improved.score
    assert tuple(told.behaviour.values()) == improved.trial.evaluation.descriptor


def test_a_search_that_has_not_begun_has_an_overview(run_dir, tmp_path):
    for name in ("manifest.json", "config.yaml"):
        (tmp_path / name).write_bytes((run_dir / name).read_bytes())
    reading = open_directory(tmp_path)
    seen = reading.overview()
    assert not seen.finished and seen.progress == "drawing and executing" and seen.best is None
    assert seen.counts["candidates"] == 0 and json.dumps(plain(seen))
    shown = CliRunner().invoke(command, [str(tmp_path)]).output
    assert "Not finished: drawing and executing" in shown and "best so far" not in shown and "proposers" not in shown
    with pytest.raises(UsageError, match="no candidate"):
        reading.answer("candidate", "best")


def test_a_matrix_is_the_one_that_was_searched_on(run_dir):
    reading = SearchReading(run_dir, "evolve")
    seen = reading.matrix("problem-3")
    assert (seen.rows, seen.columns) == (8, 6) and seen.ranked_by is None
    assert all(len(row.verdicts) == 6 and row.human in "PF" for row in seen.solutions)
    split = reading.split()
    assert {one.problem_id for one in split.train} | {one.problem_id for one in split.heldout} == {
        f"problem-{number}" for number in range(14)
    }
    with pytest.raises(UsageError, match=r"there are problem-0, .* and 6 more"):
        reading.matrix("nope")


def test_a_question_of_another_kind_is_refused_with_those_that_are_answered(run_dir):
    with pytest.raises(UsageError, match=r"'samples/evosyn'.*`evosyn evolve`; one of overview, candidates"):
        open_directory(run_dir).answer("samples", "evosyn")


def test_a_candidate_is_compared_with_its_parent_and_the_first_on_every_seed(run_dir):
    reading = SearchReading(run_dir, "evolve")
    entries = {entry.id: entry for entry in reversed(list(reading.entries()))}
    best = reading.find("best")
    story = reading.candidate("best")
    assert set(story.seeds) == {one.problem_id for one in reading.split().train}
    train = len(story.seeds)
    assert list(story.seeds.values()) == list(best.trial.evaluation.per_seed)[:train], "views of them come behind"
    assert len(best.trial.evaluation.per_seed) > train, "the search has views, which are the same problems"
    roles = {one.role: one for one in story.rivals}
    first = next(iter(reading.entries()))
    assert roles["initial" if best.parent != first.id else "parent"].id == first.id
    for one in story.rivals:
        theirs = entries[one.id].trial.evaluation.per_seed
        gaps = [mine - other for mine, other in zip(best.trial.evaluation.per_seed, theirs, strict=True)][:train]
        assert one.tally.won == sum(gap > 0.05 for gap in gaps) and sum(one.tally) == train
        assert all(abs(seed.ours - seed.theirs) > 0.05 for seed in one.seeds)
    assert reading.candidate("initial").rivals == ()


def test_why_names_what_was_chosen_on_the_seeds_that_are_won_and_lost(run_dir):
    result = CliRunner().invoke(command, [str(run_dir), "--why", "best", "--json"], catch_exceptions=False)
    decision = json.loads(result.stdout)
    assert decision["rivals"]
    for rival in decision["rivals"]:
        named = {seed["problem"] for seed in rival["seeds"]}
        assert {duel["problem"] for duel in rival["duels"]} <= named
    initial = decision["rivals"][-1]
    assert initial["duels"]
    matrices = {one.problem_id: one for one in SearchReading(run_dir, "evolve").split().train}
    for duel in initial["duels"]:
        human = matrices[duel["problem"]].human_M
        assert duel["mine"]["right"] == (human[duel["mine"]["best"]] == "P")
        assert duel["other"]["right"] == (human[duel["other"]["best"]] == "P")
    told = CliRunner().invoke(command, [str(run_dir), "--why", "best"], catch_exceptions=False).stdout
    assert "on top: s" in told and ("seeds won" in told or "1 seed won" in told)


def test_a_finished_search_leaves_its_winner_without_what_earns_nothing(run_dir):
    pruned = json.loads((run_dir / "card.json").read_text())["pruned"]
    best = json.loads((run_dir / "report.json").read_text())["best"]["id"]
    assert (run_dir / "pruned.py").exists() == (bool(pruned["removed"]) and not pruned["worse"])
    if (run_dir / "pruned.py").exists():
        said, _, text = (run_dir / "pruned.py").read_text().partition('\n"""\n\n')
        assert said.startswith(f'"""Cut down from {best}') and "on the seeds, held out" in said
        assert text == pruned["text"]
        assert pruned["tokens"] < pruned["tokens_before"]


def test_a_continued_run_that_was_killed_is_not_finished_however_old_its_report(run_dir, tmp_path):
    copy = shutil.copytree(run_dir, tmp_path / "run")
    report = json.loads((copy / "report.json").read_text())
    before = SearchReading(copy, "evolve")
    assert before.overview().finished and before.report == report
    first = before.find("initial")
    steps = max(entry.step.index for entry in before.entries())
    journal = Journal(copy / "journal.jsonl")
    trial = Trial(Candidate(first.trial.candidate.text, (first.id,), "genetic"), first.trial.key, None)
    for index in range(before.state.steps, before.state.steps + 2):
        events_of(journal).append(committed(Step(index, 0, "genetic", first.id, (trial,)), (Fate.DUPLICATE,)))
    journal.close()
    assert steps < before.state.steps
    found = SearchReading(copy, "evolve").overview()
    assert not found.finished and found.conclusion.worked == "open"
    assert f"past the {report['evaluations']} evaluations reported" in found.conclusion.did
    assert "The same command goes on" in found.conclusion.did
    assert found.counts["proposals"] == report["proposals"] + 2


def test_a_program_that_the_search_began_with_stands_on_no_island_of_its_own(run_dir):
    shown = [CliRunner().invoke(command, [str(run_dir), f"--{ask}", "initial"]).output for ask in ("why", "program")]
    for said in shown:
        assert "one of the programs that the search started from, on every island" in said and "island -1" not in said
    lineage = CliRunner().invoke(command, [str(run_dir), "--lineage", "initial"]).output
    assert "at the start" in lineage and "proposal    -1" not in lineage
