"""`evosyn pool`: validate pool files, by reading them and, if asked, by executing the references; make them from
published benchmarks."""

from __future__ import annotations

import json
import re
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import click

from evosyn.cli._command import ConfiguredCommand, NewFile, config_options, sandbox_options
from evosyn.cli._output import echo
from evosyn.cli.pool_sample import command as sample
from evosyn.errors import CheckFailed, InputError, UsageError
from evosyn.ports import Domain
from evosyn.records import Json, Pool, Problem

if TYPE_CHECKING:
    from evosyn.cli._configs import CheckConfig
    from evosyn.workbench import Workbench


DAY = re.compile(r"\d{4}-\d{2}-\d{2}")
NAMED = 10
"""Rows that are named on the screen; `--json` has all."""


class PoolFinding(NamedTuple):
    """Something about a pool file; `error` ones make it unusable."""

    error: bool
    about: InputError


@click.group(short_help="Validate pool files; make them from published benchmarks, or with a model.")
def command() -> None:
    """Work with pool files: seed problems, with or without recorded solutions and testings (see docs/pools.md)."""


@command.command(
    "check", cls=ConfiguredCommand, kind="evosyn.cli._configs:CheckConfig", short_help="Validate a pool file."
)
@click.argument("sources", metavar="FILE...", nargs=-1, required=True)
@click.option("--execute", is_flag=True, help="Also run every reference and alternative against its human testing.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object on standard output.")
@sandbox_options
@config_options("workbench.sandbox.backend=docker")
def check(config: CheckConfig, sources: tuple[str, ...], execute: bool, as_json: bool) -> int:
    """Say line, field and reason for whatever is wrong with each FILE, and what to do about it.

    FILE is a .jsonl, .jsonl.gz or .yaml file in the pool format (docs/pools.md), or builtin:python-seeds. Ends with 1
    if something is wrong with one that is there, whatever it is; with 2 where there is none of that name.
    """
    from evosyn.workbench import Workbench

    figures = []
    with Workbench(config.workbench) as workbench:
        for source in sources:
            figures.append(_checked(source, workbench, execute=execute))
            if not as_json:
                _show(figures[-1])
    if as_json:
        echo(json.dumps(figures[0] if len(figures) == 1 else figures, indent=2))
    return 1 if any(found["errors"] for found in figures) else 0


command.add_command(sample)


@command.command("import", short_help="Make a pool file from a published benchmark.")
@click.argument("form", metavar="FORMAT")
@click.argument("files", metavar="FILE...", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--out", required=True, type=NewFile(), help="Pool file to write.")
@click.option("--from", "first", metavar="DAY", help="First day (YYYY-MM-DD), where rows have a date.")
@click.option("--to", "last", metavar="DAY", help="Last day.")
@click.option("--limit", type=click.IntRange(1), help="Stop after so many problems.")
@click.option(
    "--compare",
    type=click.Choice(("contest", "official")),
    help="For apps and livecodebench: floats within 1e-6 (contest, the default), or as LiveCodeBench's grader.",
)
@click.option("--json", "as_json", is_flag=True, help="One JSON object on standard output.")
def import_(
    form: str,
    files: tuple[Path, ...],
    out: Path,
    first: str | None,
    last: str | None,
    limit: int | None,
    compare: str | None,
    as_json: bool,
) -> None:
    """Turn your own copy of a benchmark into seeds.

    FORMAT is aime, apps (also TACO), bbh, gsm8k, humaneval, livecodebench, math500 or mbpp; FILE is JSON lines (also
    gzipped), one JSON list, or parquet. A row that cannot be brought in rightly is left out and named with its
    reason; nothing is executed (`evosyn pool check --execute` runs the references). Ends with 1 if no row could be
    used.
    """
    from evosyn.domains.published import converter, import_rows
    from evosyn.jsonlines import write_lines

    for day in (first, last):
        if day is not None and not _is_day(day):
            raise UsageError(f"--from, --to: write the day as YYYY-MM-DD (got {day!r})")
    left_out: dict[str, str] = {}

    def lines() -> Iterator[dict[str, Json]]:
        kept = 0
        for found in import_rows(converter(form, compare), files, (first, last)):
            if found.line is None:
                left_out[found.name] = found.reason
                continue
            yield found.line
            kept += 1
            if kept == limit:
                return
        if not kept:
            why = f"there is no row{' of these days' if first or last else ''}"
            if left_out:
                why = f"no row could be used; {len(left_out)} left out{_counts(left_out)}"
            raise CheckFailed(f"{out} is not written: {why}")

    count = write_lines(out, lines())
    if as_json:
        echo(json.dumps({"pool": str(out), "problems": count, "left_out": left_out}, indent=2))
        return
    for name, reason in islice(left_out.items(), NAMED):
        echo(f"left out {name}: {reason}")
    echo(f"{out}: {count} problems; {len(left_out)} rows left out{_counts(left_out)}")
    echo(f"next: evosyn pool check {out} --execute")


def _counts(left_out: Mapping[str, str]) -> str:
    """How many rows were left out for each reason, in brackets."""
    names = Counter(reason.partition(":")[0] for reason in left_out.values())
    return f" ({', '.join(f'{many} x {name}' for name, many in names.most_common())})" if names else ""


def _is_day(text: str) -> bool:
    try:
        return bool(DAY.fullmatch(text) and date.fromisoformat(text))
    except ValueError:
        return False


def _checked(source: str, workbench: Workbench, *, execute: bool) -> dict[str, Json]:
    """What one file holds, and what is wrong with it in the order of its lines."""
    from evosyn.domains import scan_pools

    pools: list[Pool] = []
    findings: list[PoolFinding] = []
    try:
        for found in scan_pools(source):
            if isinstance(found, InputError):
                findings.append(PoolFinding(True, found))
            else:
                pools.append(found)
    except InputError as error:
        if not Path(source).exists():
            raise
        findings.append(PoolFinding(True, error))
    for pool in pools:
        findings += _testings(source, pool, workbench.domains[pool.problem.domain])
    executed = {}
    if execute and pools:
        began = time.monotonic()
        findings += _execute(source, pools, workbench)
        executed = {"executed_s": round(time.monotonic() - began, 1)}
    findings.sort(key=lambda one: one.about.line or 0)
    return {
        "pool": source,
        "problems": len(pools),
        "domains": sorted({pool.problem.domain for pool in pools}),
        "human_testings": sum(pool.problem.human_testing is not None for pool in pools),
        "references": sum(pool.problem.reference_solution is not None for pool in pools),
        "solutions": sum(len(pool.solutions) for pool in pools),
        "testings": sum(len(pool.testings) for pool in pools),
        **executed,
        "errors": [str(one.about) for one in findings if one.error],
        "warnings": [str(one.about) for one in findings if not one.error],
    }


def _testings(source: str, pool: Pool, domain: Domain) -> Iterator[PoolFinding]:
    """Human testings must fit their problem; recorded ones, which models wrote, are counted."""
    from evosyn.crossexec.grid import recorded_copies
    from evosyn.domains.answers.reading import Words, read_answer
    from evosyn.domains.math_answer import MathAnswer
    from evosyn.domains.python.domain import PythonDomain

    problem = pool.problem
    if isinstance(domain, PythonDomain) and problem.reference_solution is not None:
        flaw = _syntax_error(problem.reference_solution)
        if flaw:
            yield PoolFinding(True, _error(source, problem, "reference_solution", f"is no Python program: {flaw}"))
    if problem.human_testing is not None:
        misfit = domain.check_testing(problem, problem.human_testing)
        if misfit is not None:
            yield PoolFinding(True, _error(source, problem, "human_testing", misfit))
        elif isinstance(domain, MathAnswer) and isinstance(read_answer(problem.human_testing.body["answer"]), Words):
            text = "reads as words, which only the same words meet; if it is a value, write it as one"
            yield PoolFinding(False, _error(source, problem, "human_testing.answer", text))
    copies, count = problem.meta.get("copies"), len(pool.solutions)
    if count and copies is not None and recorded_copies(problem, count) is None:
        text = f"is not read: it must be {count} whole numbers, how many draws gave each recorded solution"
        yield PoolFinding(False, _error(source, problem, "meta.copies", text))
    misfits = [domain.check_testing(problem, testing) for testing in pool.testings]
    named = [(index, misfit) for index, misfit in enumerate(misfits) if misfit is not None]
    if named:
        index, misfit = named[0]
        text = f"{len(named)} of {len(misfits)} cannot run and will be recorded as broken; the first: {misfit}"
        yield PoolFinding(False, _error(source, problem, f"testings[{index}]", text))


def _syntax_error(program: str) -> str:
    """What is wrong with the syntax of a program; empty where nothing is."""
    from evosyn.parsing import parsed

    try:
        parsed(program)
    except SyntaxError as error:
        return f"line {error.lineno}: {error.msg}"
    except (ValueError, MemoryError, RecursionError) as error:
        return str(error) or type(error).__name__
    return ""


def _execute(source: str, pools: Sequence[Pool], workbench: Workbench) -> list[PoolFinding]:
    """Run what must pass (the references, and alternatives that `meta` names) and what must not."""
    from evosyn.crossexec.references import check_references, check_telling

    lacking = {pool.problem.problem_id: ", ".join(needs) for pool in pools if (needs := workbench.lacks(pool.problem))}
    pools = [pool for pool in pools if pool.problem.problem_id not in lacking]
    workbench.require_shown(pool.problem for pool in pools)
    errors = [PoolFinding(True, error) for error in check_references(workbench.judge, source, pools)]
    untried = [one.problem for one in pools if one.problem.human_testing and one.problem.reference_solution is None]
    if untried and len(untried) < len(pools):
        names = ", ".join(problem.problem_id for problem in untried)
        text = f"{len(untried)} problems have no reference, so nothing was tried of them: {names}"
        errors.append(PoolFinding(False, InputError(source, text)))
    if lacking:
        told = ", ".join(f"{name} ({lacks})" for name, lacks in lacking.items())
        text = f"{len(lacking)} problems need what this machine does not give, so they were skipped: {told}"
        errors.append(PoolFinding(False, InputError(source, text)))
    return errors + [PoolFinding(False, error) for error in check_telling(workbench.judge, source, pools)]


def _error(source: str, problem: Problem, field: str, text: str) -> InputError:
    where = source if problem.line else f"{source} {problem.problem_id}"
    return InputError(where, text, line=problem.line or None, field=field)


def _show(found: dict[str, Json]) -> None:
    for text in found["errors"]:
        echo(f"error: {text}")
    for text in found["warnings"]:
        echo(f"note: {text}")
    wrong = len(found["errors"])
    if wrong:
        echo(f"{found['pool']}: {wrong} error{'s' if wrong > 1 else ''}")
        return
    echo(
        f"{found['pool']}: good; {found['problems']} problems, {found['human_testings']} human testings, "
        f"{found['references']} references, {found['solutions']} solutions, {found['testings']} testings"
    )
    if "executed_s" in found and found["references"]:
        echo(f"executed in {found['executed_s']} s: every reference passes its human testing")
    elif found["references"]:
        echo("nothing was executed; with --execute the references run against the human testings")
    if found["problems"] and not found["human_testings"]:
        echo("note: no problem has a human testing, so that `evosyn evolve` cannot use this file as seeds")
