"""The layers of the house: a module imports its own package or a lower layer (DESIGN.md section 3)."""

import ast
import re
from pathlib import Path

import pytest

import evosyn
from evosyn import registry

ROOT = Path(evosyn.__file__).parent
LAYER = {
    "cli": 4, "view": 4, "configs": 4, "api": 4, "__init__": 4, "__main__": 4,
    "synthesis": 3, "train": 3,
    "evaluators": 2.5,
    "crossexec": 2,
    "domains": 1.5,  # how values travel between processes is the sandbox's
    "evolve": 1, "sandbox": 1, "teachers": 1, "strategies": 1,
}  # fmt: skip
HEAVY = {
    "torch",
    "trl",
    "transformers",
    "litellm",
    "datasets",
    "docker",
    "deepspeed",
    "openevolve",
    "matplotlib",
    "peft",
}
MODULES = sorted(ROOT.rglob("*.py"))


def part_of(path: Path) -> str:
    relative = path.relative_to(ROOT)
    return relative.parts[0].removesuffix(".py")


def imported(tree: ast.AST) -> set[str]:
    names = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
    return names


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_module_imports_its_own_package_or_a_lower_layer(path: Path) -> None:
    part = part_of(path)
    for name in imported(ast.parse(path.read_text())):
        if not name.startswith("evosyn."):
            continue
        other = name.split(".")[1]
        if other == part or (other == "__version__"):
            continue
        assert (
            LAYER.get(other, 0) < LAYER.get(part, 0)
            or LAYER.get(part, 0) == LAYER.get(other, 0) == 0
            or (LAYER.get(part, 0) == 4 and LAYER.get(other, 0) == 4)
        ), f"{path.name} (layer {LAYER.get(part, 0)}) imports {name} (layer {LAYER.get(other, 0)})"


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(ROOT)))
def test_no_module_imports_a_heavy_library_at_its_top(path: Path) -> None:
    if part_of(path) == "train":
        return
    top = ast.Module(
        [node for node in ast.parse(path.read_text()).body if isinstance(node, ast.Import | ast.ImportFrom)], []
    )
    assert not {name.split(".")[0] for name in imported(top)} & HEAVY


def test_a_class_name_stands_once() -> None:
    homes: dict[str, list[str]] = {}
    for path in MODULES:
        for node in ast.parse(path.read_text()).body:
            if isinstance(node, ast.ClassDef):
                homes.setdefault(node.name, []).append(str(path.relative_to(ROOT)))
    assert not {name: places for name, places in homes.items() if len(places) > 1}


def test_no_layer_reaches_a_higher_one_through_the_registry() -> None:
    reached = []
    for path in MODULES:
        for node in ast.walk(ast.parse(path.read_text())):
            if not isinstance(node, ast.Call) or not node.args or not isinstance(node.args[0], ast.Constant):
                continue
            name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            kind = node.args[0].value
            if name == "factory" and kind in registry.HOMES:
                floors = [LAYER.get(home.split(".")[1], 0) for home in registry.HOMES[kind]]
                if max(floors) > LAYER.get(part_of(path), 0):
                    reached.append(f"{path.relative_to(ROOT)} asks for {kind}")
    assert not reached


def test_the_engine_names_nothing_that_is_evolved() -> None:
    nouns = re.compile("strateg|testing|solution|matrix|environment|genetic", re.IGNORECASE)
    files = [path for path in (ROOT / "evolve").rglob("*") if path.suffix in {".py", ".md"}]
    assert not {str(path): nouns.findall(path.read_text()) for path in files if nouns.search(path.read_text())}
