"""`evosyn inspect RUN --matrix PROBLEM`: a problem's matrix with the ranking that a strategy gives it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import click

from evosyn.cli._run_reader import Run
from evosyn.errors import UsageError

if TYPE_CHECKING:
    from evosyn.records import PassMatrix, Ranking

WIDEST = 64


def show_matrix(run: Run, problem: str, strategy: str | None, as_json: bool) -> None:
    """Print the matrix, best solutions and testings first; the human verdicts stand in the last column.

    Args:
        strategy: a candidate of the run, a known strategy or a file; None takes the winner.

    Raises:
        UsageError: no such problem or strategy, or the strategy is invalid.
    """
    matrix = _matrix(run, problem)
    name, text = _program(run, strategy)
    ranking = _ranking(text, matrix)
    solutions, testings = ranking.solution_scores_M.tolist(), ranking.testing_scores_N.tolist()
    rows = sorted(range(len(solutions)), key=lambda m: (-solutions[m], m))[:WIDEST]
    columns = sorted(range(len(testings)), key=lambda n: (-testings[n], n))[:WIDEST]
    human = None if matrix.human_M is None else matrix.human_M.tolist()
    if as_json:
        verdicts = ["".join(row) for row in matrix.verdicts_MN]
        scores = {"solution_scores": solutions, "testing_scores": testings}
        click.echo(json.dumps({"problem": problem, "strategy": name, "verdicts": verdicts, "human": human, **scores}))
        return
    click.secho(f"{problem} ranked by {name}: {len(solutions)} solutions x {len(testings)} testings", bold=True)
    click.echo(f"{'':6}{'score':>9}  testings, best first {' ' * max(0, len(columns) - 21)} human")
    for m in rows:
        cells = "".join(str(matrix.verdicts_MN[m, n]) for n in columns)
        said = "" if human is None else human[m]
        click.echo(f"  s{m:<4}{solutions[m]:>8.3g}  {cells:21}  {said}")
    click.echo("testings: " + ", ".join(f"t{n} {testings[n]:.3g}" for n in columns[:10]))
    if len(rows) < len(solutions) or len(columns) < len(testings):
        click.echo(f"(the best {len(rows)} x {len(columns)} are shown)")
    click.echo("P pass, F wrong, E exception, T time, K killed, B broken testing, N not run, U unknown")


def _matrix(run: Run, problem: str) -> PassMatrix:
    from evosyn.pools import load_matrices
    from evosyn.synthesis.search.inputs import MATRICES

    file = run.dir.file(MATRICES)
    if not file.is_file():
        raise UsageError(f"{run.path}: has no matrices yet")
    matrices = {matrix.problem_id: matrix for matrix in load_matrices(file)}
    if problem not in matrices:
        raise UsageError(
            f"--matrix {problem!r}: no such problem here; there are {', '.join(sorted(matrices)[:8])}, ..."
        )
    return matrices[problem]


def _program(run: Run, strategy: str | None) -> tuple[str, str]:
    from evosyn.strategies import load_strategy, strategy_name

    if strategy is None or strategy.startswith("c_") or strategy in {"best", "initial"}:
        entry = run.find([strategy or "best"])[0]
        return entry.id, entry.trial.candidate.text
    return strategy_name(strategy), load_strategy(strategy)


def _ranking(text: str, matrix: PassMatrix) -> Ranking:
    from evosyn.records import Invalid
    from evosyn.sandbox import open_sandbox
    from evosyn.strategies.evidence import evidence_of
    from evosyn.strategies.running.sandboxed import SandboxedRunner

    with open_sandbox(workers=1, numpy=True, allow_weak=True) as sandbox:
        found = SandboxedRunner(sandbox).rank([text], [evidence_of(matrix)])[0]
    if isinstance(found, Invalid):
        raise UsageError(f"the strategy is invalid on this problem: {found.reason}")
    return found[0]
