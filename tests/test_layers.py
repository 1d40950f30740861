"""The layers of the house: a module imports its own package or a lower layer (DESIGN.md section 3)."""

import ast
import importlib
import importlib.util
import re
from functools import cache
from itertools import takewhile
from pathlib import Path

import evosyn
from evosyn import registry

ROOT = Path(evosyn.__file__).parent
TOP = 7
LAYER = {
    "cli": TOP, "view": TOP, "api": TOP, "contracts": TOP, "__init__": TOP, "__main__": TOP,
    "reading": 6,
    "synthesis": 5, "train": 5,
    "workbench": 4,
    "evaluators": 3,
    "crossexec": 2, "environments": 2, "agents": 2,
    "domains": 1.6, "worlds": 1.5,  # how values travel between processes, and how they are confined, is the sandbox's
    "evolve": 1, "strategies": 1, "sandbox": 1, "teachers": 1,
}  # fmt: skip
"""Everything else is ground: 0."""
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
    "ray",
}
BY_THE_USER = {("workbench.py", "teachers"), ("arms.py", "proposers")}
"""Where the user says which part it is to be, whatever layer that stands in."""
MODULES = sorted(ROOT.rglob("*.py"))
BENCHMARKS = ROOT.parent / "benchmarks"
CIRCLES = {
    "evolve, openevolve_comparison",  # of benchmarks/
    "evosyn.cli, evosyn.cli._output",
    "evosyn.cli._coevolving, evosyn.cli._selfplay",
    "evosyn.codec, evosyn.records",
    "evosyn.domains, evosyn.domains.agentbench",
    "evosyn.sandbox._probe, evosyn.sandbox.local",
    "evosyn.worlds.tools.loose_ends, evosyn.worlds.tools.records",
}
"""Files that import each other. Nothing is added here; a circle that is mended is removed."""
PRIVATE_NAMES = {
    "cli: sandbox._image",
    "cli: sandbox._memory",
    "domains: domains.published._rows",
    "domains: sandbox._inside.colliding",
    "domains: sandbox._inside.kinds",
    "domains: sandbox._inside.trees",
    "domains: sandbox._inside.wire",
    "strategies: strategies.running._harness",
    "synthesis: evolve.proposers._recorded",
    "worlds: sandbox._filter",
    "worlds: sandbox._groups",
    "worlds: sandbox._image",
    "worlds: sandbox._inside.seccomp",
    "worlds: sandbox._jail",
    "worlds: sandbox._machine",
    "worlds: sandbox._memory",
    "worlds: sandbox._owners",
}
"""Names with a leading `_` that other packages import. Nothing is added here; what is mended is removed."""


@cache
def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text())


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


def layer_of(part: str) -> float:
    return LAYER.get(part, 0)


def test_a_module_imports_its_own_package_or_a_lower_layer() -> None:
    upward = []
    for path in MODULES:
        part = part_of(path)
        for name in sorted(imported(tree_of(path))):
            other = name.removeprefix("evosyn.").split(".")[0]
            if not name.startswith("evosyn.") or other in (part, "__version__"):
                continue
            if layer_of(other) > layer_of(part) or layer_of(other) == layer_of(part) not in (0, TOP):
                layers = f"layer {layer_of(part):g} imports layer {layer_of(other):g}"
                upward.append(f"{path.relative_to(ROOT)}: {name} ({layers})")
    assert not upward, "\n".join(upward)


def test_no_module_imports_a_heavy_library_at_its_top() -> None:
    heavy = []
    for path in MODULES:
        if part_of(path) == "train":  # imported where training begins
            continue
        top = ast.Module([node for node in tree_of(path).body if isinstance(node, ast.Import | ast.ImportFrom)], [])
        libraries = {name.split(".")[0] for name in imported(top)} & HEAVY
        heavy += [f"{path.relative_to(ROOT)}: {library}" for library in sorted(libraries)]
    assert not heavy, "\n".join(heavy)


def test_files_import_each_other_in_the_listed_circles_only() -> None:
    arrows = arrows_between_files()
    reached = {name: reachable(name, arrows) for name in arrows}
    circles = [{other for other in reached[name] if name in reached[other]} for name in arrows if name in reached[name]]
    assert_only_shrinks({", ".join(sorted(circle)) for circle in circles}, CIRCLES)


def test_only_the_listed_private_names_are_imported_by_other_packages() -> None:
    files = files_by_name()
    crossing = set()
    for path in MODULES:
        for name in names_used(path, files):
            words = name.split(".")
            private = [index for index, word in enumerate(words) if re.match("_[^_]", word)]
            if not private or words[0] != "evosyn":
                continue
            owner = ROOT.parent.joinpath(*words[: private[0]])
            if (owner if owner.is_dir() else owner.parent) not in path.parents:
                shown = max(private[0] + 1, len(file_of(name, files).split(".")))
                crossing.add(f"{part_of(path)}: {'.'.join(words[1:shown])}")
    assert_only_shrinks(crossing, PRIVATE_NAMES)


def assert_only_shrinks(present: set[str], listed: set[str]) -> None:
    added = [f"new, and not allowed: {entry}" for entry in sorted(present - listed)]
    mended = [f"mended, to be removed from the list: {entry}" for entry in sorted(listed - present)]
    assert not added + mended, "\n".join(added + mended)


@cache
def files_by_name() -> dict[str, Path]:
    """The files of evosyn/ and benchmarks/ by the names that imports give them."""
    homes = [(path, ROOT.parent) for path in MODULES] + [(path, BENCHMARKS) for path in BENCHMARKS.rglob("*.py")]
    dotted = {path: ".".join(path.relative_to(home).with_suffix("").parts) for path, home in homes}
    return {name.removesuffix(".__init__"): path for path, name in dotted.items()}


def file_of(name: str, files: dict[str, Path]) -> str:
    """The file that a name is imported from: the name itself or its longest beginning that is a file; else ""."""
    while name and name not in files:
        name = name.rpartition(".")[0]
    return name


def arrows_between_files() -> dict[str, set[str]]:
    """For each file those that it imports from anywhere in it, for types only and in functions too."""
    files = files_by_name()
    return {
        name: {file_of(other, files) for other in imported(tree_of(path)) - {"evosyn.__version__"}} - {name, ""}
        for name, path in files.items()
    }


def reachable(start: str, arrows: dict[str, set[str]]) -> set[str]:
    reached: set[str] = set()
    waiting = [start]
    while waiting:
        new = arrows[waiting.pop()] - reached
        reached |= new
        waiting += new
    return reached


def names_used(path: Path, files: dict[str, Path]) -> set[str]:
    """The names that a file imports, and the attributes that it reads of imported modules."""
    tree = tree_of(path)
    bound = {
        alias.asname or alias.name: f"{node.module}.{alias.name}"
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    read = [node for node in ast.walk(tree) if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name)]
    modules = {node: bound[node.value.id] for node in read if bound.get(node.value.id) in files}
    return imported(tree) | {f"{module}.{node.attr}" for node, module in modules.items()}


def test_contracts_ship_without_a_test_framework_and_nothing_imports_them() -> None:
    for path in MODULES:
        names = {f"{name}." for name in imported(tree_of(path))}
        if part_of(path) == "contracts":
            assert not {name for name in names if name.startswith(("pytest.", "hypothesis.", "_pytest."))}, path
        else:
            assert not {name for name in names if name.startswith("evosyn.contracts.")}, path


def test_no_layer_reaches_a_higher_one_through_the_registry() -> None:
    reached = []
    for path in MODULES:
        for node in ast.walk(tree_of(path)):
            if not isinstance(node, ast.Call) or not node.args or not isinstance(node.args[0], ast.Constant):
                continue
            called = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            kind = node.args[0].value
            if called in ("find", "make") and kind in registry.HOMES:
                name = text_of(node.args[1], path)
                by_the_user = (path.name, kind) in BY_THE_USER
                if not by_the_user and max(floors(kind, name), default=0) > LAYER.get(part_of(path), 0):
                    reached.append(f"{path.relative_to(ROOT)} asks for {kind}: {name or 'any'}")
    assert not reached


def text_of(node: ast.expr, path: Path) -> str | None:
    """The text that an expression is for sure: a literal, or a constant of its module; None for anything else."""
    if isinstance(node, ast.Name) and node.id.isupper():
        parts = path.relative_to(ROOT.parent).with_suffix("").parts
        node = ast.Constant(getattr(importlib.import_module(".".join(parts)), node.id, None))
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else None


def floors(kind: str, name: str | None) -> list[int]:
    """The layers where a part of this name may be found; of any part where the name is not known."""
    homes = [home for home in registry.HOMES[kind] if name is None or has(home, name)]
    return [LAYER.get(home.split(".")[1], 0) for home in homes or registry.HOMES[kind]]


def has(home: str, name: str) -> bool:
    return importlib.util.find_spec(f"{home}.{name.replace('-', '_')}") is not None


def test_documents_show_these_layers() -> None:
    named = {name: floor for name, floor in LAYER.items() if not name.startswith("__")}
    order = [{name for name in named if named[name] == floor} for floor in sorted(set(named.values()), reverse=True)]
    design = (ROOT.parent / "DESIGN.md").read_text(encoding="utf-8").partition("Layers; a module")[2].split("```")[1]
    drawn: dict[str, set[str]] = {}
    for floor, *words in (line.split() for line in design.strip().splitlines()):
        drawn.setdefault(floor, set()).update(takewhile(named.__contains__, words))
    assert [names for floor, names in drawn.items() if floor != "0"] == order
    contributing = (ROOT.parent / "CONTRIBUTING.md").read_text(encoding="utf-8")
    line = contributing.partition("* Layers: ")[2].partition(" > the modules")[0].replace("\n  >", " >")
    assert [set(part.strip("`").split(", ")) for part in line.split(" > ")] == order


def test_the_design_shows_every_room_and_every_recipe() -> None:
    tree = (ROOT.parent / "DESIGN.md").read_text(encoding="utf-8").partition("## 3. The house")[2].split("```")[1]
    rooms = {path.parent.name for path in ROOT.glob("*/__init__.py")}
    assert {room for room in rooms if f" {room}/" not in tree} == set()
    recipes = re.search(r"recipes/{([\w,]+)}", tree)
    assert recipes is not None
    assert set(recipes[1].split(",")) == {path.stem for path in (ROOT / "synthesis/recipes").glob("[!_]*.py")}


def test_the_engine_names_nothing_that_is_evolved() -> None:
    nouns = re.compile("strateg|testing|solution|matrix|environment|genetic", re.IGNORECASE)
    files = [path for path in (ROOT / "evolve").rglob("*") if path.suffix in {".py", ".md"}]
    assert not {str(path): nouns.findall(path.read_text()) for path in files if nouns.search(path.read_text())}


def test_only_the_two_faces_read_directories() -> None:
    readers = {
        part_of(path)
        for path in MODULES
        for name in imported(tree_of(path))
        if f"{name}.".startswith("evosyn.reading.")
    }
    assert readers == {"reading", "cli", "view"}
