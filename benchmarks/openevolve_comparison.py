"""OpenEvolve 0.4 on the task of `benchmarks/evolve.py http`: same scripted server, an evaluator as trivial as ours.

The population is filled before the clock starts (a checkpoint of its own database), as for ours, and the clock runs
from the first program that comes in to the last, so that nobody's start counts. Both are measured in one invocation,
one after the other, because the machine's load changes from minute to minute; the model is a process of its own.
"""

from __future__ import annotations

import argparse
import asyncio
import logging
import os
import random
import tempfile
import time
from pathlib import Path
from typing import Any

EVALUATOR = """
import re
from math import hypot


def evaluate(path):
    found = {k: float(v) for k, v in re.findall(r"^(x|y) = (-?[0-9.]+)$", open(path).read(), re.M)}
    return {"combined_score": max(0.0, 1.0 - hypot(found["x"] - 0.7, found["y"] - 0.3))}
"""


def compare(arguments: argparse.Namespace) -> dict[str, float]:
    from evolve import http, serving

    found: dict[str, float] = {}
    for size in arguments.sizes:
        ours = argparse.Namespace(sizes=[size], iterations=max(arguments.iterations, 1000))
        mine = http(ours)[f"iterations/s at {size}"]
        with serving() as url:
            theirs = _openevolve(url, size, min(arguments.iterations, 150))
        found |= {f"evosyn, iterations/s at {size}": mine, f"OpenEvolve, iterations/s at {size}": theirs}
        found[f"ratio at {size}"] = mine / theirs
    return found


def _openevolve(url: str, size: int, iterations: int) -> float:
    from openevolve import OpenEvolve
    from openevolve.config import Config, LLMModelConfig
    from openevolve.database import Program, ProgramDatabase

    logging.disable(logging.CRITICAL)
    os.environ.setdefault("OPENAI_API_KEY", "none")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "evaluator.py").write_text(EVALUATOR)
        (folder / "initial.py").write_text("x = 0.1\ny = 0.1\n")
        config = Config()
        config.llm.api_base = url
        config.llm.models = [LLMModelConfig(name="scripted", api_base=url, api_key="none", timeout=60, retries=0)]
        config.diff_based_evolution = False
        config.evaluator.cascade_evaluation = False
        config.evaluator.parallel_evaluations = 2
        config.database.population_size = max(1000, size * 2)
        config.checkpoint_interval = 10**6
        rng = random.Random(0)
        database = ProgramDatabase(config.database)
        for number in range(size):
            x, y = rng.random(), rng.random()
            padding = "# " + "x" * rng.randrange(200, 900) + "\n"
            program = Program(
                id=f"p{number}", code=f"x = {x:.6f}\ny = {y:.6f}\n{padding}", metrics={"combined_score": x * y}
            )
            database.add(program, iteration=number, target_island=number % config.database.num_islands)
        database.save(str(folder / "checkpoint"), iteration=size)
        engine = OpenEvolve(str(folder / "initial.py"), str(folder / "evaluator.py"), config, str(folder / "out"))
        added: list[float] = []

        class Timed(ProgramDatabase):  # type: ignore[misc]
            """Its database, which notes when a program comes in: the start of its processes is not counted."""

            def add(self, *arguments: Any, **more: Any) -> Any:
                found = super().add(*arguments, **more)
                added.append(time.perf_counter())
                return found

        engine.database.__class__ = Timed
        asyncio.run(engine.run(iterations=iterations, checkpoint_path=str(folder / "checkpoint")))
        return (len(added) - 1) / (added[-1] - added[0])
