"""`evosyn doctor`: what is installed and what works on this machine, one line each, and what to do about the rest."""

from __future__ import annotations

import asyncio
import importlib.util
import json
import platform
import shutil
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING

import click

from evosyn import __version__
from evosyn.cli._command import ConfiguredCommand, config_options
from evosyn.cli._output import echo
from evosyn.errors import EXIT_UNAVAILABLE, EvosynError, MissingExtra, UsageError

if TYPE_CHECKING:
    from evosyn.chat import Reply
    from evosyn.cli._configs import CheckConfig
    from evosyn.ports import TeacherTools
    from evosyn.records import Json
    from evosyn.workbench import SandboxConfig

JSON_MODE = "JSON"
SCHEMA = {
    "type": "object",
    "properties": {"title": {"type": "string"}, "number": {"type": "integer"}},
    "required": ["title", "number"],
    "additionalProperties": False,
}
EXTRAS = {
    "train": ("torch", "transformers", "trl", "accelerate", "peft"),
    "deepspeed": ("deepspeed",),
    "docker": ("docker",),
    "openevolve": ("openevolve",),
    "ray": ("ray",),
    "view": ("starlette", "uvicorn"),
}


@dataclass(frozen=True)
class Finding:
    """One line of the report; `needed` marks what evolve and synthesize cannot do without."""

    what: str
    works: bool
    detail: str
    remedy: str = ""
    needed: bool = False


@click.command(
    cls=ConfiguredCommand,
    kind="evosyn.cli._configs:CheckConfig",
    short_help="Say what is installed and what works on this machine.",
)
@click.argument("seeds", default="builtin:python-seeds")
@click.option("--model", default=None, help="Also ask this model two short questions (provider/name).")
@click.option("--base-url", default=None, help="Endpoint of the model, if it is not the provider's own.")
@click.option("--api-key-env", default=None, metavar="NAME", help="Environment variable with the model's key.")
@click.option(
    "--sample",
    type=click.IntRange(1),
    help="Also ask it about so many problems of SEEDS: four solutions in each style and four tests in each form and "
    "style of each, 24 calls a problem; says what serves and what a run takes.",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@config_options("workbench.sandbox.packages='[numpy]'")
def command(
    config: CheckConfig,
    seeds: str,
    model: str | None,
    base_url: str | None,
    api_key_env: str | None,
    sample: int | None,
    as_json: bool,
) -> int:
    """Say what is installed and what works here. Exit code 4 when something that evolve or synthesize needs fails.

    With --sample a table says of each kind, form and style how many replies came, were cut, could be used and how much
    of them is right, as far as the seeds have references and human tests, which run in the sandbox; then settings to
    copy.
    """
    from evosyn.cli._doctor_sample import sampled
    from evosyn.workbench import TeacherConfig

    if sample and model is None:
        raise UsageError("--sample: asks a model; name it with --model provider/name")
    findings = []
    given = {"base_url": base_url, "api_key_env": api_key_env}
    options, sandbox = {name: value for name, value in given.items() if value is not None}, config.workbench.sandbox
    for finding in _findings(sandbox, model, options):
        findings.append(finding)
        if not as_json:
            _show(finding)
    told: Json = [asdict(finding) for finding in findings]
    if sample and model is not None and all(one.works or not one.needed for one in findings):
        teacher = TeacherConfig.model_validate({"model": model, **options})
        workbench = config.workbench.model_copy(update={"teacher": teacher})
        found = sampled(workbench, seeds, sample, show=not as_json)
        told = {"findings": told, "sample": found}
    if as_json:
        echo(json.dumps(told, indent=2))
    return EXIT_UNAVAILABLE if any(finding.needed and not finding.works for finding in findings) else 0


def _show(finding: Finding) -> None:
    colour = "green" if finding.works else "red" if finding.needed else "yellow"
    echo("ok  " if finding.works else "no  ", nl=False, fg=colour)
    echo(f"{finding.what}: {finding.detail}" + (f" -> {finding.remedy}" if finding.remedy else ""))


def _findings(sandbox: SandboxConfig, model: str | None, options: dict[str, str]) -> Iterator[Finding]:
    yield Finding(
        "evosyn", True, f"{__version__}, Python {platform.python_version()}, {platform.system()}", needed=True
    )
    yield _sandbox("local", "install the package bubblewrap for full protection", needed=True)
    yield _packages(sandbox)
    yield _docker()
    yield _rooms()
    yield _memory()
    for extra, packages in EXTRAS.items():
        yield _extra(extra, packages)
    yield _gpu()
    free = shutil.disk_usage(Path.cwd()).free / 2**30
    yield Finding("disk", free > 1, f"{free:.1f} GiB free here", "" if free > 1 else "free at least 1 GiB")
    if model is not None:
        yield from _model(model, options)


def _sandbox(backend: str, remedy: str, *, needed: bool = False) -> Finding:
    from evosyn.sandbox import open_sandbox

    try:
        with open_sandbox(backend, workers=1, allow_weak=True) as sandbox:
            seen = sandbox.protection
    except (EvosynError, MissingExtra) as error:
        return Finding(f"sandbox {backend}", False, str(error), needed=needed)
    lacks = f"; lacks {', '.join(seen.lacks)}" if seen.lacks else ""
    detail = f"protection {seen.level} ({len(seen.holds)} of {len(seen.holds) + len(seen.lacks)} probes held{lacks})"
    return Finding(f"sandbox {backend}", seen.level != "weak", detail, remedy if seen.level != "strong" else "", needed)


def _packages(config: SandboxConfig) -> Finding:
    """What programs see beside the standard library, seen to be imported where they run."""
    from evosyn.sandbox.packages import find_packages
    from evosyn.workbench import sandbox_of

    try:
        if config.packages or config.options:
            sandbox_of(config, workers=1).close()
        return Finding("packages", True, str(find_packages(config.packages, config.packages_from)), needed=True)
    except EvosynError as error:
        return Finding("packages", False, str(error), needed=True)


def _docker() -> Finding:
    if importlib.util.find_spec("docker") is None:
        return Finding("sandbox docker", False, "the docker SDK is not installed", "pip install 'evosyn[docker]'")
    return _sandbox("docker", "see docs/sandbox.md")


def _rooms() -> Finding:
    """The level of shell worlds here, and whether their default image is there."""
    from evosyn.shell_world import image_digest
    from evosyn.worlds.shell import open_shells
    from evosyn.worlds.shell.images import BUILD_LINE, DEFAULT, SIZE_MB

    try:
        with open_shells(workers=1) as shells:
            level = shells.level
    except EvosynError as error:
        return Finding("rooms of agents", False, str(error), "tasks of os-shell that need a room are not run here")
    lacks = [*([] if level.users else ["users of their own: problems whose world needs `uids` are skipped by name"]),
             *([] if level.bounded else ["control groups: memory is watched, not bounded"])]  # fmt: skip
    there = image_digest(DEFAULT)
    image = f"image {DEFAULT} is there" if there else f"image {DEFAULT} is not there, `host` needs none"
    said = f"level {level.name}{'; without ' + '; '.join(lacks) if lacks else ''}; {image}"
    return Finding("rooms of agents", True, said, "" if there else f"{BUILD_LINE} (about {SIZE_MB} MB)")


def _memory() -> Finding:
    from evosyn.sandbox import _memory

    seen = _memory.report()
    return Finding("memory", seen.fit, f"{seen.workers}; a worker as a whole is {seen.bound}")


def _extra(extra: str, packages: tuple[str, ...]) -> Finding:
    missing = [package for package in packages if importlib.util.find_spec(package) is None]
    if missing:
        remedy = f"pip install 'evosyn[{extra}]'"
        return Finding(f"extra {extra}", False, f"not installed: {', '.join(missing)}", remedy)
    return Finding(f"extra {extra}", True, ", ".join(f"{package} {metadata.version(package)}" for package in packages))


def _gpu() -> Finding:
    if importlib.util.find_spec("torch") is None:
        return Finding("GPU", False, "unknown without torch", "needed only to train real models")
    torch = importlib.import_module("torch")
    if not torch.cuda.is_available():
        return Finding("GPU", False, "none that torch can use", "needed only to train real models")
    names = [torch.cuda.get_device_name(index) for index in range(torch.cuda.device_count())]
    return Finding("GPU", True, ", ".join(names))


def _model(model: str, options: dict[str, str]) -> Iterator[Finding]:
    """Two questions to a model: does it answer with our parameters, and does it keep to a JSON schema?"""
    from evosyn.configs.sampling import SamplingConfig
    from evosyn.ports import TeacherTools

    tools, params = TeacherTools(), SamplingConfig().solution
    try:
        answers = asyncio.run(_questions(model, options, tools, params))
    except UsageError:
        raise  # of the command, not of the machine
    except EvosynError as error:
        yield Finding(f"model {model}", False, str(error), needed=True)
        return
    for what, reply in answers.items():
        if reply.failure is not None:
            yield Finding(f"model {model}, {what}", False, f"the reply is {reply.failure}", needed=True)
            continue
        price = "price unknown" if reply.cost is None else f"${reply.cost:.6f}"
        thinks = ", thinks before it answers" if reply.reasoning else ""
        counted = " (estimated: the endpoint does not count them)" if reply.estimated else ""
        used = f"{reply.input_tokens} + {reply.output_tokens} tokens{counted}, {price}"
        works = what != JSON_MODE or _is_object(reply.text)
        said = f"answers in {reply.seconds:.1f} s ({_short(reply.text)}), {used}{thinks}"
        remedy = "" if works else "problems are asked for as JSON: expect unusable replies, or choose a stronger model"
        yield Finding(f"model {model}, {what}", works, said, remedy, needed=works)
    for refusals in tools.refusals.values():
        if refusals.window:
            yield Finding(f"model {model}, window", True, f"{refusals.window:,} tokens of prompt and reply together")
        for name, other in refusals.parameters.items():
            yield Finding(f"model {model}, {name}", True, f"is refused; {other or 'nothing'} is sent in its place")


async def _questions(
    model: str, options: dict[str, str], tools: TeacherTools, params: dict[str, Json]
) -> dict[str, Reply]:
    from evosyn import registry
    from evosyn.chat import Message, Request
    from evosyn.ports import Checked, Teacher
    from evosyn.workbench import TeacherConfig

    spec = TeacherConfig(model=model).spec or model
    teacher: Teacher = registry.make("teachers", spec, tools, options)
    question = Message("user", "Name a prime number above 10. Answer with a JSON object: a title, and the number.")
    try:
        found = await teacher.check("solution", params) if isinstance(teacher, Checked) else None
        asked = Request((question,), "problem", params, schema=SCHEMA)
        answers = {} if found is None else {"a question": found}
        return {**answers, JSON_MODE: await teacher.complete(asked)}
    finally:
        await teacher.aclose()


def _is_object(text: str) -> bool:
    from evosyn.domains.replies import json_values

    return any(isinstance(value, dict) for value in json_values(text))


def _short(text: str) -> str:
    line = " ".join(text.split())
    return repr(line if len(line) <= 40 else line[:37] + "...")
