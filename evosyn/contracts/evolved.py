"""What every thing to evolve must keep to: its texts (`GenomeContract`), and all that a search asks of it besides."""

from __future__ import annotations

import math
import tempfile
from pathlib import Path

from evosyn.contracts.base import Contract, PluginContract, odd_texts, read_or_refused, told
from evosyn.evolve.completing import complete
from evosyn.evolve.evaluating import epoch_of
from evosyn.evolve.islands import IslandsConfig
from evosyn.evolve.loop import LoopConfig, Search, SearchParts
from evosyn.evolve.schedule import Arm, Schedule
from evosyn.evolve.stopping import StopConfig
from evosyn.ports import Evolved, Genome, Proposal, ProposalContext
from evosyn.randomness import SeedTree
from evosyn.records import Candidate, Elite, Evaluation, Json, canonical_json
from evosyn.rundir import RunDir


class GenomeContract(Contract):
    """Subclass it, and set `make` and `text`.

    Attributes:
        text: one of what is evolved, such as the first candidate of a search.
    """

    text: str = ""

    def test_it_has_its_words_for_proposers(self) -> None:
        genome = self.make()
        assert isinstance(genome, Genome), f"{genome!r} lacks a part of ports.Genome"
        assert genome.task.strip(), "task: the contract that a text must keep, in words"
        assert genome.question.strip().endswith("?"), f"question: {genome.question!r} is none"
        assert genome.purpose and genome.purpose.split() == [genome.purpose], f"purpose: {genome.purpose!r} is no word"

    def test_it_knows_its_own_texts_and_finds_the_same_key_each_time(self) -> None:
        text = self._text()
        key = self.make().key(text)
        assert key is not None, f"key: None says that {text[:60]!r} is no such text"
        assert key == self.make().key(text), "key: another process must find the same key"

    def test_a_reply_that_quotes_a_text_gives_that_text(self) -> None:
        genome, text = self.make(), self._text()
        found = genome.read(f"I changed nothing.\n```python\n{text.rstrip()}\n```\n", [text])
        assert found.value is not None, f"read: refuses a reply that quotes the text: {found.reason}"
        assert genome.key(found.value) == genome.key(text), f"read: {text!r} became {found.value!r}"

    def test_arbitrary_text_never_raises_and_a_refusal_has_a_named_reason(self) -> None:
        genome, good = self.make(), self._text()
        for text in odd_texts(good):
            with told("key or read", text):
                key = genome.key(text)
                assert key is None or isinstance(key, str), f"key: gives {key!r}"
                read_or_refused(genome.read(text, [good]), "read", text)

    def _text(self) -> str:
        text: str = self.given("text", "text = '01' * 16")
        return text


class EvolvedContract(PluginContract, GenomeContract):
    """Subclass it, and set `create`."""

    kind = "evolved"

    def test_its_header_is_json_and_the_same_each_time(self) -> None:
        evolved = self.make()
        assert isinstance(evolved, Evolved), f"{evolved!r} lacks a part of ports.Evolved"
        headers = [canonical_json(dict(one.header)) for one in (evolved, self.make())]
        assert headers[0] == headers[1], "header: differs from call to call, so no run could be taken up again"
        assert evolved.header.get("kind"), "header: names its `kind`, and all that decides the course of a search"

    def test_an_evaluation_fills_its_axes_and_depends_on_the_text_alone(self) -> None:
        evaluator, candidates = self.make().evaluator, [Candidate("nothing of that kind"), Candidate(self._text())]
        assert evaluator.evaluate([]) == [], "evaluate: no candidates, no evaluations"
        names = [axis.name for axis in evaluator.axes]
        assert len(set(names)) == len(names), f"axes: {names}, and each name stands once"
        (good,) = evaluator.evaluate(candidates[1:])
        assert good.score is not None and 0 <= good.score <= 1, f"evaluate: the score of the good text is {good.score}"
        filled = len(good.descriptor) == len(names) and all(map(math.isfinite, good.descriptor))
        assert filled, f"descriptor: {good.descriptor} on the axes {names}"
        found = evaluator.evaluate(candidates * 2)
        assert [found[1], found[3]] == [good, good], "evaluate: the same text, another evaluation in another batch"

    def test_its_evaluations_carry_the_epoch_that_it_declares(self) -> None:
        evaluator = self.make().evaluator
        epochs = {one.epoch for one in evaluator.evaluate([Candidate("nothing of that kind"), Candidate(self._text())])}
        declared = epoch_of(evaluator)
        assert epochs == {declared}, f"evaluate: gives epochs {sorted(epochs)}, and `epoch` is {declared!r}"
        assert declared == epoch_of(self.make().evaluator), (
            "epoch: another one in another process, with nothing changed"
        )

    def test_a_bad_candidate_is_invalid_with_its_reason(self) -> None:
        evolved = self.make()
        bad = [text for text in odd_texts(self._text()) if evolved.key(text) is None][:8]
        for text, found in zip(bad, evolved.evaluator.evaluate([Candidate(text) for text in bad]), strict=True):
            assert (found.score is None) == bool(found.invalid), (
                f"evaluate: {text[:60]!r} gives {found}: score, or why not"
            )

    def test_merit_is_an_order_of_numbers(self) -> None:
        evolved, candidate = self.make(), Candidate(self._text())
        (found,) = evolved.evaluator.evaluate([candidate])
        merits = [evolved.merit(Elite(candidate, one)) for one in (found, Evaluation(0.0), Evaluation(1.0))]
        assert len({len(merit) for merit in merits}) == 1, f"merit: {merits} cannot be compared"
        assert all(map(math.isfinite, sum(map(tuple, merits), ()))), f"merit: {merits} are not all numbers"
        assert merits[2] > merits[1], f"merit: a score of 1 is no better than one of 0: {merits[1:]}"

    def test_a_search_ends_in_its_report_and_the_same_command_goes_on_from_there(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            first = self._search(Path(folder))
            (Path(folder) / "report.json").unlink()  # or it would be shown as it is
            again = self._search(Path(folder))
        canonical_json(first)
        assert {**first, "wall_s": 0} == {**again, "wall_s": 0}, "finish: another report of the same search"
        assert "best" in first, "finish: its part of the report says which is the `best`"

    def _text(self) -> str:
        (first, *_) = self.make().start or [None]
        assert first, "start: a search begins with one candidate at least"
        return str(first.text)

    def _search(self, out: Path) -> dict[str, Json]:
        tree = SeedTree(0)
        with RunDir(out) as run:
            schedule = Schedule([Arm("repeating", free=True)], tree)
            evolved = self.make()
            parts = SearchParts(evolved, {"repeating": Repeating()}, schedule, evolved.start, tree)
            stop = StopConfig(proposals=2)
            return complete(Search(parts, run.journal, islands=IslandsConfig(), loop=LoopConfig(), stop=stop), run)


class Repeating:
    """Implements `ports.Proposer`: the parent once more."""

    name = "repeating"

    async def propose(self, context: ProposalContext) -> Proposal:
        parent = context.parent.candidate
        return Proposal((Candidate(parent.text, (parent.id,), self.name),))
