"""The house rules that a machine can see: sizes, docstrings, no leaked paths, and a wheel that works elsewhere."""

import ast
import os
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from docs import house

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "evosyn"
MODULES = sorted(path for path in PACKAGE.rglob("*.py") if PACKAGE / "builtin" not in path.parents)


def tracked() -> list[Path]:
    listing = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=False)
    if listing.returncode:
        pytest.skip("not a git checkout")
    return [ROOT / line for line in listing.stdout.splitlines() if (ROOT / line).is_file()]


def test_modules_and_functions_keep_to_their_size() -> None:
    wrong = []
    for path in MODULES:
        text, place = path.read_text(), path.relative_to(PACKAGE)
        tree = ast.parse(text)
        if text.count("\n") > 600:
            wrong.append(f"{place}: {text.count(chr(10))} lines, 600 are allowed")
        if not ast.get_docstring(tree):
            wrong.append(f"{place}: no docstring; a module starts with what it is")
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                lines = (node.end_lineno or 0) - node.lineno + 1
                if lines > 60:
                    wrong.append(f"{place}:{node.lineno}: {node.name} has {lines} lines, 60 are allowed")
    assert not wrong, "\n".join(wrong)


def test_no_file_names_a_path_of_the_machine_it_was_written_on() -> None:
    home = re.compile(r"/(?:home|Users)/\w+/|/work/(?:main|shared)\b")
    for path in tracked():
        if path.suffix in {".py", ".md", ".toml", ".yaml", ".sh", ""} and path != Path(__file__):
            assert not home.search(path.read_text(errors="ignore")), path


def test_relative_links_in_the_documents_lead_somewhere() -> None:
    for path in tracked():
        if path.suffix == ".md" and "prompts" not in path.parts:
            for target in re.findall(r"\]\((?!https?:|mailto:|#)([^)#\s]+)", path.read_text()):
                assert (path.parent / target).exists(), f"{path.relative_to(ROOT)}: {target}"


@pytest.mark.slow
def test_the_wheel_works_outside_the_repository(tmp_path: Path) -> None:
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet"]
    subprocess.run([*pip, "wheel", "--no-deps", "--wheel-dir", str(tmp_path), str(ROOT)], check=True)
    (wheel,) = tmp_path.glob("evosyn-*.whl")
    names = zipfile.ZipFile(wheel).namelist()
    assert not [name for name in names if re.search(r"simulat|offline|scripted|experiment", name)], "what pretends"
    assert {name.partition("/")[0] for name in names if "dist-info" not in name} == {"evosyn"}
    target = tmp_path / "site"
    subprocess.run([*pip, "install", "--no-deps", "--target", str(target), str(wheel)], check=True)
    environment = {**os.environ, "PYTHONPATH": str(target)}

    def run(*arguments: str) -> str:
        result = subprocess.run(
            [sys.executable, "-P", "-m", "evosyn", *arguments],
            cwd=tmp_path, env=environment, capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert result.returncode == 0, result.stderr
        return result.stdout

    where = "import evosyn; print(evosyn.__file__)"
    seen = subprocess.run(
        [sys.executable, "-P", "-c", where], cwd=tmp_path, env=environment, capture_output=True, text=True, check=True
    )
    assert str(target) in seen.stdout
    assert "evolve" in run("--help")
    run("pool", "check", "builtin:python-seeds")


def test_the_picture_of_the_house_is_that_of_its_imports() -> None:
    text = (ROOT / "docs" / "house.svg").read_text(encoding="utf-8")
    assert text == house.drawn(), "the rooms or their arrows have changed: python -m docs.house"
    assert ("cli", "reading") in house.reduced(house.arrows())
    assert "prefers-color-scheme: dark" in text
