"""The reference: program and testing in one plain Python process, one process a pair, nothing between them.

The testing stands behind the starter code and imports everything of the program but what the starter code gives. A pair
passes where Python comes to the end of both without an exception, within the limits. It knows nothing of evosyn.
"""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
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


def passes(pair: Pair) -> bool:
    """Whether plain Python comes to the end."""
    token = os.urandom(8).hex()
    call = [f"check({pair.entry_point})"] if pair.kind == "program" else []
    starter = pair.starter + "\n    pass\n"
    testing = [*pair.texts, *call]
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


def _declared(starter: str) -> list[str]:
    """Functions of the starter code that the program is to write: there is nothing in them."""
    functions = [node for node in ast.parse(starter).body if isinstance(node, ast.FunctionDef)]
    return [one.name for one in functions if all(isinstance(node, ast.Expr | ast.Pass) for node in one.body)]


def all_pass(pairs: Sequence[Pair]) -> list[bool]:
    with ThreadPoolExecutor(max_workers=len(os.sched_getaffinity(0))) as pool:
        return list(pool.map(passes, pairs))
