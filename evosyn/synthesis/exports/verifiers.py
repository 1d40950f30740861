"""An installable taskset package for verifiers (v1): `vf-validate NAME` checks every row against its own solution.

The reward and the check of the best solution run in evosyn's sandbox, so the package depends on evosyn. Rows of agents
are a taskset with an environment of its own: a room or a tool world plays the user, in plain text (docs/os-shell.md).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from evosyn import __version__
from evosyn.agents.tool_ways import stepwise, ways_of
from evosyn.dataset import Sample
from evosyn.records import Json
from evosyn.rundir import write_atomic
from evosyn.synthesis.exports._common import Exported, Skip, Target, answer, by_agent, task_column, turns, write_splits
from evosyn.templates import render


def export(samples: Sequence[Sample], target: Target) -> Exported:
    """Write the package: `pyproject.toml`, `PACKAGE/__init__.py`, `PACKAGE/taskset.py` and its rows; those of agents
    where there is any, since a taskset has tasks of one kind."""
    agents = any(map(by_agent, samples))
    package = package_name(target.name)
    prefix = "".join(part.capitalize() for part in package.split("_"))
    inner = replace(target, out=target.out / package)
    exported = write_splits(samples, inner, _agent_row if agents else _row)
    kind = "shell_" if agents else ""
    files: dict[Path, str] = {
        target.out / "pyproject.toml": _fill("pyproject", module=package, version=__version__),
        inner.out / "__init__.py": _fill(f"{kind}init", module=package, prefix=prefix),
        inner.out / "taskset.py": _fill(f"{kind}taskset", prefix=prefix),
    }
    for path, text in files.items():
        write_atomic(path, text)
    usage = f"pip install {target.out} && vf-validate {package.replace('_', '-')} --runtime.type subprocess"
    return replace(exported, files=(*exported.files, *files), usage=usage)


def package_name(name: str) -> str:
    """A Python package name made from the name of the data."""
    plain = re.sub(r"\W+", "_", name.lower()).strip("_")
    return plain if plain and plain[0].isalpha() else f"evosyn_{plain}".rstrip("_")


def _row(sample: Sample, target: Target, index: int) -> dict[str, Json]:  # noqa: ARG001
    system = [turn["content"] for turn in turns(sample) if turn["role"] == "system"]
    return {
        "id": sample.id,
        "name": sample.problem_id,
        "prompt": [turn for turn in turns(sample) if turn["role"] != "system"],
        "system_prompt": "\n\n".join(system) or None,
        "task": task_column(sample, target),
        "gold": answer(sample, sample.solution)[0]["content"] if sample.ranked[0].accepted else None,
    }


def _agent_row(sample: Sample, target: Target, index: int) -> dict[str, Json] | Skip:
    if not by_agent(sample):
        return Skip("is no row of an agent; export it from a dataset without any")
    row = _row(sample, target, index)
    *before, last = row["prompt"]
    told = {**last, "content": f"{stepwise(last['content'])}\n\n{ways_of(sample.problem).RULES}\n"}
    return {**row, "prompt": [*before, told], "gold": sample.solution if sample.ranked[0].accepted else None}


def _fill(name: str, **blanks: str) -> str:
    return render("evosyn.synthesis.exports", f"templates/verifiers_{name}.txt", **blanks)
