"""`evosyn sandbox`: what the sandboxes hold on this machine, and images for the Docker one."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

import click

from evosyn.errors import CheckFailed


@click.group(short_help="Build images for the Docker sandbox; probe protection.")
def command() -> None:
    """What the sandboxes hold on this machine, and images for the Docker one."""


@command.command("probe")
@click.option("--sandbox", "name", default="local", show_default=True, help="local, docker, or a dotted path.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def probe(name: str, as_json: bool) -> None:
    """Try what must not work in the sandbox, and say what held. Exit code 1 when the protection is weak."""
    from evosyn.sandbox import _memory, open_sandbox

    with open_sandbox(name, workers=1, allow_weak=True) as sandbox:
        seen = sandbox.protection
    memory = _memory.report() if name == "local" else None
    if as_json:
        click.echo(json.dumps(asdict(seen) | ({"memory": memory._asdict()} if memory else {}), indent=2))
    else:
        click.echo(f"{seen.backend} ({seen.version}): {seen.level}")
        for held in seen.holds:
            click.echo(f"  holds  {held}")
        for lack in seen.lacks:
            click.echo(f"  lacks  {lack}")
        if memory is not None:
            click.echo(f"  memory of a worker as a whole: {memory.bound}")
            click.echo(f"  memory of all workers: {memory.workers}")
    if seen.level == "weak":
        raise CheckFailed(f"the sandbox {name!r} protects too little here; see docs/sandbox.md")


@command.command("build-image")
@click.option("--tag", default="evosyn-sandbox", show_default=True, help="Name of the image.")
@click.option("--dockerfile", type=click.Path(path_type=Path, exists=True, dir_okay=False), help="Build this instead.")
@click.option("--debootstrap", "suite", default=None, metavar="SUITE", help="A minimal Debian of this suite (as root).")
@click.option("--mirror", default=None, help="Mirror for --debootstrap.")
def build_image(tag: str, dockerfile: Path | None, suite: str | None, mirror: str | None) -> None:
    """Make the image of the Docker sandbox, without a registry.

    By default it holds the interpreter that runs now, its shared libraries and numpy: nothing is fetched.
    """
    from evosyn.sandbox import _image

    client = _image.docker_client()
    if dockerfile is not None:
        _image.build_from_dockerfile(client, tag, dockerfile)
    elif suite is not None:
        _image.build_with_debootstrap(client, tag, suite, mirror)
    else:
        _image.build_from_host(client, tag)
    click.echo(f"made the image {tag}; use it with --sandbox docker")
