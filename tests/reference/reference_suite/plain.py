"""The reference: program and testing in one plain Python process, one process a pair, nothing between them.

A pair passes where Python comes to the end of both without an exception, within the limits. It knows nothing of evosyn.
"""

from __future__ import annotations

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
names = {{"__name__": "program"}}
for part in cell["parts"]:
    exec(compile(part, "<part>", "exec", dont_inherit=True), names)
os.write(int(sys.argv[1]), cell["token"].encode())
"""


def passes(pair: Pair) -> bool:
    """Whether plain Python comes to the end."""
    token = os.urandom(8).hex()
    call = [f"check({pair.entry_point})"] if pair.kind == "program" else []
    cell = json.dumps({"parts": [pair.starter + "\n    pass\n", pair.program, *pair.texts, *call], "token": token})
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


def all_pass(pairs: Sequence[Pair]) -> list[bool]:
    with ThreadPoolExecutor(max_workers=len(os.sched_getaffinity(0))) as pool:
        return list(pool.map(passes, pairs))
