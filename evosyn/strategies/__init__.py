"""Strategy programs: finding their text by name, file or run directory. Nothing here runs one (see `runner`).

A strategy is a program text that defines `rank(evidence)`, or `strategy(...)` in the EvoSyn form. DESIGN.md section 5.
"""

from __future__ import annotations

import importlib.util
import os
import pkgutil
import re
from importlib import metadata
from pathlib import Path

from evosyn.errors import UsageError, nearest
from evosyn.records import Candidate, Unit
from evosyn.rundir import REPORT, RunDir
from evosyn.strategies.known import CONTROLS

HOME = "evosyn.strategies.known"
GROUP = "evosyn.strategies"
"""The entry points that add known strategies: each names a module whose text is the program."""

PROGRAM = "strategy.py"
"""Name of the winner's file in a run directory."""


EVOLVED_BY = "Filtering strategy evolved by evosyn"
"""How the comment above a winner's text begins; the comment is not part of the program."""


def strategy_id(text: str) -> str:
    """The id of the candidate that a strategy file holds, as it stands in the journal of the search."""
    if text.startswith(f"# {EVOLVED_BY}"):
        text = text.partition("\n\n")[2]
    return Candidate(text).id


RANKS = "It ranks each {unit} (scoring.unit={unit})."
"""The line at the head of a strategy's file, in comment or docstring, that says what it was evolved to rank."""
_RANKS = re.compile(r"^(?:# )?It ranks each \w+ \(scoring\.unit=(case|testing)\)\.$", re.M)


def unit_of(text: str) -> Unit:
    """What a strategy's file says that it ranks; testings where it says nothing."""
    said = _RANKS.search(text.partition('\n"""' if text.startswith('"""') else "\n\n")[0])
    return "case" if said is not None and said[1] == "case" else "testing"


def known_names() -> list[str]:
    """Names that `load_known` accepts: the modules of `known`, then entry points of the group `evosyn.strategies`."""
    spec = importlib.util.find_spec(HOME)
    folders = (spec.submodule_search_locations if spec else None) or []
    found = [module.name for module in pkgutil.iter_modules(folders) if not module.name.startswith("_")]
    return sorted(found) + sorted(point.name for point in metadata.entry_points(group=GROUP))


def known_rules() -> dict[str, str]:
    """The program texts of the known strategies that may be chosen, by name: all but controls."""
    return {name: load_known(name) for name in known_names() if name not in CONTROLS}


def is_control(text: str) -> bool:
    """Whether a program is a control, whatever it is called."""
    return text in map(load_known, CONTROLS)


def load_known(name: str) -> str:
    """The program text of the strategy `name`.

    Raises:
        UsageError: nothing of that name; the message offers the nearest names.
    """
    module = name.replace("-", "_")
    target = f"{HOME}.{module}" if module.isidentifier() and not module.startswith("_") else ""
    for point in metadata.entry_points(group=GROUP):
        if point.name == name:
            target = point.module
    spec = importlib.util.find_spec(target) if target else None
    if spec is None or spec.origin is None:
        hint = nearest(name, known_names())
        raise UsageError(f"strategy {name!r}: no such strategy; {hint} (or give a file, or a run directory)")
    return _text_in(Path(spec.origin))


def winner_of(folder: Path) -> str:
    """The file `strategy.py` of a run as it stands, with the comment above the program.

    Raises:
        UsageError: there is none, or it is no longer what the run wrote.
        CorruptRun: the report of the run is damaged.
    """
    if not (folder / PROGRAM).is_file():
        raise UsageError(f"strategy {folder}: has no {PROGRAM}; is it a finished `evosyn evolve` run?")
    _require_own(folder)
    return _read(folder / PROGRAM)


def load_strategy(spec: str | Path) -> str:
    """The program text that `spec` names: a known strategy, a Python file, or a run directory that holds `strategy.py`.
    A known name means that strategy whatever lies in the working directory; `./NAME` is a path.

    Raises:
        UsageError: it is none of these, cannot be read, or is no longer what the run wrote.
        CorruptRun: the report of the run is damaged.
    """
    path = Path(spec)
    if is_known(spec):
        return load_known(str(spec))
    if path.is_dir():
        return Candidate(winner_of(path)).text
    if not path.is_file():
        if path.suffix == ".py" or os.sep in str(spec):
            raise UsageError(f"strategy {spec}: no such file or directory; known names: {', '.join(known_names())}")
        return load_known(str(spec))
    return _text_in(path)


def _require_own(folder: Path) -> None:
    """See that the winner of a run is what the run wrote."""
    run = RunDir(folder)
    if run.file(REPORT).is_file() and run.altered(run.read_json(REPORT), PROGRAM):
        raise UsageError(
            f"strategy {folder}: its {PROGRAM} is not as the run wrote it (it was altered, or cut off); repeat the "
            f"`evosyn evolve` command, which writes its own again and keeps this one, or name {folder / PROGRAM}"
        )


def _text_in(path: Path) -> str:
    """The program of a file, as a search and everybody else has it."""
    return Candidate(_read(path)).text


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"strategy {path}: cannot be read: {error}") from error


def is_known(spec: str | Path) -> bool:
    """Whether it is the name of a known strategy."""
    return isinstance(spec, str) and spec in known_names()


def strategy_name(spec: str | Path) -> str:
    """How tables call `spec`: the known name, the file's stem, or the run directory's name."""
    path = Path(spec)
    if is_known(spec):
        return str(spec)
    if path.is_dir():
        return path.resolve().name
    return path.stem if path.is_file() else str(spec)
