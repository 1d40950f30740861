"""`evosyn calibrate`: how often a student solves the rows of a dataset; `evosyn env calibrate` is the same."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import click

from evosyn.cli._command import ConfiguredCommand
from evosyn.cli._output import echo
from evosyn.cli._progress import Measured, watching
from evosyn.cli._training import SETTING, quiet_libraries, sampled_options
from evosyn.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evosyn.dataset import Sample
    from evosyn.rundir import RunDir
    from evosyn.train.config import CalibrateConfig
    from evosyn.train.generation import Generator
    from evosyn.workbench import Workbench


@click.command(
    cls=ConfiguredCommand,
    kind="evosyn.train.config:CalibrateConfig",
    needs={"data": "DATA: name a dataset"},
    short_help="How often a student solves the rows of a dataset.",
)
@click.argument("data", required=False)
@SETTING
@sampled_options(
    "8", "0.8", "The student: a served model (provider/name), a directory of a local one, or builtin:tiny."
)
@click.option("--json", "as_json", is_flag=True, help="The report as JSON on standard output.")
def command(config: CalibrateConfig, as_json: bool) -> None:
    """Measure how often a student (--model) solves each row of the dataset DATA, and keep the rates with it, for --band
    of `evosyn train`, `distill` and `export`.

    The student is a served model (provider/name), a directory of a local model, or builtin:tiny. The same command goes
    on where it stopped; no reply is paid twice. Where rows have levels, it says whether rates fall with them.
    """
    from evosyn.cli._inspect_summary import print_closing
    from evosyn.rates import folder_of
    from evosyn.rundir import RunDir
    from evosyn.train.calibrate import header_of, measure, report_of
    from evosyn.train.data import load_samples, tasks_of
    from evosyn.train.scoring import Scorer, domains_of, reward_judge
    from evosyn.workbench import Workbench

    student = config.workbench.teacher.model or config.workbench.teacher.name
    if not student:
        raise UsageError("--model: name the student: a served model, a directory, or builtin:tiny")
    quiet_libraries()
    samples = load_samples(config.data, config.setting)
    header = header_of(config, student)
    folder = folder_of(config.data, header)
    with RunDir(folder) as run, Workbench(config.workbench, out=folder.parent, seed=config.seed) as workbench:
        generator, simulated = _student(config, student, samples, run, workbench)
        tasks = tasks_of(samples).values()
        workbench.require_shown(task.problem for task in tasks)
        scorer = Scorer(reward_judge(workbench.sandbox, domains_of(tasks)))
        measured = Measured("rows", len(tasks), workbench.replies)
        with watching(measured.line, show=not as_json):
            rates = measure(samples, generator, scorer, run, header, measured.set)
        report = {**report_of(samples, rates, header), "simulated": simulated}
        run.write_json("report.json", report)
    echo(json.dumps(report, indent=2)) if as_json else print_closing(folder, "report.json")


def _student(
    config: CalibrateConfig, student: str, samples: Sequence[Sample], run: RunDir, workbench: Workbench
) -> tuple[Generator, bool]:
    """Who answers, and whether it only pretends to be a model."""
    from evosyn.text.reasoning import NONE
    from evosyn.train.generation import TeacherGenerator, TokenSampling, local_generator
    from evosyn.train.models import TINY, require_train

    sampling = TokenSampling(config.samples, config.temperature, config.top_p, config.max_tokens, seed=config.seed)
    if student == TINY:
        from evosyn.randomness import SeedTree
        from evosyn.train import tiny

        require_train()
        tiny.build(run.file("tiny"), samples, config.tiny, SeedTree(config.seed))
        return local_generator(str(run.file("tiny")), sampling), False
    if Path(student).is_dir():
        require_train()
        return local_generator(student, sampling), False
    teacher = workbench.teacher(reasoning=NONE)
    form = config.workbench.teacher.reasoning
    return TeacherGenerator(teacher, sampling, form, workbench.replies), teacher.simulated
