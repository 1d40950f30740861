"""What the benchmark of searches compares: settings, parts, folds and seeds. Nothing is run or read here."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import NamedTuple

import evosyn
from evosyn.evaluators.draws import ConsistencyConfig
from evosyn.randomness import SeedTree

ARMS = ("evolve", "iid", "hillclimb")
GOALS = ARMS[:2]
SETTINGS = {"asserts": 16, "lists": 8, "strong": 16, "both": 16}
"""Testings of a draw; solutions are 16."""
NEEDS = {"asserts": ("pool",), "lists": ("pool",), "strong": ("strong",), "both": ("pool", "strong")}
"""Files that each setting is about."""
ORACLE, REACHABLE = "oracle", "reachable by passes alone"
"""Bounds of what a rule can come to."""
KINDS = ("evolved", "opening", "known")
"""Of winners: made by the search, one that it started from, or a rule that everybody has."""
FOLDS, SEEDS, SOLUTIONS, HELD_DRAWS = 5, 3, 16, 60
VERSION = 6
"""Of the protocol and of what a part holds; parts of another one are not read."""
PROTOCOL_SEED = 6
"""Root of folds, searches and held-out draws. It changes where scores of an earlier one were looked at before the
search was changed, as those of version 5 were (root 5)."""
DECIDING = ("evaluators", "evolve", "strategies", "synthesis/search")
"""Folders of the package whose code decides what a search finds and how it is scored, beside the modules that stand in
no folder and those of this benchmark."""


class Part(NamedTuple):
    """What one line of results is about: rules that nobody searched for on a fold, or one search."""

    fold: int
    seed: int | None = None
    arm: str | None = None


PARTS = (
    *(Part(fold) for fold in range(FOLDS)),
    *(Part(fold, seed, arm) for seed in range(SEEDS) for arm in GOALS for fold in range(FOLDS)),
    *(Part(fold, seed, arm) for seed in range(SEEDS) for arm in ARMS if arm not in GOALS for fold in range(FOLDS)),
)
"""Of a setting: whole rounds of folds first, so that an early report is about every problem, and what goals are about
before the rest. A round is done in all settings before the next."""


def fold_of(task: str) -> int:
    """Where a task is held out, in every setting: its name decides."""
    return SeedTree(PROTOCOL_SEED).child("fold", task).integer() % FOLDS


def search_seed(setting: str, part: Part) -> int:
    """Of the search of a part; the ways to search have the same."""
    return SeedTree(PROTOCOL_SEED).child("search", setting, part.seed or 0, part.fold).integer() % 2**31


def held_out(setting: str) -> ConsistencyConfig:
    """How problems are scored that a search never saw."""
    seed = SeedTree(PROTOCOL_SEED).child("held out").integer() % 2**31
    return ConsistencyConfig(M=SOLUTIONS, N=SETTINGS[setting], unit="testing", draws=HELD_DRAWS, seed=seed)


def code_digest(package: Path = Path(evosyn.__file__).parent) -> str:
    """Which code decides: the first digits of a hash over its sources."""
    found = {
        file.relative_to(package).as_posix(): file for folder in DECIDING for file in (package / folder).rglob("*.py")
    }
    found |= {file.name: file for file in package.glob("*.py")}
    found |= {f"{file.parent.name}/{file.name}": file for file in Path(__file__).parent.glob("*.py")}
    digest = hashlib.sha256()
    for name, file in sorted(found.items()):
        digest.update(f"{name}\0".encode() + file.read_bytes() + b"\0")
    return digest.hexdigest()[:12]
