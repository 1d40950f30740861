"""What programs see beside the standard library: the named packages, whatever installation evosyn stands in."""

from __future__ import annotations

import json
import os
import pickle
import re
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from evosyn.errors import SandboxUnavailable, UsageError
from evosyn.jobs import Call, CallsJob
from evosyn.ports import SandboxTools
from evosyn.sandbox import _image, distributions, open_sandbox
from evosyn.sandbox._ray_node import NodeSandbox

ROOT = Path(__file__).parents[2]
NEEDED = ("numpy", "pydantic", "PyYAML", "packaging", "pandas")
DECOY = "decoy_of_an_environment"


def _linked(source: str, target: str) -> None:
    try:
        os.link(source, target)
    except OSError:
        shutil.copy2(source, target)


def _copied(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    if source.is_dir():
        skipped = shutil.ignore_patterns("__pycache__", "tests", "test", "site-packages")
        shutil.copytree(source, target, copy_function=_linked, ignore=skipped, dirs_exist_ok=True, symlinks=True)
    else:
        _linked(str(source), str(target))


def install(folder: Path) -> None:
    """What pip leaves in a folder of packages: evosyn, what it needs, and a module that nothing of ours names."""
    for one in distributions.find(NEEDED).values():
        root, stem = Path(one.root), re.sub(r"[-_.]+", "_", one.name)
        for place in one.places:
            _copied(root / place, folder / place)
        about = next(path for path in root.glob("*.dist-info") if path.name.lower().startswith(f"{stem}-".lower()))
        _copied(about, folder / about.name)
    _copied(ROOT / "evosyn", folder / "evosyn")
    for name, files in (("evosyn", ["evosyn/__init__.py"]), (DECOY, [f"{DECOY}.py"])):
        about = folder / f"{name}-1.0.dist-info"
        about.mkdir()
        (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
        (about / "RECORD").write_text("".join(f"{file},,\n" for file in files))
    (folder / f"{DECOY}.py").write_text("SECRET = 1\n")


def in_a_venv(folder: Path, python: str = sys.executable) -> str:
    """A virtual environment; its interpreter."""
    python = os.path.realpath(python)
    subprocess.run([python, "-m", "venv", "--without-pip", str(folder)], check=True, capture_output=True)
    (packages,) = folder.glob("lib/python3.*/site-packages")
    install(packages)
    return str(folder / "bin/python")


def in_a_prefix(folder: Path) -> str:
    """An interpreter that was built into a folder of its own, with packages beside its library."""
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    base = Path(os.path.realpath(sys.base_prefix))
    _copied(base / "bin" / version, folder / "bin" / version)
    _copied(Path(sysconfig.get_path("stdlib")).resolve(), folder / "lib" / version)
    for library in (base / "lib").glob("libpython*.so*"):
        _copied(library, folder / "lib" / library.name)
    install(folder / "lib" / version / "site-packages")
    return str(folder / "bin" / version)


def in_debians(folder: Path) -> str:
    """An environment of the system's own interpreter, where that is of our version."""
    return in_a_venv(folder, "/usr/bin/python3")


LAYOUTS: dict[str, Callable[[Path], str]] = {"venv": in_a_venv, "prefix": in_a_prefix, "debian": in_debians}


def fits(layout: str) -> bool:
    """Whether this machine has the interpreter of a layout, of our own version and not in the system's place twice."""
    if layout == "prefix":
        return os.path.realpath(sys.base_prefix) not in ("/usr", "/usr/local")
    if layout == "debian":
        asked = [sys.executable, "/usr/bin/python3"]
        code = "import sys, sysconfig; print(sys.version_info[:2], sysconfig.get_config_var('SOABI'))"
        said = {_output([one, "-c", code]) for one in asked}
        return len(said) == 1 and "" not in said
    return True


def _output(command: list[str]) -> str:
    try:
        return subprocess.run(command, capture_output=True, text=True, check=False).stdout
    except OSError:
        return ""


def looked(python: str, script: str, *, bwrap: bool) -> dict[str, object]:
    """What a script prints as JSON that such an interpreter runs, with bubblewrap on its path or without."""
    path = os.environ["PATH"] if bwrap else "/nonexistent"
    done = subprocess.run(
        [python, "-P", "-c", script],
        capture_output=True,
        text=True,
        check=False,
        cwd="/",
        env={"PATH": path, "HOME": "/"},
    )
    assert done.returncode == 0, done.stderr[-3000:]
    found: dict[str, object] = json.loads(done.stdout)
    return found


NAMES = ("numpy", "pandas", "dateutil", "six", "pydantic", "yaml", "evosyn", "pip", "setuptools", "packaging", DECOY)
LOOK = """
import os, sys, tokenize, importlib
def see(names, folders):
    seen = {}
    for name in names:
        try:
            seen[name] = bool(importlib.import_module(name))
        except ImportError as error:
            seen[name] = False
    importlib.invalidate_caches()
    import json.tool, plistlib, xmlrpc.client
    tops = ["/", *folders, *sys.path, *map(os.path.dirname, sys.path)]
    walked = [found for top in tops for found in os.walk(top)]
    listed = [os.path.join(top, name) for top, below, files in walked for name in below + files]
    suspects = ("dist-info", "egg-info", "evosyn", "decoy_of")
    opened = []
    for folder in folders:
        for path in ("evosyn/__init__.py", "evosyn/builtin/python_seeds/medium.jsonl", "decoy_of_an_environment.py"):
            try:
                opened.append(tokenize.open(os.path.join(folder, path)).readline())
            except OSError:
                pass
    return seen, sorted(path for path in listed if any(word in path for word in suspects)), opened
"""
REFERENCES = """
import tokenize
KEPT = {kept!r}
def rank(evidence):
    text = tokenize.open(KEPT).read()
    return evidence.passed.sum(1) + len(text), evidence.passed.sum(0)
"""
SCRIPT = """
import json, os, sys, sysconfig
from pathlib import Path
import numpy as np
import evosyn
from evosyn.jobs import Call, CallsJob
from evosyn.records import Evidence
from evosyn.sandbox import open_sandbox
from evosyn.strategies.running.sandboxed import SandboxedRunner
home = Path(evosyn.__file__).parent
folders = [str(home.parent), *(one for one in sys.path if one.endswith("-packages"))]
found = {{}}
for packages in ((), ("numpy",), ("pandas",)):
    with open_sandbox(workers=1, packages=packages) as sandbox:
        ((outcome,),) = sandbox.run([CallsJob({look!r}, "see", (Call(({names!r}, folders)),))])
        assert outcome.value is not None, outcome.detail
        seen, listed, opened = outcome.value
        found[",".join(packages)] = [sorted(name for name in seen if seen[name]), list(listed), list(opened)]
        if packages == ("numpy",):
            ones = np.ones((2, 2), dtype=bool)
            one = Evidence(ones, ones, (ones, ones), np.ones((2, 2)), np.ones(2, int), np.arange(2), np.arange(2))
            kept = next(path for path in (home / "builtin").rglob("*") if path.suffix in (".jsonl", ".yaml"))
            (said,) = SandboxedRunner(sandbox).rank([{references!r}.format(kept=str(kept))], [one])
            found["strategy"] = getattr(said, "reason", "valid")
    found["level"] = sandbox.protection.level
print(json.dumps(found))
"""
NOTHING = [[], [], []]


@pytest.fixture(scope="session")
def installed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Interpreters by layout, each made when this machine has it."""
    return {name: make(tmp_path_factory.mktemp(name)) for name, make in LAYOUTS.items() if fits(name)}


@pytest.mark.slow
@pytest.mark.parametrize("bwrap", [True, False], ids=["bwrap", "bare"])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_every_installation_shows_the_same(layout: str, bwrap: bool, installed: dict[str, str]) -> None:
    if layout not in installed:
        pytest.skip(f"this machine has no interpreter for the layout {layout}")
    if bwrap and shutil.which("bwrap") is None:
        pytest.skip("needs bubblewrap")
    script = SCRIPT.format(look=LOOK, names=NAMES, references=REFERENCES)
    found = looked(installed[layout], script, bwrap=bwrap)
    assert found[""] == NOTHING
    assert found["numpy"] == [["numpy"], [], []]
    assert found["pandas"] == [["dateutil", "numpy", "pandas", "six"], [], []]
    assert "No such file" in str(found["strategy"]) or "Permission denied" in str(found["strategy"])


WHEN_REFUSED = {
    "not installed": (("no-such-distribution",), None, "no-such-distribution is not installed for"),
    "no name": (("numpy; import os",), None, "is no name of a distribution"),
    "pytest": (("pytest",), None, "pytest is never shown"),
    "evosyn itself": (("evosyn",), None, "evosyn is never shown"),
    "no interpreter": (("numpy",), "/nonexistent/python", "does not answer"),
    "not a Python": (("numpy",), "/bin/echo", "does not answer"),
}


@pytest.mark.parametrize("packages, python, said", WHEN_REFUSED.values(), ids=WHEN_REFUSED)
def test_what_cannot_be_shown_is_refused_by_name(packages: tuple[str, ...], python: str | None, said: str) -> None:
    with pytest.raises(UsageError, match=f"workbench.sandbox.packages.*{re.escape(said)}"):
        open_sandbox(workers=1, allow_weak=True, packages=packages, packages_from=python)


def made(folder: Path, name: str, source: str, requires: tuple[str, ...] = (), *, editable: bool = False) -> None:
    """A distribution of one module, as pip installs it."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.py").write_text(source)
    about = folder / f"{name}-1.0.dist-info"
    about.mkdir()
    lines = [f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0", *(f"Requires-Dist: {one}" for one in requires)]
    (about / "METADATA").write_text("\n".join(lines) + "\n")
    (about / "RECORD").write_text(f"{name}.py,,\n{about.name}/METADATA,,\n")
    if editable:
        (about / "direct_url.json").write_text('{"url": "file:///src", "dir_info": {"editable": true}}')


@pytest.fixture
def packages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of packages that evosyn itself imports from."""
    monkeypatch.syspath_prepend(str(tmp_path / "more"))
    return tmp_path / "more"


def seen(names: tuple[str, ...], *modules: str) -> list[object]:
    """What the modules hold as `WHAT` for a program that may see these packages; None where it cannot import one."""
    program = "import importlib\ndef f(name): return importlib.import_module(name).WHAT\n"
    with open_sandbox(workers=1, allow_weak=True, packages=names) as sandbox:
        (found,) = sandbox.run([CallsJob(program, "f", tuple(Call((name,)) for name in modules))])
    assert all(one.value is not None or "ModuleNotFoundError" in one.detail for one in found), found
    return [one.value for one in found]


def test_what_a_package_requires_here_is_shown_with_it_and_nothing_else(packages: Path) -> None:
    made(packages, "first_of_ours", "WHAT = 1", ('second-of-ours; python_version > "3"', 'third_of_ours; extra == "x"'))
    made(packages, "second_of_ours", "WHAT = 2", ('third_of_ours; sys_platform == "win32"',))
    made(packages, "third_of_ours", "WHAT = 3")
    every = ("first_of_ours", "second_of_ours", "third_of_ours")
    assert seen(("first-of-ours",), *every) == [1, 2, None]
    assert seen(("Third.of_ours",), *every) == [None, None, 3]
    assert seen((), *every) == [None, None, None]


def test_a_missing_requirement_is_named(packages: Path) -> None:
    made(packages, "lacking_of_ours", "WHAT = 1", ("no-such-distribution>=2",))
    with pytest.raises(UsageError, match="no-such-distribution is not installed"):
        open_sandbox(workers=1, packages=("lacking_of_ours",))


@pytest.mark.parametrize("source, said", [
    ("import threading\nthreading.Thread(target=threading.Event().wait, daemon=True).start()", "starts threads"),
    ("import nothing_of_that_name", "No module named 'nothing_of_that_name'"),
    ("print('hello')\nraise SystemExit('over')", "SystemExit: over"),
])  # fmt: skip
def test_a_package_that_cannot_be_imported_before_all_is_refused_by_name(
    source: str, said: str, packages: Path
) -> None:
    made(packages, "unruly_of_ours", source)
    with pytest.raises(SandboxUnavailable, match=f"package unruly_of_ours cannot be shown.*{said}"):
        open_sandbox(workers=1, allow_weak=True, packages=("unruly_of_ours",))


def test_what_a_package_prints_when_it_is_imported_disturbs_nothing(packages: Path) -> None:
    made(packages, "loud_of_ours", "import os\nos.write(1, b'x' * 9999)\nprint('hello')\nWHAT = 1")
    assert seen(("loud_of_ours",), "loud_of_ours") == [1]


def test_an_editable_install_is_never_shown(packages: Path) -> None:
    made(packages, "editable_of_ours", "WHAT = 1", editable=True)
    with pytest.raises(UsageError, match="editable-of-ours is an editable install"):
        open_sandbox(workers=1, packages=("editable_of_ours",))


def test_what_programs_find_is_told_apart_by_packages_and_hash_seed(packages: Path) -> None:
    made(packages, "one_of_ours", "WHAT = 1")
    digests = set()
    for names, seed in (((), 0), ((), 1), (("one_of_ours",), 0), (("numpy",), 0)):
        with open_sandbox(workers=1, allow_weak=True, packages=names, hash_seed=seed) as sandbox:
            digests.add(sandbox.protection.programs)
    with open_sandbox(workers=1, allow_weak=True) as sandbox:
        assert sandbox.protection.programs in digests
    assert len(digests) == 4 and "" not in digests


def test_another_interpreter_may_have_the_packages(tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(tmp_path / "v")], check=True)
    (folder,) = (tmp_path / "v").glob("lib/python3.*/site-packages")
    made(folder, "elsewhere_of_ours", "WHAT = 7")
    program = "import elsewhere_of_ours\ndef f(): return elsewhere_of_ours.WHAT\n"
    python = str(tmp_path / "v" / "bin" / "python")
    with open_sandbox(workers=1, allow_weak=True, packages=("elsewhere-of-ours",), packages_from=python) as sandbox:
        assert sandbox.run([CallsJob(program, "f", (Call(),))])[0][0].value == 7
    with pytest.raises(UsageError, match="not installed"):
        open_sandbox(workers=1, packages=("elsewhere-of-ours",))


@pytest.mark.docker
def test_an_image_shows_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also one of a system with packages of its own, and where pip has put packages beside their metadata."""
    client = _image.docker_client()
    _image.build_from_host(client, "evosyn-test-packages", ("numpy", "pandas"))
    for folder in ("usr/lib/python3/dist-packages", "packages/numpy"):
        made(tmp_path / folder, DECOY, "SECRET = 1")
    (tmp_path / "Dockerfile").write_text("FROM evosyn-test-packages\nCOPY usr /usr\nCOPY packages /packages\n")
    try:
        _image.build_from_dockerfile(client, "evosyn-test-packages", tmp_path / "Dockerfile")
        monkeypatch.setenv("EVOSYN_SANDBOX_IMAGE", "evosyn-test-packages")
        for packages, names in (
            ((), []),
            (("numpy",), ["numpy", DECOY]),
            (("pandas",), ["dateutil", "numpy", "pandas", "six"]),
        ):
            with open_sandbox("docker", workers=1, packages=packages) as sandbox:
                call = Call((NAMES, ["/usr/lib/python3/dist-packages", "/packages/numpy", "/packages"]))
                ((outcome,),) = sandbox.run([CallsJob(LOOK, "see", (call,))])
            assert outcome.value is not None, outcome.detail
            seen, listed, _ = outcome.value
            assert sorted(name for name in seen if seen[name]) == sorted(names)
            assert not [path for path in listed if "info" in path]
        with pytest.raises(SandboxUnavailable, match=r"does not hold six.*build-image --package numpy"):
            open_sandbox("docker", workers=1, packages=("six",))
    finally:
        client.images.remove("evosyn-test-packages", force=True)


def test_a_node_of_a_cluster_shows_the_same_and_says_what_it_cannot_show(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", SimpleNamespace())
    tools = SandboxTools(workers=1, allow_weak=True, packages=("numpy",))
    node = NodeSandbox("local", {}, tools, 1, "")
    with open_sandbox(workers=1, allow_weak=True, packages=("numpy",)) as here:
        assert node.hello().protection == here.protection
    job = CallsJob(LOOK, "see", (Call((NAMES, [str(ROOT)])),))
    _, ((outcome,),) = pickle.loads(node.run(pickle.dumps([job]), []))
    seen, listed, opened = outcome.value
    assert sorted(name for name in seen if seen[name]) == ["numpy"] and not listed and not opened
    trouble = NodeSandbox("local", {}, replace(tools, packages=("no-such-distribution",)), 1, "").hello().trouble
    assert "no-such-distribution is not installed" in trouble
