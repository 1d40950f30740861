"""Images for the Docker sandbox, made without a registry: from this machine's interpreter, debootstrap or a Dockerfile.

The image needs a Python interpreter and its libraries, nothing else; the sandbox sends its own modules when it starts.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tarfile
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from evosyn.errors import SandboxUnavailable, UsageError
from evosyn.records import Json
from evosyn.sandbox import _jail
from evosyn.sandbox.distributions import canonical
from evosyn.sandbox.packages import SHOWN, Packages, find_packages

PYTHON_LABEL, PACKAGES_LABEL = "evosyn.python", "evosyn.packages"
"""Where the interpreter is; for each distribution in the folder of its name below `SHOWN` what it is imported as."""
_SKIPPED = {"__pycache__", "test", "tests", "idlelib", "tkinter", "ensurepip", "lib2to3"}


def build_from_host(
    client: Json, tag: str, names: Sequence[str] = ("numpy",), packages_from: str | None = None
) -> None:
    """An image that holds the interpreter that runs now, its shared libraries, and packages (as `find_packages`
    takes them, each in a folder with what it requires); nothing is fetched.

    Raises:
        UsageError: a package cannot be shown.
    """
    packages = {canonical(name): find_packages((name,), packages_from) for name in names}
    changes = _labels(_jail.interpreter(), {name: list(one.named[0].modules) for name, one in packages.items()})
    with tempfile.TemporaryFile() as archive:
        with tarfile.open(fileobj=archive, mode="w") as tar:
            files = dict(_host_files(packages))
            placed = {Path(os.path.realpath(place.parent), place.name): path for place, path in files.items()}
            _add_folders(tar, {parent for place in placed for parent in place.parents})
            for place, path in sorted(placed.items()):
                tar.add(path, str(place), recursive=False, filter=_owned_by_root)
        archive.seek(0)
        _import(client, archive, tag, changes)


def build_with_debootstrap(client: Json, tag: str, suite: str, mirror: str | None) -> None:
    """An image of a minimal Debian with Python.

    Raises:
        UsageError: not root, or debootstrap is not installed.
        SandboxUnavailable: debootstrap failed.
    """
    tool = shutil.which("debootstrap", path=f"{os.environ.get('PATH', '')}:/usr/sbin")
    if tool is None or os.geteuid() != 0:
        raise UsageError("--debootstrap: needs root and the package debootstrap; the default needs neither")
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryFile() as archive:
        command = [tool, "--variant=minbase", "--include=python3,python3-numpy", suite, folder, *filter(None, [mirror])]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise SandboxUnavailable(f"debootstrap failed: {(done.stderr or done.stdout).strip()[-400:]}")
        numpy = Path(folder + SHOWN, "numpy")
        numpy.mkdir(parents=True)
        for path in Path(folder, "usr/lib/python3/dist-packages").glob("numpy"):
            shutil.move(path, numpy)
        with tarfile.open(fileobj=archive, mode="w") as tar:
            tar.add(folder, arcname=".", filter=_no_devices)
        archive.seek(0)
        _import(client, archive, tag, _labels("/usr/bin/python3", {"numpy": ["numpy"]}))


def build_from_dockerfile(client: Json, tag: str, dockerfile: Path) -> None:
    """An image of the user's own Dockerfile, with its folder as context; `python3` must be on its path."""
    client.images.build(path=str(dockerfile.parent), dockerfile=str(dockerfile.resolve()), tag=tag, rm=True)


def _labels(python: str, packages: Mapping[str, list[str]]) -> list[str]:
    return [f"LABEL {PYTHON_LABEL}={python}", f"LABEL {PACKAGES_LABEL}={json.dumps(json.dumps(packages))}"]


def _import(client: Json, archive: Json, tag: str, changes: list[str]) -> None:
    repository, _, label = tag.partition(":")
    answer = client.api.import_image_from_data(archive, repository=repository, tag=label or "latest", changes=changes)
    if '"error"' in str(answer):
        raise SandboxUnavailable(f"the engine did not import the image: {str(answer)[-300:]}")


def _add_folders(tar: tarfile.TarFile, parents: set[Path]) -> None:
    """Folders that anybody may enter, and /lib where it is a link."""
    for path in sorted({*parents, *map(Path, ("/tmp", "/proc", "/dev", "/sys", "/etc"))} - {Path("/")}):
        folder = tarfile.TarInfo(str(path).lstrip("/"))
        folder.type, folder.mode = tarfile.DIRTYPE, 0o755
        tar.addfile(folder)
    for top in ("lib", "lib64"):
        path = Path("/", top)
        if path.is_symlink():
            link = tarfile.TarInfo(top)
            link.type, link.linkname = tarfile.SYMTYPE, str(path.readlink())
            tar.addfile(link)


def _host_files(packages: Mapping[str, Packages]) -> Iterator[tuple[Path, Path]]:
    """By their place in the image: the interpreter's files, packages, and every shared library that they load."""
    interpreter = Path(_jail.interpreter())
    files = [(path, path) for root in (interpreter, *_jail.interpreter_folders()) for path in _walk(root)]
    for name, one in packages.items():
        for place, source in one.sources():
            shown, root = Path(SHOWN, name, place), Path(source)
            files += [(shown / path.relative_to(root), path) for path in (root, *root.rglob("*")) if path.is_file()]
    libraries = set[Path]()
    for shown, path in files:
        yield shown, path
        if path.name.endswith(".so") or ".so." in path.name or path == interpreter:
            libraries |= _needed(path)
    own = {path for _, path in files}
    for library in sorted(libraries - own):
        yield library, library
        if library.is_symlink():
            target = library.parent / library.readlink()
            yield target, target


def _walk(root: Path) -> Iterator[Path]:
    if root.is_file():
        yield root
    for folder, names, files in os.walk(root):
        here, hidden = os.path.realpath(folder), _jail.hidden_folders()
        names[:] = [name for name in names if name not in _SKIPPED and f"{here}/{name}" not in hidden]
        for name in files:
            if not name.endswith((".pyc", ".a", ".h")):
                yield Path(folder, name)


def _needed(path: Path) -> set[Path]:
    """Shared libraries by the dynamic linker's own answer, under the names that it opens."""
    done = subprocess.run(["ldd", str(path)], capture_output=True, text=True, check=False)
    words = [word for line in done.stdout.splitlines() for word in line.split() if word.startswith("/")]
    found = {Path(os.path.realpath(Path(word).parent), Path(word).name) for word in words}
    return {library for library in found if library.exists()}


def _owned_by_root(entry: tarfile.TarInfo) -> tarfile.TarInfo:
    entry.uid = entry.gid = 0
    entry.uname = entry.gname = "root"
    entry.mode |= 0o444
    return entry


def _no_devices(entry: tarfile.TarInfo) -> tarfile.TarInfo | None:
    return None if entry.ischr() or entry.isblk() or entry.name.startswith("./proc/") else entry


def docker_client() -> Json:
    """The engine of the environment (DOCKER_HOST, ...).

    Raises:
        MissingExtra: the docker SDK is not installed.
        SandboxUnavailable: no engine answers.
    """
    try:
        import docker
    except ImportError as error:
        from evosyn.errors import MissingExtra

        raise MissingExtra("docker", "docker", "the Docker sandbox") from error
    try:
        client = docker.from_env()
        client.ping()
    except (docker.errors.DockerException, OSError) as error:
        raise SandboxUnavailable(f"no Docker engine answers: {error}. Start it, or use --sandbox local") from error
    return client
