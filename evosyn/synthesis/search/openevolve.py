"""The same task for OpenEvolve: a project it can run as it is, and its programs brought back.

A project is a directory with initial_program.py, evaluator.py, config.yaml, task.json and the matrices. The evaluator
is ours: programs run in the sandbox and are scored as in `evosyn evolve`, so the scores of both engines are the same
figures. Needs the extra `openevolve` to run, not to write. OpenEvolve 0.4.
"""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import yaml

from evosyn.addresses import fault_of
from evosyn.errors import MissingExtra, UnavailableError, UsageError
from evosyn.evaluators.consistency import SeedConsistency
from evosyn.evaluators.draws import ConsistencyConfig
from evosyn.evolve.arms import Arms
from evosyn.evolve.proposers._recorded import RecordedProposer
from evosyn.evolve.schedule import Arm
from evosyn.matrices import load_matrices, write_matrices
from evosyn.records import Candidate, Json, PassMatrix
from evosyn.rundir import RunDir, write_atomic
from evosyn.sandbox import open_sandbox
from evosyn.strategies import load_strategy
from evosyn.strategies.genome import TIE_METRIC, StrategyGenome
from evosyn.strategies.running.sandboxed import SandboxedRunner
from evosyn.synthesis.search.config import EvolveConfig
from evosyn.synthesis.search.progress import SearchProgress
from evosyn.synthesis.search.seeds import Seeds
from evosyn.workbench import TeacherConfig, Workbench

if TYPE_CHECKING:
    from openevolve.evaluation_result import EvaluationResult

OPENEVOLVE = "openevolve"
ITERATIONS = 100
PROGRAMS = "programs.jsonl"
TRACE = "trace.jsonl"
START, END = "# EVOLVE-BLOCK-START", "# EVOLVE-BLOCK-END"

EVALUATOR = '''"""Scores a strategy program on the matrices beside this file; written by evosyn."""

from pathlib import Path

from evosyn.synthesis.search.openevolve import evaluate_file


def evaluate(program_path):
    return evaluate_file(program_path, Path(__file__).resolve().parent)
'''


@dataclass(frozen=True)
class ModelEndpoint:
    """The OpenAI-compatible endpoint that OpenEvolve asks.

    Attributes:
        model: its name there; base_url: such as http://localhost:8000/v1.
        api_key_env: environment variable that holds the key.

    Raises:
        UsageError: the address is none, or holds a secret, which would be written into the project.
    """

    model: str
    base_url: str
    api_key_env: str = "OPENAI_API_KEY"

    def __post_init__(self) -> None:
        if fault := fault_of(self.base_url):
            raise UsageError(f"--base-url {fault}")


def endpoint_of(teacher: TeacherConfig) -> ModelEndpoint:
    """The endpoint that a teacher's configuration names.

    Raises:
        UsageError: it names none that is OpenAI-compatible.
    """
    base_url = teacher.options.get("base_url")
    provider, _, name = (teacher.model or "").partition("/")
    if not name or (provider != "openai" and base_url is None):
        raise UsageError(
            "--search openevolve asks an OpenAI-compatible endpoint: give --model openai/NAME, "
            "or --model provider/NAME with --base-url"
        )
    key = teacher.options.get("api_key_env", "OPENAI_API_KEY")
    return ModelEndpoint(name, base_url or "https://api.openai.com/v1", key)


def see_openevolve(out: Path, config: EvolveConfig) -> None:
    """See that OpenEvolve can run, where it has not run yet in the directory of a search.

    Raises:
        UsageError: no endpoint is named that it could ask.
        MissingExtra: it is not installed.
    """
    if not (out / OPENEVOLVE / PROGRAMS).is_file():
        endpoint_of(config.workbench.teacher)
        _see_installed()


def _see_installed() -> None:
    if importlib.util.find_spec("openevolve") is None:
        raise MissingExtra("openevolve", "openevolve", "--search openevolve")


class Found(NamedTuple):
    """One program that OpenEvolve made, with the program it made it from."""

    text: str
    parent: str | None


def write_project(
    folder: Path, matrices: Sequence[PassMatrix], config: EvolveConfig, endpoint: ModelEndpoint | None, iterations: int
) -> Path:
    """Write the task as an OpenEvolve project; returns its directory.

    Args:
        matrices: of the problems to evolve on.
        endpoint: None leaves a placeholder for the user.
    """
    folder.mkdir(parents=True, exist_ok=True)
    write_matrices(folder / "matrices.jsonl.gz", matrices)
    write_atomic(folder / "task.json", json.dumps({"scoring": config.scoring.model_dump(mode="json")}, indent=1) + "\n")
    write_atomic(folder / "evaluator.py", EVALUATOR)
    initial = load_strategy(config.start[0]).strip()
    write_atomic(folder / "initial_program.py", f"{START}\n{initial}\n{END}\n")
    settings = _settings(config, endpoint, iterations)
    write_atomic(folder / "config.yaml", yaml.safe_dump(settings, sort_keys=False))
    return folder


def run_openevolve(folder: Path, iterations: int) -> list[Found]:
    """Run OpenEvolve on a project and collect what it made; a finished run is only read.

    Raises:
        MissingExtra: it is not installed.
        UnavailableError: it ended with an error.
    """
    stored = folder / PROGRAMS
    if not stored.is_file():
        _see_installed()
        command = [sys.executable, "-m", "openevolve.cli", "initial_program.py", "evaluator.py"]
        command += ["--config", "config.yaml", "--output", "output", "--iterations", str(iterations)]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
        with (folder / "openevolve.log").open("wb") as log:
            done = subprocess.run(
                command, cwd=folder, stdout=log, stderr=subprocess.STDOUT, env=environment, check=False
            )
        trace = folder / TRACE
        if done.returncode or not trace.is_file():
            raise UnavailableError(f"OpenEvolve ended with exit code {done.returncode}; see {folder}/openevolve.log")
        _collect(trace, stored)
    return [Found(**json.loads(line)) for line in stored.read_text(encoding="utf-8").splitlines()]


def by_openevolve(
    run: RunDir, seeds: Seeds, config: EvolveConfig, workbench: Workbench, progress: SearchProgress
) -> tuple[EvolveConfig, Arms]:
    """Let OpenEvolve work on the train problems; what it made becomes the proposals of our journal."""
    iterations = config.stop.proposals or ITERATIONS
    folder = run.file(OPENEVOLVE)
    if not folder.joinpath(PROGRAMS).is_file():
        progress.said(f"OpenEvolve runs for {iterations} iterations; its log is {folder}/openevolve.log")
        write_project(folder, seeds.split.train, config, endpoint_of(workbench.config.teacher), iterations)
    programs = run_openevolve(folder, iterations)
    if not programs:
        raise UnavailableError(f"OpenEvolve made no program; see {folder}/openevolve.log, then delete {folder}")
    proposers = config.proposers.model_copy(update={"arms": {OPENEVOLVE: 1.0}})
    stop = config.stop.model_copy(update={"proposals": len(programs), "evaluations": None})
    recorded = {OPENEVOLVE: RecordedProposer(OPENEVOLVE, programs)}
    return config.model_copy(update={"proposers": proposers, "stop": stop}), Arms(recorded, (Arm(OPENEVOLVE),))


def evaluate_file(program_path: str | Path, folder: Path) -> EvaluationResult:
    """What OpenEvolve's evaluator returns for one program: our score, our figures, our evidence as artifact."""
    from openevolve.evaluation_result import EvaluationResult

    found = _evaluator(folder, os.getpid()).evaluate([Candidate(Path(program_path).read_text(encoding="utf-8"))])[0]
    metrics = {"combined_score": found.score or 0.0, "valid": float(found.invalid is None), TIE_METRIC: 0.0}
    metrics |= found.metrics
    return EvaluationResult(metrics=metrics, artifacts={"evidence": "\n".join(found.feedback)})


@lru_cache(maxsize=8)
def _evaluator(folder: Path, process: int) -> SeedConsistency:  # noqa: ARG001
    """One evaluator a process, also after a fork; its sandbox ends with the process."""
    task = json.loads((folder / "task.json").read_text(encoding="utf-8"))
    sandbox = open_sandbox(workers=1, packages=("numpy",))
    scoring = ConsistencyConfig.model_validate(task["scoring"])
    return SeedConsistency(SandboxedRunner(sandbox), load_matrices(folder / "matrices.jsonl.gz"), scoring)


def _collect(trace: Path, stored: Path) -> None:
    lines = []
    for line in trace.read_text(encoding="utf-8").splitlines():
        entry: Mapping[str, Json] = json.loads(line)
        if entry.get("child_code"):
            lines.append(json.dumps({"text": entry["child_code"], "parent": entry.get("parent_code")}) + "\n")
    write_atomic(stored, "".join(lines))


def _settings(config: EvolveConfig, endpoint: ModelEndpoint | None, iterations: int) -> dict[str, Any]:
    islands = config.islands
    return {
        "max_iterations": iterations,
        "checkpoint_interval": max(1, iterations // 5),
        "random_seed": config.seed,
        "diff_based_evolution": True,
        "max_code_length": 20_000,
        "llm": {
            "api_base": endpoint.base_url if endpoint else "https://api.openai.com/v1",
            "api_key": f"${{{endpoint.api_key_env if endpoint else 'OPENAI_API_KEY'}}}",
            "primary_model": endpoint.model if endpoint else "your-model",
        },
        "prompt": {"system_message": StrategyGenome().task},
        "database": {
            "num_islands": islands.count,
            "exploration_ratio": islands.exploration,
            "feature_dimensions": ["complexity", TIE_METRIC],
        },
        "evaluator": {"cascade_evaluation": False, "parallel_evaluations": 1, "timeout": 120},
        "evolution_trace": {
            "enabled": True,
            "format": "jsonl",
            "include_code": True,
            "include_prompts": False,
            "output_path": TRACE,
            "buffer_size": 1,
        },
    }
