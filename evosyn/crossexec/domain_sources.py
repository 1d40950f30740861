"""A digest of the code from outside that decides for a domain: of its class, and of all that this imports in turn."""

from __future__ import annotations

import ast
import functools
import importlib.util
import logging
import secrets
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib import machinery, metadata
from pathlib import Path

from evosyn.parsing import parsed
from evosyn.records import canonical_json
from evosyn.sandbox.distributions import canonical, find
from evosyn.sources import digest_of_files

log = logging.getLogger(__name__)

_BY_NAME = ("__import__", "find_spec", "import_module", "run_module")
_LOADERS = (*_BY_NAME, "run_path", "spec_from_file_location")


@functools.cache
def sources_of(kind: type) -> str:
    """Of every package, or module by itself, that a class and its bases are from and that these import, when it is
    first asked for; "" where all are ours or Python's. Where that cannot be told, it is another in each process."""
    todo, found = {one.__module__ for one in kind.__mro__}, dict[str, str]()
    owners = functools.cache(metadata.packages_distributions)
    try:
        if homeless := todo - sys.modules.keys():
            raise ImportError(f"there is no module {homeless.pop()!r}")
        while todo:
            name = todo.pop()
            if name.partition(".")[0] not in sys.stdlib_module_names | {"evosyn"}:
                unit, file, folders = _located(name)
                if unit not in found:
                    found[unit], imported = _installed(file, unit, owners) or _read(unit, file, folders)
                    todo |= imported
    except (ImportError, OSError, ValueError) as error:
        told = "domain %s.%s: not all of its code can be told, so its verdicts serve this process alone: %s; "
        log.warning(told + "mend that, or give the class a `version`", kind.__module__, kind.__qualname__, error)
        return secrets.token_hex(16)
    return canonical_json(found) if found else ""


def _located(name: str) -> tuple[str, str, Sequence[str]]:
    """What a dotted name leads to: the first module or package with a file of its own, the file, its folders."""
    unit = ""
    for part in name.split("."):
        unit = f"{unit}.{part}" if unit else part
        module = sys.modules.get(unit)
        spec = None if module else importlib.util.find_spec(unit)
        file = (spec.origin if spec and spec.has_location else getattr(module, "__file__", None)) or ""
        folders = list((spec.submodule_search_locations if spec else getattr(module, "__path__", None)) or ())
        if module and not file and not folders:
            raise ImportError(f"module {unit!r} stands in no file")
        if file or not folders:
            return unit, file, folders
    return unit, "", []  # a folder of packages holds no code


def _installed(file: str, unit: str, owners: Callable[[], Mapping[str, Sequence[str]]]) -> tuple[str, set[str]] | None:
    """The digests of what a file is installed with, and of all that this requires; None for one that is not."""
    names = owners().get(unit.partition(".")[0], ())
    found = find(names)
    fixed = [found[key] for key in map(canonical, names) if key in found and not found[key].editable]
    if not any(Path(file).resolve().is_relative_to(one.root) for one in fixed):
        return None
    return canonical_json({key: one.digest for key, one in found.items()}), set()


def _read(unit: str, file: str, folders: Sequence[str]) -> tuple[str, set[str]]:
    """A digest of the files of a module or package, and the names of what it imports."""
    digest, names = "", set[str]()
    for folder in [Path(one) for one in folders] or ([Path(file).parent] if file else []):
        files = [one for one in folder.rglob("*") if one.name.endswith(tuple(machinery.all_suffixes()))]
        files = [one for one in files if one.parent.name != "__pycache__"] if folders else [Path(file)]
        digest += digest_of_files(folder, files)
        for one in [one for one in files if one.suffix == ".py"]:
            inside = [unit, *one.relative_to(folder).parent.parts] if folders else [unit.rpartition(".")[0]]
            try:
                names.update(_imported(importlib.util.decode_source(one.read_bytes()), ".".join(inside)))
            except (ImportError, SyntaxError, ValueError, RecursionError, MemoryError) as error:
                raise ImportError(f"{one}: {error}") from error
    return digest, names


def _imported(text: str, package: str) -> Iterator[str]:
    """What a module of a package imports, wherever it does so; raises ImportError where its text does not tell."""
    for node in ast.walk(parsed(text)):
        match node:
            case ast.Import(names=names):
                yield from (one.name for one in names)
            case ast.ImportFrom(module=module, names=names, level=level):
                above = importlib.util.resolve_name("." * level + (module or ""), package)
                yield from (f"{above}.{one.name}" for one in names)
            case ast.Call(ast.Name(called) | ast.Attribute(attr=called), [ast.Constant(str(name)), *_]) if (
                called in _BY_NAME
            ):
                yield importlib.util.resolve_name(name, package)
            case ast.Call(ast.Name(called) | ast.Attribute(attr=called)) | ast.alias(called, str()):
                if called in _LOADERS:
                    raise ImportError(f"line {node.lineno}: what {called} loads cannot be told")
