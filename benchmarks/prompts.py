"""What the prompts of a search cost and what comes of the replies, with recorded replies in the place of a model.

With PYTHONPATH=tests/support:

    python benchmarks/prompts.py                 # replays tests/recorded/search through `evosyn evolve`
    python benchmarks/prompts.py --run RUN       # of a run directory
    python benchmarks/prompts.py --only 05.md    # the same reply to every prompt

The recorded replies were written by hand for the prompts of one search; another version of the prompts gets the same
texts in the same order. It says nothing of how well a model does.
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import re
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from simulation.scripted_server import ScriptedServer

from evosyn.evolve.events import Committed, events_of
from evosyn.rundir import RunDir
from evosyn.teachers.chat import QUESTION

RECORDED = Path(__file__).parents[1] / "tests" / "recorded" / "search"
CHARACTERS_PER_TOKEN = 3.5
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.M | re.S)
ARMS = ("rewrite", "diff", "crossover", "explain")
SETTINGS = (
    "finalists=5",
    "views=false",  # the replies were written to prompts that showed each problem once
    "loop.lag=1",
    "loop.concurrency=1",
    "islands.count=2",
    "proposers.bandit=false",
    "heldout=0.3",
    "known=false",
)
START = ("initial", "codet", "gap", "exclusion", "coverage")


class Asked(NamedTuple):
    """A prompt as it was sent: its characters, and those of programs and functions that stood in it before."""

    characters: int
    repeated: int


def asked(prompt: str) -> Asked:
    """Measure one prompt."""
    seen: set[str] = set()
    repeated = 0
    for block in BLOCK.findall(prompt):
        try:
            tree = ast.parse(block)
        except SyntaxError:
            continue
        lines = block.splitlines()
        for node in tree.body:
            if isinstance(node, ast.FunctionDef):
                text = "\n".join(lines[node.lineno - 1 : node.end_lineno])
                repeated += len(text) if text in seen else 0
                seen.add(text)
    return Asked(len(prompt), repeated)


def replay(replies: Sequence[str], out: Path, *more: str) -> list[str]:
    """`evosyn evolve` over the recorded pool, answered in order; returns the prompts that were sent."""
    prompts: list[str] = []

    def script(body: Mapping[str, Any], _: int) -> str:
        text = "\n\n".join(str(message["content"]) for message in body["messages"])
        if text == QUESTION:
            return "ready"
        prompts.append(text)
        return replies[(len(prompts) - 1) % len(replies)]

    with ScriptedServer(script) as server:
        command = [sys.executable, "-m", "evosyn", "evolve", str(RECORDED / "pool.jsonl.gz"), "--out", str(out)]
        command += ["-M", "8", "-N", "8", "--set=scoring.unit=testing", "--iterations", "16", "--seed", "5", "--quiet"]
        command += ["--model", "openai/recorded", "--base-url", server.base_url]
        command += [part for arm in ARMS for part in ("--proposer", arm)]
        command += [part for name in START for part in ("--start", name)]
        command += [part for setting in SETTINGS for part in ("--set", setting)]
        ended = subprocess.run(
            [*command, *more], check=False, capture_output=True, text=True, env={**os.environ, "OPENAI_API_KEY": "sk-x"}
        )
    if ended.returncode not in (0, 1):
        raise RuntimeError(ended.stderr)
    return prompts


def sent(run: Path) -> list[str]:
    """The prompts that the journal of a run holds: those that ended in a program."""
    with RunDir(run) as opened:
        steps = [event.step for event in events_of(opened.journal) if isinstance(event, Committed)]
    found = [str(trial.candidate.detail.get("prompt", "")) for step in steps for trial in step.trials]
    return [prompt for prompt in found if prompt]


def summary(run: Path, prompts: Sequence[str]) -> dict[str, Any]:
    """The figures of a finished run."""
    report = json.loads((run / "report.json").read_text())
    tallies = report["proposers"].values()
    replies = sum(one["replies"] for one in tallies)
    fates: Counter[str] = Counter()
    waste: Counter[str] = Counter()
    for name, one in report["proposers"].items():
        if name != "initial":
            fates.update(one["fates"])
            waste.update(one["wasted"])
    valid = sum(count for fate, count in fates.items() if fate not in ("invalid", "duplicate", "no-program"))
    measured = [asked(prompt) for prompt in prompts]
    return {
        "prompts": len(prompts),
        "tokens_per_prompt": round(sum(one.characters for one in measured) / CHARACTERS_PER_TOKEN / len(prompts)),
        "repeated_share": round(sum(one.repeated for one in measured) / sum(one.characters for one in measured), 4),
        "repeated_characters": sum(one.repeated for one in measured),
        "model_calls": replies,
        "calls_with_a_valid_program": round(valid / max(replies, 1), 3),
        "fates": dict(fates),
        "waste": dict(waste),
        "best_in_search": report["curve"][-1][2],
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--run", type=Path)
    parser.add_argument("--only", help="name of one recorded reply")
    given = parser.parse_args()
    if given.run is not None:
        print(json.dumps(summary(given.run, sent(given.run)), indent=2))
        return
    replies = [path.read_text() for path in sorted((RECORDED / "replies").glob(given.only or "*.md"))]
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "run"
        prompts = replay(replies, out)
        print(json.dumps(summary(out, prompts), indent=2))


if __name__ == "__main__":
    main()
