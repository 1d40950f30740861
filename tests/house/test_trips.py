"""How far a completion travels to its reward: the modules of evosyn that one warm call of `evosyn.reward` enters."""

import sys
import threading
from pathlib import Path
from types import FrameType

import evosyn

PACKAGE = Path(evosyn.__file__).parent
MAX_MODULES = 50
"""Only lowered, to what a change has left."""
TASK = {"entry_point": "f", "testing": {"kind": "cases", "cases": [{"input": [2], "output": 4}]}}
COMPLETION = "```python\ndef f(x):\n    return 2 * x\n```"


def test_a_reward_enters_few_modules() -> None:
    files: set[str] = set()

    def note(frame: FrameType, event: str, argument: object) -> None:  # noqa: ARG001
        if event == "call":
            files.add(frame.f_code.co_filename)

    profiler = sys.getprofile()
    with evosyn.open_sandbox(workers=1) as sandbox:
        assert evosyn.reward([TASK], [COMPLETION], sandbox=sandbox) == [1.0]  # what only a first call does is done
        threading.setprofile(note)
        sys.setprofile(note)
        try:
            rewards = evosyn.reward([TASK], [COMPLETION], sandbox=sandbox)
        finally:
            sys.setprofile(profiler)
            threading.setprofile(profiler)
    assert rewards == [1.0]
    modules = sorted(str(Path(file).relative_to(PACKAGE)) for file in files if PACKAGE in Path(file).parents)
    assert "api.py" in modules, "nothing was traced"
    assert len(modules) <= MAX_MODULES, f"{len(modules)} modules, {MAX_MODULES} are allowed: {', '.join(modules)}"
