"""The reference: program and testing in one plain Python process, one process a pair, nothing between them.

The testing stands behind the starter code and imports everything of the program but what the starter code gives. A pair
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
run(cell["program"], program)
run(cell["starter"], names)
given = set(names) - set(cell["declared"])
names.update({{name: value for name, value in program.items() if name not in given}})
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
    starter = "" if pair.kind == "cases" else pair.starter + "\n    pass\n"
    testing = list(pair.texts)
    if pair.kind == "program":
        testing.append(f"check({pair.entry_point})")
    elif pair.kind == "cases":
        testing = [_CASES.format(pairs=pair.texts[0], entry=pair.entry_point)]
    declared = _declared(starter)
    cell = json.dumps(
        {"program": pair.program, "starter": starter, "declared": declared, "testing": testing, "token": token}
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
    """Functions of the starter code that the program is to write: there is nothing in them."""
    functions = [node for node in ast.parse(starter).body if isinstance(node, ast.FunctionDef)]
    return [one.name for one in functions if all(isinstance(node, ast.Expr | ast.Pass) for node in one.body)]


def all_pass(pairs: Sequence[Pair]) -> list[bool]:
    with ThreadPoolExecutor(max_workers=len(os.sched_getaffinity(0))) as pool:
        return list(pool.map(passes, pairs))
