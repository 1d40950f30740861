"""What `evosyn inspect DATA` shows of a synthesis: the funnel, single samples, and why a problem was kept or dropped.

Texts of models are shown with their control characters escaped: they are untrusted. `evosyn.cli.inspect` calls
`show_data` for a directory whose manifest says `synthesize`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from evosyn.cli._synthesis_view import funnel
from evosyn.errors import UsageError

if TYPE_CHECKING:
    from evosyn.dataset import Sample
    from evosyn.records import Json
    from evosyn.running.ledger import Ledger, PaidReply
    from evosyn.synthesis.instance import Instance

WIDEST = 64
"""Rows and columns of a matrix that are shown."""


def is_data_directory(path: Path) -> bool:
    """Whether `evosyn synthesize` wrote this directory."""
    manifest = path / "manifest.json"
    try:
        return bool(json.loads(manifest.read_text(encoding="utf-8")).get("kind") == "synthesize")
    except (OSError, ValueError):
        return False


def show_data(
    path: Path, *, why: str | None = None, samples: int | None = None, as_json: bool = False, setting: str = "evosyn"
) -> None:
    """Show a dataset directory.

    Args:
        why: a sample id, the name of a problem, or its number: tell its whole story instead.
        samples: show this many rows of `setting` instead, spread over it.
        as_json: the same as JSON.

    Raises:
        UsageError: no such sample, or the directory is not finished.
    """
    if why is not None:
        _why(path, why, as_json)
    elif samples is not None:
        _samples(path, samples, setting, as_json)
    else:
        _overview(path, as_json)


def _overview(path: Path, as_json: bool) -> None:
    from evosyn.rundir import RunDir
    from evosyn.synthesis.instance import ledger_of

    run = RunDir(path)
    manifest = run.read_json("manifest.json")
    if not run.file("report.json").exists():
        done = len(ledger_of(path).done)
        click.echo(f"{path}: not finished, {done} problems have ended; repeat the `evosyn synthesize` command to go on")
        return
    report = run.read_json("report.json")
    if as_json:
        click.echo(json.dumps({"manifest": manifest, "report": report}, indent=2, ensure_ascii=False))
        return
    simulated = " (a simulation)" if manifest["simulated"] else ""
    click.secho(f"{path}: dataset by {manifest['teacher']}{simulated}", bold=True)
    click.echo(
        f"strategy {manifest['strategy']} from {manifest['strategy_from']}, seeds from {manifest['seeds_from']}\n"
    )
    funnel(report)
    for name, summary in (report["distributions"]["evosyn"] or {}).items():
        if summary is not None:
            shown = ", ".join(f"{key} {value:g}" for key, value in summary.items())
            click.echo(f"{name.replace('_', ' '):22} {shown}")
    click.echo(f"\nevosyn inspect {path} --sample 1        evosyn inspect {path} --why syn-000000")


def _samples(path: Path, count: int, setting: str, as_json: bool) -> None:
    from evosyn.dataset import read_dataset
    from evosyn.synthesis.instance import ledger_of

    rows = read_dataset(path, setting)
    if not rows:
        raise UsageError(f"{path}: the setting {setting} holds no row; `evosyn inspect {path}` says why")
    count = min(count, len(rows))
    chosen = [rows[at * len(rows) // count] for at in range(count)]
    ledger = ledger_of(path)
    if as_json:
        from evosyn.dataset import to_row

        click.echo(json.dumps([to_row(row) for row in chosen], indent=2, ensure_ascii=False))
        return
    for row in chosen:
        _sample(row, ledger.item(json.loads(row.lineage)["index"]))


def _sample(row: Sample, instance: Instance) -> None:
    ranked = json.loads(row.solutions_ranked)
    _head(f"{row.id}  {row.problem_id}  {row.domain}  {row.setting}" + ("  SIMULATED" if row.simulated else ""))
    click.echo(safe(row.statement))
    _head("matrix (solutions and testings in the order of their scores; > and v mark the chosen ones)")
    for line in matrix_lines(instance, json.loads(row.scores)):
        click.echo(line)
    _head(f"chosen testing: {row.tests} checks, refuses {row.difficulty:.0%} of the solutions")
    for line in testing_lines(json.loads(row.testing)):
        click.echo(line)
    best, worst = ranked[0], ranked[-1]
    _head(f"best solution ({best['verdict']})  |  worst solution ({worst['verdict']})")
    for line in side_by_side(best["source"], worst["source"]):
        click.echo(line)


def _why(path: Path, name: str, as_json: bool) -> None:
    from evosyn.synthesis.instance import ledger_of

    ledger = ledger_of(path)
    instance = ledger.item(_index_of(path, ledger, name))
    replies = {event.reply.id: event for event in ledger.replies(instance.index)}
    prompts = {event.key[1]: event for event in replies.values() if event.messages}
    if as_json:
        from evosyn.codec import dump

        story = {
            "instance": dump(instance, defaults=True),
            "replies": [dump(event, defaults=True) for event in replies.values()],
        }
        click.echo(json.dumps(story, indent=2, ensure_ascii=False))
        return
    problem = instance.problem
    _head(f"problem {instance.index}" + ("" if problem is None else f": {problem.problem_id}"))
    click.echo(f"seeds in context: {', '.join(instance.brief.get('seeds', []))}")
    for wish, text in instance.brief.get("wishes", {}).items():
        click.echo(f"wish: {wish}: {text}")
    _prompt(prompts.get("problem"), "prompt of the problem")
    if problem is not None:
        _reply(replies.get(problem.provenance.call or ""), "reply that became the problem")
    _judgement(instance, prompts, replies)
    _fate(instance)


def _judgement(instance: Instance, prompts: Mapping[str, PaidReply], replies: Mapping[str, PaidReply]) -> None:
    decision, pool = instance.decision, instance.pool
    if pool is None:
        return
    _prompt(prompts.get("solution"), "prompt of the solutions")
    _prompt(prompts.get("testing"), "prompt of the testings")
    scores: dict[str, Json] = {}
    if decision is not None and decision.chosen is not None:
        scores = {"solution": decision.chosen.best, "testing": decision.chosen.testing}
        testing, solution = pool.testings[decision.chosen.testing], pool.solutions[decision.chosen.best]
        _reply(replies.get(testing.provenance.call or ""), "reply that became the chosen testing")
        _reply(replies.get(solution.provenance.call or ""), "reply that became the chosen solution")
    if instance.matrix is not None:
        _head(f"matrix {instance.matrix.digest} and ranking")
        for line in matrix_lines(instance, scores):
            click.echo(line)


def _fate(instance: Instance) -> None:
    from evosyn.dataset import SETTINGS

    _head("what became of it")
    unusable = [one for one in instance.rejects if one.item == "reply"]
    for reason in sorted({f"{one.stage}: {one.reason}" for one in unusable}):
        count = sum(f"{one.stage}: {one.reason}" == reason for one in unusable)
        click.echo(f"{count:4} unusable replies, {reason}")
    for setting in SETTINGS:
        reject = instance.dropped(setting)
        if reject is None:
            click.secho(f"{setting:8} kept", fg="green")
        else:
            click.secho(f"{setting:8} dropped in {reject.stage}: {reject.reason} ({safe(reject.detail)})", fg="red")


def matrix_lines(instance: Instance, scores: Mapping[str, Json]) -> Iterator[str]:
    """The verdicts as text, best solutions and testings first, with their scores."""
    from evosyn.records import Ranking

    matrix, ranking = instance.matrix, instance.ranking
    if matrix is None:
        return
    rows, columns = matrix.verdicts_MN.shape
    ranked = ranking if isinstance(ranking, Ranking) else None
    order_M = _order(None if ranked is None else ranked.solution_scores_M.tolist(), rows, scores.get("solution"))
    order_N = _order(None if ranked is None else ranked.testing_scores_N.tolist(), columns, scores.get("testing"))
    yield " " * 16 + "".join("v" if n == scores.get("testing") else " " for n in order_N)
    for m in order_M:
        mark = ">" if m == scores.get("solution") else " "
        score = "" if ranked is None else f"{ranked.solution_scores_M[m]:.4g}"
        yield f"{mark} s{m:<3}{score:>9} " + "".join(str(matrix.verdicts_MN[m, n]) for n in order_N)
    if ranked is not None:
        shown = ", ".join(f"t{n} {ranked.testing_scores_N[n]:.4g}" for n in order_N[:8])
        yield f"testings, best first: {shown}" + (", ..." if len(order_N) > 8 else "")
    if rows > WIDEST or columns > WIDEST:
        yield f"(the first {min(rows, WIDEST)} x {min(columns, WIDEST)} of {rows} x {columns})"
    yield "P pass, F wrong, E exception, T time, K killed, B broken testing, N not run, U unknown"


def testing_lines(testing: Mapping[str, Json], most: int = 12) -> Iterator[str]:
    """The checks of a testing, one a line, shortened."""
    items = testing.get("cases") or testing.get("asserts") or testing.get("code")
    if isinstance(items, dict):
        items = items.get("python", items)
    if not isinstance(items, list):
        yield from (f"  {line}" for line in safe(str(items)).splitlines()[: 4 * most])
        return
    for item in items[:most]:
        if isinstance(item, dict) and "input" in item:
            yield f"  {_short(item['input'])}  ->  {_short(item.get('output'))}"
        else:
            yield "  " + safe(item if isinstance(item, str) else json.dumps(item, ensure_ascii=False))
    if len(items) > most:
        yield f"  ... and {len(items) - most} more"


def side_by_side(left: str, right: str) -> Iterator[str]:
    """Two texts in two columns that share the width of the terminal."""
    import shutil

    width = max(30, (shutil.get_terminal_size((120, 40)).columns - 3) // 2)
    columns = [[line[:width] for line in safe(text).splitlines()] for text in (left, right)]
    for at in range(max(map(len, columns))):
        a, b = (column[at] if at < len(column) else "" for column in columns)
        yield f"{a:{width}} | {b}"


def safe(text: str) -> str:
    """A text with every control character but newline and tab escaped."""
    return "".join(
        one if one in "\n\t" or one.isprintable() else one.encode("unicode_escape").decode("ascii") for one in text
    )


def _order(scores: Sequence[float] | None, size: int, first: int | None) -> list[int]:
    order = range(size) if scores is None else sorted(range(size), key=lambda at: (-scores[at], at != first, at))
    return list(order)[:WIDEST]


def _short(value: Json, limit: int = 70) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    text = safe(text).replace("\n", "\\n")
    return text if len(text) <= limit else text[: limit - 3] + "..."


def _prompt(event: PaidReply | None, title: str) -> None:
    if event is None:
        return
    _head(title)
    for message in event.messages:
        click.echo(f"[{message.role}] {safe(message.content)}")


def _reply(event: PaidReply | None, title: str) -> None:
    if event is None:
        return
    _head(f"{title}: {event.reply.model}, {event.reply.id}")
    click.echo(safe(event.reply.text))


def _head(text: str) -> None:
    click.secho(f"\n{text}", bold=True)


def _index_of(path: Path, ledger: Ledger[Instance], name: str) -> int:
    from evosyn.dataset import SETTINGS, iterate_dataset, parquet_path
    from evosyn.synthesis.problems import problem_name

    number = int(name) if name.isdecimal() else None
    for index in ledger.done:
        if index == number or problem_name(index) == name:
            return index
    for setting in SETTINGS:
        if parquet_path(path, setting).exists():
            for row in iterate_dataset(path, setting):
                if row.id == name:
                    return int(json.loads(row.lineage)["index"])
    raise UsageError(
        f"--why {name!r}: no such sample in {path}; give a sample id (d_...), a problem ({problem_name(0)}) or a number"
    )
