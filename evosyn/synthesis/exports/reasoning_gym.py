"""The environments behind a dataset's rows as an installable reasoning-gym dataset, which makes instances of its own.

Programs are written as they are, and that library runs them in the user's process: there is no sandbox. Rows themselves
go to verifiers, TRL and verl by the other formats, whose rewards run in evosyn's. Tried with reasoning-gym 0.1.25.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from evosyn import __version__
from evosyn.dataset import Sample
from evosyn.domains.base import MAX_ANSWER
from evosyn.domains.environment import NAME
from evosyn.environments.contract import LEVELS, read_environment
from evosyn.errors import UsageError
from evosyn.rundir import write_atomic
from evosyn.synthesis.exports._common import Exported, Target
from evosyn.synthesis.exports.verifiers import package_name
from evosyn.templates import render


def export(samples: Sequence[Sample], target: Target) -> Exported:
    """Write `pyproject.toml`, `PACKAGE/__init__.py` and `PACKAGE/programs/ID.py`.

    Raises:
        UsageError: a part is to be held out.
    """
    if target.holdout:
        raise UsageError("--holdout: a reasoning_gym dataset makes its own instances, so none can be held out")
    programs: dict[str, str] = {}
    skipped: Counter[str] = Counter()
    for sample in samples:
        source = str(sample.held("testing").get("program", "")) if sample.domain == NAME else ""
        found = read_environment(source).value
        if found is None:
            skipped["is no row of an environment"] += 1
        else:
            programs[found.id] = source
    package = package_name(target.name)
    inner = target.out / package
    blanks = {
        "module": package,
        "prefix": "".join(part.capitalize() for part in package.split("_")),
        "version": __version__,
        "count": str(len(programs)),
        "levels": str(LEVELS),
        "longest": str(MAX_ANSWER),
    }
    files: dict[Path, str] = {inner / "programs" / f"{name}.py": source for name, source in programs.items()}
    files[inner / "__init__.py"] = _filled("init", blanks)
    files[target.out / "pyproject.toml"] = _filled("pyproject", {name: blanks[name] for name in ("module", "version")})
    for path, text in files.items():
        write_atomic(path, text)
    usage = (
        f"pip install {target.out}, import {package}, reasoning_gym.create_dataset('evosyn_{package}'); its programs "
        "run in your own process, without a sandbox: read them first"
    )
    return Exported(tuple(files), {"train": len(programs)}, dict(skipped), usage)


def _filled(name: str, blanks: dict[str, str]) -> str:
    return render("evosyn.synthesis.exports", f"templates/reasoning_gym_{name}.txt", **blanks)
