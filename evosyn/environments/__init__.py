"""Verifiable environments: programs that make questions and check answers; here they are found by name or file.

Those that come with evosyn are one file each, read as text and never imported: `known/` may be shown to generators as
examples, `held_out/` is for measuring and never is. docs/environments.md.
"""

from __future__ import annotations

from pathlib import Path

from evosyn.environments.contract import Environment, read_environment
from evosyn.environments.forms import to_contract
from evosyn.errors import UsageError, nearest
from evosyn.records import Provenance

HERE = Path(__file__).parent
FOLDERS = {"known": HERE / "known", "held-out": HERE / "held_out"}
BUILTIN = Provenance(source="builtin")
TEN = "env-seeds"
SEEDS = (
    *("increasing-subsequence", "common-subsequence", "shortest-path", "components", "topological-order"),
    *("modular-chain", "knapsack", "subset-sum", "brackets", "interval-selection"),
)
"""What a search or a pool starts from: ten, as EvoEnv's; which ones is ours."""


def bundled(folder: str) -> dict[str, Path]:
    """The files of `known` or `held-out`, by the names that commands take."""
    return {path.stem.replace("_", "-"): path for path in sorted(FOLDERS[folder].glob("[!_]*.py"))}


def sources(names: list[str]) -> dict[str, str]:
    """Program texts by name, those in the forms of the papers wrapped into the contract.

    Args:
        names: each a file, a directory of programs (or one that holds them in `programs/`), NAME or builtin:NAME of
            one that comes with evosyn, builtin:known, builtin:held-out, or builtin:env-seeds (ten of the known).

    Raises:
        UsageError: there is none of that name, or it cannot be read.
    """
    found: dict[str, str] = {}
    for name in names:
        paths = _paths(name)
        if not paths:
            raise UsageError(f"{name}: holds no .py file")
        for shown, path in paths.items():
            try:
                found[shown] = to_contract(path.read_text(encoding="utf-8-sig"))
            except (OSError, UnicodeDecodeError) as error:
                raise UsageError(f"{path}: cannot be read as a program: {error}") from error
    return found


def environment(name: str) -> Environment:
    """One environment, by a name of `sources`.

    Raises:
        UsageError: there is none, or it does not pass the screen.
    """
    ((shown, source), *rest) = sources([name]).items()
    if rest:
        raise UsageError(f"{name}: holds {len(rest) + 1} programs; name one")
    read = read_environment(source, provenance_of(name))
    if read.value is None:
        raise UsageError(f"{shown}: is no environment: {read.reason} (docs/write-an-environment.md)")
    return read.value


def _paths(name: str) -> dict[str, Path]:
    """
    Raises:
        UsageError: there is none of that name, or what stands in the directory is no file: a pipe would be waited for.
    """
    path = Path(name)
    if path.is_file():
        return {name: path}
    if path.is_dir():
        made = path / "programs"
        found = sorted((made if made.is_dir() else path).glob("[!_]*.py"))
        if strange := next((one for one in found if not one.is_file()), None):
            raise UsageError(f"{strange}: is no file of a program, but a pipe, a directory or the like; take it away")
        return {str(one): one for one in found}
    plain = name.removeprefix("builtin:")
    if plain in FOLDERS:
        return bundled(plain)
    if plain == TEN:
        return {one: path for one, path in bundled("known").items() if one in SEEDS}
    known = {**bundled("known"), **bundled("held-out")}
    if plain in known:
        return {plain: known[plain]}
    hint = nearest(plain, known, "`evosyn env list` has those that come with evosyn")
    raise UsageError(f"{name}: no such file, directory or environment; {hint}")


def provenance_of(name: str) -> Provenance:
    """Where a program of `sources` comes from: of a file nobody knows."""
    return Provenance() if Path(name).exists() else BUILTIN
