"""`evosyn sandbox`: what the sandboxes hold on this machine, and images for the Docker one."""

from __future__ import annotations

import json
import shutil
import tempfile
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from evosyn.cli._output import echo
from evosyn.errors import CheckFailed, UsageError


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
        echo(json.dumps(asdict(seen) | ({"memory": memory._asdict()} if memory else {}), indent=2))
    else:
        echo(f"{seen.backend} ({seen.version}): {seen.level}")
        for held in seen.holds:
            echo(f"  holds  {held}")
        for lack in seen.lacks:
            echo(f"  lacks  {lack}")
        if memory is not None:
            echo(f"  memory of a worker as a whole: {memory.bound}")
            echo(f"  memory of all workers: {memory.workers}")
    if seen.level == "weak":
        raise CheckFailed(f"the sandbox {name!r} protects too little here; see docs/sandbox.md")


SOURCES = {
    "of_rooms base": "name", "of_rooms from_docker": "name", "of_rooms from_tar": "name",
    "of_rooms": "name suite mirror", "dockerfile": "tag", "suite": "tag mirror", "": "tag packages packages_from",
}  # fmt: skip
"""The options that say what an image is made from, and those that mean something beside them."""


@command.command("build-image")
@click.option("--tag", default="evosyn-sandbox", show_default=True, help="Name of the image.")
@click.option("--dockerfile", type=click.Path(path_type=Path, exists=True, dir_okay=False), help="Build this instead.")
@click.option("--debootstrap", "suite", default=None, metavar="SUITE", help="A minimal Debian of this suite (as root).")
@click.option("--mirror", default=None, help="Mirror for --debootstrap.")
@click.option("--package", "packages", multiple=True, metavar="NAME", help="What programs may see besides; repeatable.")
@click.option("--packages-from", default=None, metavar="PATH", help="Interpreter that has them; default: evosyn's own.")
@click.option("--os", "of_rooms", is_flag=True, help="Make an image of shell worlds instead (docs/os-shell.md).")
@click.option("--name", default="debos", show_default=True, help="With --os: what worlds call it.")
@click.option("--base", type=click.Choice(["host"]), help="With --os: this machine's own programs; needs no download.")
@click.option("--from-docker", metavar="IMAGE", help="With --os: the files of an image that Docker has.")
@click.option("--from-tar", type=click.Path(path_type=Path, exists=True, dir_okay=False), help="With --os: of a tar.")
def build_image(
    tag: str,
    dockerfile: Path | None,
    suite: str | None,
    mirror: str | None,
    of_rooms: bool,
    packages: tuple[str, ...],
    **given: Any,
) -> None:
    """Make the image of the Docker sandbox, without a registry; or, with --os, one for rooms of agents.

    By default the first holds the interpreter that runs now, its shared libraries, numpy and the packages that are
    named: nothing is fetched. The second is made by debootstrap (as root), or comes from Docker or a tar, as root or as
    a user with a range of ids.
    """
    ctx = click.get_current_context()
    options = {str(one.name): one.opts[0] for one in ctx.command.params}
    named = {name for name in options if ctx.get_parameter_source(name) is ParameterSource.COMMANDLINE}
    if not any(set(source.split()) <= named <= {*source.split(), *more.split()} for source, more in SOURCES.items()):
        told = "do not go together: an image has one source; see docs/sandbox.md and docs/os-shell.md"
        raise UsageError(f"{', '.join(options[name] for name in options if name in named)}: {told}")
    packages_from = given.pop("packages_from")
    if of_rooms:
        echo(_rooms_image(suite, mirror, **given))
        return
    from evosyn.sandbox import _image

    client = _image.docker_client()
    if dockerfile is not None:
        _image.build_from_dockerfile(client, tag, dockerfile)
    elif suite is not None:
        _image.build_with_debootstrap(client, tag, suite, mirror)
    else:
        _image.build_from_host(client, tag, tuple(dict.fromkeys(("numpy", *packages))), packages_from)
    echo(f"made the image {tag}; use it with --sandbox docker")


def _rooms_image(
    suite: str | None, mirror: str | None, name: str, base: str | None, from_docker: str | None, from_tar: Path | None
) -> str:
    """Make an image of shell worlds; says which.

    Raises:
        UsageError: the source is no system.
        SandboxUnavailable: rooms do not work here, or the source is not to be had.
    """
    from evosyn.worlds.shell import images, open_shells

    with open_shells(workers=1) as shells, tempfile.TemporaryFile() as file:
        if base:
            return f"made the image {base} ({shells.image_digest(base)}), of this machine's own programs"
        if from_tar:
            with from_tar.open("rb") as source:
                shutil.copyfileobj(source, file)
            file.seek(0)
        elif from_docker:
            images.from_docker(from_docker, file)
        else:
            images.from_debootstrap(suite or "bookworm", mirror, file)
        made = shells.build_image(file, name)
    return f'made the image {made.name} ({made.digest}); worlds name it: {{"image": "{made.name}"}}'
