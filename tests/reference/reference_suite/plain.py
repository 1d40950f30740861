"""The reference: program and testing in one plain Python process, one process a pair, nothing between them.

The program stands behind the starter code, but for what that only declares. The testing stands behind it too and imports
everything of the program but what the starter code gives; of a method it gets a function that makes an instance. A pair
passes where Python comes to the end of both without an exception, within the limits. A script is run as `python
program.py`, and its output compared word by word. It knows nothing of evosyn.
"""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

from reference_suite.drawing import Pair

CPU_S, MEMORY_MB, WALL_S = 2, 1024, 60
_CELL = f"""
import json, os, resource, sys
resource.setrlimit(resource.RLIMIT_CPU, ({CPU_S}, {CPU_S + 1}))
resource.setrlimit(resource.RLIMIT_AS, ({MEMORY_MB << 20}, {MEMORY_MB << 20}))
resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
cell = json.loads(sys.stdin.read())
def run(part, names):
    exec(compile(part, "<part>", "exec", dont_inherit=True), names)
program, names = {{"__name__": "program"}}, {{"__name__": "testing"}}
run(cell["starter"], program)
for name in cell["declared"]:
    del program[name]
run(cell["program"], program)
run(cell["starter"], names)
for name in cell["declared"]:
    del names[name]
names.update({{name: value for name, value in program.items() if name not in names}})
owner, _, function = cell["entry_point"].rpartition(".")
if owner:
    kind = program[owner]
    by_class = any(isinstance(vars(one).get(function), (staticmethod, classmethod)) for one in kind.__mro__)
    names[function] = lambda *args, **kwargs: getattr(kind if by_class else kind(), function)(*args, **kwargs)
for part in cell["testing"]:
    run(part, names)
os.write(int(sys.argv[1]), cell["token"].encode())
"""


_CASES = """
import copy
def _same(got, want):
    if isinstance(want, (list, tuple)) and isinstance(got, (list, tuple)):
        return len(got) == len(want) and all(map(_same, got, want))
    if isinstance(want, dict) and isinstance(got, dict):
        return got.keys() == want.keys() and all(_same(got[key], want[key]) for key in want)
    return got == want
for _given, _want in {pairs}:
    _given = copy.deepcopy(_given)
    assert _same({entry}(**_given) if isinstance(_given, dict) else {entry}(*_given), _want)
"""
"""Python's `==`, but that lists and tuples are one kind: JSON has no tuples."""


def passes(pair: Pair) -> bool:
    """Whether plain Python comes to the end."""
    if pair.kind == "stdin":
        return all(_prints(pair.program, given, wanted) for given, wanted in ast.literal_eval(pair.texts[0]))
    token = os.urandom(8).hex()
    starter, function = whole(pair.starter), pair.entry_point.rpartition(".")[2]
    testing = list(pair.texts)
    if pair.kind == "program":
        testing.append(f"check({function})")
    elif pair.kind == "cases":
        testing = [_CASES.format(pairs=pair.texts[0], entry=function)]
    cell = json.dumps(
        {
            "program": pair.program,
            "starter": starter,
            "declared": sorted({*_declared(starter), *_defined(starter) & {pair.entry_point.partition(".")[0]}}),
            "entry_point": pair.entry_point,
            "testing": testing,
            "token": token,
        }
    )
    read, write = os.pipe()
    try:
        done = subprocess.run(
            [sys.executable, "-I", "-S", "-c", _CELL, str(write)],
            input=cell.encode("utf-8", "surrogatepass"),
            capture_output=True,
            timeout=WALL_S,
            check=False,
            pass_fds=(write,),
            env={"PYTHONHASHSEED": "0"},
        )
    except subprocess.TimeoutExpired:
        return False
    finally:
        os.close(write)
        said = os.read(read, 100)
        os.close(read)
    return done.returncode == 0 and said == token.encode()


def _prints(program: str, given: str, wanted: str) -> bool:
    """Whether `python program.py` comes to a good end and prints the wanted words, line by line."""
    with tempfile.NamedTemporaryFile("w", suffix=".py") as script:
        script.write(program)
        script.flush()
        limits = f"ulimit -t {CPU_S} && ulimit -v {MEMORY_MB << 10} && ulimit -c 0"
        try:
            done = subprocess.run(
                ["/bin/sh", "-c", f'{limits} && exec "$0" "$1"', sys.executable, script.name],
                input=given.encode(),
                capture_output=True,
                timeout=WALL_S,
                check=False,
                env={"PYTHONHASHSEED": "0", "PYTHONUTF8": "1"},
            )
        except subprocess.TimeoutExpired:
            return False
    lines, want = (text.rstrip().splitlines() for text in (done.stdout.decode(), wanted))
    if done.returncode != 0 or len(lines) != len(want):
        return False
    return all(
        len(one.split()) == len(two.split()) and all(map(_same_word, one.split(), two.split()))
        for one, two in zip(lines, want, strict=True)
    )


def _same_word(one: str, two: str) -> bool:
    """As text, or as numbers where one has a point or an exponent."""
    if one == two:
        return True
    try:
        return bool({*".eE"} & {*one, *two}) and float(one) == float(two)
    except ValueError:
        return False


def _declared(starter: str) -> list[str]:
    """Functions and classes of the starter code that the program is to write: there is nothing in them."""
    return [one.name for one in ast.parse(starter).body if isinstance(one, _NAMED) and _is_empty(one)]


def _defined(starter: str) -> set[str]:
    return {one.name for one in ast.parse(starter).body if isinstance(one, _NAMED)}


_NAMED = (ast.FunctionDef, ast.ClassDef)


def _is_empty(one: ast.FunctionDef | ast.ClassDef) -> bool:
    return all(
        isinstance(node, ast.Expr | ast.Pass) or (isinstance(node, ast.FunctionDef) and _is_empty(node))
        for node in one.body
    )


def whole(starter: str) -> str:
    """Starter code that parses."""
    return starter + "\n    pass\n" if starter.endswith(":") else starter


def all_pass(pairs: Sequence[Pair]) -> list[bool]:
    with ThreadPoolExecutor(max_workers=len(os.sched_getaffinity(0))) as pool:
        return list(pool.map(passes, pairs))
