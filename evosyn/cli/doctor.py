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

import click

from evosyn import __version__
from evosyn.errors import EXIT_UNAVAILABLE, EvosynError, MissingExtra

EXTRAS = {
    "train": ("torch", "transformers", "trl", "accelerate", "peft"),
    "deepspeed": ("deepspeed",),
    "docker": ("docker",),
    "openevolve": ("openevolve",),
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


@click.command(short_help="Say what is installed and what works on this machine.")
@click.option("--model", default=None, help="Also ask this model for one token (provider/name).")
@click.option("--base-url", default=None, help="Endpoint of the model, if it is not the provider's own.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(model: str | None, base_url: str | None, as_json: bool) -> int:
    """Say what is installed and what works here. Exit code 4 when something that evolve or synthesize needs fails."""
    findings = []
    for finding in _findings(model, base_url):
        findings.append(finding)
        if not as_json:
            _show(finding)
    if as_json:
        click.echo(json.dumps([asdict(finding) for finding in findings], indent=2))
    return EXIT_UNAVAILABLE if any(finding.needed and not finding.works for finding in findings) else 0


def _show(finding: Finding) -> None:
    mark = (
        click.style("ok  ", fg="green")
        if finding.works
        else click.style("no  ", fg="red" if finding.needed else "yellow")
    )
    click.echo(f"{mark}{finding.what}: {finding.detail}" + (f" -> {finding.remedy}" if finding.remedy else ""))


def _findings(model: str | None, base_url: str | None) -> Iterator[Finding]:
    yield Finding(
        "evosyn", True, f"{__version__}, Python {platform.python_version()}, {platform.system()}", needed=True
    )
    yield _sandbox("local", "install the package bubblewrap for full protection", needed=True)
    yield _docker()
    yield _memory()
    for extra, packages in EXTRAS.items():
        yield _extra(extra, packages)
    yield _gpu()
    free = shutil.disk_usage(Path.cwd()).free / 2**30
    yield Finding("disk", free > 1, f"{free:.1f} GiB free here", "" if free > 1 else "free at least 1 GiB")
    if model is not None:
        yield _model(model, base_url)


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


def _docker() -> Finding:
    if importlib.util.find_spec("docker") is None:
        return Finding("sandbox docker", False, "the docker SDK is not installed", "pip install 'evosyn[docker]'")
    return _sandbox("docker", "see docs/sandbox.md")


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


def _model(model: str, base_url: str | None) -> Finding:
    from evosyn import registry
    from evosyn.chat import Message, Request
    from evosyn.ports import Teacher, TeacherTools

    async def ask() -> str:
        teacher: Teacher = registry.make("teachers", f"litellm:{model}", TeacherTools(), {"base_url": base_url})
        try:
            request = Request((Message("user", "Say yes."),), "solution", {"max_tokens": 1})
            reply = await teacher.complete(request)
        finally:
            await teacher.aclose()
        return reply.failure or ""

    try:
        failure = asyncio.run(ask())
    except EvosynError as error:
        return Finding(f"model {model}", False, str(error), needed=True)
    answered = failure in ("", "truncated", "empty")
    return Finding(f"model {model}", answered, "answers" if answered else f"fails: {failure}", needed=True)
