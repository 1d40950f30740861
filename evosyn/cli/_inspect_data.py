"""The answers about a directory of `evosyn synthesize` as text: the funnel, single rows, the story of a problem."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from evosyn.cli._output import echo
from evosyn.cli._synthesis_view import funnel
from evosyn.cli._texts import head, matrix_lines, print_conclusion, print_matrix
from evosyn.escaping import safe
from evosyn.reading.checks import checks_of, program_of
from evosyn.trajectories import told as told_of

if TYPE_CHECKING:
    from evosyn.reading.data import DataOverview, ProblemReasons, ProblemStory, SampleStory


def print_overview(data: DataOverview) -> None:
    """Where the problems went."""
    head(f"{data.path}: dataset by {data.manifest['teacher']}{' (SIMULATED)' if data.simulated else ''}")
    print_conclusion(data.conclusion)
    echo(f"seeds from {data.manifest['seeds_from']}")
    if data.report is None:
        return
    funnel(data.report)
    for name, summary in (data.report["distributions"]["evosyn"] or {}).items():
        if summary is not None:
            shown = ", ".join(f"{key} {value:g}" for key, value in summary.items())
            echo(f"{name.replace('_', ' '):22} {shown}")
    echo(f"\nevosyn inspect {data.path} --sample 1        evosyn inspect {data.path} --why syn-000000")


def print_samples(stories: Sequence[SampleStory]) -> None:
    """Rows, each with its statement, its matrix, its testing, and its best and worst solution side by side."""
    for story in stories:
        row = story.sample
        simulated = "  SIMULATED" if row.simulated else ""
        _part(f"{row.id}  {row.problem_id}  {row.domain}  {row.setting}{simulated}", safe(row.statement).split("\n"))
        if story.matrix is not None:
            _part("matrix (best first; > and v mark the chosen ones)", matrix_lines(story.matrix))
        best, worst = row.ranked[0], row.ranked[-1]
        if len(row.ranked) == 1 and not row.matrix_digest:  # made with its answer: nothing was compared
            _part("testing", testing_lines(row.testing))
            _part(f"solution ({best.verdict})", safe(told_of(best.source)).splitlines())
            continue
        told = f"chosen testing: {row.tests} checks, refuses {row.difficulty:.0%} of the solutions"
        _part(told, testing_lines(row.testing))
        told = f"best solution ({best.verdict})  |  worst solution ({worst.verdict})"
        _part(told, side_by_side(told_of(best.source), told_of(worst.source)))


def print_why(reasons: ProblemReasons) -> None:
    """The whole story of a problem: seeds, prompts, replies, matrix, ranking, fate."""
    _part(f"problem {reasons.index}" + ("" if reasons.problem is None else f": {reasons.problem.problem_id}"), ())
    echo(f"seeds in context: {', '.join(reasons.brief.get('seeds', []))}")
    for wish, text in reasons.brief.get("wishes", {}).items():
        echo(f"wish: {wish}: {text}")
    _prompt(reasons, "problem", "prompt of the problem")
    _reply(reasons, "problem", "reply that became the problem")
    _prompt(reasons, "solution", "prompt of the solutions")
    _prompt(reasons, "testing", "prompt of the testings")
    _reply(reasons, "testing", "reply that became the chosen testing")
    _reply(reasons, "solution", "reply that became the chosen solution")
    if reasons.matrix is not None:
        _part(f"matrix {reasons.matrix.digest}, ranked by {reasons.matrix.ranked_by}", matrix_lines(reasons.matrix))
    _fate(reasons)


PRINTERS: Mapping[str, Callable[[Any], None]] = {
    "overview": print_overview,
    "sample": print_samples,
    "matrix": print_matrix,
    "why": print_why,
}


def testing_lines(text: str, most: int = 12) -> Iterator[str]:
    """The checks of a testing, one a line, shortened."""
    checks = checks_of(text)
    for check in checks[:most]:
        yield f"  {_short(check.asked)}" + ("" if check.expected is None else f"  ->  {_short(check.expected)}")
    if len(checks) > most:
        yield f"  ... and {len(checks) - most} more"
    program = (program_of(text) or "").splitlines()
    yield from (f"  {line}" for line in program[: 4 * most])
    if len(program) > 4 * most:
        yield f"  ... and {len(program) - 4 * most} more lines (--json has them)"


def side_by_side(left: str, right: str) -> Iterator[str]:
    """Two texts in two columns that share the width of the terminal."""
    width = max(30, (shutil.get_terminal_size((120, 40)).columns - 3) // 2)
    columns = [[line[:width] for line in safe(text).splitlines()] for text in (left, right)]
    for at in range(max(map(len, columns))):
        a, b = (column[at] if at < len(column) else "" for column in columns)
        yield f"{a:{width}} | {b}"


def _prompt(reasons: ProblemReasons, what: str, title: str) -> None:
    turns = reasons.prompts.get(what)
    if turns is not None:
        _part(title, (f"[{turn.role}] {turn.content}" for turn in turns))


def _reply(reasons: ProblemReasons, became: str, title: str) -> None:
    for reply in reasons.replies:
        if reply.became == became:
            _part(f"{title}: {reply.model}, {reply.id}", (reply.text,))


def _fate(story: ProblemStory) -> None:
    _part("what became of it", (f"{count:4} unusable replies, {reason}" for reason, count in story.unusable.items()))
    for setting, reject in story.settings.items():
        if reject is None:
            echo(f"{setting:8} kept", fg="green")
        else:
            echo(f"{setting:8} dropped in {reject.stage}: {reject.reason} ({reject.detail})", fg="red")


def _short(text: str) -> str:
    text = safe(text).replace("\n", "\\n")
    return text if len(text) <= 70 else text[:67] + "..."


def _part(title: str, lines: Sequence[str] | Iterator[str]) -> None:
    echo()
    head(title)
    for line in lines:
        echo(line)
