"""A directory of `evosyn synthesize`: where problems went, rows, rejects, and the whole story of one problem.

Everything about a problem comes from its instance in the journal, which is there as soon as it has ended; rows and
rejects are written when the last one has.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evosyn.dataset import SETTINGS, Reject, iterate_dataset, parquet_path, read_dataset, read_rejects
from evosyn.errors import UsageError
from evosyn.reading.base import Fresh, Listed, Reading
from evosyn.reading.conclusions import Conclusion, of_synthesis
from evosyn.reading.matrices import MatrixShown, shown_matrix
from evosyn.records import Invalid, PassMatrix, Problem, Ranking
from evosyn.synthesis.instance import ledger_of
from evosyn.synthesis.problems import problem_name

if TYPE_CHECKING:
    from evosyn.chat import Message
    from evosyn.dataset import Sample
    from evosyn.records import Json
    from evosyn.running.progress import Usage
    from evosyn.synthesis.instance import Instance


@dataclass(frozen=True)
class DataOverview:
    """A synthesis as a whole; `ended` problems have an end, `report` is report.json, None while it runs."""

    kind: str
    path: str
    finished: bool
    simulated: bool
    conclusion: Conclusion
    manifest: Mapping[str, Json]
    ended: int
    settings: tuple[str, ...]
    report: Mapping[str, Json] | None


@dataclass(frozen=True)
class SampleRow:
    """A row of the dataset in a list; `index` is the number of its problem."""

    id: str
    problem_id: str
    index: int
    domain: str
    title: str
    statement: str
    tests: int
    difficulty: float
    model: str
    simulated: bool


@dataclass(frozen=True)
class SampleStory:
    """A row with the matrix that it was chosen from, in the order of its setting."""

    sample: Sample
    matrix: MatrixShown | None


@dataclass(frozen=True)
class ProblemStory:
    """One problem from its brief to its fate.

    Attributes:
        problem: None where no reply could be read as one.
        brief: seeds in context and wishes.
        unusable: replies that could not be used, counted by stage and reason.
        settings: for each setting the reject that keeps the problem out, None where it was kept.
        matrix: None if dropped before the execution.
        ranking_invalid: why the strategy gave no ranking.
    """

    index: int
    problem: Problem | None
    brief: Mapping[str, Json]
    unusable: Mapping[str, int]
    settings: Mapping[str, Reject | None]
    usage: Usage
    matrix: MatrixShown | None
    ranking_invalid: str | None


@dataclass(frozen=True)
class ModelReply:
    """A reply behind a problem.

    Attributes:
        asked: `problem`, `solution` or `testing`.
        became: the same where it became the problem, or the solution or testing that was chosen; else None.
    """

    id: str
    asked: str
    model: str
    text: str
    became: str | None


@dataclass(frozen=True)
class ProblemReasons(ProblemStory):
    """The story with the prompts, by what they ask for, and every reply behind it."""

    prompts: Mapping[str, tuple[Message, ...]]
    replies: tuple[ModelReply, ...]


SAMPLE_COLUMNS = ("id", "problem_id", "domain", "title", "model", "statement")
REJECT_COLUMNS = ("stage", "reason", "item", "problem_id", "detail", "settings")


class DataReading(Reading):
    """One synthesis, finished or not."""

    made_by = "`evosyn synthesize`"
    asks = {  # noqa: RUF012
        "overview": (),
        "rejects": (),
        "samples": ("SETTING",),
        "sample": ("SETTING", "COUNT"),
        "problem": ("ID",),
        "why": ("ID",),
        "matrix": ("PROBLEM",),
    }

    def __init__(self, path: Path, kind: str) -> None:
        super().__init__(path, kind)
        self.manifest = self.dir.read_json("manifest.json")
        self._ledger = Fresh(self.dir.journal.path, lambda: ledger_of(path))
        self._rows = {
            setting: Fresh(parquet_path(path, setting), lambda setting=setting: self._read(setting))  # type: ignore[misc]
            for setting in SETTINGS
        }

    def overview(self) -> DataOverview:
        """Where the problems went."""
        report, ended = self.report, len(self._ledger.get().done)
        return DataOverview(
            kind=self.kind,
            path=str(self.path),
            finished=report is not None,
            simulated=bool(self.manifest.get("simulated")),
            conclusion=of_synthesis(report, self.manifest, ended),
            manifest=self.manifest,
            ended=ended,
            settings=SETTINGS,
            report=report,
        )

    def samples(self, setting: str) -> Listed[SampleRow]:
        """The rows of a setting; none before the run has finished."""
        if setting not in SETTINGS:
            raise UsageError(f"setting {setting!r}: one of {', '.join(SETTINGS)}")
        return Listed(self._rows[setting].get(), SAMPLE_COLUMNS)

    def sample(self, setting: str, count: str) -> tuple[SampleStory, ...]:
        """So many rows of a setting, spread over it.

        Raises:
            UsageError: the setting holds no row.
        """
        return tuple(map(self._sample_story, spread_rows(self.path, setting, int(count))))

    def rejects(self) -> Listed[Reject]:
        """What was dropped, where and why; none before the run has finished."""
        written = self.dir.file("rejects.jsonl").exists()
        return Listed(tuple(read_rejects(self.path)) if written else (), REJECT_COLUMNS)

    def problem(self, name: str) -> ProblemStory:
        """
        Args:
            name: a problem, its number, or the id of a row made from it.
        """
        return ProblemStory(**self._story(self._instance(name)))

    def why(self, name: str) -> ProblemReasons:
        """The same with every prompt and reply; reads the whole journal."""
        instance = self._instance(name)
        became = _calls(instance)
        replies = {event.reply.id: event for event in self._ledger.get().replies(instance.index)}
        return ProblemReasons(
            **self._story(instance),
            prompts={event.key[1]: event.messages for event in replies.values() if event.messages},
            replies=tuple(
                ModelReply(call, event.key[1], event.reply.model, event.reply.text, became.get(call))
                for call, event in replies.items()
            ),
        )

    def matrix(self, name: str) -> MatrixShown | None:
        """The matrix of a problem with the ranking that the dataset was made by."""
        self.pass_matrix(name)
        return self._matrix(self._instance(name))

    def pass_matrix(self, name: str) -> PassMatrix:
        """The same as a record, to be ranked anew."""
        matrix = self._instance(name).ranked
        if matrix is None:
            raise UsageError(f"matrix of {name!r}: the problem was dropped before it was executed; --why tells where")
        return matrix

    def highlights(self, most: int) -> Iterator[str]:
        yield from ("overview", *(f"samples/{setting}" for setting in SETTINGS), "rejects")
        kept = [row.index for setting in SETTINGS for row in self._rows[setting].get()]
        names = list(dict.fromkeys([*kept, *sorted(self._ledger.get().done)]))[:most]
        yield from (f"problem/{name}" for name in names)

    def _instance(self, name: str) -> Instance:
        ledger = self._ledger.get()
        named = {known: index for index in ledger.done for known in (str(index), problem_name(index))}
        if name not in named:
            named |= {row.id: row.index for setting in SETTINGS for row in self._rows[setting].get()}
        if name not in named:
            raise UsageError(
                f"{name!r}: no such sample in {self.path}, where {len(ledger.done)} problems have ended; "
                f"give a sample id (d_...), a problem ({problem_name(0)}) or a number"
            )
        return ledger.item(named[name])

    def _sample_story(self, sample: Sample) -> SampleStory:
        instance = self._instance(str(sample.held("lineage")["index"]))
        drawn = sample.setting == "random"
        return SampleStory(sample, self._matrix(instance, json.loads(sample.scores), drawn=drawn))

    def _story(self, instance: Instance) -> dict[str, Any]:
        unusable = Counter(f"{one.stage}: {one.reason}" for one in instance.rejects if one.item == "reply")
        return {
            "index": instance.index,
            "problem": instance.problem,
            "brief": instance.brief,
            "unusable": dict(unusable.most_common()),
            "settings": {setting: instance.dropped(setting) for setting in SETTINGS},
            "usage": instance.usage,
            "matrix": self._matrix(instance),
            "ranking_invalid": instance.ranking.reason if isinstance(instance.ranking, Invalid) else None,
        }

    def _matrix(
        self, instance: Instance, chosen: Mapping[str, Json] | None = None, *, drawn: bool = False
    ) -> MatrixShown | None:
        """
        Args:
            chosen: `solution` and `testing` of a row; by default what the pruning chose.
            drawn: whether that is a testing as drawn, whatever was ranked.
        """
        matrix = instance.matrix if drawn else instance.ranked
        if matrix is None:
            return None
        choice = None if instance.decision is None else instance.decision.chosen
        if chosen is None:
            chosen = {} if choice is None else {"solution": choice.best, "testing": choice.testing}
        ranking = instance.ranking if isinstance(instance.ranking, Ranking) else None
        ranking = None if drawn and instance.unit == "case" else ranking
        best, testing = chosen.get("solution"), chosen.get("testing")
        joined = () if drawn or instance.decision is None else instance.decision.joined
        return shown_matrix(matrix, ranking, by=self.manifest["strategy"], best=best, testing=testing, joined=joined)

    def _read(self, setting: str) -> tuple[SampleRow, ...]:
        if not parquet_path(self.path, setting).exists():
            return ()
        return tuple(_row(sample) for sample in iterate_dataset(self.path, setting))


def spread_rows(path: Path, setting: str, count: int) -> list[Sample]:
    """So many rows of a setting, spread over it.

    Raises:
        UsageError: the setting holds no row.
    """
    rows = read_dataset(path, setting)
    if not rows:
        raise UsageError(f"{path}: the setting {setting} holds no row; `evosyn inspect {path}` says why")
    most = min(count, len(rows))
    return [rows[at * len(rows) // most] for at in range(most)]


def _row(sample: Sample) -> SampleRow:
    return SampleRow(
        id=sample.id,
        problem_id=sample.problem_id,
        index=sample.held("lineage")["index"],
        domain=sample.domain,
        title=str(sample.held("meta").get("title", ""))[:120],
        statement=sample.statement[:160],
        tests=sample.tests,
        difficulty=sample.difficulty,
        model=sample.model,
        simulated=sample.simulated,
    )


def _calls(instance: Instance) -> dict[str, str]:
    """The calls that became the problem, the chosen testing and the chosen solution."""
    problem, pool = instance.problem, instance.pool
    made = {} if problem is None else {"problem": problem.provenance.call}
    if pool is not None and instance.decision is not None and instance.decision.chosen is not None:
        choice, first = instance.decision.chosen, instance.chosen_testing
        made["testing"] = None if first is None else pool.testings[first].provenance.call
        made["solution"] = pool.solutions[choice.best].provenance.call
    return {call: what for what, call in made.items() if call is not None}
