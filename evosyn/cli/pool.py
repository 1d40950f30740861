"""`evosyn pool`: validate pool files, by reading them and, if asked, by executing the references."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

import click

from evosyn.cli._command import ConfiguredCommand, config_options, sandbox_options
from evosyn.errors import InputError
from evosyn.ports import Domain
from evosyn.records import Pool, Problem

if TYPE_CHECKING:
    from evosyn.cli._configs import CheckConfig
    from evosyn.workbench import Workbench


class PoolFinding(NamedTuple):
    """Something about a pool file; `error` ones make it unusable."""

    error: bool
    text: str


@click.group(short_help="Validate pool files.")
def command() -> None:
    """Work with pool files: seed problems, with or without recorded solutions and testings (see docs/pools.md)."""


@command.command(
    "check", cls=ConfiguredCommand, kind="evosyn.cli._configs:CheckConfig", short_help="Validate a pool file."
)
@click.argument("source", metavar="FILE")
@click.option("--execute", is_flag=True, help="Also run every reference and alternative against its human testing.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object on standard output.")
@sandbox_options
@config_options("workbench.sandbox.backend=docker")
def check(config: CheckConfig, source: str, execute: bool, as_json: bool) -> int:
    """Say line, field and reason for whatever is wrong with FILE, and what to do about it.

    FILE is a .jsonl or .jsonl.gz file in the pool format, or builtin:python-seeds. Ends with 1 if something is wrong.
    """
    from evosyn.domains import scan_pools
    from evosyn.workbench import Workbench

    pools: list[Pool] = []
    findings: list[PoolFinding] = []
    for found in scan_pools(source):
        if isinstance(found, InputError):
            findings.append(PoolFinding(True, str(found)))
        else:
            pools.append(found)
    with Workbench(config.workbench) as workbench:
        for pool in pools:
            findings += _testings(source, pool, workbench.domains[pool.problem.domain])
        if execute and pools:
            findings += _execute(source, pools, workbench)
    _show(source, pools, findings, as_json)
    return 1 if any(finding.error for finding in findings) else 0


def _testings(source: str, pool: Pool, domain: Domain) -> Iterator[PoolFinding]:
    """Human testings must fit their problem; recorded ones, which models wrote, are counted."""
    problem = pool.problem
    if problem.human_testing is not None:
        misfit = domain.check_testing(problem, problem.human_testing)
        if misfit is not None:
            yield PoolFinding(True, str(_error(source, problem, "human_testing", misfit)))
    misfits = [domain.check_testing(problem, testing) for testing in pool.testings]
    named = [(index, misfit) for index, misfit in enumerate(misfits) if misfit is not None]
    if named:
        index, misfit = named[0]
        text = f"{len(named)} of {len(misfits)} cannot run and will be recorded as broken; the first: {misfit}"
        yield PoolFinding(False, str(_error(source, problem, f"testings[{index}]", text)))


def _execute(source: str, pools: Sequence[Pool], workbench: Workbench) -> list[PoolFinding]:
    """Run what must pass: the references, and alternatives that `meta` names."""
    from evosyn.crossexec.references import check_references

    return [PoolFinding(True, str(error)) for error in check_references(workbench.judge, source, pools)]


def _error(source: str, problem: Problem, field: str, text: str) -> InputError:
    where = source if problem.line else f"{source} {problem.problem_id}"
    return InputError(where, text, line=problem.line or None, field=field)


def _show(source: str, pools: Sequence[Pool], findings: Sequence[PoolFinding], as_json: bool) -> None:
    errors = [finding.text for finding in findings if finding.error]
    warnings = [finding.text for finding in findings if not finding.error]
    figures = {
        "pool": source,
        "problems": len(pools),
        "domains": sorted({pool.problem.domain for pool in pools}),
        "human_testings": sum(pool.problem.human_testing is not None for pool in pools),
        "references": sum(pool.problem.reference_solution is not None for pool in pools),
        "solutions": sum(len(pool.solutions) for pool in pools),
        "testings": sum(len(pool.testings) for pool in pools),
    }
    if as_json:
        click.echo(json.dumps({**figures, "errors": errors, "warnings": warnings}, indent=2))
        return
    for text in errors:
        click.echo(f"error: {text}")
    for text in warnings:
        click.echo(f"note: {text}")
    if not errors:
        click.echo(
            f"{source}: good; {figures['problems']} problems, {figures['human_testings']} human testings, "
            f"{figures['references']} references, {figures['solutions']} solutions, {figures['testings']} testings"
        )
    else:
        click.echo(f"{source}: {len(errors)} errors")
