"""A cached verdict is found again only where everything is as it was that decides it."""

from __future__ import annotations

import ast
import importlib
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, fields, replace
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path

import pytest
from short_answer import ShortAnswer

import evosyn
from evosyn import registry
from evosyn.crossexec.domain_sources import sources_of
from evosyn.crossexec.judge import Cell, Judge
from evosyn.crossexec.verdict_cache import MemoryVerdicts, VerdictKey
from evosyn.domains import domains_named
from evosyn.jobs import Limits, Protection
from evosyn.records import Problem, Solution, Testing
from evosyn.sandbox import open_sandbox
from evosyn.sources import ASKING

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


CLASS = (
    "from short_answer import ShortAnswer\n{head}\nclass Outside(ShortAnswer):\n    def late(self):\n        {late}\n"
)
NATIVE = f"outside_native{EXTENSION_SUFFIXES[0]}"
IMPORTS = {
    "its own package": ("from .helper import f", "pass", "outside_domain/helper.py", "outside_domain/__init__.py"),
    "a name of a flat module": ("from outside_helper import f", "pass", "outside_helper.py"),
    "all names": ("from outside_helper import *", "pass", "outside_helper.py"),
    "a module of a package": ("import outside_pkg.sub", "pass", "outside_pkg/sub.py"),
    "a package's other module": ("from outside_pkg import sub", "pass", "outside_pkg/other.py"),
    "in a function": ("", "import outside_helper as h", "outside_helper.py"),
    "by a call": ("import importlib as i", "i.import_module('outside_helper')", "outside_helper.py"),
    "by the builtin": ("", "__import__('outside_helper')", "outside_helper.py"),
    "where it is there": ("if 1: import outside_helper", "pass", "outside_helper.py"),
    "through another": ("import outside_through", "pass", "outside_helper.py"),
    "a namespace": ("import outside_ns.inner.deep", "pass", "outside_ns/inner/deep.py"),
    "a namespace itself": ("import outside_ns\nfrom outside_ns import flat", "pass", "outside_ns/flat.py"),
    "from a namespace": ("from outside_ns import flat", "pass", "outside_ns/flat.py"),
    "within a namespace": ("from . import flat", "pass", "outside_ns/flat.py", "outside_ns/outside_domain.py"),
    "above, in a namespace": ("from ..flat import f", "pass", "outside_ns/flat.py", "outside_ns/inner/__init__.py"),
    "without a source": ("", "import outside_native", NATIVE),
    "of an installed one": ("import outside_wheel", "pass", "outside_wheel-1.dist-info/RECORD"),
    "that one's requirement": ("import outside_wheel", "pass", "outside_needed-1.dist-info/RECORD"),
    "an editable install": ("import outside_edited", "pass", "outside_edited.py"),
}  # fmt: skip
"""What the module of a domain imports at its head and in a method, the file that changes, where the domain stands."""
INSTALLED = "Metadata-Version: 2.1\nVersion: 1\nName: "
AROUND = {
    "outside_through.py": "def g():\n    from outside_helper import f\n", "outside_helper.py": "f = 1\n",
    "outside_pkg/__init__.py": "", "outside_pkg/sub.py": "", "outside_pkg/other.py": "", NATIVE: "native",
    "outside_ns/flat.py": "f = 1\n", "outside_ns/inner/deep.py": "", "outside_wheel.py": "", "outside_edited.py": "",
    "outside_unrelated.py": "", "outside_ns/unrelated.py": "",
    "outside_wheel-1.dist-info/METADATA": f"{INSTALLED}outside_wheel\nRequires-Dist: outside_needed\n",
    "outside_wheel-1.dist-info/RECORD": "outside_wheel.py,sha256=1,1\n",
    "outside_needed-1.dist-info/METADATA": f"{INSTALLED}outside_needed\n",
    "outside_needed-1.dist-info/RECORD": "outside_needed.py,sha256=1,1\n",
    "outside_edited-1.dist-info/METADATA": f"{INSTALLED}outside_edited\n",
    "outside_edited-1.dist-info/RECORD": "outside_edited.py,sha256=1,1\n",
    "outside_edited-1.dist-info/direct_url.json": '{"url": "file:///x", "dir_info": {"editable": true}}',
}  # fmt: skip


@pytest.fixture
def outside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], str]]:
    """The digest of a domain that stands in a file, as a new process makes it."""
    for name, text in AROUND.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    monkeypatch.syspath_prepend(tmp_path)

    def forget() -> None:
        importlib.invalidate_caches()
        for name in [name for name in sys.modules if name.startswith("outside_")]:
            del sys.modules[name]

    def digest(place: str) -> str:
        forget()
        module = place.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
        return sources_of(importlib.import_module(module).Outside)

    yield digest
    forget()


@pytest.mark.parametrize("way", IMPORTS)
def test_a_domain_is_known_by_all_that_it_imports(tmp_path: Path, outside: Callable[[str], str], way: str) -> None:
    head, late, changed, *stands = IMPORTS[way]
    place = stands[0] if stands else "outside_domain.py"
    (tmp_path / place).parent.mkdir(exist_ok=True)
    (tmp_path / place).write_text(CLASS.format(head=head, late=late))
    (tmp_path / changed).write_text(AROUND.get(changed, "f = 1\n"))
    first = outside(place)
    for unrelated in ("outside_unrelated.py", "outside_ns/unrelated.py"):
        (tmp_path / unrelated).write_text("x = 1\n")
    assert outside(place) == first
    with (tmp_path / changed).open("a") as file:
        file.write("#\n")
    assert outside(place) != first


UNREADABLE = {
    "no Python": ("import outside_pkg", "outside_pkg/sub.py", b"def ("),
    "no text": ("import outside_pkg", "outside_pkg/sub.py", b"\xff"),
    "too deep": ("import outside_pkg", "outside_pkg/sub.py", b"x = " + b"-" * 150 + b"1"),
    "no file": ("import outside_pkg", "outside_pkg/sub.py", None),
    "a name that is computed": ("import outside_pkg", "outside_pkg/sub.py", b"__import__('a' + 'b')"),
    "a path": ("import outside_pkg", "outside_pkg/sub.py", b"import runpy\nrunpy.run_path('x.py')"),
    "another name": ("import outside_pkg", "outside_pkg/sub.py", b"from importlib import import_module as im"),
}


@pytest.mark.parametrize("way", UNREADABLE)
def test_code_that_cannot_be_told_is_named_and_shares_no_verdict(
    tmp_path: Path, outside: Callable[[str], str], caplog: pytest.LogCaptureFixture, way: str
) -> None:
    head, changed, data = UNREADABLE[way]
    (tmp_path / "outside_domain.py").write_text(CLASS.format(head=head, late="pass"))
    (tmp_path / changed).unlink()
    if data is None:
        (tmp_path / changed).symlink_to("nowhere")
    else:
        (tmp_path / changed).write_bytes(data)
    assert outside("outside_domain.py") != outside("outside_domain.py")
    for named in ("outside_domain.Outside", changed, "`version`"):
        assert named in caplog.text


def test_a_domain_without_a_file_shares_its_verdicts_with_no_other() -> None:
    made = [type("Nowhere", (ShortAnswer,), {"__module__": "no_such_module"}) for _ in range(2)]
    assert len({sources_of(one) for one in made}) == 2
    assert sources_of(made[0]) == sources_of(made[0])
