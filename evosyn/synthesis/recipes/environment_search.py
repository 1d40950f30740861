"""The recipe of `evosyn env evolve`: environments in, better and other ones out, by islands of MAP-Elites archives.

The search is that of `evosyn evolve`; what it evolves, scores and keeps are environments. Rutherford et al. 2024 and
EvoEnv (section 3.3) say what is worth learning from; DESIGN.md section 5.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from evosyn import __version__
from evosyn.environments import sources
from evosyn.environments.genome import PURPOSE
from evosyn.errors import UsageError
from evosyn.evolve.arms import Arms, named_arm, open_arms
from evosyn.evolve.completing import complete
from evosyn.evolve.loop import OnCommit
from evosyn.evolve.stopping import StopConfig
from evosyn.ports import Genome
from evosyn.records import Candidate, Json
from evosyn.rundir import RunDir
from evosyn.synthesis.environments.calibrating import ANSWER
from evosyn.synthesis.environments.config import EnvironmentSearchConfig
from evosyn.synthesis.environments.evaluating import AskedTeachers, EnvironmentEvaluator
from evosyn.synthesis.environments.evolved import KIND, EvolvedEnvironments
from evosyn.synthesis.search.inputs import write_config
from evosyn.synthesis.search.parts import search_of
from evosyn.workbench import Workbench


def evolve_environments(
    config: EnvironmentSearchConfig,
    workbench: Workbench,
    out: Path,
    *,
    more: int = 0,
    on_commit: OnCommit | None = None,
    on_limits: Callable[[StopConfig], None] | None = None,
) -> dict[str, Json]:
    """Evolve environments in `out`, or go on with that; returns the value of `report.json`.

    Args:
        more: evaluations (or proposals) to add to a run.
        on_limits: told how far the search may go in all, before it goes on.

    Raises:
        UsageError: `out` holds another run; no such environment; none that a search could begin with has a score.
        BudgetSpent, TeacherUnavailable, SandboxUnavailable: stopped; the same command goes on.
    """
    began, start = time.monotonic(), started_from(config)
    asked = AskedTeachers(workbench.teacher(), workbench.teacher(config.student.model))
    checked = workbench.check({} if (out / "manifest.json").is_file() else models_of(config))
    with RunDir(out) as run:
        run.claim_new(KIND)
        texts = [one.text for one in start]
        with EnvironmentEvaluator(config, run, asked, texts, workbench) as evaluator:
            evolved = EvolvedEnvironments(config, ordered(start, evaluator), evaluator, asked.reviewer.name)
            search = search_of(config, evolved, arms_of(config, workbench, evolved), run.journal, on_commit)
            simulated = asked.reviewer.simulated or asked.student.simulated
            told = {"kind": KIND, "evosyn": __version__, "teacher": asked.reviewer.name, "student": evaluator.student}
            run.write_json("manifest.json", {**told, "epoch": evaluator.epoch, "simulated": simulated})

            def limited(limits: StopConfig) -> None:
                write_config(run, config, limits)
                if on_limits is not None:
                    on_limits(limits)

            return complete(search, run, more=more, began=began, on_limits=limited, before={"check": checked})


def started_from(config: EnvironmentSearchConfig) -> list[Candidate]:
    """What a search begins with, by the names of the configuration.

    Raises:
        UsageError: there is none of a name.
    """
    return [Candidate(text, detail={"name": Path(name).stem}) for name, text in sources(list(config.start)).items()]


def ordered(start: Sequence[Candidate], evaluator: EnvironmentEvaluator) -> list[Candidate]:
    """Those with a score first.

    Raises:
        UsageError: none has one; says why.
    """
    found = list(zip(start, evaluator.evaluate(start), strict=True))
    if all(one.score is None for _, one in found):
        reasons = "; ".join(f"{candidate.detail['name']}: {one.invalid}" for candidate, one in found[:5])
        raise UsageError(f"--from: nothing that a search could begin with has a score: {reasons}")
    return [candidate for candidate, _ in sorted(found, key=lambda pair: pair[1].score is None)]


def arms_of(config: EnvironmentSearchConfig, workbench: Workbench, genome: Genome) -> Arms:
    """Who proposes."""
    own = config.proposers
    shared: dict[str, Json] = {"burst": own.burst, "around": own.around, "params": config.proposing}
    return open_arms(own.arms, genome, workbench.teacher, shared=shared, options=own.options)


def models_of(config: EnvironmentSearchConfig) -> Mapping[str | None, tuple[str, Mapping[str, Json]]]:
    """The models that are asked, each with a purpose and its sampling parameters; None is that of the run."""
    arms = [named_arm(text) for text in config.proposers.arms]
    proposing: dict[str | None, tuple[str, Mapping[str, Json]]] = {
        arm.model: (PURPOSE, config.proposing) for arm in arms if not arm.free
    }
    return {**proposing, config.student.model: (ANSWER, config.student.sampling)}
