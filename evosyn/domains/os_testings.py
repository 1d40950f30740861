"""What testings of the domain `os-shell` say: their bodies, and the verdict of what a cell printed.

A testing observes; the comparison is made here, in our process, so nothing that a solution left can print a verdict
(docs/os-shell.md). Where expectations come from a script, it runs in the clean first state, once for all solutions.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field

from evosyn.domains.os_compare import Compare, same_answer
from evosyn.domains.python.lifting import STATUS_VERDICTS
from evosyn.jobs import CellResult, ItemOutcome, ScriptLanguage, ShellScript, Status
from evosyn.records import Verdict

MOST_CHECKS = 20
NO_SCRIPT = "script: "
"""How bash begins what it says of a script that it cannot read."""


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
CheckBody: TypeAlias = ShellBody


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


def filled(check: ShellBody, outcome: ItemOutcome) -> ShellBody | str:
    """The check with what its script printed in the first state; or why it is broken."""
    value = outcome.value if outcome.status is Status.OK else None
    if value is None or value["exit"] != 0 or value["truncated"]:
        said = "printed too much" if value and value["truncated"] else f"exit {value['exit']}" if value else ""
        return f"the script of what is expected: {said or outcome.detail or outcome.status}"
    if not value["out"].strip() and isinstance(check, AnswerBody):
        return "the script of what is expected printed nothing"
    if isinstance(check, AnswerBody):
        return ValueBody(expected=value["out"].strip(), compare=check.compare)
    return check.model_copy(update={"expect": value["out"]})


def verdict_of_check(check: ShellBody, answer: str, outcome: ItemOutcome | None) -> CellResult:
    """The verdict of one check over one end of an episode."""
    if isinstance(check, ValueBody):
        return _cell(Verdict.PASS if same_answer(check.compare, check.expected, answer) else Verdict.FAIL)
    assert outcome is not None
    if outcome.status is not Status.OK:
        own = outcome.status is Status.LOAD_ERROR  # of the world, or of a script that cannot be sent
        return _cell(Verdict.BROKEN if own else STATUS_VERDICTS[outcome.status], outcome.seconds, outcome.detail)
    out, err, status = outcome.value["out"], outcome.value["err"], outcome.value["exit"]
    if status == 2 and err.startswith(NO_SCRIPT) and "syntax error" in err:
        return _cell(Verdict.BROKEN, outcome.seconds, err[:200])
    if isinstance(check, ObserveBody):
        good = not outcome.value["truncated"] and same_answer(check.compare, str(check.expect), out)
        return _cell(Verdict.PASS if good else Verdict.FAIL, outcome.seconds)
    if isinstance(check, StateBody) and check.accept == "true":
        lines = out.strip().splitlines()
        verdict = {"true": Verdict.PASS, "false": Verdict.FAIL}.get(lines[-1].strip().lower() if lines else "")
        return _cell(verdict or Verdict.BROKEN, outcome.seconds, "" if verdict else "says neither true nor false")
    return _cell(Verdict.PASS if status == 0 else Verdict.FAIL, outcome.seconds)


def _cell(verdict: Verdict, seconds: float = 0.0, detail: str = "") -> CellResult:
    return CellResult(verdict, (verdict,), seconds, detail)
