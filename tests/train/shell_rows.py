"""Rows of agents with trajectories that were never run here: what they name is done again. Not a test module."""

from __future__ import annotations

import json

from evosyn.chat import Message
from evosyn.dataset import Sample, sample_id
from evosyn.records import Json, content_id
from evosyn.trajectories import ToolUse, Trajectory

NAMES = ("a", "b", "c", "d")


def shell_sample(index: int) -> Sample:
    """A question for an even index, else something to be made."""
    name = NAMES[index]
    init = f"mkdir -p /root/{name}; touch /root/{name}/one /root/{name}/.two"
    world: Json = {"image": "host", "init": [{"language": "bash", "code": init}]}
    asks = "answer" if index % 2 == 0 else "state"
    if asks == "answer":
        statement = f"How many files are in /root/{name}? Answer with the number."
        testing = {"kind": "answer", "script": {"code": f"ls -A /root/{name} | wc -l"}, "compare": "integer"}
        scripts = [f"ls -A /root/{name} | wc -l", f"ls /root/{name} | wc -l"]
    else:
        statement = f"Make the folder /root/{name}/sub."
        testing = {"kind": "observe", "observe": {"code": f"ls /root/{name}"}, "expect": "one\nsub"}
        scripts = [f"mkdir /root/{name}/sub", f"touch /root/{name}/sup"]
    texts = [
        _run(script, "answer" if asks == "answer" else "finish", str(2 - at)).text for at, script in enumerate(scripts)
    ]
    ranked = [
        {"id": content_id("s_", text), "source": text, "score": 1.0 - at, "passes": 1 - at, "verdict": "PF"[at]}
        for at, text in enumerate(texts)
    ]
    return Sample(
        id=sample_id("evosyn", name, json.dumps(testing), texts[0]),
        problem_id=f"task-{name}",
        domain="os-shell",
        prompt=(Message("user", f"Work on this Linux system.\n\n{statement}\n"),),
        statement=statement,
        payload=json.dumps({"world": world, "asks": asks, "rounds": 4}),
        testing=json.dumps(testing),
        tests=1,
        solution=texts[0],
        solutions_ranked=json.dumps(ranked),
        scores="{}",
        matrix_digest="m_0",
        lineage=json.dumps({"index": index}),
        model="written-for-the-tests",
        simulated=True,
        difficulty=0.5,
        cost=0.0,
        licence="Apache-2.0",
        setting="evosyn",
    )


def _run(script: str, end: str, answer: str) -> Trajectory:
    said = {"answer": answer} if end == "answer" else {"thought": ""}
    uses = (ToolUse("bash", {"script": script}, answer if end == "answer" else "", 0), ToolUse(end, said))
    return Trajectory(uses, end, answer if end == "answer" else None)  # type: ignore[arg-type]
