"""One environment from its brief to its fate: the record that the journal keeps and everything is made of.

A dropped draft is one too, with the reject that ended it. DESIGN.md section 7.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from evosyn.chat import Reply
from evosyn.dataset import Reject
from evosyn.environments.calibration import Rate
from evosyn.environments.contract import Environment, read_environment
from evosyn.environments.ladder import Climb
from evosyn.environments.replies import Judgement
from evosyn.errors import CorruptRun
from evosyn.records import Json, Provenance
from evosyn.running.progress import Usage, usage_of

_PLACES = re.compile(r"0x[0-9a-fA-F]+|\d+(?:\.\d+)? ?(?:s|MiB|MB|kB)\b")
"""What differs from run to run in the words of the sandbox and of exceptions."""
_NAME = re.compile(r"[\w-]+(?::[\w-]+)?")


@dataclass(frozen=True)
class CheckedSolvers:
    """What the cross-check found.

    Attributes:
        programs: that solve from the question alone, those that answer every question; untrusted text.
        rows: for each a letter for each testing: groups of instances under each verifier, then the answers of each
            program.
        groups: testings of one verifier.
        accepted: programs that the verifier accepts in all groups; `agree`: most programs that give equal answers;
            `verdict`: what follows from both, `accepted`, `disputed` or `unsolved`.
    """

    programs: tuple[str, ...]
    rows: tuple[str, ...]
    groups: int
    accepted: int
    agree: int
    verdict: str


@dataclass(frozen=True)
class RankedVerifier:
    """One of several verifiers: its program, why the ladder stops it, the mean score of its testings."""

    program: str
    reason: str = ""
    score: float | None = None
    chosen: bool = False


@dataclass(frozen=True)
class NearestKept:
    """The most similar environment that is known, and how similar question and code are."""

    of: str
    prompt: float
    code: float


@dataclass(frozen=True)
class Draft:
    """One draft of a run.

    Attributes:
        index: its number, from 0.
        brief: keyword and draw, or what was shown; `sample` is that of the reply that was read.
        source: the program as it stands; None where no reply could be read as one.
        author: the model; `simulated` where none wrote it; `call` is the reply.
        level: the last rung that it stands on.
        figures: shares by probe (`environments.ladder`); prompts: a question a level; untrusted text.
        revised: how often.
        rates: how often a student is right at each level, where one was asked; wrong: some wrong answers, untrusted.
        label: its name, where it is not named for its number.
        rejects: every reply that could not be used, then the reject that dropped it, if any.
        usage: model calls and executed cells.
    """

    index: int
    brief: Mapping[str, Json] = field(default_factory=dict)
    source: str | None = None
    author: str = ""
    simulated: bool = False
    call: str | None = None
    level: int = 0
    flags: tuple[str, ...] = ()
    figures: Mapping[str, float] = field(default_factory=dict)
    prompts: tuple[str, ...] = ()
    judgements: tuple[Judgement, ...] = ()
    revised: int = 0
    crosscheck: CheckedSolvers | None = None
    verifiers: tuple[RankedVerifier, ...] = ()
    nearest: NearestKept | None = None
    rates: tuple[Rate, ...] = ()
    wrong: tuple[str, ...] = ()
    rejects: tuple[Reject, ...] = ()
    usage: Usage = field(default_factory=Usage)
    label: str = ""

    @property
    def name(self) -> str:
        return self.label or f"env-{self.index:06}"

    @property
    def ended(self) -> Reject | None:
        return next((reject for reject in self.rejects if reject.item == "environment"), None)

    @property
    def environment(self) -> Environment:
        """Its program, which every stage after the ladder can rely on.

        Raises:
            CorruptRun: it has none.
        """
        detail = {name: self.brief[name] for name in ("keyword", "category") if name in self.brief}
        provenance = Provenance(self.author, simulated=self.simulated, call=self.call, detail=detail)
        read = read_environment(self.source or "", provenance)
        if read.value is None:
            raise CorruptRun(f"draft {self.index} has no environment and went on: {read.reason}")
        return read.value

    @property
    def climb(self) -> Climb:
        """What the ladder said of it."""
        return Climb(self.environment, self.level, "", self.flags, self.figures, self.prompts)

    def climbed(self, climb: Climb) -> Draft:
        """With what the ladder said, dropped where it did not come up."""
        figures = {name: round(share, 4) for name, share in climb.figures.items() if not name.startswith("fixed:")}
        found = replace(self, level=climb.level, flags=climb.flags, figures=figures, prompts=climb.prompts)
        return found.drop(climb.stage, climb.reason) if climb.reason else found

    def drop(self, stage: str, reason: str) -> Draft:
        """The same, dropped for `name: detail`."""
        name, detail = _split(storable(reason))
        reject = Reject(stage, name, "environment", self.index, self.name, detail=detail)
        return replace(self, rejects=(*self.rejects, reject))

    def heard(self, kind: str, reply: Reply, reason: str = "") -> Draft:
        """With the cost of a reply, and a reject of it where it could not be used."""
        spent = replace(self, usage=self.usage.plus(usage_of([reply])))
        if not reason:
            return spent
        name, detail = _split(storable(reason))
        reject = Reject(kind, name, "reply", self.index, self.name, (), reply.id, detail)
        return replace(spent, rejects=(*self.rejects, reject))


def storable(text: str) -> str:
    """A reason without what differs from run to run, as text that every file takes."""
    return _PLACES.sub("...", text.encode("utf-8", "replace").decode())[:300]


def _split(reason: str) -> tuple[str, str]:
    """`name: detail` as the name that is counted, of two words at most, and the detail."""
    found = _NAME.match(reason)
    name = found[0] if found else "other"
    return name, reason[len(name) if found else 0 :].strip(": ")
