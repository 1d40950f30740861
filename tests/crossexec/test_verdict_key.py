"""A cached verdict is found again only where everything is as it was that decides it."""

from __future__ import annotations

import ast
import importlib
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field, fields, replace
from pathlib import Path

import pytest
from short_answer import ShortAnswer

import evosyn
from evosyn import registry
from evosyn.crossexec.judge import Cell, Judge
from evosyn.crossexec.verdict_cache import MemoryVerdicts, VerdictKey
from evosyn.domains import domains_named
from evosyn.jobs import Limits, Protection
from evosyn.records import Problem, Solution, Testing
from evosyn.sandbox import open_sandbox
from evosyn.sources import ASKING, sources_of

ROOT = Path(evosyn.__file__).parent
ASSERTS = Testing("asserts", {"asserts": ["assert f(1) == 1"]})
SAME = Problem("same", "python-function", "Return x.", payload={"entry_point": "f"})
IDENTITY = Solution("def f(x):\n    return x\n")
HELD = Protection("local", "strong", "1", ("memory",), ("fork",), "p")


class Answers(ShortAnswer):
    name = "answers"


def key_of(
    held: Protection = HELD, limits: Limits | None = None, sources: str = "s", *, domain: str = "", by: str = "same"
) -> str:
    head = VerdictKey(held, limits or Limits(), sources).of_problem(ShortAnswer(), SAME, domain, by)
    (key,) = VerdictKey.of_cells(head, "name", (ASSERTS,))
    return key


def test_every_field_of_what_executes_enters_the_key() -> None:
    others = [replace(HELD, **{one.name: f"other {one.name}"}) for one in fields(Protection)]
    limits = [replace(Limits(), **{one.name: 7.25}) for one in fields(Limits)]
    keys = [key_of(), *map(key_of, others), *(key_of(limits=one) for one in limits)]
    keys += [key_of(sources="t"), key_of(domain="d"), key_of(by="text")]
    assert len(set(keys)) == len(keys)


@dataclass(frozen=True)
class Threads(Limits):
    threads: int = 3


@dataclass(frozen=True)
class Files(Limits):
    files: int = 3


@dataclass(frozen=True)
class FilesFirst(Limits):
    files: int = field(default=0, kw_only=True)


def test_limits_enter_by_their_names_wherever_they_stand() -> None:
    assert len({key_of(limits=one) for one in (Limits(), Threads(), Files())}) == 3
    assert key_of(limits=Files()) == key_of(limits=FilesFirst(files=3))


KEY = (
    "from evosyn.jobs import Limits, Protection; from evosyn.crossexec.verdict_cache import VerdictKey;"
    "print(VerdictKey(Protection('local', 'strong', '1'), Limits()).sources)"
)


def test_an_edit_of_a_file_that_decides_misses(tmp_path: Path) -> None:
    copy = tmp_path / "evosyn"
    shutil.copytree(ROOT, copy, ignore=shutil.ignore_patterns("__pycache__"))

    def sources() -> str:
        done = subprocess.run([sys.executable, "-c", KEY], cwd=tmp_path, capture_output=True, text=True, check=True)
        return done.stdout

    def edited(name: str) -> str:
        with (copy / name).open("a") as file:
            file.write("\n# edited\n")
        return sources()

    seen = [sources()]
    for name in ("records.py", "domains/python/compare.py", "sandbox/_inside/child.py", "crossexec/rows.py",
                 "worlds/tools/diff.py", "environments/contract.py", "text/new.py"):  # fmt: skip
        seen.append(edited(name))
        assert seen[-1] not in seen[:-1], name
    (copy / "domains" / "python" / "compare.py").rename(copy / "domains" / "python" / "other.py")
    assert sources() not in seen
    assert edited("train/run.py") == sources(), "what only asks for verdicts decides none"


def imports(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("evosyn."):
            yield node.module
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name.startswith("evosyn."))


def test_what_decides_imports_nothing_that_is_said_to_decide_nothing() -> None:
    places = {path: path.relative_to(ROOT).parts[0] for path in ROOT.rglob("*.py")}
    doors = {"api.py", "workbench.py", "__init__.py", "__main__.py"}
    deciding = [path for path, place in places.items() if place not in ASKING | doors]
    assert not [
        (path.name, name) for path in deciding for name in imports(path) if name.split(".")[1] in ASKING
    ]  # fmt: skip
    assert set(places.values()) >= ASKING
    assert not any(sources_of(type(one)) for one in domains_named(registry.names("domains")).values())


def test_sandboxes_whose_programs_find_something_else_share_no_verdict() -> None:
    cache, ran = MemoryVerdicts(), []
    for options in ({}, {"hash_seed": 2}, {"hash_seed": 3}, {"packages": ("numpy",)}, {}):
        with open_sandbox("local", workers=1, allow_weak=True, **options) as sandbox:  # type: ignore[arg-type]
            judge = Judge(sandbox, domains_named(("python-function",)), cache=cache)
            judge.verify([Cell(SAME, IDENTITY, ASSERTS)])
            ran.append(judge.executed)
    assert ran == [1, 1, 1, 1, 0]


OUTSIDE = "from short_answer import ShortAnswer\nfrom {helper} import VERDICT\nclass Outside(ShortAnswer): pass\n"


def test_a_domain_of_a_package_is_known_by_all_files_of_the_package(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    package = tmp_path / "outside_domain"
    package.mkdir()
    (package / "__init__.py").write_text(OUTSIDE.format(helper="outside_domain.helper"))
    seen = []
    with ExitStack() as stack:
        stack.callback(lambda: [sys.modules.pop(name, None) for name in ("outside_domain", "outside_domain.helper")])
        for verdict in ("True", "False", "False"):
            (package / "helper.py").write_text(f"VERDICT = {verdict}\n")
            for name in ("outside_domain", "outside_domain.helper"):
                sys.modules.pop(name, None)
            seen.append(sources_of(importlib.import_module("outside_domain").Outside))
    assert seen[0] != seen[1] == seen[2]


def test_a_domain_without_a_file_shares_its_verdicts_with_no_other() -> None:
    made = [type("Nowhere", (ShortAnswer,), {"__module__": "no_such_module"}) for _ in range(2)]
    assert len({sources_of(one) for one in made}) == 2
    assert sources_of(made[0]) == sources_of(made[0])
