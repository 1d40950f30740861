"""The nouns of evosyn: frozen records with content ids. No I/O, no behaviour beyond what the data itself says.

The id of a record is a hash of its content; provenance never enters it, so the same text has the same id wherever it
came from. Arrays carry their axes: M solutions, N testings, C cases. DESIGN.md section 4.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from evosyn.codec import Through
from evosyn.deferred import Lines
from evosyn.errors import FormatError
from evosyn.nesting import DEEPEST, is_deep
from evosyn.origins import NOWHERE, Origin
from evosyn.parsing import BOM

if TYPE_CHECKING:
    from pydantic_core import CoreSchema

Json: TypeAlias = Any
"""A value that `json.loads` can give: the only place where `Any` is meant."""


def canonical_json(value: Json) -> str:
    """The one text of a JSON value: sorted keys, no blanks, no NaN.

    Raises:
        ValueError: the value holds NaN or an infinity.
        TypeError: the value is not JSON.
    """
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def json_bytes(value: Json) -> bytes:
    """The canonical text as files hold it: UTF-8; half of a surrogate pair is the escape that JSON has for it."""
    return canonical_json(value).encode("utf-8", "backslashreplace")


def outside_json(value: Json) -> str:
    """The canonical text of a value that a model, a file or a program gave, which all parts of ours can walk and keep.

    Raises:
        ValueError: as above, or it is nested deeper than `DEEPEST`.
        TypeError: as above.
    """
    try:
        text = canonical_json(value)
    except RecursionError as error:
        raise ValueError("nested too deeply") from error
    if text.count("[") + text.count("{") > DEEPEST and is_deep(value):
        raise ValueError("nested too deeply")
    return text


def json_text(value: Json) -> str | None:
    """The same; None where the value is not JSON, or nested too deeply."""
    try:
        return outside_json(value)
    except (ValueError, TypeError):
        return None


def content_id(prefix: str, value: Json) -> str:
    """`prefix` plus 16 hexadecimal digits of the SHA-256 of the canonical JSON of `value`."""
    digest = hashlib.sha256(canonical_json(value).encode("utf-8", "surrogatepass")).hexdigest()
    return f"{prefix}{digest[:16]}"


class Verdict(StrEnum):
    """What one cell (solution x testing) or one case came to; the value is the letter used on disk."""

    PASS = "P"
    FAIL = "F"  # a wrong value
    ERROR = "E"  # the solution raised, does not load, or lacks the entry point
    TIMEOUT = "T"
    KILLED = "K"  # memory limit, signal, output limit
    BROKEN = "B"  # the testing itself cannot run
    NOT_RUN = "N"  # the time budget of the solution was spent on earlier calls
    UNKNOWN = "U"  # our infrastructure failed; retried, never counted as FAIL


KNOWN_VERDICTS = frozenset(Verdict) - {Verdict.UNKNOWN, Verdict.NOT_RUN}


@dataclass(frozen=True)
class Provenance:
    """Where a text came from.

    Attributes:
        source: who made it: `human`, `builtin`, a model name.
        simulated: made by a stand-in for a model; every card and table that shows it says so.
        call, parents: ids of the model call, if any, and of the records it was made from (seeds shown, its problem).
        detail: anything else, JSON.
    """

    source: str = "unknown"
    simulated: bool = False
    call: str | None = None
    parents: tuple[str, ...] = ()
    detail: Mapping[str, Json] = field(default_factory=dict)


@dataclass(frozen=True)
class Testing:
    """A checkable claim about solutions of one problem.

    Attributes:
        kind: one of its domain's.
        body: the rest of the TESTING object of DESIGN.md section 4 (without `kind`).
    """

    __test__: ClassVar[bool] = False  # pytest would take the name for a test class

    kind: str
    body: Mapping[str, Json]
    provenance: Provenance = Provenance()

    @property
    def id(self) -> str:
        return content_id("t_", self.to_json())

    def to_json(self) -> dict[str, Json]:
        """The TESTING object of DESIGN.md section 4."""
        return {"kind": self.kind, **self.body}

    @property
    def text(self) -> str:
        """What a person or a strategy reads."""
        return canonical_json(self.to_json())


@dataclass(frozen=True)
class Solution:
    """What claims to solve one problem.

    Attributes:
        text: what its domain reads: source, an answer, a trajectory.
    """

    text: str
    provenance: Provenance = Provenance()

    @property
    def id(self) -> str:
        return content_id("s_", self.text)


FLAT_PAYLOAD = ("entry_point", "starter_code")
"""Fields of a payload that stand at the top of a pool line, and stood in every problem before there were payloads: ids
and files of that time stay as they are."""
TOP_PAYLOAD = (*FLAT_PAYLOAD, "prelude", "packages")
"""Fields of a payload that may stand at the top of a pool line, or of a task."""


@dataclass(frozen=True)
class Problem:
    """A task with, for seeds, a human testing and perhaps a reference solution.

    Attributes:
        problem_id: the user's name for it, unique in its file.
        payload: what its domain needs beside the statement, JSON; the domain says which fields there are. Together
            with the statement it is all that may decide a verdict.
        meta: free JSON that travels along (difficulty, topic, family, licence, ...) and never decides a verdict.
        line: line of the file that it came from, for messages; 0 if it came from none.
    """

    problem_id: str
    domain: str
    statement: str
    payload: Mapping[str, Json] = field(default_factory=dict)
    human_testing: Testing | None = None
    reference_solution: str | None = None
    meta: Mapping[str, Json] = field(default_factory=dict)
    provenance: Provenance = Provenance()
    line: int = field(default=0, compare=False)

    @property
    def id(self) -> str:
        flat = [self.payload.get(name) for name in FLAT_PAYLOAD]
        rest = {name: value for name, value in self.payload.items() if name not in FLAT_PAYLOAD}
        return content_id("p_", [self.domain, self.statement, *flat, *([rest] if rest else [])])


@dataclass(frozen=True)
class Pool:
    """One problem with its recorded (or freshly drawn) S solutions and T testings."""

    problem: Problem
    solutions: tuple[Solution, ...]
    testings: tuple[Testing, ...]


class ParsedCall(NamedTuple):
    """What one case of a testing asks, as texts: to be read and compared, never executed.

    Attributes:
        arguments: of the one call of the case (JSON, else Python), or what is written to standard input.
        expected: the value or the output that passes; None where the case asks something else of it.
    """

    arguments: str
    expected: str | None


ParsedCalls: TypeAlias = tuple[ParsedCall | None, ...]
"""One for each case of a testing, None for a case that cannot be read as one call."""

Letters: TypeAlias = NDArray[np.str_]
"""An array of one-letter strings (`<U1`), each a `Verdict` value."""

Unit: TypeAlias = Literal["case", "testing"]
"""What a strategy ranks beside solutions: every distinct case of the testings, or each testing as it was drawn."""

Digests: TypeAlias = NDArray[np.uint64]
"""What calls gave, 64 bits each: equal for equal values, 0 where there is none."""


@dataclass(frozen=True)
class PassMatrix:
    """What M solutions did on N testings of one problem: made once, stored, reused by every strategy.

    Attributes:
        problem_id: the problem's name in its file.
        verdicts_MN: letters, shape (M, N).
        human_M: letters of the human testing, shape (M,), or None if there is none. Never enters the sandbox.
        cases_NMC: one letters array of shape (M, C_n) for each testing n, or None if not recorded.
        durations_MN: seconds, shape (M, N), or None.
        copies_M: how many draws gave this very solution, shape (M,), or None.
        groups_M: equal numbers mark solutions that are the same to their domain, shape (M,), or None.
        solution_ids, testing_ids: content ids, or positions as text for a recorded matrix.
        solution_texts, testing_texts: empty for a recorded matrix.
        statement, payload: of the problem, or None if not recorded.
        calls_N: for each testing what its cases ask, or None where its domain cannot say; None if not recorded.
        values_NMC: for each testing what each solution gave in each case, shape (M, C_n), or None if not recorded.
        solution_similarity_MM, testing_similarity_NN: of the texts, from 0 to 1 (`evosyn.textual`), or None.
        solution_logprob_M: mean log-probability of a token of each solution; NaN where unknown, None where all are.
        logprobs_NC: for each testing the same of the values that its cases expect, or None; None where none is known.
        replies_N: where columns are single cases (`evaluators.columns`), for each the testings as drawn that hold it;
            None where every column is a testing as it was drawn.
        origin, meta: where it is from; sandbox level and version, limits, flaky cells. Strategies see neither.
    """

    problem_id: str
    verdicts_MN: Letters
    human_M: Letters | None = None
    cases_NMC: tuple[Letters, ...] | None = None
    durations_MN: NDArray[np.float64] | None = None
    copies_M: NDArray[np.int64] | None = None
    groups_M: NDArray[np.int64] | None = None
    solution_ids: tuple[str, ...] = ()
    testing_ids: tuple[str, ...] = ()
    solution_texts: tuple[str, ...] = ()
    testing_texts: tuple[str, ...] = ()
    statement: str | None = None
    payload: Mapping[str, Json] | None = None
    calls_N: tuple[ParsedCalls | None, ...] | None = None
    values_NMC: tuple[Digests | None, ...] | None = None
    solution_similarity_MM: NDArray[np.float64] | None = None
    testing_similarity_NN: NDArray[np.float64] | None = None
    solution_logprob_M: NDArray[np.float64] | None = None
    logprobs_NC: tuple[NDArray[np.float64] | None, ...] | None = None
    replies_N: tuple[tuple[int, ...], ...] | None = None
    origin: Origin = NOWHERE
    meta: Mapping[str, Json] = field(default_factory=dict)

    @property
    def passed_MN(self) -> NDArray[np.bool_]:
        return np.asarray(self.verdicts_MN == Verdict.PASS.value)

    @property
    def known_MN(self) -> NDArray[np.bool_]:
        return np.isin(self.verdicts_MN, [verdict.value for verdict in KNOWN_VERDICTS])

    @property
    def drawn(self) -> int:
        """Testings as drawn, which are the replies of a model: as many as columns where each is one of them."""
        held = self.replies_N
        return self.verdicts_MN.shape[1] if held is None else 1 + max((max(one) for one in held), default=-1)

    @property
    def digest(self) -> str:
        """Hash of the name and all verdicts, human ones too; nothing else that strategies can see enters it."""
        human = None if self.human_M is None else "".join(self.human_M)
        return content_id("m_", [self.problem_id, ["".join(row) for row in self.verdicts_MN], human])


class Ranking(NamedTuple):
    """What a strategy says of one problem: finite scores, higher is better. In JSON two lists."""

    solution_scores_M: NDArray[np.float64]
    testing_scores_N: NDArray[np.float64]

    @classmethod
    def __get_pydantic_core_schema__(cls, source: object, handler: object) -> CoreSchema:
        written = Through(_ranking, lambda ranking: [scores.tolist() for scores in ranking])
        return written.__get_pydantic_core_schema__(source, handler)


def _ranking(value: Json) -> Ranking:
    try:
        solutions, testings = (np.array(scores, dtype=np.float64) for scores in value)
    except (ValueError, TypeError, OverflowError) as error:
        raise FormatError("", "must be two lists of numbers", value) from error
    return Ranking(solutions, testings)


@dataclass(frozen=True)
class Evidence:
    """What a strategy may see of one problem. No human verdict, no expected output beyond the testing's own text.

    Attributes:
        passed_MN, known_MN: shape (M, N); nothing passed where it is unknown.
        cases_NMC: for each testing n an array (M, C_n) of passed cases; a single column equal to `passed_MN[:, n]`
            where cases were not recorded.
        durations_MN: seconds; zeros where not recorded, and none is known where all are zero.
        copies_M: how many draws gave this very solution; ones where not recorded.
        solution_group_M, testing_group_N: equal numbers mark texts that are the same program (normalised).
        solution_texts, testing_texts: empty for recorded matrices; verdicts_MN: letters, shape (M, N).
        statement, payload, calls_N, values_NMC, solution_similarity_MM, testing_similarity_NN, solution_logprob_M: as
            in `PassMatrix`.
        testing_logprob_N: mean of each column's `logprobs_NC`; NaN where it is unknown, None where all are.
        replies_N: for each column which replies hold it, numbered from 0: its own where columns are testings; empty
            where nobody said it.
    """

    passed_MN: NDArray[np.bool_]
    known_MN: NDArray[np.bool_]
    cases_NMC: tuple[NDArray[np.bool_], ...]
    durations_MN: NDArray[np.float64]
    copies_M: NDArray[np.int64]
    solution_group_M: NDArray[np.int64]
    testing_group_N: NDArray[np.int64]
    solution_texts: tuple[str, ...] = ()
    testing_texts: tuple[str, ...] = ()
    verdicts_MN: Letters | None = None
    statement: str | None = None
    payload: Mapping[str, Json] | None = None
    calls_N: tuple[ParsedCalls | None, ...] | None = None
    values_NMC: tuple[Digests | None, ...] | None = None
    solution_similarity_MM: NDArray[np.float64] | None = None
    testing_similarity_NN: NDArray[np.float64] | None = None
    solution_logprob_M: NDArray[np.float64] | None = None
    testing_logprob_N: NDArray[np.float64] | None = None
    replies_N: tuple[tuple[int, ...], ...] = ()


@dataclass(frozen=True)
class Invalid:
    """Why a strategy program has no ranking: exception with line, wrong length, NaN, time, memory.

    `unknown` is what it had read of the evidence and nobody recorded, by the names that programs use.
    """

    reason: str
    unknown: tuple[str, ...] = ()


@dataclass(frozen=True)
class Candidate:
    """A genome: the text of a strategy program (or of whatever is evolved), and how it came to be.

    Attributes:
        text: the program; a byte-order mark before it, which Python skips in a file alone, is no part of it.
        parents: ids of the candidates it was made from.
        proposer: its name; detail: its own record (model, operator, prompt id, reply id), JSON.
    """

    text: str
    parents: tuple[str, ...] = ()
    proposer: str = "initial"
    detail: Mapping[str, Json] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if str(self.text).startswith(BOM):  # what is no text at all is refused where it is read
            object.__setattr__(self, "text", self.text.lstrip(BOM))

    @cached_property
    def id(self) -> str:
        return content_id("c_", self.text)


@dataclass(frozen=True)
class Evaluation:
    """What an evaluator found out about one candidate.

    Attributes:
        score: in [0, 1], or None where the candidate is invalid; invalid: the reason. Invalid is not zero.
        unknown: of an invalid strategy, what it read of the evidence that is unknown (`Invalid.unknown`).
        descriptor: one value per axis of the archive, in the axes' units.
        metrics: further figures (criterion1, testing_balanced_accuracy, ...).
        per_seed: score on each seed problem, same order for every candidate of a run.
        signature: equal for candidates that behave the same on all seeds.
        feedback: lines of evidence for the proposer and the reader; they and the notes may be made when read.
        notes: what it did on each seed problem, in the evaluator's own short form; empty where that keeps none.
        epoch: the standard that it was measured by (`ports.ChangingEvaluator`); scores compare within one.
        seconds, calls, cost, tokens: what it took: time, model replies, dollars, tokens in and out.
    """

    score: float | None
    invalid: str | None = None
    descriptor: tuple[float, ...] = ()
    metrics: Mapping[str, float] = field(default_factory=dict)
    per_seed: tuple[float, ...] = ()
    signature: str = ""
    feedback: Lines = ()
    notes: Lines = ()
    seconds: float = field(default=0.0, compare=False)
    epoch: str = ""
    calls: int = 0
    cost: float = 0.0
    tokens: tuple[int, int] = (0, 0)
    unknown: tuple[str, ...] = ()


@dataclass(frozen=True)
class Elite:
    """A candidate together with its evaluation."""

    candidate: Candidate
    evaluation: Evaluation
