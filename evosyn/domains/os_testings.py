"""What testings of the domain `os-shell` say: their bodies, and the verdict of what a cell printed.

A testing observes; the comparison is made here, in our process, so nothing that a solution left can print a verdict
(docs/os-shell.md). Where expectations come from a script, it runs in the clean first state, once for all solutions.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, NamedTuple

from pydantic import BaseModel, ConfigDict, Field

from evosyn.domains.os_compare import Compare, same_answer
from evosyn.domains.python.lifting import STATUS_VERDICTS
from evosyn.domains.python.value_digests import digest_of_text
from evosyn.jobs import CellResult, ItemOutcome, ScriptLanguage, ShellScript, Status
from evosyn.records import Verdict

MOST_CHECKS = 20
ANSWER_BYTES = 64 << 10
"""Of an answer that is looked at: it is an argument of scripts."""


class ShellBody(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class ScriptBody(ShellBody):
    """A script; its first argument is the answer."""

    code: str = Field(min_length=1)
    language: ScriptLanguage = "bash"

    @property
    def script(self) -> ShellScript:
        return ShellScript(self.code, self.language)


class ValueBody(ShellBody):
    """The answer is this; nothing runs."""

    expected: str
    compare: Compare = "string"


class AnswerBody(ShellBody):
    """The answer is what a script prints in the first state."""

    script: ScriptBody
    compare: Compare = "string"


class StateBody(ShellBody):
    """A script over the frozen state says by its exit status, or by the last line, whether it is as wanted."""

    script: ScriptBody
    accept: Literal["exit", "true"] = "true"
    view: Literal["guarded", "open"] = "guarded"


class ObserveBody(ShellBody):
    """What a script prints over the frozen state is as expected, or as another one prints in the first state."""

    observe: ScriptBody
    expect: ScriptBody | str
    compare: Compare = "lines"


class NamedCheck(ShellBody):
    """One of several checks: a kind, and its body."""

    kind: Literal["value", "answer", "state", "observe"]
    body: dict[str, object]


class ChecksBody(ShellBody):
    """Several checks, which must all be met."""

    checks: tuple[NamedCheck, ...] = Field(min_length=1, max_length=MOST_CHECKS)


BODIES: Mapping[str, type[ShellBody]] = {
    "value": ValueBody, "answer": AnswerBody, "state": StateBody, "observe": ObserveBody, "checks": ChecksBody,
}  # fmt: skip


def checks_of(kind: str, body: Mapping[str, object]) -> list[ShellBody]:
    """The single checks of a testing.

    Raises:
        ValueError: one of them is none of its kind (a pydantic ValidationError).
    """
    found = BODIES[kind].model_validate(body)
    if isinstance(found, ChecksBody):
        return [BODIES[one.kind].model_validate(one.body) for one in found.checks]
    return [found]


def observed(check: ShellBody) -> ScriptBody | None:
    """The script that looks at the solution's state; None where the answer alone decides."""
    return check.script if isinstance(check, StateBody) else check.observe if isinstance(check, ObserveBody) else None


def awaited(check: ShellBody) -> ScriptBody | None:
    """The script that says in the first state what is expected; None where that is known."""
    if isinstance(check, AnswerBody):
        return check.script
    return check.expect if isinstance(check, ObserveBody) and isinstance(check.expect, ScriptBody) else None


def unfit(answer: str) -> str:
    """Why no testing can accept an answer, and none is asked; empty where one might."""
    if "\0" in answer:
        return "the answer holds a NUL"
    if len(answer) > ANSWER_BYTES or len(encoded := answer.encode("utf-8", "replace")) > ANSWER_BYTES:
        return f"the answer has more than {ANSWER_BYTES >> 10} KiB"
    return "" if encoded.decode() == answer else "the answer is no text: it holds half of a surrogate pair"


class Facts(NamedTuple):
    """What a script printed and how it ended."""

    out: str
    err: str
    exit: int | None
    truncated: bool


def facts_of(outcome: ItemOutcome) -> Facts | CellResult:
    """What a cell saw, or the verdict of one that could not look."""
    value = outcome.value
    if outcome.status is Status.OK and isinstance(value, Mapping) and set(Facts._fields) == set(value):
        return Facts(**value)
    if outcome.status is Status.OK:  # of a kind of world that tells us something else
        return _cell(Verdict.UNKNOWN, outcome.seconds, f"no facts of a cell: {value!r:.100}")
    # of a world that cannot be made no solution is guilty
    broken = outcome.status is Status.LOAD_ERROR
    return _cell(Verdict.BROKEN if broken else STATUS_VERDICTS[outcome.status], outcome.seconds, outcome.detail)


def filled(check: ShellBody, outcome: ItemOutcome) -> ShellBody | CellResult:
    """The check with what its script printed in the first state; or what every solution gets, as it is broken."""
    seen = facts_of(outcome)
    if isinstance(seen, CellResult):
        return seen if seen.verdict is Verdict.UNKNOWN else _broken(seen.detail)
    if seen.exit != 0 or seen.truncated:
        return _broken("printed too much" if seen.truncated else f"exit {seen.exit}: {seen.err[:100]}")
    if isinstance(check, AnswerBody):
        answer = seen.out.strip()
        return ValueBody(expected=answer, compare=check.compare) if answer else _broken("printed nothing")
    return check.model_copy(update={"expect": seen.out})


def verdict_of_check(check: ShellBody, answer: str, outcome: ItemOutcome | None) -> CellResult:
    """The verdict of one check over one end of an episode; `outcome` is None where the answer alone decides."""
    if isinstance(check, ValueBody) or outcome is None:
        good = isinstance(check, ValueBody) and same_answer(check.compare, check.expected, answer)
        return _cell(Verdict.PASS if good else Verdict.FAIL, gave=answer)
    seen = facts_of(outcome)
    if isinstance(seen, CellResult):
        return seen
    if seen.truncated:  # the end of it, which nobody has read, may say the opposite
        return _cell(STATUS_VERDICTS[Status.OUTPUT_LIMIT], outcome.seconds, "it printed more than is read")
    if isinstance(check, ObserveBody):
        good = same_answer(check.compare, str(check.expect), seen.out)
        return _cell(Verdict.PASS if good else Verdict.FAIL, outcome.seconds, gave=seen.out)
    if isinstance(check, StateBody) and check.accept == "true":
        lines = seen.out.strip().splitlines()
        said = lines[-1].strip().lower() if lines else ""
        told = "" if said in ("true", "false") else "says neither true nor false"
        return _cell(Verdict.PASS if said == "true" else Verdict.FAIL, outcome.seconds, told, gave=seen.out)
    return _cell(Verdict.PASS if seen.exit == 0 else Verdict.FAIL, outcome.seconds, gave=seen.out)


def _broken(why: str) -> CellResult:
    return _cell(Verdict.BROKEN, detail=f"the script of what is expected: {why}"[:200])


def _cell(verdict: Verdict, seconds: float = 0.0, detail: str = "", gave: str | None = None) -> CellResult:
    """One check; `gave` is what it saw of the solution, of which strategies get a digest."""
    digest = 0 if gave is None else digest_of_text(gave.strip())
    return CellResult(verdict, (verdict,), seconds, detail, (digest,))
